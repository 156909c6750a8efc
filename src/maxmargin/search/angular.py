"""The angular search: split the plane by rays from the origin, and shut angles that hold no better.

Of slack rescaling only. With H = 1 + h, psi = H g is constant along a hyperbola, and an output y
that is the best of its angle at some tilt lam rules out what lies beyond the two points where the
line through y, of that tilt, meets the hyperbola through y. What remains of the angle is cut in two
at the ray where the line touches a hyperbola. An angle is also shut where the line leaves no room
for a better output than the best one known; the angle with the most room is opened first.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._compile import kernel
from maxmargin.generic import (
    constrained,
    find,
    implements,
    is_relaxed,
    margin_error,
    memory,
    output_cost,
    output_size,
    psi,
    search_room,
)
from maxmargin.search.base import (
    Recall,
    check_at_least,
    check_tolerance,
    copy_output,
    recall,
    remembered,
)

#: Bounds that exceed the best output by no more than this part of it do so by rounding.
ROUNDING = 1e-14

#: Over a relaxation outputs lie as dense as one likes, and angles get ever smaller: stop here.
RELAXED_TOL = 1e-7


@dataclass(frozen=True)
class Angular:
    """Search by angles, exact for slack rescaling; it needs the constrained oracle.

    Parameters
    ----------
    tol : float, default=0.0
        Stop where no output is better than the best one known by more than this part of it.
    warm : bool, default=True
        Start from the output found in the last pass. This changes no maximum, but the number of
        calls.
    max_calls : int, default=200
        Give up after so many calls, with the bound that they have given.

    Examples
    --------
    >>> from maxmargin.search import Angular
    >>> from maxmargin.surrogates import SlackRescaling
    >>> from maxmargin.testing import cloud_problem
    >>> h, g = [[2.0, 0.0, -0.5]], [[0.5, 1.6, 3.0]]  # psi = (h + 1) g: 1.5, 1.6 and 1.5
    >>> problem = cloud_problem(h, g, SlackRescaling(), Angular(), compile=False)
    >>> problem.losses(problem.weights)  # and the bounds
    (array([1.6]), array([1.6]))
    """

    tol: float = 0.0
    warm: bool = True
    max_calls: int = 200

    name: ClassVar[str] = "angular"
    needs: ClassVar[frozenset[str]] = frozenset({"constrained"})
    surrogates: ClassVar[str] = "slack"
    needs_slack: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_tolerance("Angular", "tol", self.tol, least=0.0)
        check_at_least("Angular", "max_calls", self.max_calls, 1)

    @property
    def is_exact(self) -> bool:
        """Whether it finds the maximum."""
        return self.tol == 0.0

    def bind(self, data: Any, cost: Any, surrogate: Any) -> AngularSearch:
        """Return the search over these examples."""
        tol = max(self.tol, RELAXED_TOL) if is_relaxed(type(data)) else self.tol
        return AngularSearch(recall(data, 1, self.warm), float(tol), self.max_calls)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search."""
        return asdict(self)


class AngularSearch(NamedTuple):
    """The angular search as passes see it."""

    recall: Recall
    tol: float
    max_calls: int


class AngularRoom(NamedTuple):
    """Room for one search."""

    angles: Any  # (4, n): open angles, see below
    labels: Any  # flat: outputs found, one after the other


# Rows of AngularRoom.angles: no output in the angle exceeds TOP; slopes g / H above LOW, below HIGH
# or, where IS_CLOSED, equal to it.
TOP, LOW, HIGH, IS_CLOSED = range(4)


@implements(search_room, AngularSearch)
def _search_room(search, problem):
    # An angle opened is shut or replaced by two; the output remembered is one more.
    n = search.max_calls + 2
    stride = int(problem.sizes.max(initial=1))
    return AngularRoom(np.zeros((4, n)), problem.empty_outputs(n * stride))


@implements(memory, AngularSearch)
def _memory(search):
    return remembered(search.recall)


@kernel
def _open_widest(angles: Any, n_angles: int) -> int:
    """Put the angle of largest bound last; a list is short enough to look through."""
    last = n_angles - 1
    best = last
    for k in range(last):
        if angles[TOP, k] > angles[TOP, best]:
            best = k
    for row in range(4):
        angles[row, best], angles[row, last] = angles[row, last], angles[row, best]
    return last


@kernel
def _split(angles: Any, n_angles: int, lam: float, h: float, g: float, best: float) -> int:
    """Replace angle n_angles by what an output (H, g), the best in it at tilt lam, leaves of it.

    Returns the number of angles then. Slopes are compared as they are computed, g / H: with any
    other form of them rounding would let the output in again.
    """
    top, low, high = angles[TOP, n_angles], angles[LOW, n_angles], angles[HIGH, n_angles]
    line = h + lam * g
    middle = min(max(1.0 / lam, low), high)
    slope = g / h
    mirror = 1.0 / (lam * lam * slope)
    upper, lower = max(slope, mirror), min(slope, mirror)
    if best > h * g:
        # The line meets the hyperbola of the best output known between those points.
        q = line * line / best - 2.0 * lam
        if q <= 2.0 * lam:
            return n_angles
        root = (q + math.sqrt(q * q - 4.0 * lam * lam)) / (2.0 * lam * lam)
        upper, lower = min(upper, root), max(lower, 1.0 / (lam * lam * root))
    upper, lower = min(upper, high), max(lower, low)
    # The outer ends hold nothing better than y; the ray in the middle belongs to the lower angle.
    for part in range(2):
        a, b = (upper, middle) if part == 0 else (middle, lower)
        if a > b:
            s = min(max(1.0 / lam, b), a)
            reach = s * (line / (1.0 + lam * s)) ** 2
            angles[TOP, n_angles] = min(top, reach)
            angles[LOW, n_angles] = b
            angles[HIGH, n_angles] = a
            angles[IS_CLOSED, n_angles] = part
            n_angles += 1
    return n_angles


@implements(find, AngularSearch)
def _find(search, problem, i, desk, outputs, at):
    data, cost, surrogate = problem.data, problem.cost, problem.surrogate
    kept, angles, labels = search.recall, desk.room.angles, desk.room.labels
    size, start = output_size(data, i), kept.starts[i]
    best, best_slope, best_error = 0.0, 0.0, 0.0
    place = -1  # of the best output in labels
    first_tilt = 1.0
    n_found = kept.counts[i]
    if n_found > 0:
        copy_output(size, kept.labels, start, labels, 0)
        error = margin_error(data, i, desk.theta, labels, 0)
        g = output_cost(data, cost, i, labels, 0)
        value, slope, _ = psi(surrogate, error, g)
        if value > 0.0 and g > 0.0:
            best, best_slope, best_error, place = value, slope, error, 0
            first_tilt = (1.0 + error) / g

    bound = left = 0.0
    n_calls = 0
    n_angles = 1
    angles[TOP, 0] = math.inf
    angles[LOW, 0] = 0.0
    angles[HIGH, 0] = math.inf
    angles[IS_CLOSED, 0] = 1.0
    while n_angles > 0:
        n_angles = _open_widest(angles, n_angles)
        top, low, high = angles[TOP, n_angles], angles[LOW, n_angles], angles[HIGH, n_angles]
        if top <= best * (1.0 + max(search.tol, ROUNDING)) or n_calls >= search.max_calls:
            bound = top if top > best * (1.0 + ROUNDING) else best
            break
        lam = first_tilt if low == 0.0 or high == math.inf else 1.0 / math.sqrt(low * high)
        here = n_found * size
        is_closed = angles[IS_CLOSED, n_angles] > 0.0
        is_found = constrained(
            data, cost, i, desk.theta, lam, low, high, is_closed, labels, n_found, labels, here
        )
        desk.calls[0] += 1
        n_calls += 1
        if not is_found:
            continue
        error = margin_error(data, i, desk.theta, labels, here)
        g = output_cost(data, cost, i, labels, here)
        value, slope, _ = psi(surrogate, error, g)
        if value > best:
            best, best_slope, best_error, place = value, slope, error, n_found
        n_found += 1
        if value > 0.0 and g > 0.0:
            n_angles = _split(angles, n_angles, lam, 1.0 + error, g, best)
        else:  # an oracle's rounding: nothing to split by, but a line that bounds the angle
            line = max(1.0 + error + lam * g, 0.0)
            left = max(left, min(top, line * line / (4.0 * lam)))

    bound = max(bound, left)
    if place < 0:
        copy_output(size, kept.truths, start, outputs, at)
    else:
        copy_output(size, labels, place * size, outputs, at)
        if kept.is_warm:
            copy_output(size, outputs, at, kept.labels, start)
            kept.counts[i] = 1
    return best, best_slope, best_error, max(bound, best)
