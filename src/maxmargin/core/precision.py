"""How far rounding can move P(w) and D, and whether the numbers of a problem fit into a float64.

A score w.phi(x_i, y) is a sum of products. In whatever order they are added, the error of the
computed sum is at most

    EPSILON * (number of terms) * sum_j |w_j phi_j|  <=  EPSILON * terms_i * length_i * |w|,

by Cauchy and Schwarz, where length_i bounds the length of phi(x_i, y) over all y (a term that a
chain adds several times counts several times). A loss is the largest psi(h, g), where h is a
difference of two scores, and an error of h changes psi by at most the steepest slope times that
error. So the lengths and terms of all examples are added up once; then a bound of the rounding of
P(w) follows from |w| alone, without reading the features again. The dual is a sum of planes of the
same lengths.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    has,
    largest_costs,
    maximize_bounded,
    score_lengths,
    steepest_slope,
    true_parts,
)

#: The relative rounding error of one operation: half the distance from 1 to the next float64.
EPSILON = 0.5 * float(np.finfo(np.float64).eps)

#: Largest weights, scores and losses that a run may have to add, multiply and square.
LARGEST = 1e130

#: If the bound of an oracle exceeds its answer by less than this, relatively, `search.direct` takes
#: the difference for rounding.
UNTOLD = 1e-12

#: Allowance for the operations on a number that are not part of the sums counted here.
FEW = 8.0


class Precision(NamedTuple):
    """The numbers from which bounds of the rounding of P and D are computed.

    `lengths`, `scores` and `prices` are means over the examples.
    """

    n_examples: int
    n_weights: int
    n_cells: int  # of all true outputs together
    lengths: float  # of s_i * steepest slope * |Psi_i|
    scores: float  # of the same, times the number of terms
    prices: float  # of s_i * largest cost * its number of terms

    def of_primal(self, length: float, value: float) -> float:
        """Return how far P(w), or R(w), can be from the computed ``value``; |w| is ``length``."""
        # If the value is 0, w is 0 or every margin is met: there is nothing to round.
        if not math.isfinite(value) or value == 0.0:
            return 0.0
        # Both lam/2 |w|^2 and the mean of the losses are at most the value.
        sums = (self.n_examples + self.n_weights + FEW) * abs(value)
        return EPSILON * (self.scores * length + self.prices + sums)

    def of_dual(self, length: float, dual: float, lam: float, n_sums: float) -> float:
        """Return how far D can be from the computed value ``dual``; |w| is ``length``.

        ``n_sums`` is how many numbers were added, one after the other, to one cell of w at most.
        """
        if not math.isfinite(dual):
            return 0.0
        square = lam * length * length
        sums = (self.n_examples + FEW) * (abs(dual) + square) + self.n_weights * square
        return EPSILON * (n_sums * self.lengths * length + self.prices + sums)


def measure(
    data: Any, cost: Any, surrogate: Any, weight: np.ndarray, sizes: np.ndarray,
    n_weights: int, lam: float,
) -> Precision:  # fmt: skip
    """Return the precision of a problem; refuse numbers that would overflow.

    If the data do not implement `score_lengths`, only the costs count.
    """
    n = len(sizes)
    known = score_lengths(data)
    length, terms = (np.zeros(n), np.zeros(n)) if known is None else known
    parts = true_parts(data)
    with np.errstate(over="ignore"):
        prices = largest_costs(cost, parts.lengths, parts.states)
    top = float(prices.max(initial=0.0))
    with np.errstate(all="ignore"):
        steep = steepest_slope(surrogate, top)
        check_magnitudes(length, prices, weight, steep, lam)
    share = weight / n
    spans = 2.0 * steep * length
    extra = UNTOLD / EPSILON if has(maximize_bounded, type(data), type(cost)) else 0.0
    return Precision(
        n,
        n_weights,
        int(sizes.sum()),
        float(share @ spans),
        float(share @ (spans * (terms + FEW + extra))),
        float(share @ (prices * (sizes + FEW + extra))) + extra * float(share.sum()),
    )


def check_magnitudes(
    length: np.ndarray, prices: np.ndarray, weight: np.ndarray, steep: float, lam: float
) -> None:
    """Refuse features, costs and sample weights with which sums or squares would overflow."""
    n = len(length)
    # The most that one step can add to w, and the largest possible sum of the losses at w = 0.
    for what, sizes in (
        ("weights", weight * (2.0 * steep * length) / lam),
        ("losses", weight * prices * n),
    ):
        i = int(np.argmax(np.where(np.isnan(sizes), np.inf, sizes)))
        if sizes[i] <= LARGEST:
            continue
        raise ValueError(
            f"The numbers are too large to train on: example {i} has features of length "
            f"{length[i]:.3g}, costs up to {prices[i]:.3g} and the sample weight {weight[i]:.3g}, "
            f"which with C = {1.0 / (lam * n):.3g} make {what} up to {sizes[i]:.3g}; sums and "
            f"squares are safe up to {LARGEST:g}. Scale the features, the costs or the sample "
            "weights, or lower C."
        )
