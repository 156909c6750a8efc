"""Task losses as compiled code sees them: tables over the same parts as the potentials."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import implements, largest_costs, steepest_slope


class PartCost(NamedTuple):
    """A sum over positions: scale[i] * sum_t matrix[truth_t, y_t]."""

    matrix: Any  # (n_labels, n_labels) float64, zero on the diagonal
    scale: Any  # (n_examples,) float64


class WholeCost(NamedTuple):
    """One price for any mistake at all, however many positions are wrong."""

    price: Any  # (n_examples,) float64


class LabelCost(NamedTuple):
    """Of label sets, a sum over labels: scale[i] * sum of price[j, truth_j] over wrong labels j."""

    price: Any  # (n_labels, 2) float64: of taking a label that is off for on, and the reverse
    scale: Any  # (n_examples,) float64


class F1Cost(NamedTuple):
    """Of label sets: price[i] * (1 - F1), that is the wrong labels over |y| + |y_i|."""

    price: Any  # (n_examples,) float64


class MicroF1Cost(NamedTuple):
    """The two criteria of the surrogate `MicroF1`, of label sets.

    g = -(|y| + |y_i|), and h has, besides the margin error, scale[i] * the number of wrong labels.
    """

    scale: Any  # (n_examples,) float64


def free_cost(n_examples: int, n_labels: int) -> PartCost:
    """Return the cost that weighs nothing, for examples of ``n_labels`` labels."""
    return PartCost(np.zeros((n_labels, n_labels)), np.zeros(n_examples))


@implements(largest_costs, PartCost)
def _largest_of_parts(cost, sizes, truths):
    example = np.repeat(np.arange(len(sizes)), sizes)
    worst = np.asarray(cost.matrix).max(axis=1, initial=0.0)[truths]
    return cost.scale * np.bincount(example, weights=worst, minlength=len(sizes))


@implements(largest_costs, WholeCost)
def _largest_of_whole(cost, sizes, truths):
    return np.asarray(cost.price, dtype=np.float64)


@implements(largest_costs, F1Cost)
def _largest_of_f1(cost, sizes, truths):
    return np.asarray(cost.price, dtype=np.float64)


@implements(largest_costs, LabelCost)
def _largest_of_labels(cost, sizes, truths):
    return cost.scale * float(np.asarray(cost.price).max(axis=1).sum())


@implements(largest_costs, MicroF1Cost)
def _largest_of_micro_f1(cost, sizes, truths):
    return cost.scale * np.asarray(sizes, dtype=np.float64)


@implements(steepest_slope, MicroF1Cost)
def _steepest_of_micro_f1(cost, surrogate, largest):
    return 1.0  # 1 over a number of labels
