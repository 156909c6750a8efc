"""Examples whose oracles keep a record: every query with what it found and what it ruled out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.core.contract import (
    can_require,
    constrained,
    implements,
    k_best,
    margin_error,
    maximize,
    maximize_bounded,
    maximize_within,
    mix,
    output_cost,
    output_length,
    output_parts,
    output_size,
    profile,
    profile_output,
    psi,
    shift,
)


@dataclass(frozen=True)
class Query:
    """One call of an oracle.

    Attributes
    ----------
    kind : {"weighted", "k_best", "constrained", "profile", "forbid"}
        Which oracle. "forbid" looked only at outputs that lack some parts and have some others.
    tilt : float
        The query asked for the largest h + tilt * g. An infinite tilt asks for the largest g. NaN
        for a profile.
    low, high : float
        A constrained query looks at the angle low < g / (1 + h) < high (or <= high), 1 + h > 0. The
        other queries look at all outputs: -inf and inf.
    h, g, psi : float
        Of the output that was found. If there are several, the one of largest psi; NaN if none.
    top : float
        An upper bound of h + tilt * g (of g if the tilt is infinite) over all outputs that the
        query looked at: for "k_best" all but those listed, for "constrained" those in the angle.
        -inf if there is no (other) output. NaN for a profile.
    output : array or None
        The cells of the output found; None if the search did not ask the profile for it.
    points : array of shape (n, 2)
        (h, g) of all outputs of the answer: one, k, or one for each cost level.
    """

    kind: str
    tilt: float
    low: float
    high: float
    h: float
    g: float
    psi: float
    top: float
    output: np.ndarray | None
    points: np.ndarray

    def excludes(self, h: Any, g: Any) -> np.ndarray:
        """Tell at which points (h, g) no output can be, by this answer alone.

        For "k_best" that means no output besides those listed. A profile excludes the points above
        the best output of the nearest cost level. "forbid" excludes no point, because its answer
        is about some outputs only.

        Examples
        --------
        >>> line = Query("weighted", 2.0, -math.inf, math.inf, 1.0, 1.0, 2.0, 3.0, None,
        ...              np.array([[1.0, 1.0]]))
        >>> line.excludes([1.0, 1.1], 1.0)
        array([False,  True])
        """
        h, g = np.broadcast_arrays(np.asarray(h, dtype=float), np.asarray(g, dtype=float))
        if self.kind == "forbid":
            return np.zeros(h.shape, dtype=bool)
        if self.kind == "profile":
            if len(self.points) == 0:
                return np.zeros(h.shape, dtype=bool)
            costs = np.unique(self.points[:, 1])
            tops = np.array([self.points[self.points[:, 1] == c, 0].max() for c in costs])
            nearest = np.abs(g[..., None] - costs).argmin(axis=-1)
            return h > tops[nearest]
        value = g if self.tilt == math.inf else h + self.tilt * g
        above = value > self.top
        if self.kind != "constrained":
            return above
        # Compare the quotient, as oracles do: a product would round differently on the border.
        slope = np.divide(g, 1.0 + h, out=np.full(h.shape, -math.inf), where=1.0 + h > 0.0)
        return above & (slope > self.low) & (slope < self.high)


class Log:
    """The queries so far."""

    def __init__(self, surrogate: Any) -> None:
        self.surrogate = surrogate
        self.queries: list[Query] = []

    def add(
        self,
        kind: str,
        tilt: float,
        points: Any,
        outputs: list[np.ndarray],
        top: float = -math.inf,
        angle: tuple[float, float] = (-math.inf, math.inf),
    ) -> None:
        """Add a query that found outputs at ``points``; ``top`` may be below their own values."""
        found = np.array(points, dtype=float).reshape(-1, 2)
        h = g = value = math.nan
        output = None
        if len(found):
            values = [float(psi(self.surrogate, *point)[0]) for point in found.tolist()]
            best = int(np.argmax(values))
            (h, g), value = found[best].tolist(), values[best]
            output = outputs[best] if outputs else None
        low, high = map(float, angle)
        query = Query(kind, float(tilt), low, high, h, g, value, float(top), output, found)
        self.queries.append(query)


class TracedData:
    """Examples with a log of what is asked about them."""

    def __init__(self, data: Any, log: Log) -> None:
        self.data, self.log = data, log


class TracedCost:
    """The cost of such examples."""

    def __init__(self, cost: Any) -> None:
        self.cost = cost


def cells_of(data: Any, i: int, outputs: Any, at: int) -> np.ndarray:
    """Return a copy of the cells of an output."""
    return np.array(outputs[at : at + int(output_length(data, i, outputs, at))])


def _value(tilt: float, h: float, g: float) -> float:
    return g if tilt == math.inf else h + tilt * g


def _tilt(score_scale: float, cost_scale: float) -> float:
    return cost_scale / score_scale if score_scale > 0.0 else math.inf


@implements(output_size, TracedData)
def _output_size(data, i):
    return output_size(data.data, i)


@implements(output_length, TracedData)
def _output_length(data, i, outputs, at):
    return output_length(data.data, i, outputs, at)


@implements(margin_error, TracedData)
def _margin_error(data, i, theta, outputs, at):
    return margin_error(data.data, i, theta, outputs, at)


@implements(mix, TracedData)
def _mix(data, i, left, left_at, right, right_at, share, outputs, at):
    return mix(data.data, i, left, left_at, right, right_at, share, outputs, at)


@implements(shift, TracedData, TracedCost)
def _shift(data, cost, i, outputs, at):
    return shift(data.data, cost.cost, i, outputs, at)


@implements(output_cost, TracedData, TracedCost)
def _output_cost(data, cost, i, outputs, at):
    return output_cost(data.data, cost.cost, i, outputs, at)


@implements(maximize, TracedData, TracedCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    maximize(data.data, cost.cost, i, theta, room, score_scale, cost_scale, outputs, at)
    _add_weighted(data, cost.cost, i, theta, _tilt(score_scale, cost_scale), outputs, at)


@implements(maximize_bounded, TracedData, TracedCost)
def _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    top = maximize_bounded(
        data.data, cost.cost, i, theta, room, score_scale, cost_scale, outputs, at
    )
    scale = score_scale if score_scale > 0.0 else cost_scale
    tilt = _tilt(score_scale, cost_scale)
    _add_weighted(data, cost.cost, i, theta, tilt, outputs, at, top / scale)
    return top


def _add_weighted(
    traced: TracedData,
    cost: Any,
    i: int,
    theta: Any,
    tilt: float,
    outputs: Any,
    at: int,
    top: float = -math.inf,
) -> None:
    point = measure(traced.data, cost, i, theta, outputs, at)
    cells = cells_of(traced.data, i, outputs, at)
    traced.log.add("weighted", tilt, [point], [cells], max(top, _value(tilt, *point)))


@implements(k_best, TracedData, TracedCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    inner, price = data.data, cost.cost
    count = k_best(inner, price, i, theta, room, score_scale, cost_scale, k, own, outputs, at)
    tilt, size = _tilt(score_scale, cost_scale), int(output_size(inner, i))
    places = [at + rank * size for rank in range(count)]
    points = [measure(inner, price, i, theta, outputs, place) for place in places]
    cells = [cells_of(inner, i, outputs, place) for place in places]
    top = _value(tilt, *points[-1]) if count == k else -math.inf
    data.log.add("k_best", tilt, points, cells, top)
    return count


@implements(constrained, TracedData, TracedCost)
def _constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    inner, price = data.data, cost.cost
    is_there = constrained(
        inner, price, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
    )
    points = [measure(inner, price, i, theta, outputs, at)] if is_there else []
    cells = [cells_of(inner, i, outputs, at)] if is_there else []
    top = _value(tilt, *points[0]) if is_there else -math.inf
    data.log.add("constrained", tilt, points, cells, top, (low, high))
    return is_there


@implements(can_require, TracedData)
def _can_require(data):
    return can_require(data.data)


@implements(output_parts, TracedData)
def _output_parts(data, i, outputs, at):
    return output_parts(data.data, i, outputs, at)


@implements(maximize_within, TracedData, TracedCost)
def _maximize_within(
    data, cost, i, theta, room, score_scale, cost_scale, forbid, require, outputs, at
):
    inner, price = data.data, cost.cost
    is_there = maximize_within(
        inner, price, i, theta, room, score_scale, cost_scale, forbid, require, outputs, at
    )
    points = [measure(inner, price, i, theta, outputs, at)] if is_there else []
    cells = [cells_of(inner, i, outputs, at)] if is_there else []
    tilt = _tilt(score_scale, cost_scale)
    top = _value(tilt, *points[0]) if is_there else -math.inf
    data.log.add("forbid", tilt, points, cells, top)
    return is_there


@implements(profile, TracedData, TracedCost)
def _profile(data, cost, i, theta, room, own, h, g):
    n_levels = profile(data.data, cost.cost, i, theta, room, own, h, g)
    there = h[:n_levels] > -math.inf
    points = np.column_stack([h[:n_levels][there], g[:n_levels][there]])
    data.log.add("profile", math.nan, points, [], math.nan)
    return n_levels


@implements(profile_output, TracedData, TracedCost)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    profile_output(data.data, cost.cost, i, theta, room, own, level, outputs, at)
    log, cells = data.log, cells_of(data.data, i, outputs, at)
    for place, query in enumerate(log.queries):
        if query.kind == "profile":
            log.queries[place] = replace(query, output=cells)


def measure(data: Any, cost: Any, i: int, theta: Any, outputs: Any, at: int) -> tuple[float, float]:
    """Return (h, g) of an output."""
    h = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
    return float(h), float(output_cost(data, cost, i, outputs, at))
