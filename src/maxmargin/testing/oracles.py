"""The contract of the oracles beside `maximize`, checked against the list of all outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    can_require,
    constrained,
    k_best,
    k_best_room,
    margin_error,
    maximize_within,
    n_weights,
    oracles,
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
    """Check the oracles that data with a cost declare (`maxmargin.generic.oracles`).

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
    offered = oracles(data, cost)
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
    data, cost, i, theta, room = listed[:5]
    cells, no_ban = _cells(listed, 1), _cells(listed, 0)
    h = 1.0 + listed.h
    slopes = np.where(h > 0.0, listed.g / np.where(h > 0.0, h, 1.0), np.nan)
    known = np.unique(slopes[(h > 0.0) & (listed.g > 0.0)])
    ends = np.concatenate([known, rng.exponential(size=2)])
    for low in (0.0, *rng.choice(ends, 2)):
        for high in (np.inf, *rng.choice(ends, 2)):
            for is_closed in (True, False):
                tilt = rng.exponential()
                fits = (h > 0.0) & (slopes > low)
                fits &= (slopes <= high) if is_closed else (slopes < high)
                found = constrained(
                    data, cost, i, theta, room, tilt, low, high, is_closed, no_ban, 0, cells, 0
                )
                require(
                    bool(found) == bool(fits.any()),
                    f"constrained says {bool(found)} for example {i} and slopes in ({low:g}, "
                    f"{high:g}), but {int(fits.sum())} outputs are there.",
                )
                if found:
                    best = (h + tilt * listed.g)[fits].max()
                    error, price = listed.point(cells, 0)
                    value = 1.0 + error + tilt * price
                    require(
                        abs(value - best) <= 1e-9 * (1.0 + abs(best)),
                        f"constrained found {value:.9g} for example {i}, but {best:.9g} is best.",
                    )


def _check_forbid(listed: Listed, rng: np.random.Generator) -> None:
    data, cost, i, theta, room = listed[:5]
    parts = [output_parts(data, i, row, 0) for row in listed.rows]
    _check_parts(listed, parts)
    sets = [frozenset(each) for each in parts]
    everything = list(dict.fromkeys(part for each in parts for part in each))
    cells = _cells(listed, 1)
    for trial in range(8):
        # What one output has is required in part, and of the rest something is forbidden; in the
        # last trials of all parts, so that there may be no output left.
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
    """Parts must tell outputs apart; where only forbid is known, by a part that is not there."""
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
