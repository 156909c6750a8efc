"""The angular search: split the plane by rays from the origin, and shut angles that hold no better.

For slack rescaling only. With H = 1 + h, psi = H g is constant along a hyperbola. A query asks for
the output y of largest H + tilt * g in an angle. The line of that tilt through y meets the
hyperbola through y in two points, and no output of the angle beyond these points is better than y.
What remains of the angle is cut in two at the ray where the line touches a hyperbola. An angle is
also shut if the lines found in it, and in the angles that it was cut from, leave no place for an
output better than the best one known. Where costs are multiples of a step, only these costs count.
The angle of largest bound is opened first.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.core.contract import (
    capabilities,
    constrained,
    cost_step,
    find,
    implements,
    margin_error,
    memory,
    output_cost,
    output_size,
    psi,
    search_room,
)
from maxmargin.core.outputs import copy_output
from maxmargin.search.contract import check_at_least, check_tolerance
from maxmargin.search.recall import Recall, recall, remember, remembered

#: Outputs per example that are kept for the next pass: the best one is often one of the last few.
N_REMEMBERED = 8

#: A bound that exceeds the best psi by no more than this share of it does so by rounding alone.
ROUNDING = 1e-14

#: An output with 1 + h below this share of 1 + |h| lies on the axis 1 + h = 0, but for rounding.
AXIS = 1e-12

#: The least ``tol`` over a relaxation: its outputs lie arbitrarily close together, so that angles
#: would get smaller and smaller without end.
RELAXED_TOL = 1e-7


@dataclass(frozen=True)
class Angular:
    """Search by angles, exact for slack rescaling; it needs the constrained oracle.

    Parameters
    ----------
    tol : float, default=0.0
        Stop when no output can exceed the best psi known by more than this share of it.
    warm : bool, default=True
        Start from the outputs found in the last passes. This changes the number of calls, but no
        maximum.
    max_calls : int, default=200
        Stop after this many calls, with the bound known by then.

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
        kept = recall(data, N_REMEMBERED, self.warm)
        if "relaxed" in capabilities(data, cost):
            steps, tol = None, max(self.tol, RELAXED_TOL)
        else:
            steps, tol = cost_step(data, cost), self.tol
        steps = np.zeros(len(kept.starts)) if steps is None else np.array(steps, dtype=np.float64)
        return AngularSearch(kept, float(tol), self.max_calls, steps)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search."""
        return asdict(self)


class AngularSearch(NamedTuple):
    """The angular search as passes see it."""

    recall: Recall
    tol: float
    max_calls: int
    steps: Any  # (n_examples,): the step that all costs are multiples of, or 0 if there is none


class AngularRoom(NamedTuple):
    """Room for one search."""

    angles: Any  # (4, n): open angles, see below
    lines: Any  # (4, n): lines found, see below
    found: Any  # flat: outputs found, one after the other


# Rows of AngularRoom.angles. An angle has the outputs with LOW < g / H < HIGH, or g / H <= HIGH if
# IS_CLOSED; psi of none of them exceeds TOP.
TOP, LOW, HIGH, IS_CLOSED = range(4)
# Rows of AngularRoom.lines: H + TILT * g <= REACH for all outputs with g / H between LOW and HIGH.
TILT, REACH = 0, 3
#: An angle that admits more multiples of the step than this is not looked through by `_narrow`.
MOST_LEVELS = 256


@implements(search_room, AngularSearch)
def _search_room(search, problem):
    # Each call replaces one angle by at most two, so it adds at most one angle.
    n = search.max_calls + N_REMEMBERED + 1
    stride = int(problem.sizes.max(initial=1))
    return AngularRoom(np.zeros((4, n)), np.zeros((4, n)), problem.empty_outputs(n * stride))


@implements(memory, AngularSearch)
def _memory(search):
    return remembered(search.recall)


@kernel
def _open_widest(angles: Any, n_angles: int) -> int:
    """Swap the angle of largest TOP to the last place; return that place.

    The list is short, so that a scan is fast enough.
    """
    last = n_angles - 1
    best = last
    for k in range(last):
        if angles[TOP, k] > angles[TOP, best]:
            best = k
    for row in range(4):
        angles[row, best], angles[row, last] = angles[row, last], angles[row, best]
    return last


@kernel
def _split(angles: Any, n_angles: int, tilt: float, h: float, g: float, best: float) -> int:
    """Replace angle ``n_angles`` by the parts of it that may hold an output better than (H, g).

    (H, g), here ``h`` and ``g``, is the best output of the angle at this tilt. Returns the new
    number of angles. Slopes are always computed as g / H: another formula would round differently
    and might let the same output in again.
    """
    top, low, high = angles[TOP, n_angles], angles[LOW, n_angles], angles[HIGH, n_angles]
    line = h + tilt * g
    middle = min(max(1.0 / tilt, low), high)
    slope = g / h
    mirror = 1.0 / (tilt * tilt * slope)
    upper, lower = max(slope, mirror), min(slope, mirror)
    if best > h * g:
        # The line meets the hyperbola through the best output known between those two points.
        q = line * line / best - 2.0 * tilt
        if q <= 2.0 * tilt:
            return n_angles
        root = (q + math.sqrt(q * q - 4.0 * tilt * tilt)) / (2.0 * tilt * tilt)
        upper, lower = min(upper, root), max(lower, 1.0 / (tilt * tilt * root))
    upper, lower = min(upper, high), max(lower, low)
    # Slopes above `upper` or below `lower` hold nothing better. The ray in the middle belongs to
    # the lower angle.
    for part in range(2):
        a, b = (upper, middle) if part == 0 else (middle, lower)
        if a > b:
            s = min(max(1.0 / tilt, b), a)
            reach = s * (line / (1.0 + tilt * s)) ** 2
            angles[TOP, n_angles] = min(top, reach)
            angles[LOW, n_angles] = b
            angles[HIGH, n_angles] = a
            angles[IS_CLOSED, n_angles] = part
            n_angles += 1
    return n_angles


@kernel
def _narrow(angles: Any, place: int, lines: Any, n_lines: int, step: float, best: float) -> bool:
    """Narrow an angle by its lines; return False if no output in it can be better than ``best``.

    Looks at the costs that are multiples of ``step``, and changes nothing if step is 0 or there are
    too many of them. Lowers TOP, and moves LOW and HIGH in to the slopes that a better output can
    have.
    """
    low, high = angles[LOW, place], angles[HIGH, place]
    most = math.inf
    for k in range(n_lines):
        if lines[LOW, k] <= low and high <= lines[HIGH, k]:
            most = min(most, lines[REACH, k] / lines[TILT, k])
    if step <= 0.0 or most > MOST_LEVELS * step:
        return True
    top, least, largest = 0.0, math.inf, 0.0
    for level in range(1, int(most / step + 1e-9) + 1):
        g = level * step
        h = g / low if low > 0.0 else math.inf
        for k in range(n_lines):
            if lines[LOW, k] <= low and high <= lines[HIGH, k]:
                h = min(h, lines[REACH, k] - lines[TILT, k] * g)
        if h > 0.0 and h * g > best and g <= high * h * (1.0 + 1e-12):
            top = max(top, h * g)
            least = min(least, g / h)
            if best > 0.0:
                largest = max(largest, g * g / best)
    if top == 0.0:
        return False
    angles[TOP, place] = min(angles[TOP, place], top)
    # A margin of 1e-9 keeps slopes that are computed with rounding inside.
    angles[LOW, place] = max(low, least * (1.0 - 1e-9))
    if best > 0.0 and largest * (1.0 + 1e-9) < high:
        angles[HIGH, place] = largest * (1.0 + 1e-9)
    return True


@implements(find, AngularSearch)
def _find(search, problem, i, desk, outputs, at):
    data, cost, surrogate = problem.data, problem.cost, problem.surrogate
    kept, found = search.recall, desk.search_room.found
    angles, lines = desk.search_room.angles, desk.search_room.lines
    size, start = output_size(data, i), kept.starts[i]
    best, best_slope, best_error = 0.0, 0.0, 0.0
    place = -1  # of the best output in `found`
    first_tilt = 1.0
    n_found = kept.counts[i]
    for k in range(n_found):
        copy_output(data, i, kept.outputs, k * kept.n_cells + start, found, k * size)
        error = margin_error(data, i, desk.theta, found, k * size)
        g = output_cost(data, cost, i, found, k * size)
        value, slope, _ = psi(surrogate, error, g)
        if value > best and g > 0.0:
            best, best_slope, best_error, place = value, slope, error, k
            first_tilt = (1.0 + error) / g

    bound = left = 0.0
    n_calls = n_lines = 0
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
        # A better output may have been found since the angle was cut, so narrow the angle again.
        if not _narrow(angles, n_angles, lines, n_lines, search.steps[i], best):
            continue
        low, high = angles[LOW, n_angles], angles[HIGH, n_angles]
        tilt = first_tilt if low == 0.0 or high == math.inf else 1.0 / math.sqrt(low * high)
        here = n_found * size
        is_closed = angles[IS_CLOSED, n_angles] > 0.0
        is_found = constrained(
            data,
            cost,
            i,
            desk.theta,
            desk.room,
            tilt,
            low,
            high,
            is_closed,
            found,
            n_found,
            found,
            here,
        )
        desk.calls[0] += 1
        n_calls += 1
        if not is_found:
            continue
        error = margin_error(data, i, desk.theta, found, here)
        g = output_cost(data, cost, i, found, here)
        value, slope, _ = psi(surrogate, error, g)
        if value > best:
            best, best_slope, best_error, place = value, slope, error, n_found
        n_found += 1
        if value > 0.0 and g > 0.0:
            lines[TILT, n_lines], lines[REACH, n_lines] = tilt, 1.0 + error + tilt * g
            lines[LOW, n_lines], lines[HIGH, n_lines] = low, high
            n_lines += 1
            first = n_angles
            n_angles = _split(angles, n_angles, tilt, 1.0 + error, g, best)
            for k in range(n_angles - 1, first - 1, -1):
                if not _narrow(angles, k, lines, n_lines, search.steps[i], best):
                    n_angles -= 1
                    for row in range(4):
                        angles[row, k] = angles[row, n_angles]
        else:
            # By rounding: the oracle computed 1 + h > 0, but here psi is not positive. Outputs this
            # close to the axis have psi near 0, and `left` bounds it. The rest of the angle is
            # opened again.
            line = max(1.0 + error + tilt * g, 0.0)
            edge = g / (AXIS * (1.0 + abs(error)))
            if low < edge < high:
                angles[TOP, n_angles] = min(top, line * line / (4.0 * tilt))
                angles[HIGH, n_angles] = edge
                angles[IS_CLOSED, n_angles] = 0.0
                n_angles += 1
                left = max(left, min(top, (line / tilt) ** 2 / edge))
            else:
                left = max(left, min(top, line * line / (4.0 * tilt)))

    bound = max(bound, left)
    if place < 0:
        copy_output(data, i, kept.truths, kept.truth_starts[i], outputs, at)
    else:
        copy_output(data, i, found, place * size, outputs, at)
        if kept.is_warm:
            remember(data, kept, i, outputs, at)
    return best, best_slope, best_error, max(bound, best)
