"""The contract of the oracles beside `maximize`, checked against the list of all outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    can_require,
    capabilities,
    constrained,
    k_best,
    k_best_room,
    margin_error,
    maximize_within,
    n_weights,
    output_cost,
    output_parts,
    output_size,
    output_sizes,
    potentials,
    profile,
    profile_levels,
    profile_output,
    profile_room,
    shift,
    truths,
    workspace,
)
from maxmargin.testing._require import require
from maxmargin.testing.outputs import OutputSource, all_outputs

#: How far the h of an oracle may be off, relative to the largest 1 + |h|; and the same for an
#: oracle that solves a linear programme.
ROUNDING, RELAXED_ROUNDING = 1e-9, 1e-6


class Listed(NamedTuple):
    """Example i with potentials filled in, and all its outputs with their h and g."""

    data: Any
    cost: Any
    i: int
    theta: Any
    room: Any
    rows: np.ndarray
    h: np.ndarray
    g: np.ndarray

    def point(self, outputs: np.ndarray, at: int) -> tuple[float, float]:
        """Return (h, g) of an output."""
        h = margin_error(self.data, self.i, self.theta, outputs, at)
        h += shift(self.data, self.cost, self.i, outputs, at)
        return h, output_cost(self.data, self.cost, self.i, outputs, at)


def check_oracles(
    data: Any,
    cost: Any,
    outputs: OutputSource | None = None,
    seed: int = 0,
    max_examples: int | None = None,
) -> None:
    """Check the oracles that data with a cost declare (`maxmargin.core.contract.capabilities`).

    Each is asked at random potentials and, for ties, at potentials that are all zero, and compared
    with the list of all outputs.

    Parameters
    ----------
    data, cost : what the functions of `maxmargin.core.contract` take; for a structure in plain
        Python ``UserData(structure, X, Y)`` and ``OwnCost()`` of `maxmargin.structures`
        (`check_structure` makes them, and checks the oracles too)
    outputs : as for `all_outputs`
    seed : int
    max_examples : int or None
        Only the first so many examples are looked at; None for all.

    Raises
    ------
    AssertionError
        That says what does not hold.

    Examples
    --------
    >>> from maxmargin.testing import tiny_problem
    >>> from maxmargin.testing.oracles import check_oracles
    >>> view = tiny_problem("multiclass", "zero_one").view
    >>> check_oracles(view.data, view.cost)
    """
    rng = np.random.default_rng(seed)
    offered = capabilities(data, cost)
    for i in range(len(output_sizes(data)))[:max_examples]:
        for scale in (1.0, 0.0, 30.0):
            listed = _listed(data, cost, i, scale * rng.normal(size=int(n_weights(data))), outputs)
            if "k_best" in offered:
                for k in (1, 3, 7):
                    _check_k_best(listed, k, rng)
            if "profile" in offered:
                _check_profile(listed)
            if "constrained" in offered:
                _check_constrained(listed, rng)
            if "forbid" in offered:
                _check_forbid(listed, rng)


def _listed(data: Any, cost: Any, i: int, w: np.ndarray, outputs: OutputSource | None) -> Listed:
    theta, room = workspace(data)
    potentials(data, i, w, 1.0, theta)
    rows = all_outputs(data, i, outputs)
    without = Listed(data, cost, i, theta, room, rows, np.zeros(0), np.zeros(0))
    points = np.array([without.point(row, 0) for row in rows])
    return without._replace(h=points[:, 0], g=points[:, 1])


def _cells(listed: Listed, count: int) -> np.ndarray:
    size = int(output_sizes(listed.data).max())
    return np.zeros(count * size, dtype=truths(listed.data).dtype)


def _check_k_best(listed: Listed, k: int, rng: np.random.Generator) -> None:
    data, cost, i, theta, room = listed[:5]
    own, cells = k_best_room(data, cost, k), _cells(listed, k)
    size = output_size(data, i)
    for a, b in ((1.0, 0.0), (1.0, rng.exponential()), (rng.exponential(), 1.0)):
        count = k_best(data, cost, i, theta, room, a, b, k, own, cells, 0)
        values = a * listed.h + b * listed.g
        require(
            count == min(k, len(values)),
            f"k_best found {count} outputs of example {i}; expected {min(k, len(values))}.",
        )
        points = [listed.point(cells, rank * size) for rank in range(count)]
        found = np.array([a * h + b * g for h, g in points])
        expected = np.sort(values)[::-1][:count]
        require(
            np.allclose(found, expected, rtol=1e-9, atol=1e-9),
            f"the {k} best outputs of example {i} have the values {expected}, but k_best found "
            f"{found}.",
        )
        found_cells = [list(cells[rank * size : (rank + 1) * size]) for rank in range(count)]
        is_new = [row not in found_cells[:rank] for rank, row in enumerate(found_cells)]
        require(all(is_new), f"k_best returned an output of example {i} twice.")


def _check_profile(listed: Listed) -> None:
    data, cost, i, theta, room = listed[:5]
    h, g = np.zeros((2, profile_levels(data, cost)))
    own, cells = profile_room(data, cost), _cells(listed, 1)
    n_levels = profile(data, cost, i, theta, room, own, h, g)
    require(n_levels <= len(h), f"the profile of example {i} has more levels than it said.")
    for price in np.unique(np.round(listed.g, 9)):
        best = listed.h[np.abs(listed.g - price) <= 1e-8].max()
        at_price = h[:n_levels][np.abs(g[:n_levels] - price) <= 1e-8]
        require(
            len(at_price) > 0 and abs(at_price.max() - best) <= 1e-9 * (1.0 + abs(best)),
            f"the best h of example {i} at cost {price:g} is {best:.9g}, but its profile has "
            f"{at_price}.",
        )
    for level in np.flatnonzero(h[:n_levels] > -np.inf):
        profile_output(data, cost, i, theta, room, own, int(level), cells, 0)
        require(
            np.allclose(listed.point(cells, 0), (h[level], g[level]), rtol=1e-9, atol=1e-9),
            f"level {level} of example {i} says (h, g) = ({h[level]:.9g}, {g[level]:.9g}), but its "
            f"output has {listed.point(cells, 0)}.",
        )


def _check_constrained(listed: Listed, rng: np.random.Generator) -> None:
    is_fractional = "relaxed" in capabilities(listed.data, listed.cost)
    slopes = Slopes(listed, RELAXED_ROUNDING if is_fractional else ROUNDING)
    ends = np.concatenate([slopes.known(), rng.exponential(size=2)])
    for low in (0.0, *rng.choice(ends, 2)):
        for high in (np.inf, *rng.choice(ends, 2)):
            for is_closed, tilt in ((True, rng.exponential()), (False, np.inf)):
                _check_angle(listed, slopes, tilt, low, high, is_closed)
    if not is_fractional:
        for _ in range(3):
            _check_bounds_on_a_slope(listed, float(rng.exponential()))


class Slopes:
    """The slopes g / (1 + h) of all outputs, each as an interval that allows for rounding."""

    def __init__(self, listed: Listed, rounding: float) -> None:
        self.error = rounding * (1.0 + float(np.abs(listed.h).max(initial=0.0)))
        self.base, self.g = 1.0 + listed.h, listed.g  # the slope is g / base
        with np.errstate(divide="ignore", invalid="ignore"):
            self.least = np.where(
                self.base > -self.error, self.g / (self.base + self.error), np.nan
            )
            self.most = np.where(self.base > self.error, self.g / (self.base - self.error), np.inf)

    def known(self) -> np.ndarray:
        """Return the slopes as they are computed, where there are any above 0."""
        is_one = (self.base > self.error) & (self.g > 0.0)
        return np.unique(self.g[is_one] / self.base[is_one])

    def surely(self, low: float, high: float) -> np.ndarray:
        """Tell which outputs lie in an angle, whichever way the oracle rounds."""
        return (self.base > self.error) & (self.least > low) & (self.most < high)

    def maybe(self, low: float, high: float) -> np.ndarray:
        """Tell which outputs an oracle may take to lie in an angle."""
        return (self.base > -self.error) & (self.most >= low) & (self.least <= high)


def _ask_angle(
    listed: Listed, tilt: float, low: float, high: float, is_closed: bool, banned: Any = None
) -> tuple[np.ndarray, float] | None:
    """Ask for the best output of an angle; return its cells and its value, None without one."""
    data, cost, i, theta, room = listed[:5]
    cells, no_ban = _cells(listed, 1), _cells(listed, 0)
    n_banned = 0 if banned is None else 1
    banned = no_ban if banned is None else banned
    if not constrained(
        data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, cells, 0
    ):
        return None
    return cells, _angle_value(tilt, *listed.point(cells, 0))


def _angle_value(tilt: float, h: Any, g: Any) -> Any:
    return g if tilt == np.inf else 1.0 + h + tilt * g


def _check_angle(
    listed: Listed, slopes: Slopes, tilt: float, low: float, high: float, is_closed: bool
) -> None:
    """Check the best output of an angle; outputs on its bounds may count as in it or not."""
    surely, maybe = slopes.surely(low, high), slopes.maybe(low, high)
    is_fractional = "relaxed" in capabilities(listed.data, listed.cost)
    answer = _ask_angle(listed, tilt, low, high, is_closed)
    angle = f"for example {listed.i} and slopes in ({low:g}, {high:g}{']' if is_closed else ')'}"
    if answer is None:
        require(
            not surely.any(),
            f"constrained says False {angle}, but {int(surely.sum())} outputs are there.",
        )
        return
    values = _angle_value(tilt, listed.h, listed.g)
    # Only the vertices of a relaxation are listed, but the best of an angle may be no vertex.
    require(
        is_fractional or bool(maybe.any()), f"constrained says True {angle}, but none is there."
    )
    best = values[surely].max(initial=-np.inf)
    most = np.inf if is_fractional else values[maybe].max()
    slack = 1e-9 * (1.0 + abs(answer[1])) + (slopes.error if is_fractional else 0.0)
    require(
        best - slack <= answer[1] <= most + slack,
        f"constrained found {answer[1]:.9g} {angle}, but {best:.9g} is best.",
    )


def _check_bounds_on_a_slope(listed: Listed, tilt: float) -> None:
    """Cut the plane at the slope of an output: one part has it; once banned, neither has.

    The contract of `maxmargin.core.contract.constrained` says why.
    """
    whole = _ask_angle(listed, tilt, 0.0, np.inf, True)
    if whole is None:
        return
    cells, value = whole
    h, g = listed.point(cells, 0)
    if not 1.0 + h > 0.0:  # on the axis, up to rounding
        return
    slope = g / (1.0 + h)
    where = f"for example {listed.i} and the bound {slope:.17g}, the slope of an output"
    sides = ((0.0, slope, True), (slope, np.inf, True))
    found = [_ask_angle(listed, tilt, *side) for side in sides]
    best = max((answer[1] for answer in found if answer is not None), default=-np.inf)
    require(
        abs(best - value) <= 1e-9 * (1.0 + abs(value)),
        f"constrained finds that output, worth {value:.9g}, on neither side {where}.",
    )
    for low, high in ((0.0, slope), (slope, np.inf)):
        answer = _ask_angle(listed, tilt, low, high, False, cells)
        require(
            answer is None or not np.array_equal(answer[0], cells),
            f"constrained returned a banned output {where}, which is open.",
        )


def _check_forbid(listed: Listed, rng: np.random.Generator) -> None:
    data, cost, i, theta, room = listed[:5]
    parts = [output_parts(data, i, row, 0) for row in listed.rows]
    _check_parts(listed, parts)
    sets = [frozenset(each) for each in parts]
    everything = list(dict.fromkeys(part for each in parts for part in each))
    cells = _cells(listed, 1)
    for trial in range(8):
        # Require some parts of one output, and forbid some of the other parts. In the last trials
        # forbid some of all parts, so that there may be no output left.
        own = sets[rng.integers(len(sets))] if trial < 6 else frozenset()
        forbid = frozenset(p for p in everything if p not in own and rng.random() < 0.3)
        needed = frozenset(
            p for p in everything if p not in forbid and (p in own or trial >= 6)
            and rng.random() < 0.3
        ) if can_require(data) else frozenset()  # fmt: skip
        a, b = (0.0, 1.0) if trial == 0 else (1.0, rng.exponential())
        try:
            found = maximize_within(data, cost, i, theta, room, a, b, forbid, needed, cells, 0)
        except ValueError as error:
            raise AssertionError(str(error)) from error
        fits = np.array([needed <= own and forbid.isdisjoint(own) for own in sets])
        limits = f"forbid={set(forbid)!r}" + (f", require={set(needed)!r}" if needed else "")
        require(
            bool(found) == bool(fits.any()),
            f"maximize with {limits} found {'an output' if found else 'None'} for example {i}, but "
            f"{int(fits.sum())} outputs are left.",
        )
        if found:
            best = (a * listed.h + b * listed.g)[fits].max()
            value = float(np.dot((a, b), listed.point(cells, 0)))
            require(
                abs(value - best) <= 1e-9 * (1.0 + abs(best)),
                f"maximize with {limits} found {value:.9g} for example {i}, but {best:.9g} is "
                "best.",
            )


def _check_parts(listed: Listed, parts: list[tuple[Any, ...]]) -> None:
    """Parts must tell outputs apart; with forbid alone, no output may have all parts of another."""
    sets = [frozenset(each) for each in parts]
    is_binary = bool(can_require(listed.data))
    for k, own in enumerate(sets):
        for other in range(len(sets)):
            clash = own == sets[other] if is_binary else own <= sets[other]
            require(
                k == other or not clash,
                f"output {listed.rows[other][0].value!r} of example {listed.i} has all the parts "
                f"of {listed.rows[k][0].value!r}: parts must tell outputs apart"
                + ("." if is_binary else ", and without require none may have all of another's."),
            )
