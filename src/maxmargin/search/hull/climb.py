"""The convex hull search: climb the hull of the points (h, g) to where a contour of psi touches it.

Every query of tilt lam finds a corner of the hull. From the best point c known so far the next tilt
is that of the contour of psi at c or, if a neighbour of c lies above that contour's tangent, that
of the edge between the two. Where no output lies above the line asked for, the maximum of psi over
the hull is known: at c, or on the edge. On the edge it is the psi of no output, but a bound. The
exact maximum then takes a profile; or, by the k best at that tilt, all outputs above a lower line;
or branches of the outputs, by their parts (branch.py).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    cost_step,
    find,
    generic,
    implements,
    is_relaxed,
    k_best,
    k_best_room,
    margin_error,
    maximize_bounded,
    memory,
    mix,
    oracles,
    output_cost,
    output_size,
    profile_levels,
    profile_output,
    profile_price,
    profile_room,
    profile_up_to,
    psi,
    search_room,
    shift,
)
from maxmargin.search.contract import (
    Recall,
    check_at_least,
    copy_output,
    recall,
    remember,
    remembered,
)
from maxmargin.search.hull.branch import Branching
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
    highest_level,
    insert_point,
    is_settled,
    lowest_line,
    rank,
)

#: Outputs remembered of an example: the ends of the last edges, and the best.
N_REMEMBERED = 12

#: With no more levels than this a whole profile is no dearer than a query and a part of one.
FEW_LEVELS = 20

#: Above the time of so many calls of the oracle a profile is too dear, though it never fails, which
#: the k best may do.
DEAREST_PROFILE = 200.0


#: The oracles that lead on from the hull to the best output, the most reliable first.
FALLBACKS = ("profile", "forbid", "k_best")


@dataclass(frozen=True)
class ConvexHull:
    """Search on the convex hull, for every surrogate; it needs the plain oracle only.

    It finds the best corner of the hull of all (h, g), in few calls, and a bound: the largest psi
    on the hull. Where an output under the hull may be better still, ``integral=True`` goes on to
    the best output of all. For `MicroF1` the best corner is the best output.

    Parameters
    ----------
    integral : bool, default=True
        Go on to the best output. False stops at the best corner; over a relaxation it is the
        fractional output, a mean of two, that is found in any case.
    fallback : {"auto", "profile", "forbid", "k_best"}, default="auto"
        How: by the best output of each cost level; by branches that forbid and require parts of
        outputs; or by the k best outputs at the tilts where the bound is. "auto" takes the profile
        if the structure has one that is not too dear, else the first of the others that it has;
        where there is none, the search stops at the bound.
    warm : bool, default=True
        Start from outputs found in the last pass. This changes no maximum, but the number of calls.
    max_calls : int, default=100
        Give up after so many calls, with the bound that they have given.
    max_k : int, default=64
        Ask for so many best outputs at the most, 4 at first and then twice as many each time. With
        so many it goes on, at one tilt after the other, while each list brings the bound nearer to
        the best output by a tenth.
    max_branches : int, default=1000
        Give up after so many branches, with the bound that they have given.

    Examples
    --------
    >>> from maxmargin.search import ConvexHull
    >>> from maxmargin.surrogates import SlackRescaling
    >>> from maxmargin.testing import cloud_problem
    >>> h, g = [[2.0, 1.8, -0.5]], [[0.5, 1.0, 3.0]]  # psi = (h + 1) g: 1.5, 2.8 and 1.5
    >>> problem = cloud_problem(h, g, SlackRescaling(), ConvexHull(), compile=False)
    >>> problem.losses(problem.weights)  # and the bounds
    (array([2.8]), array([2.8]))
    """

    integral: bool = True
    fallback: str = "auto"
    warm: bool = True
    max_calls: int = 100
    max_k: int = 64
    max_branches: int = 1000

    name: ClassVar[str] = "hull"
    surrogates: ClassVar[str] = "any"
    needs_slack: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.fallback not in ("auto", *FALLBACKS):
            raise ValueError(
                "ConvexHull: fallback must be 'auto', 'profile', 'forbid' or 'k_best', "
                f"got {self.fallback!r}."
            )
        check_at_least("ConvexHull", "max_calls", self.max_calls, 2)
        check_at_least("ConvexHull", "max_k", self.max_k, 1)
        check_at_least("ConvexHull", "max_branches", self.max_branches, 1)

    @property
    def needs(self) -> frozenset[str]:
        """The oracles that it calls in any case."""
        is_named = self.integral and self.fallback != "auto"
        return frozenset({"weighted", self.fallback} if is_named else {"weighted"})

    @property
    def is_exact(self) -> bool:
        """Whether it finds the maximum, where the structure has what the fallback needs."""
        return self.integral

    def bind(self, data: Any, cost: Any, surrogate: Any) -> Any:
        """Return the search over these examples."""
        kept = recall(data, N_REMEMBERED, self.warm)
        is_ratio = getattr(surrogate, "criteria", "cost") == "micro_f1"
        steps = None if is_ratio or is_relaxed(type(data)) else cost_step(data, cost)
        steps = np.zeros(len(kept.starts)) if steps is None else np.array(steps, dtype=np.float64)
        luck = np.zeros((len(kept.starts), 2), dtype=np.int64)
        core = HullCore(kept, self.max_calls, int(is_ratio), steps, luck)
        offered = oracles(data, cost)
        if not self.integral or is_relaxed(type(data)):
            return HullSearch(core)
        fallback = self.fallback
        if fallback == "auto":
            found = [name for name in FALLBACKS if name in offered]
            is_dear = len(found) > 1 and profile_price(data, cost) > DEAREST_PROFILE
            fallback = found[is_dear and found[0] == "profile"] if found else ""
        if fallback == "profile":
            return HullThenProfile(core, profile_levels(data, cost))
        if fallback == "forbid":
            return HullThenBranch(core, self.max_branches)
        return HullThenList(core, self.max_k) if fallback == "k_best" else HullSearch(core)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search."""
        return asdict(self)


class HullCore(NamedTuple):
    """What the kinds of hull search share.

    ``recall.numbers[i]`` is the largest cost in example i, 0 where it is not known.
    """

    recall: Recall
    max_calls: int
    is_ratio: int  # Micro-F1, where g < 0
    steps: Any  # (n_examples,): what the costs are multiples of, or 0
    luck: Any  # (n_examples, 2) int64: searches in a row that needed the fallback, and how many of
    # the next ones are to go to it at once


class HullSearch(NamedTuple):
    """Stops at the best corner (or the fractional output of a relaxation)."""

    core: HullCore


class HullThenProfile(NamedTuple):
    """Goes on by the best output of each cost level."""

    core: HullCore
    n_levels: int


class HullThenList(NamedTuple):
    """Goes on by the k best outputs."""

    core: HullCore
    max_k: int


class HullThenBranch(NamedTuple):
    """Goes on by branches of the outputs."""

    core: HullCore
    max_branches: int


class HullRoom(NamedTuple):
    """Room for one search: points met, which of them are the hull, and lines above all outputs.

    Few arrays with several rows, because every array of a NamedTuple costs compile time wherever it
    is handed on.
    """

    points: Any  # (4, n): a row each of h, g, error, order
    lines: Any  # (2, n): a row each of tilts and tops
    ints: Any  # (2, n) int64: the corners of the hull by rising g; counts
    labels: Any  # flat: output of point k at k * stride
    stride: int
    more: Any  # of the fallback


# A row of HullRoom.points beside H, G and ORDER: h without the shift of Micro-F1.
ERROR = 2
# Rows of HullRoom.ints.
CHAIN, COUNTS = 0, 1
# Places in the row of counts.
N_POINTS, N_CHAIN, N_LINES, BEST, IS_BOUNDED = range(5)

#: How many best outputs are asked for at first, and how many lists of them are made at the most.
FIRST_K, MOST_LISTS = 4, 64


class ListRoom(NamedTuple):
    """Room for the k best outputs."""

    own: Any
    listed: Any  # flat


class LevelRoom(NamedTuple):
    """Room for a profile."""

    own: Any
    h: Any
    g: Any


def _room(core: HullCore, problem: Any, more: Any) -> HullRoom:
    # Points: the truth, those remembered, one a call and one of the fallback. Lines: one a call,
    # and one for each list of the fallback.
    n = core.max_calls + N_REMEMBERED + 2
    stride = int(problem.sizes.max(initial=1))
    return HullRoom(
        np.zeros((4, n)),
        np.zeros((2, n + MOST_LISTS)),
        np.zeros((2, n + 5), dtype=np.int64),
        problem.empty_outputs(n * stride),
        stride,
        more,
    )


@implements(search_room, HullSearch)
@implements(search_room, HullThenBranch)
def _search_room(search, problem):
    return _room(search.core, problem, np.zeros(0))


@implements(search_room, HullThenProfile)
def _profile_search_room(search, problem):
    own = profile_room(problem.view.data, problem.view.cost)
    return _room(search.core, problem, LevelRoom(own, *np.zeros((2, search.n_levels))))


@implements(search_room, HullThenList)
def _list_search_room(search, problem):
    k = search.max_k
    own = k_best_room(problem.view.data, problem.view.cost, k)
    listed = problem.empty_outputs(k * int(problem.sizes.max(initial=1)))
    return _room(search.core, problem, ListRoom(own, listed))


@implements(memory, HullSearch)
@implements(memory, HullThenProfile)
@implements(memory, HullThenList)
@implements(memory, HullThenBranch)
def _memory(search):
    return {**remembered(search.core.recall), "luck": search.core.luck}


# -- where the kinds differ: when an output under the hull may be better than all corners ----------


@generic
def _go_on(search, problem, i, desk, most, h, g):
    """Look for an output better than the best one known, where none exceeds psi(h, g).

    Returns whether one was written, at the next free place of desk.room.labels; whether that, or
    the best one known, is the best of all; and a point whose psi no output exceeds. ``most`` is the
    largest cost. A fallback that needs nothing of what the hull search has found may note in
    ``search.core.luck`` that it is to be called at once the next time.
    """


@implements(_go_on, HullSearch)
def _stop(search, problem, i, desk, most, h, g):
    return False, False, h, g


@implements(_go_on, HullThenProfile)
def _take_best_level(search, problem, i, desk, most, h, g):
    data, cost, theta, room = problem.data, problem.cost, desk.theta, desk.room
    own, levels_h, levels_g = room.more.own, room.more.h, room.more.g
    top = room.points[ORDER, room.ints[COUNTS, BEST]]
    step, n_lines = search.core.steps[i], room.ints[COUNTS, N_LINES]
    limit = math.inf
    if n_lines > 0 and step > 0.0:
        limit = highest_level(problem.surrogate, room.lines, n_lines, step, most, top)
    n_levels = profile_up_to(data, cost, i, theta, own, limit, levels_h, levels_g)
    desk.calls[0] += 1
    best = -1
    for level in range(n_levels):
        if levels_h[level] > -math.inf:
            order = rank(problem.surrogate, levels_h[level], levels_g[level])
            if order > top:
                top = order
                best = level
    # Near the optimum most outputs of an example have psi around 0, and the hull search always ends
    # on an edge from the true output, so that it is worth a trial only now and then. But where
    # levels are many, its lines spare the profile most of them.
    luck = search.core.luck
    if luck[i, 1] > 0:
        luck[i, 1] -= 1
    elif search.core.recall.is_warm and most <= max(2.0 * limit, FEW_LEVELS * step):
        # In a row: none, 1, 2, 4, 8, 8, ...
        luck[i, 0] = min(luck[i, 0] + 1, 5)
        luck[i, 1] = (1 << luck[i, 0]) // 4
    if best >= 0:
        at = room.ints[COUNTS, N_POINTS] * room.stride
        profile_output(data, cost, i, theta, own, best, room.labels, at)
    return best >= 0, True, h, g


@implements(_go_on, HullThenBranch)
def _take_best_branch(search, problem, i, desk, most, h, g):
    room = desk.room
    n_points = room.ints[COUNTS, N_POINTS]
    branching = Branching(problem, i, desk, room.points, n_points, room.labels)
    is_best, h, g = branching.run(contour_tilt(problem.surrogate, h, g), search.max_branches)
    is_written = branching.best >= n_points
    if is_written:
        room.labels[n_points * room.stride] = branching.outputs[branching.best]
    return is_written, is_best, h, g


@implements(_go_on, HullThenList)
def _take_best_listed(search, problem, i, desk, most, h, g):
    """List outputs from above at the tilts where the bound is, until it is no better than the best.

    All outputs that are not listed lie below the last one of the list.
    """
    data, cost, theta, surrogate = problem.data, problem.cost, desk.theta, problem.surrogate
    room, own, listed = desk.room, desk.room.more.own, desk.room.more.listed
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
        lam = contour_tilt(surrogate, lowest_line(lines, n_lines, at_g), at_g)
        if is_unviolated:
            # Most likely nothing is: then the largest h beside that of the true output says so.
            lam = 0.0
            is_unviolated = False
        score_scale = 0.0 if lam == math.inf else 1.0
        cost_scale = 1.0 if lam == math.inf else lam
        n_listed = k_best(data, cost, i, theta, score_scale, cost_scale, k, own, listed, 0)
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
                copy_output(size, listed, place, room.labels, at)
        if n_listed < k:
            return is_written, True, h, g  # there are no others
        lines[TILT, n_lines] = lam
        lines[TOP, n_lines] = line
        n_lines += 1
        most = min(most, line) if lam == math.inf else most
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


# -- the search ---------------------------------------------------------------------------------


@jitable
def _limit(
    surrogate: Any, points: Any, lines: Any, n_lines: int, most: float, is_ratio: int
) -> tuple[float, float]:
    """Return a point (h, g) whose psi is no less than that of any output below the lines."""
    if is_ratio:
        # psi = h / -g <= tilt + top / -g, and -g = |y| + |y_i| is at least |y_i|, and at least 1.
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
    room, core = desk.room, search.core
    points, lines, labels, stride = room.points, room.lines, room.labels, room.stride
    chain, counts = room.ints[CHAIN], room.ints[COUNTS]
    kept = core.recall
    size, start = output_size(data, i), kept.starts[i]
    n_seeds = 1 + kept.counts[i]
    counts[:] = 0
    centre, other = -1, -1
    lam, top, share, bound = 0.0, 0.0, 0.0, 0.0
    is_written, is_best, is_uncut = False, False, False
    while True:
        # The next output: the true one, one remembered, one of the fallback, or one asked for.
        new = counts[N_POINTS]
        here = new * stride
        score_scale, cost_scale = 1.0, 1.0
        is_first = False
        if new == 0:
            copy_output(size, kept.truths, start, labels, 0)
        elif new < n_seeds:
            copy_output(size, kept.labels, (new - 1) * kept.n_cells + start, labels, here)
        elif not is_written:
            centre, other, lam = aim(surrogate, points, chain, counts[N_CHAIN])
            # A bound needs the largest cost, which is asked for once and for all.
            is_first = kept.numbers[i] == 0.0 and counts[N_LINES] == 0 and lam < math.inf
            is_first = is_first and not core.is_ratio
            if is_first:
                lam = math.inf
            elif is_uncut:
                most = kept.numbers[i]
                lam = contour_tilt(surrogate, 0.0, most) if most > 0.0 else 0.0
            if lam == math.inf:
                score_scale = 0.0
            else:
                cost_scale = lam
            top = maximize_bounded(data, cost, i, desk.theta, score_scale, cost_scale, labels, here)
            desk.calls[0] += 1
        error = margin_error(data, i, desk.theta, labels, here)
        h = error + shift(data, cost, i, labels, here)
        g = output_cost(data, cost, i, labels, here)
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
            # Straight to the fallback. The ends of the edge are those remembered.
            centre, other = min(1, n_seeds - 1), (2 if n_seeds > 2 else -1)
        else:
            # What the query says of all outputs.
            value = score_scale * h + cost_scale * g
            scale = score_scale * abs(h) + cost_scale * abs(g)
            if top > value + ROUNDING * scale:
                counts[IS_BOUNDED] = 1
            top = max(top, value)
            lines[TILT, counts[N_LINES]] = lam
            lines[TOP, counts[N_LINES]] = top
            counts[N_LINES] += 1
            if lam == math.inf:
                kept.numbers[i] = top
            h, g = points[H, centre], points[G, centre]
            scale += score_scale * abs(h) + cost_scale * abs(g)
            rise = value - (score_scale * h + cost_scale * g)
            is_done = (n_chain < 0 or rise <= ROUNDING * scale) and not is_first
            # A line above all costs alone is no bound, where no other follows from what was found.
            is_uncut = counts[IS_BOUNDED] == 1 and counts[N_LINES] == 1 and lam == math.inf
            if (not is_done or is_uncut) and counts[N_LINES] < core.max_calls:
                continue

            # The largest psi on the hull, or else below the lines.
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
        is_written, is_best, h, g = _go_on(search, problem, i, desk, kept.numbers[i], h, g)
        if not is_best:
            bound = psi(surrogate, h, g)[0]
        if not is_written:
            break

    best = counts[BEST]
    if kept.is_warm:
        # The ends of the edge come first. Point 0, the true output, is there anyway.
        for slot in (best, other, centre):
            if slot > 0:
                remember(kept, i, size, labels, slot * stride)
    is_mixed = False
    if bound > 0.0 and share > 0.0:
        is_mixed = mix(data, i, labels, centre * stride, labels, other * stride, share, outputs, at)
    h, g, error = points[H, best], points[G, best], points[ERROR, best]
    if is_mixed:
        error = margin_error(data, i, desk.theta, outputs, at)
        h = error + shift(data, cost, i, outputs, at)
        g = output_cost(data, cost, i, outputs, at)
    value, slope, _ = psi(surrogate, h, g)
    if value <= 0.0:
        best, value, slope, error = 0, 0.0, 0.0, 0.0
    if not is_mixed:
        copy_output(size, labels, best * stride, outputs, at)
    return value, slope, error, max(bound, value)
