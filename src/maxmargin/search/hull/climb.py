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


@implements(find, HullSearch)
@implements(find, HullThenProfile)
@implements(find, HullThenList)
@implements(find, HullThenBranch)
def _find(search, problem, i, desk, outputs, at):
    data, cost, surrogate = problem.data, problem.cost, problem.surrogate
    room, core = desk.search_room, search.core
    points, lines, found, stride = room.points, room.lines, room.found, room.stride
    chain, counts = room.ints[CHAIN], room.ints[COUNTS]
    kept = core.recall
    start = kept.starts[i]
    n_seeds = 1 + kept.counts[i]
    counts[:] = 0
    centre, other = -1, -1
    tilt, top, share, bound = 0.0, 0.0, 0.0, 0.0
    is_written, is_best, is_uncut = False, False, False
    while True:
        # Take the next output: the true one, a remembered one, the one that the fallback wrote, or
        # the answer of a new query.
        new = counts[N_POINTS]
        here = new * stride
        score_scale, cost_scale = 1.0, 1.0
        is_first = False
        if new == 0:
            copy_output(data, i, kept.truths, kept.truth_starts[i], found, 0)
        elif new < n_seeds:
            copy_output(data, i, kept.outputs, (new - 1) * kept.n_cells + start, found, here)
        elif not is_written:
            centre, other, tilt = aim(surrogate, points, chain, counts[N_CHAIN])
            # A bound needs the largest cost. The first query for an example asks for it, and
            # kept.numbers remembers it.
            is_first = kept.numbers[i] == 0.0 and counts[N_LINES] == 0 and tilt < math.inf
            is_first = is_first and not core.is_ratio
            if is_first:
                tilt = math.inf
            elif is_uncut:
                most = kept.numbers[i]
                tilt = contour_tilt(surrogate, 0.0, most) if most > 0.0 else 0.0
            if tilt == math.inf:
                score_scale = 0.0
            else:
                cost_scale = tilt
            top = maximize_bounded(
                data, cost, i, desk.theta, desk.room, score_scale, cost_scale, found, here
            )
            desk.calls[0] += 1
        error = margin_error(data, i, desk.theta, found, here)
        h = error + shift(data, cost, i, found, here)
        g = output_cost(data, cost, i, found, here)
        points[H, new] = h
        points[G, new] = g
        points[ERROR, new] = error
        points[ORDER, new] = rank(surrogate, h, g)
        counts[N_POINTS] += 1
        if new == 0 or points[ORDER, new] > points[ORDER, counts[BEST]]:
            counts[BEST] = new
        if is_written:
            break
        n_chain = insert_point(points, chain, counts[N_CHAIN], new)
        if n_chain > 0:
            counts[N_CHAIN] = n_chain
        if new + 1 < n_seeds or (new + 1 == n_seeds and core.luck[i, 1] == 0):
            continue

        if new + 1 == n_seeds:
            # core.luck says: go straight to the fallback. The remembered outputs are the ends of
            # the edge.
            centre, other = min(1, n_seeds - 1), (2 if n_seeds > 2 else -1)
        else:
            # The query bounds all outputs by the line h + tilt * g <= top.
            value = score_scale * h + cost_scale * g
            scale = score_scale * abs(h) + cost_scale * abs(g)
            if top > value + ROUNDING * scale:
                counts[IS_BOUNDED] = 1
            top = max(top, value)
            lines[TILT, counts[N_LINES]] = tilt
            lines[TOP, counts[N_LINES]] = top
            counts[N_LINES] += 1
            if tilt == math.inf:
                kept.numbers[i] = top
            h, g = points[H, centre], points[G, centre]
            scale += score_scale * abs(h) + cost_scale * abs(g)
            rise = value - (score_scale * h + cost_scale * g)
            is_done = (n_chain < 0 or rise <= ROUNDING * scale) and not is_first
            # If the only line so far is g <= top, it does not bound h: ask once more.
            is_uncut = counts[IS_BOUNDED] == 1 and counts[N_LINES] == 1 and tilt == math.inf
            if (not is_done or is_uncut) and counts[N_LINES] < core.max_calls:
                continue

            # (h, g) becomes the point of largest psi on the hull or, if the hull is not known to be
            # complete, below the lines.
            if not is_done or counts[IS_BOUNDED] == 1:
                most = kept.numbers[i]
                h, g = _limit(surrogate, points, lines, counts[N_LINES], most, core.is_ratio)
            elif other >= 0:
                share = best_share(surrogate, points, centre, other)
                h += share * (points[H, other] - h)
                g += share * (points[G, other] - g)
            if core.steps[i] > 0.0 and not is_settled(surrogate, points[ORDER, counts[BEST]], h, g):
                low, high = 0.0, kept.numbers[i]
                if share > 0.0:
                    low = min(points[G, centre], points[G, other])
                    high = max(points[G, centre], points[G, other])
                g = best_level(surrogate, lines, counts[N_LINES], core.steps[i], low, high)
                h = lowest_line(lines, counts[N_LINES], g)
            if is_settled(surrogate, points[ORDER, counts[BEST]], h, g):
                core.luck[i, 0] = 0
                break
        is_written, is_best, h, g = go_on(search, problem, i, desk, kept.numbers[i], h, g)
        if not is_best:
            bound = psi(surrogate, h, g)[0]
        if not is_written:
            break

    best = counts[BEST]
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
    value, slope, _ = psi(surrogate, h, g)
    if value <= 0.0:
        best, value, slope, error = 0, 0.0, 0.0, 0.0
    if not is_mixed:
        copy_output(data, i, found, best * stride, outputs, at)
    return value, slope, error, max(bound, value)
