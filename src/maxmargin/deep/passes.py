"""What layers ask of a batch, as compiled passes over its examples."""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    find,
    margin_error,
    maximize,
    output_cost,
    potentials,
)


class Sheet(NamedTuple):
    """What a batch is read from and written to; made once for a board, so that it is packed once.

    Attributes
    ----------
    w : the potentials, as weights
    outputs : cells of the outputs
    places : where the output of each example begins
    found : (3, n), psi of the output found, its derivative in h, an upper bound over all outputs
    gradient : of the shape of w
    """

    w: Any
    outputs: Any
    places: Any
    found: Any
    gradient: Any


@jitable
def find_worst(
    problem: Any, first: int, last: int, sheet: Any, desk: Any, with_gradient: bool
) -> None:
    """Find the most violating output of examples first..last-1 at the potentials sheet.w.

    ``with_gradient`` adds psi_h * (phi(y) - phi(y_i)) to the gradient, as `add_gradients` does.
    """
    w, outputs, places, found = sheet.w, sheet.outputs, sheet.places, sheet.found
    desk.slack[0] = 0.0
    for i in range(first, last):
        potentials(problem.data, i, w, 1.0, desk.theta)
        value, slope, _, bound = find(problem.search, problem, i, desk, outputs, places[i])
        # The truth has psi = 0, so the loss is never negative, even if a heuristic oracle found
        # only outputs of negative psi. What is not a number stays so, and is refused by the caller.
        if value <= 0.0:
            value, slope = 0.0, 0.0
        found[0, i] = value
        found[1, i] = slope
        found[2, i] = value if bound < value else bound
        if slope != 0.0 and with_gradient:
            add_difference(problem.data, i, outputs, places[i], -slope, sheet.gradient)


@jitable
def find_best(
    problem: Any,
    first: int,
    last: int,
    w: Any,
    desk: Any,
    cost_scale: float,
    outputs: Any,
    places: Any,
    values: Any,
) -> None:
    """Find an output of largest score + cost_scale * cost; values[i] receives its h + that."""
    for i in range(first, last):
        potentials(problem.data, i, w, 1.0, desk.theta)
        at = places[i]
        maximize(problem.data, problem.cost, i, desk.theta, desk.room, 1.0, cost_scale, outputs, at)
        values[i] = margin_error(problem.data, i, desk.theta, outputs, at)
        if cost_scale > 0.0:
            values[i] += cost_scale * output_cost(problem.data, problem.cost, i, outputs, at)


@jitable
def add_gradients(
    problem: Any, n_examples: int, scales: Any, outputs: Any, places: Any, gradient: Any
) -> None:
    """Add scales[i] * (phi(y) - phi(y_i)) of all outputs y, in the order of the examples.

    One thread does it, so that sums over examples do not depend on how many there are.
    """
    for i in range(n_examples):
        if scales[i] != 0.0:
            add_difference(problem.data, i, outputs, places[i], -scales[i], gradient)
