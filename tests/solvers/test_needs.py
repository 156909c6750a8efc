"""A problem that a solver does not fit is refused by name, wherever the problem comes from."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.solvers import SOLVERS, run
from maxmargin.testing import tiny_problem


def refused(problem, solver, message):
    with pytest.raises(ValueError, match=message):
        run(problem, SOLVERS[solver](), rng=np.random.default_rng(0))


def test_data_that_cannot_be_listed():
    problem = tiny_problem("chain", compile=False)
    refused(problem, "sdca", r"SDCA needs outputs that can be listed, which ChainData does not .*")


def test_a_loss_that_is_not_convex():
    problem = tiny_problem("multiclass", compile=False)
    problem.is_convex = False
    refused(problem, "bcfw", r"needs a loss that is convex, which the surrogate does not .* sgd")
