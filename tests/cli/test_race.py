"""`maxmargin race`: one table, one picture, the optimum kept; what cannot race is told."""

from __future__ import annotations

import json

import numpy as np
import pytest

from maxmargin.cli.main import run
from maxmargin.training import race as racing


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Return a file of classes, in the current folder; racers run in this process."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    np.savez("toy.npz", X=X, y=np.argmax(X @ rng.normal(size=(3, 3)), axis=1))
    short = racing.Limits(0.0, 1, 1.0)

    def here(make, name, solver, limits):
        return racing.run_solver(make(), name, solver, limits, short)

    monkeypatch.setattr(racing, "in_own_process", here)
    return tmp_path


def test_a_race(toy, capsys):
    arguments = ["race", "multiclass", "toy.npz", "--solver", "sdca", "--solver", "bcfw(cache=0)"]
    arguments += ["--seconds", "2", "--tol", "1e-3", "--optimum", "best.json", "--plot", "a.png"]
    assert run(arguments) == 0
    out, err = capsys.readouterr()
    assert "bcfw(cache=0)" in out and "gap 0.001" in out and "sdca: converged" in err
    (known,) = json.loads((toy / "best.json").read_text()).values()
    assert known["dual"] <= known["primal"] <= known["dual"] * (1.0 + 1e-7)
    assert (toy / "a.png").stat().st_size > 10_000
    assert run([*arguments, "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr()[0])
    assert [one["solver"] for one in told["courses"]] == ["sdca", "bcfw(cache=0)"]
    assert told["optimum"]["dual"] == pytest.approx(known["dual"], rel=1e-6)


def test_a_race_says_who_auto_was_and_whose_time_was_up(toy, capsys):
    arguments = ["race", "multiclass", "toy.npz", "--solver", "auto", "--solver", "sgd"]
    arguments += ["--seconds", "0.05", "--tol", "1e-2", "--optimum", "best.json"]
    assert run(arguments) == 0
    out, err = capsys.readouterr()
    assert "auto: sdca: converged" in err and "sgd: time_budget" in err and "auto: sdca" in out
    assert "inf" not in out and "nan" not in out  # sgd has no dual
    assert run([*arguments, "--json", "-q"]) == 0
    first, second = json.loads(capsys.readouterr()[0])["courses"]
    assert (first["solver"], first["chosen"], second["chosen"]) == ("auto", "sdca", "sgd")
    assert (first["status"], second["status"]) == ("converged", "time_budget")


def test_who_races_can_train_too(toy, capsys):
    arguments = ["train", "multiclass", "toy.npz", "--max-iter", "2", "--tol", "1"]
    assert run([*arguments, "--solver", "bcfw(step='plain', cache=0)", "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr()[0])
    assert told["result"]["solver"] == "bcfw" and "cache=0" in told["params"]["solver"]
    model = ["--model", "a.mm", "-q"]
    assert run([*arguments, "--solver", "partial_linearization(tau=0.1)", *model]) == 0
    assert run(["predict", "a.mm", "toy.npz"]) == 0
    capsys.readouterr()
    for text, message in [
        ("bcfw(step='fast')", "step must be one of"),
        ("bcfw(pace=1)", "unexpected keyword argument 'pace'"),
        ("bcfw(print())", "options must be written as in Python"),
        ("simplex(a=1)", "solver='simplex' is not known"),
    ]:
        assert run([*arguments, "--solver", text, "-q"]) == 2
        assert message in capsys.readouterr()[1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--solver", "simplex"], "solver='simplex' is not known"),
        (["--solver", "bcfw(step='fast')"], "step must be one of"),
        (["--seconds", "0"], "--seconds must be a number > 0"),
        (["--plot", "none/a.png"], "the folder none does not exist"),
        (["--optimum", "toy.npz"], "would replace"),
        (["--template", "ner"], "--template is for CoNLL files"),
    ],
)
def test_what_cannot_be_is_refused(toy, capsys, more, message):
    assert run(["race", "multiclass", "toy.npz", *more, "-q"]) == 2
    assert message in capsys.readouterr()[1]


def test_a_file_that_is_not_there(toy, capsys):
    assert run(["race", "multiclass", "none.npz", "-q"]) == 2
    assert "no such file: none.npz" in capsys.readouterr()[1]
