"""Message passing as methods: brackets, limits, callbacks, and constraints without an answer."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.answer import Options
from maxmargin.inference.graph.factors import CustomFactor
from maxmargin.inference.graph.passing import by_branch, by_srmp
from tests.graphs import RULES, all_scores, random_graph, run_times

METHODS = {"srmp": by_srmp, "branch": by_branch}
N_GRAPHS = run_times(200, 4)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("time_limit", [None, 60.0])
def test_answers_bracket_the_optimum(name, time_limit, rng):
    n_exact = 0
    for _ in range(N_GRAPHS):
        graph = random_graph(rng, forbidden=0.15, rules=RULES)
        best = all_scores(graph).max(initial=-np.inf)
        answer = METHODS[name](graph, Options(time_limit=time_limit))
        assert answer.method == name
        assert answer.score <= best + 1e-8 <= answer.bound + 2e-8
        if answer.labels is None:
            assert answer.score == -np.inf
        else:
            assert graph.score(answer.labels) == answer.score
        if answer.is_exact:
            assert answer.bound == pytest.approx(best, abs=1e-7)
            assert answer.score == pytest.approx(best, abs=1e-7)
        n_exact += answer.is_exact
    assert n_exact >= (N_GRAPHS if name == "branch" else 0.8 * N_GRAPHS)


@pytest.mark.parametrize("name", METHODS)
def test_callbacks_hear_of_bounds_that_fall_and_scores_that_rise(name, rng):
    heard = []
    graph = FactorGraph(
        rng.normal(size=(9, 3)),
        [(a, b) for a in range(9) for b in range(a)],
        rng.normal(size=(36, 3, 3)),
    )
    answer = METHODS[name](graph, Options(callback=lambda *news: heard.append(news), most_nodes=50))
    counts, bounds, scores = zip(*heard, strict=True)
    assert len(heard) > 1
    assert (np.diff(counts) >= 0).all()
    assert (np.diff(bounds) <= 1e-9).all()
    assert (np.diff(scores) >= 0).all()
    assert (answer.n_iterations, answer.bound, answer.score) == pytest.approx(heard[-1])


@pytest.mark.parametrize("name", METHODS)
def test_a_time_limit_ends_the_work(name, rng):
    graph = FactorGraph(
        rng.normal(size=(30, 6)),
        [(a, b) for a in range(30) for b in range(a)],
        3 * rng.normal(size=(435, 6, 6)),
    )
    options = Options(time_limit=0.0, tol=0.0, most_nodes=10_000, max_iter=4)
    answer = METHODS[name](graph, options)
    assert not answer.is_exact
    assert answer.n_iterations <= 4


class Spread(CustomFactor):
    """-weight times the distance between two labels."""

    def __init__(self, nodes, weight):
        self.nodes, self.weight = nodes, weight

    def numbers(self):
        return np.array([self.weight])

    @staticmethod
    def message(numbers, at, member, incoming, out):
        other = 1 - member
        for x in range(at[member + 1] - at[member]):
            out[x] = -np.inf
            for y in range(at[other + 1] - at[other]):
                out[x] = max(out[x], incoming[at[other] + y] - numbers[0] * abs(x - y))


def test_a_users_factor_goes_through_all_methods(rng):
    for _ in range(N_GRAPHS // 4):
        pairs = [(0, 1), (2, 1), (3, 2), (0, 3)]
        weights = rng.random(4)
        graph = FactorGraph(
            rng.normal(size=(4, 3)),
            factors=[Spread(p, w) for p, w in zip(pairs, weights, strict=True)],
        )
        far = -np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
        same = FactorGraph(
            graph.unary.reshape(4, 3), pairs, weights[:, None, None] * far.astype(float)
        )
        np.testing.assert_allclose(all_scores(graph), all_scores(same), atol=1e-12)
        answer = by_branch(graph)
        assert answer.is_exact
        assert answer.score == pytest.approx(all_scores(same).max())
