"""Nodes that another settles are taken out, and nothing of the scores is lost."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.inference import FactorGraph, solve_graph
from maxmargin.inference.graph.contract import contract
from maxmargin.inference.graph.factors import ExactlyOne, Table
from tests.graphs import random_graph, run_times
from tests.listed_graphs import listed


def settling(rng, n_rows, n_columns):
    """Return a table that allows at most one label of the columns for each of the rows."""
    table = np.full((n_rows, n_columns), -np.inf)
    rows = rng.random(n_rows) < 0.9
    table[rows, rng.integers(0, n_columns, rows.sum())] = rng.normal(size=rows.sum())
    return table


def random_case(rng):
    """Return a random graph to which some such tables were added."""
    graph = random_graph(rng, forbidden=0.05, most_order=4, most_labels=3, is_whole=True)
    shape, n = graph.shape, graph.n_nodes
    factors = []
    for f in range(graph.n_factors):
        nodes = shape.members[shape.member_at[f] : shape.member_at[f + 1]]
        sizes = shape.n_labels[nodes]
        table = graph.tables[shape.table_at[f] :][: sizes.prod()].reshape(sizes)
        factors.append(Table(tuple(nodes.tolist()), table))
    for _ in range(rng.integers(0, 4) if n > 1 else 0):
        a, b = rng.permutation(n)[:2].tolist()
        factors.append(Table((a, b), settling(rng, shape.n_labels[a], shape.n_labels[b])))
    return FactorGraph(np.split(graph.unary, shape.unary_at[1:-1]) if n else [], factors=factors)


def test_best_scores_are_kept_and_labellings_come_back(rng):
    n_smaller = n_feasible = 0
    for _ in range(run_times(600, 60)):
        case = listed(random_case(rng))
        found = contract(case.graph)
        if found is None:
            continue
        n_smaller += 1
        assert found.graph.n_nodes < case.graph.n_nodes
        assert found.graph.tables.size <= case.graph.tables.size
        fewer = listed(found.graph)
        # Each feasible labelling is one of those, with the same score, and there are no others.
        np.testing.assert_allclose(
            np.sort(fewer.scores[fewer.scores > -np.inf]),
            np.sort(case.scores[case.scores > -np.inf]),
            atol=1e-9,
        )
        for labels, score in zip(fewer.outputs, fewer.scores, strict=True):
            if score > -np.inf:
                n_feasible += 1
                assert case.graph.score(found.labels_of(labels)) == pytest.approx(score)
        answer = solve_graph(case.graph)
        assert answer.is_exact
        assert answer.score == pytest.approx(case.best)
        assert answer.labels is None or case.graph.score(answer.labels) == answer.score
    assert n_smaller > 10
    assert n_feasible > 10


def test_a_chain_of_equal_nodes_becomes_one():
    same = np.where(np.eye(3) > 0, 0.0, -np.inf)
    unary = np.arange(12.0).reshape(4, 3)
    found = contract(FactorGraph(unary, [(1, 0), (1, 2), (3, 2)], same))
    assert (found.graph.n_nodes, found.graph.n_factors) == (1, 0)
    np.testing.assert_array_equal(found.graph.unary, unary.sum(axis=0))
    assert found.labels_of(np.array([2], dtype=np.int32)).tolist() == [2, 2, 2, 2]


def test_what_is_left_alone(rng):
    unary = rng.normal(size=(3, 2))
    same = np.where(np.eye(2) > 0, 0.0, -np.inf)
    edges = [(0, 1), (1, 2), (2, 0)]
    assert contract(FactorGraph(unary, edges, np.eye(2))) is None
    assert contract(FactorGraph(unary, edges, [[0.0, -np.inf], [0.0, 0.0]])) is None
    assert contract(FactorGraph([])) is None
    rules = [ExactlyOne((0, 1, 2))]
    assert contract(FactorGraph(unary, [(0, 1)], same, rules)) is None
    # The first node settles the second, but has more labels: tables of the second would grow.
    wide = [[0.0, -np.inf], [0.0, -np.inf], [-np.inf, 0.0]]
    assert contract(FactorGraph([[0.0] * 3, [0.0] * 2], [(0, 1)], [wide])) is None
