"""Graphs: weights by type, tables of few weights, hyperedges; oracles against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.core.contract import are_outputs, n_weights, potentials, product, workspace
from maxmargin.core.contract import parts as parts_of
from maxmargin.costs import Hamming, WeightedPartCost, tabulate
from maxmargin.inference.graph.shape import graph_shape
from maxmargin.structures import StackedGraphs, forest_data, stacked_graphs
from maxmargin.structures.graph.layout import PAIRS, pair_table
from maxmargin.structures.graph.shapes import graph_of, stacked_shapes
from maxmargin.testing import all_outputs, check_oracles, check_structure

K = 3


def forests(rng, form=np.asarray, barrier=False, **options):
    """Three forests: a tree of four nodes, two nodes, and three without an edge."""
    sizes, edges = [4, 2, 3], [[(1, 0), (1, 2), (3, 1)], [(1, 0)], []]
    stack = StackedGraphs(
        form(rng.normal(size=(9, 2))),
        np.array([0, 4, 6, 9]),
        np.array([pair for own in edges for pair in own]),
        np.array([0, 3, 4, 4]),
        form(rng.normal(size=(4, 2))),
        node_types=rng.integers(options.get("n_node_types", 1), size=9),
        edge_types=rng.integers(options.get("n_edge_types", 1), size=4),
    )
    labels = rng.integers(K, size=sum(sizes))
    if barrier:
        walls = np.where(rng.random((9, K)) < 0.3, -np.inf, 0.0)
        walls[0] = -np.inf
        walls[np.arange(9), labels] = 0.0
        options["barrier"] = walls
    return forest_data(stacked_graphs(stack, labels, K, **options))


def hamming(data):
    return tabulate(Hamming(), data, np.arange(K))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("pairs", PAIRS)
def test_tables_of_few_weights(pairs, form, rng):
    data = forests(rng, form, pairs=pairs, n_node_types=2, n_edge_types=3)
    check_structure(data, cost=hamming(data), compile=False)
    table = pair_table(pairs, K)
    theta, _ = workspace(data)
    potentials(data, 0, rng.normal(size=n_weights(data)), 1.0, theta)
    T = theta.tables[: K * K].reshape(K, K)
    expected = {
        "symmetric": np.allclose(T, T.T),
        "antisymmetric": np.allclose(T, -T.T),
        "potts": np.allclose(T, T[0, 0] * np.eye(K)),
        "full": len(np.unique(T)) == K * K,
    }
    assert expected[pairs]
    assert (table.column <= np.arange(K * K)).all()


def test_without_biases_there_are_features_only(rng):
    data = forests(rng, bias=False, edge_bias=False)
    assert n_weights(data) == 2 * K + 2 * K * K
    check_structure(data, cost=hamming(data), compile=False)


def test_a_barrier_forbids_labels(rng):
    data = forests(rng, barrier=True)
    check_oracles(data, hamming(data))
    rows = all_outputs(data, 0)
    assert len(rows) < K**4
    assert are_outputs(
        data, np.zeros(len(rows), int), rows.reshape(-1), np.full(len(rows), 4)
    ).all()
    every = np.indices((K,) * 4).reshape(4, -1).T
    told = are_outputs(data, np.zeros(len(every), int), every.reshape(-1), np.full(len(every), 4))
    assert told.sum() == len(rows)


def test_nodes_may_weigh_differently(rng):
    data = forests(rng)
    plain = hamming(data)
    cost = WeightedPartCost(plain.matrix, plain.scale, rng.exponential(size=9))
    check_structure(data, cost=cost, compile=False)


def test_score_is_the_product_of_potentials_and_parts(rng):
    data = forests(rng)
    theta, _ = workspace(data)
    mu = workspace(data)[0]
    w = rng.normal(size=n_weights(data))
    potentials(data, 0, w, 1.0, theta)
    y = np.array([2, 0, 1, 1], dtype=np.int32)
    parts_of(data, 0, y, 0, 1.0, mu)
    unary, T = theta.unary.reshape(-1, K), theta.tables.reshape(-1, K, K)
    score = unary[np.arange(4), y].sum() + T[0][y[1], y[0]] + T[1][y[1], y[2]] + T[2][y[3], y[1]]
    assert product(theta, mu) == pytest.approx(score)


def test_stacked_shapes_are_those_of_each_graph(rng):
    members, orders = [0, 1, 2, 1, 1, 0, 2, 0, 1], [2, 2, 3, 2]
    shapes = stacked_shapes(2, [0, 3, 4, 7], [0, 2, 2, 4], np.array(members), np.array(orders))
    own = [(3, members[:4], orders[:2], [0, 4]), (1, [], [], [])]
    own.append((3, members[4:], orders[2:], [0, 8]))
    for i, (n, nodes, sizes, table_at) in enumerate(own):
        expected = graph_shape([2] * n, nodes, sizes, table_at)
        for found, wanted in zip(graph_of(shapes, i), expected, strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


def test_a_cycle_is_named(rng):
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 1]])
    stack = StackedGraphs(np.ones((4, 1)), np.array([0, 4]), edges, np.array([0, 4]))
    with pytest.raises(ValueError, match="graph 0 is no forest: the nodes 1 - 2 - 3 - 1 lie"):
        forest_data(stacked_graphs(stack, np.zeros(4), 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": np.array([[0, 4]])}, "graph 0 has 2 nodes, but a factor of it names node 4"),
        ({"edges": np.array([[1, 1]])}, "graph 0 has a factor that names node 1 twice"),
        ({"edge_types": np.array([1])}, "edge_types must be 1 numbers from 0 to 0"),
        ({"edge_features": np.ones((2, 1))}, "edge_features has 2 rows; expected 1"),
        ({"edge_at": np.array([0, 2])}, "edge_at must rise from 0 to 1"),
    ],
)
def test_wrong_arrays_are_refused(change, message):
    given = {"edges": np.array([[0, 1]]), "edge_at": np.array([0, 1])} | change
    stack = StackedGraphs(np.ones((2, 1)), np.array([0, 2]), **given)
    with pytest.raises(ValueError, match=message):
        stacked_graphs(stack, np.zeros(2), 2)


def test_a_hyperedge_that_is_too_large_is_told_what_fits():
    stack = StackedGraphs(
        np.ones((12, 1)), np.array([0, 12]), np.zeros((0, 2), dtype=int), np.array([0, 0]),
        hyper_members=np.arange(12), hyper_types=np.zeros(1, dtype=int), hyper_at=np.array([0, 1]),
    )  # fmt: skip
    match = "12 nodes with 4 labels has a table of 16777216 cells.*at most 100000 cells, which is 8"
    for pairs in ("full", "potts"):
        with pytest.raises(ValueError, match=match):
            stacked_graphs(stack, np.zeros(12), 4, hyper_orders=(12,), hyper_pairs=pairs)
