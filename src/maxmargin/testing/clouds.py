"""Clouds: examples whose outputs are listed points (h, g), for searches to be tried on.

Output y of example i is the one cell y. Its score is a weight of its own, and its cost is listed,
so that at the weights ``problem.weights`` the margin errors are the numbers that were given. Every
oracle of `maxmargin.core.contract` is there, by looking at all outputs: what a search finds, and
in how many calls, depends only on the search.
"""

# Implementations of generic functions have no annotations: numba compares their signatures.
# mypy: allow-untyped-defs

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    capabilities,
    constrained,
    cost_step,
    implements,
    k_best,
    k_best_room,
    margin_error,
    maximize,
    n_weights,
    output_cost,
    output_size,
    output_sizes,
    potentials,
    profile,
    profile_levels,
    profile_output,
    profile_room,
    psi,
    truths,
    workspace,
)
from maxmargin.core.problem import Problem

#: h and g of points.
Cloud: TypeAlias = tuple[np.ndarray, np.ndarray]

#: Clouds with more different costs than this have no profile.
MAX_LEVELS = 64


class CloudData(NamedTuple):
    """Examples with listed outputs, one after the other; output 0 of each is the true one."""

    starts: Any  # (n_examples + 1,) int64
    truths: Any  # (n_examples,) int32: zeros


class CloudPotentials(NamedTuple):
    """Scores of the outputs of one example."""

    scores: Any  # (most outputs of an example,)


class CloudCost(NamedTuple):
    """The cost of every output."""

    g: Any  # (n_outputs,)
    levels: Any  # (n_examples, n_levels): different costs, then inf; no column where they are many
    steps: Any  # (n_examples,): what costs are multiples of, or 0
    hides: Any  # one flag per oracle, see HIDDEN


#: Oracles that a cloud can do without.
HIDDEN = ("k_best", "constrained", "profile")


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


# -- the structure ------------------------------------------------------------------------------


@implements(n_weights, CloudData)
def _n_weights(data):
    return int(data.starts[-1])


@implements(output_sizes, CloudData)
def _output_sizes(data):
    return np.ones(len(data.truths), dtype=np.int64)


@implements(truths, CloudData)
def _truths(data):
    return data.truths


@implements(workspace, CloudData)
def _workspace(data):
    return CloudPotentials(np.zeros(int(np.diff(data.starts).max()))), ()


@implements(output_size, CloudData)
def _output_size(data, i):
    return 1


@implements(potentials, CloudData)
def _potentials(data, i, w, scale, theta):
    first = data.starts[i]
    for y in range(data.starts[i + 1] - first):
        theta.scores[y] = scale * w[first + y]


@implements(margin_error, CloudData)
def _margin_error(data, i, theta, outputs, at):
    return theta.scores[outputs[at]] - theta.scores[0]


@implements(add_difference, CloudData)
def _add_difference(data, i, outputs, at, scale, w):
    w[data.starts[i]] += scale
    w[data.starts[i] + outputs[at]] -= scale


# -- the oracles --------------------------------------------------------------------------------


@implements(capabilities, CloudData)
def _capabilities(data, cost):
    if not isinstance(cost, CloudCost):  # a cost of the user, which has only the oracle `maximize`
        return frozenset({"weighted"})
    found = {name for name, hidden in zip(HIDDEN, cost.hides, strict=True) if not hidden}
    return frozenset(found - ({"profile"} if cost.levels.shape[1] == 0 else set()) | {"weighted"})


@implements(output_cost, CloudData, CloudCost)
def _output_cost(data, cost, i, outputs, at):
    return cost.g[data.starts[i] + outputs[at]]


@jitable
def _is_better(
    value: float, h: float, g: float, best_value: float, best_h: float, best_g: float, tilt: float
) -> bool:
    """Order outputs; ties at a tilt of 0 by g and else by h."""
    if value != best_value:
        return value > best_value
    return g > best_g if tilt == 0.0 else h > best_h


@implements(maximize, CloudData, CloudCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    first = data.starts[i]
    best = 0
    for y in range(1, data.starts[i + 1] - first):
        value = score_scale * theta.scores[y] + cost_scale * cost.g[first + y]
        best_value = score_scale * theta.scores[best] + cost_scale * cost.g[first + best]
        h, g = theta.scores[y], cost.g[first + y]
        if _is_better(
            value, h, g, best_value, theta.scores[best], cost.g[first + best], cost_scale
        ):
            best = y
    outputs[at] = best


@implements(k_best_room, CloudData)
def _k_best_room(data, cost, k):
    return np.zeros(int(np.diff(data.starts).max()), dtype=np.int8)


@implements(k_best, CloudData, CloudCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    first = data.starts[i]
    n_outputs = data.starts[i + 1] - first
    own[:] = 0
    for place in range(min(k, n_outputs)):
        best = -1
        for y in range(n_outputs):
            if own[y] == 0:
                h, g = theta.scores[y], cost.g[first + y]
                value = score_scale * h + cost_scale * g
                if best < 0:
                    best = y
                best_value = score_scale * theta.scores[best] + cost_scale * cost.g[first + best]
                best_g = cost.g[first + best]
                if _is_better(value, h, g, best_value, theta.scores[best], best_g, cost_scale):
                    best = y
        outputs[at + place] = best
        own[best] = 1
    return min(k, n_outputs)


@implements(constrained, CloudData, CloudCost)
def _constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    # The slope is the same quotient that made the bound, so < excludes what was found before, and
    # ``banned`` need not be read.
    first = data.starts[i]
    best = -1
    for y in range(data.starts[i + 1] - first):
        h, g = 1.0 + (theta.scores[y] - theta.scores[0]), cost.g[first + y]
        if h <= 0.0:
            continue
        slope = g / h
        if slope > low and (slope < high or (is_closed and slope == high)):
            value = g if tilt == math.inf else h + tilt * g
            if best < 0:
                best = y
            best_h, best_g = 1.0 + (theta.scores[best] - theta.scores[0]), cost.g[first + best]
            best_value = best_g if tilt == math.inf else best_h + tilt * best_g
            if _is_better(value, h, g, best_value, best_h, best_g, tilt):
                best = y
    outputs[at] = max(best, 0)
    return best >= 0


@implements(cost_step, CloudData, CloudCost)
def _cost_step(data, cost):
    return cost.steps if (cost.steps > 0.0).all() else None


@implements(profile_levels, CloudData, CloudCost)
def _profile_levels(data, cost):
    if cost.levels.shape[1] == 0:
        raise ValueError(f"Clouds have a profile up to {MAX_LEVELS} different costs.")
    return cost.levels.shape[1]


@implements(profile_room, CloudData, CloudCost)
def _profile_room(data, cost):
    return np.zeros(max(1, cost.levels.shape[1]), dtype=np.int32)


@implements(profile, CloudData, CloudCost)
def _profile(data, cost, i, theta, room, own, h, g):
    first = data.starts[i]
    n_levels = cost.levels.shape[1]
    for level in range(n_levels):
        h[level] = -np.inf
        g[level] = cost.levels[i, level]
    for y in range(data.starts[i + 1] - first):
        for level in range(n_levels):
            if g[level] == cost.g[first + y] and theta.scores[y] - theta.scores[0] > h[level]:
                h[level] = theta.scores[y] - theta.scores[0]
                own[level] = y
    return n_levels


@implements(profile_output, CloudData, CloudCost)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    outputs[at] = own[level]
