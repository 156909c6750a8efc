import numpy as np
import pytest

import maxmargin
from maxmargin import ChainSVM
from maxmargin.solvers import SOLVERS
from maxmargin.testing import check_solver, tiny_problem

X = [np.eye(2), np.eye(2)[::-1], np.eye(2)[:1]]
Y = [["a", "b"], ["b", "a"], ["a"]]


@pytest.mark.parametrize("structure", ["multiclass", "chain"])
def test_it_meets_the_contract(structure):
    problem = tiny_problem(structure, compile=False)
    check_solver(SOLVERS["subgradient"](), problem, max_iter=30)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_goes_by_its_name(tmp_path):
    model = ChainSVM(solver="subgradient", max_iter=20, random_state=0).fit(X, Y)
    assert model.result_.solver == "subgradient"
    assert [list(y) for y in model.predict(X)] == Y
    model.set_params(solver=SOLVERS["subgradient"]()).save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert again.solver == SOLVERS["subgradient"]()


def test_where_it_does_not_fit_others_are_named_and_where_others_do_not_it_is():
    with pytest.raises(ValueError, match=r"Solvers that fit: .*subgradient"):
        ChainSVM(solver="exponentiated_gradient", cost="zero_one").fit(X, Y)
