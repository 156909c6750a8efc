"""Sets of nodes of a forest: the best set at each level of the cost; refused for DAGs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    implements,
    profile,
    profile_levels,
    profile_output,
    profile_price,
    profile_room,
)
from maxmargin.costs.levels import steps_of
from maxmargin.costs.tables import SwitchCost
from maxmargin.inference.hierarchy.forest import (
    SetLevels,
    set_levels_room,
    set_profile,
    write_set_level,
)
from maxmargin.structures.hierarchy.data import CutSets, TreeSets
from maxmargin.structures.hierarchy.program import PathPrograms
from maxmargin.structures.hierarchy.sets import write_difference

#: The largest number of nodes times levels: a profile takes so many steps, and remembers as many.
MOST_CELLS = 1 << 26


class TreeLevels(NamedTuple):
    """Room for the best sets of all levels."""

    steps: Any  # (n_nodes, 2) int32: the prices in steps
    unit: float  # the size of a step
    taken: Any  # (n_nodes,) int32: the steps of a node that is in the output
    left: Any  # (n_nodes,) int32: and of one that is not
    levels: SetLevels


@implements(profile_levels, TreeSets, SwitchCost)
def _profile_levels(data, cost):
    """Return one level per number of steps that an output can cost."""
    if (np.asarray(cost.price) < 0.0).any() or len(cost.shift):
        raise ValueError(
            "a cost with negative prices, as that of MicroF1, has no levels on a hierarchy. Costs "
            "that have: hamming, tree_distance."
        )
    steps, _ = steps_of(cost.price)
    n_levels = int(steps.max(axis=1).sum()) + 1
    if n_levels * data.n_nodes > MOST_CELLS:
        raise ValueError(
            f"a profile of {n_levels} levels over {data.n_nodes} nodes would take too much memory."
        )
    return n_levels


def _refuse_dag(data: Any, cost: Any) -> int:
    """Say why sets of nodes of a DAG have no profile."""
    several = np.flatnonzero(np.diff(data.shape.parent_at) > 1)
    where = ""
    if len(several):
        n = int(several[0])
        n_parents = data.shape.parent_at[n + 1] - data.shape.parent_at[n]
        where = f", and here node {n} has {n_parents} parents"
    raise ValueError(
        "sets of nodes of a DAG have no profile: it is a dynamic programme over nodes that have "
        f"one parent each{where}."
    )


implements(profile_levels, CutSets, SwitchCost)(_refuse_dag)
implements(profile_levels, PathPrograms, SwitchCost)(_refuse_dag)


@implements(profile_price, TreeSets, SwitchCost)
def _profile_price(data, cost):
    """Return about how many best outputs take as long: the tables of two children are multiplied.

    Most of the work is where a node has many nodes below it.
    """
    return max(1.0, _profile_levels(data, cost) / 12.0)


@implements(profile_room, TreeSets, SwitchCost)
def _profile_room(data, cost):
    """Return room for tables of all nodes and levels."""
    steps, unit = steps_of(cost.price)
    taken, left = np.zeros((2, data.n_nodes), dtype=np.int32)
    return TreeLevels(steps, unit, taken, left, set_levels_room(data.parent, steps.max(axis=1)))


@implements(profile, TreeSets, SwitchCost)
def _profile(data, cost, i, theta, room, own, h, g):
    """List the best h of every level."""
    true = 0.0
    for n in range(data.n_nodes):
        room.gains[n] = theta.nodes[0, n]
        own.taken[n] = own.steps[n, 0]
        own.left[n] = 0
    for place in range(data.node_at[i], data.node_at[i + 1]):
        n = data.nodes[place]
        true += theta.nodes[0, n]
        own.taken[n] = 0
        own.left[n] = own.steps[n, 1]
    n_levels = set_profile(
        room.gains, data.parent, data.n_children, data.to_leaves, own.taken, own.left,
        own.levels, h,
    )  # fmt: skip
    for level in range(n_levels):
        h[level] -= true
        g[level] = cost.base[i] + cost.scale[i] * (own.unit * level)
    return n_levels


@implements(profile_output, TreeSets, SwitchCost)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Trace back the set of a level, from the tables of the last profile."""
    write_set_level(data.parent, own.taken, own.left, level, own.levels, room.y)
    write_difference(data, i, room.y, outputs, at)
