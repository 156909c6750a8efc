"""Edge losses of graphs, against their definitions and against the list of all labellings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from maxmargin.core.contract import (
    Links,
    TrueParts,
    maximize,
    maximize_bounded,
    n_weights,
    output_cost,
    potentials,
    true_parts,
    workspace,
)
from maxmargin.core.contract import margin_error as error_of
from maxmargin.costs import EdgeLoss, Hamming, tabulate
from maxmargin.costs.edge_tables import edge_cost, roots_of
from maxmargin.structures import (
    StackedGraphs,
    forest_data,
    general_data,
    relaxed_data,
    stacked_graphs,
)
from maxmargin.structures.graph.points import write_point
from maxmargin.testing import check_oracles, check_structure, tiny_problem

K = 3


def links(edges, n_nodes):
    """Return one graph with edges and hyperedges given as tuples."""
    orders = [len(nodes) for nodes in edges]
    return Links(
        np.ones(n_nodes, dtype=bool),
        np.array([0, n_nodes]),
        np.array([0, len(edges)]),
        np.concatenate([[0], np.cumsum(orders)]).astype(np.int64),
        np.array([v for nodes in edges for v in nodes], dtype=np.int64),
    )


def written_down(edges, roots, wrong, is_wrong, prices=None, root=1.0):
    """Return the loss of paper 002 as it is printed, with the term of the roots."""
    prices = np.ones(len(edges)) if prices is None else prices
    total = root * sum(bool(is_wrong[v]) for v in roots)
    for price, (*others, last) in zip(prices, edges, strict=True):
        if wrong == "child":
            total += price * bool(is_wrong[last] and not any(is_wrong[v] for v in others))
        else:
            total += price * bool(is_wrong[last] or any(is_wrong[v] for v in others))
    return total


CASES = [
    (4, [(0, 1), (1, 2), (1, 3)], [0], []),
    (4, [(1, 0), (1, 2)], [1, 3], [3]),
    (3, [(0, 1), (1, 2), (2, 0)], [0], []),  # a circle: its lowest node is the root
    (5, [(3, 2), (2, 3), (3, 4), (0, 1)], [0, 2], []),  # a circle that leads on
    (3, [(0, 2), (1, 2)], [0, 1], []),  # two parents
    (4, [(0, 1), (0, 1, 2), (0, 1, 2, 3)], [0], []),  # partial paths
    (3, [], [0, 1, 2], [0, 1, 2]),
]


@pytest.mark.parametrize(("n", "edges", "roots", "alone"), CASES)
def test_costs_are_those_that_are_written_down(n, edges, roots, alone, rng):
    given = links(edges, n)
    assert np.flatnonzero(roots_of(given)).tolist() == roots
    prices = rng.integers(1, 5, len(edges)).astype(float)
    truth = rng.integers(K, size=n)
    parts = TrueParts("vertices", np.array([n]), truth, given)
    for wrong, own in (("child", roots), ("any", alone)):
        cost = EdgeLoss(wrong, prices.tolist() if edges else None, root=2.5)
        values = []
        for y in itertools.product(range(K), repeat=n):
            found = cost.costs_of(parts, np.arange(K), np.array(y))[0][0]
            is_wrong = np.array(y) != truth
            assert found == written_down(edges, own, wrong, is_wrong, prices, 2.5)
            assert (found == 0.0) == (not is_wrong.any())
            values.append(found)
        total = float(cost.costs_of(parts, np.arange(K), truth)[1][0])
        assert max(values) <= total
        mean = EdgeLoss(cost.wrong, cost.weights, 2.5, "mean")
        assert mean.costs_of(parts, np.arange(K), truth)[1][0] == pytest.approx(1.0)


def test_every_wrong_labelling_of_random_links_costs(rng):
    for _ in range(200):
        n = int(rng.integers(1, 6))
        edges = [
            tuple(rng.permutation(n)[: rng.integers(2, 4)])
            for _ in range(rng.integers(0, 7) if n > 2 else 0)
        ]
        given = links(edges, n)
        cost = EdgeLoss().vertices(range(2), np.array([n]), given)
        for pattern in itertools.product([False, True], repeat=n):
            is_wrong = np.array(pattern)
            value = written_down(edges, np.flatnonzero(cost.node), "child", is_wrong)
            assert (value == 0.0) == (not is_wrong.any())


def test_unknown_nodes_are_left_out_with_their_edges():
    """Then a child of an unknown node is a root."""
    given = links([(0, 1), (1, 2)], 3)
    parts = TrueParts("vertices", np.array([3]), np.array([1, -1, 1]), given)
    found, largest = EdgeLoss().costs_of(parts, np.arange(2), np.array([0, 0, 0]))
    assert (found[0], largest[0]) == (2.0, 2.0)
    assert parts.beside.members.tolist() == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EdgeLoss("parent"), "wrong must be 'child' or 'any', got 'parent'"),
        (lambda: EdgeLoss(root=-1.0), "root must be a number >= 0, got -1.0"),
        (lambda: EdgeLoss(weights=[1.0, np.nan]), "weights must be finite numbers >= 0"),
        (lambda: EdgeLoss(average="max"), "average must be 'sum' or 'mean'"),
        (lambda: EdgeLoss().tabulate("vertices", [0], [1]), "tabulate needs links"),
        (
            lambda: EdgeLoss(weights=[1.0]).vertices([0], np.ones(1), links([(0, 1), (1, 2)], 3)),
            "weights has 1 numbers but example 0 has 2 edges",
        ),
        (
            lambda: EdgeLoss().tabulate("positions", [0, 1], [2]),
            "EdgeLoss is no cost of classes and sequences: .* Costs that fit: hamming",
        ),
        (lambda: EdgeLoss().tabulate("switches", [0], [[1, 1]]), "EdgeLoss is no cost of label"),
        (lambda: edge_cost(links([], 1), [1.0, 2.0], [], []), "node must hold 1 prices"),
        (lambda: edge_cost(links([], 1), [-1.0], [], []), "node must hold finite numbers >= 0"),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# -- oracles -------------------------------------------------------------------------------------

FORESTS = [[(0, 1), (2, 1), (1, 3)], [(1, 0)], []]
SIZES = [4, 2, 2]
CYCLES = [[(0, 1), (1, 2), (2, 0), (2, 3)], [(1, 0)], []]


def graphs(rng, edges, form=np.asarray, barrier=False, n_labels=K):
    at = np.concatenate([[0], np.cumsum(SIZES)])
    pairs = np.array([pair for own in edges for pair in own])
    stack = StackedGraphs(
        form(rng.normal(size=(at[-1], 2))),
        at,
        pairs,
        np.concatenate([[0], np.cumsum([len(own) for own in edges])]),
        form(rng.normal(size=(len(pairs), 1))),
    )
    labels = rng.integers(n_labels, size=at[-1])
    walls = None
    if barrier:
        walls = np.where(rng.random((at[-1], n_labels)) < 0.3, -np.inf, 0.0)
        walls[np.arange(at[-1]), labels] = 0.0
    return stacked_graphs(stack, labels, n_labels, barrier=walls)


LOSSES = [
    EdgeLoss(),
    EdgeLoss("any"),
    EdgeLoss(average="mean", root=2.0),
    EdgeLoss("any", average="mean", root=0.5),
]


@pytest.mark.parametrize("barrier", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_forests_are_exact(loss, barrier, rng):
    data = forest_data(graphs(rng, FORESTS, barrier=barrier))
    cost = tabulate(loss, data, np.arange(K))
    check_structure(data, cost=cost, compile=False)
    check_oracles(data, cost)


def test_prices_without_a_step_have_no_profile(rng):
    data = forest_data(graphs(rng, [[(0, 1), (1, 2)], [], []]))
    given = true_parts(data).links
    cost = edge_cost(given, rng.random(8), rng.random(2), rng.random(2))
    check_structure(data, cost=cost, compile=False)
    check_oracles(data, cost)


@pytest.mark.parametrize("structure", ["graph_forest", "graph"])
def test_compiled_oracles_agree(structure, rng):
    """Losses at some weights, by the oracles that training asks."""
    compiled, python = (
        tiny_problem(structure, "edge", compile=compile) for compile in (True, False)
    )
    for scale in (0.0, 0.3, 3.0):
        w = scale * rng.normal(size=compiled.n_weights)
        assert compiled.primal(w) == pytest.approx(python.primal(w), rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES[:2], ids=repr)
def test_graphs_with_cycles_are_bounded(loss, rng):
    data = general_data(graphs(rng, CYCLES, barrier=True))
    cost = tabulate(loss, data, np.arange(K))
    check_structure(data, cost=cost, compile=False)


@pytest.mark.parametrize("loss", LOSSES[:3], ids=repr)
def test_costs_of_points_are_linear(loss, rng):
    own = graphs(rng, FORESTS)
    data, integral = relaxed_data(own), forest_data(own)
    cost = tabulate(loss, data, np.arange(K))
    check_structure(data, cost=cost, compile=False)
    # The mean of two labellings, as marginals of nodes and edges.
    left, right = rng.integers(K, size=(2, 4)).astype(np.int32)
    shapes = own.shapes
    nodes, factors = np.zeros(4 * K), np.zeros(int(shapes.n_cells[0]))
    for y, share in ((left, 0.25), (right, 0.75)):
        nodes[np.arange(4) * K + y] += share
        for f, (a, b) in enumerate(FORESTS[0]):
            factors[f * K * K + y[a] * K + y[b]] += share
    cells = np.zeros(1 + 2 * (len(nodes) + len(factors)))
    write_point(data, 0, nodes, factors, cells, 0)
    expected = 0.25 * output_cost(integral, cost, 0, left, 0)
    expected += 0.75 * output_cost(integral, cost, 0, right, 0)
    assert output_cost(data, cost, 0, cells, 0) == pytest.approx(expected)


def test_relaxed_graphs_with_cycles_bound_all_labellings(rng):
    own = graphs(rng, CYCLES)
    data, integral = relaxed_data(own), general_data(own)
    cost = tabulate(EdgeLoss(), data, np.arange(K))
    theta, room = workspace(data)
    cells = np.zeros(1 + 2 * (4 * K + int(own.shapes.n_cells[0])))
    for scale, share in ((1.0, 1.0), (3.0, 0.5), (0.0, 1.0), (1.0, 0.0)):
        potentials(data, 0, rng.normal(size=int(n_weights(data))), 1.0, theta)
        bound = maximize_bounded(data, cost, 0, theta, room, scale, share, cells, 0)
        found = scale * error_of(data, 0, theta, cells, 0)
        found += share * output_cost(data, cost, 0, cells, 0)
        best = max(
            scale * error_of(integral, 0, theta, np.array(y, dtype=np.int32), 0)
            + share * output_cost(integral, cost, 0, np.array(y, dtype=np.int32), 0)
            for y in itertools.product(range(K), repeat=4)
        )
        assert bound >= best - 1e-9 and bound >= found - 1e-9
        assert bound - found <= 0.05 * (1.0 + abs(bound))
        maximize(data, cost, 0, theta, room, scale, share, cells, 0)
        anew = scale * error_of(data, 0, theta, cells, 0)
        anew += share * output_cost(data, cost, 0, cells, 0)
        assert best - 0.05 * (1.0 + abs(best)) <= anew <= bound + 1e-9


def test_an_edge_that_costs_at_any_end_is_the_hamming_loss_of_a_pair(rng):
    """Of two nodes that are joined, any mistake costs 1: the zero-one cost of a pair."""
    data = forest_data(graphs(rng, FORESTS))
    edge, node = (tabulate(loss, data, np.arange(K)) for loss in (EdgeLoss("any"), Hamming()))
    for y in itertools.product(range(K), repeat=2):
        cells = np.array(y, dtype=np.int32)
        wrong = output_cost(data, node, 1, cells, 0)
        assert output_cost(data, edge, 1, cells, 0) == float(wrong > 0)
        # The third graph has no edges, so its nodes cost alone.
        assert output_cost(data, edge, 2, cells, 0) == output_cost(data, node, 2, cells, 0)
