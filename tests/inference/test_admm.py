"""ADMM: the quadratic problem of a factor, points of the local polytope, bounds, limits."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.inference import FactorGraph, solve_graph
from maxmargin.inference.graph.active_set import best_distribution
from maxmargin.inference.graph.admm import admm, admm_room
from maxmargin.inference.graph.answer import Options
from maxmargin.inference.graph.dense import dense_graph
from maxmargin.inference.graph.splitting import admm_point, by_admm
from tests.graphs import RULES, all_scores, random_graph, run_times
from tests.inference.test_relaxed import check_point, relaxation

N_GRAPHS = run_times(120, 12)


def check_optimal(sizes, scores, support, mass, marginals):
    """All derivatives are at most that on the support: the problem is concave."""
    assert mass.min() >= -1e-12
    assert mass.sum() == pytest.approx(1.0, abs=1e-9)
    p = np.zeros(len(scores))
    np.add.at(p, support, mass)
    p = p.reshape(sizes)
    axes = range(len(sizes))
    sums = [p.sum(axis=tuple(a for a in axes if a != axis)) for axis in axes]
    np.testing.assert_allclose(marginals[: sum(sizes)], np.concatenate(sums), atol=1e-9)
    slope = scores.reshape(sizes).copy()
    for axis, own in enumerate(sums):
        slope -= own.reshape([-1 if a == axis else 1 for a in axes])
    used = slope.ravel()[support[mass > 1e-9]]
    np.testing.assert_allclose(used, slope.max(), atol=1e-7)


def test_the_distribution_of_a_factor_is_optimal(rng):
    for _ in range(run_times(400, 60)):
        order = int(rng.integers(1, 5))
        sizes = rng.integers(1, 4, order)
        n_cells, most = int(sizes.prod()), int(sizes.sum()) - order + 2
        support, mass = np.zeros(most, dtype=np.int64), np.zeros(most)
        room, marginals = (np.zeros((most + 1, most + 1)), np.zeros(most + 1)), np.zeros(12)
        scale = 10.0 ** rng.integers(-2, 3)
        scores = scale * rng.normal(size=n_cells)
        if rng.random() < 0.5:
            scores = np.round(scores)
        scores[rng.random(n_cells) < 0.2] = -np.inf
        if scores.max() == -np.inf:
            continue
        support[0], mass[0], n = scores.argmax(), 1.0, 1
        # From one cell, and again from the support of other scores.
        for _ in range(4):
            n = best_distribution(sizes, order, scores, n_cells, support, mass, n, room, marginals)
            check_optimal(sizes, scores, support[:n], mass[:n], marginals)
            scores = scores + 0.3 * rng.normal(size=n_cells)


def test_points_are_the_optimum_of_the_relaxation(rng):
    n_loose = 0
    for k in range(N_GRAPHS // 2):
        graph = dense(rng, 6, 3)
        if k % 2:
            n_factors = int(rng.integers(6, 13))
            graph = random_graph(rng, 6, n_factors=n_factors, most_labels=3, scale=2.0)
        point = admm_point(graph, Options(tol=1e-7, max_iter=run_times(3000, 300)))
        check_point(graph, point)
        best = relaxation(graph)
        assert point.value <= best + 1e-7 * (1 + abs(best)) <= point.bound + 2e-7 * (1 + abs(best))
        assert point.bound - point.value <= run_times(1e-5, 1e-2) * (1 + abs(best))
        assert point.score == graph.score(point.labels) <= point.value + 1e-9
        n_loose += not point.is_integral
    assert n_loose > 0


@pytest.mark.parametrize("forbidden", [0.0, 0.2])
def test_points_of_graphs_with_rules(forbidden, rng):
    for _ in range(N_GRAPHS):
        graph = random_graph(
            rng, forbidden=forbidden, rules=RULES, most_labels=3, is_whole=rng.random() < 0.5
        )
        best = all_scores(graph).max(initial=-np.inf)
        point = admm_point(graph, Options(max_iter=100))
        assert best <= point.bound + 1e-8
        assert point.value <= point.bound
        if point.value > -np.inf:
            check_point(dense_graph(graph), point)
        answer = by_admm(graph, Options(max_iter=100))
        assert (answer.score, answer.bound) == (point.score, point.bound)
        assert answer.score <= best + 1e-9
        if answer.is_exact:
            assert answer.score == pytest.approx(best, abs=1e-7)


def dense(rng, n_nodes=9, n_labels=3):
    edges = [(a, b) for a in range(n_nodes) for b in range(a)]
    tables = rng.normal(size=(len(edges), n_labels, n_labels))
    return FactorGraph(rng.normal(size=(n_nodes, n_labels)), edges, tables)


def test_a_run_may_be_taken_up_again(rng):
    graph = dense(rng)
    given = graph.shape, graph.unary, graph.tables
    found = []
    for parts in ((60,), (20, 30, 10)):
        room, messages = admm_room(graph.shape), np.zeros(int(graph.shape.message_at[-1]))
        nodes, factors = np.zeros_like(room.nodes), np.zeros_like(room.factors)
        step = 0.0
        for n in parts:
            *_, step = admm(*given, messages, step, n, 0.0, room, nodes, factors)
        found.append((messages, step))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-9)
    assert found[0][1] == found[1][1]


def test_limits_and_callbacks(rng):
    graph = dense(rng, 8)
    heard = []
    long = solve_graph(graph, "admm", callback=lambda *news: heard.append(news), max_iter=60)
    counts, bounds, scores = zip(*heard, strict=True)
    assert len(heard) > 1
    assert (np.diff(counts) > 0).all()
    assert (np.diff(bounds) <= 1e-9).all()
    assert max(scores) <= long.score <= long.bound <= min(bounds) + 1e-9
    short = solve_graph(graph, "admm", time_limit=0.0)
    assert short.score <= long.bound + 1e-9
    assert short.n_iterations < 500


def test_edge_cases():
    nothing = by_admm(FactorGraph([[0.0, -np.inf], [-np.inf, -np.inf]], [(0, 1)], np.eye(2)))
    assert (nothing.labels, nothing.bound, nothing.is_exact) == (None, -np.inf, True)
    # Odd cycle of differences: half of each label is a point, and there is no labelling.
    apart = np.where(np.eye(2) > 0, -np.inf, 0.0)
    cycle = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2), (2, 0)], apart)
    point = admm_point(cycle)
    assert (point.score, point.value) == (-np.inf, 0.0)
    assert point.bound == pytest.approx(0.0, abs=1e-9)
    # Nodes without factors, and with one label.
    graph = FactorGraph([[1.0, 3.0], [2.0], [0.0, 1.0]], [(1, 2)], [[[0.0, 5.0]]])
    answer = by_admm(graph)
    assert (answer.labels.tolist(), answer.score, answer.is_exact) == ([1, 0, 1], 11.0, True)
