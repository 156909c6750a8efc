import json

import numpy as np
import pytest

from maxmargin.cli.main import run
from maxmargin.io import write_npz


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(30, 3))
    write_npz("train.npz", X, np.argmax(X, axis=1))
    assert run(["train", "stars", "train.npz", "-m", "a.mm", "--empty", "mean", "-q"]) == 0


@pytest.mark.parametrize(
    "command",
    ["predict a.mm train.npz", "evaluate a.mm train.npz --room 1", "inspect a.mm", "info"],
)
def test_every_command_knows_it(command, capsys):
    assert run(["warmup", "--kind", "stars", "-q"]) == 0
    capsys.readouterr()
    assert run([*command.split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["command"] == command.split()[0]


def test_the_help_tells_of_it(capsys):
    assert run(["train", "--help"]) == 0
    assert "--empty" in capsys.readouterr().out
