"""Task losses as compiled code sees them: tables over the same parts as the potentials."""

from __future__ import annotations

from typing import Any, NamedTuple


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
