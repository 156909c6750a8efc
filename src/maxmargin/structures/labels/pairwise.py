"""Oracles of label sets with any edges: roof duality, and a local search where it leaves halves.

The bound is that of the relaxation, so the oracle says how far it may be from the best output.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    connect,
    implements,
    margin_error,
    maximize,
    maximize_bounded,
    output_cost,
    shift,
    workspace,
)
from maxmargin.core.sealed import write_addresses
from maxmargin.costs.tables import SwitchCost
from maxmargin.inference.labels.flips import BEST_BOUNDED, BoundedRoom, bounded_room
from maxmargin.structures.labels.costs import scales_with_ties
from maxmargin.structures.labels.data import PairwiseLabels, label_potentials
from maxmargin.structures.labels.oracles import augment, hide_unknown


class PairwiseRoom(NamedTuple):
    """Room for the best outputs of one example."""

    augmented: Any  # (n_labels,)
    joint: Any  # (n_edges,)
    bounded: BoundedRoom
    entries: Any  # (1,) int64: the address of `best_labels_bounded`


@implements(workspace, PairwiseLabels)
def _workspace(data):
    """Return theta and room for roof duality and the local search."""
    joint = np.zeros(len(data.graph.edges))
    entries = np.zeros(1, dtype=np.int64)
    room = PairwiseRoom(np.zeros(data.n_labels), joint, bounded_room(data.graph), entries)
    return label_potentials(data), room


@implements(connect, PairwiseRoom)
def _connect(room, cost):
    """Compile or load roof duality with the local search, and write its address."""
    write_addresses(room.entries, BEST_BOUNDED)


call_best_bounded = BEST_BOUNDED.call


@jitable
def _search(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write a good output; return how much better the best one can be at most."""
    augment(data, cost, i, theta, room, score_scale, cost_scale)
    value, bound = call_best_bounded(
        room.entries,
        room.augmented,
        data.graph,
        room.joint,
        room.bounded,
        outputs[at : at + data.n_labels],
    )
    hide_unknown(data, i, outputs, at)
    return max(bound - value, 0.0)


@implements(maximize, PairwiseLabels, SwitchCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write a good output, which need not be the best."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    _search(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)


@implements(maximize_bounded, PairwiseLabels, SwitchCost)
def _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write a good output; return the bound of the relaxation."""
    scores, costs = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    excess = _search(data, cost, i, theta, room, scores, costs, outputs, at)
    # If score_scale is 0, each label is decided by its price alone: the output is the best, and
    # excess comes only from the scores that break ties. If cost_scale is 0, the costs that break
    # ties add less to excess than rounding does.
    if score_scale == 0.0:
        excess = 0.0
    h = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
    return score_scale * h + cost_scale * output_cost(data, cost, i, outputs, at) + excess
