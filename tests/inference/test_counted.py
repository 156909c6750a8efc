"""Rules as counters: the same labellings with the same scores, and small junction trees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from maxmargin.inference import (
    FactorGraph,
    graph_marginals,
    graph_max_marginals,
    graph_profile,
    k_best_graph,
    solve_graph,
)
from maxmargin.inference.graph import counted
from maxmargin.inference.graph.counted import counted_graph
from maxmargin.inference.graph.counters import Counters
from maxmargin.inference.graph.factors import (
    AtLeastOne,
    AtMostOne,
    Cardinality,
    CustomFactor,
    ExactlyOne,
    Implies,
    Potts,
    Table,
)
from maxmargin.inference.graph.join import with_factors
from maxmargin.inference.graph.junction import find_junction_tree
from tests.graphs import all_labellings, all_scores, random_graph, run_times

COUNTERS = ("exactly_one", "at_most_one", "at_least_one", "cardinality", "potts")


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
        other = counted_graph(graph, counted.APART)
        assert not np.isin(other.shape.kinds, counted.APART).any() or other is graph
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


def test_a_potts_factor_over_many_nodes_is_solved_whole():
    rng = np.random.default_rng(3)
    unary, same = rng.normal(size=(30, 3)), np.array([1.0, 0.5, 2.0])
    graph = FactorGraph(unary, factors=[Potts(range(30), same)])
    # All labellings, and once more those that agree, by what they have more.
    all_alike = unary.sum(axis=0)
    alone = logsumexp(unary, axis=1).sum()
    log_partition = np.log(np.exp(alone) + (np.expm1(same) * np.exp(all_alike)).sum())
    found = graph_marginals(graph)
    assert (found.method, found.is_exact) == ("junction", True)
    assert found.log_partition == pytest.approx(log_partition)
    for v, mine in enumerate(found.node):
        rest = np.exp(alone - logsumexp(unary[v]) + unary[v])
        expected = (rest + np.expm1(same) * np.exp(all_alike)) / np.exp(log_partition)
        np.testing.assert_allclose(mine, expected, atol=1e-9)
    first, second = k_best_graph(graph, 2)
    assert (second.method, second.is_exact) == ("junction", True)
    assert first.score == pytest.approx(solve_graph(graph, "acyclic").score)
    profile = graph_profile(graph, np.zeros(30, dtype=int))
    assert profile.score[0] == pytest.approx(all_alike[0] + same[0])
    assert profile.score.max() == pytest.approx(first.score)


def ruled_tree(rng, n_nodes):
    """A graph without a cycle: rules of all kinds and tables, nodes in any order."""
    kinds = [
        ExactlyOne,
        AtMostOne,
        AtLeastOne,
        lambda nodes: Cardinality(nodes, rng.normal(size=len(nodes) + 1)),
        lambda nodes: Potts(nodes, rng.random(3), -1.0),
        lambda nodes: Table(nodes[:3], rng.normal(size=(3,) * min(3, len(nodes)))),
        lambda nodes: Implies(nodes[:2]),
    ]
    name, n, factors = rng.permutation(n_nodes), 1, []
    while n < n_nodes:
        own = [*range(n, min(n_nodes, n + int(rng.integers(1, 8)))), int(rng.integers(n))]
        n += len(own) - 1
        factors.append(kinds[len(factors) % len(kinds)](rng.permutation(name[own]).tolist()))
    return FactorGraph(rng.normal(size=(n_nodes, 3)), factors=factors)


def test_whatever_has_no_cycle_has_a_small_junction_tree():
    rng = np.random.default_rng(4)
    for _ in range(run_times(10, 4)):
        graph = ruled_tree(rng, int(rng.integers(20, 60)))
        marginals = graph_marginals(graph)
        assert marginals.method == "junction"
        # The limit of low temperatures: k best, marginals and the message passing agree.
        best = solve_graph(graph, "acyclic").score
        assert k_best_graph(graph, 2)[0].score == pytest.approx(best)
        cold = graph_marginals(graph, 1e-3).log_partition * 1e-3
        assert cold == pytest.approx(best, abs=0.1)
        top = graph_max_marginals(graph)
        assert all(
            (row[p == 0.0] == -np.inf).all() for row, p in zip(top, marginals.node, strict=True)
        )


def test_profiles_of_graphs_without_a_cycle():
    rng = np.random.default_rng(5)
    for _ in range(run_times(6, 3)):
        graph = ruled_tree(rng, 8)
        truth = rng.integers(-1, 3, 8)
        scores, rows = all_scores(graph), all_labellings(graph)
        profile = graph_profile(graph, truth)
        cost = ((rows != truth) & (truth >= 0)).sum(axis=1)
        for c, score in enumerate(profile.score):
            best = scores[cost == c].max(initial=-np.inf)
            assert score == (best if best == -np.inf else pytest.approx(best))
            if best == -np.inf:
                assert (profile.outputs[c] == -1).all()
                continue
            found = profile.outputs[c]
            assert graph.score(found) == pytest.approx(best)
            assert ((found != truth) & (truth >= 0)).sum() == c


def test_a_profile_needs_a_junction_tree_that_fits():
    pairs = [(v, u) for v in range(20) for u in range(v)]
    graph = FactorGraph(np.zeros((20, 4)), pairs, np.eye(4))
    with pytest.raises(ValueError, match=r"tables of .* cells .* most_cells of graph_profile"):
        graph_profile(graph, [0] * 20)
    triangle = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2), (2, 0)], -np.eye(2))
    assert graph_profile(triangle, [0, 0, 0]).score.tolist() == [-3.0, -1.0, -1.0, -3.0]
    assert graph_profile(triangle, [-1, -1, -1]).score.tolist() == [-1.0] + [-np.inf] * 3
    with pytest.raises(ValueError, match="at most 3 are"):
        graph_profile(triangle, [0, 0, 0], most_cells=3)


def test_counters_of_a_profile_are_not_made_where_it_is_refused(monkeypatch):
    """The counts of n nodes take n^2 cells: none are made of a grid, a few of a long ring."""
    made = []
    add = Counters.add
    monkeypatch.setattr(Counters, "add", lambda self, n: made.append(n) or add(self, n))
    at = np.arange(24 * 24).reshape(24, 24)
    across, down = np.stack([at[:, 1:], at[:, :-1]], 2), np.stack([at[1:], at[:-1]], 2)
    edges = np.concatenate([across.reshape(-1, 2), down.reshape(-1, 2)])
    grid = FactorGraph(np.zeros((576, 2)), edges, np.eye(2))
    with pytest.raises(ValueError, match=r"tables of .* cells .* most_cells of graph_profile"):
        graph_profile(grid, [0] * 576)
    assert made == []
    ring = FactorGraph(np.zeros((300, 2)), [(v, (v + 1) % 300) for v in range(300)], np.eye(2))
    message = r"tables of more than .* cells, with those .* at most 1e\+05 .* most_cells of graph_p"
    with pytest.raises(ValueError, match=message):
        graph_profile(ring, [0] * 300, most_cells=100_000)
    assert 0 < max(made) < 100


def test_a_factor_of_ones_own_is_refused_by_name_where_its_table_is_needed():
    class Any(CustomFactor):
        nodes = tuple(range(30))

        @staticmethod
        def message(numbers, at, member, incoming, out):
            for x in range(at[member + 1] - at[member]):
                out[x] = 0.0

    graph = FactorGraph(np.zeros((30, 3)), factors=[Any()])
    for ask in (graph_marginals, lambda graph: graph_profile(graph, [0] * 30)):
        with pytest.raises(ValueError, match="factor 0 is a CustomFactor of 30 nodes"):
            ask(graph)


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
