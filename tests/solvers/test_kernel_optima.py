"""Solvers that take kernels: by a linear one they reach the optimum of the features themselves."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin.solvers import SOLVERS, run
from maxmargin.solvers.needs import check_problem
from maxmargin.structures import STRUCTURES
from maxmargin.surrogates import SURROGATES
from maxmargin.testing import optimum, tiny_problem
from maxmargin.testing.tiny import knows_kernels

KERNELISED = [name for name in STRUCTURES if knows_kernels(name)]
TAKING = [name for name, solver in SOLVERS.items() if solver.takes_kernels]
#: Every structure under margin rescaling, and the other convex surrogates on one that fits.
PROBLEMS = [(name, "margin") for name in KERNELISED] + [
    ("multilabel" if surrogate == "micro_f1" else "multiclass", surrogate)
    for surrogate in SURROGATES
    if surrogate != "margin"
]


def fits(problem, solver):
    try:
        check_problem(solver, problem)
    except ValueError:
        return False
    return True


def test_who_takes_kernels():
    assert set(TAKING) == {"bcfw", "sdca", "mmcrf"}
    assert {"multiclass", "chain", "graph", "hierarchy", "multilabel", "parse"} <= set(KERNELISED)


@pytest.mark.parametrize("solver", ["bcfw", "sdca"])
@pytest.mark.parametrize(("structure", "surrogate"), PROBLEMS)
def test_a_linear_kernel_has_the_optimum_of_the_features(structure, surrogate, solver):
    cost = "hamming" if surrogate != "margin" else None
    plain, problem = (
        tiny_problem(structure, cost, surrogate, features=features, compile=False)
        for features in ("dense", "gram")
    )
    one = SOLVERS[solver]()
    assert fits(problem, one)
    best = optimum(plain)
    result, _ = run(problem, one, rng=np.random.default_rng(0), tol=1e-6, max_iter=3000)
    assert result.status == "converged" and result.relative_gap <= 1e-6
    assert best.lower - 1e-9 <= result.primal <= best.upper * (1.0 + 1e-6) + 1e-9
    assert result.dual <= best.upper + 1e-9


@pytest.mark.parametrize("structure", ["multiclass", "chain", "hierarchy", "parse"])
def test_marginals_of_a_kernel_bracket_it(structure):
    problem = tiny_problem(structure, features="gram", compile=False)
    solver = SOLVERS["mmcrf"]()
    assert fits(problem, solver)
    best = optimum(tiny_problem(structure, compile=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result, _ = run(problem, solver, rng=np.random.default_rng(0), tol=0.02, max_iter=300)
    # Its certificate closes slowly, so that 2% is asked for.
    assert result.status == "converged"
    assert result.dual <= best.upper + 1e-9 and best.lower - 1e-9 <= result.primal
