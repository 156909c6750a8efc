"""Factor graphs as programmes: against enumeration, the local polytope, and each other."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.answer import Options
from maxmargin.inference.graph.factors import CustomFactor, Table
from maxmargin.inference.programs.graphs import GraphProgram
from maxmargin.inference.programs.methods import ilp, lp
from tests.graphs import RULES, all_scores, random_graph

CASES = {
    "tables": {},
    "forbidden": {"forbidden": 0.3, "most_order": 4, "most_nodes": 5, "most_labels": 3},
    "ties": {"is_whole": True, "forbidden": 0.1},
    "rules": {"rules": RULES, "is_whole": True, "forbidden": 0.05},
    "strong": {"scale": 1e4, "rules": RULES},
}


def graphs(rng, case, count):
    for _ in range(count):
        graph = random_graph(rng, **CASES[case])
        yield graph, all_scores(graph).max(initial=-np.inf)


def size_of(graph):
    finite = np.concatenate([graph.unary, graph.tables])
    return 1.0 + np.abs(finite[np.isfinite(finite)]).max(initial=0.0) * (1 + graph.n_factors)


@pytest.mark.parametrize("case", CASES)
def test_integer_programme_finds_the_best(case, rng):
    n_infeasible = 0
    for graph, best in graphs(rng, case, 60):
        found = GraphProgram(graph.shape, integral=True).solve(graph.unary, graph.tables)
        if best == -np.inf:
            assert found[2:] == (None, -np.inf, -np.inf, "infeasible")
            n_infeasible += 1
            continue
        assert found.status == "optimal"
        assert found.value == graph.score(found.labels) == found.bound
        assert found.value >= best - 1e-8 * size_of(graph)
    assert n_infeasible < 50


@pytest.mark.parametrize("case", CASES)
def test_linear_programme_is_a_bound_and_a_point_of_the_polytope(case, rng):
    n_fractional = 0
    for graph, best in graphs(rng, case, 60):
        close = 1e-8 * size_of(graph)
        found = GraphProgram(graph.shape, integral=False).solve(graph.unary, graph.tables)
        if found.status == "infeasible":
            assert best == -np.inf == found.bound
            continue
        assert found.bound >= best - 1e-9 * size_of(graph)
        # The bound comes from the duals alone, the value from the point alone.
        assert abs(found.bound - found.value) <= close
        assert found.value == pytest.approx(product(graph, found), abs=close)
        check_consistent(graph, found)
        n_fractional += (np.abs(found.unary - 0.5) < 0.49).any()
    if case in ("tables", "ties"):
        assert n_fractional > 2


def product(graph, point):
    """Return <potentials, mu>, where 0 times -inf is 0."""
    theta = np.concatenate([graph.unary, graph.tables])
    mu = np.concatenate([point.unary, point.tables])
    return theta[mu > 0.0] @ mu[mu > 0.0]


def check_consistent(graph, point):
    """Tables of mu must have mu of their nodes as margins."""
    shape = graph.shape
    for v in range(graph.n_nodes):
        own = point.unary[shape.unary_at[v] : shape.unary_at[v + 1]]
        assert own.min() >= 0.0
        assert own.sum() == pytest.approx(1.0, abs=1e-8)
    for f in np.flatnonzero(shape.kinds == 0):
        nodes = shape.members[shape.member_at[f] : shape.member_at[f + 1]]
        sizes = shape.n_labels[nodes]
        table = point.tables[shape.table_at[f] :][: sizes.prod()].reshape(sizes)
        assert table.min() >= 0.0
        for axis, v in enumerate(nodes):
            margin = table.sum(axis=tuple(a for a in range(len(nodes)) if a != axis))
            own = point.unary[shape.unary_at[v] : shape.unary_at[v + 1]]
            np.testing.assert_allclose(margin, own, atol=1e-7)


@pytest.mark.parametrize("rule", RULES)
def test_one_factor_alone_is_described_exactly(rule, rng):
    for _ in range(25):
        graph = random_graph(rng, 4, n_factors=1, most_order=4, most_labels=3, rules=(rule,))
        found = GraphProgram(graph.shape, integral=False).solve(graph.unary, graph.tables)
        best = all_scores(graph).max()
        if best == -np.inf:
            assert found.status == "infeasible"
        else:
            assert found.value == pytest.approx(best, abs=1e-7)


def test_programmes_are_kept_between_calls(rng):
    graph = random_graph(rng, 6, n_factors=9, rules=RULES, is_whole=True)
    linear, integer = GraphProgram(graph.shape, False), GraphProgram(graph.shape, True)
    finite = np.isfinite(graph.tables)
    for number in range(12):
        unary = rng.normal(size=graph.unary.shape)
        unary[rng.random(len(unary)) < 0.15] = -np.inf
        tables = np.where(finite, graph.tables + number, graph.tables)
        if number == 6:
            linear, integer = pickle.loads(pickle.dumps((linear, integer)))
        for kept in (linear, integer):
            fresh = GraphProgram(graph.shape, kept.integral).solve(unary, tables)
            again = kept.solve(unary, tables)
            assert again.status == fresh.status
            assert again.value == pytest.approx(fresh.value, abs=1e-7)
            assert again.bound == pytest.approx(fresh.bound, abs=1e-7)


def test_a_table_that_edges_share_has_the_sum_of_their_uses():
    graph = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2)], np.eye(2))
    shape = graph.shape._replace(table_at=np.zeros(2, dtype=np.int64))
    found = GraphProgram(shape, integral=False).solve(np.array([1.0, 0] * 3), np.eye(2).ravel())
    np.testing.assert_allclose(found.tables, [2.0, 0.0, 0.0, 0.0], atol=1e-9)
    assert found.value == pytest.approx(5.0)


def test_a_time_limit_leaves_a_bound(rng):
    edges = [(a, b) for a in range(14) for b in range(a)]
    graph = FactorGraph(rng.normal(size=(14, 5)), edges, rng.normal(size=(len(edges), 5, 5)))
    start = np.zeros(14, dtype=np.int32)
    found = GraphProgram(graph.shape, True).solve(graph.unary, graph.tables, 0.0, start)
    assert found.status == "time_limit"
    assert graph.score(start) <= found.value == graph.score(found.labels) <= found.bound
    found = GraphProgram(graph.shape, False).solve(graph.unary, graph.tables, 0.0)
    assert found.status == "time_limit"
    assert found.unary is None
    assert graph.score(start) <= found.bound < np.inf
    for method in (lp, ilp):
        answer = method(graph, Options(time_limit=0.0))
        assert -np.inf < answer.score == graph.score(answer.labels) <= answer.bound < np.inf


def test_each_call_has_the_whole_time_limit():
    # The clock of linear programmes in HiGHS goes on from call to call.
    rng = np.random.default_rng(0)
    edges = [(a, b) for a in range(9) for b in range(a)]
    graph = FactorGraph(rng.normal(size=(9, 4)), edges, rng.normal(size=(len(edges), 4, 4)))
    program = GraphProgram(graph.shape, integral=False)
    program._highs.getRunTime = lambda: 1e6  # as after a long call
    assert program.solve(graph.unary, graph.tables, 60.0).status == "optimal"
    assert program._highs.getOptionValue("time_limit")[1] == 1e6 + 60.0


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", [lp, ilp])
def test_methods_bracket_the_optimum(case, method, rng):
    for graph, best in graphs(rng, case, 25):
        close = 1e-8 * size_of(graph)
        answer = method(graph, Options())
        assert answer.score <= best + close
        assert answer.bound >= best - close
        if answer.labels is not None:
            assert graph.score(answer.labels) == answer.score
        if answer.is_exact or method is ilp:
            assert answer.is_exact
            assert answer.score == best or answer.score >= best - 10 * close


def test_all_different_on_an_odd_cycle_of_two_labels():
    table = np.where(np.eye(2) > 0, -np.inf, 0.0)
    graph = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2), (2, 0)], table)
    relaxed = lp(graph, Options())
    assert (relaxed.labels, relaxed.score, relaxed.is_exact) == (None, -np.inf, False)
    assert relaxed.bound == pytest.approx(0.0, abs=1e-9)
    assert ilp(graph, Options())[:4] == (None, -np.inf, -np.inf, True)


def test_a_graph_without_nodes():
    graph = FactorGraph([])
    for method in (lp, ilp):
        answer = method(graph, Options())
        assert answer[1:4] == (0.0, 0.0, True)
        assert answer.labels.shape == (0,)


class Any(CustomFactor):
    nodes = (0, 1)

    @staticmethod
    def message(numbers, at, member, incoming, out):
        out[:] = 0.0


def test_what_has_no_programme_is_refused_by_name(monkeypatch):
    with pytest.raises(ValueError, match="factor 0 is of kind 'custom'"):
        lp(FactorGraph(np.zeros((2, 2)), factors=[Any()]), Options())
    monkeypatch.setattr("maxmargin.inference.programs.hulls.MOST_COLUMNS", 100)
    graph = FactorGraph(np.zeros((3, 5)), factors=[Table((0, 1, 2), np.zeros((5, 5, 5)))])
    with pytest.raises(ValueError, match="over 100 columns"):
        lp(graph, Options())
