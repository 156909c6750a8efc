"""Searches against enumeration, on clouds of points (h, g) and on chains."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.core.contract import find, potentials, psi
from maxmargin.search import (
    SEARCHES,
    Angular,
    BinarySearch,
    Bisecting,
    ConvexHull,
    SarawagiGupta,
)
from maxmargin.surrogates import (
    BetaScaling,
    GeneralizedScaling,
    LogLoss,
    MarginRescaling,
    MicroF1,
    ProbLoss,
    SlackRescaling,
)
from maxmargin.testing import tiny_problem
from maxmargin.testing.clouds import (
    CLOUDS,
    best_on_hull,
    best_psi,
    cloud_problem,
    hull_corners,
    random_clouds,
    search_record,
)

SLACK = SlackRescaling()
SURROGATES = [
    MarginRescaling(),
    SLACK,
    BetaScaling(0.5),
    GeneralizedScaling(1.3, 0.7),
    LogLoss(),
    ProbLoss(),
    ProbLoss(convex=False),
]
BY_LIST = ConvexHull(fallback="k_best")
BY_LEVEL = ConvexHull(fallback="profile")
ON_HULL = ConvexHull(integral=False)


def clouds_of(h, g, surrogate, search, **options):
    """Return a problem; what stops on the hull runs as Python, where the others are compiled."""
    stops = isinstance(search, ConvexHull) and not search.integral
    return cloud_problem(h, g, surrogate, search, compile=not stops, **options)


def assert_exact(problem, best):
    losses, bounds = problem.losses(problem.weights)
    np.testing.assert_allclose(losses, best, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(bounds, losses, rtol=1e-9, atol=1e-300)


# -- the maximum ---------------------------------------------------------------------------------


@pytest.mark.parametrize("search", [Angular(), BY_LIST], ids=["angular", "k_best"])
@pytest.mark.parametrize("kind", CLOUDS)
def test_exact_searches_find_the_maximum(kind, search):
    for seed, most in ((0, 60), (1, 3)):
        h, g = random_clouds(kind, 400, seed, most)
        assert_exact(cloud_problem(h, g, SLACK, search), best_psi(h, g, SLACK))


@pytest.mark.parametrize("kind", ["integer", "rays", "equal"])
def test_a_profile_completes_the_hull_search(kind):
    h, g = random_clouds(kind, 400)
    assert_exact(cloud_problem(h, g, SLACK, BY_LEVEL), best_psi(h, g, SLACK))


@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
def test_the_hull_search_serves_every_surrogate(surrogate):
    for kind in CLOUDS:
        h, g = random_clouds(kind, 150, seed=2)
        best = best_psi(h, g, surrogate)
        assert_exact(cloud_problem(h, g, surrogate, BY_LIST), best)
        if kind == "integer":
            assert_exact(cloud_problem(h, g, surrogate, BY_LEVEL), best)
            assert_exact(cloud_problem(h, g, surrogate, BY_LEVEL, step=1.0), best)
            assert_exact(cloud_problem(h, g, surrogate, BY_LIST, step=1.0), best)


def label_sets(n_clouds, rng):
    """Return h, g and the true g of Micro-F1 for all subsets of a few labels."""
    h, g, truth_g = [], [], []
    for _ in range(n_clouds):
        n_labels = int(rng.integers(1, 7))
        sets = np.arange(2**n_labels)[:, None] >> np.arange(n_labels) & 1
        truth = rng.integers(0, 2, n_labels)
        score = rng.normal(size=n_labels) * 2.0 ** rng.integers(-2, 3)
        sets = sets[(sets != truth).any(axis=1)]
        h.append((sets != truth).sum(axis=1) + (sets - truth) @ score)
        g.append(-(sets.sum(axis=1) + truth.sum()).astype(float))
        truth_g.append(-2.0 * truth.sum())
    return h, g, truth_g


def test_the_hull_search_is_exact_for_micro_f1(rng):
    h, g, truth_g = label_sets(500, rng)
    for search in (ON_HULL, BY_LIST):
        problem = clouds_of(h, g, MicroF1(), search, truth_g=truth_g)
        assert_exact(problem, best_psi(h, g, MicroF1()))
        assert problem.n_oracle_calls <= 4 * len(h)


@pytest.mark.parametrize("cost", ["hamming", "class_weighted", "zero_one", "matrix"])
def test_searches_agree_on_chains(cost, rng):
    for surrogate in ("slack", "log"):
        problems = [
            tiny_problem("chain", cost, surrogate, search=search, compile=False)
            for search in ("profile", "hull")
        ]
        for _ in range(10):
            w = rng.normal(size=problems[0].n_weights)
            expected = problems[0].losses(w)[0]
            found, bounds = problems[1].losses(w)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(bounds, found, rtol=1e-9, atol=1e-12)


numbers = st.sampled_from([0.0, 1.0, 2.0, 0.1, 1 / 3, 1e-9, 1e-150, 1e6, 1e100]) | st.floats(0, 5)
signed = st.tuples(numbers, st.sampled_from([-1.0, 1.0])).map(math.prod)


@given(
    st.lists(st.tuples(signed, numbers), min_size=1, max_size=8),
    st.sampled_from([Angular(), BY_LIST]),
)
def test_no_cloud_is_too_odd(points, search):
    h, g = ([list(values)] for values in zip(*points, strict=True))
    problem = cloud_problem(h, g, SLACK, search)
    losses, bounds = problem.losses(problem.weights)
    best = best_psi(h, g, SLACK)
    assert losses[0] == pytest.approx(best[0], rel=1e-9, abs=1e-300)
    assert bounds[0] >= losses[0]


def test_psi_may_be_too_small_to_tell_apart():
    # psi is 1e-130 or less; far out it is 0 but outputs are still ordered.
    rng = np.random.default_rng(0)
    h = list(-30.0 - rng.random((50, 20)))
    g = list(1.0 + rng.random((50, 20)))
    for surrogate in (ProbLoss(), LogLoss()):
        problem = cloud_problem(h, g, surrogate, BY_LIST)
        losses = problem.losses(problem.weights)[0]
        np.testing.assert_allclose(losses, best_psi(h, g, surrogate), rtol=1e-9, atol=0.0)
    problem = cloud_problem([100.0 * x for x in h], g, ProbLoss(), BY_LIST)
    assert (problem.losses(problem.weights)[0] == 0.0).all()


# -- the hull, and bounds ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "search", [ON_HULL, Bisecting(), BinarySearch(tol=1e-9)], ids=["hull", "bisecting", "binary"]
)
@pytest.mark.parametrize("kind", CLOUDS)
def test_plain_queries_find_the_best_corner(kind, search):
    h, g = random_clouds(kind, 200, seed=3)
    problem = clouds_of(h, g, SLACK, search)
    losses, bounds = problem.losses(problem.weights)
    corner, best = best_on_hull(h, g, SLACK), best_psi(h, g, SLACK)
    np.testing.assert_allclose(losses, corner, rtol=1e-9, atol=1e-12)
    assert (bounds >= best * (1.0 - 1e-9)).all()


def densest(h, g, surrogate):
    """Return the largest psi on the upper right hull, by a fine grid."""
    form, best = surrogate.compiled(), 0.0
    corners = hull_corners(h, g)
    for (ah, ag), (bh, bg) in itertools.pairwise(corners):
        for t in np.linspace(0.0, 1.0, 400):
            best = max(best, psi(form, ah + t * (bh - ah), ag + t * (bg - ag))[0])
    return max([best, *(psi(form, *corner)[0] for corner in corners)])


@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
def test_the_bound_is_the_largest_psi_on_the_hull(surrogate):
    for kind in ("gauss", "antidiagonal"):
        h, g = random_clouds(kind, 12, seed=4)
        problem = clouds_of(h, g, surrogate, ON_HULL)
        bounds = problem.losses(problem.weights)[1]
        expected = [densest(*cloud, surrogate) for cloud in zip(h, g, strict=True)]
        np.testing.assert_allclose(bounds, expected, rtol=1e-4)


def test_steps_of_the_cost_sharpen_the_bound():
    h, g = random_clouds("integer", 400, seed=5)
    plain, sharp = (
        search_record(h, g, SLACK, ON_HULL, step=step, compile=False) for step in (0.0, 1.0)
    )
    assert sharp.excess < plain.excess
    best = best_psi(h, g, SLACK)
    problem = clouds_of(h, g, SLACK, ON_HULL, step=1.0)
    assert (problem.losses(problem.weights)[1] >= best * (1.0 - 1e-9)).all()


@pytest.mark.parametrize(
    "search",
    [
        ConvexHull(integral=False, max_calls=2),
        ConvexHull(fallback="k_best", max_calls=2, max_k=2),
        ConvexHull(fallback="k_best", max_k=1),
        Angular(max_calls=1),
        Angular(max_calls=3),
        Angular(tol=0.1),
        Bisecting(max_calls=1),
        BinarySearch(max_calls=3),
        SarawagiGupta(max_calls=2),
        SarawagiGupta(max_calls=5),
        SarawagiGupta(),
    ],
    ids=repr,
)
def test_whoever_stops_early_says_how_much_may_be_missing(search):
    for kind in ("antidiagonal", "hyperbola", "integer", "unviolated"):
        h, g = random_clouds(kind, 100, seed=6)
        problem = clouds_of(h, g, SLACK, search)
        best = best_psi(h, g, SLACK)
        for _ in range(2):
            losses, bounds = problem.losses(problem.weights)
            assert (losses <= best * (1.0 + 1e-9)).all()
            assert (bounds >= best * (1.0 - 1e-9)).all()
        if isinstance(search, Angular) and search.tol:
            assert (losses * (1.0 + search.tol) >= best * (1.0 - 1e-9)).all()


# -- calls ---------------------------------------------------------------------------------------


def calls_of_each(h, g, search):
    counts = []
    for cloud in zip(h, g, strict=True):
        problem = clouds_of(*([values] for values in cloud), SLACK, search)
        problem.losses(problem.weights)
        counts.append(problem.n_oracle_calls)
    return np.array(counts)


@pytest.mark.parametrize("kind", CLOUDS)
def test_calls_are_bounded_by_the_number_of_outputs(kind):
    h, g = random_clouds(kind, 100, seed=7)
    pairs = list(zip(h, g, strict=True))
    corners = np.array([len(hull_corners(*cloud)) for cloud in pairs])
    assert (calls_of_each(h, g, ON_HULL) <= corners + 1).all()
    positive = np.array([np.sum((x > -1.0) & (y > 0.0)) for x, y in pairs])
    assert (calls_of_each(h, g, Angular()) <= 2 * positive + 1).all()


def test_mean_calls_are_those_of_the_table():
    h, g = random_clouds("gauss", 300, seed=8)
    calls = {
        search.name: search_record(h, g, SLACK, search, compile=search is not ON_HULL).calls
        for search in (SarawagiGupta(), BinarySearch(), Bisecting(), Angular(), ON_HULL)
    }
    assert calls["hull"] < 3.5
    assert calls["angular"] < 4.0
    assert 10.0 < calls["bisecting"] < 20.0
    assert 10.0 < calls["binary"] < 30.0
    assert 15.0 < calls["sarawagi"] < 35.0
    exact = search_record(h, g, SLACK, BY_LIST)
    assert exact.missed == 0.0
    assert exact.calls < 4.0
    assert exact.warm_calls < 1.7


# -- from pass to pass ---------------------------------------------------------------------------


@pytest.mark.parametrize("search", [Angular(), BY_LIST, Bisecting(), ON_HULL], ids=repr)
def test_a_warm_start_changes_calls_only(search, rng):
    h, g = random_clouds("gauss", 200, seed=9)
    warm = clouds_of(h, g, SLACK, search)
    for step in range(4):
        w = warm.weights + 0.05 * step * rng.normal(size=warm.n_weights)
        cold = clouds_of(h, g, SLACK, search)
        found, expected = warm.losses(w), cold.losses(w)
        if search is ON_HULL:  # an output under the hull may be remembered, and is as good
            assert (found[0] >= expected[0] * (1.0 - 1e-9)).all()
        else:
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)
    warm.n_oracle_calls = 0
    warm.losses(w)
    assert warm.n_oracle_calls <= cold.n_oracle_calls


def test_an_unchanged_hull_takes_one_call():
    h, g = random_clouds("gauss", 200, seed=10)
    assert search_record(h, g, SLACK, ON_HULL, compile=False).warm_calls == 1.0


@pytest.mark.parametrize("search", [SEARCHES[name]() for name in SEARCHES], ids=repr)
def test_zeros_forget_everything(search):
    h, g = random_clouds("integer", 50, seed=11)
    problem = cloud_problem(h, g, SLACK, search, compile=False)
    first = problem.losses(problem.weights)
    calls = problem.n_oracle_calls
    problem.forget()
    problem.n_oracle_calls = 0
    second = problem.losses(problem.weights)
    assert problem.n_oracle_calls == calls
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_without_warm_start_nothing_is_kept():
    h, g = random_clouds("gauss", 50, seed=12)
    problem = cloud_problem(h, g, SLACK, ConvexHull(fallback="k_best", warm=False), compile=False)
    for _ in range(2):
        problem.n_oracle_calls = 0
        problem.losses(problem.weights)
        assert problem.n_oracle_calls > 2.5 * len(h)


# -- compiled and in Python ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "search", [Angular(), BY_LIST, BY_LEVEL, Bisecting(), SarawagiGupta()], ids=repr
)
def test_python_and_compiled_code_agree(search):
    h, g = random_clouds("integer", 40, seed=13)
    plain, fast = (cloud_problem(h, g, SLACK, search, compile=flag) for flag in (False, True))
    for _ in range(2):
        for a, b in zip(plain.losses(plain.weights), fast.losses(fast.weights), strict=True):
            np.testing.assert_array_equal(a, b)
        assert plain.n_oracle_calls == fast.n_oracle_calls


def test_outputs_may_be_objects(rng):
    problem = tiny_problem("user", surrogate="slack", search="hull")
    structure = problem.view.data.structure
    for _ in range(5):
        w = rng.normal(size=problem.n_weights)
        losses, bounds = problem.losses(w)
        for i, x in enumerate(problem.view.data.X):
            truth = problem.truths[i].value
            scores = w.reshape(structure.n_classes, -1) @ x
            price = [structure.cost(y, truth) for y in structure.outputs(x)]
            best = max((1.0 + scores - scores[truth]) * price)
            assert losses[i] <= best + 1e-12
            assert max(bounds[i], 0.0) >= best - 1e-9


# -- Sarawagi and Gupta --------------------------------------------------------------------------


def test_a_known_slack_sets_what_is_looked_for():
    h, g = random_clouds("gauss", 200, seed=14)
    problem = cloud_problem(h, g, SLACK, SarawagiGupta(), compile=False)
    desk, best = problem.desk(), best_psi(h, g, SLACK)
    n_violated = n_found = 0
    for i in range(len(h)):
        potentials(problem.view.data, i, problem.weights, 1.0, desk.theta)
        for share in (0.5, 0.9):
            desk.slack[0] = share * best[i]
            value, slope, error, bound = find(problem.view.search, problem.view, i, desk, desk.y, 0)
            assert value <= best[i] * (1.0 + 1e-9) <= bound * (1.0 + 2e-9)
            if value > 0.0:
                assert value == psi(SLACK.compiled(), error, slope)[0]  # the slope is g
            n_violated += best[i] > 0.0
            n_found += value > desk.slack[0]
    assert n_found >= 0.97 * n_violated


# -- what is said in advance ---------------------------------------------------------------------


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_says_what_it_is(name):
    search = SEARCHES[name]()
    assert search.name == name
    assert search.needs <= {"weighted", "k_best", "constrained", "profile"}
    assert search.surrogates in ("any", "slack")
    assert SEARCHES[name](**search.parameters()) == search


def test_which_searches_are_exact_and_which_need_a_slack():
    exact = {"profile": 1, "hull": 1, "angular": 1, "bisecting": 0, "binary": 0, "sarawagi": 0}
    for name, is_exact in exact.items():
        search = SEARCHES[name]()
        assert search.is_exact == is_exact and search.needs_slack == (name == "sarawagi")


def test_the_fallback_follows_the_oracles():
    h, g = random_clouds("integer", 3)
    kinds = {
        without: type(cloud_problem(h, g, SLACK, ConvexHull(), without=without).view.search)
        for without in ((), ("profile",), ("profile", "k_best"))
    }
    assert [kind.__name__ for kind in kinds.values()] == [
        "HullThenProfile",
        "HullThenList",
        "HullSearch",
    ]
    assert ConvexHull(fallback="profile").needs == {"weighted", "profile"}
    assert ConvexHull(fallback="profile", integral=False).needs == {"weighted"}
    assert not ON_HULL.is_exact
    assert not Angular(tol=0.1).is_exact


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ConvexHull(fallback="guess"),
            "fallback must be 'auto', 'profile', 'forb",
        ),
        (lambda: ConvexHull(max_calls=1), "max_calls must be an integer >= 2, got 1"),
        (lambda: ConvexHull(max_k=2.5), "max_k must be an integer >= 1, got 2.5"),
        (lambda: Angular(tol=-1.0), "tol must be a number >= 0, got -1.0"),
        (lambda: Angular(tol=math.nan), "tol must be a number >= 0, got nan"),
        (lambda: Bisecting(rtol="fine"), "rtol must be a number >= 0, got 'fine'"),
        (lambda: BinarySearch(max_calls=True), "max_calls must be an integer >= 1, got True"),
        (lambda: SarawagiGupta(max_calls=1), "max_calls must be an integer >= 2, got 1"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()
