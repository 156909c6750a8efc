"""SRMP: bounds and labellings against the list of all labellings, compiled and uncompiled."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.bound import message_bound
from maxmargin.inference.graph.factors import Table
from maxmargin.inference.graph.srmp import srmp, srmp_room
from tests.graphs import RULES, all_scores, random_graph

CASES = {
    "tables": {},
    "forbidden": {"forbidden": 0.25, "most_order": 4, "most_nodes": 5, "most_labels": 3},
    "ties": {"is_whole": True, "forbidden": 0.1},
    "rules": {"rules": RULES, "is_whole": True, "forbidden": 0.05},
}


@pytest.fixture(params=["compiled", "python"])
def mode(request):
    """Calls kernels either way, with how many graphs."""
    if request.param == "compiled":
        return (lambda kernel, *arguments: kernel(*arguments)), 600
    return (lambda kernel, *arguments: kernel.py_func(*arguments)), 8


def solve(run, graph, n_iterations=300, tolerance=1e-10, messages=None):
    """Return bound, score, iterations, labels and messages."""
    if messages is None:
        messages = np.zeros(graph.shape.message_at[-1])
    labels = np.full(graph.n_nodes, -7, dtype=np.int32)
    room = srmp_room(graph.shape)
    for array in room[5:-1]:
        array[:] = np.nan  # nothing is read before it was written
    found = run(
        srmp,
        graph.shape,
        graph.unary,
        graph.tables,
        messages,
        n_iterations,
        tolerance,
        room,
        labels,
    )
    return *found, labels, messages


@pytest.mark.parametrize("case", CASES)
def test_bound_and_labelling_bracket_the_optimum(case, mode, rng):
    run, n_graphs = mode
    n_tight = 0
    for _ in range(n_graphs):
        graph = random_graph(rng, **CASES[case])
        best = all_scores(graph).max(initial=-np.inf)
        bound, score, _, labels, messages = solve(run, graph)
        assert score <= best + 1e-9 <= bound + 2e-9
        assert not np.isnan(messages).any()
        if bound > -np.inf:
            assert graph.score(labels) == score
            out = np.zeros(8)
            again = run(message_bound, graph.shape, graph.unary, graph.tables, messages, out)
            assert again == pytest.approx(bound, abs=1e-8)
        n_tight += bound <= best + 1e-7
    assert n_tight >= 0.8 * n_graphs


def test_acyclic_graphs_are_solved(mode, rng):
    run, n_graphs = mode
    for _ in range(n_graphs):
        graph = random_graph(
            rng, is_forest=True, forbidden=0.1, rules=RULES, most_nodes=7, most_labels=3
        )
        best = all_scores(graph).max(initial=-np.inf)
        bound, score, _, _, _ = solve(run, graph)
        assert score == pytest.approx(best, abs=1e-8)
        assert bound == pytest.approx(best, abs=1e-8)


def test_the_bound_never_rises_and_may_be_taken_up_again(rng):
    for _ in range(100):
        graph = random_graph(rng, 6, n_factors=10, forbidden=0.1, rules=RULES)
        messages, last = None, np.inf
        for _ in range(5):
            bound, _, _, _, messages = solve(lambda kernel, *a: kernel(*a), graph, 2, 0.0, messages)
            assert bound <= last + 1e-9
            last = bound
            if bound == -np.inf:
                break


def test_warm_messages_are_valid_for_other_potentials_and_constraints(mode, rng):
    run, n_graphs = mode
    for _ in range(n_graphs):
        graph = random_graph(rng, 5, forbidden=0.2)
        *_, messages = solve(run, graph, 5)
        other = FactorGraph.of_arrays(
            graph.shape, rng.normal(size=graph.unary.size), rng.normal(size=graph.tables.size)
        )
        bound, score, _, _, _ = solve(run, other, 50, 1e-10, messages)
        best = all_scores(other).max()
        assert score <= best + 1e-9 <= bound + 2e-9


def test_an_odd_cycle_of_differences_has_a_bound_and_no_labelling():
    differ = [[-np.inf, 0.0], [0.0, -np.inf]]
    graph = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2), (2, 0)], differ)
    bound, score, _, _, _ = solve(lambda kernel, *a: kernel(*a), graph)
    assert bound == 0.0
    assert score == -np.inf


def test_edge_cases(mode):
    run, _ = mode
    nothing = FactorGraph([])
    assert solve(run, nothing)[:2] == (0.0, 0.0)
    alone = FactorGraph([[1.0, 2.0, 2.0], [0.5]])
    bound, score, n_done, labels, _ = solve(run, alone)
    assert (bound, score, n_done, labels.tolist()) == (2.5, 2.5, 1, [1, 0])
    none = FactorGraph([[0.0, -np.inf], [0.0, 1.0]], factors=[Table((0,), [-np.inf, 3.0])])
    assert solve(run, none)[:2] == (-np.inf, -np.inf)
    assert solve(run, alone, 0)[:3] == (np.inf, -np.inf, 0)
