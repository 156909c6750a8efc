"""The convex hull search: climb the hull of the points (h, g) to where a contour of psi touches it.

Every query asks for the largest h + tilt * g, and finds a corner of the hull. Let c be the best
point known so far. The next tilt is the tilt of the contour of psi at c or, if a neighbour of c
lies above the tangent of that contour, the tilt of the edge between the two. If the query finds no
output above its line through c, the maximum of psi over the hull is known: it is at c, or on the
edge. On the edge it is only a bound, not the psi of an output. finish.py then finds the exact
maximum: by a profile, by the k best outputs at that tilt, or by branches of the outputs.
"""

from __future__ import annotations

import math
from typing import Any

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    find,
    implements,
    margin_error,
    maximize_bounded,
    mix,
    output_cost,
    psi,
    shift,
)
from maxmargin.core.outputs import copy_output
from maxmargin.search.hull.finish import go_on
from maxmargin.search.hull.points import (
    ORDER,
    ROUNDING,
    TILT,
    TOP,
    G,
    H,
    aim,
    best_below,
    best_level,
    best_share,
    contour_tilt,
    insert_point,
    is_settled,
    lowest_line,
    rank,
)
from maxmargin.search.hull.rooms import (
    BEST,
    CHAIN,
    COUNTS,
    ERROR,
    IS_BOUNDED,
    N_CHAIN,
    N_LINES,
    N_POINTS,
    HullSearch,
    HullThenBranch,
    HullThenList,
    HullThenProfile,
)
from maxmargin.search.recall import remember


@implements(find, HullSearch)
@implements(find, HullThenProfile)
@implements(find, HullThenList)
@implements(find, HullThenBranch)
def _find(search, problem, i, desk, outputs, at):
    data, core, kept, room = problem.data, search.core, search.core.recall, desk.search_room
    points, counts, found = room.points, room.ints[COUNTS], room.found
    counts[:] = 0
    # Start from the true output and from those that are remembered.
    n_seeds = 1 + kept.counts[i]
    for new in range(n_seeds):
        if new == 0:
            copy_output(data, i, kept.truths, kept.truth_starts[i], found, 0)
        else:
            slot = (new - 1) * kept.n_cells + kept.starts[i]
            copy_output(data, i, kept.outputs, slot, found, new * room.stride)
        _add_point(problem, i, desk)
        _add_corner(room, new)
    centre, other, share, bound = -1, -1, 0.0, 0.0
    is_done, is_uncut, is_over = False, False, False
    if core.luck[i, 1] > 0:
        # The last searches all needed the fallback: go straight to it. The remembered outputs are
        # the ends of the edge.
        centre, other = min(1, n_seeds - 1), (2 if n_seeds > 2 else -1)
        h, g = points[H, n_seeds - 1], points[G, n_seeds - 1]
    else:
        while (not is_done or is_uncut) and counts[N_LINES] < core.max_calls:
            centre, other, tilt, is_first = _aim(
                problem.surrogate, room, kept.numbers[i], core.is_ratio, is_uncut
            )
            score_scale = 0.0 if tilt == math.inf else 1.0
            cost_scale = 1.0 if tilt == math.inf else tilt
            here = counts[N_POINTS] * room.stride
            top = maximize_bounded(
                data, problem.cost, i, desk.theta, desk.room, score_scale, cost_scale, found, here
            )
            desk.calls[0] += 1
            _add_point(problem, i, desk)
            is_done, is_uncut = _add_line(room, tilt, top, centre, is_first)
            if tilt == math.inf:
                kept.numbers[i] = room.lines[TOP, counts[N_LINES] - 1]
        share, h, g = _summit(
            problem.surrogate, room, centre, other, is_done, kept.numbers[i], core.steps[i],
            core.is_ratio,
        )  # fmt: skip
        is_over = is_settled(problem.surrogate, points[ORDER, counts[BEST]], h, g)
        if is_over:
            core.luck[i, 0] = 0
    if not is_over:
        is_written, is_best, h, g = go_on(search, problem, i, desk, kept.numbers[i], h, g)
        if is_written:
            _add_point(problem, i, desk)
        if not is_best:
            bound = psi(problem.surrogate, h, g)[0]
    return _answer(kept, problem, i, desk, centre, other, share, bound, outputs, at)


@jitable
def _add_point(problem: Any, i: int, desk: Any) -> None:
    """Measure the output at the next free place of the room: it is the next point."""
    data, cost, room = problem.data, problem.cost, desk.search_room
    points, counts = room.points, room.ints[COUNTS]
    new = counts[N_POINTS]
    here = new * room.stride
    error = margin_error(data, i, desk.theta, room.found, here)
    h = error + shift(data, cost, i, room.found, here)
    g = output_cost(data, cost, i, room.found, here)
    points[H, new] = h
    points[G, new] = g
    points[ERROR, new] = error
    points[ORDER, new] = rank(problem.surrogate, h, g)
    counts[N_POINTS] += 1
    if new == 0 or points[ORDER, new] > points[ORDER, counts[BEST]]:
        counts[BEST] = new


@jitable
def _add_corner(room: Any, new: int) -> bool:
    """Insert a point into the hull; tell whether it lies above it."""
    counts = room.ints[COUNTS]
    n_chain = insert_point(room.points, room.ints[CHAIN], counts[N_CHAIN], new)
    if n_chain > 0:
        counts[N_CHAIN] = n_chain
    return n_chain > 0


@jitable
def _aim(
    surrogate: Any, room: Any, most: float, is_ratio: int, is_uncut: bool
) -> tuple[int, int, float, bool]:
    """Return where the next query looks: the best corner, the other end of an edge, and the tilt.

    And whether the query asks for the largest cost ``most``, which a bound needs: the first query
    does so if it is 0, not known. Micro-F1 needs none.
    """
    counts = room.ints[COUNTS]
    centre, other, tilt = aim(surrogate, room.points, room.ints[CHAIN], counts[N_CHAIN])
    is_first = most == 0.0 and counts[N_LINES] == 0 and tilt < math.inf and not is_ratio
    if is_first:
        tilt = math.inf
    elif is_uncut:
        tilt = contour_tilt(surrogate, 0.0, most) if most > 0.0 else 0.0
    return centre, other, tilt, is_first


@jitable
def _add_line(room: Any, tilt: float, top: float, centre: int, is_first: bool) -> tuple[bool, bool]:
    """Insert the last point, the answer of a query, and its line h + tilt * g <= top.

    Returns whether the best place of the hull is known, because the point is no higher than the
    centre, and whether the lines so far leave h without a bound.
    """
    points, lines, counts = room.points, room.lines, room.ints[COUNTS]
    score_scale = 0.0 if tilt == math.inf else 1.0
    cost_scale = 1.0 if tilt == math.inf else tilt
    new = counts[N_POINTS] - 1
    is_above = _add_corner(room, new)
    h, g = points[H, new], points[G, new]
    value = score_scale * h + cost_scale * g
    scale = score_scale * abs(h) + cost_scale * abs(g)
    if top > value + ROUNDING * scale:
        counts[IS_BOUNDED] = 1
    top = max(top, value)
    lines[TILT, counts[N_LINES]] = tilt
    lines[TOP, counts[N_LINES]] = top
    counts[N_LINES] += 1
    h, g = points[H, centre], points[G, centre]
    scale += score_scale * abs(h) + cost_scale * abs(g)
    rise = value - (score_scale * h + cost_scale * g)
    is_done = (not is_above or rise <= ROUNDING * scale) and not is_first
    # If the only line so far is g <= top, it does not bound h: ask once more.
    is_uncut = counts[IS_BOUNDED] == 1 and counts[N_LINES] == 1 and tilt == math.inf
    return is_done, is_uncut


@jitable
def _summit(
    surrogate: Any,
    room: Any,
    centre: int,
    other: int,
    is_done: bool,
    most: float,
    step: float,
    is_ratio: int,
) -> tuple[float, float, float]:
    """Return the point (h, g) whose psi no output exceeds, and where on the edge it lies.

    It is the point of largest psi on the hull or, if the hull is not known to be complete, below
    the lines. Returns h and g, and before them where psi is largest on the edge from ``centre`` to
    ``other``, as a share of it: where h and g are, or over a relaxation a mean worth making.
    """
    points, lines, counts = room.points, room.lines, room.ints[COUNTS]
    h, g = points[H, centre], points[G, centre]
    share = 0.0
    if not is_done or counts[IS_BOUNDED] == 1:
        h, g = _limit(surrogate, points, lines, counts[N_LINES], most, is_ratio)
    elif other >= 0:
        share = best_share(surrogate, points, centre, other)
        h += share * (points[H, other] - h)
        g += share * (points[G, other] - g)
    if share == 0.0 and step == 0.0 and other >= 0:
        # Oracles that only bound h + tilt * g give outputs all the same, whose means may be better.
        return best_share(surrogate, points, centre, other), h, g
    if step > 0.0 and not is_settled(surrogate, points[ORDER, counts[BEST]], h, g):
        low, high = 0.0, most
        if share > 0.0:
            low = min(points[G, centre], points[G, other])
            high = max(points[G, centre], points[G, other])
        g = best_level(surrogate, lines, counts[N_LINES], step, low, high)
        h = lowest_line(lines, counts[N_LINES], g)
    return share, h, g


@jitable
def _limit(
    surrogate: Any, points: Any, lines: Any, n_lines: int, most: float, is_ratio: int
) -> tuple[float, float]:
    """Return a point (h, g) whose psi is no less than that of any point below all lines."""
    if is_ratio:
        # For Micro-F1, psi = h / -g <= tilt + top / -g, and -g = |y| + |y_i| is at least |y_i| and
        # at least 1.
        least = max(1.0, -0.5 * points[G, 0])
        bound = math.inf
        for k in range(n_lines):
            bound = min(bound, lines[TILT, k] + max(lines[TOP, k], 0.0) / least)
        return bound, -1.0
    g = best_below(surrogate, lines, n_lines, most)
    return lowest_line(lines, n_lines, g), g


@jitable
def _answer(
    kept: Any,
    problem: Any,
    i: int,
    desk: Any,
    centre: int,
    other: int,
    share: float,
    bound: float,
    outputs: Any,
    at: int,
) -> tuple[float, float, float, float]:
    """Write the best output, and remember it and the ends of the edge; return what `find` does.

    Over a relaxation the best output is the mean of both ends of the edge, if that can be made.
    """
    data, cost, surrogate = problem.data, problem.cost, problem.surrogate
    room = desk.search_room
    points, found, stride = room.points, room.found, room.stride
    best = room.ints[COUNTS, BEST]
    if kept.is_warm:
        # The ends of the edge come first. Point 0, the true output, need not be remembered.
        for slot in (best, other, centre):
            if slot > 0:
                remember(data, kept, i, found, slot * stride)
    is_mixed = False
    if bound > 0.0 and share > 0.0:
        is_mixed = mix(data, i, found, centre * stride, found, other * stride, share, outputs, at)
    h, g, error = points[H, best], points[G, best], points[ERROR, best]
    if is_mixed:
        error = margin_error(data, i, desk.theta, outputs, at)
        h = error + shift(data, cost, i, outputs, at)
        g = output_cost(data, cost, i, outputs, at)
        if rank(surrogate, h, g) < points[ORDER, best]:  # the edge was the best one queries ago
            h, g, error, is_mixed = points[H, best], points[G, best], points[ERROR, best], False
    value, slope, _ = psi(surrogate, h, g)
    if value <= 0.0:
        best, value, slope, error = 0, 0.0, 0.0, 0.0
    if not is_mixed:
        copy_output(data, i, found, best * stride, outputs, at)
    return value, slope, error, max(bound, value)
