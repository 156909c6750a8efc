"""True outputs as costs see them: parts of one kind, each in one state. (Python only.)

A cost makes its tables by the kind of parts. So it works for every structure whose parts are of a
kind that the cost can price.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract.structure import output_sizes, truths
from maxmargin.core.dispatch import generic, generic_with_default


class Links(NamedTuple):
    """Which parts of the examples are joined: the edges and hyperedges of graphs.

    Link f joins the parts members[member_at[f] : member_at[f + 1]], in this order. Parts are
    counted through all examples. All parts of all links are known.
    """

    is_known: Any  # (n_parts,) bool
    part_at: Any  # (n_examples + 1,) int64: where the parts of each example begin
    link_at: Any  # (n_examples + 1,) int64: where the links of each example begin
    member_at: Any  # (n_links + 1,) int64
    members: Any  # (sum of their numbers,) int64

    def among(self, is_known: np.ndarray) -> Links:
        """Return the links whose parts are all known; ``is_known`` has one flag per part."""
        lacks = np.append(~is_known[self.members], False)
        keep = ~np.logical_or.reduceat(lacks, self.member_at[:-1])
        orders = np.diff(self.member_at)
        return Links(
            is_known,
            self.part_at,
            np.concatenate([[0], np.cumsum(keep)])[self.link_at],
            np.concatenate([[0], np.cumsum(orders[keep])]),
            self.members[np.repeat(keep, orders)],
        )


class GivenHierarchy(NamedTuple):
    """The hierarchy of H nodes as a user gave it, which the numbers in a cost go by.

    A model lacks nodes that no label has, and those that all labels have, which are never wrong. It
    has stops besides: leaves below inner nodes at which a path ends.
    """

    node: Any  # (M,) int64: the given node of each node of the model; of a stop, its parent's
    is_stop: Any  # (M,) bool
    is_common: Any  # (H,) bool: the nodes that all labels have
    parent_at: Any  # (H + 1,) int64, as in `PricedHierarchy`
    parents: Any  # (number of edges,) int32


class PricedHierarchy(NamedTuple):
    """What costs know of a hierarchy of M nodes; nodes are numbered parents first.

    If an output is one of K labels, label k has the nodes nodes[node_at[k] : node_at[k + 1]], in
    increasing order. If an output is a set of nodes, these two arrays are empty. The parents of
    node n are parents[parent_at[n] : parent_at[n + 1]].
    """

    alpha: Any  # (M,) float64 >= 0: the weights of nodes in the norm
    is_leaf: Any  # (M,) bool
    node_at: Any  # (K + 1,) int64
    nodes: Any  # int32
    parent_at: Any = None  # (M + 1,) int64; None where the caller does not tell
    parents: Any = None  # (number of edges,) int32
    given: GivenHierarchy | None = None  # None: the nodes are those that the caller knows


class TrueParts(NamedTuple):
    """What costs look at in true outputs: parts, each in one of several states.

    ``kind`` says what the parts are: "positions" (of a sequence, each with one label; a class is
    one position), "vertices" (of a graph, each with one label), "arcs" (words of a sentence, whose
    state is head * n_relations + relation), "switches" (labels of a set, off 0
    or on 1), "places" (samples of a ranking, irrelevant 0 or relevant 1), "paths" (one label of a
    hierarchy, as one position) or "nodes" (of a hierarchy, off 0 or on 1).
    """

    kind: str
    lengths: Any  # (n_examples,) int64: how many parts each example has
    states: Any  # (sum of lengths,) int: the true states, one example after the other; -1: unknown
    links: Links | None = None  # which parts are joined, of vertices
    hierarchy: PricedHierarchy | None = None  # of "paths" and "nodes"

    @property
    def sizes(self) -> np.ndarray:
        """How many parts of each example are known.

        For switches, places and nodes an array of shape (n, 2): how many are in state 0 and in
        state 1.
        """
        if self.kind in ("positions", "vertices", "paths", "arcs"):
            return _sums(self.lengths, self.states >= 0)
        return np.stack([_sums(self.lengths, self.states == state) for state in (0, 1)], axis=1)

    @property
    def beside(self) -> Links | PricedHierarchy | None:
        """What some costs ask for besides: the hierarchy, or the links of known parts alone."""
        if self.links is None:
            return self.hierarchy
        known = np.asarray(self.states) >= 0
        return self.links if known.all() else self.links.among(known)


def _sums(lengths: np.ndarray, flags: np.ndarray) -> np.ndarray:
    ends = np.cumsum(np.concatenate([[0], flags]))[np.cumsum(np.concatenate([[0], lengths]))]
    return np.diff(ends)


def switches(labels: Any) -> TrueParts:
    """Return label sets, an array of shape (n, m), as `TrueParts`."""
    n, m = labels.shape
    return TrueParts("switches", np.full(n, m, dtype=np.int64), np.reshape(labels, -1))


@generic_with_default
def true_parts(data):
    """Return the true outputs as `TrueParts`. (Python only.)

    The default is for structures whose cells are the labels of positions.
    """
    return TrueParts("positions", output_sizes(data), truths(data))


@generic_with_default
def largest_costs(cost, lengths, states):
    """Return one number per example that no cost of its outputs exceeds. (Python only.)

    ``lengths`` and ``states`` are those of `TrueParts`. The default, 1 for each example, is for
    costs that lie between 0 and 1.
    """
    return np.ones(len(lengths))


@generic
def found_costs(cost, lengths, states, found):
    """Return the cost of one output of each example, given by the states of its parts.

    Parts whose true state is unknown cost nothing. (Python only.)
    """
