import json

import numpy as np
import pytest

import maxmargin
from maxmargin import ChainSVM, MulticlassSVM, MultilabelSVM
from maxmargin.cli.main import run
from maxmargin.costs import COSTS
from maxmargin.testing import check_cost

X, Y = np.eye(4), ["a", "b", "c", "d"]


def test_it_meets_the_contract():
    def expected(found, truth):
        return sum(min(2.0, abs(ord(a) - ord(b))) for a, b in zip(found, truth, strict=True))

    check_cost(COSTS["capped"](), Y, expected=expected)


@pytest.mark.parametrize("estimator", [MulticlassSVM, ChainSVM])
def test_it_goes_by_its_name(estimator, tmp_path):
    inputs, outputs = (X, Y) if estimator is MulticlassSVM else ([X[:2], X[2:]], [Y[:2], Y[2:]])
    model = estimator(cost="capped", tol=1e-2, random_state=0).fit(inputs, outputs)
    assert model.result_.status == "converged" and model.score(inputs, outputs) > 0.5
    model.set_params(cost=COSTS["capped"](3.0)).save(tmp_path / "model.mm")
    assert maxmargin.load(tmp_path / "model.mm").cost == COSTS["capped"](3.0)


def test_where_it_does_not_fit_it_is_refused_by_name():
    with pytest.raises(
        ValueError, match=r"Capped is no cost of label sets.*Costs that fit: hamming"
    ):
        MultilabelSVM(cost="capped").fit(X, X)


def test_the_command_line_lists_it(capsys):
    assert run(["info", "--json"]) == 0
    available = json.loads(capsys.readouterr().out)["available"]
    assert "capped" in available["costs of classes and sequences"]
    assert "capped" not in available["costs of rankings"]
