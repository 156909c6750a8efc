"""Clouds: examples whose outputs are listed points (h, g), for searches to be tried on.

Output y of example i is the one cell y. Its score is a weight of its own, and its cost is listed,
so that at the weights ``problem.weights`` the margin errors are the numbers that were given. Every
oracle of `maxmargin.core.contract` is there, by looking at all outputs: what a search finds, and
in how many calls, depends only on the search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from maxmargin.core.contract import psi
from maxmargin.core.problem import Problem
from maxmargin.testing.cloud_data import HIDDEN, MAX_LEVELS, CloudCost, CloudData

#: h and g of points.
Cloud: TypeAlias = tuple[np.ndarray, np.ndarray]


class CloudProblem(Problem):
    """A problem over clouds; ``weights`` are those at which h is as given."""

    weights: np.ndarray


def cloud_problem(
    h: Any,
    g: Any,
    surrogate: Any,
    search: Any,
    *,
    truth_g: Any = None,
    step: float = 0.0,
    without: Any = (),
    compile: bool = True,
) -> CloudProblem:
    """Return a problem with one example per cloud.

    The true output, (0, 0), comes first in every cloud and is not to be listed.

    Parameters
    ----------
    h, g : sequences of sequences of float
        Margin errors and costs of the outputs of each cloud.
    surrogate : Surrogate
    search : Search
    truth_g : sequence of float, or None (all 0)
        g of the true output of each cloud, for `MicroF1`: minus twice the labels it has.
    step : float, default=0.0
        What all costs are whole multiples of, if searches are to know that.
    without : collection of {"k_best", "constrained", "profile"}
        Oracles to do without.
    compile : bool, default=True

    Examples
    --------
    >>> from maxmargin.search import Angular
    >>> from maxmargin.surrogates import SlackRescaling
    >>> clouds = [[0.5, -0.5]], [[1.0, 4.0]]
    >>> problem = cloud_problem(*clouds, SlackRescaling(), Angular(), compile=False)
    >>> problem.losses(problem.weights)[0], best_psi(*clouds, SlackRescaling())
    (array([2.]), array([2.]))
    """
    sizes = [len(points) + 1 for points in h]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    weights, costs = np.zeros((2, starts[-1]))
    truth_g = np.zeros(len(sizes)) if truth_g is None else truth_g
    different = [np.unique([truth_g[i], *points]) for i, points in enumerate(g)]
    n_levels = max(map(len, different))
    has_levels = n_levels <= MAX_LEVELS
    levels = np.full((len(sizes), n_levels if has_levels else 0), np.inf)
    for i, first in enumerate(starts[:-1]):
        weights[first + 1 : starts[i + 1]] = h[i]
        costs[first] = truth_g[i]
        costs[first + 1 : starts[i + 1]] = g[i]
        if has_levels:
            levels[i, : len(different[i])] = different[i]
    data = CloudData(starts, np.zeros(len(sizes), dtype=np.int32))
    steps = np.full(len(sizes), float(step))
    cost = CloudCost(costs, levels, steps, tuple(int(name in without) for name in HIDDEN))
    bound = search.bind(data, cost, surrogate)
    problem = CloudProblem(
        data, cost, surrogate.compiled(), len(sizes), 1.0, search=bound, compile=compile
    )
    problem.weights = weights
    return problem


def random_clouds(
    kind: str, n_clouds: int, seed: int = 0, most: int = 60
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return h and g of clouds of up to ``most`` points, for slack rescaling to be searched on.

    Parameters
    ----------
    kind : str
        A key of `CLOUDS`.
    n_clouds, seed : int
    most : int, default=60

    Examples
    --------
    >>> h, g = random_clouds("integer", 2)
    >>> [len(points) for points in h] == [len(points) for points in g]
    True
    """
    rng = np.random.default_rng(seed)
    drawn = [CLOUDS[kind](int(rng.integers(1, most + 1)), rng) for _ in range(n_clouds)]
    return [h for h, _ in drawn], [g for _, g in drawn]


def _gauss(n: int, rng: np.random.Generator) -> Cloud:
    return rng.normal(size=n), np.abs(rng.normal(size=n))


def _antidiagonal(n: int, rng: np.random.Generator) -> Cloud:
    t = 3.0 * rng.random(n)
    return 2.0 - t + 0.3 * rng.normal(size=n), np.abs(t + 0.3 * rng.normal(size=n))


def _hyperbola(n: int, rng: np.random.Generator) -> Cloud:
    # All points but two lie under the hull, and all have nearly the same psi.
    t = np.exp(rng.normal(size=n))
    return t - 1.0, (1.0 - 0.1 * rng.random(n)) / t


def _integer(n: int, rng: np.random.Generator) -> Cloud:
    return rng.integers(-3, 4, size=n).astype(float), rng.integers(0, 5, size=n).astype(float)


def _rays(n: int, rng: np.random.Generator) -> Cloud:
    # 1 + h and g are powers of two, so that angles are often cut right through points.
    return 2.0 ** rng.integers(-3, 4, size=n) - 1.0, 2.0 ** rng.integers(-3, 4, size=n)


def _unviolated(n: int, rng: np.random.Generator) -> Cloud:
    return -1.0 - 5.0 * rng.random(n), 4.0 * rng.random(n)


def _equal(n: int, rng: np.random.Generator) -> Cloud:
    return np.full(n, rng.normal()), np.full(n, abs(rng.normal()))


#: Ways to draw a cloud of so many points.
CLOUDS: dict[str, Callable[[int, np.random.Generator], Cloud]] = {
    "gauss": _gauss,
    "antidiagonal": _antidiagonal,
    "hyperbola": _hyperbola,
    "integer": _integer,
    "rays": _rays,
    "unviolated": _unviolated,
    "equal": _equal,
}


class SearchRecord(NamedTuple):
    """How a search did on clouds: oracle calls per search, how often and how far it missed psi.

    ``ratio`` is the mean of psi found / largest psi, ``excess`` that of bound / largest psi.
    """

    calls: float
    warm_calls: float
    missed: float
    ratio: float
    excess: float


def search_record(h: Any, g: Any, surrogate: Any, search: Any, **options: Any) -> SearchRecord:
    """Run a search over clouds, twice (the second time it remembers), and compare it with the best.

    Examples
    --------
    >>> from maxmargin.search import Angular
    >>> from maxmargin.surrogates import SlackRescaling
    >>> clouds = random_clouds("rays", 5)
    >>> search_record(*clouds, SlackRescaling(), Angular(), compile=False).missed
    0.0
    """
    problem = cloud_problem(h, g, surrogate, search, **options)
    losses, bounds = problem.losses(problem.weights)
    calls = problem.n_oracle_calls
    problem.losses(problem.weights)
    best = best_psi(h, g, surrogate)
    some = best > 0.0
    ratio = losses[some] / best[some]
    return SearchRecord(
        calls / len(best),
        (problem.n_oracle_calls - calls) / len(best),
        float(np.mean(losses < best * (1.0 - 1e-9))),
        float(ratio.mean()) if some.any() else 1.0,
        float((bounds[some] / best[some]).mean()) if some.any() else 1.0,
    )


def best_psi(h: Any, g: Any, surrogate: Any) -> np.ndarray:
    """Return the largest psi of every cloud, at least 0, by looking at all points."""
    form = surrogate.compiled()
    pairs = zip(h, g, strict=True)
    return np.array(
        [max([0.0, *(psi(form, x, y)[0] for x, y in zip(*pair, strict=True))]) for pair in pairs]
    )


def best_on_hull(h: Any, g: Any, surrogate: Any) -> np.ndarray:
    """Return the largest psi among the outputs that a query h + tilt * g can find, of every cloud.

    These are the corners of the upper right hull.
    """
    form = surrogate.compiled()
    best = []
    for points in zip(h, g, strict=True):
        corners = hull_corners(*points)
        best.append(max([0.0, *(psi(form, x, y)[0] for x, y in corners)]))
    return np.array(best)


def hull_corners(h: Any, g: Any) -> list[tuple[float, float]]:
    """Return the corners of the upper right hull of points and (0, 0), by rising g."""
    points = sorted({(float(y), float(x)) for x, y in zip(h, g, strict=True)} | {(0.0, 0.0)})
    corners: list[tuple[float, float]] = []
    for y, x in points:
        while corners and corners[-1][0] <= x:
            corners.pop()
        while len(corners) > 1:
            (ah, ag), (bh, bg) = corners[-2:]
            if (bh - ah) * (y - ag) > (x - ah) * (bg - ag):
                break
            corners.pop()
        corners.append((x, y))
    return corners
