import numpy as np
import pytest

from maxmargin.costs import Hamming, tabulate
from maxmargin.solvers import BlockFrankWolfe, run
from maxmargin.structures import STRUCTURES
from maxmargin.testing import check_solver, check_structure, tiny_problem
from maxmargin.testing.tiny import fitting_costs, tiny_data


def test_it_meets_the_contract():
    data = tiny_data("grades").data
    assert type(data) is STRUCTURES["grades"]
    check_structure(data, cost=tabulate(Hamming(), data, range(3)))


def test_all_costs_of_positions_are_its_costs():
    assert fitting_costs("grades") == fitting_costs("multiclass")


def test_solvers_train_it():
    check_solver(BlockFrankWolfe(), tiny_problem("grades", compile=False), tol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("surrogate", ["slack", "log"])
def test_searches_find_its_outputs(surrogate):
    problem = tiny_problem("grades", "ordinal", surrogate, compile=False)
    result, _ = run(problem, BlockFrankWolfe(), rng=np.random.default_rng(0), tol=1e-3)
    assert result.status in ("converged", "oracle_bound")
