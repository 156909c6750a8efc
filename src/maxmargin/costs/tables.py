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
