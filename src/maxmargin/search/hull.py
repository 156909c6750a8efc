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
    """What the three kinds of hull search share. ``recall.numbers`` is the largest cost known."""

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
    """Room for one search: points met, which of them are the hull, and lines above all outputs."""

    h: Any
    g: Any
    error: Any  # margin error: h without the shift of Micro-F1
    order: Any  # rank
    is_banned: Any  # int8
    labels: Any  # flat: output of point k at k * stride
    stride: int
    chain: Any  # int64: the corners of the hull, by rising g
    tilts: Any
    tops: Any
    counts: Any  # int64, see below
    more: Any  # of the fallback


# Places in HullRoom.counts.
POINTS, CHAIN, LINES, BANNED, BEST, IS_BOUNDED = range(6)


class BanRoom(NamedTuple):
    """Room for the k best outputs."""

    own: Any
    listed: Any  # flat
    banned: Any  # int64: points


class LevelRoom(NamedTuple):
    """Room for a profile."""

    own: Any
    h: Any
    g: Any


def _room(core: HullCore, problem: Any, more: Any) -> HullRoom:
    n = N_REMEMBERED + 3 + core.max_calls  # with the truth, a line above all costs, a profile's
    stride = int(problem.sizes.max(initial=1))
    h, g, error, order = np.zeros((4, n))
    tilts, tops = np.zeros((2, core.max_calls + 1))
    return HullRoom(
        h=h,
        g=g,
        error=error,
        order=order,
        is_banned=np.zeros(n, dtype=np.int8),
        labels=problem.empty_outputs(n * stride),
        stride=stride,
        chain=np.zeros(n, dtype=np.int64),
        tilts=tilts,
        tops=tops,
        counts=np.zeros(6, dtype=np.int64),
        more=more,
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
    more = BanRoom(own, listed, np.zeros(k, dtype=np.int64))
    return _room(search.core, problem, more)


@implements(memory, HullSearch)
def _memory(search):
    return remembered(search.core.recall)


@implements(memory, HullThenProfile)
def _profile_memory(search):
    return remembered(search.core.recall)


@implements(memory, HullThenBan)
def _ban_memory(search):
    return remembered(search.core.recall)


# -- points -------------------------------------------------------------------------------------


@jitable
def _add_point(problem: Any, i: int, desk: Any) -> int:
    """Measure the output at the next free place; return that."""
    room, data, cost = desk.room, problem.data, problem.cost
    slot = room.counts[POINTS]
    at = slot * room.stride
    room.error[slot] = margin_error(data, i, desk.theta, room.labels, at)
    room.h[slot] = room.error[slot] + shift(data, cost, i, room.labels, at)
    room.g[slot] = output_cost(data, cost, i, room.labels, at)
    room.order[slot] = rank(problem.surrogate, room.h[slot], room.g[slot])
    room.is_banned[slot] = 0
    room.counts[POINTS] += 1
    if slot == 0 or room.order[slot] > room.order[room.counts[BEST]]:
        room.counts[BEST] = slot
    return slot


@jitable
def _insert(room: Any, slot: int) -> bool:
    n_chain = insert_point(room.h, room.g, room.chain, room.counts[CHAIN], slot)
    if n_chain > 0:
        room.counts[CHAIN] = n_chain
    return n_chain > 0


@jitable
def _begin(search: Any, problem: Any, i: int, desk: Any) -> None:
    """Start from the true output and those remembered."""
    room, kept = desk.room, search.core.recall
    room.counts[:] = 0
    for k in range(-1, kept.counts[i]):
        at = room.counts[POINTS] * room.stride
        if k < 0:
            copy_output(problem.data, i, kept.truths, kept.starts[i], room.labels, at)
        else:
            start = k * kept.n_cells + kept.starts[i]
            copy_output(problem.data, i, kept.labels, start, room.labels, at)
        _insert(room, _add_point(problem, i, desk))


@jitable
def _aim(surrogate: Any, room: Any) -> tuple[int, int, float]:
    """Return the best corner, the neighbour above its tangent or -1, and the next tilt to ask."""
    h, g, chain, n_chain = room.h, room.g, room.chain, room.counts[CHAIN]
    if n_chain == 0:
        return -1, -1, math.inf
    place = 0
    for k in range(1, n_chain):
        if room.order[chain[k]] > room.order[chain[place]]:
            place = k
    c = chain[place]
    lam = contour_tilt(surrogate, h[c], g[c])
    for k in (place + 1, place - 1):
        if 0 <= k < n_chain:
            other = chain[k]
            dh, dg = h[other] - h[c], g[other] - g[c]
            if lam == math.inf:
                is_above = dg > 0.0
            else:
                size = abs(h[other]) + abs(h[c]) + lam * (abs(g[other]) + abs(g[c]))
                is_above = dh + lam * dg > ROUNDING * size
            if is_above:
                return c, other, -dh / dg
    return c, -1, lam


# -- queries ------------------------------------------------------------------------------------


@generic
def _query(search, problem, i, desk, score_scale, cost_scale, at):
    """Write an output of largest score_scale * h + cost_scale * g that is not banned.

    To desk.room.labels, from cell ``at`` on. Returns a number that no output exceeds; NaN if no
    output is left.
    """


@jitable
def _plain_ask(
    problem: Any, i: int, desk: Any, score_scale: float, cost_scale: float, at: int
) -> float:
    return maximize_bounded(
        problem.data, problem.cost, i, desk.theta, score_scale, cost_scale, desk.room.labels, at
    )


@implements(_query, HullSearch)
def _ask(search, problem, i, desk, score_scale, cost_scale, at):
    return _plain_ask(problem, i, desk, score_scale, cost_scale, at)


@implements(_query, HullThenProfile)
def _ask_profile(search, problem, i, desk, score_scale, cost_scale, at):
    return _plain_ask(problem, i, desk, score_scale, cost_scale, at)


@implements(_query, HullThenBan)
def _ask_unbanned(search, problem, i, desk, score_scale, cost_scale, at):
    room, data = desk.room, problem.data
    n_banned = room.counts[BANNED]
    if n_banned == 0:
        return _plain_ask(problem, i, desk, score_scale, cost_scale, at)
    more = room.more
    n_listed = k_best(
        data,
        problem.cost,
        i,
        desk.theta,
        score_scale,
        cost_scale,
        n_banned + 1,
        more.own,
        more.listed,
        0,
    )
    size = output_size(data, i)
    for k in range(n_listed):
        is_free = True
        for b in range(n_banned):
            place = more.banned[b] * room.stride
            is_free = is_free and not is_same_output(
                data, i, more.listed, k * size, room.labels, place
            )
        if is_free:
            copy_output(data, i, more.listed, k * size, room.labels, at)
            return -math.inf  # no more than the value of this output
    return math.nan


@jitable
def _climb(search: Any, problem: Any, i: int, desk: Any) -> tuple[int, int, bool]:
    """Ask until no output lies above the line asked for.

    Returns the best corner, the other end of the edge that psi is largest on (or -1: largest at the
    corner), and whether it came to its end. The corner is -1 where no output is left.
    """
    room, core = desk.room, search.core
    is_closing = False
    while True:
        centre, other, lam = _aim(problem.surrogate, room)
        # To bound psi by the lines alone takes a line above all costs.
        is_closing = is_closing or room.counts[LINES] >= core.max_calls
        if is_closing:
            if core.is_ratio or core.recall.numbers[i] != 0.0:
                return centre, other, False
            lam = math.inf
        score_scale = 0.0 if lam == math.inf else 1.0
        cost_scale = 1.0 if lam == math.inf else lam
        at = room.counts[POINTS] * room.stride
        top = _query(search, problem, i, desk, score_scale, cost_scale, at)
        desk.calls[0] += 1
        if math.isnan(top):
            return -1, -1, True
        y = _add_point(problem, i, desk)
        value = score_scale * room.h[y] + cost_scale * room.g[y]
        size = score_scale * abs(room.h[y]) + cost_scale * abs(room.g[y])
        if top > value + ROUNDING * size:
            room.counts[IS_BOUNDED] = 1
        room.tilts[room.counts[LINES]] = lam
        room.tops[room.counts[LINES]] = max(top, value)
        room.counts[LINES] += 1
        if lam == math.inf and room.counts[BANNED] == 0:
            core.recall.numbers[i] = max(top, value)
        is_done = False
        if centre >= 0:
            reference = score_scale * room.h[centre] + cost_scale * room.g[centre]
            size += score_scale * abs(room.h[centre]) + cost_scale * abs(room.g[centre])
            is_done = value - reference <= ROUNDING * size
        is_done = not _insert(room, y) or is_done
        if is_closing or (is_done and room.counts[IS_BOUNDED] == 0):
            return centre, other, not is_closing
        is_closing = is_done


# -- conclusions --------------------------------------------------------------------------------


@jitable
def _limit(
    search: Any, problem: Any, i: int, desk: Any, centre: int, other: int, is_finished: bool
) -> tuple[float, float]:
    """Return a point (h, g) whose psi no output exceeds that is not banned."""
    room, surrogate = desk.room, problem.surrogate
    if is_finished and other < 0:
        return room.h[centre], room.g[centre]
    if is_finished:
        t = _share(surrogate, room, centre, other)
        h = room.h[centre] + t * (room.h[other] - room.h[centre])
        return h, room.g[centre] + t * (room.g[other] - room.g[centre])
    n_lines = room.counts[LINES]
    if search.core.is_ratio:
        # psi = h / -g <= tilt + top / -g, and -g = |y| + |y_i| is at least |y_i| and at least 1.
        least = max(1.0, -0.5 * room.g[0])
        bound = math.inf
        for k in range(n_lines):
            bound = min(bound, room.tilts[k] + max(room.tops[k], 0.0) / least)
        return bound, -1.0
    most = search.core.recall.numbers[i]
    g = best_below(surrogate, room.tilts, room.tops, n_lines, most)
    return lowest_line(room.tilts, room.tops, n_lines, g), g


@jitable
def _share(surrogate: Any, room: Any, left: int, right: int) -> float:
    return best_share(surrogate, room.h[left], room.g[left], room.h[right], room.g[right])


@jitable
def _is_settled(surrogate: Any, room: Any, h: float, g: float) -> bool:
    """Tell whether the best output known is as good as any below psi(h, g)."""
    best = room.counts[BEST]
    top = rank(surrogate, h, g)
    known = room.order[best]
    return top <= known + ROUNDING * (abs(known) if known > -math.inf else 0.0)


@jitable
def _remember(search: Any, problem: Any, i: int, room: Any, centre: int, other: int) -> None:
    """Keep the ends of the edge and the best output for the next pass."""
    kept = search.core.recall
    if kept.is_warm == 0:
        return
    best = room.counts[BEST]
    count = 0
    for place, slot in enumerate((centre, other, best)):
        is_known = place == 2 and slot in (centre, other)
        if slot > 0 and not is_known:  # point 0, the true output, is there anyway
            start = count * kept.n_cells + kept.starts[i]
            copy_output(problem.data, i, room.labels, slot * room.stride, kept.labels, start)
            count += 1
    kept.counts[i] = count


@jitable
def _answer(
    search: Any, problem: Any, i: int, desk: Any, outputs: Any, at: int, bound: float
) -> tuple[float, float, float, float]:
    """Write the best output known, the true one where psi of none is positive."""
    room, kept = desk.room, search.core.recall
    best = room.counts[BEST]
    value, slope, _ = psi(problem.surrogate, room.h[best], room.g[best])
    if value > 0.0:
        copy_output(problem.data, i, room.labels, best * room.stride, outputs, at)
        return value, slope, room.error[best], max(bound, value)
    copy_output(problem.data, i, kept.truths, kept.starts[i], outputs, at)
    return 0.0, 0.0, 0.0, max(bound, 0.0)


@implements(find, HullSearch)
def _find(search, problem, i, desk, outputs, at):
    room, surrogate = desk.room, problem.surrogate
    _begin(search, problem, i, desk)
    centre, other, is_finished = _climb(search, problem, i, desk)
    _remember(search, problem, i, room, centre, other)
    h, g = _limit(search, problem, i, desk, centre, other, is_finished)
    bound = psi(surrogate, h, g)[0]
    if other >= 0 and not _is_settled(surrogate, room, h, g):
        data, stride, share = problem.data, room.stride, _share(surrogate, room, centre, other)
        left, right = centre * stride, other * stride
        if mix(data, i, room.labels, left, room.labels, right, share, outputs, at):
            error = margin_error(data, i, desk.theta, outputs, at)
            h = error + shift(data, problem.cost, i, outputs, at)
            g = output_cost(data, problem.cost, i, outputs, at)
            value, slope, _ = psi(surrogate, h, g)
            return value, slope, error, max(value, bound)
    return _answer(search, problem, i, desk, outputs, at, bound)


@implements(find, HullThenProfile)
def _find_profile(search, problem, i, desk, outputs, at):
    room, surrogate, data, cost = desk.room, problem.surrogate, problem.data, problem.cost
    _begin(search, problem, i, desk)
    centre, other, is_finished = _climb(search, problem, i, desk)
    h, g = _limit(search, problem, i, desk, centre, other, is_finished)
    if not _is_settled(surrogate, room, h, g):
        more = room.more
        n_levels = profile(data, cost, i, desk.theta, more.own, more.h, more.g)
        desk.calls[0] += 1
        best = -1
        top = room.order[room.counts[BEST]]
        for level in range(n_levels):
            if more.h[level] > -math.inf:
                order = rank(surrogate, more.h[level], more.g[level])
                if order > top:
                    top = order
                    best = level
        if best >= 0:
            place = room.counts[POINTS] * room.stride
            profile_output(data, cost, i, desk.theta, more.own, best, room.labels, place)
            _add_point(problem, i, desk)
    _remember(search, problem, i, room, centre, other)
    return _answer(search, problem, i, desk, outputs, at, 0.0)


@implements(find, HullThenBan)
def _find_ban(search, problem, i, desk, outputs, at):
    room, surrogate = desk.room, problem.surrogate
    _begin(search, problem, i, desk)
    centre, other, is_finished = _climb(search, problem, i, desk)
    first_centre, first_other = centre, other
    bound = 0.0
    while centre >= 0:
        h, g = _limit(search, problem, i, desk, centre, other, is_finished)
        if _is_settled(surrogate, room, h, g):
            break
        if not is_finished or room.counts[BANNED] + 2 > search.max_bans:
            bound = psi(surrogate, h, g)[0]
            break
        _ban(problem, i, room, centre)
        _ban(problem, i, room, other)
        centre, other, is_finished = _climb(search, problem, i, desk)
    _remember(search, problem, i, room, first_centre, first_other)
    return _answer(search, problem, i, desk, outputs, at, bound)


@jitable
def _ban(problem: Any, i: int, room: Any, banned: int) -> None:
    """Leave an output out of all further queries, and of the hull."""
    room.more.banned[room.counts[BANNED]] = banned
    room.counts[BANNED] += 1
    room.counts[CHAIN] = 0
    for k in range(room.counts[POINTS]):
        # Outputs remembered may have been found again: one output, several points.
        is_there = room.h[k] == room.h[banned] and room.g[k] == room.g[banned]
        at, banned_at = k * room.stride, banned * room.stride
        if is_there and is_same_output(problem.data, i, room.labels, at, room.labels, banned_at):
            room.is_banned[k] = 1
        if room.is_banned[k] == 0:
            _insert(room, k)
