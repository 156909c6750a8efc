import json

import numpy as np
import pytest

from maxmargin.cli.main import run
from maxmargin.io import write_svmlight

X = np.array([[2.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-2.0, 1.0], [1.5, 0.0], [-1.5, 1.0]])
Y = np.sign(X[:, 0]).astype(int)


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_svmlight(tmp_path / "signs.svm", X, Y)

    def call(*arguments, code=0):
        capsys.readouterr()
        found = run(list(arguments))
        out, err = capsys.readouterr()
        assert found == code, err
        return out if code == 0 else err

    return call


def test_all_commands_know_it(cli):
    trained = cli("train", "sign", "signs.svm", "--model", "signs.mm", "--C", "10", "--json", "-q")
    assert json.loads(trained)["result"]["status"] == "converged"
    assert json.loads(cli("evaluate", "signs.mm", "signs.svm", "--json"))["right"] == 1.0
    assert "right" in cli("evaluate", "signs.mm", "signs.svm")
    cli("predict", "signs.mm", "signs.svm", "--output", "guess.txt")
    assert "SignSVM" in cli("inspect", "signs.mm")
    assert "sign" in json.loads(cli("info", "--json"))["available"]["kinds"]
    cli("warmup", "--kind", "sign", "-q")


def test_its_options_are_its_own(cli):
    assert "--no-bias" in cli("train", "--help")
    cli("train", "sign", "signs.svm", "--model", "signs.mm", "--no-bias", "-q")
    assert "bias is not for MulticlassSVM" in cli(
        "train", "multiclass", "signs.svm", "--no-bias", code=2
    )
