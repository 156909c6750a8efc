"""From the hull to the best output of all: by a profile, by lists of best outputs, or by branches.

The hull search may end on an edge, and an output below that edge may be better than all corners.
The kinds of hull search differ in how they look for it.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

import math

from maxmargin.core.contract import (
    generic,
    implements,
    k_best,
    margin_error,
    output_cost,
    output_size,
    profile_output,
    profile_up_to,
    shift,
)
from maxmargin.core.outputs import copy_output
from maxmargin.search.hull.branch import Branching
from maxmargin.search.hull.points import (
    ORDER,
    TILT,
    TOP,
    best_below,
    best_level,
    contour_tilt,
    highest_level,
    is_settled,
    lowest_line,
    rank,
)
from maxmargin.search.hull.rooms import (
    BEST,
    COUNTS,
    MOST_LISTS,
    N_LINES,
    N_POINTS,
    HullSearch,
    HullThenBranch,
    HullThenList,
    HullThenProfile,
)

#: With no more levels than this, a whole profile takes no longer than a query and a part of one.
FEW_LEVELS = 20

#: How many best outputs are asked for at first.
FIRST_K = 4


@generic
def go_on(search, problem, i, desk, most, h, g):
    """Look for an output better than the best one known, where none exceeds psi(h, g).

    ``most`` is the largest cost. Returns

    - whether a better output was found, and written to the next free place of the room's ``found``;
    - whether that output, or else the best one known before, is the best of all;
    - a point (h, g) whose psi no output exceeds.

    A fallback that does not need what the hull search found may note in ``search.core.luck`` that
    the next searches should call it without a hull search.
    """


@implements(go_on, HullSearch)
def _stop(search, problem, i, desk, most, h, g):
    return False, False, h, g


@implements(go_on, HullThenProfile)
def _take_best_level(search, problem, i, desk, most, h, g):
    data, cost, theta, room = problem.data, problem.cost, desk.theta, desk.search_room
    own, levels_h, levels_g = room.more.own, room.more.h, room.more.g
    top = room.points[ORDER, room.ints[COUNTS, BEST]]
    step, n_lines = search.core.steps[i], room.ints[COUNTS, N_LINES]
    limit = math.inf
    if n_lines > 0 and step > 0.0:
        limit = highest_level(problem.surrogate, room.lines, n_lines, step, most, top)
    n_levels = profile_up_to(data, cost, i, theta, desk.room, own, limit, levels_h, levels_g)
    desk.calls[0] += 1
    best = -1
    for level in range(n_levels):
        if levels_h[level] > -math.inf:
            order = rank(problem.surrogate, levels_h[level], levels_g[level])
            if order > top:
                top = order
                best = level
    # Near the optimum most outputs of an example have psi around 0, and the hull search always ends
    # on an edge at the true output and needs the profile. So it is tried only now and then. But
    # where levels are many, the hull search pays: its lines spare the profile most levels.
    luck = search.core.luck
    if luck[i, 1] > 0:
        luck[i, 1] -= 1
    elif search.core.recall.is_warm and most <= max(2.0 * limit, FEW_LEVELS * step):
        # How many of the next searches go straight to the profile: 0, then 1, 2, 4, 8, 8, ...
        luck[i, 0] = min(luck[i, 0] + 1, 5)
        luck[i, 1] = (1 << luck[i, 0]) // 4
    if best >= 0:
        at = room.ints[COUNTS, N_POINTS] * room.stride
        profile_output(data, cost, i, theta, desk.room, own, best, room.found, at)
    return best >= 0, True, h, g


@implements(go_on, HullThenBranch)
def _take_best_branch(search, problem, i, desk, most, h, g):
    room = desk.search_room
    n_points = room.ints[COUNTS, N_POINTS]
    branching = Branching(problem, i, desk, room.points, n_points, room.found)
    is_best, h, g = branching.run(contour_tilt(problem.surrogate, h, g), search.max_branches)
    is_written = branching.best >= n_points
    if is_written:
        room.found[n_points * room.stride] = branching.outputs[branching.best]
    return is_written, is_best, h, g


@implements(go_on, HullThenList)
def _take_best_listed(search, problem, i, desk, most, h, g):
    """List the k best outputs at the tilt of the bound, until the bound meets the best output.

    All outputs that are not listed lie below the line of the last one listed, which lowers the
    bound.
    """
    data, cost, theta, surrogate = problem.data, problem.cost, desk.theta, problem.surrogate
    room = desk.search_room
    own, listed = room.more.own, room.more.listed
    lines, n_lines = room.lines, room.ints[COUNTS, N_LINES]
    size, at = output_size(data, i), room.ints[COUNTS, N_POINTS] * room.stride
    top = room.points[ORDER, room.ints[COUNTS, BEST]]
    step = search.core.steps[i]
    is_unviolated = room.ints[COUNTS, BEST] == 0
    is_written = False
    k = min(FIRST_K, search.max_k)
    excess = math.inf
    for _ in range(0 if search.core.is_ratio else MOST_LISTS):
        at_g = best_below(surrogate, lines, n_lines, most)
        tilt = contour_tilt(surrogate, lowest_line(lines, n_lines, at_g), at_g)
        if is_unviolated:
            # Most likely no output is violated. Then the outputs of largest h (tilt 0) prove it.
            tilt = 0.0
            is_unviolated = False
        score_scale = 0.0 if tilt == math.inf else 1.0
        cost_scale = 1.0 if tilt == math.inf else tilt
        n_listed = k_best(
            data, cost, i, theta, desk.room, score_scale, cost_scale, k, own, listed, 0
        )
        desk.calls[0] += 1
        line = math.inf
        for place in range(0, n_listed * size, size):
            h = margin_error(data, i, theta, listed, place) + shift(data, cost, i, listed, place)
            g = output_cost(data, cost, i, listed, place)
            line = score_scale * h + cost_scale * g
            order = rank(surrogate, h, g)
            if order > top:
                top = order
                is_written = True
                copy_output(data, i, listed, place, room.found, at)
        if n_listed < k:
            return is_written, True, h, g  # the list has all outputs
        lines[TILT, n_lines] = tilt
        lines[TOP, n_lines] = line
        n_lines += 1
        most = min(most, line) if tilt == math.inf else most
        if step > 0.0:
            g = best_level(surrogate, lines, n_lines, step, 0.0, most)
        else:
            g = best_below(surrogate, lines, n_lines, most)
        h = lowest_line(lines, n_lines, g)
        if is_settled(surrogate, top, h, g):
            return is_written, True, h, g
        left = rank(surrogate, h, g) - top
        if k == search.max_k and left > 0.9 * excess:
            break
        excess = left
        k = min(2 * k, search.max_k)
    return is_written, False, h, g
