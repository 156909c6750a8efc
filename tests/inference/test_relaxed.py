"""Loopy belief propagation, smoothed ascent, projection: feasibility, values, bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.answer import Options
from maxmargin.inference.graph.dense import dense_graph
from maxmargin.inference.graph.factors import Cardinality, Table
from maxmargin.inference.graph.projection import cell_starts, point_value, project
from maxmargin.inference.graph.relaxed import by_loopy, by_smoothed, relaxed_point
from tests.graphs import RULES, all_labellings, all_scores, random_graph, run_times

N_GRAPHS = run_times(200, 4)


def check_point(graph, point):
    """All marginals fit together, are >= 0, and score what is said."""
    shape = graph.shape
    nodes = np.split(point.nodes, shape.unary_at[1:-1]) if graph.n_nodes else []
    assert (point.nodes >= 0).all()
    assert (point.factors >= 0).all()
    total = sum(mass @ own for mass, own in zip(*used(point.nodes, graph.unary), strict=True))
    for mu in nodes:
        assert mu.sum() == pytest.approx(1.0, abs=1e-12)
    for f in range(graph.n_factors):
        members = shape.members[shape.member_at[f] : shape.member_at[f + 1]]
        mu = point.factors[point.cell_at[f] : point.cell_at[f + 1]]
        table = graph.tables[shape.table_at[f] : shape.table_at[f] + len(mu)]
        total += sum(mass @ own for mass, own in zip(*used(mu, table), strict=True))
        mu = mu.reshape(shape.n_labels[members])
        for axis, v in enumerate(members):
            others = tuple(a for a in range(len(members)) if a != axis)
            np.testing.assert_allclose(mu.sum(axis=others), nodes[v], atol=1e-12)
    assert total == pytest.approx(point.value, abs=1e-9)


def used(mass, scores):
    return [mass[mass > 0]], [scores[mass > 0]]


def relaxation(graph):
    """Return the optimum of the linear programme over the local polytope."""
    shape, cell_at = graph.shape, cell_starts(graph.shape)
    n = len(graph.unary)
    scores, rows, right = [graph.unary], [], []
    for v in range(graph.n_nodes):
        row = np.zeros(n + cell_at[-1])
        row[shape.unary_at[v] : shape.unary_at[v + 1]] = 1.0
        rows.append(row)
        right.append(1.0)
    for f in range(graph.n_factors):
        slots = range(shape.member_at[f], shape.member_at[f + 1])
        sizes = [shape.n_labels[shape.members[s]] for s in slots]
        scores.append(graph.tables[shape.table_at[f] :][: np.prod(sizes)])
        index = np.indices(sizes).reshape(len(sizes), -1)
        for axis, s in enumerate(slots):
            for x in range(sizes[axis]):
                row = np.zeros(n + cell_at[-1])
                row[n + cell_at[f] + np.flatnonzero(index[axis] == x)] = 1.0
                row[shape.unary_at[shape.members[s]] + x] = -1.0
                rows.append(row)
                right.append(0.0)
    cost = -np.concatenate(scores)
    most = [(0, 0 if np.isinf(c) else 1) for c in cost]
    cost[np.isinf(cost)] = 0.0
    found = linprog(cost, A_eq=np.array(rows), b_eq=right, bounds=most)
    return -found.fun if found.status == 0 else -np.inf


def test_points_are_in_the_local_polytope_and_bracket_its_optimum(rng):
    gaps = []
    for _ in range(N_GRAPHS // 2):
        graph = random_graph(rng, 6, n_factors=int(rng.integers(4, 13)), most_labels=3, scale=2.0)
        point = relaxed_point(graph)
        check_point(graph, point)
        best = relaxation(graph)
        assert point.value <= best + 1e-7 <= point.bound + 2e-7
        assert point.score == graph.score(point.labels)
        assert point.score <= point.value
        gaps.append((point.bound - point.value) / (1 + abs(best)))
    assert np.mean(gaps) < 1e-3


@pytest.mark.parametrize("forbidden", [0.0, 0.2])
def test_points_of_graphs_with_rules(forbidden, rng):
    for _ in range(N_GRAPHS):
        graph = random_graph(rng, forbidden=forbidden, rules=RULES, most_labels=3)
        dense = dense_graph(graph)
        np.testing.assert_array_equal(all_scores(dense), all_scores(graph))
        best = all_scores(graph).max(initial=-np.inf)
        point = relaxed_point(graph)
        assert best <= point.bound + 1e-8
        assert point.value <= point.bound
        if point.value > -np.inf:
            check_point(dense, point)


@pytest.mark.parametrize("method", [by_smoothed, by_loopy])
def test_answers_bracket_the_optimum(method, rng):
    n_best = 0
    for _ in range(N_GRAPHS):
        graph = random_graph(rng, forbidden=0.1, rules=RULES)
        best = all_scores(graph).max(initial=-np.inf)
        answer = method(graph)
        assert answer.score <= best + 1e-9 <= answer.bound + 2e-9
        if answer.labels is not None:
            assert graph.score(answer.labels) == answer.score
        if answer.is_exact:
            assert answer.bound == pytest.approx(best, abs=1e-7)
            assert answer.score == pytest.approx(best, abs=1e-7)
        n_best += answer.score >= best - 1e-9
    assert n_best >= 0.8 * N_GRAPHS


def test_loopy_propagation_is_exact_without_cycles(rng):
    for _ in range(N_GRAPHS):
        graph = random_graph(
            rng, is_forest=True, forbidden=0.1, rules=RULES, most_nodes=7, most_labels=3
        )
        best = all_scores(graph).max(initial=-np.inf)
        answer = by_loopy(graph, Options(max_iter=30))
        assert answer.score == pytest.approx(best, abs=1e-9)


def test_limits_and_callbacks(rng):
    graph = FactorGraph(
        rng.normal(size=(9, 3)),
        [(a, b) for a in range(9) for b in range(a)],
        rng.normal(size=(36, 3, 3)),
    )
    for method in (by_smoothed, by_loopy):
        heard = []
        long = method(graph, Options(callback=lambda *news: heard.append(news)))  # noqa: B023
        counts, bounds, scores = zip(*heard, strict=True)
        assert len(heard) > 1
        assert (np.diff(counts) > 0).all()
        assert (np.diff(scores) >= 0).all()
        assert max(scores) <= long.score
        assert min(bounds) >= long.bound - 1e-9
        short = method(graph, Options(time_limit=0.0))
        assert short.score <= long.bound + 1e-9
        assert short.n_iterations < long.n_iterations or method is by_loopy


def test_any_marginals_extend_to_a_point(rng):
    for _ in range(N_GRAPHS):
        order = int(rng.integers(1, 5))
        sizes = rng.integers(1, 4, order)
        graph = FactorGraph(
            [rng.normal(size=k) for k in sizes],
            factors=[Table(np.arange(order), rng.normal(size=sizes))],
        )
        nodes = np.concatenate([rng.dirichlet(np.full(k, 0.3)) for k in sizes])
        factors = rng.random(int(np.prod(sizes))) ** 5
        factors /= factors.sum()
        factors[rng.random(len(factors)) < 0.3] = 0.0
        cell_at = cell_starts(graph.shape)
        project(graph.shape, cell_at, nodes, factors, np.zeros(graph.shape.message_at[-1]))
        value = point_value(graph.shape, graph.unary, graph.tables, cell_at, nodes, factors)
        point = relaxed_point(graph)._replace(nodes=nodes, factors=factors, value=value)
        check_point(graph, point)


def test_edge_cases():
    nothing = relaxed_point(FactorGraph([]))
    assert (nothing.value, nothing.bound) == (0.0, 0.0)
    none = FactorGraph([[0.0, -np.inf]], factors=[Table((0,), [-np.inf, 0.0])])
    assert relaxed_point(none).bound == -np.inf
    assert by_smoothed(none).labels is None
    assert by_smoothed(none).is_exact
    assert by_loopy(none).labels is None
    large = FactorGraph(np.zeros((30, 2)), factors=[Cardinality(range(30), np.zeros(31))])
    with pytest.raises(ValueError, match="factor 0 joins 30 nodes and has 1"):
        relaxed_point(large)
    assert by_loopy(large).score == 0.0
    assert len(all_labellings(FactorGraph([]))) == 1
