"""The shared norm: the joint certificate holds against a conic programme over U and alpha."""

from __future__ import annotations

import copy
from itertools import combinations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.core.problem import Problem
from maxmargin.costs import NodeHamming, tabulate
from maxmargin.inference.hierarchy import hierarchy_shape
from maxmargin.regularizers.hierarchy import (
    hierarchy_paths,
    named_weights,
    path_sums,
    shared_dual_norm,
    shared_square,
    shared_weights,
)
from maxmargin.search.choose import bind_search
from maxmargin.solvers import SDCA, BlockFrankWolfe, OneSlack, Snapshot, run, shared
from maxmargin.solvers.blocks.shared import SharedBlockFrankWolfe
from maxmargin.solvers.listed.dual import dual_value
from maxmargin.solvers.listed.shared import SharedSDCA
from maxmargin.structures import node_sets_data
from maxmargin.surrogates import MarginRescaling, SlackRescaling
from maxmargin.testing.enumerate import node_sets
from maxmargin.training.settings import Settings
from maxmargin.training.shared_norm import learnt_weights, with_shared_norm
from maxmargin.training.task import Task
from tests.solvers.test_sdca_gram import LAM, LINEAR, Case
from tests.structures.test_hierarchy import rows_of_paths

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def joint_optimum(case, surrogate, lam):
    """Return the least lam/2 sum |U_n|^2/alpha_n + R(U) over U and alpha in S, of labels."""
    paths = hierarchy_paths(case.shape, case.labels)
    nodes = np.flatnonzero(paths.columns >= 0)
    twin = case.twin(surrogate)
    # The twin has the features sqrt(alpha_n) x: divide by that again.
    size = np.sqrt(case.alpha)[nodes]
    planes = []
    for i, psi in enumerate(twin.differences):
        own = psi.reshape(len(psi), -1, len(case.alpha))[:, :, nodes] / size
        planes += [(row, offset, i) for row, offset in zip(own, twin.costs[i], strict=True)]
    return least_joint(paths, planes, case.weight, lam)


def least_joint(paths, planes, weight, lam):
    """Return the least lam/2 sum |U_n|^2/alpha_n + R(U) over U and alpha in S, by clarabel.

    Planes are (row, offset, i): offset - row.U is below the loss of example i. Variables: U of the
    nodes that have weights, then alpha, t, and one loss per example.
    """
    A = paths.matrix.toarray()[:, paths.columns[paths.columns >= 0]]
    n, M = len(weight), A.shape[1]
    d = len(planes[0][0])
    n_u = d * M
    total = n_u + 2 * M + n
    rows, b, cones = [], [], []
    for row, offset, i in planes:
        line = np.zeros(total)
        line[:n_u], line[n_u + 2 * M + i] = -row.ravel(), -1.0
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
    q = np.r_[np.zeros(n_u + M), np.full(M, 0.5 * lam), weight / n]
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-9
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
            problem, solver_of(case), rng=np.random.default_rng(0), tol=1e-2, max_iter=100
        )
        best = joint_optimum(case, surrogate, LAM)
        room = 1e-6 * best
        assert result.status == "converged" and result.relative_gap <= 1e-2
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


def test_a_warm_start_goes_on_with_its_weights():
    case = Case(8)
    _, state = run(case.problem(), solver_of(case), rng=np.random.default_rng(0), tol=1e-2)
    other = Case(8)  # the same examples, encoded anew
    result, _ = run(
        other.problem(), solver_of(other), rng=np.random.default_rng(0), tol=3e-3, state=state
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
    with pytest.raises(ValueError, match=r"needs solver='auto' or 'bcfw', or .*; got OneSlack"):
        with_shared_norm(settings_of(OneSlack()), task, paths)


def test_paths_must_be_given():
    with pytest.raises(ValueError, match="paths must be given"):
        run(Case(7).problem(), SharedSDCA(), rng=np.random.default_rng(0))


# -- sets of nodes ---------------------------------------------------------------------------------

TREE = hierarchy_shape(5, child=[1, 2, 3, 4], parent=[0, 0, 1, 1])
DIAMOND = hierarchy_shape(5, child=[1, 2, 3, 3, 4], parent=[0, 0, 1, 2, 2])


def vertices(shape):
    """Return the corners of the relaxation of unions of paths: all that 5 of its rows meet in."""
    A, b = rows_of_paths(shape)
    few = np.array(list(combinations(range(len(A)), A.shape[1])))
    few = few[np.abs(np.linalg.det(A[few])) > 1e-9]
    points = np.linalg.solve(A[few], b[few][:, :, None])[:, :, 0]
    return np.unique(points[(points @ A.T <= b + 1e-9).all(axis=1)].round(9), axis=0)


class SetsCase:
    """Sets of nodes of a hierarchy, and the joint problem over U and alpha spelt out."""

    def __init__(self, shape, space, surrogate=LINEAR[0], missed=1.0, seed=1, n=6):
        rng = np.random.default_rng(seed)
        self.space, self.surrogate, self.missed = space, surrogate, missed
        self.X = rng.normal(size=(n, 2)).round(2)
        self.sets = rng.choice(node_sets(shape, space), size=n)
        self.weight = rng.uniform(0.5, 2.0, size=n)
        self.shape = shape
        leaves = np.flatnonzero(np.diff(shape.child_at) == 0)
        # As estimators have it: where an output may be empty, common nodes keep their weights.
        self.paths = hierarchy_paths(shape, leaves, keep_common=space == "closed")
        start = named_weights(self.paths, "maxmin")
        self.data = node_sets_data(
            self.X, self.sets, shape, space=space, alpha=start, missed_weight=missed
        )

    @property
    def solver(self):
        return SharedBlockFrankWolfe(paths=self.paths)

    def problem(self, compile=False, lam=LAM):
        cost = tabulate(NodeHamming(), self.data, range(5))
        cost = cost._replace(price=cost.price * np.array([1.0, self.missed]))
        search = bind_search("auto", self.surrogate, self.data, cost)
        return Problem(
            self.data, cost, self.surrogate.compiled(), len(self.X), lam, self.weight,
            search=search, is_linear=self.surrogate.is_linear, compile=compile,
        )  # fmt: skip

    def optimum(self):
        """Return the least joint objective, over all sets or all corners of the relaxation."""
        is_relaxed = self.space == "paths" and np.diff(self.shape.parent_at).max() > 1
        outputs = vertices(self.shape) if is_relaxed else node_sets(self.shape, self.space)
        kept = self.paths.columns >= 0
        planes = []
        for i, (x, truth) in enumerate(zip(self.X, self.sets, strict=True)):
            factor = np.where(truth == 1, self.missed, 1.0)  # of score and price of missed nodes
            for output in outputs:
                change = factor * (truth - output)
                cost = np.abs(change).sum()
                slope = cost if isinstance(self.surrogate, SlackRescaling) else 1.0
                row = slope * np.outer([*x, 1.0], change[kept])
                planes.append((row, cost, i))
        return least_joint(self.paths, planes, self.weight, LAM)


SETS = {
    "closed sets of a tree": (TREE, "closed"),
    "paths of a tree": (TREE, "paths"),
    "closed sets of a DAG": (DIAMOND, "closed"),
    "paths of a DAG, relaxed": (DIAMOND, "paths"),
    "slack": (TREE, "closed", SlackRescaling()),
    "slack on a DAG": (DIAMOND, "closed", SlackRescaling()),
    "missed nodes weighted": (DIAMOND, "closed", LINEAR[0], 3.0),
}


@pytest.mark.parametrize("name", SETS)
def test_the_joint_certificate_of_sets_holds_the_joint_optimum(name):
    case = SetsCase(*SETS[name])
    tol = 2e-2 if "relaxed" in name else 5e-3
    result, state = run(
        case.problem(), case.solver, rng=np.random.default_rng(0), tol=tol, max_iter=200
    )
    best = case.optimum()
    room = 1e-6 * best
    assert result.status == "converged" and result.objective == "shared"
    assert result.dual - room <= best <= result.primal + room
    for record in result.history:
        assert record.dual <= best + room
        assert not record.primal < best - room
    leaves = np.flatnonzero(np.diff(case.shape.child_at) == 0)
    assert path_sums(case.shape, leaves, state.alpha).max() <= 1.0 + 1e-9


# -- going on --------------------------------------------------------------------------------------


def copied(snapshot, **changed):
    arrays = {name: array.copy() for name, array in snapshot.arrays.items()}
    return Snapshot(copy.deepcopy(snapshot.meta), arrays | changed)


def snapshots_of(problem, solver, **options):
    """Return a run and a snapshot of every pass of it."""
    taken = []
    result, _ = run(
        problem, solver, rng=np.random.default_rng(0), **options,
        callbacks=[lambda event: taken.append(copied(event.snapshot()))],
    )  # fmt: skip
    return result, taken


def make_listed():
    case = Case(0, True, "none")
    return case.problem(), solver_of(case)


def make_sets():
    case = SetsCase(TREE, "closed")
    return case.problem(), case.solver


@pytest.fixture
def bad_weights(monkeypatch):
    """Take weights of nodes that are bad for U, so that the joint dual falls."""
    monkeypatch.setattr(
        shared,
        "shared_weights",
        lambda paths, squares: shared_weights(paths, 1.0 / (1e-3 + squares)),
    )


@pytest.mark.usefixtures("bad_weights")
@pytest.mark.parametrize("make", [make_listed, make_sets])
def test_a_resumed_run_ends_as_if_it_had_not_stopped(make):
    options = {"tol": 1e-3, "max_iter": 5}
    whole, taken = snapshots_of(*make(), **options)
    fallen = [k for k, one in enumerate(taken) if "state.peak.alpha" in one.arrays]
    assert fallen and fallen[0] + 1 < len(taken)  # the joint dual has fallen since its peak
    for k in {0, fallen[0]}:
        problem, solver = make()
        rest, _ = run(problem, solver, rng=np.random.default_rng(9), snapshot=taken[k], **options)
        assert rest.w.tolist() == whole.w.tolist()
        assert (rest.primal, rest.dual, rest.gap) == (whole.primal, whole.dual, whole.gap)
        assert [vars(a)["dual"] for a in rest.history] == [vars(a)["dual"] for a in whole.history]


@pytest.mark.usefixtures("bad_weights")
@pytest.mark.parametrize("make", [make_listed, make_sets])
def test_what_no_run_has_left_is_not_resumed(make):
    _, taken = snapshots_of(*make(), tol=1e-3, max_iter=5)
    fallen = next(one for one in taken if "state.peak.alpha" in one.arrays)
    alpha, peak = fallen.arrays["state.alpha"], fallen.arrays["state.peak.alpha"]
    w = fallen.arrays["state.peak.w"]
    used = int(np.argmax(alpha))
    none = np.where(np.arange(len(alpha)) == used, 0.0, alpha)
    for changed, message in (
        ({"state.alpha": 2.0 * alpha}, "sums to more than 1 along a path"),
        ({"state.alpha": none}, "has a weight below"),
        ({"state.alpha": alpha[:-1]}, "'alpha' must be float64 of shape"),
        ({"state.alpha": 0.5 * alpha}, "'w' is not what the rest of its state makes of it"),
        ({"state.peak.alpha": 0.5 * peak}, "'w' is not what the rest of its state makes of it"),
        ({"state.peak.w": 0.5 * w}, "'w' is not what the rest of its state makes of it"),
        ({"state.peak.more": w}, "'more', which nothing here knows"),
    ):
        problem, solver = make()
        with pytest.raises(ValueError, match=message):
            run(problem, solver, rng=np.random.default_rng(0), snapshot=copied(fallen, **changed))
    # Without its peak a state proves less than the run has told.
    alone = copied(fallen)
    alone.arrays = {n: a for n, a in alone.arrays.items() if not n.startswith("state.peak.")}
    problem, solver = make()
    with pytest.raises(ValueError, match="but its state proves no more than"):
        run(problem, solver, rng=np.random.default_rng(0), snapshot=alone)


@pytest.mark.parametrize("make", [make_listed, make_sets])
def test_a_state_goes_on_with_another_lam(make):
    problem, solver = make()
    _, state = run(problem, solver, rng=np.random.default_rng(0), tol=1e-2)
    other, solver = make()  # encoded anew, at the weights of the start
    other.lam = 2.0 * LAM
    solver.adapt(other, state, LAM)
    warm, _ = run(other, solver, rng=np.random.default_rng(0), tol=1e-3, state=state)
    third, solver = make()
    third.lam = 2.0 * LAM
    cold, _ = run(third, solver, rng=np.random.default_rng(0), tol=1e-3)
    assert warm.status == cold.status == "converged"
    assert warm.dual <= cold.primal + 1e-9 and cold.dual <= warm.primal + 1e-9
