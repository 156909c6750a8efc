"""A problem that a solver does not fit is refused by name, wherever the problem comes from."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.solvers import SOLVERS, run
from maxmargin.testing import tiny_problem


def refused(problem, solver, message):
    with pytest.raises(ValueError, match=message):
        run(problem, SOLVERS[solver](), rng=np.random.default_rng(0))


@pytest.mark.parametrize("solver", ["partial_linearization", "exponentiated_gradient"])
@pytest.mark.parametrize(("structure", "cost"), [("ranking", None), ("chain", "zero_one")])
def test_data_without_marginals(structure, cost, solver):
    problem = tiny_problem(structure, cost, compile=False)
    message = r"needs expectations of outputs .marginals., which .*Data does not .* fit: bcfw, sdca"
    refused(problem, solver, message)


def test_a_loss_whose_expectation_is_not_linear():
    problem = tiny_problem("multiclass", surrogate="slack", compile=False)
    refused(problem, "exponentiated_gradient", r"need a loss that is h \+ tilt \* g.* fit .*bcfw")


def test_a_loss_that_is_not_convex():
    problem = tiny_problem("multiclass", compile=False)
    problem.is_convex = False
    refused(problem, "bcfw", r"needs a loss that is convex, which the surrogate does not .* sgd")
