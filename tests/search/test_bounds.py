"""Searches over oracles that are cut short, or that are programmes: what they say must hold."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import GraphSVM, MultilabelSVM, TreeSVM
from maxmargin.costs import Hamming, tabulate
from maxmargin.datasets import make_label_sets
from maxmargin.search import Angular, ConvexHull
from maxmargin.structures import labels_data
from maxmargin.surrogates import SlackRescaling
from maxmargin.training.task import Task

EDGES = [(a, b) for a in range(5) for b in range(a + 1, 5)]


def sets(n=12):
    data = make_label_sets(n, 3, 5, random_state=0)
    return data.X_train, np.asarray(data.y_train)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("search", ["auto", ConvexHull(integral=False)], ids=str)
def test_a_time_limit_that_strikes_leaves_a_bound(search):
    """The primal is never below the true one, and what the search missed is said."""
    X, Y = sets()
    model = MultilabelSVM(
        pairwise="full", inference="program", surrogate="slack", search=search,
        oracle_time_limit=1e-7, tol=0.3, max_iter=3, random_state=0,
    ).fit(X, Y)  # fmt: skip
    result = model.result_
    exact = Task(
        labels_data(X, Y, EDGES, inference="listed"),
        tabulate(Hamming(), labels_data(X, Y), range(5)), len(X), np.ones(len(X)),
    ).problem(SlackRescaling(), 1.0 / len(X), compile=False)  # fmt: skip
    assert result.primal >= exact.primal(result.w) - 1e-9
    assert 0 < result.n_open <= len(X) and f"{result.n_open} examples open" in repr(result)
    assert result.search_gap > 0.0 and result.status != "converged"


@pytest.mark.parametrize("search", ["angular", ConvexHull(fallback="k_best")], ids=str)
def test_searches_that_a_time_limit_would_mislead_are_refused(search):
    X, Y = sets(6)
    model = MultilabelSVM(
        pairwise="full", inference="program", surrogate="slack", search=search,
        oracle_time_limit=1.0,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"needs the oracle .* Searches that fit: hull"):
        model.fit(X, Y)


@pytest.mark.parametrize("training", ["integral", "relaxed"])
def test_a_surrogate_that_no_search_finds_is_refused_by_name(training):
    nodes, edges, y = [[1.0], [0.0], [0.0]], [(0, 1), (1, 2), (2, 0)], [[0, 1, 1]]
    model = GraphSVM(surrogate="normalized", training=training)
    with pytest.raises(ValueError, match=r"surrogate='normalized' .* 'profile', which .*Graphs wi"):
        model.fit([(nodes, edges)], y)
    with pytest.raises(ValueError, match=r"Surrogates that fit: margin, slack, beta, .*, prob\.$"):
        model.fit([(nodes, edges)], y)
    with pytest.raises(ValueError, match=r"'profile', .* Searches that fit: none"):
        model.set_params(search="profile").fit([(nodes, edges)], y)
    for each in (GraphSVM, TreeSVM):
        with pytest.raises(ValueError, match=r"is for label sets .* and sequences .* only"):
            each(surrogate="micro_f1").fit([(nodes, edges[:2])], y)


def test_a_time_limit_without_programmes_is_refused():
    X, Y = sets(6)
    with pytest.raises(ValueError, match="oracle_time_limit is for programmes"):
        MultilabelSVM(oracle_time_limit=1.0).fit(X, Y)


def test_angular_over_linear_programmes_is_right_or_says_what_is_left():
    """Against the hull search of the same relaxation, by roof duality."""
    rng = np.random.default_rng(0)
    n = 40
    X, Y = rng.normal(size=(n, 3)), rng.integers(2, size=(n, 5))
    cost, surrogate = tabulate(Hamming(), labels_data(X, Y), range(5)), SlackRescaling()
    problems = [
        Task(labels_data(X, Y, EDGES, inference=kind), cost, n, np.ones(n)).problem(
            surrogate, 0.1, search=search, compile=False
        )
        for kind, search in (
            ("relaxed", ConvexHull(integral=False)),
            ("relaxed_program", Angular(tol=1e-6)),
        )
    ]
    w = rng.normal(size=problems[0].n_weights) * 2.0
    (hull, _), (losses, bounds) = (problem.losses(w) for problem in problems)
    assert (bounds >= hull - 1e-5 * (1.0 + hull)).all()
    assert (losses <= hull + 1e-5 * (1.0 + hull)).all()
    assert np.mean(np.abs(losses - hull) <= 1e-4 * (1.0 + hull)) >= 0.95
