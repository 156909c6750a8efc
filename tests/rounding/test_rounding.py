"""Roundings: laws of pairs against the kernels, exactly and by drawing; guarantees; bad input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from maxmargin.core.compile import Kernel
from maxmargin.inference import FactorGraph
from maxmargin.inference.programs.graphs import GraphProgram
from maxmargin.rounding import (
    ROUNDINGS,
    Complete,
    Conditional,
    Interval,
    KleinbergTardos,
    Max,
    as_rounding,
    check_marginals,
    complete,
    expected_score,
    interval,
    round_graph,
    solve_rounded,
)
from tests.graphs import all_labellings, all_scores, random_graph

RANDOM = [Complete(), KleinbergTardos(), Interval(1), Interval(2), Interval(3), Interval(50)]
PAIRS = {"most_order": 2}


def simplex(rng, n_labels, zeros=0.3):
    row = rng.random(n_labels) * (rng.random(n_labels) >= zeros)
    return row / row.sum() if row.sum() > 0 else np.eye(n_labels)[rng.integers(n_labels)]


def pairs(rng, count):
    """Marginals of two nodes, now and then with different numbers of labels, equal or integral."""
    for n in range(count):
        a, b = simplex(rng, int(rng.integers(1, 6))), simplex(rng, int(rng.integers(1, 6)))
        if n % 5 == 0:
            b = a.copy()
        if n % 7 == 0:
            a = np.eye(len(a))[rng.integers(len(a))]
        yield a, b


def two_nodes(a, b):
    return FactorGraph([np.zeros(len(a)), np.zeros(len(b))]), np.concatenate([a, b])


# --- Laws, exactly


def cuts(*rows):
    """Return the middles and lengths of the pieces into which sums of these rows cut 0 .. 1."""
    sums = {0.0, 1.0}
    for row in rows:
        for first in range(len(row)):
            sums.update(np.minimum(np.cumsum(row[first:]), 1.0).tolist())
    ends = np.array(sorted(sums))
    return (ends[1:] + ends[:-1]) / 2, np.diff(ends)


def complete_law(a, b):
    """Integrate over r: between two cuts the kernel gives the same labels."""
    graph, mu = two_nodes(a, b)
    law = np.zeros((len(a), len(b)))
    labels = np.empty(2, dtype=np.int32)
    for r, length in zip(*cuts(a, b), strict=True):
        complete.complete_labels(graph.shape, mu, r, labels)
        law[labels[0], labels[1]] += length
    return law


def window_law(a, b, width):
    """Solve the Markov chain whose steps are calls of the kernel with one window and one r."""
    graph, mu = two_nodes(a, b)
    most = max(len(a), len(b))
    n_windows = most + width - 1
    first_step = {}
    for first, (r, length) in itertools.product(
        range(1 - width, most), zip(*cuts(a, b), strict=True)
    ):
        labels = np.full(2, -1, dtype=np.int32)
        one = np.array([first], dtype=np.int64), np.array([r])
        interval.window_labels(graph.shape, mu, width, *one, labels)
        key = tuple(labels.tolist())
        first_step[key] = first_step.get(key, 0.0) + length / n_windows
    alone = [np.zeros(len(a)), np.zeros(len(b))]
    for (i, j), share in first_step.items():
        if i >= 0:
            alone[0][i] += share
        if j >= 0:
            alone[1][j] += share
    # A node that is left alone takes label x with a probability proportional to its first step.
    alone = [row / row.sum() for row in alone]
    law = np.zeros((len(a), len(b)))
    for (i, j), share in first_step.items():
        if i >= 0 and j >= 0:
            law[i, j] += share
        elif i >= 0:
            law[i] += share * alone[1]
        elif j >= 0:
            law[:, j] += share * alone[0]
    return law / (1.0 - first_step.get((-1, -1), 0.0))


@pytest.mark.parametrize("rounding", RANDOM, ids=str)
def test_pair_laws_are_those_of_the_kernels(rounding, rng):
    for a, b in pairs(rng, 60):
        law = rounding.pair_law(a, b)
        width = 1 if isinstance(rounding, KleinbergTardos) else getattr(rounding, "width", None)
        exact = complete_law(a, b) if width is None else window_law(a, b, width)
        np.testing.assert_allclose(law, exact, atol=1e-12)
        np.testing.assert_allclose(law.sum(axis=1), a, atol=1e-12)
        np.testing.assert_allclose(law.sum(axis=0), b, atol=1e-12)


def test_kleinberg_tardos_is_the_interval_of_width_one(rng):
    for a, b in pairs(rng, 60):
        closed = KleinbergTardos().pair_law(a, b)
        np.testing.assert_allclose(closed, Interval(1).pair_law(a, b), atol=1e-12)
        most = max(len(a), len(b))
        distance = np.abs(np.resize([*a, *[0] * most], most) - np.resize([*b, *[0] * most], most))
        assert 1.0 - np.trace(closed) <= distance.sum() + 1e-12


def test_wide_windows_come_near_to_complete_rounding(rng):
    # Windows that stick out are 4 of every 200 or so.
    for a, b in pairs(rng, 10):
        law = Interval(200).pair_law(a, b)
        np.testing.assert_allclose(law, Complete().pair_law(a, b), atol=0.05)


# --- Laws, by drawing


@pytest.mark.parametrize("rounding", [Complete(), KleinbergTardos(), Interval(3)], ids=str)
def test_draws_follow_the_law(rounding):
    # n draws of an event of probability p deviate from p by more than 5 sqrt(p (1 - p) / n) + 5 / n
    # about once in a million times, and the seed is fixed.
    rng = np.random.default_rng(5)
    rows = [simplex(rng, 4), simplex(rng, 4), simplex(rng, 3)]
    graph, mu = FactorGraph([np.zeros(len(row)) for row in rows]), np.concatenate(rows)
    n_draws = 8000
    drawn = np.array([rounding.draw(graph, mu, rng) for _ in range(n_draws)])
    for u, v in ((0, 1), (1, 2), (2, 0)):
        law = rounding.pair_law(rows[u], rows[v])
        counts = np.zeros_like(law)
        np.add.at(counts, (drawn[:, u], drawn[:, v]), 1.0)
        room = 5.0 * np.sqrt(law * (1.0 - law) / n_draws) + 5.0 / n_draws
        assert (np.abs(counts / n_draws - law) <= room).all()
        assert not counts[law == 0.0].any()


@pytest.mark.parametrize("rounding", [*RANDOM[:3], Max()], ids=str)
def test_expected_score_is_the_mean_over_the_law_of_all_labellings(rounding, rng):
    # On a path of two nodes the law of pairs is the law of labellings.
    for _ in range(25):
        graph = random_graph(rng, 2, most_order=2, n_factors=2)
        mu = check_marginals(graph, [simplex(rng, k) for k in graph.shape.n_labels])
        law = rounding.pair_law(*np.split(mu, graph.shape.unary_at[1:-1]))
        labellings, scores = all_labellings(graph), all_scores(graph)
        mean = sum(law[tuple(x)] * s for x, s in zip(labellings, scores, strict=True))
        assert expected_score(graph, mu, rounding) == pytest.approx(mean, abs=1e-9)


def test_expected_score_of_what_may_be_forbidden_is_minus_infinity():
    graph = FactorGraph(np.zeros((2, 2)), [(0, 1)], [[0.0, -np.inf], [0.0, 0.0]])
    half, one = np.array([0.5, 0.5, 0.2, 0.8]), np.array([0.0, 1.0, 0.2, 0.8])
    assert expected_score(graph, half, Complete()) == -np.inf
    assert expected_score(graph, one, Complete()) == 0.0
    with pytest.raises(TypeError, match="Conditional has no law of pairs"):
        expected_score(graph, half, Conditional())


# --- The example of the source: complete rounding fails where Kleinberg-Tardos never does


@pytest.mark.parametrize("n", [4, 6, 10])
def test_the_example_of_uniform_labelling(n):
    edges = list(itertools.combinations(range(n), 2))
    unary = np.where(np.eye(n) > 0, -np.inf, 0.0)
    graph = FactorGraph(unary, edges, np.eye(n) - 1.0)
    mu = check_marginals(graph, (1.0 - np.eye(n)) / (n - 1))
    best = -(n - 1.0)  # all but one node have the same label
    rng = np.random.default_rng(n)
    for _ in range(20):
        assert graph.score(KleinbergTardos().draw(graph, mu, rng)) == best
    assert expected_score(graph, mu, KleinbergTardos()) == pytest.approx(best)
    middles, lengths = cuts(*mu.reshape(n, n))
    labels = np.empty(n, dtype=np.int32)
    share = 0.0
    for r, length in zip(middles, lengths, strict=True):
        complete.complete_labels(graph.shape, mu, r, labels)
        share += length * (graph.score(labels) == best)
    assert share == pytest.approx(2.0 / (n - 1))
    if n == 10:
        assert expected_score(graph, mu, Complete()) == pytest.approx(-55.0 / 3.0)


# --- All of them


@pytest.mark.parametrize("name", ROUNDINGS)
def test_integral_marginals_are_returned(name, rng):
    for _ in range(30):
        graph = random_graph(rng, **PAIRS)
        labels = rng.integers(0, graph.shape.n_labels)
        # Conditional rounding looks at the potentials: give it none.
        graph = FactorGraph([np.zeros(k) for k in graph.shape.n_labels])
        rows = [np.eye(k)[x] for k, x in zip(graph.shape.n_labels, labels, strict=True)]
        if name == "conditional":
            rows = [row * 5.0 for row in rows]
            graph = FactorGraph(rows)
            rows = [row / 5.0 for row in rows]
        np.testing.assert_array_equal(round_graph(graph, rows, name), labels)


@pytest.mark.parametrize("name", ROUNDINGS)
def test_roundings_of_linear_relaxations(name, rng):
    for _ in range(30):
        graph = random_graph(rng, **PAIRS)
        point = GraphProgram(graph.shape, integral=False).solve(graph.unary, graph.tables)
        scores = []
        for options in ({}, {"polish_by": "local"}, {"polish_by": "expansion"}):
            labels = round_graph(graph, point.unary, name, seed=3, **options)
            np.testing.assert_array_equal(
                labels, round_graph(graph, point.unary, name, seed=3, **options)
            )
            scores.append(graph.score(labels))
            assert scores[-1] <= point.bound + 1e-9
        assert scores == sorted(scores)
        best_of = round_graph(graph, point.unary, name, n_draws=5, seed=3)
        assert graph.score(best_of) >= scores[0]
        if (np.abs(point.unary - 0.5) > 0.499999).all():
            assert scores[0] == pytest.approx(point.bound, abs=1e-6)


def test_no_label_without_mass_is_drawn(rng):
    for rounding in RANDOM:
        for _ in range(40):
            graph = FactorGraph([np.zeros(k) for k in rng.integers(1, 6, 5)])
            mu = check_marginals(graph, [simplex(rng, k, 0.6) for k in graph.shape.n_labels])
            labels = rounding.draw(graph, mu, rng)
            assert (mu[graph.shape.unary_at[:-1] + labels] > 0.0).all()


def test_shuffled_conditional_rounding_has_several_answers():
    graph = FactorGraph(np.zeros((5, 2)), [(v, v + 1) for v in range(4)], 1.0 - np.eye(2))
    mu = np.full(10, 0.5)
    found = {
        tuple(round_graph(graph, mu, Conditional(shuffle=True), seed=seed)) for seed in range(20)
    }
    assert len(found) > 1


def test_python_and_compiled_code_agree(monkeypatch, rng):
    graph = random_graph(rng, 6, most_order=2)
    mu = np.concatenate([simplex(rng, k) for k in graph.shape.n_labels])
    expected = [round_graph(graph, mu, rounding, seed=9).tolist() for rounding in RANDOM]
    for module in (complete, interval):
        for name, value in vars(module).copy().items():
            if isinstance(value, Kernel):
                monkeypatch.setattr(module, name, value.py_func)
    assert not isinstance(interval.window_labels, Kernel)
    for rounding, labels in zip(RANDOM, expected, strict=True):
        assert round_graph(graph, mu, rounding, seed=9).tolist() == labels


# --- Input


def test_marginals_within_tolerance_are_mended():
    graph = FactorGraph(np.zeros((2, 2)))
    mended = check_marginals(graph, np.array([-1e-9, 1.0, 0.5, 0.5 + 1e-7]))
    np.testing.assert_allclose(mended.reshape(2, 2).sum(axis=1), 1.0, atol=1e-15)
    assert mended.min() >= 0.0


@pytest.mark.parametrize(
    ("mu", "message"),
    [
        (np.array([0.5, 0.5, 1.0]), r"mu has shape \(3,\); expected \(4,\)"),
        ([[0.5, 0.5]], r"mu has 1 rows.* 2 nodes; .* mu\[1\]"),
        ([[0.5, 0.5], [1.0]], r"does not fit is mu\[1\]"),
        ([[0.5, 0.5], [0.7, 0.7]], "mu of node 1 sums to 1.4"),
        ([[0.5, 0.5], [-0.5, 1.5]], "mu of node 1, label 0, is -0.5"),
        ([[np.nan, 0.5], [0.5, 0.5]], "mu of node 0, label 0, is nan"),
    ],
)
def test_bad_marginals_are_refused(mu, message):
    with pytest.raises(ValueError, match=message):
        round_graph(FactorGraph(np.zeros((2, 2))), mu)


@pytest.mark.parametrize("relaxation", ["smoothed", "admm", "lp"])
def test_relaxations_by_name(relaxation):
    graph = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], 1.0 - np.eye(2))
    found = solve_rounded(graph, "conditional", relaxation=relaxation)
    assert found.method == f"{relaxation}+conditional"
    assert (found.score, found.is_exact) == (2.0, False)
    assert found.bound == pytest.approx(3.0)  # half of each label everywhere
    never = FactorGraph(np.zeros((2, 1)), [(0, 1)], [[-np.inf]])
    assert solve_rounded(never, relaxation=relaxation).labels is None


def test_bad_options_are_refused():
    graph = FactorGraph(np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"rounding='best' is not known\. There are: 'max'"):
        as_rounding("best")
    with pytest.raises(ValueError, match="polish_by='icm' is not known"):
        round_graph(graph, [[1.0, 0.0]], polish_by="icm")
    with pytest.raises(ValueError, match="n_draws must be at least 1"):
        round_graph(graph, [[1.0, 0.0]], n_draws=0)
    with pytest.raises(ValueError, match="width must be a whole number >= 1, got 0"):
        Interval(0)


def test_a_graph_without_nodes():
    for name in ROUNDINGS:
        assert round_graph(FactorGraph([]), np.zeros(0), name).shape == (0,)
