import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import ChainSVM, MulticlassSVM, RankingSVM
from maxmargin.features import FEATURES, Csr, as_features
from maxmargin.solvers import BlockFrankWolfe
from maxmargin.testing import check_solver, tiny_problem

X = sp.csr_matrix(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
Y = ["a", "b", "c", "a"]
ONES = FEATURES["ones"]


def test_a_matrix_is_held_by_the_last_type_that_takes_it():
    assert type(as_features(X)) is ONES
    assert type(as_features(2.0 * X)) is Csr


def test_solvers_do_not_know_the_difference():
    problem = tiny_problem("chain", features="ones", compile=False)
    assert type(problem.view.data.features) is ONES
    check_solver(BlockFrankWolfe(), problem, tol=1e-4)


@pytest.mark.parametrize("estimator", [MulticlassSVM, ChainSVM, RankingSVM])
def test_estimators_take_it_as_any_matrix(estimator, monkeypatch):
    wraps, of = [], ONES.of.__func__
    monkeypatch.setattr(ONES, "of", classmethod(lambda cls, X: wraps.append(X) or of(cls, X)))
    inputs, outputs = {
        MulticlassSVM: (X, Y),
        ChainSVM: ([X[:2], X[2:]], [Y[:2], Y[2:]]),
        RankingSVM: ([X], [[1, 0, 0, 1]]),
    }[estimator]
    model = estimator(C=10.0, tol=1e-2, random_state=0).fit(inputs, outputs)
    assert wraps and model.result_.status == "converged"
    model.predict(inputs)
    dense = [x.toarray() for x in inputs] if isinstance(inputs, list) else inputs.toarray()
    other = estimator(C=10.0, tol=1e-2, random_state=0).fit(dense, outputs)
    assert model.result_.dual <= other.result_.primal + 1e-9
    assert other.result_.dual <= model.result_.primal + 1e-9
    if estimator is ChainSVM:
        model.predict_marginals(inputs)
