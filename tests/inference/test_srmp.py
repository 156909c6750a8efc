"""SRMP: bounds and labellings against the list of all labellings.

test_graphs_uncompiled.py runs this module once more without the compiler.
"""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.bound import message_bound
from maxmargin.inference.graph.factors import Table
from maxmargin.inference.graph.srmp import srmp, srmp_room
from tests.graphs import RULES, all_scores, random_graph, run_times

CASES = {
    "tables": {},
    "forbidden": {"forbidden": 0.25, "most_order": 4, "most_nodes": 5, "most_labels": 3},
    "ties": {"is_whole": True, "forbidden": 0.1},
    # From four labels on messages of pairs are computed by vector instructions.
    "labels": {"most_labels": 9, "most_nodes": 3, "most_order": 2, "forbidden": 0.2},
    "rules": {"rules": RULES, "is_whole": True, "forbidden": 0.05},
}


N_GRAPHS = run_times(600, 8)


def solve(graph, n_iterations=300, tolerance=1e-10, messages=None):
    """Return bound, score, iterations, labels and messages."""
    if messages is None:
        messages = np.zeros(graph.shape.message_at[-1])
    labels = np.full(graph.n_nodes, -7, dtype=np.int32)
    room = srmp_room(graph.shape)
    for scratch in (room.rest, room.held, room.theta, room.guess, room.out, room.margin):
        scratch[:] = np.nan  # nothing is read before it was written
    found = srmp(
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
def test_bound_and_labelling_bracket_the_optimum(case, rng):
    n_tight = 0
    for _ in range(N_GRAPHS):
        graph = random_graph(rng, **CASES[case])
        best = all_scores(graph).max(initial=-np.inf)
        bound, score, _, labels, messages = solve(graph)
        assert score <= best + 1e-9 <= bound + 2e-9
        assert not np.isnan(messages).any()
        if bound > -np.inf:
            assert graph.score(labels) == score
            out = np.zeros(9)
            again = message_bound(graph.shape, graph.unary, graph.tables, messages, out)
            assert again == pytest.approx(bound, abs=1e-8)
        n_tight += bound <= best + 1e-7
    assert n_tight >= 0.8 * N_GRAPHS


def test_acyclic_graphs_are_solved(rng):
    for _ in range(N_GRAPHS):
        graph = random_graph(
            rng, is_forest=True, forbidden=0.1, rules=RULES, most_nodes=7, most_labels=3
        )
        best = all_scores(graph).max(initial=-np.inf)
        bound, score, _, _, _ = solve(graph)
        assert score == pytest.approx(best, abs=1e-8)
        assert bound == pytest.approx(best, abs=1e-8)


def test_the_bound_never_rises_and_may_be_taken_up_again(rng):
    for _ in range(N_GRAPHS // 6):
        graph = random_graph(rng, 6, n_factors=10, forbidden=0.1, rules=RULES)
        messages, last = None, np.inf
        for _ in range(5):
            bound, _, _, _, messages = solve(graph, 2, 0.0, messages)
            assert bound <= last + 1e-9
            last = bound
            if bound == -np.inf:
                break


def test_warm_messages_are_valid_for_other_potentials_and_constraints(rng):
    for _ in range(N_GRAPHS):
        graph = random_graph(rng, 5, forbidden=0.2)
        *_, messages = solve(graph, 5)
        other = FactorGraph.of_arrays(
            graph.shape, rng.normal(size=graph.unary.size), rng.normal(size=graph.tables.size)
        )
        bound, score, _, _, _ = solve(other, 50, 1e-10, messages)
        best = all_scores(other).max()
        assert score <= best + 1e-9 <= bound + 2e-9


def test_an_odd_cycle_of_differences_has_a_bound_and_no_labelling():
    differ = [[-np.inf, 0.0], [0.0, -np.inf]]
    graph = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2), (2, 0)], differ)
    bound, score, _, _, _ = solve(graph)
    assert bound == 0.0
    assert score == -np.inf


def test_edge_cases():
    nothing = FactorGraph([])
    assert solve(nothing)[:2] == (0.0, 0.0)
    alone = FactorGraph([[1.0, 2.0, 2.0], [0.5]])
    bound, score, n_done, labels, _ = solve(alone)
    assert (bound, score, n_done, labels.tolist()) == (2.5, 2.5, 1, [1, 0])
    none = FactorGraph([[0.0, -np.inf], [0.0, 1.0]], factors=[Table((0,), [-np.inf, 3.0])])
    assert solve(none)[:2] == (-np.inf, -np.inf)
    assert solve(alone, 0)[:3] == (np.inf, -np.inf, 0)


def test_a_call_may_go_on_with_what_the_last_one_left(rng):
    for _ in range(run_times(100, 10)):
        graph = random_graph(rng, 6, n_factors=10, most_labels=5, most_order=3, scale=2.0)
        labels, others = np.zeros((2, graph.n_nodes), dtype=np.int32)
        messages = np.zeros(int(graph.shape.message_at[-1]))
        room, fresh = srmp_room(graph.shape), srmp_room(graph.shape)
        srmp(graph.shape, graph.unary, graph.tables, messages, 2, -1.0, room, labels)
        same = messages.copy()
        room.keeps[:] = True
        fresh.keeps[0] = True
        went_on = srmp(graph.shape, graph.unary, graph.tables, messages, 2, -1.0, room, labels)
        began = srmp(graph.shape, graph.unary, graph.tables, same, 2, -1.0, fresh, others)
        assert went_on == began
        assert messages.tolist() == same.tolist()
        assert labels.tolist() == others.tolist()
        assert not room.keeps[1]  # what was left is used once
