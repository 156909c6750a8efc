"""Graphs on the command line: trained, predicted, evaluated and inspected from npz files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from maxmargin.cli.main import run
from maxmargin.io.graphs.samples import write_graphs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two files of rings whose nodes have one label each, and a file of rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    edges = [(0, 1), (1, 2), (2, 0)]
    X, y = [], []
    for _ in range(8):
        codes = rng.permutation(3)
        X.append((np.eye(3)[codes] + 0.1 * rng.normal(size=(3, 3)), edges))
        y.append(codes)
    write_graphs("train.npz", X[:6], y[:6])
    hidden = [np.where(np.arange(3) == 1, -1, codes) for codes in y[6:]]
    write_graphs("test.npz", X[6:], hidden)
    np.savez("rows.npz", X=np.eye(3), y=np.arange(3))
    return tmp_path


def call(capsys, *arguments, code=0):
    capsys.readouterr()
    found = run(list(arguments))
    out, err = capsys.readouterr()
    assert found == code, err
    return out, err


def test_from_training_to_evaluation(folder, capsys):
    out, err = call(capsys, "train", "graph", "train.npz", "-m", "a.mm", "--pairs", "symmetric",
                    "--dev", "test.npz", "--seed", "0", "--json")  # fmt: skip
    found = json.loads(out)
    assert found["estimator"] == "GraphSVM" and found["params"]["pairs"] == "symmetric"
    assert "6 graphs of 18 nodes and 18 edges in all" in err
    assert found["dev"]["n_nodes"] == 4
    out, _ = call(capsys, "predict", "a.mm", "test.npz")
    assert [len(line.split()) for line in out.splitlines()] == [3, 3]
    out, _ = call(capsys, "evaluate", "a.mm", "test.npz", "--json")
    assert json.loads(out)["node_accuracy"] >= 0.5
    out, _ = call(capsys, "evaluate", "a.mm", "test.npz")
    assert "mean recall" in out
    exact, _ = call(capsys, "predict", "a.mm", "test.npz", "--method", "auto")
    rounded, _ = call(capsys, "predict", "a.mm", "test.npz", "--rounding", "conditional")
    assert exact.split() == rounded.split()
    out, _ = call(capsys, "evaluate", "a.mm", "test.npz", "--rounding", "max", "--json")
    assert json.loads(out)["node_accuracy"] >= 0.5
    again, _ = call(capsys, "predict", "a.mm", "test.npz", "--method", "auto", "--time-limit", "60")
    assert again == exact
    out, _ = call(
        capsys, "evaluate", "a.mm", "test.npz", "--method", "auto", "--time-limit", "9", "--json"
    )
    assert json.loads(out)["node_accuracy"] >= 0.5
    _, err = call(capsys, "predict", "a.mm", "test.npz", "--time-limit", "5", code=2)
    assert "time_limit=5.0 is an option of method=, rounding= and constraints=" in err
    _, err = call(capsys, "predict", "a.mm", "test.npz", "--rounding", "odd", code=2)
    assert "rounding='odd' is not known" in err
    out, _ = call(capsys, "inspect", "a.mm")
    assert "Edges, constant part" in out


def test_other_models_have_no_rounding(folder, capsys):
    call(capsys, "train", "multiclass", "rows.npz", "-m", "rows.mm", "--seed", "0")
    for command in ("predict", "evaluate"):
        _, err = call(capsys, command, "rows.mm", "rows.npz", "--rounding", "max", code=2)
        assert "--rounding is for graphs, and rows.mm holds none" in err


def test_what_holds_no_graphs_is_refused(folder, capsys):
    _, err = call(capsys, "train", "graph", "rows.npz", "-m", "b.mm", code=2)
    assert "rows.npz" in err
    _, err = call(capsys, "train", "graph", "train.npz", "-m", "b.mm", "--pairs", "odd", code=2)
    assert "pairs='odd' is not known" in err
