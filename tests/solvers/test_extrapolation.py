"""Jumps beyond passes over moving blocks: dual points that are higher, and all parts agree."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.solvers import SDCA, run
from maxmargin.solvers.listed import extrapolation
from maxmargin.solvers.listed.dual import dual_value
from maxmargin.solvers.listed.extrapolation import visit_and_jump
from tests.solvers.test_newton import after, noisy

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def jumped(problem, state, n_left, seed=0):
    """Visit all blocks of a state with more than one active output; return the duals of jumps."""
    solver, duals = SDCA(newton=False), []
    jump = extrapolation._Points.jump

    def watched(points):
        before = dual_value(problem, state)
        jump(points)
        duals.append((before, dual_value(problem, state)))

    order = np.random.default_rng(seed).permutation(np.flatnonzero(state.n_active > 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extrapolation._Points, "jump", watched)
        visit_and_jump(
            problem, state, lambda each: solver._pass(problem, state, each, False, None)[0],
            order, 0.0, 0.0, n_left,
        )  # fmt: skip
    return duals


@pytest.mark.parametrize("compile", [True, False], ids=["compiled", "plain"])
def test_jumps_raise_the_dual_and_keep_its_parts_together(compile):
    problem = noisy(lam=1e-2, compile=compile)
    state = after(problem, 3, repeats=3)
    solver = SDCA()
    solver._pass(problem, state, np.arange(problem.n_examples), True, None)
    duals = jumped(problem, state, n_left=60)
    assert len(duals) == 6 and all(later >= before for before, later in duals)
    assert duals[-1][1] > duals[0][0] and any(later > before for before, later in duals)
    w, linear = state.w.copy(), state.linear.copy()
    alpha = state.beta.copy()
    alpha[np.arange(len(alpha)), problem.truths] += 1.0
    assert (alpha >= 0.0).all()
    np.testing.assert_allclose(alpha.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    solver.sharpen(problem, state)  # sums w and the linear parts anew
    np.testing.assert_allclose(w, state.w, rtol=0, atol=1e-11 * np.abs(w).max())
    np.testing.assert_allclose(linear, state.linear, rtol=0, atol=1e-12)


def test_jumps_bring_passes_further(monkeypatch):
    problem, best = noisy(lam=1e-2, compile=True), 1.05421033417

    def magnitude():
        """Return the mean logarithm of what 40 runs are short of the best dual, 1e-12 at least."""
        ends = [
            run(problem, SDCA(newton=False), rng=np.random.default_rng(seed), tol=0.0, max_iter=28)
            for seed in range(40)
        ]
        short = np.array([best - result.dual for result, _ in ends])
        assert (short > -1e-9).all()
        return np.log10(np.maximum(short, 1e-12)).mean()

    # How far a single run comes depends on the last bits of its passes, by ten magnitudes. The mean
    # of 40 is 3.4 magnitudes lower with jumps, with a standard error of .6; one is asked for.
    with_jumps = magnitude()
    monkeypatch.setattr("maxmargin.solvers.listed.sdca.MOST_CELLS", 0)
    assert with_jumps < magnitude() - 1.0


def test_where_nothing_moves_nothing_happens():
    problem = noisy(lam=1e-2)
    state = after(problem, 2)
    before = {name: array.copy() for name, array in state.arrays().items()}
    points = extrapolation._Points(problem, state, np.arange(problem.n_examples))
    while not points.note():
        pass
    points.jump()
    for name, array in state.arrays().items():
        np.testing.assert_array_equal(array, before[name])
