"""All pairs of the registries: those that fit are run, those that do not are refused."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.core.contract import capabilities
from maxmargin.core.problem import Problem
from maxmargin.costs import COSTS, Hamming, ZeroOne
from maxmargin.search.direct import Direct
from maxmargin.solvers import SOLVERS, BlockFrankWolfe, Perceptron, Progress, Solver, run
from maxmargin.solvers.blocks.bcfw import BlockState
from maxmargin.solvers.needs import check_fit_together
from maxmargin.structures import (
    STRUCTURES,
    OwnCost,
    UserData,
    chain_data,
    chain_layout,
    multiclass_data,
)
from maxmargin.structures.user.compiled import check_cost_fits
from maxmargin.surrogates import SURROGATES, MarginRescaling
from maxmargin.testing import check_oracles, check_solver, optimum, tiny_problem
from maxmargin.testing.exact import all_planes
from maxmargin.testing.tiny import Agreement, fitting_costs
from tests.helpers import PLAIN_SOLVERS, structure_fits

DIRECT = Direct(1.0, 1.0)


@dataclass(frozen=True)
class Case:
    """One choice from every registry."""

    structure: str
    cost: str
    surrogate: str
    solver: str

    def __str__(self):
        return "-".join((self.structure, self.cost, self.surrogate, self.solver))

    def problem(self, **options):
        return tiny_problem(self.structure, self.cost, self.surrogate, **options)


def fits(structure, surrogate, solver):
    psi, needs = SURROGATES[surrogate](), SOLVERS[solver].needs
    flags = {
        "convex": psi.is_convex,
        "linear": psi.is_linear,
        "unit_slope": psi.has_unit_slope,
    }
    return structure_fits(structure, needs) and all(flags[need] for need in needs & flags.keys())


TRIPLES = list(itertools.product(STRUCTURES, SURROGATES, SOLVERS))


def is_quick(case):
    """A programme takes milliseconds where a kernel takes microseconds: a few cases must do."""
    if not case.structure.endswith("_program"):
        return True
    costs = {"margin": ("hamming", "zero_one"), "slack": ("hamming",), "micro_f1": ("hamming",)}
    return case.solver == "bcfw" and case.cost in costs.get(case.surrogate, ())


#: One structure per kind of outputs, quick as Python.
PLAIN = ("multiclass", "chain", "multilabel", "ranking", "user")

FITTING_COSTS = {structure: fitting_costs(structure) for structure in STRUCTURES}


def is_paired(case):
    """Take every pair of two registries, not every triple.

    Every solver runs with every structure, every cost with every structure, and every solver with
    every cost, on the first structure that has it. A structure more then adds a sum of cases.
    Solvers that come no closer than a hundredth run with one cost of each structure.
    """
    if not structure_fits(case.structure, SOLVERS[case.solver].needs, case.cost):
        return False
    if case.solver == "sdca" and not structure_fits(case.structure, frozenset({"listed"})):
        return case.structure == "chain" and case.cost == "hamming"  # elsewhere it is bcfw
    if SOLVERS[case.solver].reach > 1e-6:
        return case.cost == FITTING_COSTS[case.structure][0]
    if case.solver == "bcfw" or case.cost == FITTING_COSTS[case.structure][0]:
        return True
    return case.structure == next(name for name in STRUCTURES if case.cost in FITTING_COSTS[name])


@functools.cache
def is_first_of_its_type(structure, cost):
    """Tell whether no cost before it has tables of the same type: the same code runs for them."""
    kinds = [
        type(tiny_problem(structure, name, compile=False).view.cost)
        for name in FITTING_COSTS[structure]
    ]
    k = FITTING_COSTS[structure].index(cost)
    return kinds[k] not in kinds[:k]


def fitting_cases(*surrogates):
    for structure, surrogate, solver in TRIPLES:
        if surrogate in surrogates and fits(structure, surrogate, solver):
            names = FITTING_COSTS[structure]
            cases = (Case(structure, name, surrogate, solver) for name in names)
            yield from (case for case in cases if is_quick(case) and is_paired(case))


@pytest.mark.parametrize("case", list(fitting_cases("margin")), ids=str)
def test_what_fits_meets_the_contract(case):
    """Bounds around the optimum, closing gap, repeatable, resumable; compiled and uncompiled."""
    # Of the many kinds of label sets and graphs, and of costs of rankings, one solver with one cost
    # is compiled: every solver with every cost would take longer than all other tests. Uncompiled
    # it is the same source.
    is_one_of_many = case.structure.startswith(
        ("multilabel", "ranking", "graph", "hierarchy", "parse")
    )
    compile = not is_one_of_many or (
        case.cost in ("hamming", "ap", "uas") and case.solver == "bcfw"
    )
    problem = case.problem(compile=compile)
    assert problem.calls_python == (not (compile and isinstance(problem.view.data, tuple)))
    is_exact = "convex" in SOLVERS[case.solver].needs
    # What has no certificate is looked at wherever it stops; as Python that is sooner. A programme
    # takes milliseconds a call.
    check_solver(
        SOLVERS[case.solver](),
        problem,
        tol=1e-4 if case.structure.endswith("_program") else 1e-6,
        max_iter=2000 if is_exact else 200 if problem.is_compiled else 50,
    )


# Compiled searches are shown to do as they do uncompiled in test_search; a solver compiled with
# every one of them would take minutes.
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("structure", "surrogate"),
    [("chain", "slack"), ("multilabel_listed", "log"), ("multiclass", "prob")],
)
def test_surrogates_meet_the_contract_compiled(structure, surrogate, solver):
    if fits(structure, surrogate, solver):
        is_exact = "convex" in SOLVERS[solver].needs
        problem = tiny_problem(structure, "hamming", surrogate)
        assert problem.is_compiled
        check_solver(SOLVERS[solver](), problem, max_iter=2000 if is_exact else 200)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "case",
    [
        case
        for case in fitting_cases(*SURROGATES)
        # Costs are varied with one surrogate, surrogates with one cost; and as in `is_paired`, all
        # three of structure, surrogate and solver are varied on the first structures only. Of costs
        # whose tables have one type, the others have one.
        if (
            case.cost in ("hamming", "ap", "own", "uas")
            or (case.surrogate == "slack" and case.structure in PLAIN)
            or (case.surrogate == "slack" and is_first_of_its_type(case.structure, case.cost))
        )
        and (case.solver == "bcfw" or case.surrogate == "slack" or case.structure in PLAIN)
        and (SOLVERS[case.solver].reach <= 1e-6 or case.structure in ("multiclass", "chain"))
    ],
    ids=str,
)
def test_every_surrogate_trains_to_its_certificate(case):
    """Uncompiled, with the search that is chosen for it."""
    if case.surrogate == "margin" or is_refused(case):
        return
    problem = case.problem(compile=False)
    best = optimum(problem)
    solver = SOLVERS[case.solver]()
    is_exact = "convex" in solver.needs
    # Every pass finds new means of two vertices, in Python: a tight gap would take minutes.
    tol = max(solver.reach, 1e-2 if problem.objective == "relaxed" else 1e-6)
    if case.structure.endswith("_program"):
        tol = max(tol, 1e-3)
    result, _ = run(
        problem, solver, rng=np.random.default_rng(0), tol=tol, max_iter=500 if is_exact else 30
    )
    slack = 1e-9 * (1.0 + best.upper)
    assert result.primal >= best.lower - slack
    if not is_exact:
        assert result.primal < problem.primal(np.zeros(problem.n_weights))
        assert not result.is_certified
        return
    if problem.objective == "relaxed":  # more outputs than are listed: only the gap is looked at
        assert result.status == "converged" and result.relative_gap <= tol
        return
    assert result.dual <= best.upper + slack
    if not {"profile", "k_best"} & problem.capabilities:  # a bound is all there is
        assert result.status in ("converged", "oracle_bound")
        # What lies below the hull is missed, and of the labellings of a graph that is more.
        share = 0.25 if case.structure == "graph" else 0.1
        assert result.gap - result.search_gap <= share * result.primal
    else:
        assert result.status == "converged" and result.relative_gap <= tol
        assert result.search_gap == 0.0


def is_refused(case):
    """Micro-F1 is for sets and sequences, with its own cost; another surrogate needs profiles."""
    if case.surrogate == "normalized":
        view = tiny_problem(case.structure, case.cost, compile=False).view
        if "profile" in capabilities(view.data, view.cost):
            return False
        with pytest.raises(ValueError, match=r"surrogate='normalized' .* that fit: margin"):
            case.problem()
        return True
    if case.surrogate != "micro_f1":
        return False
    is_of_sets = case.structure.startswith(("multilabel", "hierarchy_", "chain"))
    if is_of_sets and case.cost in ("hamming", "f1", "node_hamming"):
        return False
    with pytest.raises(
        ValueError, match=r"surrogate=MicroF1\(.*\) (is for label sets|has a cost of)"
    ):
        case.problem()
    return True


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("structure", "features"),
    [("chain", "dense"), ("chain", "csr"), ("multiclass", "dense"), ("multiclass", "float32")],
)
def test_uncompiled_problems_meet_the_contract(structure, features, solver):
    """That compiled code agrees with these types of features is shown in test_structures."""
    if not structure_fits(structure, SOLVERS[solver].needs):
        return  # refused, see below
    problem = tiny_problem(structure, features=features, compile=False)
    assert not problem.is_compiled
    # Slow, so stopped sooner: the bounds are looked at wherever it stops.
    is_exact = "convex" in SOLVERS[solver].needs
    check_solver(SOLVERS[solver](), problem, tol=1e-4, max_iter=500 if is_exact else 20)


@pytest.mark.parametrize(("features", "rel"), [("csr", 1e-9), ("float32", 1e-6)])
@pytest.mark.parametrize("structure", ["chain", "multiclass"])
def test_the_optimum_does_not_depend_on_how_features_are_held(structure, features, rel):
    ours, dense = (
        optimum(tiny_problem(structure, features=kind, compile=False))
        for kind in (features, "dense")
    )
    assert ours.upper == pytest.approx(dense.upper, rel=rel)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", PLAIN_SOLVERS)
def test_threads_change_nothing(solver, monkeypatch):
    monkeypatch.setattr("maxmargin.core.workers.CHUNK", 1)
    needs = SOLVERS[solver].needs
    structure = "chain" if structure_fits("chain", needs) else "multiclass"
    ends = [
        run(
            tiny_problem(structure, n_jobs=n), SOLVERS[solver](),
            rng=np.random.default_rng(0), tol=0.0, max_iter=5,
        )[0].w
        for n in (1, 2, 3)
    ]  # fmt: skip
    assert (ends[0] == ends[1]).all() and (ends[0] == ends[2]).all()


# -- what does not fit ---------------------------------------------------------------------------


class Bent(MarginRescaling):
    is_convex = False
    is_linear = False


class Steep(MarginRescaling):
    has_unit_slope = False


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_that_need_a_convex_surrogate_say_so(solver):
    view = tiny_problem("multiclass", compile=False).view
    lacking = {"convex", "linear"}  # what Bent does not have
    if not SOLVERS[solver].needs & lacking:
        check_fit_together(SOLVERS[solver](), Bent(), view.data, view.cost)
        return
    fitting = [name for name, cls in SOLVERS.items() if not cls.needs & lacking]
    need = "convex" if "convex" in SOLVERS[solver].needs else "affine in the margin error"
    message = f"needs a loss that is {need}, which Bent does not provide"
    with pytest.raises(ValueError, match=message) as error:
        check_fit_together(SOLVERS[solver](), Bent(), view.data, view.cost)
    assert str(error.value).endswith(f"Solvers that fit: {', '.join(fitting)}.")


def test_a_solver_that_needs_unit_slope_says_so():
    message = "Perceptron needs a loss of slope 1, which Steep does not provide"
    with pytest.raises(ValueError, match=message):
        check_fit_together(SOLVERS["perceptron"](), Steep())


@functools.cache
def plain_view(structure):
    """Return data and cost of a structure, for those who only look at them."""
    return tiny_problem(structure, compile=False).view


@pytest.mark.parametrize(("structure", "surrogate", "solver"), TRIPLES)
def test_solvers_are_refused_where_they_do_not_fit(structure, surrogate, solver):
    psi, view = SURROGATES[surrogate](), plain_view(structure)
    if fits(structure, surrogate, solver):
        check_fit_together(SOLVERS[solver](), psi, view.data, view.cost)
        return
    with pytest.raises(ValueError, match=r"needs .* does not provide") as error:
        check_fit_together(SOLVERS[solver](), psi, view.data, view.cost)
    fitting = [name for name in SOLVERS if fits(structure, surrogate, name)]
    assert str(error.value).endswith(f"Solvers that fit: {', '.join(fitting)}.")


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_costs_without_an_oracle_are_refused(structure, cost):
    problem = tiny_problem(structure)
    if cost in fitting_costs(structure):
        check_cost_fits(problem.view.data, tiny_problem(structure, cost).view.cost)
        return
    if structure != "user":
        with pytest.raises((ValueError, TypeError), match=r"Costs that fit"):
            check_cost_fits(problem.view.data, tiny_problem(structure, cost).view.cost)
        return
    if cost not in fitting_costs("multiclass"):
        return  # has no tables for them
    tables = tiny_problem("multiclass", cost).view.cost
    with pytest.raises(TypeError, match=r"UserData has no maximize .* Costs that fit: OwnCost\."):
        check_cost_fits(problem.view.data, tables)


# -- oracles beside `maximize` --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("structure", "cost"),
    [(structure, cost) for structure in STRUCTURES for cost in fitting_costs(structure)],
)
def test_oracles_meet_the_contract(structure, cost, seed):
    is_program = structure.endswith("_program")  # milliseconds a call
    if is_program and seed > 0:
        return
    view = tiny_problem(structure, cost, compile=False, seed=seed).view
    check_oracles(view.data, view.cost, seed=seed, max_examples=2 if is_program else None)


@pytest.mark.parametrize(
    "structure", [name for name in STRUCTURES if name.startswith(("multilabel", "hierarchy_"))]
)
def test_oracles_of_micro_f1_meet_the_contract(structure):
    view = tiny_problem(structure, "hamming", "micro_f1", compile=False).view
    check_oracles(view.data, view.cost, max_examples=2)


class Angles(Agreement):
    """Has the constrained oracle, and adds up scores with another rounding than its margin error.

    What a mistaken oracle does is asked of its methods: whether a slope lies inside, and whether a
    banned output is left out.
    """

    def inside(self, slope, low, high, is_closed):
        return low < slope and (slope < high or (is_closed and slope == high))

    def leaves_out(self, y, banned):
        return y in banned

    def constrained(self, x, w, y_true, tilt, low, high, is_closed, banned):
        scores = w.reshape(self.n_classes, -1) @ x
        best, found = -np.inf, None
        for y in range(self.n_classes):
            h, g = (scores[y] - scores[y_true]) * (1.0 + 3e-16), self.cost(y, y_true)
            if 1.0 + h <= 0.0 or self.leaves_out(y, banned):
                continue
            value = g if tilt == np.inf else h + tilt * g
            if self.inside(g / (1.0 + h), low, high, is_closed) and value > best:
                best, found = value, y
        return found


class BothOpen(Angles):
    def inside(self, slope, low, high, is_closed):
        return low < slope < high


class Heedless(Angles):
    def leaves_out(self, y, banned):
        return False

    def inside(self, slope, low, high, is_closed):
        return low <= slope <= high


class Wide(Angles):
    def inside(self, slope, low, high, is_closed):
        return low < 1.5 * slope and 0.7 * slope <= high


class Narrow(Angles):
    def inside(self, slope, low, high, is_closed):
        return super().inside(slope, 1.2 * low, high, is_closed)


def check_angles(structure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 2))
    data = UserData(structure(n_classes=6, n_columns=2), X, [0, 1, 2, 5])
    for seed in range(5):
        check_oracles(data, OwnCost(), seed=seed)


def test_an_oracle_may_round_as_it_likes():
    check_angles(Angles)


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (BothOpen, "on neither side"),
        (Heedless, "returned a banned output"),
        (Wide, "but none is there|is best"),
        (Narrow, "outputs are there|on neither side|is best"),
    ],
)
def test_the_check_finds_what_is_wrong_with_angles(structure, message):
    with pytest.raises(AssertionError, match=message):
        check_angles(structure)


# -- the optimum that all are compared with ------------------------------------------------------


@pytest.mark.parametrize(
    ("structure", "cost"), [("multiclass", "matrix"), ("chain", "hamming"), ("chain", "zero_one")]
)
def test_the_optimum_is_that_of_a_qp_solver(structure, cost):
    problem = tiny_problem(structure, cost, compile=False)
    planes = all_planes(problem)
    d, n, m = problem.n_weights, problem.n_examples, len(planes.offsets)
    # min lam/2 |w|^2 + sum xi   with   offset - slope.w <= xi of its block
    block = np.searchsorted(planes.start, np.arange(m), side="right") - 1
    P = sp.csc_matrix(sp.diags(np.r_[np.full(d, problem.lam), np.zeros(n)]))
    q = np.r_[np.zeros(d), np.ones(n)]
    A = sp.csc_matrix(np.hstack([-planes.slopes, -np.eye(n)[block]]))
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(m)]
    solution = clarabel.DefaultSolver(P, q, A, -planes.offsets, cones, options).solve()
    best = optimum(problem)
    assert best.lower <= best.upper <= best.lower * (1 + 1e-9)
    assert solution.obj_val == pytest.approx(best.upper, rel=1e-8)
    assert np.array(solution.x[:d]) == pytest.approx(best.w, abs=1e-5)
    assert problem.primal(best.w) == pytest.approx(best.upper, rel=1e-12)


# -- corner cases --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=40)
@given(
    n_labels=st.integers(1, 3),
    n_columns=st.integers(0, 2),
    lengths=st.lists(st.integers(1, 2), min_size=1, max_size=2),
    magnitude=st.sampled_from([0.0, 1e-6, 1.0, 1e4]),
    lam=st.sampled_from([1e-3, 1.0, 1e6]),
    cost=st.sampled_from([Hamming(), ZeroOne()]),
    solver=st.sampled_from(sorted(PLAIN_SOLVERS)),
    seed=st.integers(0, 100),
)
def test_corner_cases(n_labels, n_columns, lengths, magnitude, lam, cost, solver, seed):
    """One label, one sample, length 1, no features, equal scores, huge and tiny weights."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    X = magnitude * rng.integers(-2, 3, size=(offsets[-1], n_columns)).astype(float)
    labels = rng.integers(n_labels, size=offsets[-1])
    if max(lengths) == 1 or "listed" in SOLVERS[solver].needs:
        lengths, offsets = [1] * len(labels), np.arange(len(labels) + 1)
        data = multiclass_data(X, labels, n_labels)
    else:
        data = chain_data(X, offsets, labels, chain_layout(n_columns, n_labels))
    tables = cost.tabulate("positions", np.arange(n_labels), np.diff(offsets))
    psi = MarginRescaling().compiled()
    problem = Problem(data, tables, psi, len(lengths), lam, compile=False, search=DIRECT)
    best = optimum(problem, max_steps=2000)
    result, _ = run(problem, SOLVERS[solver](), rng=np.random.default_rng(0), tol=1e-3, max_iter=15)
    assert np.isfinite(result.w).all()
    slack = 1e-9 * (1.0 + best.upper)
    if SOLVERS[solver].minimizes:
        assert result.primal >= best.lower - slack
    if result.is_certified:
        assert result.dual <= best.upper + slack


# -- what the check finds ------------------------------------------------------------------------


class Boastful(BlockFrankWolfe):
    """Says that its dual is higher than it is."""

    def advance(self, problem, state, rng):
        progress = super().advance(problem, state, rng)
        return Progress(dual=progress.dual + 1.0, gap_estimate=progress.gap_estimate)


class Moody(BlockFrankWolfe):
    """Does not take its randomness from where it should."""

    source = np.random.default_rng(0)

    def advance(self, problem, state, rng):
        return super().advance(problem, state, self.source)


class ForgetfulState(BlockState):
    @classmethod
    def from_arrays(cls, arrays):
        state = super().from_arrays(arrays)
        state.w[:1] += 1e-9
        return state


class Forgetful(BlockFrankWolfe):
    """Cannot be taken up again to the last bit."""

    state_class = ForgetfulState


class Lazy(BlockFrankWolfe):
    """Stops improving."""

    def advance(self, problem, state, rng):
        if state.n_passes < 2:
            return super().advance(problem, state, rng)
        problem.n_oracle_calls += problem.n_examples
        return Progress()


class Unsteady(Perceptron):
    """Blows up."""

    def iterates(self, problem, state):
        return [(state.w * np.nan, np.nan)]


class Rising(Perceptron):
    """Claims to minimise."""

    minimizes = True

    def iterates(self, problem, state):
        return [(np.full_like(state.w, 1e3) + np.arange(len(state.w)), np.nan)]


class Uncounted(BlockFrankWolfe):
    def advance(self, problem, state, rng):
        before = problem.n_oracle_calls
        progress = super().advance(problem, state, rng)
        problem.n_oracle_calls = before
        return progress

    def iterates(self, problem, state):
        problem.n_oracle_calls = -problem.n_examples
        return super().iterates(problem, state)


class Fixed(BlockFrankWolfe):
    """Keeps its weights where they should follow the regularisation."""

    def adapt(self, problem, state, lam):
        pass


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (Boastful, "dual .* is above the optimum"),
        (Moody, "two runs with seed 0 gave different weights"),
        (Forgetful, "taken up again|differs after it was taken up again"),
        (Lazy, "its gap must close"),
        (Unsteady, "finite weights"),
        (Rising, "says it minimises, but after"),
        (Uncounted, "did not count its oracle calls"),
        (Fixed, "dual .* is above the optimum|the relative gap stays at"),
    ],
)
def test_the_check_finds_what_is_wrong(solver, message):
    problem = tiny_problem("multiclass", compile=False)
    assert issubclass(solver, Solver)
    with pytest.raises(AssertionError, match=message):
        check_solver(solver(), problem, max_iter=60, tol=1e-3)
