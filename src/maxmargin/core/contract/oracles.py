"""Optional oracles of a structure, most of them chosen by the types of data and cost.

`maxmargin.core.contract.capabilities` tells which there are.
"""

from __future__ import annotations

from maxmargin.core.dispatch import (
    generic,
    generic_on_two,
    generic_on_two_with_default,
)


@generic
def k_best_room(data, cost, k):
    """Return the scratch arrays of `k_best`, for any one example. (Python only.)

    Chosen by the type of data alone: all costs share one type of scratch arrays.
    """


@generic_on_two
def k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Write the k best outputs, one after the other from (outputs, at), best first.

    They maximise what `maximize` does. Returns their number, which is less than k if there are
    fewer outputs. ``own`` is what `k_best_room` made, for this k or a larger one.
    """


@generic_on_two_with_default
def most_listed(data, cost):
    """Return the longest list of `k_best` that a search may ask for. (Python only.)

    It is chosen by the time and room that such a list takes.
    """
    return 64


@generic_on_two
def constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    """Write to (outputs, at) a y of largest 1 + h + tilt * g within an angle.

    Returns whether there is an output in the angle: the outputs with 1 + h > 0 and
    low < g / (1 + h) < high, or <= high if ``is_closed``. An infinite tilt asks for the largest g.

    Bounds are often the slope g / (1 + h) of an output that was found before. Where the slope of an
    output equals a bound up to rounding (an oracle may add up h in another order than
    `margin_error`), the oracle may take the output for inside or outside, but it must decide alike
    in every call under the same theta: of two angles that meet at a bound, one closed there and one
    open, exactly one holds the output. So a search that cuts angles loses no output.

    The first n_banned outputs in ``banned`` are known to the search. The oracle must not return one
    of them whose slope equals an open bound. An oracle that compares the slope as computed from
    `margin_error` and `output_cost` satisfies this without reading ``banned``; any other oracle
    must compare its outputs with those in ``banned``.
    """


@generic_on_two
def profile_levels(data, cost):
    """Return the most levels that the profile of any example has. (Python only.)

    Raises ValueError if the cost has no levels; the message says why, and which costs have levels.
    """


@generic_on_two_with_default
def profile_price(data, cost):
    """Return about how many calls of `maximize` take as long as one profile. (Python only.)"""
    return 1.0


@generic_on_two
def profile_room(data, cost):
    """Return the scratch arrays of `profile`, for any one example. (Python only.)"""


@generic_on_two
def profile(data, cost, i, theta, room, own, h, g):
    """List outputs of example i among which every psi increasing in h has its maximum.

    h[l] and g[l] receive the margin error (plus `shift`) and the cost of the best output of level
    l; h[l] is -inf if level l has no output. Returns the number of levels. ``own`` is what
    `profile_room` made.
    """


@generic_on_two_with_default
def profile_up_to(data, cost, i, theta, room, own, limit, h, g):
    """Do as `profile`, but levels whose cost is above ``limit`` may be left out.

    Implemented by structures for which that saves work; the default leaves none out.
    """
    return profile(data, cost, i, theta, room, own, h, g)


@generic_on_two
def profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Write to (outputs, at) the output of ``level`` in the last `profile`, of the same example."""


@generic_on_two
def maximize_within(
    data, cost, i, theta, room, score_scale, cost_scale, forbid, require, outputs, at
):
    """Do as `maximize`, among the outputs that have no part of `forbid` and all of `require`.

    Both are frozensets of parts, as `output_parts` names them. Returns whether there is such an
    output. (Python only.)
    """


@generic
def output_parts(data, i, outputs, at):
    """Return the parts of an output as a tuple. (Python only.)

    No output may have all the parts of another output.
    """


@generic
def can_require(data):
    """Tell whether `maximize_within` takes parts to require, not only parts to forbid."""
