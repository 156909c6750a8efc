"""Typed, erased and Python: one source, one result, for all that the registries hold."""

from __future__ import annotations

import warnings

import numba
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin.core.erase import entries_of
from maxmargin.core.predict import best_outputs
from maxmargin.search import SEARCHES
from maxmargin.solvers import SOLVERS, run
from maxmargin.structures import STRUCTURES
from maxmargin.surrogates import SURROGATES
from maxmargin.testing import tiny_problem
from maxmargin.testing.tiny import fitting_costs
from tests.helpers import structure_fits

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="nothing is erased where nothing is compiled"
)

#: Structures whose passes can be compiled: a user's in Python has objects for cells.
ERASED = [
    name
    for name in STRUCTURES
    if tiny_problem(name).truths.dtype in (np.dtype(np.int32), np.dtype(np.float64))
]
TYPED = [name for name in ERASED if issubclass(STRUCTURES[name], tuple)]


def solve(mode, solver, structure, cost=None, surrogate="margin", **options):
    problem = tiny_problem(structure, cost, surrogate, mode=mode, **options)
    assert problem.mode == mode
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rng = np.random.default_rng(0)
        return problem, run(problem, SOLVERS[solver](), rng=rng, tol=0.0, max_iter=3)[0]


def agree(one, other):
    """Tell whether two runs of compiled code are the same, to the last bit."""
    numbers = [(each.primal, each.dual, each.n_oracle_calls, each.n_iter) for each in (one, other)]
    return one.w.tobytes() == other.w.tobytes() and repr(numbers[0]) == repr(numbers[1])


def check(*case, **options):
    """Hold a run with erased types against Python."""
    erased, plain = (solve(mode, *case, **options)[1] for mode in ("erased", "python"))
    # Python may round otherwise than compiled code, which may fuse products and sums.
    assert np.allclose(erased.w, plain.w, rtol=1e-7, atol=1e-9), case


def fits(structure, surrogate, solver):
    psi, needs = SURROGATES[surrogate](), SOLVERS[solver].needs
    flags = {"convex": psi.is_convex, "linear": psi.is_linear, "unit_slope": psi.has_unit_slope}
    return structure_fits(structure, needs) and all(flags[need] for need in needs & flags.keys())


#: To compile typed passes takes seconds for each of these; they differ in what they call.
BIT_FOR_BIT = [
    ("bcfw", "chain", {}),
    ("n_slack", "chain", {"surrogate": "slack", "search": "hull"}),
    ("sdca", "multiclass", {}),
    ("sdca", "multiclass", {"surrogate": "slack"}),
    ("sgd", "multilabel_listed", {"surrogate": "slack", "search": "angular"}),
    ("bcfw", "multilabel_relaxed", {}),
    ("one_slack", "ranking", {}),
    ("perceptron", "multilabel_tree", {}),
]


@pytest.mark.parametrize(("solver", "structure", "options"), BIT_FOR_BIT)
def test_typed_and_erased_are_equal_to_the_bit(solver, structure, options):
    erased, typed = (solve(mode, solver, structure, **options)[1] for mode in ("erased", "typed"))
    assert agree(erased, typed)


@pytest.mark.parametrize(
    ("structure", "cost"), [(name, cost) for name in ERASED for cost in fitting_costs(name)]
)
def test_every_cost_runs_erased(structure, cost):
    for surrogate in ("margin", "slack"):
        check("bcfw", structure, cost, surrogate)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("structure", TYPED)
def test_every_solver_runs_erased(structure, solver):
    for surrogate in ("margin", "slack"):
        if fits(structure, surrogate, solver):
            check(solver, structure, None, surrogate)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("structure", TYPED)
def test_every_search_runs_erased(structure, search):
    try:
        tiny_problem(structure, surrogate="slack", search=search)
    except ValueError:
        return  # refused, see tests/search
    check("n_slack", structure, surrogate="slack", search=search)


@pytest.mark.parametrize("features", ["csr", "float32"])
@pytest.mark.parametrize("structure", TYPED)
def test_every_kind_of_features_runs_erased(structure, features):
    check("bcfw", structure, features=features)


@pytest.mark.parametrize("structure", TYPED)
def test_predictions_are_equal(structure):
    view = tiny_problem(structure).view
    n_weights = tiny_problem(structure).n_weights
    w = np.random.default_rng(0).normal(size=n_weights)
    for cost in (None, view.cost):
        outputs, costs = best_outputs(view.data, w, view.cost, cost, mode="erased")
        plain, plain_costs = best_outputs(view.data, w, view.cost, cost, mode="python")
        assert np.array_equal(outputs, plain) and np.allclose(costs, plain_costs, rtol=1e-9)


@pytest.mark.parametrize("structure", TYPED)
def test_the_entries_of_a_structure_can_be_listed(structure):
    for cost in fitting_costs(structure):
        view = tiny_problem(structure, cost).view
        found = entries_of(view.data, view.cost)
        names = {entry.function.__name__ for entry, _ in found}
        assert {"potentials", "margin_error", "add_difference", "maximize", "output_cost"} <= names
