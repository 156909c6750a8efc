"""Branch and bound: equal to the best of all labellings, or a bracket of it at a limit.

test_graphs_uncompiled.py runs this module once more without the compiler.
"""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.branch import branch_and_bound, branch_room
from tests.graphs import RULES, all_scores, random_graph, run_times

CASES = {
    "strong": {"n_nodes": 6, "n_factors": 12, "most_labels": 3, "scale": 3.0},
    "forbidden": {"forbidden": 0.25, "most_order": 4, "most_nodes": 5, "most_labels": 3},
    "ties": {"is_whole": True, "forbidden": 0.1},
    "rules": {"rules": RULES, "is_whole": True, "forbidden": 0.05},
}


N_GRAPHS = run_times(400, 6)


def search(graph, most_nodes=2000, most_bytes=100_000, n_iterations=3, known=-np.inf):
    """Few iterations per node, so that there is something to search."""
    labels = np.full(graph.n_nodes, -7, dtype=np.int32)
    messages = np.zeros(graph.shape.message_at[-1])
    room = branch_room(graph.shape, most_nodes, most_bytes)
    given = (most_nodes, n_iterations, n_iterations, 1e-9, True, known, room, labels)
    bound, score, n_made = branch_and_bound(
        graph.shape, graph.unary, graph.tables, messages, *given
    )
    return bound, score, n_made, labels


@pytest.mark.parametrize("case", CASES)
def test_the_optimum_is_found_and_proved(case, rng):
    n_made = 0
    for _ in range(N_GRAPHS):
        graph = random_graph(rng, **CASES[case])
        best = all_scores(graph).max(initial=-np.inf)
        bound, score, n_nodes, labels = search(graph)
        assert score == pytest.approx(best, abs=1e-7)
        assert bound == pytest.approx(best, abs=1e-7)
        assert bound >= score
        if best > -np.inf:
            assert graph.score(labels) == score
        n_made += n_nodes
    assert n_made > N_GRAPHS or N_GRAPHS < 100  # there was something to search


def test_at_a_limit_the_optimum_lies_between_score_and_bound(rng):
    n_open = 0
    for _ in range(N_GRAPHS // 2):
        graph = random_graph(rng, 7, n_factors=40, most_labels=3, most_order=2, scale=3.0)
        best = all_scores(graph).max(initial=-np.inf)
        last = np.inf
        for most in (1, 2, 3, 5):
            bound, score, n_made, _ = search(graph, most, n_iterations=1)
            assert n_made <= max(1, most)
            assert score - 1e-9 <= best <= bound + 1e-9
            assert bound <= last + 1e-9
            last = bound
        n_open += bound > best + 1e-6
    assert n_open > 0 or N_GRAPHS < 100


def test_messages_need_not_be_kept(rng):
    for _ in range(N_GRAPHS // 4):
        graph = random_graph(rng, 6, n_factors=12, most_labels=3, scale=3.0)
        best = all_scores(graph).max(initial=-np.inf)
        bound, score, _, _ = search(graph, most_bytes=0)
        assert (bound, score) == pytest.approx((best, best), abs=1e-7)


def test_what_is_no_better_than_a_known_score_is_not_searched(rng):
    for _ in range(N_GRAPHS // 8):
        graph = random_graph(rng, 6, n_factors=12, most_labels=3, scale=3.0)
        best = all_scores(graph).max(initial=-np.inf)
        for known in (best, best - 0.5):
            bound, score, _, labels = search(graph, n_iterations=1, known=known)
            assert bound == pytest.approx(best, abs=1e-7)
            assert score == pytest.approx(best, abs=1e-7)
            if -np.inf < known < best:
                assert graph.score(labels) == score
        bound, score, n_made, _ = search(graph, n_iterations=1, known=1e3)
        assert (bound, score, n_made) == (1e3, 1e3, 1)


def test_no_labelling_of_an_odd_cycle_of_differences():
    differ = [[-np.inf, 0.0], [0.0, -np.inf]]
    graph = FactorGraph(np.zeros((5, 2)), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], differ)
    bound, score, _, _ = search(graph)
    assert bound == score == -np.inf
