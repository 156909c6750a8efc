"""Block-coordinate Frank-Wolfe: the optimum, monotone ascent, and the invariants of its dual."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.solvers import BlockFrankWolfe, averaging, run
from maxmargin.solvers.blocks import bcfw
from maxmargin.solvers.blocks.arena import ALPHA, OFFSET, SLOPE
from maxmargin.solvers.blocks.dual import dual_value, primal_weights
from tests.helpers import tiny_chain, tiny_multiclass

# Classes dense and chains sparse throughout: a pass is compiled anew for every other pair.
TINY = {
    "classes": tiny_multiclass(),
    "chains": tiny_chain(sparse=True),
    "classes, weighted": tiny_multiclass(seed=1, weighted=True),
    "chains, weighted": tiny_chain(seed=1, sparse=True, weighted=True),
    "no bias": tiny_multiclass(seed=2, bias=False),
    "one example": tiny_chain(seed=3, n=1, sparse=True),
    "zero features": tiny_multiclass(seed=4, n_columns=0),
    "nothing to learn from": tiny_multiclass(seed=4, n_columns=0, bias=False),
}


@pytest.mark.parametrize("step", ["active", "pairwise"])
@pytest.mark.parametrize("lam", [1e-2, 0.1, 1e4])
@pytest.mark.parametrize("name", TINY)
def test_reaches_the_optimum(name, lam, step):
    tiny = TINY[name]
    result, state = run(
        tiny.problem(lam), BlockFrankWolfe(step=step), rng=np.random.default_rng(0), tol=1e-6,
        max_iter=5000,
    )  # fmt: skip
    assert result.status == "converged" and result.relative_gap <= 1e-6
    assert result.primal == pytest.approx(tiny.optimum(lam), rel=1e-6)
    assert result.primal == pytest.approx(tiny.primal(result.w, lam), rel=1e-12)
    check_blocks(tiny, tiny.problem(lam), state)


def check_blocks(tiny, problem, state):
    """Check the dual point against its definition, with all outputs enumerated."""
    blocks, n = state.blocks, problem.n_examples
    w, linear = np.zeros(problem.n_weights), 0.0
    for i in range(n):
        planes = blocks.planes[blocks.start[i] : blocks.start[i] + blocks.count[i]]
        assert (planes[:, ALPHA] >= 0.0).all()
        assert planes[:, ALPHA].sum() == pytest.approx(1.0, abs=1e-12)
        assert (planes[:, SLOPE] == 1.0).all()
        for p, (alpha, _, offset, _, cost, _) in enumerate(planes):
            at, size = blocks.spans[blocks.start[i] + p]
            row = output_row(tiny, i, blocks.outputs[at : at + size])
            assert offset == pytest.approx(tiny.costs[i][row], abs=1e-12)
            assert cost == tiny.costs[i][row]
            w += tiny.weight[i] / (problem.lam * n) * alpha * tiny.differences[i][row]
            linear += tiny.weight[i] / n * alpha * offset
    # Blocks may cancel: rounding is that of one block, not of their sum.
    longest = max(np.abs(psi).max(initial=0.0) for psi in tiny.differences)
    scale = tiny.weight.max() / (problem.lam * n) * longest
    np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(primal_weights(problem, blocks), w, rtol=0, atol=1e-13 * scale)
    expected = linear - 0.5 * problem.lam * w @ w
    assert dual_value(problem, blocks, state.w) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def output_row(tiny, i, output):
    """Return where an output stands in the enumeration: its digits, the last one fastest."""
    n_labels = len(tiny.costs[i]) if len(output) == 1 else 3
    return int(np.ravel_multi_index(tuple(output), (n_labels,) * len(output)))


VARIANTS = {
    "plain": BlockFrankWolfe(step="plain", cache=0, average=False),
    "gap sampling": BlockFrankWolfe(sampling="gap", cache=0, average=False),
    "plain, gap sampling": BlockFrankWolfe(step="plain", sampling="gap", cache=0, average=False),
    "cache": BlockFrankWolfe(cache=3, average=False),
    "plain, cache": BlockFrankWolfe(step="plain", cache=3, average=False),
    "average": BlockFrankWolfe(cache=0, average=True),
    "plain, average": BlockFrankWolfe(step="plain", cache=0, average=True),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["classes", "chains, weighted"])
def test_variants_ascend_to_a_hundredth(name, variant):
    tiny, lam = TINY[name], 0.1
    problem, solver, duals = tiny.problem(lam), VARIANTS[variant], []
    state = solver.start(problem)
    result, state = run(
        problem, solver, rng=np.random.default_rng(0), tol=1e-2, max_iter=2000, state=state,
        callbacks=[lambda _: duals.append(dual_value(problem, state.blocks, state.w))],
    )  # fmt: skip
    assert result.status == "converged" and result.relative_gap <= 1e-2
    assert (np.diff(duals) >= -1e-12).all()
    assert result.dual <= tiny.optimum(lam) + 1e-9 <= result.primal + 1e-8
    check_blocks(tiny, problem, state)


def test_mean_is_that_of_the_iterates_within_a_pass(monkeypatch):
    monkeypatch.setattr(averaging, "CALL", 1)
    problem, solver = TINY["classes"].problem(0.1), BlockFrankWolfe(cache=0)
    state, rng = solver.start(problem), np.random.default_rng(0)
    bind, seen = problem.bind, []

    def recording(function):
        def call(*arguments):
            answer = bind(function)(*arguments)
            seen.append(state.w.copy())
            return answer

        return call if function is bcfw.visit_blocks else bind(function)

    monkeypatch.setattr(problem, "bind", recording)
    solver.advance(problem, state, rng)
    ((mean, dual),) = solver.iterates(problem, state)
    mean = mean.copy()
    assert len(seen) == problem.n_examples
    np.testing.assert_allclose(mean, np.mean(seen, axis=0), rtol=0, atol=1e-12)
    assert dual == dual_value(problem, state.blocks, state.w)
    solver.advance(problem, state, rng)
    ((after, _),) = solver.iterates(problem, state)
    newest = np.mean(seen[problem.n_examples :], axis=0)
    np.testing.assert_allclose(after, 0.7 * mean + 0.3 * newest, rtol=0, atol=1e-12)


def test_the_mean_does_not_depend_on_calls(monkeypatch):
    means = []
    for least in (1, 2, 256):
        monkeypatch.setattr(averaging, "CALL", least)
        problem, solver = TINY["chains"].problem(0.1), BlockFrankWolfe()
        state, rng = solver.start(problem), np.random.default_rng(0)
        for _ in range(3):
            solver.advance(problem, state, rng)
        means.append(state.w_mean)
    np.testing.assert_array_equal(means[1], means[0])
    np.testing.assert_array_equal(means[2], means[0])


@pytest.mark.parametrize(
    ("cache", "met", "n_passes"),
    [
        (3, (1.0, 0.4), 1),  # the first pass over known planes met too little for a second
        (3, (1.0, 0.5, 0.8), 2),
        (3, (1.0, 0.5, 0.9, 0.9), 3),
        (5, (1.0, 0.9, 0.9, 0.9, 0.1), 4),
        (1, (1.0, 1.0), 1),
        (0, (1.0,), 0),
    ],
)
def test_passes_over_known_planes_end_where_new_ones_matter(monkeypatch, cache, met, n_passes):
    problem, solver = TINY["chains"].problem(0.1), BlockFrankWolfe(cache=cache)
    state, rng = solver.start(problem), np.random.default_rng(0)
    asked, visit = [], BlockFrankWolfe._visit

    def recording(self, problem, state, order, ask, **options):
        asked.append(ask)
        visit(self, problem, state, order, ask, **options)
        return next(gaps)

    monkeypatch.setattr(BlockFrankWolfe, "_visit", recording)
    gaps = iter((1.0,))
    solver.advance(problem, state, rng)  # blocks have two planes at most: nothing is left to do
    assert asked == [True]
    gaps = iter(met)
    solver.advance(problem, state, rng)
    assert asked[1:] == [True] + n_passes * [False]


@pytest.mark.parametrize("lam", [0.02, 0.5])
def test_dual_is_kept_when_lam_changes(lam):
    tiny = TINY["chains"]
    _, state = run(tiny.problem(0.1), BlockFrankWolfe(), rng=np.random.default_rng(0), tol=1e-3)
    problem, solver = tiny.problem(lam), BlockFrankWolfe()
    solver.adapt(problem, state, 0.1)
    check_blocks(tiny, problem, state)
    result, state = run(problem, solver, rng=np.random.default_rng(0), tol=1e-6, state=state)
    assert result.primal == pytest.approx(tiny.optimum(lam), rel=1e-6)
    check_blocks(tiny, problem, state)


def test_given_weights_only_add_planes():
    tiny = TINY["chains"]
    problem = tiny.problem(0.1)
    best, _ = run(problem, BlockFrankWolfe(), rng=np.random.default_rng(0), tol=1e-6)
    state = BlockFrankWolfe().start(problem, best.w)
    assert not state.w.any() and (state.blocks.count > 1).any()
    check_blocks(tiny, problem, state)
    offsets = state.blocks.planes[:, OFFSET]
    assert offsets.max() > 0.0


def test_an_interrupt_leaves_w_the_sum_of_the_blocks(monkeypatch):
    tiny = TINY["classes"]
    problem, solver = tiny.problem(0.01), BlockFrankWolfe()
    state, rng = solver.start(problem), np.random.default_rng(0)
    solver.advance(problem, state, rng)
    bind, n_calls = problem.bind, []

    def interrupting(function):
        def call(*arguments):
            n_calls.append(1)
            if len(n_calls) == 3:
                raise KeyboardInterrupt
            return bind(function)(*arguments)

        return call

    monkeypatch.setattr(problem, "bind", interrupting)
    before = state.w.copy()
    with pytest.raises(KeyboardInterrupt):
        solver.advance(problem, state, rng)
    assert not np.array_equal(before, state.w)
    check_blocks(tiny, tiny.problem(0.01), state)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": "fast"}, "step must be one of"),
        ({"sampling": "luck"}, "sampling must be one of"),
        ({"cache": -1}, "cache must be >= 0"),
        ({"max_steps": 0}, "max_steps must be >= 1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        BlockFrankWolfe(**options)


def test_blocks_of_two_planes_are_visited_again_after_the_first_pass(monkeypatch):
    """With two outputs no block ever has more; the other blocks have moved w since."""
    problem, solver = tiny_multiclass(n_labels=2).problem(0.01), BlockFrankWolfe()
    state, rng = solver.start(problem), np.random.default_rng(0)
    asked, visit = [], BlockFrankWolfe._visit

    def recording(self, problem, state, order, ask, **options):
        asked.append(ask)
        return visit(self, problem, state, order, ask, **options)

    monkeypatch.setattr(BlockFrankWolfe, "_visit", recording)
    solver.advance(problem, state, rng)
    assert asked == [True]
    solver.advance(problem, state, rng)
    assert int(state.blocks.count.max()) <= 2 and asked[1:3] == [True, False]
