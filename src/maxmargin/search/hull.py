"""The convex hull search: climb the hull of the points (h, g) to where a contour of psi touches it.

Every query of tilt lam finds a corner of the hull. From the best point c known so far the next tilt
is that of the contour of psi at c or, if a neighbour of c lies above that contour's tangent, that
of the edge between the two. Where no output lies above the line asked for, the maximum of psi over
the hull is known: at c, or on the edge. On the edge it is the psi of no output, but a bound; the
exact maximum then takes a profile, or queries that leave the ends of the edge out (k best).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._compile import jitable
from maxmargin.generic import (
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
    profile,
    profile_levels,
    profile_output,
    profile_room,
    psi,
    search_room,
    shift,
)
from maxmargin.search.base import (
    Recall,
    copy_output,
    is_same_output,
    recall,
    remembered,
)
from maxmargin.search.points import (
    ROUNDING,
    TILT,
    TOP,
    G,
    H,
    best_below,
    best_share,
    contour_tilt,
    insert_point,
    lowest_line,
    rank,
)

#: Outputs remembered of an example: the ends of the last edge, and the best.
N_REMEMBERED = 3


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
    fallback : {"auto", "profile", "ban"}, default="auto"
        How: by the best output of each cost level, or by banning the ends of the edges where the
        maximum is, through the k best. "auto" takes the profile if the structure has one, else
        bans; where there is neither, the search stops at the bound.
    warm : bool, default=True
        Start from outputs found in the last pass. This changes no maximum, but the number of calls.
    max_calls : int, default=100
        Give up after so many calls, with the bound that they have given.
    max_bans : int, default=64
        Outputs to ban, at the most.

    Examples
    --------
    >>> from maxmargin.search import ConvexHull
    >>> from maxmargin.surrogates import SlackRescaling
    >>> from maxmargin.testing import cloud_problem
    >>> h, g = [[2.0, 1.0, -0.5]], [[0.5, 1.0, 3.0]]  # psi = (h + 1) g is 1.5, 2 and 1.5
    >>> problem = cloud_problem(h, g, SlackRescaling(), ConvexHull())
    >>> problem.losses(problem.weights)  # and the bounds
    (array([2.]), array([2.]))
    """

    integral: bool = True
    fallback: str = "auto"
    warm: bool = True
    max_calls: int = 100
    max_bans: int = 64

    name: ClassVar[str] = "hull"
    surrogates: ClassVar[str] = "any"
    needs_slack: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.fallback not in ("auto", "profile", "ban"):
            raise ValueError(
                f"ConvexHull: fallback must be 'auto', 'profile' or 'ban', got {self.fallback!r}."
            )
        for name, least in (("max_calls", 2), ("max_bans", 0)):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise ValueError(
                    f"ConvexHull: {name} must be an integer >= {least}, got {number!r}."
                )

    @property
    def needs(self) -> frozenset[str]:
        """The oracles that it calls in any case."""
        own = {"profile": {"profile"}, "ban": {"k_best"}}.get(self.fallback, set())
        return frozenset({"weighted"} | (own if self.integral else set()))

    @property
    def is_exact(self) -> bool:
        """Whether it finds the maximum, where the structure has what the fallback needs."""
        return self.integral

    def bind(self, data: Any, cost: Any, surrogate: Any) -> Any:
        """Return the search over these examples."""
        core = HullCore(
            recall(data, N_REMEMBERED, self.warm),
            self.max_calls,
            int(getattr(surrogate, "criteria", "cost") == "micro_f1"),
        )
        offered = oracles(data, cost)
        if not self.integral or is_relaxed(type(data)):
            return HullSearch(core)
        if self.fallback == "profile" or (self.fallback == "auto" and "profile" in offered):
            return HullThenProfile(core, profile_levels(data, cost))
        if self.fallback == "ban" or "k_best" in offered:
            return HullThenBan(core, self.max_bans)
        return HullSearch(core)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search."""
        return asdict(self)


class HullCore(NamedTuple):
    """What the three kinds of hull search share.

    ``recall.numbers[i]`` is the largest cost in example i, 0 where it is not known.
    """

    recall: Recall
    max_calls: int
    is_ratio: int  # Micro-F1, where g < 0


class HullSearch(NamedTuple):
    """Stops at the best corner (or the fractional output of a relaxation)."""

    core: HullCore


class HullThenProfile(NamedTuple):
    """Goes on by the best output of each cost level."""

    core: HullCore
    n_levels: int


class HullThenBan(NamedTuple):
    """Goes on by banning outputs."""

    core: HullCore
    max_bans: int


class HullRoom(NamedTuple):
    """Room for one search: points met, which of them are the hull, and lines above all outputs.

    Few arrays with several rows, because every array of a NamedTuple costs compile time wherever it
    is handed on.
    """

    points: Any  # (4, n): a row each of h, g, error, order
    lines: Any  # (2, n): a row each of tilts and tops
    ints: Any  # (3, n) int64: the corners of the hull by rising g; points banned; counts
    labels: Any  # flat: output of point k at k * stride
    stride: int
    more: Any  # of the fallback


# Rows of HullRoom.points beside H and G; error is h without the shift of Micro-F1.
ERROR, ORDER = 2, 3
# Rows of HullRoom.ints.
CHAIN, BANNED, COUNTS = range(3)
# Places in the row of counts.
N_POINTS, N_CHAIN, N_LINES, N_BANNED, BEST, IS_BOUNDED = range(6)


class BanRoom(NamedTuple):
    """Room for the k best outputs."""

    own: Any
    listed: Any  # flat


class LevelRoom(NamedTuple):
    """Room for a profile."""

    own: Any
    h: Any
    g: Any


def _room(core: HullCore, problem: Any, more: Any) -> HullRoom:
    # Points: the truth, those remembered, one a call, one above all costs and one of a profile.
    n = core.max_calls + N_REMEMBERED + 3
    stride = int(problem.sizes.max(initial=1))
    return HullRoom(
        np.zeros((4, n)),
        np.zeros((2, n)),
        np.zeros((3, n), dtype=np.int64),
        problem.empty_outputs(n * stride),
        stride,
        more,
    )


@implements(search_room, HullSearch)
def _search_room(search, problem):
    return _room(search.core, problem, np.zeros(0))


@implements(search_room, HullThenProfile)
def _profile_search_room(search, problem):
    own = profile_room(problem.view.data, problem.view.cost)
    return _room(search.core, problem, LevelRoom(own, *np.zeros((2, search.n_levels))))


@implements(search_room, HullThenBan)
def _ban_search_room(search, problem):
    k = search.max_bans + 1
    own = k_best_room(problem.view.data, problem.view.cost, k)
    listed = problem.empty_outputs(k * int(problem.sizes.max(initial=1)))
    return _room(search.core, problem, BanRoom(own, listed))


@implements(memory, HullSearch)
def _memory(search):
    return remembered(search.core.recall)


@implements(memory, HullThenProfile)
def _profile_memory(search):
    return remembered(search.core.recall)


@implements(memory, HullThenBan)
def _ban_memory(search):
    return remembered(search.core.recall)


# -- the parts in which the three differ --------------------------------------------------------

#: What `_go_on` has done: nothing, so that the bound stands; shut out the ends of the edge; seen
#: that there is no better output; written a better one at the next free place.
STOPPED, BANNED_BOTH, SETTLED, WRITTEN = range(4)


@generic
def _query(search, problem, i, desk, score_scale, cost_scale, at):
    """Write an output of largest score_scale * h + cost_scale * g that is not banned.

    To desk.room.labels, from cell ``at`` on. Returns a number that no output exceeds; NaN if no
    output is left.
    """


@generic
def _go_on(search, problem, i, desk, left, right, is_certain):
    """Look for an output better than the best known, on or under the edge from left to right."""


@implements(_query, HullSearch)
@implements(_query, HullThenProfile)
def _ask(search, problem, i, desk, score_scale, cost_scale, at):
    data, cost, theta, labels = problem.data, problem.cost, desk.theta, desk.room.labels
    return maximize_bounded(data, cost, i, theta, score_scale, cost_scale, labels, at)


@implements(_go_on, HullSearch)
def _stop(search, problem, i, desk, left, right, is_certain):
    return STOPPED


@implements(_go_on, HullThenProfile)
def _take_best_level(search, problem, i, desk, left, right, is_certain):
    data, cost, theta, room = problem.data, problem.cost, desk.theta, desk.room
    own, h, g = room.more.own, room.more.h, room.more.g
    n_levels = profile(data, cost, i, theta, own, h, g)
    desk.calls[0] += 1
    best = -1
    top = room.points[ORDER, room.ints[COUNTS, BEST]]
    for level in range(n_levels):
        if h[level] > -math.inf:
            order = rank(problem.surrogate, h[level], g[level])
            if order > top:
                top = order
                best = level
    if best < 0:
        return SETTLED
    at = room.ints[COUNTS, N_POINTS] * room.stride
    profile_output(data, cost, i, theta, own, best, room.labels, at)
    return WRITTEN


@implements(_query, HullThenBan)
def _ask_unbanned(search, problem, i, desk, score_scale, cost_scale, at):
    data, cost, theta, room = problem.data, problem.cost, desk.theta, desk.room
    labels, own, listed = room.labels, room.more.own, room.more.listed
    n_banned = room.ints[COUNTS, N_BANNED]
    if n_banned == 0:
        return maximize_bounded(data, cost, i, theta, score_scale, cost_scale, labels, at)
    k = n_banned + 1
    n_listed = k_best(data, cost, i, theta, score_scale, cost_scale, k, own, listed, 0)
    size = output_size(data, i)
    for k in range(n_listed):
        is_free = True
        for b in range(n_banned):
            place = room.ints[BANNED, b] * room.stride
            is_free = is_free and not is_same_output(size, listed, k * size, labels, place)
        if is_free:
            copy_output(size, listed, k * size, labels, at)
            return -math.inf  # no more than the value of this output
    return math.nan


@implements(_go_on, HullThenBan)
def _ban(search, problem, i, desk, left, right, is_certain):
    room, points, labels = desk.room, desk.room.points, desk.room.labels
    counts, banned = room.ints[COUNTS], room.ints[BANNED]
    if not is_certain or counts[N_BANNED] + 2 > search.max_bans:
        return STOPPED
    banned[counts[N_BANNED]] = left
    banned[counts[N_BANNED] + 1] = right
    counts[N_BANNED] += 2
    # The hull of the points that are left. One output may have several points: remembered, and
    # found again.
    size = output_size(problem.data, i)
    counts[N_CHAIN] = 0
    for k in range(counts[N_POINTS]):
        is_free = True
        for b in range(counts[N_BANNED]):
            other = banned[b]
            if points[H, k] == points[H, other] and points[G, k] == points[G, other]:
                at, other_at = k * room.stride, other * room.stride
                is_free = is_free and not is_same_output(size, labels, at, labels, other_at)
        if is_free:
            n_chain = insert_point(points, room.ints[CHAIN], counts[N_CHAIN], k)
            counts[N_CHAIN] = max(n_chain, counts[N_CHAIN])
    return BANNED_BOTH


# -- the search ---------------------------------------------------------------------------------


@jitable
def _aim(surrogate: Any, points: Any, chain: Any, n_chain: int) -> tuple[int, int, float]:
    """Return the best corner, the neighbour above its tangent or -1, and the next tilt to ask."""
    if n_chain == 0:
        return -1, -1, math.inf
    place = 0
    for k in range(1, n_chain):
        if points[ORDER, chain[k]] > points[ORDER, chain[place]]:
            place = k
    c = chain[place]
    h, g = points[H, c], points[G, c]
    lam = contour_tilt(surrogate, h, g)
    for k in (place + 1, place - 1):
        if 0 <= k < n_chain:
            dh, dg = points[H, chain[k]] - h, points[G, chain[k]] - g
            size = abs(h) + abs(h + dh) + lam * (abs(g) + abs(g + dg))
            rise = dg if lam == math.inf else dh + lam * dg - ROUNDING * size
            if rise > 0.0:
                return c, chain[k], -dh / dg
    return c, -1, lam


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
@implements(find, HullThenBan)
def _find(search, problem, i, desk, outputs, at):
    data, cost, surrogate = problem.data, problem.cost, problem.surrogate
    room, core = desk.room, search.core
    points, lines, labels, stride = room.points, room.lines, room.labels, room.stride
    chain, counts = room.ints[CHAIN], room.ints[COUNTS]
    kept = core.recall
    size, start = output_size(data, i), kept.starts[i]
    n_seeds = 1 + kept.counts[i]
    counts[:] = 0
    centre, other, edge_left, edge_right = -1, -1, -1, -1
    lam, top, share, bound = 0.0, 0.0, 0.0, 0.0
    action = STOPPED
    while True:
        # The next output: the true one, one remembered, one that was written, or one asked for.
        new = counts[N_POINTS]
        here = new * stride
        score_scale, cost_scale = 1.0, 1.0
        is_first = False
        if new == 0:
            copy_output(size, kept.truths, start, labels, 0)
        elif new < n_seeds:
            copy_output(size, kept.labels, (new - 1) * kept.n_cells + start, labels, here)
        elif action != WRITTEN:
            centre, other, lam = _aim(surrogate, points, chain, counts[N_CHAIN])
            # A bound needs the largest cost, which is asked for once and for all.
            is_first = kept.numbers[i] == 0.0 and counts[N_LINES] == 0 and lam < math.inf
            is_first = is_first and not core.is_ratio
            if is_first:
                lam = math.inf
            if lam == math.inf:
                score_scale = 0.0
            else:
                cost_scale = lam
            top = _query(search, problem, i, desk, score_scale, cost_scale, here)
            desk.calls[0] += 1
            if math.isnan(top):
                break
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
        n_chain = insert_point(points, chain, counts[N_CHAIN], new)
        counts[N_CHAIN] = max(n_chain, counts[N_CHAIN])
        if new < n_seeds:
            continue
        if action == WRITTEN:
            break

        # What the query says of all outputs.
        value = score_scale * h + cost_scale * g
        scale = score_scale * abs(h) + cost_scale * abs(g)
        if top > value + ROUNDING * scale:
            counts[IS_BOUNDED] = 1
        top = max(top, value)
        lines[TILT, counts[N_LINES]] = lam
        lines[TOP, counts[N_LINES]] = top
        counts[N_LINES] += 1
        if lam == math.inf and counts[N_BANNED] == 0:
            kept.numbers[i] = top
        is_done = n_chain < 0
        if centre >= 0:
            h, g = points[H, centre], points[G, centre]
            scale += score_scale * abs(h) + cost_scale * abs(g)
            is_done = is_done or value - (score_scale * h + cost_scale * g) <= ROUNDING * scale
        is_done = is_done and not is_first
        if not is_done and counts[N_LINES] < core.max_calls:
            continue

        # The largest psi on the hull, or below the lines.
        is_certain = is_done and counts[IS_BOUNDED] == 0
        if not is_certain:
            most = kept.numbers[i]
            h, g = _limit(surrogate, points, lines, counts[N_LINES], most, core.is_ratio)
        elif other >= 0:
            share = best_share(surrogate, points, centre, other)
            h += share * (points[H, other] - h)
            g += share * (points[G, other] - g)
        if counts[N_BANNED] == 0:
            edge_left, edge_right = centre, other
        known = points[ORDER, counts[BEST]]
        slack = ROUNDING * abs(known) if known > -math.inf else 0.0
        if rank(surrogate, h, g) <= known + slack:
            break
        action = _go_on(search, problem, i, desk, centre, other, is_certain)
        if action == STOPPED:
            bound = psi(surrogate, h, g)[0]
        if action in (STOPPED, SETTLED):
            break

    best = counts[BEST]
    if kept.is_warm:
        count = 0
        for k in range(3):
            slot = edge_left if k == 0 else (edge_right if k == 1 else best)
            is_known = k == 2 and slot in (edge_left, edge_right)
            if slot > 0 and not is_known:  # point 0, the true output, is there anyway
                copy_output(size, labels, slot * stride, kept.labels, count * kept.n_cells + start)
                count += 1
        kept.counts[i] = count
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
