"""Factor graphs as users give them: what is added up, what is shared, what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.factors import ExactlyOne, Potts, Table
from maxmargin.inference.graph.model import check_sums

EYE = np.eye(2)


def members_of(graph):
    shape = graph.shape
    ends = itertools.pairwise(shape.member_at.tolist())
    return [tuple(shape.members[a:b].tolist()) for a, b in ends]


def test_scores_are_those_of_what_was_given(rng):
    """Repeated edges in both directions, tables within tables, shared tables."""
    for _ in range(150):
        n_labels = rng.integers(1, 4, rng.integers(2, 6))
        if rng.random() < 0.4:
            n_labels[:] = 2
        n_nodes = len(n_labels)
        unary = [rng.normal(size=k) for k in n_labels]
        edges = np.array([rng.permutation(n_nodes)[:2] for _ in range(rng.integers(0, 9))])
        tables = given_tables(rng, n_labels, edges.reshape(-1, 2))
        factors = []
        for _ in range(rng.integers(0, 5)):
            nodes = rng.permutation(n_nodes)[: rng.integers(1, 5)]
            factors.append(Table(nodes, rng.normal(size=n_labels[nodes])))
        graph = FactorGraph(unary, edges, tables, factors)
        for x in itertools.product(*(range(k) for k in n_labels)):
            total = sum(row[label] for row, label in zip(unary, x, strict=True))
            for e, (a, b) in enumerate(edges.tolist()):
                table = tables if np.ndim(tables[0]) == 1 else tables[e]
                total += table[x[a]][x[b]]
            total += sum(factor.value([x[v] for v in factor.nodes]) for factor in factors)
            assert graph.score(x) == pytest.approx(total, abs=1e-9)
        keys = [frozenset(nodes) for nodes in members_of(graph)]
        assert len(set(keys)) == len(keys)
        assert not any(len(a) > 1 and a < b for a in keys for b in keys)


def given_tables(rng, n_labels, edges):
    """One table for all, an array of tables, or a list in which tables repeat."""
    if len(set(n_labels.tolist())) == 1 and len(edges) and rng.random() < 0.6:
        size = (n_labels[0], n_labels[0])
        return rng.normal(size=size if rng.random() < 0.5 else (len(edges), *size))
    known: dict[tuple[int, int], np.ndarray] = {}
    tables = []
    for a, b in edges.tolist():
        size = (n_labels[a], n_labels[b])
        if size not in known or rng.random() < 0.5:
            known[size] = rng.normal(size=size)
        tables.append(known[size])
    return tables


def test_shared_tables_stay_shared():
    grid = np.arange(400).reshape(20, 20)
    across = np.stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()], axis=1)
    down = np.stack([grid[:-1].ravel(), grid[1:].ravel()], axis=1)
    edges = np.concatenate([across, down])
    graph = FactorGraph(np.zeros((400, 2)), edges, EYE)
    assert graph.tables.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert FactorGraph(np.zeros((400, 2)), edges, [EYE] * len(edges)).tables.size == 4
    # Each edge in both directions: one table more, their sum, which all share.
    both = np.concatenate([edges, edges[:, ::-1]])
    graph = FactorGraph(np.zeros((400, 2)), both, [[1.0, 2.0], [3.0, 4.0]])
    assert graph.n_factors == len(edges)
    assert graph.tables.tolist() == [2.0, 5.0, 5.0, 8.0]


def test_arrays_that_were_given_may_change_afterwards():
    unary, table = np.zeros((2, 2)), np.eye(2)
    graph = FactorGraph(unary, [(0, 1)], table)
    unary[:], table[:] = 9.0, 9.0
    assert graph.score([0, 0]) == 1.0


def test_a_pair_within_a_triple_is_added_to_it():
    triple = Table((2, 0, 1), np.zeros((2, 2, 3)))
    unary = [[0, 0], [0, 0, 0], [0, 0]]
    graph = FactorGraph(unary, [(1, 0)], [np.arange(6.0).reshape(3, 2)], [triple])
    assert members_of(graph) == [(2, 0, 1)]
    assert graph.score([1, 2, 0]) == 5.0


@pytest.mark.parametrize("unary", [[], np.zeros((0, 3))], ids=["list", "array"])
def test_a_graph_without_nodes(unary):
    graph = FactorGraph(unary)
    assert (graph.n_nodes, graph.n_factors, graph.score([])) == (0, 0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (([[0, 0]], [(0, 1)], EYE), ValueError, r"edges\[0\] is \(0, 1\); expected nodes from 0 t"),
        (([], [(0, 1)], EYE), ValueError, "as there are no nodes"),
        (([[0, 0]] * 2, [(0, 1), (1, 1)], EYE), ValueError, r"edges\[1\] joins node 1 to itself"),
        (([[0, 0]] * 2, [(0, 1, 1)], EYE), ValueError, "must have shape"),
        (([[0, 0]] * 2, [(0.0, 1.0)], EYE), TypeError, "integer nodes"),
        (([[0, 0]] * 2, [(0, 1)]), ValueError, "1 edges but no tables"),
        (([[0, 0]] * 2, [(0, 1)], [EYE, EYE]), ValueError, "1 edges but 2 tables"),
        (([[0, 0], [0, 0, 0]], [(0, 1)], EYE), ValueError, r"shape \(2, 2\); expected \(2, 3\)"),
        (([[0, 0], [0, 0]], [(0, 1)], np.zeros((1, 2, 3))), ValueError, r"tables\[0\] has the sha"),
        (([[0, 0], [0, 0]], [(0, 1)], [np.zeros((3, 2))]), ValueError, r"tables\[0\] has the sha"),
        (([[0, 0], [0, 0]], [(0, 1)], [EYE * np.nan]), ValueError, r"tables\[0\]\[0, 0\] is NaN"),
        (([[0, 0], [0, 0]], [(0, 1)], [EYE + np.inf]), ValueError, r"\+inf"),
        (([[0, np.nan]],), ValueError, r"unary\[0\]\[1\] is NaN"),
        ((np.array([[0, np.inf]]),), ValueError, r"unary\[0, 1\] is \+inf"),
        (([[0], []],), ValueError, "node 1 has no label"),
        ((np.zeros((2, 0)),), ValueError, "node 0 has no label"),
        (([[0, 0]], (), None, [Table((0, 3), EYE)]), ValueError, r"factors\[0\] names the node 3"),
        (
            ([[1e308, 0]] * 3, [(0, 1)], EYE),
            ValueError,
            "as large as 1e.308 overflow in sums over 4",
        ),
        (([[0, 0]] * 2, [(0, 1)] * 2, -1e308 * EYE), ValueError, "as large as 1e.308 overflow"),
        (([[0, 0]] * 2, (), None, [Potts((0, 1), [1e308, 0])]), ValueError, "overflow in sums"),
        (([[0, 0]] * 2, (), None, ["no"]), TypeError, "expected one of Table"),
        (([[0, 0, 0]] * 2, (), None, [Table((0, 1), EYE)]), ValueError, "numbers of labels"),
        (([[0]] * 2, (), None, [ExactlyOne((0, 1), on=1)]), ValueError, "label 1"),
    ],
)
def test_what_makes_no_graph_is_refused(arguments, error, match):
    with pytest.raises(error, match=match):
        FactorGraph(*arguments)


@pytest.mark.parametrize(
    ("labels", "error", "match"),
    [
        ([0], ValueError, "one per node"),
        ([0, 2], ValueError, "node 1 has the labels 0 to 1"),
        ([0, -1], ValueError, "labels.1. is -1"),
        ([0.0, 1.0], TypeError, "integers"),
    ],
)
def test_labellings_that_do_not_fit_are_refused(labels, error, match):
    with pytest.raises(error, match=match):
        FactorGraph([[0, 0]] * 2).score(labels)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_nan_is_refused_in_all_scores(at):
    scores = [np.array([1.0, -np.inf]), np.array([-2.0]), np.zeros(0)]
    check_sums(3, *scores)
    scores[at] = np.append(scores[at], np.nan)
    with pytest.raises(ValueError, match="scores as large as nan overflow"):
        check_sums(3, *scores)
