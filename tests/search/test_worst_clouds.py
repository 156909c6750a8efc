"""Clouds that are as bad as can be: what searches miss, and how many calls they take, as proved."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.search import Angular, BinarySearch, Bisecting, ConvexHull, Profile
from maxmargin.search.trace import trace_search
from maxmargin.surrogates import SlackRescaling
from maxmargin.testing import cloud_problem
from maxmargin.testing.clouds import random_clouds, search_record
from maxmargin.testing.worst_clouds import adversarial_cloud, hidden_cloud, oscillating_cloud

#: Searches that ask weighted queries only.
PLAIN = [
    Bisecting(warm=False),
    BinarySearch(warm=False),
    ConvexHull(integral=False, warm=False),
]
EXACT = [Angular(warm=False), Profile(), ConvexHull(warm=False)]


def traced(cloud, search):
    h, g = cloud
    problem = cloud_problem([h], [g], SlackRescaling(), search, compile=False)
    return trace_search(problem, 0, problem.weights)


@pytest.mark.parametrize("eps", [0.1, 1e-3, 1e-6])
@pytest.mark.parametrize("search", PLAIN, ids=repr)
def test_weighted_queries_never_find_what_is_hidden(search, eps):
    height, width = 3.0, 5.0
    h, g = hidden_cloud(eps, height, width)
    for tilt in np.geomspace(1e-9, 1e9, 301):
        assert np.argmax(h + tilt * g) != 2
    trace = traced((h, g), search)
    # Not more than a share of eps of the largest, but the bound knows.
    assert trace.psi <= eps * max(height, width) * (1.0 + 1e-6)
    assert trace.bound >= height * width / 4.0


@pytest.mark.parametrize("search", EXACT, ids=repr)
def test_stronger_oracles_find_it(search):
    trace = traced(hidden_cloud(1e-6, 3.0, 5.0), search)
    assert trace.psi == pytest.approx(15.0 / 4.0, rel=1e-12)
    assert trace.bound == pytest.approx(trace.psi, rel=1e-9)


@pytest.mark.parametrize("tilt", [1.0 / np.sqrt(3.0), 7.3])
def test_halving_oscillates_where_the_hull_search_asks_at_once(tilt):
    halving, hull = [], []
    for eps in (1e-2, 1e-4, 1e-6):
        cloud = oscillating_cloud(eps, tilt)
        largest = float(((1.0 + cloud[0]) * cloud[1]).max())
        for calls, search in ((halving, Bisecting(warm=False)), (hull, PLAIN[2])):
            trace = traced(cloud, search)
            assert trace.psi == pytest.approx(largest, rel=1e-12)
            calls.append(trace.n_calls)
    # Each tilt but those within eps of the right one finds one end or the other: a call per bit.
    assert halving[1] >= halving[0] + 5 and halving[2] >= halving[1] + 5
    assert max(hull) <= 4


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_an_adversary_makes_the_angular_search_see_every_point(n):
    search = Angular(warm=False)
    h, g = adversarial_cloud(search, n)
    trace = traced((h, g), search)
    values = (1.0 + h) * g
    assert len(h) == n and trace.psi == values.max()
    assert n <= trace.n_calls <= 2 * n + 1  # the upper bound is that of Theorem 2
    # The best is the last point that it sees, and each before is better than those before it.
    assert np.argmax(values) == n - 1 and (np.diff(values) > 0.0).all()
    # No point is seen before the one that the adversary put there in answer.
    found = [query.psi for query in trace.queries if np.isfinite(query.psi)]
    assert list(dict.fromkeys(found)) == pytest.approx(values[: len(set(found))].tolist())


def test_clouds_that_are_drawn_are_nowhere_near():
    clouds = random_clouds("gauss", 30, most=9)
    record = search_record(*clouds, SlackRescaling(), Angular(warm=False), compile=False)
    assert record.missed == 0.0 and record.calls < 5.0


def test_a_search_that_does_not_see_ends_the_game():
    h, _ = adversarial_cloud(Profile(), 4)
    assert len(h) == 1  # a profile knows all points at once
