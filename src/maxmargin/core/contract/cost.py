"""What a cost offers for a structure: its value, and what searches know of its values."""

from __future__ import annotations

import math

import numpy as np

from maxmargin.core.contract.surrogate import psi
from maxmargin.core.dispatch import (
    generic_on_two,
    generic_on_two_with_default,
    generic_with_default,
)


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


@generic_with_default
def largest_costs(cost, sizes, truths):
    """Return a number for each example that no cost of its outputs exceeds. (Python only.)

    ``sizes`` has the number of cells of each true output, ``truths`` the cells of all. The default,
    1 each, is for costs that are shares.
    """
    return np.ones(len(sizes))


@generic_with_default
def steepest_slope(cost, surrogate, largest):
    """Return the steepest dpsi/dh of any output where no cost is above ``largest``; Python only."""
    slope = psi(surrogate, 1e3, largest)[1] if math.isfinite(largest) else math.inf
    return max(float(slope), 0.0)
