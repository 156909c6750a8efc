"""Rules as counters: the same labellings with the same scores, and small junction trees."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph import counted
from maxmargin.inference.graph.counted import counted_graph
from maxmargin.inference.graph.factors import AtMostOne, Cardinality, ExactlyOne, Table
from maxmargin.inference.graph.join import with_factors
from maxmargin.inference.graph.junction import find_junction_tree
from tests.graphs import all_labellings, all_scores, random_graph, run_times

COUNTERS = ("exactly_one", "at_most_one", "at_least_one", "cardinality")


@pytest.mark.parametrize("is_forest", [True, False], ids=["forest", "any"])
def test_scores_are_those_of_the_rules(is_forest, monkeypatch):
    monkeypatch.setattr(counted, "SMALL", 0)
    rng = np.random.default_rng(0)
    for _ in range(run_times(60, 30)):
        graph = random_graph(
            rng,
            most_nodes=4,
            most_labels=3,
            n_factors=3,
            forbidden=0.1,
            rules=COUNTERS,
            is_forest=is_forest,
        )
        other = counted_graph(graph)
        assert not np.isin(other.shape.kinds, counted.COUNTING).any() or other is graph
        n, n_labels = graph.n_nodes, other.shape.n_labels
        for labels, score in zip(all_labellings(graph), all_scores(graph), strict=True):
            # Given the labels, one choice of counts at most is allowed.
            rest = [range(k) for k in n_labels[n:]]
            values = [other.score([*labels, *counts]) for counts in np.ndindex(*map(len, rest))]
            assert sum(value > -np.inf for value in values) <= 1
            assert max(values) == pytest.approx(score) or max(values) == score


def test_counters_follow_a_tree():
    rng = np.random.default_rng(1)
    n, k = 60, 3
    edges = [(v, int(rng.integers(v))) for v in range(1, n)]
    rules = [ExactlyOne(range(n), 2), Cardinality(range(0, n, 2), np.arange(31) % 7, 1)]
    graph = FactorGraph(rng.normal(size=(n, k)), edges, np.eye(k), rules)
    assert find_junction_tree(graph.shape, 3e7) is None
    tree = find_junction_tree(counted_graph(graph).shape, 3e7)
    assert tree is not None and tree.n_cells < 2e6


def test_small_rules_and_tables_are_left():
    graph = FactorGraph(np.zeros((4, 2)), factors=[ExactlyOne((0, 1, 2)), Table((0,), [1.0, 2.0])])
    assert counted_graph(graph) is graph


def test_a_graph_with_further_factors_has_the_sum_of_both():
    rng = np.random.default_rng(2)
    for _ in range(run_times(40, 20)):
        graph = random_graph(rng, 4, most_labels=3, n_factors=4)
        rule = ExactlyOne((0, 2), rng.integers(0, graph.shape.n_labels[[0, 2]]))
        table = Table((3, 1), rng.normal(size=graph.shape.n_labels[[3, 1]]))
        more = with_factors(graph, [rule, table])
        for labels, score in zip(all_labellings(graph), all_scores(graph), strict=True):
            own = sum(each.value(labels[list(each.nodes)]) for each in (rule, table))
            assert more.score(labels) == pytest.approx(score + own)


def test_factors_are_added_to_those_of_a_graph():
    graph = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2)], np.eye(2))
    more = with_factors(graph, [Table((1, 0), [[0.0, 1.0], [0.0, 0.0]]), AtMostOne((0, 2))])
    assert more.n_factors == 3  # the tables over 0 and 1 are one
    assert more.score([1, 0, 0]) == 2.0 and more.score([1, 0, 1]) == -np.inf
    with pytest.raises(TypeError, match="graph of tables"):
        with_factors(more, [AtMostOne((0, 1))])
    with pytest.raises(ValueError, match=r"factors\[0\] names the node 7"):
        with_factors(graph, [AtMostOne((0, 7))])
