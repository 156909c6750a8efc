"""Perceptron, MIRA and SGD against their plain dense versions, and their guarantees."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.core import strides as strides_module
from maxmargin.solvers import MIRA, SGD, Perceptron, run
from maxmargin.solvers.online import perceptron as perceptron_module
from tests.helpers import separable_multiclass, tiny_chain, tiny_multiclass

# Classes dense and chains sparse throughout: a pass is compiled anew for every other pair.
KIND = {tiny_multiclass: {"sparse": False}, tiny_chain: {"sparse": True}}


def after(problem, solver, n_passes, seed, w=None):
    state, rng = solver.start(problem, w), np.random.default_rng(seed)
    for _ in range(n_passes):
        solver.advance(problem, state, rng)
    return state


def orders(n, n_passes, seed):
    """Yield the examples in the order of that many passes."""
    rng = np.random.default_rng(seed)
    for _ in range(n_passes):
        yield from rng.permutation(n)


@pytest.mark.parametrize("make", [tiny_multiclass, tiny_chain])
@pytest.mark.parametrize("compile_", [True, False])
def test_perceptron_and_its_mean_are_those_of_dense_arithmetic(make, compile_, rng):
    tiny = make(weighted=True, **KIND[make])
    first = rng.normal(size=tiny.differences[0].shape[1])
    state = after(tiny.problem(compile=compile_), Perceptron(), 4, 5, first)
    w, total = first.copy(), np.zeros_like(first)
    for i in orders(len(tiny.costs), 4, 5):
        best = np.argmin(tiny.differences[i] @ w)
        w += tiny.weight[i] * tiny.differences[i][best]
        total += w
    np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.mean(), total / (4 * len(tiny.costs)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", [tiny_multiclass, tiny_chain])
@pytest.mark.parametrize("C", [0.05, 10.0])
def test_mira_takes_the_least_step_that_removes_the_loss(make, C, rng):
    tiny = make(weighted=True, **KIND[make])
    first = rng.normal(size=tiny.differences[0].shape[1])
    state = after(tiny.problem(compile=False), MIRA(C), 4, 5, first)
    w, total = first.copy(), np.zeros_like(first)
    for i in orders(len(tiny.costs), 4, 5):
        losses = tiny.costs[i] - tiny.differences[i] @ w
        worst = np.argmax(losses)
        difference = tiny.differences[i][worst]
        if losses[worst] > 0.0 and difference.any():
            step = min(C, losses[worst] / (difference @ difference))
            w += tiny.weight[i] * step * difference
        total += w
    np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-10)
    np.testing.assert_allclose(state.mean(), total / (4 * len(tiny.costs)), rtol=0, atol=1e-10)


def test_mira_ends_where_all_margins_are_kept():
    tiny, _, _ = separable_multiclass()
    problem = tiny.problem(compile=False)
    result, _ = run(problem, MIRA(1e3, average=False), rng=np.random.default_rng(0), max_iter=1000)
    assert result.status == "converged"
    assert problem.risk(result.w).value <= 1e-9
    with pytest.raises(ValueError, match="MIRA: C must be positive"):
        MIRA(0.0)


def test_mistakes_are_within_novikoffs_bound():
    tiny, gamma, longest = separable_multiclass()
    problem, n = tiny.problem(), len(tiny.costs)
    visit, places = problem.bind(perceptron_module.perceptron_pass), np.arange(n + 1)
    for seed in range(3):
        rng, state, mistakes = np.random.default_rng(seed), Perceptron().start(problem), 0
        for _ in range(1000):
            made = visit(
                problem.view, rng.permutation(n), 0, n, problem.truths, places, state.w, state.lag,
                state.clock, problem.desk(),
            )  # fmt: skip
            mistakes += made
            if made == 0:
                break
        assert made == 0 and 0 < mistakes <= (longest / gamma) ** 2


def test_perceptron_ends_where_it_makes_no_mistake():
    tiny, _, _ = separable_multiclass()
    iterates = []
    result, _ = run(
        tiny.problem(), Perceptron(average=False), rng=np.random.default_rng(0), max_iter=1000,
        callbacks=[lambda event: iterates.append(event.w.copy())],
    )  # fmt: skip
    assert result.status == "converged"
    np.testing.assert_array_equal(iterates[-1], iterates[-2])
    assert not np.array_equal(iterates[-2], iterates[-3])
    for differences, costs in zip(tiny.differences, tiny.costs, strict=True):
        assert (differences[costs > 0.0] @ result.w > 0.0).all()


def test_perceptron_reports_the_mean_unless_told_not_to():
    problem = tiny_multiclass().problem()
    state = after(problem, Perceptron(), 2, 0)
    (mean, dual), (last, _) = Perceptron().iterates(problem, state)
    assert np.isnan(dual) and last is state.w and not np.array_equal(mean, last)
    bare = after(problem, Perceptron(average=False), 2, 0)
    np.testing.assert_array_equal(bare.w, state.w)
    assert len(bare.lag) == 0 and len(Perceptron(average=False).iterates(problem, bare)) == 1
    result, _ = run(problem, Perceptron(), rng=np.random.default_rng(0), max_iter=2)
    np.testing.assert_array_equal(result.w, mean)
    assert np.isnan(result.primal) and result.status == "max_iter"


@pytest.mark.parametrize("make", [tiny_multiclass, tiny_chain])
@pytest.mark.parametrize(
    "options", [{"t0": 1.0}, {"t0": 7.5}, {"rate": 0.2}, {"rate": 30.0}], ids=str
)
@pytest.mark.parametrize("compile_", [True, False])
def test_sgd_and_its_average_are_those_of_dense_arithmetic(make, options, compile_, rng):
    # With the rate 30 a step keeps a tenth of w: the scale falls below its limit time and again.
    tiny, lam = make(weighted=True, **KIND[make]), 0.03
    w = rng.normal(size=tiny.differences[0].shape[1])
    state = after(tiny.problem(lam, compile=compile_), SGD(**options), 4, 5, w)
    mean = w.copy()
    for t, i in enumerate(orders(len(tiny.costs), 4, 5), start=1):
        eta = options.get("rate") or 1.0 / (lam * (t + options["t0"]))
        values = tiny.costs[i] - tiny.differences[i] @ w
        best = np.argmax(values)
        w = (1.0 - eta * lam) * w + eta * tiny.weight[i] * tiny.differences[i][best]
        mean = t / (t + 2) * mean + 2 / (t + 2) * w
    scale = np.abs(w).max()
    np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-10 * scale)
    np.testing.assert_allclose(state.mean(), mean, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("make", [tiny_multiclass, tiny_chain])
@pytest.mark.parametrize("t0", [1.0, None])
def test_sgd_converges_at_its_rate(make, t0):
    tiny, lam, seeds = make(**KIND[make]), 0.1, range(3)
    optimum = tiny.optimum(lam)
    reach = 2.0 * max(np.linalg.norm(psi, axis=1).max() for psi in tiny.differences)
    errors, solver = {25: [], 400: []}, SGD(t0=t0)
    for seed in seeds:
        problem, rng = tiny.problem(lam), np.random.default_rng(seed)
        state = solver.start(problem)
        for n_passes in range(1, 401):
            solver.advance(problem, state, rng)
            if n_passes in errors:
                iterates = [w for w, _ in solver.iterates(problem, state)]
                errors[n_passes].append([tiny.primal(w, lam) - optimum for w in iterates])
    early, late = (np.mean(errors[n_passes], axis=0) for n_passes in (25, 400))
    n = len(tiny.costs)
    rates = [(1.0 + np.log(n * passes)) / (lam * n * passes) for passes in (25, 400)]
    assert (late > -1e-9).all()
    # The bound holds with room to spare: its constant is for the worst of all problems.
    assert (early <= reach**2 * rates[0]).all() and (late <= reach**2 * rates[1]).all()
    # And log t / t is how the error falls, up to the noise of three runs.
    assert (late / early <= 1.5 * rates[1] / rates[0]).all()


def test_first_step_makes_up_for_the_loss():
    tiny, lam = tiny_chain(sparse=True), 1e-4
    state = SGD().start(tiny.problem(lam))
    lengths = [
        np.sum(psi[np.argmax(g)] ** 2) for psi, g in zip(tiny.differences, tiny.costs, strict=True)
    ]
    losses = [np.max(g) for g in tiny.costs]
    assert state.clock[1] == pytest.approx(np.mean(lengths) / (lam * np.mean(losses)), rel=0.3)
    assert not state.w.any() and state.clock[0] == 0
    # With nothing to lose or to learn from, something positive still.
    assert SGD().start(tiny_multiclass(n_columns=0, bias=False).problem()).clock[1] == 1.0


@pytest.mark.parametrize("solver", [SGD(), SGD(rate=0.5)], ids=["pegasos", "fixed"])
def test_sgd_keeps_its_last_iterate_when_lam_changes(solver):
    tiny = tiny_chain(sparse=True)
    problem = tiny.problem(0.1)
    state = after(problem, solver, 3, 0)
    w, steps = state.w, state.clock[:2].sum() if solver.rate is None else 0.0
    solver.adapt(problem.with_lam(0.02), state, 0.1)
    np.testing.assert_allclose(state.w, w, rtol=1e-14)
    np.testing.assert_allclose(state.mean(), w, rtol=1e-14)
    assert state.clock[:2].sum() == steps and state.clock[2] == 0.02


def test_a_fixed_rate_is_for_steps_that_shrink():
    problem = tiny_multiclass().problem(0.1)
    with pytest.raises(ValueError, match=r"rate=10 is too long for this C: .* n_samples = 10\."):
        SGD(rate=10.0).start(problem)
    for rate in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="SGD: rate must be None, or > 0 and finite"):
            SGD(rate=rate)
    with pytest.raises(ValueError, match="with a fixed rate it must be None"):
        SGD(t0=2.0, rate=0.1)


@pytest.mark.parametrize("solver", [SGD(t0=3.0), Perceptron()], ids=lambda solver: solver.name)
def test_an_interrupt_leaves_weights_and_average_in_step(solver, monkeypatch):
    tiny = tiny_multiclass()
    problem = tiny.problem()
    monkeypatch.setattr(strides_module, "STRIDE", 4)
    bind, n_calls = problem.bind, []

    def interrupting(function):
        def call(*arguments):
            n_calls.append(1)
            if len(n_calls) == 3:
                raise KeyboardInterrupt
            return bind(function)(*arguments)

        return call

    monkeypatch.setattr(problem, "bind", interrupting)
    state = solver.start(problem)
    with pytest.raises(KeyboardInterrupt):
        solver.advance(problem, state, np.random.default_rng(0))
    assert state.clock[0] == 8 and problem.n_oracle_calls == 8
    # The same eight examples without an interrupt.
    whole = tiny.problem()
    other, order = solver.start(whole), np.random.default_rng(0).permutation(whole.n_examples)[:8]
    monkeypatch.setattr(whole, "n_examples", 8)
    solver.advance(whole, other, _Fixed(order))
    np.testing.assert_array_equal(other.w, state.w)
    np.testing.assert_array_equal(other.mean(), state.mean())


class _Fixed:
    def __init__(self, order):
        self.order = order

    def permutation(self, n):
        assert n == len(self.order)
        return self.order


@pytest.mark.parametrize("t0", [0.0, 0.5, -1.0, np.inf, np.nan])
def test_bad_t0(t0):
    with pytest.raises(ValueError, match="SGD: t0 must be None, or at least 1"):
        SGD(t0=t0)
