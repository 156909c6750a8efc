"""Solvers over laws of outputs: expectations, limits that are other solvers, ascent, optima."""

from __future__ import annotations

import math
import warnings
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin.core.contract import law_sizes
from maxmargin.core.problem import Problem
from maxmargin.costs import Hamming, tabulate
from maxmargin.inference.hierarchy.shape import hierarchy_shape
from maxmargin.search.direct import Direct
from maxmargin.solvers import (
    BlockFrankWolfe,
    ExponentiatedGradient,
    FrankWolfe,
    Iteration,
    PartialLinearization,
    Snapshot,
    run,
)
from maxmargin.solvers.marginal.laws import bench_of, places
from maxmargin.solvers.marginal.partial_linearization import visit_laws
from maxmargin.structures import (
    STRUCTURES,
    StackedGraphs,
    general_data,
    node_sets_data,
    stacked_graphs,
)
from maxmargin.structures.graph import junction_laws
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing import optimum, tiny_problem
from maxmargin.testing.laws import check_laws
from maxmargin.testing.tiny import TinyData, fitting_costs, tiny_tables


def closed_sets(lam=0.1, n=4, missed=1.0):
    """Return closed sets of a forest of two trees: `tiny_problem` has unions of paths."""
    rng = np.random.default_rng(0)
    shape = hierarchy_shape(5, child=[1, 2, 4], parent=[0, 0, 3])
    sets = [[0, 0, 0, 0, 0], [1, 0, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 1, 0]]
    X = rng.normal(size=(n, 2))
    data = node_sets_data(X, np.array(sets), shape, space="closed", missed_weight=missed)
    cost = tiny_tables(TinyData(data, np.full(n, 5)), "hamming")
    return Problem(
        data, cost, MarginRescaling().compiled(), n, lam, search=Direct(1.0, 1.0), compile=False
    )


WITH_LAWS = [
    name for name in STRUCTURES if "marginals" in tiny_problem(name, compile=False).capabilities
]
PROBLEMS = {name: lambda name=name: tiny_problem(name, compile=False) for name in WITH_LAWS}
PROBLEMS["closed_sets"] = closed_sets


def quiet(problem, solver, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run(problem, solver, rng=np.random.default_rng(0), **options)


def duals(problem, solver, n_passes):
    """Return the dual after every pass, not the best so far, and the weights at the end."""
    solver, rng = solver.engine(problem), np.random.default_rng(0)
    state = solver.start(problem)
    found = [solver.advance(problem, state, rng).dual for _ in range(n_passes)]
    return np.array(found), state.w


def test_structures_with_laws_are_those_that_say_so():
    assert set(WITH_LAWS) >= {
        "multiclass", "chain", "graph_forest", "graph", "hierarchy", "multilabel",
        "multilabel_tree",
    }  # fmt: skip
    assert "ranking" not in WITH_LAWS and "user" not in WITH_LAWS


@pytest.mark.parametrize("structure", WITH_LAWS)
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_laws_are_those_of_all_outputs(structure, scale):
    """At temperatures from 1e-6 to 1e6, with other laws before, with every cost that has prices."""
    for seed, cost in enumerate(fitting_costs(structure)):
        problem = tiny_problem(structure, cost, compile=False, seed=seed)
        if "marginals" in problem.capabilities:
            check_laws(problem, scale=scale, seed=seed)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_laws_of_closed_sets(scale):
    check_laws(closed_sets(), scale=scale)
    check_laws(closed_sets(missed=2.5), scale=scale)


def grids(n_columns=3, n_graphs=2):
    """Return small grids: cycles, so that cliques join three nodes and more."""
    rng, n = np.random.default_rng(0), 3 * n_columns
    across = [
        (r * n_columns + c, r * n_columns + c + 1) for r in range(3) for c in range(n_columns - 1)
    ]
    down = [(v, v + n_columns) for v in range(2 * n_columns)]
    edges = np.array((across + down) * n_graphs)
    at = np.arange(n_graphs + 1)
    n_edges = len(across) + len(down)
    stack = StackedGraphs(
        rng.normal(size=(n * n_graphs, 2)), n * at, edges, n_edges * at,
        rng.normal(size=(len(edges), 2)),
    )  # fmt: skip
    return general_data(stacked_graphs(stack, rng.integers(2, size=n * n_graphs), 2))


def test_laws_of_graphs_with_cycles():
    data = grids()
    problem = Problem(
        data, tabulate(Hamming(), data, np.arange(2)), MarginRescaling().compiled(), 2, 0.1,
        search=Direct(1.0, 1.0), compile=False,
    )  # fmt: skip
    check_laws(problem)


def test_a_graph_whose_junction_tree_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(junction_laws, "MOST_CELLS", 40)
    with pytest.raises(ValueError, match=r"graph 0 has a junction tree of more than 40 .* bcfw"):
        law_sizes(grids())


def test_equal_scores_share_their_mass():
    problem = closed_sets()
    check_laws(problem, scale=0.0)
    for structure in WITH_LAWS:
        check_laws(tiny_problem(structure, compile=False), scale=0.0)


@pytest.mark.parametrize("structure", ["multiclass", "chain"])
def test_without_temperature_it_is_frank_wolfe_to_the_bit(structure):
    for block, twin in ((True, BlockFrankWolfe(step="plain", cache=0)), (False, FrankWolfe())):
        problem = tiny_problem(structure, compile=False)
        ours, w = duals(problem, PartialLinearization(tau=0.0, block=block), 5)
        theirs, w_twin = duals(problem, twin, 5)
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(w, w_twin)


@pytest.mark.parametrize("structure", ["multiclass", "chain", "multilabel_tree", "graph_forest"])
def test_a_low_temperature_does_what_frank_wolfe_does(structure):
    problem = tiny_problem(structure, compile=False)
    name = "price" if structure == "multilabel_tree" else "matrix"
    table = getattr(problem.view.cost, name)
    # No two outputs cost the same: of equals one takes the first, the other all of them.
    table = table * np.random.default_rng(0).uniform(0.5, 1.0, size=table.shape)
    problem.view = problem.view._replace(cost=problem.view.cost._replace(**{name: table}))
    plain, _ = duals(problem, PartialLinearization(tau=0.0), 15)
    low, _ = duals(problem, PartialLinearization(tau=1e-9, spread=1e-9), 15)
    np.testing.assert_allclose(low, plain, rtol=0, atol=1e-5)


@pytest.mark.parametrize("structure", WITH_LAWS)
def test_whole_steps_are_exponentiated_gradient(structure):
    problem, tau = tiny_problem(structure, compile=False), 2.0
    towards = PartialLinearization(tau=tau, average=False)
    gradient = ExponentiatedGradient(step="fixed", eta=1.0 / tau, average=False)
    ours, theirs = towards.start(problem), gradient.start(problem)
    np.testing.assert_allclose(ours.w, theirs.w, rtol=0, atol=1e-12)
    order = np.random.default_rng(0).permutation(problem.n_examples)
    for _ in range(3):
        visit_laws(
            problem.view, order, 0, len(order), 1.0 / (problem.lam * len(order)), 1.0, tau, 1.0,
            ours.w, ours.laws, ours.linear, places(problem), problem.desk(), bench_of(problem), 0.0,
        )  # fmt: skip
    for _ in range(3):
        gradient.advance(problem, theirs, SimpleNamespace(permutation=lambda n: order))
    np.testing.assert_allclose(ours.w, theirs.w, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.linear, theirs.linear, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(
    "solver",
    [
        PartialLinearization(tau=0.3),
        PartialLinearization(tau=3.0, block=False),
        PartialLinearization(tau=3.0, fall=1.0),
        PartialLinearization(tau=0.03, fall=-0.5),
        ExponentiatedGradient(),
        ExponentiatedGradient(block=False, eta=30.0),
    ],
    ids=str,
)
def test_the_dual_never_falls(name, solver):
    found, _ = duals(PROBLEMS[name](), solver, 12)
    assert all(after >= before - 1e-12 for before, after in pairwise(found))
    assert found[-1] > found[0]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(
    "solver", [PartialLinearization(tau=0.1), ExponentiatedGradient()], ids=["partial", "gradient"]
)
def test_all_agree_on_the_optimum(name, solver):
    problem = PROBLEMS[name]()
    best = optimum(problem)
    result, _ = quiet(problem, solver, tol=1e-6, max_iter=3000)
    assert result.status == "converged" and result.relative_gap <= 1e-6
    assert result.dual <= best.upper + 1e-9 and best.lower - 1e-9 <= result.primal
    assert result.primal - best.lower <= 1e-6 * best.upper + 1e-9


@pytest.mark.parametrize("structure", ["multiclass", "chain", "multilabel_tree"])
@pytest.mark.parametrize(
    "solver", [PartialLinearization(tau=0.1, block=False), ExponentiatedGradient(block=False)]
)
def test_batches_agree_on_the_optimum(structure, solver):
    problem = tiny_problem(structure, compile=False)
    result, _ = quiet(problem, solver, tol=1e-6, max_iter=3000)
    assert result.status == "converged"
    assert result.primal == pytest.approx(optimum(problem).upper, rel=2e-6)


@pytest.mark.parametrize("block", [True, False])
def test_temperatures_follow_their_schedule(block):
    problem = tiny_problem("chain", compile=False)
    falling = PartialLinearization(tau=2.0, fall=1.0, block=block, average=False)
    state, rng = falling.start(problem), np.random.default_rng(0)
    other, again = falling.start(problem), np.random.default_rng(0)
    for tau in (2.0, 1.0, 2.0 / 3.0, 0.5):
        falling.advance(problem, state, rng)
        PartialLinearization(tau=tau, block=block, average=False).advance(problem, other, again)
        assert np.array_equal(state.laws, other.laws) and np.array_equal(state.w, other.w)
    assert PartialLinearization(tau=1e-10, fall=2.0).temperature(10**9) == 1e-12


@pytest.mark.parametrize("structure", ["multiclass", "chain"])
@pytest.mark.parametrize("lam", [1e-8, 1e3])
@pytest.mark.parametrize(
    "solver",
    [PartialLinearization(tau=1e-10), PartialLinearization(tau=1e8), ExponentiatedGradient()],
    ids=str,
)
def test_extreme_temperatures_and_regularisation(structure, lam, solver):
    problem = tiny_problem(structure, lam=lam, compile=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result, state = quiet(problem, solver, tol=0.0, max_iter=10)
    assert np.isfinite(state.w).all() and math.isfinite(result.dual)
    assert result.dual <= result.primal
    sharp, rounding = solver.sharpen(problem, state)
    assert sharp == pytest.approx(result.history[-1].dual, abs=1e-6 * (1.0 + abs(sharp)) + rounding)


def test_a_law_that_is_none_is_refused():
    problem, taken = tiny_problem("chain", compile=False), []

    def take(event: Iteration) -> None:
        snapshot = event.snapshot()
        arrays = {name: array.copy() for name, array in snapshot.arrays.items()}
        taken.append(Snapshot(snapshot.meta, arrays))

    quiet(problem, PartialLinearization(), tol=0.0, max_iter=2, callbacks=[take])
    taken[0].arrays["state.laws"][5] += 0.1
    with pytest.raises(ValueError, match="'laws' has cells that are the probabilities of no law"):
        quiet(problem, PartialLinearization(), snapshot=taken[0])
    quiet(problem, ExponentiatedGradient(), tol=0.0, max_iter=2, callbacks=[take])
    taken[-1].arrays["state.linear"][0] += 0.1
    with pytest.raises(ValueError, match="'linear' is not what"):
        quiet(problem, ExponentiatedGradient(), snapshot=taken[-1])
    quiet(problem, FrankWolfe(), tol=0.0, max_iter=2, callbacks=[take])
    taken[-1].arrays["state.bounds"][0] += 10.0
    with pytest.raises(ValueError, match="no plane below the losses"):
        quiet(problem, FrankWolfe(), snapshot=taken[-1])


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (PartialLinearization, {"tau": -1.0}, "tau must be 0, or from 1e-12 to 1e12, got -1.0"),
        (PartialLinearization, {"tau": math.nan}, "tau must be 0"),
        (PartialLinearization, {"fall": math.nan}, "fall must be from -2 to 2, got nan"),
        (PartialLinearization, {"spread": 0.0}, "spread must be above 0"),
        (ExponentiatedGradient, {"eta": 0.0}, "eta must be from"),
        (ExponentiatedGradient, {"step": "exact"}, "step must be one of"),
        (ExponentiatedGradient, {"spread": 1.0}, "spread must be above 0 and below 1"),
    ],
)
def test_options_that_cannot_be_are_refused(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**options)


def test_an_example_is_left_alone_if_nothing_is_to_be_gained():
    """One class: no output but the true one, and no step."""
    problem = tiny_problem("multiclass", compile=False)
    data = problem.view.data._replace(labels=np.zeros(6, dtype=np.int32), n_labels=1)
    single = Problem(
        data, problem.view.cost, problem.view.surrogate, 6, 0.1, search=Direct(1.0, 1.0),
        compile=False,
    )  # fmt: skip
    for solver in (PartialLinearization(), ExponentiatedGradient(), FrankWolfe()):
        result, _ = quiet(single, solver, max_iter=2)
        assert not result.w.any() and result.primal == 0.0
