import inspect

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin
from maxmargin.estimators import SignSVM

X = np.array([[2.0], [1.0], [-1.0], [-2.0], [1.5], [-1.5]])
Y = np.sign(X[:, 0]).astype(int)


@pytest.fixture
def model():
    return SignSVM(C=10.0, tol=1e-3, random_state=0).fit(X, Y)


def test_it_learns_to_its_certificate(model):
    assert model.result_.status == "converged" and model.result_.relative_gap <= 1e-3
    assert (model.predict(X) == Y).all() and model.score(X, Y) == 1.0
    assert model.coef_.shape == (2, 1)


def test_it_has_the_common_face(model):
    names = inspect.signature(SignSVM).parameters
    assert {"C", "cost", "surrogate", "search", "solver", "tol", "bias"} <= set(names)
    assert "\nsolver : " in SignSVM.__doc__ and "\nbias : " in SignSVM.__doc__
    assert clone(model).get_params() == model.get_params()
    path = SignSVM(random_state=0).path(X, Y, [0.1, 1.0], cv=2)
    assert len(path.Cs) == 2


def test_a_model_file_holds_it(model, tmp_path):
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert type(again) is SignSVM and (again.predict(X) == Y).all()
