"""The shared norm: the joint certificate holds against a conic programme over U and alpha."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.regularizers.hierarchy import (
    hierarchy_paths,
    path_sums,
    shared_dual_norm,
    shared_square,
    shared_weights,
)
from maxmargin.solvers import SDCA, BlockFrankWolfe, OneSlack, run
from maxmargin.solvers.blocks.shared import SharedBlockFrankWolfe
from maxmargin.solvers.listed.dual import dual_value
from maxmargin.solvers.listed.shared import SharedSDCA, SharedState
from maxmargin.surrogates import MarginRescaling
from maxmargin.training.settings import Settings
from maxmargin.training.shared_norm import learnt_weights, with_shared_norm
from maxmargin.training.task import Task
from tests.solvers.test_sdca_gram import LAM, LINEAR, Case

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def joint_optimum(case, surrogate, lam):
    """Return the least lam/2 sum |U_n|^2/alpha_n + R(U) over U and alpha in S, by clarabel.

    Variables: U of the nodes that have weights, then alpha, t, and one loss per example.
    """
    paths = hierarchy_paths(case.shape, case.labels)
    nodes = np.flatnonzero(paths.columns >= 0)
    A = paths.matrix.toarray()[:, paths.columns[nodes]]
    n, M = len(case.y), len(nodes)
    twin = case.twin(surrogate)
    d = case.X.shape[1] + 1
    # The twin has the features sqrt(alpha_n) x: divide by that again.
    size = np.sqrt(case.alpha)[nodes]
    planes = []
    for i, psi in enumerate(twin.differences):
        own = psi.reshape(len(psi), d, -1)[:, :, nodes] / size
        for row, offset in zip(own, twin.costs[i], strict=True):
            planes.append((row.ravel(), offset, i))
    n_u = d * M
    total = n_u + 2 * M + n
    rows, b, cones = [], [], []
    for row, offset, i in planes:  # offset - row.U <= loss_i
        line = np.zeros(total)
        line[:n_u], line[n_u + 2 * M + i] = -row, -1.0
        rows.append(line)
        b.append(-offset)
    for line in A:  # sums along paths
        full = np.zeros(total)
        full[n_u : n_u + M] = line
        rows.append(full)
        b.append(1.0)
    for m in range(M):
        full = np.zeros(total)
        full[n_u + m] = -1.0
        rows.append(full)
        b.append(0.0)
    cones.append(clarabel.NonnegativeConeT(len(rows)))
    for m in range(M):  # |2 U_m|^2 + (t - alpha)^2 <= (t + alpha)^2
        block = np.zeros((2 + d, total))
        block[0, n_u + m] = block[0, n_u + M + m] = -1.0
        block[1, n_u + m], block[1, n_u + M + m] = 1.0, -1.0
        for f in range(d):
            block[2 + f, f * M + m] = -2.0
        rows.extend(block)
        b.extend([0.0] * (2 + d))
        cones.append(clarabel.SecondOrderConeT(2 + d))
    q = np.r_[np.zeros(n_u + M), np.full(M, 0.5 * lam), case.weight / n]
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sp.csc_matrix((total, total)), q, sp.csc_matrix(np.array(rows)), np.array(b), cones, options
    )
    answer = solver.solve()
    assert str(answer.status) in ("Solved", "AlmostSolved")
    return float(answer.obj_val)


def solver_of(case):
    return SharedSDCA(paths=hierarchy_paths(case.shape, case.labels))


@pytest.mark.parametrize("surrogate", LINEAR, ids=repr)
@pytest.mark.parametrize("is_tree", [True, False])
def test_the_joint_certificate_holds_the_joint_optimum(surrogate, is_tree):
    for seed in (0, 1):
        case = Case(seed, is_tree, "none")
        problem = case.problem(surrogate)
        result, state = run(
            problem, solver_of(case), rng=np.random.default_rng(0), tol=1e-3, max_iter=100
        )
        best = joint_optimum(case, surrogate, LAM)
        room = 1e-6 * best
        assert result.status == "converged" and result.relative_gap <= 1e-3
        assert result.dual - room <= best <= result.primal + room
        assert result.objective == "shared"
        for record in result.history:  # at every pass, not only at the end
            assert record.dual <= best + room
            assert not record.primal < best - room
        assert path_sums(case.shape, case.labels, state.alpha).max() <= 1.0 + 1e-9


def test_merged_nodes_leave_the_joint_optimum_as_it_is():
    case = Case(1, False, "none")  # two nodes are on the same paths
    paths = hierarchy_paths(case.shape, case.labels, merge=True)
    assert (paths.sizes > 1).any()
    result, state = run(
        case.problem(), SharedSDCA(paths=paths), rng=np.random.default_rng(0), tol=1e-3
    )
    best = joint_optimum(case, LINEAR[0], LAM)
    assert result.status == "converged"
    assert result.dual - 1e-6 * best <= best <= result.primal + 1e-6 * best
    assert path_sums(case.shape, case.labels, state.alpha).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("is_tree", [True, False])
def test_the_joint_gap_is_the_sum_of_two(is_tree):
    """[P at alpha - D at alpha] + [F - sum alpha |Z|^2] / (2 lam)."""
    case = Case(2, is_tree, "none")
    problem, solver = case.problem(), solver_of(case)
    _, state = run(problem, solver, rng=np.random.default_rng(0), tol=1e-2, max_iter=3)
    alpha, M = state.alpha, len(case.alpha)
    squares = np.square(state.w.reshape(-1, M)).sum(axis=0)
    Z = np.divide(LAM, alpha, out=np.zeros(M), where=alpha > 0) ** 2 * squares
    most, corner = shared_dual_norm(solver.paths, Z)
    assert corner @ Z == pytest.approx(most, rel=1e-6)
    ordinary = problem.primal(state.w) - dual_value(problem, state)
    rest = (most - alpha @ Z) / (2 * LAM)
    linear = case.weight @ state.linear / len(case.y)
    joint = problem.primal(state.w) - (linear - most / (2 * LAM))
    assert rest >= -1e-12
    assert joint == pytest.approx(ordinary + rest, abs=1e-12)
    # With the best alpha for U the primal is no larger.
    assert solver.assess(problem, state.w).value <= problem.primal(state.w) + 1e-9
    assert solver.iterates(problem, state)[-1][1] == pytest.approx(linear - most / (2 * LAM))


def test_the_shared_norm_is_below_that_of_any_fixed_weights():
    case = Case(3, True, "none")
    result, _ = run(case.problem(), solver_of(case), rng=np.random.default_rng(0), tol=1e-3)
    for name in ("maxmin", "rho", "flat"):
        other = Case(3, True, name)
        fixed, _ = run(other.problem(), SDCA(), rng=np.random.default_rng(0), tol=1e-3)
        assert result.dual <= fixed.primal + 1e-9


def test_the_square_of_the_norm_is_attained_by_the_weights():
    case = Case(4)
    paths = hierarchy_paths(case.shape, case.labels)
    squares = np.random.default_rng(0).uniform(size=len(case.alpha)) * (paths.columns >= 0)
    alpha = shared_weights(paths, squares)
    used = alpha > 0
    assert shared_square(paths, squares) == pytest.approx((squares[used] / alpha[used]).sum())
    assert shared_square(paths, 0.0 * squares) == 0.0


def test_a_state_is_kept_as_arrays():
    case = Case(5)
    _, state = run(case.problem(), solver_of(case), rng=np.random.default_rng(0), tol=0.1)
    again = SharedState.from_arrays(state.arrays())
    assert again.alpha.tolist() == state.alpha.tolist() and (again.w == state.w).all()


def test_it_cannot_be_resumed_from_a_checkpoint():
    case = Case(6)
    problem, snapshots = case.problem(), []
    run(
        problem, solver_of(case), rng=np.random.default_rng(0), tol=1e-3, max_iter=2,
        callbacks=[lambda event: snapshots.append(event.snapshot())],
    )  # fmt: skip
    with pytest.raises(ValueError, match="shared norm cannot be resumed"):
        run(problem, solver_of(case), rng=np.random.default_rng(0), snapshot=snapshots[-1])


def test_a_warm_start_goes_on_with_its_weights():
    case = Case(8)
    _, state = run(case.problem(), solver_of(case), rng=np.random.default_rng(0), tol=1e-2)
    other = Case(8)  # the same examples, encoded anew
    result, _ = run(
        other.problem(), solver_of(other), rng=np.random.default_rng(0), tol=1e-4, state=state
    )
    best = joint_optimum(Case(8, alpha="none"), LINEAR[0], LAM)
    assert result.status == "converged"
    assert result.dual - 1e-6 * best <= best <= result.primal + 1e-6 * best


def settings_of(solver):
    return Settings(MarginRescaling(), "auto", solver, 1)


def test_settings_get_a_solver_that_learns_the_weights():
    case = Case(9)
    paths = hierarchy_paths(case.shape, case.labels)
    task = Task(case.data, case.cost, len(case.y), case.weight)
    settings = with_shared_norm(settings_of(SDCA(repeats=3)), task, paths)
    assert settings.solver == SharedSDCA(repeats=3) and settings.solver.paths is paths
    problem = task.problem(settings.surrogate, LAM, compile=False)
    result, _ = run(problem, settings.solver, rng=np.random.default_rng(0), tol=1e-2)
    alpha = learnt_weights(paths, result.w)
    assert path_sums(case.shape, case.labels, alpha).max() <= 1.0 + 1e-9
    blocks = with_shared_norm(settings_of(BlockFrankWolfe(cache=1)), task, paths).solver
    assert blocks == SharedBlockFrankWolfe(cache=1) and blocks.paths is paths
    other, _ = run(problem, blocks, rng=np.random.default_rng(0), tol=1e-2)
    assert other.dual <= result.primal + 1e-9 and result.dual <= other.primal + 1e-9
    with pytest.raises(ValueError, match="needs solver='auto', 'sdca' or 'bcfw', got OneSlack"):
        with_shared_norm(settings_of(OneSlack()), task, paths)


def test_paths_must_be_given():
    with pytest.raises(ValueError, match="paths must be given"):
        run(Case(7).problem(), SharedSDCA(), rng=np.random.default_rng(0))
