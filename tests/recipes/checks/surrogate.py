import numpy as np

import maxmargin
from maxmargin import MulticlassSVM
from maxmargin.surrogates import SURROGATES
from maxmargin.testing import check_surrogate

X, Y = np.eye(3), ["a", "b", "c"]


def test_it_meets_the_contract():
    check_surrogate(SURROGATES["squared"]())


def test_it_goes_by_its_name(tmp_path):
    model = MulticlassSVM(surrogate="squared", tol=1e-3, random_state=0).fit(X, Y)
    assert model.result_.status == "converged" and model.result_.relative_gap <= 1e-3
    assert model.predict(X).tolist() == Y
    model.set_params(surrogate=SURROGATES["squared"]()).save(tmp_path / "model.mm")
    assert maxmargin.load(tmp_path / "model.mm").surrogate == SURROGATES["squared"]()
