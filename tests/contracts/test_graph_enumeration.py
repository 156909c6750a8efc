"""Every method for factor graphs on thousands of small graphs, beside the list of all labellings.

What tests/inference has of this is small enough for `make test`. Mistakes that need a rare mixture
of ties, forbidden labels, single labels and rules come to light among many graphs only. Scores are
added up here in plain Python, apart from the compiled code that is tested. The same file runs once
more with kernels as Python (tests/inference/test_graphs_uncompiled.py), on fewer graphs.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest

from maxmargin.inference import (
    FactorGraph,
    graph_marginals,
    graph_max_marginals,
    graph_profile,
    k_best_graph,
    solve_graph,
)
from maxmargin.inference.graph.factors import (
    AtLeastOne,
    AtMostOne,
    Cardinality,
    ExactlyOne,
    Implies,
    Potts,
    Table,
)
from maxmargin.inference.graph.public import METHODS
from maxmargin.rounding import ROUNDINGS, solve_rounded
from tests.graphs import run_times

#: Methods whose answers are always proved.
PROVING = ("auto", "forest", "acyclic", "junction", "cut", "ilp")


class Case(NamedTuple):
    """A graph, all its labellings and their scores."""

    graph: FactorGraph
    labellings: np.ndarray
    scores: np.ndarray

    @property
    def best(self):
        return float(self.scores.max())

    @property
    def close(self):
        return 1e-7 * (1.0 + (abs(self.best) if np.isfinite(self.best) else 0.0))

    def score_of(self, labels):
        return float(self.scores[(self.labellings == labels).all(axis=1)][0])


def make_rule(rng, nodes, sizes, draw):
    """A rule over these nodes; first labels are on, or last ones."""
    first, last = [0] * len(sizes), [size - 1 for size in sizes]
    rules = [
        lambda: ExactlyOne(nodes, on=last),
        lambda: AtMostOne(nodes, on=first),
        lambda: AtLeastOne(nodes, on=last),
        lambda: Cardinality(nodes, draw(len(sizes) + 1), on=first),
    ]
    if len(sizes) == 2:
        rules.append(lambda: Implies(nodes, on=first))
    if len(set(sizes)) == 1:
        rules.append(lambda: Potts(nodes, 2.0 * rng.random(sizes[0])))
    return rules[rng.integers(len(rules))]()


def make_case(rng) -> Case:
    """A graph of one to five nodes; tables of up to four of them, and rules of all kinds."""
    n = int(rng.integers(1, 6))
    sizes = np.full(n, 2) if rng.random() < 0.65 else rng.integers(1, 4, n)
    only_pairs, has_rules = rng.random() < 0.5, rng.random() < 0.4
    has_ties, has_walls = rng.random() < 0.4, rng.random() < 0.5

    def draw(*shape):
        values = rng.integers(-2, 3, shape) * 1.0 if has_ties else 3.0 * rng.normal(size=shape)
        return np.where(rng.random(shape) < 0.15, -np.inf, values) if has_walls else values

    unary, factors = [draw(size) for size in sizes], []
    for _ in range(rng.integers(0, n + 2)):
        order = min(n, 2 if only_pairs else int(rng.integers(1, 5)))
        nodes = tuple(rng.permutation(n)[:order].tolist())
        own = sizes[list(nodes)].tolist()
        is_rule = has_rules and rng.random() < 0.6
        factors.append(make_rule(rng, nodes, own, draw) if is_rule else Table(nodes, draw(*own)))
    labellings = np.array(list(itertools.product(*map(range, sizes))), dtype=int)
    scores = [
        sum(row[x] for row, x in zip(unary, labels, strict=True))
        + sum(factor.value(tuple(labels[list(factor.nodes)])) for factor in factors)
        for labels in labellings
    ]
    return Case(FactorGraph(unary, factors=factors), labellings, np.array(scores))


def check_answer(case, answer):
    assert answer.bound >= case.best - case.close
    if answer.labels is None:
        assert answer.score == -np.inf and answer.is_exact == (answer.bound == -np.inf)
        return
    assert answer.score == pytest.approx(case.score_of(answer.labels))
    assert -np.inf < answer.score <= answer.bound + case.close
    assert not answer.is_exact or answer.score >= case.best - 10.0 * case.close


@pytest.mark.parametrize("seed", [20, 21])  # two tests, so that none looks as if it hung
def test_every_method_on_thousands_of_graphs(seed):
    rng = np.random.default_rng(seed)
    answered: Counter[str] = Counter()
    orders: Counter[int] = Counter()
    n_draws = run_times(2200, 1000)
    for _ in range(n_draws):
        case = make_case(rng)
        orders[int(np.diff(case.graph.shape.member_at).max(initial=0))] += 1
        for method in METHODS:
            try:
                answer = solve_graph(case.graph, method)
            except ValueError:
                continue  # the method is for other graphs
            answered[method] += 1
            check_answer(case, answer)
            assert answer.is_exact or method not in PROVING
    assert set(answered) == set(METHODS)
    assert min(answered.values()) >= 0.45 * n_draws, answered
    assert set(orders) == {0, 1, 2, 3, 4} and min(orders[3], orders[4]) >= 0.04 * n_draws, orders


def check_profile(case, rng):
    truth = np.array([rng.integers(-1, k) for k in case.graph.shape.n_labels])
    wrong = ((case.labellings != truth) & (truth >= 0)).sum(axis=1)
    found = graph_profile(case.graph, truth)
    for c, (score, labels) in enumerate(zip(found.score, found.outputs, strict=True)):
        best = case.scores[wrong == c].max(initial=-np.inf)
        if best == -np.inf:
            assert score == -np.inf and (labels == -1).all()
        else:
            assert score == pytest.approx(best, abs=1e-7)
            assert case.score_of(labels) == pytest.approx(best, abs=1e-7)
            assert ((labels != truth) & (truth >= 0)).sum() == c


def test_marginals_the_k_best_profiles_and_roundings_on_thousands_of_graphs():
    rng = np.random.default_rng(22)
    for _ in range(run_times(2000, 1000)):
        case = make_case(rng)
        found = k_best_graph(case.graph, 4)
        best = np.sort(case.scores[case.scores > -np.inf])[::-1]
        np.testing.assert_allclose([answer.score for answer in found], best[:4], atol=1e-7)
        assert len({tuple(answer.labels) for answer in found}) == len(found)
        assert found.bound >= best[4:].max(initial=-np.inf) - 1e-7
        check_profile(case, rng)
        if case.best == -np.inf:
            assert graph_marginals(case.graph).log_partition == -np.inf
            continue
        p = np.exp(case.scores - case.best)
        exact, even = graph_marginals(case.graph), graph_marginals(case.graph, method="smoothed")
        log_partition = case.best + np.log(p.sum())
        assert exact.log_partition == pytest.approx(log_partition, abs=1e-7)
        assert even.log_partition >= log_partition - 1e-6
        best_with = graph_max_marginals(case.graph)
        above = graph_max_marginals(case.graph, method="bound")
        for v, size in enumerate(case.graph.shape.n_labels.tolist()):
            is_on = [case.labellings[:, v] == x for x in range(size)]
            shares = np.array([p[on].sum() for on in is_on]) / p.sum()
            top = np.array([case.scores[on].max() for on in is_on])
            np.testing.assert_allclose(exact.node[v], shares, atol=1e-8)
            np.testing.assert_allclose(best_with[v], top, atol=1e-7)
            assert (above[v] >= top - 1e-6).all()
        rounding = list(ROUNDINGS)[rng.integers(len(ROUNDINGS))]
        relaxation = "admm" if rng.random() < 0.3 else "auto"
        check_answer(case, solve_rounded(case.graph, rounding, relaxation=relaxation))
