"""What a cost offers for a structure: its value, and what searches know of its values."""

from __future__ import annotations

import math
from typing import Any

from maxmargin.core.contract.surrogate import psi
from maxmargin.core.dispatch import generic_on_two, generic_on_two_with_default


@generic_on_two
def output_cost(data, cost, i, outputs, at):
    """Return g = cost(y, y_i), >= 0 but for the cost of Micro-F1. By the types of data and cost."""


@generic_on_two_with_default
def shift(data, cost, i, outputs, at):
    """Return what a surrogate's h has besides the margin error of y: 0 but for Micro-F1's cost.

    (There h = Hamming + margin error and g = -(|y| + |y_i|).) By the types of data and cost.
    """
    return 0.0


@generic_on_two_with_default
def cost_step(data, cost):
    """Return a step for each example that its costs are whole multiples of. (Python only.)

    None where there is no such step, or none that is known. Searches then know which costs an
    output under the hull may have.
    """
    return None


def steepest_slope(surrogate: Any, largest: float) -> float:
    """Return the steepest dpsi/dh of any output where no cost is above ``largest``; Python only."""
    slope = psi(surrogate, 1e3, largest)[1] if math.isfinite(largest) else math.inf
    return max(float(slope), 0.0)
