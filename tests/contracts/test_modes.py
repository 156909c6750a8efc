"""Typed, erased and Python: one source, one result, for all that the registries hold."""

from __future__ import annotations

import warnings

import numba
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    difference_potentials,
    potentials,
)
from maxmargin.core.erase import entries_of
from maxmargin.core.predict import best_outputs
from maxmargin.search import SEARCHES
from maxmargin.solvers import SOLVERS, run
from maxmargin.structures import STRUCTURES
from maxmargin.surrogates import SURROGATES
from maxmargin.testing import tiny_problem
from maxmargin.testing.tiny import FORMS, fitting_costs, knows_kernels
from tests.helpers import PLAIN_SOLVERS, structure_fits

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
        return run(problem, SOLVERS[solver](), rng=rng, tol=0.0, max_iter=3)[0]


def losses(mode, structure, n=3, **options):
    """Return losses and bounds of all examples at a few weights."""
    problem = tiny_problem(structure, mode=mode, **options)
    assert problem.mode == mode
    rng = np.random.default_rng(1)
    return np.array([problem.losses(rng.normal(size=problem.n_weights)) for _ in range(n)])


def agree(one, other):
    """Tell whether two runs of compiled code are the same, to the last bit."""
    numbers = [(each.primal, each.dual, each.n_oracle_calls, each.n_iter) for each in (one, other)]
    return one.w.tobytes() == other.w.tobytes() and repr(numbers[0]) == repr(numbers[1])


def check(*case, **options):
    """Hold a run with erased types against Python."""
    erased, plain = (solve(mode, *case, **options) for mode in ("erased", "python"))
    # Python may round otherwise than compiled code, which may fuse products and sums.
    assert np.allclose(erased.w, plain.w, rtol=1e-7, atol=1e-9), case


def fits(structure, surrogate, solver):
    psi, needs = SURROGATES[surrogate](), SOLVERS[solver].needs
    flags = {"convex": psi.is_convex, "linear": psi.is_linear, "unit_slope": psi.has_unit_slope}
    return structure_fits(structure, needs) and all(flags[need] for need in needs & flags.keys())


def is_refused(structure, **options):
    try:
        tiny_problem(structure, compile=False, **options)
    except ValueError:
        return True
    return False


# -- typed ---------------------------------------------------------------------------------------
# A typed pass is compiled for every structure, cost and search, which takes seconds, and it calls
# them as they are written. So each solver, each search and each sort of data is compiled typed
# once, with the others as small as they come, and not each with each.


#: Packages whose oracles take 5 s and more to compile, and searches. Typed they are not compiled:
#: the kernels that they call are those of erased mode, which Python is held against below.
LONG_ORACLES = ("graph", "ranking")
LONG_SEARCHES = ("hull", "sarawagi")


def package_of(structure):
    return STRUCTURES[structure].__module__.split(".")[2]


def sorts_of_data():
    """Return the first structure of each package, and one for each other type of cells.

    Structures of a package have like fields, and cells are read alike in all packages.
    """
    packages, cells = {}, {}
    for name in TYPED:
        packages.setdefault(package_of(name), name)
        cells[tiny_problem(name, compile=False).truths.dtype] = name
    for name in packages.values():
        cells.pop(tiny_problem(name, compile=False).truths.dtype, None)
    return [*packages.values(), *cells.values()]


@pytest.mark.parametrize("solver", PLAIN_SOLVERS)
def test_solvers_typed_and_erased_are_equal_to_the_bit(solver):
    erased, typed = (solve(mode, solver, "multiclass") for mode in ("erased", "typed"))
    assert agree(erased, typed)


@pytest.mark.parametrize("structure", sorts_of_data())
def test_structures_typed_and_erased_are_equal_to_the_bit(structure):
    """All oracles that the loss needs, or, where they are long, all that reads features."""
    if package_of(structure) in LONG_ORACLES:
        erased, typed = (what_is_read(mode, structure, "dense") for mode in ("erased", "typed"))
    else:
        erased, typed = (losses(mode, structure) for mode in ("erased", "typed"))
    assert erased.tobytes() == typed.tobytes()


@pytest.mark.parametrize("search", [name for name in SEARCHES if name not in LONG_SEARCHES])
def test_searches_typed_and_erased_are_equal_to_the_bit(search):
    # Classes have no constrained oracle, few label sets have one.
    structure = next(
        name for name in TYPED if not is_refused(name, surrogate="slack", search=search)
    )
    options = {"surrogate": "slack", "search": search}
    erased, typed = (losses(mode, structure, **options) for mode in ("erased", "typed"))
    assert erased.tobytes() == typed.tobytes()


# -- erased --------------------------------------------------------------------------------------

#: What takes 10 s to compile, and is made of parts that are compiled with others: costs of edges
#: with graphs and forests, the relaxation with costs of nodes. As Python it is in test_contracts.
COMPILED_NOWHERE = {("graph_relaxed", "edge")}


@pytest.mark.parametrize(
    ("structure", "cost"),
    [
        (name, cost)
        for name in TYPED
        for cost in fitting_costs(name)
        if (name, cost) not in COMPILED_NOWHERE
    ],
)
def test_every_cost_runs_erased(structure, cost):
    """With a search, which asks for all oracles; without one they run in test_structures."""
    check("bcfw", structure, cost, "slack")


@pytest.mark.parametrize("structure", [name for name in ERASED if name not in TYPED])
def test_structures_in_python_are_called_back(structure):
    """A programme takes milliseconds: a run with one cost, and all costs at one point, must do."""
    costs = fitting_costs(structure)
    check("bcfw", structure, costs[0])
    for cost, surrogate in [(costs[0], "slack"), *((cost, "margin") for cost in costs)]:
        erased, plain = (
            losses(mode, structure, 1, cost=cost, surrogate=surrogate)
            for mode in ("erased", "python")
        )
        assert np.allclose(erased, plain, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("solver", PLAIN_SOLVERS)
@pytest.mark.parametrize("structure", TYPED)
def test_every_solver_runs_erased(structure, solver):
    """Each pair once, with surrogates that change from pair to pair, so that each is met."""
    turn = TYPED.index(structure) + list(SOLVERS).index(solver)
    names = list(SURROGATES)[turn % len(SURROGATES) :] + list(SURROGATES)
    for surrogate in names:
        if fits(structure, surrogate, solver) and not is_refused(structure, surrogate=surrogate):
            check(solver, structure, None, surrogate)
            return
    assert not structure_fits(structure, SOLVERS[solver].needs)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("structure", TYPED)
def test_every_search_runs_erased(structure, search):
    options = {"surrogate": "slack", "search": search}
    if is_refused(structure, **options):
        return  # see tests/search
    erased, plain = (losses(mode, structure, **options) for mode in ("erased", "python"))
    assert np.allclose(erased, plain, rtol=1e-9, atol=1e-12)


@jitable
def read_features(problem, i, w, outputs, at, desk, total):
    """Call all that reads features, for one example and one output of it."""
    potentials(problem.data, i, w, 1.0, desk.theta)
    add_difference(problem.data, i, outputs, at, 0.5, total)
    difference_potentials(problem.data, i, outputs, at, desk.spare, desk.theta_difference)


def what_is_read(mode, structure, features):
    """Return what comes of the features of all examples."""
    problem = tiny_problem(structure, features=features, mode=mode)
    view, desk, found = problem.view, problem.desk(), []
    problem.prepare(np.arange(problem.n_examples))  # where a kernel knows the features
    w, total = np.random.default_rng(0).normal(size=problem.n_weights), np.zeros(problem.n_weights)
    # The best outputs at other weights, found as Python.
    outputs = best_outputs(view.data, -w, view.cost, None, mode="python")[0]
    at = 0
    for i, size in enumerate(problem.sizes):
        problem.bind(read_features)(view, i, w, outputs, at, desk, total)
        found += [part.ravel().copy() for part in (*desk.theta, *desk.theta_difference)]
        at += int(size)
    assert total.any()
    return np.concatenate([*found, total])


@pytest.mark.parametrize("structure", TYPED)
def test_every_kind_of_features_is_read_erased(structure):
    """One kind for each structure, in turn; as Python each with each, in test_structures.

    The other oracles know no features; solvers run with some in test_structures.
    """
    left_out = {"dense"} if knows_kernels(structure) else {"dense", "gram"}
    kinds = [name for name in FORMS if name not in left_out]
    features = kinds[TYPED.index(structure) % len(kinds)]
    erased, plain = (what_is_read(mode, structure, features) for mode in ("erased", "python"))
    assert np.allclose(erased, plain, rtol=1e-9, atol=1e-12)


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
