"""The front door of factor graphs: every method brackets the truth, and `auto` finds it."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from maxmargin.inference import (
    FactorGraph,
    graph_marginals,
    graph_max_marginals,
    graph_profile,
    k_best_graph,
    solve_graph,
)
from maxmargin.inference.graph import marginals
from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.auto import _better
from maxmargin.inference.graph.factors import AtMostOne, Implies, Table
from maxmargin.inference.graph.public import METHODS
from tests.graphs import RULES, random_graph, run_times
from tests.listed_graphs import check_k_best, listed

EXACT = ("auto", "forest", "acyclic", "junction", "cut", "ilp")


def random_cases(rng, n_draws):
    for _ in range(n_draws):
        is_binary, is_crowded = rng.random() < 0.5, rng.random() < 0.3
        yield listed(
            random_graph(
                rng,
                # With many factors per node relaxations are not tight.
                5 if is_crowded else None,
                n_factors=int(rng.integers(8, 16)) if is_crowded else None,
                most_nodes=5,
                most_order=2 if is_binary else 4,
                most_labels=2 if is_binary else 3,
                rules=RULES if rng.random() < 0.4 else (),
                forbidden=rng.choice([0.0, 0.1, 0.3]),
                is_whole=rng.random() < 0.5,
            )
        )


def test_every_method_brackets_the_best_score(rng):
    answered, loose = set(), set()
    for case in random_cases(rng, run_times(300, 25)):
        for method in METHODS:
            try:
                # With few cells allowed, "auto" goes beyond junction trees.
                cells = {"most_cells": int(rng.choice([1, 30, 10**6]))} if method == "auto" else {}
                answer = solve_graph(case.graph, method, **cells)
            except ValueError:
                continue  # the method is for other graphs
            answered.add(method)
            if not answer.is_exact:
                loose.add(method)
            check_answer(case, answer)
            assert answer.is_exact or method not in EXACT
    assert answered == set(METHODS)
    assert {"loopy", "local", "expansion", "qp"} <= loose


def check_answer(case, answer):
    close = 1e-7 * (1.0 + abs(case.best))
    assert answer.bound >= case.best - close
    if answer.labels is None:
        assert answer.score == -np.inf
        assert answer.is_exact == (answer.bound == -np.inf)
    else:
        assert answer.labels.dtype == np.int32
        assert answer.score == pytest.approx(case.graph.score(answer.labels))
        assert answer.score <= answer.bound
        assert not answer.is_exact or answer.score >= case.best - close


def test_k_best_marginals_and_max_marginals(rng):
    for case in random_cases(rng, run_times(60, 10)):
        graph = case.graph
        for most_cells in (10**6, 1):
            answers = k_best_graph(graph, 4, most_cells=most_cells)
            others = np.sort(case.scores)[::-1][4:]
            best = others.max(initial=-np.inf)
            assert answers.bound >= best - 1e-7
            # Where nothing else is allowed, the list says so.
            assert (answers.bound > -np.inf) or best == -np.inf
            assert (answers.bound == -np.inf) or len(answers) == 4
            labels = np.array([answer.labels for answer in answers]).reshape(
                len(answers), graph.n_nodes
            )
            scores = np.array([answer.score for answer in answers])
            check_k_best(case, 4, labels, scores, len(answers))
            assert all(answer.is_exact for answer in answers)
        found = graph_max_marginals(graph)
        np.testing.assert_allclose(np.concatenate([[], *found]), case.max_marginals(), atol=1e-7)
        node, factors, log_partition = case.marginals(0.7)
        found = graph_marginals(graph, 0.7)
        np.testing.assert_allclose(np.concatenate([[], *found.node]), node, atol=1e-9)
        assert found.log_partition == pytest.approx(log_partition)
        for table, true in zip(found.factor, factors, strict=True):
            np.testing.assert_allclose(table, true, atol=1e-9)


def test_profile_of_a_forest(rng):
    for _ in range(60):
        case = listed(random_graph(rng, most_order=2, is_forest=True, forbidden=0.1))
        reference = np.array([rng.integers(-1, k) for k in case.graph.shape.n_labels], dtype=int)
        wrong = ((case.outputs != reference) & (reference >= 0)).sum(axis=1)
        found = graph_profile(case.graph, reference)
        for level, score in enumerate(found.score):
            best = case.scores[wrong == level].max(initial=-np.inf)
            np.testing.assert_allclose(score, best, atol=1e-9)
            if best > -np.inf:
                assert case.graph.score(found.outputs[level]) == pytest.approx(best)


GRID = np.arange(64).reshape(8, 8)
GRID_EDGES = np.concatenate(
    [
        np.stack([a.ravel(), b.ravel()], 1)
        for a, b in ((GRID[:, 1:], GRID[:, :-1]), (GRID[1:], GRID[:-1]))
    ]
)


def test_auto_chooses_by_graph_and_potentials(rng):
    unary = rng.normal(size=(64, 2))
    path, triangle = [(0, 1), (2, 1)], [(0, 1), (1, 2), (2, 0)]
    triple = Table((0, 1, 2), rng.normal(size=(2, 2, 2)))
    mixed = rng.normal(size=(len(GRID_EDGES), 2, 2))
    for graph, method in [
        (FactorGraph(unary), "forest"),
        (FactorGraph(unary, path, np.eye(2)), "forest"),
        (FactorGraph(unary, factors=[triple]), "acyclic"),
        (FactorGraph(unary, factors=[AtMostOne((0, 1)), Implies((1, 2))]), "acyclic"),
        (FactorGraph(unary, GRID_EDGES, np.eye(2)), "cut"),
        (FactorGraph(unary, triangle, -np.eye(2)), "junction"),
        (FactorGraph(unary, GRID_EDGES, mixed), "junction"),
        (FactorGraph(rng.normal(size=(64, 3)), GRID_EDGES, np.eye(3)), "junction"),
    ]:
        answer = solve_graph(graph)
        assert (answer.method, answer.is_exact) == (method, True)
    answer = solve_graph(FactorGraph(rng.normal(size=(64, 3)), GRID_EDGES, np.eye(3)), most_cells=9)
    assert (answer.method, answer.is_exact) == ("srmp", True)


def test_roof_duality_and_the_rest_agree_with_a_junction_tree(rng):
    """Where the relaxation leaves nodes open they are solved alone, and the answer is the best."""
    methods = set()
    for scale in (0.1, 0.5, 2.0):
        for _ in range(4):
            graph = FactorGraph(
                scale * rng.normal(size=(64, 2)), GRID_EDGES, rng.normal(size=(112, 2, 2))
            )
            best = solve_graph(graph, "junction")
            relaxed = solve_graph(graph, "roof")
            assert relaxed.score <= best.score + 1e-9
            assert relaxed.bound >= best.score - 1e-9
            answer = solve_graph(graph, most_cells=20)
            methods.add(answer.method)
            assert answer.is_exact
            assert answer.score == pytest.approx(best.score)
    assert any(method.startswith("roof+") for method in methods)


def test_an_attractive_graph_with_implications_is_one_cut(rng):
    for _ in range(40):
        factors = [
            Implies(pair) for pair in itertools.combinations(range(6), 2) if rng.random() < 0.3
        ]
        unary = rng.normal(size=(6, 2))
        unary[rng.random((6, 2)) < 0.1] = -np.inf
        graph = FactorGraph(unary, [(0, 5), (1, 4)], np.eye(2), factors)
        answer = solve_graph(graph, "cut")
        check_answer(listed(graph), answer)
        assert answer.is_exact


def test_what_is_infeasible_is_said_so():
    """All different on an odd cycle of two labels: the relaxation has the value 0."""
    apart = np.where(np.eye(2) > 0, -np.inf, 0.0)
    cycle = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2), (2, 0)], apart)
    nothing = FactorGraph([[-np.inf, -np.inf]])
    for graph in (cycle, nothing):
        answer = solve_graph(graph)
        assert (answer.labels, answer.score, answer.bound) == (None, -np.inf, -np.inf)
        assert answer.is_exact
        assert k_best_graph(graph, 3) == []
        assert graph_marginals(graph).log_partition == -np.inf
    weaker = solve_graph(cycle, "srmp")
    assert (weaker.labels, weaker.score, weaker.bound, weaker.is_exact) == (
        None,
        -np.inf,
        0.0,
        False,
    )


def test_two_stages_that_found_nothing_prove_nothing():
    """Not even if the bound is finite: celar6sub0 was once said to have no labelling."""
    nothing = GraphAnswer(None, -np.inf, 3.0, False, "srmp", 2)
    assert not _better(nothing, nothing._replace(bound=2.0), Options()).is_exact
    proof = nothing._replace(bound=-np.inf, is_exact=True)
    assert _better(nothing, proof, Options()).is_exact
    labels = np.zeros(2, dtype=np.int32)
    some = _better(nothing, GraphAnswer(labels, 1.0, 2.0, False, "branch", 1), Options())
    assert some.labels is not None and some.bound == 2.0 and not some.is_exact


def test_graphs_of_no_nodes_and_of_one_label():
    for method in METHODS:
        answer = solve_graph(FactorGraph([]), method)
        assert (answer.labels.tolist(), answer.score, answer.is_exact) == ([], 0.0, True)
    graph = FactorGraph([[1.0], [2.0], [3.0]], [(0, 1), (1, 2), (2, 0)], [[0.5]])
    answer = solve_graph(graph)
    assert (answer.labels.tolist(), answer.score, answer.is_exact) == ([0, 0, 0], 7.5, True)
    assert graph_max_marginals(FactorGraph([])) == []
    assert len(k_best_graph(FactorGraph([]), 3)) == 1


@pytest.mark.parametrize("method", METHODS)
def test_graphs_without_edges_and_graphs_that_allow_nothing(method):
    answer = solve_graph(FactorGraph([[1.0, 3.0], [2.0, 0.5], [-1.0, -np.inf]]), method)
    assert (answer.labels.tolist(), answer.score, answer.bound) == ([1, 0, 0], 4.0, 4.0)
    assert answer.is_exact
    by_table = FactorGraph(np.zeros((3, 2)), [(0, 1)], np.full((2, 2), -np.inf))
    by_node = FactorGraph([[0.0, 0.0], [-np.inf, -np.inf]], [(0, 1)], np.eye(2))
    for graph in (by_table, by_node):
        answer = solve_graph(graph, method)
        assert (answer.labels, answer.score) == (None, -np.inf)
        assert answer.is_exact == (answer.bound == -np.inf)
        # Loopy belief propagation has no bound, and the quadratic relaxation a weak one.
        assert answer.is_exact or method in ("loopy", "qp")


def hard_graph(rng, n_labels):
    edges = list(itertools.combinations(range(24), 2))
    tables = 3.0 * rng.normal(size=(len(edges), n_labels, n_labels))
    return FactorGraph(rng.normal(size=(24, n_labels)), edges, tables)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_progress_is_heard(rng, n_labels):
    """Bounds fall and scores rise through all stages, in the numbers of the whole graph."""
    graph = hard_graph(rng, n_labels)
    heard = []
    answer = solve_graph(
        graph,
        most_cells=9,
        most_nodes=20,
        time_limit=0.3,
        callback=lambda *news: heard.append(news),
    )
    iterations, bounds, scores = np.array(heard).T
    assert (iterations >= 0).all()
    assert (np.diff(bounds) <= 0).all()
    assert (np.diff(scores) >= 0).all()
    assert (scores <= bounds).all()
    assert answer.score >= scores[-1] - 1e-9
    assert answer.bound <= bounds[-1] + 1e-9


def test_the_k_best_of_a_search_that_ended_bound_what_is_not_listed(rng):
    graph = hard_graph(rng, 4)
    found = k_best_graph(graph, 5, time_limit=0.0, most_cells=9)
    assert len(found) == 1 and not found[0].is_exact
    assert found.bound >= found[0].score
    apart = np.where(np.eye(3) > 0, -np.inf, 0.0)  # four nodes, all joined, three labels
    edges = list(itertools.combinations(range(4), 2))
    nothing = FactorGraph(np.zeros((4, 3)), edges, apart)
    found = k_best_graph(nothing, 5, time_limit=0.0, most_cells=9)
    assert found == [] and found.bound == 0.0  # not even that there is none is proved
    assert k_best_graph(nothing, 5, most_cells=9).bound == -np.inf


def test_each_function_names_methods_of_its_own_where_a_junction_tree_is_too_large(rng):
    graph = hard_graph(rng, 4)
    for ask, methods in (
        (lambda **how: solve_graph(graph, how.get("method", "junction"), time_limit=0.0), METHODS),
        (lambda **how: graph_marginals(graph, **how), marginals.METHODS),
        (lambda **how: graph_max_marginals(graph, **how), marginals.MAX_METHODS),
    ):
        with pytest.raises(ValueError, match=r"most_cells of .* raises the limit") as refusal:
            ask()
        named = [word.strip("'") for word in re.findall(r"'\w+'", str(refusal.value))]
        assert set(named) <= set(methods)
        for method in named:
            ask(method=method)


def test_time_is_kept(rng):
    answer = solve_graph(hard_graph(rng, 4), time_limit=0.0, most_cells=9)
    assert not answer.is_exact
    assert answer.method == "srmp"
    assert -np.inf < answer.score < answer.bound < np.inf


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"method": "best"}, ValueError, "'best'; expected one of 'auto', 'forest'"),
        ({"time_limit": -1.0}, ValueError, "time_limit must be finite and at least 0"),
        ({"time_limit": "1"}, TypeError, "time_limit must be a number"),
        ({"tol": np.nan}, ValueError, "tol"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"most_cells": 1.5}, TypeError, "most_cells must be a whole number"),
        ({"callback": 3}, TypeError, "callback"),
        ({"method": "forest"}, ValueError, "closes a cycle"),
        ({"method": "acyclic"}, ValueError, "cycle.*'junction'"),
        ({"method": "cut"}, ValueError, r"edge \(0, 1\) prefers.*'roof'"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, error, match):
    graph = FactorGraph(np.zeros((3, 2)), [(1, 0), (1, 2), (2, 0)], -np.eye(2))
    with pytest.raises(error, match=match):
        solve_graph(graph, **options)


def test_other_mistakes_are_refused():
    forest = FactorGraph(np.zeros((2, 2)), [(1, 0)], -np.eye(2))
    with pytest.raises(TypeError, match="FactorGraph, got list"):
        solve_graph([[0, 1]])
    with pytest.raises(ValueError, match="at most two labels"):
        solve_graph(FactorGraph(np.zeros((2, 3))), "roof")
    with pytest.raises(ValueError, match="k must be at least 1"):
        k_best_graph(forest, 0)
    with pytest.raises(ValueError, match="temperature"):
        graph_marginals(forest, 0.0)
    with pytest.raises(ValueError, match=r"reference\[0\] is 2"):
        graph_profile(forest, [2, 0])
    with pytest.raises(ValueError, match="one per node"):
        graph_profile(forest, [0])
    with pytest.raises(TypeError, match="integer"):
        graph_profile(forest, [0.5, 0.5])
