import numpy as np
import pytest

import maxmargin
from maxmargin import MulticlassSVM
from maxmargin.search import SEARCHES
from maxmargin.surrogates import SlackRescaling
from maxmargin.testing import cloud_problem
from maxmargin.testing.clouds import random_clouds

X, Y = np.eye(3), ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["gauss", "integer"])
def test_no_output_is_above_its_bound(kind):
    h, g = random_clouds(kind, 20)
    problem = cloud_problem(h, g, SlackRescaling(), SEARCHES["one_call"](), compile=False)
    losses, bounds = problem.losses(problem.weights)
    best = [max(0.0, np.max((a + 1.0) * b)) for a, b in zip(h, g, strict=True)]
    assert (losses <= np.array(best) + 1e-9).all() and (bounds >= np.array(best) - 1e-9).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_goes_by_its_name(tmp_path):
    model = MulticlassSVM(surrogate="slack", search="one_call", random_state=0).fit(X, Y)
    assert model.result_.dual <= model.result_.primal
    assert model.predict(X).tolist() == Y
    model.set_params(search=SEARCHES["one_call"]()).save(tmp_path / "model.mm")
    assert maxmargin.load(tmp_path / "model.mm").search == SEARCHES["one_call"]()


def test_where_it_does_not_fit_it_is_refused():
    with pytest.raises(ValueError, match=r"slack rescaling only.*Searches that fit"):
        MulticlassSVM(surrogate="log", search="one_call").fit(X, Y)
