"""Forests of pairs and factor graphs without a cycle, against the list of all labellings."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph import acyclic
from maxmargin.inference.graph import forest as kernels
from maxmargin.inference.graph.factors import ExactlyOne, Table
from tests.graphs import RULES, random_graph
from tests.listed_graphs import check_best, check_k_best, check_marginals, listed

N_DRAWS = 12 if numba.config.DISABLE_JIT else 300


def random_forests(rng, **options):
    for _ in range(N_DRAWS):
        yield listed(
            random_graph(
                rng,
                most_nodes=5,
                most_labels=3,
                is_forest=True,
                forbidden=rng.choice([0.0, 0.2]),
                is_whole=rng.random() < 0.5,
                **options,
            )
        )


def test_forests_are_solved(rng):
    for case in random_forests(rng, most_order=2):
        graph = case.graph
        potentials = graph.shape, graph.unary, graph.tables
        forest, n_nodes = kernels.forest_order(graph.shape), graph.n_nodes
        room = kernels.forest_room(graph.shape)
        labels = np.full(n_nodes, 7, dtype=np.int32)
        check_best(case, labels, kernels.best_forest(*potentials, forest, room, labels))
        found = np.full(len(graph.unary), np.nan)
        kernels.forest_max_marginals(*potentials, forest, room, found)
        np.testing.assert_allclose(found, case.max_marginals(), atol=1e-9)
        for temperature in (0.3, 2.0):
            node, pair = np.full(len(graph.unary), np.nan), np.full(len(graph.tables), np.nan)
            log_partition = kernels.forest_marginals(
                *potentials,
                forest,
                temperature,
                kernels.marginal_room(graph.shape),
                node,
                pair,
            )
            check_marginals(case, temperature, node, pair, log_partition)
        for k in (1, 3, 40):
            best, scores = np.full((k, n_nodes), 7, dtype=np.int32), np.full(k, np.nan)
            room_k = kernels.kbest_room(graph.shape, k)
            count = kernels.best_k_forest(*potentials, forest, k, room_k, best, scores)
            check_k_best(case, k, best, scores, count)
        for most_step, limit in ((1, 100), (3, 100), (3, 2), (1, 0)):
            step = rng.integers(0, most_step + 1, len(graph.unary)).astype(np.int32)
            check_profile(case, forest, step, np.zeros(0, dtype=np.int32), limit)
            cell_step = rng.integers(0, most_step + 1, len(graph.tables)).astype(np.int32)
            check_profile(case, forest, step, cell_step, limit)


def edge_cells(graph, labels):
    """Return the cells of the tables of edges (not of those over one node) that labels use."""
    shape, cells = graph.shape, []
    for f in range(len(shape.kinds)):
        nodes = shape.members[shape.member_at[f] : shape.member_at[f + 1]]
        if len(nodes) == 2:
            row, column = labels[nodes]
            cells.append(shape.table_at[f] + row * shape.n_labels[nodes[1]] + column)
    return np.array(cells, dtype=np.int64)


def largest_steps(graph, step, cell_step):
    """Return the sum of the largest steps of all nodes and edges."""
    shape = graph.shape
    most = sum(step[a:b].max() for a, b in itertools.pairwise(shape.unary_at.tolist()))
    for f in range(len(shape.kinds) if len(cell_step) else 0):
        nodes = shape.members[shape.member_at[f] : shape.member_at[f + 1]]
        if len(nodes) == 2:
            at = shape.table_at[f]
            most += cell_step[at : at + shape.n_labels[nodes].prod()].max()
    return most


def check_profile(case, forest, step, cell_step, limit):
    graph = case.graph
    potentials = graph.shape, graph.unary, graph.tables
    room = kernels.profile_room(graph.shape, forest, step, cell_step, limit)
    scores = np.full(room.most[graph.n_nodes] + 1, np.nan)
    n_levels = kernels.forest_profile(*potentials, forest, step, cell_step, limit, room, scores)

    def cost(labels):
        own = step[graph.shape.unary_at[:-1] + labels].sum()
        return own + (cell_step[edge_cells(graph, labels)].sum() if len(cell_step) else 0)

    costs = np.array([cost(labels) for labels in case.outputs])
    assert n_levels == min(limit, largest_steps(graph, step, cell_step)) + 1
    labels = np.empty(graph.n_nodes, dtype=np.int32)
    for level in range(n_levels):
        best = case.scores[costs == level].max(initial=-np.inf)
        np.testing.assert_allclose(scores[level], best, atol=1e-9)
        kernels.write_forest_level(
            graph.shape, graph.tables, forest, cell_step, level, room, labels
        )
        if best == -np.inf:
            assert (labels == -1).all()
        else:
            assert cost(labels) == level
            assert abs(graph.score(labels) - best) < 1e-9


def test_factor_graphs_without_a_cycle_are_solved(rng):
    for case in random_forests(rng, most_order=4, rules=RULES):
        graph = case.graph
        potentials = graph.shape, graph.unary, graph.tables
        order = acyclic.find_acyclic(graph.shape)
        room = acyclic.acyclic_room(graph.shape)
        labels = np.full(graph.n_nodes, 7, dtype=np.int32)
        check_best(case, labels, acyclic.best_acyclic(*potentials, order, room, labels))
        found = np.full(len(graph.unary), np.nan)
        acyclic.acyclic_max_marginals(*potentials, order, room, found)
        np.testing.assert_allclose(found, case.max_marginals(), atol=1e-9)


def test_expected_uses_of_a_shared_table_are_summed():
    graph = FactorGraph(np.zeros((3, 2)), [(0, 1), (2, 1)], [[1.0, 0.0], [0.5, 0.0]])
    assert len(graph.tables) == 4
    forest = kernels.forest_order(graph.shape)
    node, pair = np.empty(6), np.empty(4)
    room = kernels.marginal_room(graph.shape)
    kernels.forest_marginals(graph.shape, graph.unary, graph.tables, forest, 1.0, room, node, pair)
    _, tables, _ = listed(graph).marginals(1.0)
    np.testing.assert_allclose(pair, (tables[0] + tables[1]).ravel())


def test_a_path_of_many_nodes_is_no_recursion(rng):
    n_nodes = 20_000
    edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1)
    graph = FactorGraph(rng.normal(size=(n_nodes, 2)), edges, np.eye(2))
    forest = kernels.forest_order(graph.shape)
    labels = np.empty(n_nodes, dtype=np.int32)
    room = kernels.forest_room(graph.shape)
    score = kernels.best_forest(graph.shape, graph.unary, graph.tables, forest, room, labels)
    assert graph.score(labels) == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize(
    ("graph", "match"),
    [
        (FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2), (2, 0)], np.eye(2)), "closes a cycle"),
        (FactorGraph(np.zeros((3, 2)), factors=[Table((0, 1, 2), np.zeros((2, 2, 2)))]), "3 nodes"),
        (FactorGraph(np.zeros((3, 2)), factors=[ExactlyOne((0, 1))]), "no dense table"),
    ],
)
def test_what_is_no_forest_of_pairs_is_refused(graph, match):
    assert kernels.find_forest(graph.shape) is None
    with pytest.raises(ValueError, match=match):
        kernels.forest_order(graph.shape)
