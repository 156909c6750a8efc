"""The cutting planes against a conic solver's optimum, and their bounds on the way."""

from __future__ import annotations

import math

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.solvers import BlockFrankWolfe, NSlack, OneSlack, run
from maxmargin.solvers.cutting import one_slack, planes
from tests.helpers import tiny_chain, tiny_multiclass
from tests.solvers.test_bcfw import check_blocks

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


@pytest.mark.parametrize(
    "solver",
    [OneSlack(), OneSlack(inwards=True), NSlack()],
    ids=["one_slack", "inwards", "n_slack"],
)
@pytest.mark.parametrize("lam", [1e-5, 1e-2, 1.0, 1e4])
@pytest.mark.parametrize("name", TINY)
def test_reaches_the_optimum(name, lam, solver):
    tiny = TINY[name]
    optimum, records = tiny.optimum(lam), []
    result, state = run(
        tiny.problem(lam), solver, rng=np.random.default_rng(0), tol=1e-6, max_iter=1000,
        callbacks=[lambda event: records.append(event.record)],
    )  # fmt: skip
    assert result.status == "converged" and result.relative_gap <= 1e-6
    assert result.primal == pytest.approx(optimum, rel=1e-6)
    assert result.primal == pytest.approx(tiny.primal(result.w, lam), rel=1e-12)
    # Every pass has its exact primal and a true lower bound, which never falls.
    slack = 1e-7 * optimum + 1e-12
    duals = np.array([record.dual for record in records])
    assert (np.diff(duals) >= -slack).all() and (duals <= optimum + slack).all()
    assert all(record.primal >= optimum - slack for record in records)
    if isinstance(solver, NSlack):
        check_blocks(tiny, tiny.problem(lam), state)


def ball_optimum(tiny, radius):
    """Return min over |w| <= radius of the risk, as a second order cone programme."""
    n, d = len(tiny.costs), tiny.differences[0].shape[1]
    rows = np.vstack(tiny.differences)
    owner = np.repeat(np.arange(n), [len(g) for g in tiny.costs])
    picks = sp.csc_matrix((np.ones(len(owner)), (np.arange(len(owner)), owner)))
    ball = sp.vstack([sp.csc_matrix((1, d + n)), sp.hstack([-sp.eye(d), sp.csc_matrix((d, n))])])
    A = sp.vstack([sp.hstack([sp.csc_matrix(-rows), -picks]), ball]).tocsc()
    b = np.concatenate([-np.concatenate(tiny.costs), [radius], np.zeros(d)])
    cones = [clarabel.NonnegativeConeT(len(owner)), clarabel.SecondOrderConeT(d + 1)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    q = np.r_[np.zeros(d), tiny.weight / n]
    answer = clarabel.DefaultSolver(sp.csc_matrix((d + n, d + n)), q, A, b, cones, options).solve()
    assert str(answer.status) in ("Solved", "AlmostSolved")
    return answer.obj_val


@pytest.mark.parametrize("radius", [1e-3, 0.5, 3.0, 1e3])
@pytest.mark.parametrize("name", ["classes", "chains", "classes, weighted", "one example"])
def test_ball_reaches_its_optimum(name, radius):
    tiny = TINY[name]
    result, _ = run(
        tiny.problem(123.0), OneSlack(radius=radius), rng=np.random.default_rng(0), tol=1e-6,
        max_iter=1000,
    )  # fmt: skip
    optimum = ball_optimum(tiny, radius)
    # An optimum of 0 may be met to the last digit or but for rounding, by the order of sums.
    is_met = result.status == "rounding" and optimum <= 1e-7 and result.gap <= 1e-12
    assert is_met or (result.status == "converged" and result.gap <= 1e-6 * result.primal)
    assert np.linalg.norm(result.w) <= radius * (1 + 1e-12)
    assert result.primal == pytest.approx(tiny.risk(result.w), rel=1e-12, abs=1e-15)
    assert result.primal == pytest.approx(optimum, rel=1e-6, abs=1e-7)
    assert result.dual <= optimum + 1e-7


def test_ball_that_ends_early_reports_its_own_objective():
    tiny = TINY["chains"]
    with pytest.warns(match="one_slack stopped after 3 passes"):
        result, _ = run(
            tiny.problem(123.0), OneSlack(radius=0.5), rng=np.random.default_rng(0), tol=1e-9,
            max_iter=3,
        )  # fmt: skip
    assert result.primal == pytest.approx(tiny.risk(result.w), rel=1e-12)
    assert result.dual <= ball_optimum(tiny, 0.5) <= result.primal + 1e-8


def test_inactive_ball_gives_a_short_w():
    # Separable: any long enough w has no loss, and the radius is far beyond what is needed.
    tiny = tiny_multiclass(seed=5, n=3, n_columns=6)
    result, _ = run(tiny.problem(), OneSlack(radius=1e4), rng=np.random.default_rng(0), tol=1e-6)
    assert result.primal == 0.0 and abs(result.gap) <= 1e-12 and result.status == "converged"
    assert np.linalg.norm(result.w) < 100.0


@pytest.mark.parametrize("solver", [OneSlack(), NSlack()], ids=lambda solver: solver.name)
def test_planes_are_kept_when_lam_changes(solver):
    tiny = TINY["chains"]
    cold, _ = run(tiny.problem(0.01), solver, rng=np.random.default_rng(0), tol=1e-6)
    _, state = run(tiny.problem(0.03), solver, rng=np.random.default_rng(0), tol=1e-6)
    problem = tiny.problem(0.01)
    solver.adapt(problem, state, 0.03)
    warm, _ = run(problem, solver, rng=np.random.default_rng(0), tol=1e-6, state=state)
    assert warm.primal == pytest.approx(tiny.optimum(0.01), rel=1e-6)
    assert warm.n_iter < cold.n_iter


@pytest.mark.parametrize(
    "solver", [OneSlack(), OneSlack(radius=2.0), NSlack()], ids=["one_slack", "ball", "n_slack"]
)
def test_given_weights_save_passes(solver):
    problem = TINY["chains"].problem(0.01)
    cold, _ = run(problem, solver, rng=np.random.default_rng(0), tol=1e-4)
    warm, _ = run(problem, solver, rng=np.random.default_rng(0), tol=1e-4, w=cold.w)
    assert warm.history[0].primal <= cold.history[0].primal + 1e-12
    # The first plane touches the risk where the other run ended; passes vary with the last digits.
    assert warm.status == "converged" and warm.n_iter <= cold.n_iter + 5


def test_idle_planes_are_forgotten_but_not_the_first(monkeypatch):
    tiny, lam = TINY["chains"], 1e-3
    monkeypatch.setattr(one_slack, "MAX_IDLE", 2)
    counts = []
    problem, solver = tiny.problem(lam), OneSlack()
    first = solver.start(problem)
    result, state = run(
        problem, solver, rng=np.random.default_rng(0), tol=1e-6, state=first, max_iter=500,
        callbacks=[lambda _: counts.append(first.planes.count)],
    )  # fmt: skip
    assert result.status == "converged"
    assert result.primal == pytest.approx(tiny.optimum(lam), rel=1e-6)
    assert (np.diff(counts) < 0).any() and state.planes.count < len(counts)
    assert state.offset[0] == 0.0 and not state.planes.combine(np.eye(len(state.offset))[0]).any()
    rows = np.array([state.planes.combine(row) for row in np.eye(len(state.offset))])
    m = len(rows)
    np.testing.assert_allclose(state.gram[:m, :m], rows @ rows.T, rtol=0, atol=1e-12)


def test_long_planes_are_kept_sparse_and_agree(monkeypatch, rng):
    tiny, lam = TINY["chains"], 0.01
    dense, _ = run(tiny.problem(lam), OneSlack(), rng=np.random.default_rng(0), tol=1e-6)
    monkeypatch.setattr(planes, "LARGEST_DENSE", 0)
    sparse, state = run(tiny.problem(lam), OneSlack(), rng=np.random.default_rng(0), tol=1e-6)
    assert isinstance(state.planes, planes.SparsePlanes)
    assert sparse.primal == pytest.approx(dense.primal, rel=1e-6)
    restored = planes.planes_from_arrays(len(state.w), state.arrays())
    alpha = rng.random(state.planes.count)
    np.testing.assert_array_equal(restored.combine(alpha), state.planes.combine(alpha))
    vector = rng.normal(size=len(state.w))
    np.testing.assert_array_equal(restored.products(vector), state.planes.products(vector))


def test_plane_touches_the_risk_and_stays_below_it(rng):
    tiny = tiny_chain(seed=1, n=150, longest=3, sparse=True, weighted=True)
    problem = tiny.problem()
    w = rng.normal(size=problem.n_weights)
    risk, (offset, plane, rounding) = planes.risk_plane(problem, w)
    assert 0.0 < rounding <= 1e-12 * risk.value
    assert risk.value == pytest.approx(tiny.risk(w), rel=1e-12)
    assert offset + plane @ w == pytest.approx(risk.value, rel=1e-12)
    assert problem.n_oracle_calls == 150
    for _ in range(20):
        other = w + rng.normal(size=len(w)) * rng.choice([0.1, 1.0, 10.0])
        assert offset + plane @ other <= tiny.risk(other) + 1e-9


@pytest.mark.parametrize("solver", [OneSlack(), NSlack()], ids=lambda solver: solver.name)
def test_threads_do_not_change_a_bit(solver):
    # More examples than a chunk has, so that there is something to share out.
    tiny, results = tiny_chain(n=700, longest=2, sparse=True), []
    for n_jobs in (1, 2, 3):
        result, _ = run(
            tiny.problem(0.01, n_jobs=n_jobs), solver, rng=np.random.default_rng(0), tol=1e-3
        )
        results.append(result)
    for other in results[1:]:
        np.testing.assert_array_equal(other.w, results[0].w)
        assert (other.primal, other.dual, other.n_iter) == (
            results[0].primal, results[0].dual, results[0].n_iter,
        )  # fmt: skip


def advance_often(solver, problem, state, rng):
    for _ in range(3):
        solver.advance(problem, state, rng)


@pytest.mark.parametrize("solver", [OneSlack(), NSlack()], ids=lambda solver: solver.name)
def test_an_interrupt_leaves_a_state_to_go_on_from(solver, monkeypatch):
    tiny, lam = TINY["classes"], 0.01
    problem = tiny.problem(lam)
    state, rng = solver.start(problem), np.random.default_rng(0)
    solver.advance(problem, state, rng)
    bind, n_calls = problem.bind, []

    def interrupting(function):
        def call(*arguments):
            n_calls.append(1)
            if len(n_calls) == 4:
                raise KeyboardInterrupt
            return bind(function)(*arguments)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(problem, "bind", interrupting)
        with pytest.raises(KeyboardInterrupt):
            advance_often(solver, problem, state, rng)
    if isinstance(solver, NSlack):
        check_blocks(tiny, problem, state)
    result, _ = run(problem, solver, rng=rng, tol=1e-6, state=state)
    assert result.primal == pytest.approx(tiny.optimum(lam), rel=1e-6)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
def test_bad_radius(radius):
    with pytest.raises(ValueError, match="OneSlack: radius must be None, or positive and finite"):
        OneSlack(radius=radius)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"accuracy": 0.0}, "accuracy must be between 0 and 1"),
        ({"accuracy": 1.0}, "accuracy must be between 0 and 1"),
        ({"max_inner": 0}, "max_inner must be at least 1"),
    ],
)
def test_bad_n_slack_options(options, message):
    with pytest.raises(ValueError, match=message):
        NSlack(**options)


@pytest.mark.parametrize("name", ["classes", "chains, weighted"])
@pytest.mark.parametrize("lam", [1e-3, 1.0])
def test_inward_steps_begin_with_a_pass_of_blocks(name, lam):
    """Its plane lies below the risk, and the bound is no less than what the pass has found."""
    tiny = TINY[name]
    problem, solver = tiny.problem(lam), OneSlack(inwards=True)
    state = solver.start(problem)
    solver.advance(problem, state, np.random.default_rng(0))
    blocks = BlockFrankWolfe(step="plain", cache=0)
    own = blocks.start(problem)
    dual = blocks.advance(problem, own, np.random.default_rng(0)).dual
    assert dual > 0.0 and state.lower >= dual * (1.0 - 1e-12)
    assert len(state.offset) == 3  # that of 0, that of the blocks, and one at the mean of their w
    rng = np.random.default_rng(1)
    for scale in (0.0, 0.1, 1.0, 10.0):
        w = scale * rng.normal(size=problem.n_weights)
        risk = problem.risk(w).value
        values = state.offset + state.planes.products(w)
        assert (values <= risk + 1e-9 * max(1.0, abs(risk))).all()


def test_inward_steps_go_on_from_weights_and_within_a_ball_without_blocks():
    problem = TINY["classes"].problem(0.1)
    for solver, w in (
        (OneSlack(inwards=True), np.ones(problem.n_weights)),
        (OneSlack(inwards=True, radius=1.0), None),
        (OneSlack(), None),
    ):
        state = solver.start(problem, w)
        solver.advance(problem, state, np.random.default_rng(0))
        assert len(state.offset) == 2
