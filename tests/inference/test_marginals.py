"""Marginals and max-marginals that are not exact: where they are, bound, and what they say."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.inference import (
    FactorGraph,
    graph_marginals,
    graph_max_marginals,
    k_best_graph,
    solve_graph,
)
from maxmargin.inference.graph.factors import AtMostOne, Cardinality, ExactlyOne, Potts
from tests.graphs import all_labellings, all_scores, random_graph, run_times

RULES = ("exactly_one", "at_most_one", "at_least_one", "implies", "cardinality", "potts")


def listed_marginals(graph, temperature):
    """Return node marginals and log Z from the list of all labellings; None if there is none."""
    rows, scores = all_labellings(graph), all_scores(graph) / temperature
    if not len(scores) or scores.max() == -np.inf:
        return None, -np.inf
    p = np.exp(scores - scores.max())
    log_partition = scores.max() + np.log(p.sum())
    p /= p.sum()
    sizes = graph.shape.n_labels
    node = [np.bincount(rows[:, v], p, sizes[v]) for v in range(graph.n_nodes)]
    return node, log_partition


def test_loopy_marginals_are_exact_without_cycles():
    rng = np.random.default_rng(0)
    for _ in range(run_times(100, 20)):
        graph = random_graph(
            rng, most_labels=3, most_nodes=5, forbidden=0.1, rules=RULES, is_forest=True
        )
        temperature = float(rng.choice([0.3, 1.0, 2.0]))
        node, log_partition = listed_marginals(graph, temperature)
        found = graph_marginals(graph, temperature, method="loopy")
        assert found.method == "loopy" and not found.is_exact and found.is_converged
        if node is None:
            assert found.log_partition == -np.inf
            continue
        assert found.log_partition == pytest.approx(log_partition, abs=1e-5)
        for mine, theirs in zip(found.node, node, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-5)
        for members, table in zip(found.members, found.factor, strict=True):
            others = tuple(range(1, len(members)))
            np.testing.assert_allclose(table.sum(axis=others), node[members[0]], atol=1e-5)


def test_approximate_marginals_fit_together_and_bound():
    rng = np.random.default_rng(1)
    errors = {"loopy": [], "smoothed": []}
    for _ in range(run_times(60, 10)):
        graph = random_graph(rng, 5, most_labels=3, n_factors=7, most_order=3)
        node, log_partition = listed_marginals(graph, 1.0)
        for method, own in errors.items():
            found = graph_marginals(graph, method=method)
            assert not found.is_exact and found.method == method
            if method == "smoothed":
                assert found.is_converged
                assert found.log_partition >= log_partition - 1e-9
            for members, table in zip(found.members, found.factor, strict=True):
                assert table.sum() == pytest.approx(1.0)
                if not found.is_converged:
                    continue
                others = tuple(range(1, len(members)))
                np.testing.assert_allclose(
                    table.sum(axis=others), found.node[members[0]], atol=1e-5
                )
            own += [np.abs(a - b).max() for a, b in zip(found.node, node, strict=True)]
    assert np.mean(errors["loopy"]) < 0.1
    assert np.mean(errors["smoothed"]) < 0.3


def test_auto_is_exact_where_the_junction_tree_fits():
    rng = np.random.default_rng(2)
    graph = random_graph(rng, 5, most_labels=3, n_factors=7)
    _, log_partition = listed_marginals(graph, 1.0)
    found = graph_marginals(graph, method="auto")
    assert found.is_exact and found.method in ("forest", "junction")
    assert found.log_partition == pytest.approx(log_partition)
    other = graph_marginals(graph, method="auto", most_cells=1)
    assert other.method == "loopy" and not other.is_exact
    with pytest.raises(ValueError, match="the junction tree needs tables"):
        graph_marginals(graph, most_cells=1)


def test_label_bounds_are_no_less_than_max_marginals():
    rng = np.random.default_rng(3)
    tight = 0
    n_graphs = run_times(80, 20)
    for _ in range(n_graphs):
        graph = random_graph(rng, most_labels=3, forbidden=0.1, rules=RULES, is_whole=True)
        rows, scores = all_labellings(graph), all_scores(graph)
        found = graph_max_marginals(graph, method="bound")
        assert found.method == "bound" and not found.is_exact
        exact = graph_max_marginals(graph)
        assert exact.is_exact
        gaps = [0.0]
        for v in range(graph.n_nodes):
            for x in range(graph.shape.n_labels[v]):
                best = scores[rows[:, v] == x].max()
                assert exact[v][x] == pytest.approx(best) or exact[v][x] == best
                assert found[v][x] >= best - 1e-9
                if best > -np.inf:
                    gaps.append(found[v][x] - best)
        tight += max(gaps) < 1e-6
    assert tight > n_graphs / 3


def test_rules_over_many_nodes_are_counted():
    """A chain with rules over all its nodes, 3^25 cells as a table."""
    rng = np.random.default_rng(4)
    n = run_times(25, 8)
    edges = [(v, v + 1) for v in range(n - 1)]
    rules = [
        ExactlyOne(range(n), 2),
        Cardinality(range(n), np.r_[np.zeros(4), [-np.inf] * (n - 3)], 1),
    ]
    graph = FactorGraph(rng.normal(size=(n, 3)), edges, rng.normal(size=(3, 3)), rules)
    best = solve_graph(graph)
    assert best.is_exact and best.method == "junction" and len(best.labels) == n
    assert (best.labels == 2).sum() == 1 and (best.labels == 1).sum() <= 3
    ranked = k_best_graph(graph, 3)
    assert ranked[0].score == pytest.approx(best.score) and len(ranked[1].labels) == n
    top = graph_max_marginals(graph)
    assert top.method == "junction" and len(top) == n
    assert max(row.max() for row in top) == pytest.approx(best.score)
    found = graph_marginals(graph)
    assert found.is_exact and len(found.node) == n and len(found.factor) == n - 1
    assert sum(row[2] for row in found.node) == pytest.approx(1.0)
    assert sum(row[1] for row in found.node) <= 3.0
    near = graph_marginals(graph, method="loopy")
    assert sum(row[2] for row in near.node) == pytest.approx(1.0, abs=0.2)


def test_what_cannot_be_had_is_said():
    graph = FactorGraph(np.zeros((3, 2)), factors=[ExactlyOne((0, 1)), ExactlyOne((1, 2))])
    with pytest.raises(ValueError, match="method is 'odd'; expected one of 'exact', 'auto'"):
        graph_marginals(graph, method="odd")
    with pytest.raises(ValueError, match="method is 'loopy'; expected one of 'exact', 'auto'"):
        graph_max_marginals(graph, method="loopy")
    with pytest.raises(ValueError, match="max_iter"):
        graph_marginals(graph, method="loopy", max_iter=0)
    forbidden = FactorGraph(
        np.zeros((2, 2)), factors=[ExactlyOne((0, 1)), AtMostOne((0, 1), (1, 0)), ExactlyOne((0,))]
    )
    for method in ("exact", "loopy", "smoothed"):
        assert graph_marginals(forbidden, method=method).log_partition == -np.inf
    large = FactorGraph(np.zeros((20, 3)), factors=[Potts(range(20), np.ones(3))] * 2)
    with pytest.raises(ValueError, match="factor 0 joins 20 nodes"):
        graph_marginals(large, method="loopy")
