"""Certificates at the last digits, held against P and D in exact rational numbers."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from maxmargin import MulticlassSVM, RankingSVM
from maxmargin.core.precision import EPSILON
from maxmargin.core.problem import Problem
from maxmargin.costs import CostMatrix, Hamming
from maxmargin.inference import chain, classes
from maxmargin.search.direct import Direct
from maxmargin.solvers import SDCA, BlockFrankWolfe, NSlack, OneSlack, run
from maxmargin.solvers.blocks.arena import ALPHA, AT
from maxmargin.solvers.result import STATUSES
from maxmargin.structures import multiclass_data
from maxmargin.surrogates import MarginRescaling
from tests.helpers import separable_multiclass, tiny_multiclass

DIRECT = Direct(1.0, 1.0)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SOLVERS = [BlockFrankWolfe(), SDCA(), OneSlack(), OneSlack(inwards=True), NSlack()]


class Case:
    """Classes with large features or a large C: all of it as fractions."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.n, d = int(rng.integers(3, 9)), int(rng.integers(1, 4))
        scale = 10.0 ** rng.uniform(-1.0, 8.0)
        self.X = rng.normal(size=(self.n, d)) * scale
        self.y = rng.integers(3, size=self.n).astype(np.int32)
        # Large for the features at times, so that not every run gets to the end.
        self.lam = scale**2 / (10.0 ** rng.uniform(-2.0, 5.0) * self.n)
        self.tol = (0.0, 1e-12, 1e-9)[seed % 3]
        self.rows = [[Fraction(x) for x in [*row, 1.0]] for row in self.X.tolist()]

    def problem(self) -> Problem:
        cost = Hamming().tabulate("positions", np.arange(3), np.ones(self.n, dtype=np.int64))
        surrogate = MarginRescaling().compiled()
        return Problem(
            multiclass_data(self.X, self.y, 3),
            cost,
            surrogate,
            self.n,
            self.lam,
            search=DIRECT,
        )

    def primal(self, w: np.ndarray) -> Fraction:
        """Return P(w)."""
        W = [[Fraction(x) for x in row] for row in w.reshape(-1, 3).tolist()]
        losses = Fraction(0)
        for x, truth in zip(self.rows, self.y, strict=True):
            s = [sum(a * row[k] for a, row in zip(x, W, strict=True)) for k in range(3)]
            losses += max(s[k] - s[truth] + (k != truth) for k in range(3))
        square = sum(x * x for row in W for x in row)
        return Fraction(self.lam) / 2 * square + losses / self.n

    def dual(self, coefficients: list[dict[int, float]]) -> Fraction:
        """Return D where the coefficients of each example are these, made to sum to 1."""
        scale = 1 / (Fraction(self.lam) * self.n)
        W = [[Fraction(0)] * 3 for _ in self.rows[0]]
        linear = Fraction(0)
        for x, truth, given in zip(self.rows, self.y, coefficients, strict=True):
            alpha = {k: Fraction(a) for k, a in given.items() if k != truth and a > 0.0}
            total = max(sum(alpha.values(), Fraction(0)), Fraction(1))
            for k, a in alpha.items():
                linear += a / total
                for f, value in enumerate(x):
                    W[f][truth] += scale * a / total * value
                    W[f][k] -= scale * a / total * value
        square = sum(x * x for row in W for x in row)
        return linear / self.n - Fraction(self.lam) / 2 * square


def coefficients(solver: Any, state: Any) -> list[dict[int, float]]:
    """Return the coefficients that a block solver ended with."""
    if isinstance(solver, SDCA):
        return [dict(enumerate(row)) for row in state.beta.tolist()]
    blocks = state.blocks
    return [
        {
            int(blocks.outputs[blocks.spans[start + p, AT]]): float(blocks.planes[start + p, ALPHA])
            for p in range(1, blocks.count[i])
        }
        for i, start in enumerate(blocks.start[:-1])
    ]


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_a_certificate_is_true_in_exact_numbers(solver):
    statuses = set()
    for seed in range(9):
        case = Case(seed)
        problem = case.problem()
        result, state = run(
            problem, solver, rng=np.random.default_rng(0), tol=case.tol,
            max_iter=40 if isinstance(solver, NSlack) else 200,
        )  # fmt: skip
        statuses.add(result.status)
        assert result.status in STATUSES and min(result.gap, result.rounding) >= 0.0
        exact = case.primal(result.w)
        # The primal is what it says, and the dual below whatever any weights reach.
        assert abs(exact - Fraction(result.primal)) <= Fraction(result.rounding)
        assert Fraction(result.dual) - Fraction(result.rounding) <= exact
        if not isinstance(solver, OneSlack):
            gap = exact - case.dual(coefficients(solver, state))
            assert gap >= 0
            if result.status == "converged":
                assert gap <= Fraction(case.tol) * exact
        if case.tol == 0.0:
            assert result.status != "converged"
    # Block steps without a projection close the last digits slowly.
    assert "rounding" in statuses or isinstance(solver, (BlockFrankWolfe, NSlack))


def test_nothing_is_left_to_run_for_at_tol_0():
    problem = tiny_multiclass().problem(0.1)
    with pytest.warns(match=r"at the limit of rounding: .* Scale the features, lower C, or"):
        result, _ = run(problem, SDCA(), rng=np.random.default_rng(0), tol=0.0, max_iter=5000)
    assert result.status == "rounding" and result.n_iter < 5000
    assert result.relative_gap < 1e-9


@pytest.mark.parametrize("inwards", [False, True])
def test_a_ball_with_an_optimum_of_0_ends(inwards):
    problem = separable_multiclass()[0].problem(1.0)
    solver = OneSlack(radius=1e3, inwards=inwards)
    result, _ = run(problem, solver, rng=np.random.default_rng(0), tol=1e-3, max_iter=500)
    assert result.status in ("converged", "rounding") and result.gap <= 1e-6


def test_ordinary_problems_are_not_touched_by_rounding():
    problem = tiny_multiclass().problem(0.1)
    result, _ = run(problem, SDCA(), rng=np.random.default_rng(0), tol=1e-6)
    assert result.status == "converged"
    assert 0.0 < result.rounding <= 1e-9 * result.primal
    assert result.gap == result.primal - result.dual + result.rounding


# -- numbers too large to work with ----------------------------------------------------------------

X, Y = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0]]), ["a", "b", "c"]


@pytest.mark.parametrize("solver", ["sgd", "bcfw", "sdca", "one_slack", "n_slack"])
def test_features_whose_squares_overflow_are_refused(solver):
    with pytest.raises(ValueError, match=r"example 1 has features of length 1\.\d*e\+154"):
        MulticlassSVM(solver=solver).fit(X * [[1.0], [1e154], [1.0]], Y)


@pytest.mark.parametrize(
    ("options", "weights", "message"),
    [
        ({}, [1.0, 1e300, 1.0], r"sample_weight\[1\] is 1e\+300, above 1e\+100"),
        ({"C": 1e99}, [1.0, 1e99, 1.0], "sample weight 1e.99, which with C"),
        ({"cost": CostMatrix(1e308 * (1 - np.eye(3)))}, None, r"costs up to 1e\+308"),
        ({"C": 1e300}, None, "C must lie between 1e-100 and 1e.100, got 1e.300"),
        ({"C": 1e-300}, None, "C must lie between 1e-100 and 1e.100, got 1e-300"),
    ],
)
def test_numbers_that_overflow_are_refused(options, weights, message):
    with pytest.raises(ValueError, match=message):
        MulticlassSVM(**options).fit(X, Y, sample_weight=weights)


def test_a_path_checks_every_C():
    with pytest.raises(ValueError, match=r"Cs\[1\] must lie between"):
        MulticlassSVM().path(X, Y, Cs=[1.0, 1e300])


def test_weights_that_overflow_are_an_error():
    class Overflowing(BlockFrankWolfe):
        def advance(self, problem, state, rng):
            progress = super().advance(problem, state, rng)
            state.w[0] = np.nan
            return progress

    with pytest.raises(ValueError, match="no longer finite after pass 1 of bcfw"):
        run(tiny_multiclass().problem(0.1), Overflowing(), rng=np.random.default_rng(0))


@pytest.mark.parametrize("normalize", ["minmax", "standard"])
def test_normalised_features_do_not_overflow(normalize):
    rng = np.random.default_rng(0)
    small = rng.uniform(-1.0, 1.0, size=(12, 3))
    small[0], small[1] = 1.0, -1.0
    y, qid = rng.integers(3, size=12), np.repeat([0, 1], 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        large = RankingSVM(normalize_queries=normalize, random_state=0).fit(
            1.7e308 * small, y, qid=qid
        )
    same = RankingSVM(normalize_queries=normalize, random_state=0).fit(small, y, qid=qid)
    assert large.result_.status == "converged" and large.coef_.any()
    room = large.result_.gap + same.result_.gap
    assert abs(large.result_.primal - same.result_.primal) <= room + 1e-9


@pytest.mark.parametrize(
    "marginals",
    [
        lambda t: classes.marginals([1.0, 2.0], t),
        lambda t: chain.marginals(np.eye(2), np.eye(2), temperature=t),
    ],
)
def test_temperatures_that_cannot_be_divided_by_are_refused(marginals):
    with pytest.raises(ValueError, match="temperature must be at least 1e-300, got"):
        marginals(1e-320)
    assert np.isfinite(marginals(1e-300).node).all()


def test_rounding_of_one_operation():
    assert 1.0 + EPSILON == 1.0 and 1.0 + 2.0 * EPSILON > 1.0
