"""Oracles that a structure may have or not, all by the types of data and cost.

`maxmargin.core.contract.capabilities` tells which there are.
"""

from __future__ import annotations

from maxmargin.core.dispatch import (
    generic,
    generic_on_two,
    generic_on_two_with_default,
)


@generic_on_two
def k_best_room(data, cost, k):
    """Return room for the k best outputs of any one example. (Python only.)"""


@generic_on_two
def k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Write the k best outputs, one after the other from (outputs, at), best first.

    What is maximised is that of `maximize`. Returns their number, less than k where there are fewer
    outputs. ``own`` is what `k_best_room` made, for this k or a larger one.
    """


@generic_on_two
def constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    """Write to (outputs, at) a y of largest 1 + h + tilt * g within an angle; return if there is.

    The angle: 1 + h > 0, low < g / (1 + h) < high, or <= high if ``is_closed``. An infinite tilt
    asks for the largest g.

    Bounds are often the slope g / (1 + h) of an output that was found before. Where the slope of an
    output equals a bound up to rounding (an oracle may add up h in another order than
    `margin_error`), the oracle may take the output for inside or outside, but it must decide alike
    in every call under the same theta: of two angles that meet at a bound, one closed there and one
    open, exactly one holds the output. So a search that cuts angles loses no output.

    The first n_banned outputs in ``banned`` are known to the search. One whose slope is an open
    bound is never returned again: an oracle that compares the quotient of `margin_error` and
    `output_cost` itself holds to this without looking at ``banned``; any other must leave out the
    banned outputs by name.
    """


@generic_on_two
def profile_levels(data, cost):
    """Return the most levels that the profile of any example has. (Python only.)

    Raises ValueError where the cost has no levels: it says why, and for which costs there are.
    """


@generic_on_two_with_default
def profile_price(data, cost):
    """Return how many calls of `maximize` a profile takes the time of, about. (Python only.)"""
    return 1.0


@generic_on_two
def profile_room(data, cost):
    """Return room for the profile of any one example. (Python only.)"""


@generic_on_two
def profile(data, cost, i, theta, room, own, h, g):
    """List outputs of example i among which every psi increasing in h has its maximum.

    h[l] and g[l] receive margin error (with `shift`) and cost of the best output of level l; h is
    -inf where there is none. Returns the number of levels. ``own`` is what `profile_room` made.
    """


@generic_on_two_with_default
def profile_up_to(data, cost, i, theta, room, own, limit, h, g):
    """List what `profile` does, but for levels of a cost above ``limit``, which may be left out.

    For structures where that saves work; the default leaves none out.
    """
    return profile(data, cost, i, theta, room, own, h, g)


@generic_on_two
def profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Write to (outputs, at) the output of a level of the last `profile`, of this example."""


@generic_on_two
def maximize_within(
    data, cost, i, theta, room, score_scale, cost_scale, forbid, require, outputs, at
):
    """Do as `maximize`, of the outputs without a part to forbid and with all those to require.

    Both are frozensets of parts, as `output_parts` names them. Returns whether there is such an
    output. (Python only.)
    """


@generic
def output_parts(data, i, outputs, at):
    """Return the parts of an output, a tuple. (Python only.)

    No output has all the parts of another.
    """


@generic
def can_require(data):
    """Tell whether `maximize_within` knows what to require, not only what to forbid."""
