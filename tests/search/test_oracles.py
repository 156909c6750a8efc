"""Searches over oracles that are not exact, over relaxations, and as the sources print them."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest

from maxmargin.core.contract import (
    add_difference,
    constrained,
    implements,
    margin_error,
    maximize,
    maximize_bounded,
    mix,
    n_weights,
    output_cost,
    output_size,
    output_sizes,
    potentials,
    psi,
    truths,
    workspace,
)
from maxmargin.core.problem import Problem
from maxmargin.search import Angular, Bisecting, ConvexHull
from maxmargin.surrogates import (
    BetaScaling,
    GeneralizedScaling,
    LogLoss,
    MicroF1,
    ProbLoss,
    SlackRescaling,
)
from maxmargin.testing.cloud_data import CloudCost, CloudData
from maxmargin.testing.clouds import (
    best_on_hull,
    best_psi,
    cloud_problem,
    hull_corners,
    random_clouds,
)

SLACK = SlackRescaling()
SURROGATES = [SLACK, BetaScaling(0.5), GeneralizedScaling(1.3, 0.7), LogLoss(), ProbLoss()]


# -- oracles that are not exact ------------------------------------------------------------------


class LooseCost(NamedTuple):
    """The cost of a cloud whose oracle finds one of the best outputs, and a bound above all."""

    inner: CloudCost
    rng: np.random.Generator


@implements(output_cost, CloudData, LooseCost)
def _output_cost(data, cost, i, outputs, at):
    return output_cost(data, cost.inner, i, outputs, at)


@implements(maximize_bounded, CloudData, LooseCost)
def _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    first, last = data.starts[i], data.starts[i + 1]
    values = score_scale * (theta.scores[: last - first] - theta.scores[0])
    values = values + cost_scale * cost.inner.g[first:last]
    order = np.argsort(-values)
    outputs[at] = order[min(cost.rng.integers(0, 3), len(order) - 1)]
    return values.max() + cost.rng.choice([0.0, 0.3]) * abs(values.max())


def loose(problem, surrogate, search):
    """Return a cloud problem over a loose oracle."""
    data = problem.view.data
    cost = LooseCost(problem.view.cost, np.random.default_rng(0))
    bound = search.bind(data, cost, surrogate)
    form, n = surrogate.compiled(), problem.n_examples
    return Problem(data, cost, form, n, 1.0, search=bound, compile=False)


@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
def test_bounds_hold_over_an_oracle_that_is_not_exact(surrogate):
    searches = [ConvexHull()] + [Bisecting()] * isinstance(surrogate, SlackRescaling)
    for kind, search in itertools.product(("gauss", "integer", "unviolated"), searches):
        h, g = random_clouds(kind, 100, seed=1)
        exact = cloud_problem(h, g, surrogate, search, compile=False)
        problem = loose(exact, surrogate, search)
        best = best_psi(h, g, surrogate)
        for _ in range(2):
            losses, bounds = problem.losses(exact.weights)
            assert (losses <= best * (1.0 + 1e-9)).all()
            assert (bounds >= best * (1.0 - 1e-9)).all()
            assert (bounds < math.inf).all()


def test_bounds_of_micro_f1_hold_over_an_oracle_that_is_not_exact(rng):
    sets = np.arange(16)[:, None] >> np.arange(4) & 1
    h, g, truth_g = [], [], []
    for _ in range(200):
        truth = rng.integers(0, 2, 4)
        others = sets[(sets != truth).any(axis=1)]
        h.append((others != truth).sum(axis=1) + (others - truth) @ rng.normal(size=4))
        g.append(-(others.sum(axis=1) + truth.sum()).astype(float))
        truth_g.append(-2.0 * truth.sum())
    exact = cloud_problem(h, g, MicroF1(), ConvexHull(), truth_g=truth_g, compile=False)
    problem = loose(exact, MicroF1(), ConvexHull())
    losses, bounds = problem.losses(exact.weights)
    best = best_psi(h, g, MicroF1())
    assert (losses <= best + 1e-12).all()
    assert (bounds >= best - 1e-9).all()
    assert np.isfinite(bounds).all()


# -- relaxations ---------------------------------------------------------------------------------


class Polygons:
    """Examples whose outputs are all points of a polygon: a cell holds (h, g), the truth (0, 0)."""

    def __init__(self, h, g):
        self.corners = [hull_corners(*cloud) for cloud in zip(h, g, strict=True)]
        self.truths = np.empty(len(h), dtype=object)
        self.truths[:] = [(0.0, 0.0)] * len(h)


class OwnG:
    """The cost that a cell holds."""


@implements(n_weights, Polygons)
def _n_weights(data):
    return 1


@implements(output_sizes, Polygons)
def _output_sizes(data):
    return np.ones(len(data.corners), dtype=np.int64)


@implements(truths, Polygons)
def _truths(data):
    return data.truths


@implements(workspace, Polygons)
def _workspace(data):
    return np.zeros(1), ()


@implements(output_size, Polygons)
def _output_size(data, i):
    return 1


@implements(potentials, Polygons)
def _potentials(data, i, w, scale, theta):
    pass


@implements(margin_error, Polygons)
def _margin_error(data, i, theta, outputs, at):
    return outputs[at][0]


@implements(add_difference, Polygons)
def _add_difference(data, i, outputs, at, scale, w):
    w[0] -= scale * outputs[at][0]


@implements(output_cost, Polygons, OwnG)
def _own_cost(data, cost, i, outputs, at):
    return outputs[at][1]


@implements(maximize, Polygons, OwnG)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    outputs[at] = max(data.corners[i], key=lambda y: score_scale * y[0] + cost_scale * y[1])


@implements(mix, Polygons)
def _mix(data, i, left, left_at, right, right_at, share, outputs, at):
    p, q = np.array(left[left_at]), np.array(right[right_at])
    outputs[at] = tuple((1.0 - share) * p + share * q)
    return True


@implements(constrained, Polygons, OwnG)
def _constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    # A linear programme in the plane: corners within the angle, and edges where they cross its
    # rays. It cannot tell < from <=.
    found = []
    corners = data.corners[i]
    edges = list(itertools.pairwise(corners)) or [(corners[0], corners[0])]
    for (ah, ag), (bh, bg) in edges:
        found += [(ah, ag), (bh, bg)]
        for slope in (low, high):
            # g = slope * (1 + h) on the edge.
            down = (bg - ag) - slope * (bh - ah)
            if math.isfinite(slope) and down != 0.0:
                t = (slope * (1.0 + ah) - ag) / down
                if 0.0 <= t <= 1.0:
                    found.append((ah + t * (bh - ah), ag + t * (bg - ag)))
    inside = [
        (h, g)
        for h, g in found
        if h > -1.0 and g > 0.0 and low * (1 - 1e-9) <= g / (1.0 + h) <= high * (1 + 1e-9)
    ]
    if inside:
        outputs[at] = max(inside, key=lambda y: y[0] + tilt * y[1])
    return bool(inside)


def relaxed_best(corners, surrogate):
    """Return the largest psi on a polygon, by a fine grid along its edges."""
    form = surrogate.compiled()
    best = max(0.0, *(psi(form, *corner)[0] for corner in corners), 0.0)
    for (ah, ag), (bh, bg) in itertools.pairwise(corners):
        for t in np.linspace(0.0, 1.0, 300):
            best = max(best, psi(form, ah + t * (bh - ah), ag + t * (bg - ag))[0])
    return best


def relaxed_problem(h, g, surrogate, search):
    data, cost = Polygons(h, g), OwnG()
    bound = search.bind(data, cost, surrogate)
    return Problem(data, cost, surrogate.compiled(), len(h), 1.0, search=bound)


@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
@pytest.mark.parametrize("integral", [True, False])
def test_the_hull_search_solves_a_relaxation(surrogate, integral):
    h, g = random_clouds("antidiagonal", 15, seed=2)
    problem = relaxed_problem(h, g, surrogate, ConvexHull(integral=integral))
    assert problem.objective == "relaxed"
    best = [relaxed_best(corners, surrogate) for corners in problem.view.data.corners]
    for _ in range(2):
        losses, bounds = problem.losses(np.zeros(1))
        np.testing.assert_allclose(losses, best, rtol=1e-4)
        np.testing.assert_allclose(bounds, losses, rtol=1e-9)
    assert any(losses > best_on_hull(h, g, surrogate) * 1.01)  # no output attains these


def test_the_angular_search_solves_a_relaxation():
    h, g = random_clouds("antidiagonal", 25, seed=3)
    by_hull = relaxed_problem(h, g, SLACK, ConvexHull()).losses(np.zeros(1))[0]
    problem = relaxed_problem(h, g, SLACK, Angular())
    for _ in range(2):
        losses, bounds = problem.losses(np.zeros(1))
        np.testing.assert_allclose(losses, by_hull, rtol=1e-6)
        assert (bounds >= by_hull * (1.0 - 1e-9)).all()
        assert (bounds <= losses * (1.0 + 2e-7)).all()


# -- as the sources print them -------------------------------------------------------------------


def plain_hull_search(h, g, is_above):
    """Search as printed, but for which neighbour of the best corner is taken: above, or below."""
    points = [(0.0, 0.0), *zip(h, g, strict=True)]
    met = {0, max(range(len(points)), key=lambda y: (points[y][1], points[y][0]))}
    for _ in range(60):
        chain = hull_corners(*zip(*(points[y] for y in met), strict=True))
        c = max(range(len(chain)), key=lambda k: (1.0 + chain[k][0]) * chain[k][1])
        (ch, cg), tilt = chain[c], math.inf
        if cg > 0.0:
            tilt = max(0.0, (1.0 + ch) / cg)
        for nh, ng in (chain[k] for k in (c + 1, c - 1) if 0 <= k < len(chain)):
            rise = ng - cg if tilt == math.inf else (nh - ch) + tilt * (ng - cg)
            if (rise > 1e-12) == is_above:
                tilt = (ch - nh) / (ng - cg)
                break
        if tilt == math.inf:
            y = max(range(len(points)), key=lambda y: (points[y][1], points[y][0]))
        else:
            y = max(range(len(points)), key=lambda y: points[y][0] + tilt * points[y][1])
        if y in met:
            break
        met.add(y)
    return max((1.0 + points[y][0]) * points[y][1] for y in met)


def test_the_neighbour_to_take_is_the_one_above_the_tangent():
    h, g = random_clouds("antidiagonal", 300, seed=4)
    corner = best_on_hull(h, g, SLACK)
    missed = {
        is_above: np.mean(
            [
                plain_hull_search(*cloud, is_above) < best - 1e-9
                for cloud, best in zip(zip(h, g, strict=True), corner, strict=True)
            ]
        )
        for is_above in (True, False)
    }
    assert missed[True] == 0.0
    assert missed[False] > 0.1


def plain_angular_search(h, g, returns_at_tie, limit=500):
    """Search as corrected, first in first out; or as printed, which ends where d = d'."""
    points = [(1.0 + x, y) for x, y in zip(h, g, strict=True) if x > -1.0 and y > 0.0]
    best, queue = 0.0, [(math.inf, 0.0, True)]
    for _ in range(limit):
        if not queue:
            return best
        high, low, is_closed = queue.pop(0)
        tilt = 1.0 if high == math.inf or low == 0.0 else 1.0 / math.sqrt(high * low)
        inside = [
            p
            for p in points
            if low < p[1] / p[0] and (p[1] / p[0] < high or (is_closed and p[1] / p[0] == high))
        ]
        if not inside:
            continue
        x, y = max(inside, key=lambda p: p[0] + tilt * p[1])
        best = max(best, x * y)
        slope = y / x
        mirror = 1.0 / (tilt * tilt * slope)
        if slope == mirror:
            if returns_at_tie:
                return best
            continue
        top, bottom, middle = max(slope, mirror), min(slope, mirror), 1.0 / tilt
        queue += [(top, middle, False), (middle, bottom, True)]
    return math.nan


def test_an_output_on_the_middle_ray_is_the_best_of_its_angle_only():
    # Angles are never opened twice, whatever the order, so that first in first out ends as well.
    h, g = random_clouds("rays", 300, seed=5, most=10)
    best = best_psi(h, g, SLACK)
    clouds = list(zip(h, g, strict=True))
    corrected = np.array([plain_angular_search(*cloud, False) for cloud in clouds])
    printed = np.array([plain_angular_search(*cloud, True) for cloud in clouds])
    np.testing.assert_allclose(corrected, best, rtol=1e-12)
    assert np.mean(printed < best * (1.0 - 1e-9)) > 0.01


def test_what_the_searches_stand_on():
    """h falls and g rises with the tilt, and K^2 / (4 tilt) bounds psi."""
    h, g = random_clouds("gauss", 50, seed=6)
    for x, y in zip(h, g, strict=True):
        points = np.array([(1.0, 0.0), *zip(1.0 + x, y, strict=True)])
        before = None
        for tilt in np.exp(np.linspace(-5.0, 5.0, 40)):
            values = points @ (1.0, tilt)
            found = points[np.argmax(values)]
            assert (points.prod(axis=1) <= values.max() ** 2 / (4.0 * tilt) + 1e-12).all()
            if before is not None:
                assert found[0] <= before[0] + 1e-12
                assert found[1] >= before[1] - 1e-12
            before = found
