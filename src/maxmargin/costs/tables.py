"""Task losses as compiled code sees them: tables over the same parts as the potentials."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    CostOfPositions,
    CostOfSwitches,
    belongs,
    found_costs,
    implements,
    largest_costs,
)


class SumOverPositions:
    """Family of the costs that add up a price per position, which an oracle adds to its scores."""


class AddedToScores:
    """Family of the costs that an oracle of sequences adds to its scores of labels."""


class SumOverParts:
    """Family of the costs that add up prices of nodes and edges of a graph, or of nodes alone."""


class SumOverNodes:
    """Family of the costs of sets of nodes that add up what each wrong node costs."""


class SumInSteps:
    """Family of the sums over parts whose prices may be whole numbers of steps."""


@belongs(CostOfPositions, SumOverPositions, AddedToScores, SumOverParts, SumInSteps)
class PartCost(NamedTuple):
    """A sum over positions: scale[i] * sum_t matrix[truth_t, y_t]."""

    matrix: Any  # (n_labels, n_labels) float64, zero on the diagonal
    scale: Any  # (n_examples,) float64


@belongs(SumOverPositions, AddedToScores, SumOverParts)
class WeightedPartCost(NamedTuple):
    """A sum over positions of own weights: scale[i] * sum_t weight_t matrix[truth_t, y_t].

    For graphs, whose nodes may stand for areas of different sizes.
    """

    matrix: Any  # (n_labels, n_labels) float64, zero on the diagonal
    scale: Any  # (n_examples,) float64
    weight: Any  # (n_positions,) float64, >= 0: of the positions of all examples


@belongs(AddedToScores)
class ShiftedPartCost(NamedTuple):
    """Of sequences, the criteria of the surrogate `MicroF1`, two sums over positions:

        g     = base[i] + scale[i] * sum_t matrix[truth_t, y_t],
        shift =           scale[i] * sum_t shift[truth_t, y_t],

    where `shift` is what a surrogate's h has besides the margin error.
    """

    matrix: Any  # (n_labels, n_labels) float64, zero on the diagonal
    shift: Any  # (n_labels, n_labels) float64, zero on the diagonal
    base: Any  # (n_examples,) float64: g of the truth
    scale: Any  # (n_examples,) float64


@belongs(CostOfPositions, CostOfSwitches)
class WholeCost(NamedTuple):
    """One price for any mistake at all, however many positions are wrong."""

    price: Any  # (n_examples,) float64


@belongs(CostOfSwitches, SumOverNodes)
class SwitchCost(NamedTuple):
    """Of label sets, sums over the known labels j that are wrong:

        g     = base[i] + scale[i] * sum of price[j, truth_j],
        shift =           scale[i] * sum of shift[j, truth_j],

    where `shift` is what a surrogate's h has besides the margin error. Only the criteria of the
    surrogate `MicroF1` have a shift and a base.
    """

    price: Any  # (n_labels, 2) float64: of taking a label that is off for on, and the reverse
    shift: Any  # (n_labels, 2) float64, or (0, 2) where there is none
    base: Any  # (n_examples,) float64: g of the truth
    scale: Any  # (n_examples,) float64


@belongs(CostOfSwitches, SumOverNodes)
class SetEdgeCost(NamedTuple):
    """Of sets that hold the parents of their nodes: wrong nodes, by the parents that are right.

        g = scale[i] * ( sum of root[v] over wrong nodes v
                         + sum of edge[e] over edges e = (p, v) where v is wrong and p is right )

    On closed sets this is a sum over nodes: of v outside y_i its parents are right if they are in
    y_i, and for v in y_i an edge costs [p in y] - [v in y].
    """

    scale: Any  # (n_examples,) float64
    root: Any  # (M,) float64 >= 0
    edge: Any  # (E,) float64 >= 0
    parent_at: Any  # (M + 1,) int64: the edges to each node, ordered by node
    parents: Any  # (E,) int32


@belongs(CostOfSwitches)
class F1Cost(NamedTuple):
    """Of label sets: price[i] * (1 - F1), that is the wrong labels over |y| + |y_i|."""

    price: Any  # (n_examples,) float64


def free_cost(n_examples: int, n_labels: int) -> PartCost:
    """Return a cost that is 0 for all outputs, for examples of ``n_labels`` labels."""
    return PartCost(np.zeros((n_labels, n_labels)), np.zeros(n_examples))


def switch_cost(price: np.ndarray, scale: np.ndarray) -> SwitchCost:
    """Return a cost of label sets that has no shift and is 0 at the truth."""
    return SwitchCost(price, np.zeros((0, 2)), np.zeros(len(scale)), scale)


# -- of all examples at once ---------------------------------------------------------------------


def _sums(lengths, numbers):
    example = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(example, weights=numbers, minlength=len(lengths))


@implements(largest_costs, PartCost)
def _largest_of_positions(cost, lengths, states):
    worst = np.asarray(cost.matrix).max(axis=1, initial=0.0)[np.maximum(states, 0)]
    return cost.scale * _sums(lengths, np.where(states >= 0, worst, 0.0))


@implements(found_costs, PartCost)
def _found_of_positions(cost, lengths, states, found):
    prices = np.asarray(cost.matrix)[np.maximum(states, 0), found]
    return cost.scale * _sums(lengths, np.where(states >= 0, prices, 0.0))


@implements(largest_costs, WeightedPartCost)
def _largest_of_weighted(cost, lengths, states):
    worst = np.asarray(cost.matrix).max(axis=1, initial=0.0)[np.maximum(states, 0)]
    return cost.scale * _sums(lengths, np.where(states >= 0, worst * cost.weight, 0.0))


@implements(found_costs, WeightedPartCost)
def _found_of_weighted(cost, lengths, states, found):
    prices = np.asarray(cost.matrix)[np.maximum(states, 0), found] * cost.weight
    return cost.scale * _sums(lengths, np.where(states >= 0, prices, 0.0))


@implements(largest_costs, ShiftedPartCost)
def _largest_of_shifted(cost, lengths, states):
    # A shift counts as a cost does: take the larger of the two.
    table = np.maximum(cost.matrix, cost.shift)
    worst = table.max(axis=1, initial=0.0)[np.maximum(states, 0)]
    return cost.scale * _sums(lengths, np.where(states >= 0, worst, 0.0))


@implements(largest_costs, WholeCost)
def _largest_of_whole(cost, lengths, states):
    return cost.price * (_sums(lengths, states >= 0) > 0)


@implements(found_costs, WholeCost)
def _found_of_whole(cost, lengths, states, found):
    return cost.price * (_sums(lengths, (states >= 0) & (found != states)) > 0)


def _of_truth(table, states):
    """Return table[j, truth_j] for each switch j, 0 where its true state is not known."""
    known = states >= 0
    switch = np.arange(len(states)) % len(table)
    return np.where(known, table[switch, np.where(known, states, 0)], 0.0)


@implements(largest_costs, SwitchCost)
def _largest_of_switches(cost, lengths, states):
    # A shift counts as a cost does: take the larger of the two.
    table = np.maximum(cost.price, cost.shift) if len(cost.shift) else cost.price
    return cost.scale * _sums(lengths, _of_truth(table, states))


@implements(found_costs, SwitchCost)
def _found_of_switches(cost, lengths, states, found):
    prices = np.where(found != states, _of_truth(cost.price, states), 0.0)
    return cost.base + cost.scale * _sums(lengths, prices)


def _edges_of(cost, states):
    """Return flags of sets as rows, and the child of each edge."""
    M = len(cost.root)
    return states.reshape(-1, M) == 1, np.repeat(np.arange(M), np.diff(cost.parent_at))


@implements(largest_costs, SetEdgeCost)
def _largest_of_edges(cost, lengths, states):
    # All roots, and all edges below a true node: a bound, which not every set reaches.
    is_true, _ = _edges_of(cost, states)
    return cost.scale * (np.sum(cost.root) + is_true[:, cost.parents] @ cost.edge)


@implements(found_costs, SetEdgeCost)
def _found_of_edges(cost, lengths, states, found):
    is_true, child = _edges_of(cost, states)
    is_wrong = is_true != _edges_of(cost, found)[0]
    below = is_wrong[:, child] & ~is_wrong[:, cost.parents]
    return cost.scale * (is_wrong @ cost.root + below @ cost.edge)


@implements(largest_costs, F1Cost)
def _largest_of_f1(cost, lengths, states):
    return np.asarray(cost.price, dtype=np.float64)


@implements(found_costs, F1Cost)
def _found_of_f1(cost, lengths, states, found):
    known = states >= 0
    wrong = _sums(lengths, known & (found != states))
    on = _sums(lengths, states == 1) + _sums(lengths, known & (found == 1))
    return cost.price * wrong / np.maximum(on, 1.0)
