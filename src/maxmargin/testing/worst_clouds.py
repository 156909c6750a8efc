"""Clouds that are as bad as can be for searches under slack rescaling, psi = (1 + h) g.

They are the instances of Theorems 1 and 3 and of Lemma 13 of Choi's thesis (2018). Coordinates of
the thesis are (1 + h, g); the clouds returned have h and g, as `cloud_problem` takes them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.search.trace import Query, trace_search
from maxmargin.surrogates import SlackRescaling
from maxmargin.testing.clouds import Cloud, cloud_problem

#: Points that the adversary tries: a grid of so many in each direction.
GRID = 9


def hidden_cloud(eps: float, height: float = 1.0, width: float = 1.0) -> Cloud:
    """Return three points of which no query h + tilt * g finds the best (Theorem 1).

    The two that queries find have psi = eps * width and eps * height. The third is below the line
    between them, with psi = height * width / 4: all that it knows of the hull does not help.

    Examples
    --------
    >>> h, g = hidden_cloud(0.01)
    >>> ((1 + h) * g).round(4).tolist()
    [0.01, 0.01, 0.25]
    """
    top = np.array([eps, height, 0.5 * height])
    return top - 1.0, np.array([width, eps, 0.5 * width])


def oscillating_cloud(eps: float, tilt: float = 1.0) -> Cloud:
    """Return three points of which the best is found at one tilt only, give or take (Lemma 13).

    Queries of a tilt that is larger by a share of more than eps find the first, those of one
    that is as much smaller the second.

    Examples
    --------
    >>> h, g = oscillating_cloud(1e-3)
    >>> [int(np.argmax(h + tilt * g)) for tilt in (0.99, 1.0, 1.01)]
    [1, 2, 0]
    """
    return np.array([2.0, 4.0, 3.0 + eps]) - 1.0, np.array([4.0, 2.0, 3.0]) / tilt


def adversarial_cloud(search: Any, n: int) -> Cloud:
    """Return n points for which a search takes as many calls to find the best (Theorem 3).

    A game: the search asks, and an adversary answers so that a better point may still be in a
    rectangle that all answers so far leave open. A point of that rectangle is the next answer.
    The search must do the same whenever it gets the same answers, and ask weighted or constrained
    queries only. Rectangles shrink quickly, so that numbers run out of digits at about ten points;
    a search that stops, or a rectangle that is used up, ends the game before.

    Parameters
    ----------
    search : Search
    n : int, at least 1

    Examples
    --------
    >>> from maxmargin.search import Angular
    >>> h, g = adversarial_cloud(Angular(warm=False), 5)
    >>> problem = cloud_problem([h], [g], SlackRescaling(), Angular(warm=False), compile=False)
    >>> trace = trace_search(problem, 0, problem.weights)
    >>> trace.n_calls >= 5, bool(trace.psi == max((1 + h) * g))
    (True, True)
    """
    game = _Game()
    asked = 0
    while len(game.points) < n - 1:
        queries = _queries(search, [*game.points, game.middle()])
        if len(queries) <= asked or not game.answer(queries[asked]):
            break
        asked += 1
    points = np.array([*game.points, game.middle()])
    return points[:, 0] - 1.0, points[:, 1]


def _queries(search: Any, points: list[tuple[float, float]]) -> list[Query]:
    """Return what a search asks about these points."""
    cloud = np.array(points)
    problem = cloud_problem(
        [cloud[:, 0] - 1.0], [cloud[:, 1]], SlackRescaling(), search, without=("profile",),
        compile=False,
    )  # fmt: skip
    return trace_search(problem, 0, problem.weights).queries


class _Game:
    """The answers so far, and a rectangle in which a better point may be."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []
        self.low, self.high = np.array([1.0, 1.0]), np.array([2.0, 2.0])

    def middle(self) -> tuple[float, float]:
        x, y = 0.5 * (self.low + self.high)
        return float(x), float(y)

    def answer(self, query: Query) -> bool:
        """Answer a query, by a new point if one can be; return whether the game goes on."""
        if query.kind not in ("weighted", "constrained"):
            return False
        # The objective a x + b y, of x = 1 + h and y = g.
        line = np.array([0.0, 1.0] if query.tilt == math.inf else [1.0, query.tilt])
        known = [np.array(p) for p in self.points if query.low < p[1] / p[0] < query.high]
        most = max((float(line @ p) for p in known), default=-math.inf)
        most = max(most, float(line[0]) if query.kind == "weighted" else -math.inf)  # the truth
        best = None
        for x in np.linspace(self.low[0], self.high[0], GRID + 2)[1:-1]:
            for y in np.linspace(self.low[1], self.high[1], GRID + 2)[1:-1]:
                if not query.low < y / x < query.high or line @ (x, y) <= most:
                    continue
                found = self._left(line, float(line @ (x, y)), x * y)
                if found is not None and (best is None or found[0] > best[0]):
                    best = (*found, (float(x), float(y)))
        if best is not None:
            _, self.low, self.high, point = best
            self.points.append(point)
            return True
        # A known point is the answer, or none: what is left must not be better there.
        found = self._outside(query) if not math.isfinite(most) else self._left(line, most, 0.0)
        if found is None:
            return False
        _, self.low, self.high = found
        return True

    def _left(
        self, line: np.ndarray, most: float, least: float
    ) -> tuple[float, np.ndarray, np.ndarray] | None:
        """Return the largest rectangle found below a line where x y is larger than ``least``."""
        size, best = self.high - self.low, None
        for x in np.linspace(self.low[0], self.high[0], 4 * GRID, endpoint=False):
            y = max(self.low[1], least / x + 1e-3 * size[1])
            corner = np.array([x, y])
            room = (self.high - corner) / size
            share = min(float(room.min()), 0.999 * (most - float(line @ corner)) / (line @ size))
            if share > 1e-9 and (best is None or share > best[0]):
                best = (share, corner, corner + share * size)
        return best

    def _outside(self, query: Query) -> tuple[float, np.ndarray, np.ndarray] | None:
        """Return the rectangle, which a query that finds nothing leaves, if it is off its angle."""
        slopes = self.low[1] / self.high[0], self.high[1] / self.low[0]
        is_met = slopes[1] > query.low and slopes[0] < query.high
        return None if is_met else (1.0, self.low, self.high)
