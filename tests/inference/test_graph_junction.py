"""Junction trees against the list of all labellings; min-fill; the limit on cells."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest

from maxmargin.inference import FactorGraph, graph_marginals, solve_graph
from maxmargin.inference.graph import junction as kernels
from maxmargin.inference.graph.junction.order import neighbours
from tests.graphs import random_graph
from tests.listed_graphs import check_best, check_k_best, check_marginals, listed


def test_small_graphs_are_solved(rng):
    for _ in range(12 if numba.config.DISABLE_JIT else 300):
        options = {"forbidden": rng.choice([0.0, 0.2]), "is_whole": rng.random() < 0.5}
        case = listed(random_graph(rng, most_order=4, most_labels=3, **options))
        graph = case.graph
        shape, n_nodes = graph.shape, graph.n_nodes
        potentials = shape, graph.unary, graph.tables
        tree = kernels.junction_tree(shape, 1e6)
        room = kernels.junction_room(shape, tree, 3)
        labels = np.full(n_nodes, 7, dtype=np.int32)
        check_best(case, labels, kernels.best_junction(*potentials, tree, room, labels))
        found = np.full(len(graph.unary), np.nan)
        kernels.junction_max_marginals(*potentials, tree, room, found)
        np.testing.assert_allclose(found, case.max_marginals(), atol=1e-9)
        for temperature in (0.3, 2.0):
            node, factor = np.full(len(graph.unary), np.nan), np.full(len(graph.tables), np.nan)
            arguments = temperature, room, node, factor
            log_partition = kernels.junction_marginals(*potentials, tree, *arguments)
            check_marginals(case, temperature, node, factor, log_partition)
        for k in (1, 3, 40):
            best, scores = np.full((k, n_nodes), 7, dtype=np.int32), np.full(k, np.nan)
            room_k = kernels.kbest_junction_room(shape, tree, k)
            count = kernels.best_k_junction(*potentials, tree, k, room_k, best, scores)
            check_k_best(case, k, best, scores, count)


def test_tables_larger_than_a_block_are_added_up_block_by_block(rng):
    edges = list(itertools.combinations(range(5), 2))
    graph = FactorGraph(rng.normal(size=(5, 6)), edges, rng.normal(size=(10, 6, 6)))
    case = listed(graph)
    answer = solve_graph(graph, "junction")
    check_best(case, answer.labels, answer.score)
    found = graph_marginals(graph)
    node, factors, log_partition = case.marginals(1.0)
    np.testing.assert_allclose(np.concatenate(found.node), node, atol=1e-9)
    np.testing.assert_allclose(found.factor, factors, atol=1e-9)
    assert found.log_partition == pytest.approx(log_partition)


def min_fill_by_definition(shape):
    near = neighbours(shape)
    left, order = set(range(len(near))), []
    while left:
        pairs = {v: itertools.combinations(sorted(near[v]), 2) for v in left}
        lacking = {v: sum(b not in near[a] for a, b in pairs[v]) for v in left}
        v = min(left, key=lambda v: (lacking[v], len(near[v]), v))
        order.append(v)
        for a in near[v]:
            near[a] |= near[v] - {a}
            near[a].discard(v)
        left.discard(v)
    return order


def test_min_fill_is_as_defined(rng):
    for _ in range(100):
        graph = random_graph(rng, n_nodes=int(rng.integers(0, 14)), most_labels=2, most_order=4)
        assert kernels.min_fill(graph.shape).order == min_fill_by_definition(graph.shape)


def dense_graph_of(n_nodes, n_labels):
    edges = list(itertools.combinations(range(n_nodes), 2))
    return FactorGraph(np.zeros((n_nodes, n_labels)), edges, np.eye(n_labels))


def test_a_tree_that_is_too_large_is_refused_with_its_size():
    """Its size overflows 64 bits, and it would have more axes than an array of numpy."""
    graph = dense_graph_of(70, 9)
    with pytest.raises(ValueError, match=r"7\.05e\+66 cells .* 70 nodes.*at most 3e\+07.*'srmp'"):
        solve_graph(graph, "junction")
    with pytest.raises(ValueError, match="cells"):
        graph_marginals(graph)
    # 81 + 27 + 9 + 3 cells
    with pytest.raises(ValueError, match=r"120 cells .*at most 119 are allowed"):
        solve_graph(dense_graph_of(4, 3), "junction", most_cells=119)
    assert solve_graph(dense_graph_of(4, 3), "junction", most_cells=120).is_exact


def test_a_large_graph_is_refused_without_counting_all_its_cells():
    grid = np.arange(60 * 60).reshape(60, 60)
    across = np.stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()], axis=1)
    down = np.stack([grid[:-1].ravel(), grid[1:].ravel()], axis=1)
    graph = FactorGraph(np.zeros((3600, 9)), np.concatenate([across, down]), np.eye(9))
    with pytest.raises(ValueError, match=r"more than .* cells .*at most 1e\+05"):
        solve_graph(graph, "junction", most_cells=10**5)


def test_trees_are_made_once_per_shape():
    graph = dense_graph_of(5, 2)
    first = kernels.find_junction_tree(graph.shape, 1e6)
    again = FactorGraph.of_arrays(graph.shape, graph.unary + 1.0, graph.tables)
    assert kernels.find_junction_tree(again.shape, 1e6) is first
    assert kernels.find_junction_tree(graph.shape, first.n_cells - 1) is None
    assert kernels.find_junction_tree(graph.shape, first.n_cells) is first
