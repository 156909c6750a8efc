"""The command line learns places in a hierarchy: files in, tables and predictions out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from maxmargin.cli.main import run
from maxmargin.io import write_edges, write_npz

HIERARCHY = "1,2,1/1,1/2,2/1"


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Give a folder with small files, and a call of the command line within it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    centres = {"1/1": (3, 1), "1/2": (3, -1), "2/1": (-3, 0)}
    leaves = rng.choice(list(centres), size=60)
    X = np.array([centres[leaf] for leaf in leaves]) + rng.normal(scale=0.3, size=(60, 2))
    lines = [f"{a},{b},{leaf}" for (a, b), leaf in zip(X, leaves, strict=True)]
    lines[0] = lines[0].replace(lines[0].split(",")[0], "?", 1)
    head = "@relation r\n@attribute a numeric\n@attribute b numeric\n"
    text = f"{head}@attribute class hierarchical {HIERARCHY}\n@data\n" + "\n".join(lines) + "\n"
    (tmp_path / "one.arff").write_text(text)
    several = text.replace(lines[1], lines[1].rpartition(",")[0] + ",1/1@2/1")
    (tmp_path / "several.arff").write_text(several)
    write_npz("paths.npz", X, leaves)
    numbers = {"1/1": 11, "1/2": 12, "2/1": 21}
    rows = [f"{numbers[leaf]} 1:{a} 2:{b}" for (a, b), leaf in zip(X, leaves, strict=True)]
    (tmp_path / "ids.svm").write_text("\n".join(rows) + "\n")
    (tmp_path / "ones.txt").write_text("1 1")
    write_edges("tree.txt", [(11, 1), (12, 1), (21, 2)])

    def call(*arguments, code=0):
        capsys.readouterr()
        found = run([*map(str, arguments)])
        out, err = capsys.readouterr()
        assert found == code, err
        return out, err

    return call


def test_every_format(cli):
    for file, options in (
        ("one.arff", []),
        ("paths.npz", []),
        ("ids.svm", ["--hierarchy", "tree.txt"]),
        ("several.arff", ["--space", "closed", "--C", "10"]),
    ):
        out, err = cli("train", "hierarchy", file, *options, "-m", "a.mm", "--dev", file, "--json")
        found = json.loads(out)
        assert found["estimator"] == "HierarchySVM" and found["dev"]["f1"] > 0.9, file
        assert found["dev"]["exact_sets"] > 0.8
        if file == "one.arff":
            assert "a hierarchy of 5 nodes, 3 edges" in err
        out, _ = cli("predict", "a.mm", file)
        assert len(out.splitlines()) == 60
        out, _ = cli("evaluate", "a.mm", file, "--json")
        assert json.loads(out)["f1"] == found["dev"]["f1"]
        out, _ = cli("evaluate", "a.mm", file)
        assert "tree distance" in out
        out, _ = cli("inspect", "a.mm")
        assert "Longest weights" in out


def test_sparse_models_are_inspected_and_show_the_weights_of_a_node(cli):
    cli("train", "hierarchy", "paths.npz", "--solver", "sparse_sdca", "--cost", "zero_one", "-q",
        "-m", "s.mm")  # fmt: skip
    out, _ = cli("inspect", "s.mm")
    assert "--label shows" in out and "Longest weights" in out and "Largest weights" not in out
    assert json.loads(cli("inspect", "s.mm", "--json")[0])["weights"] == {}
    out, _ = cli("inspect", "s.mm", "--label", "1/1")
    assert "Largest weights" in out


def test_options_are_parameters(cli):
    out, _ = cli("train", "hierarchy", "paths.npz", "--alpha", "rho", "--rho", "1.5", "--space",
                 "path", "--cost", "tree_distance", "--json", "-q")  # fmt: skip
    params = json.loads(out)["params"]
    assert (params["alpha"], params["rho"], params["space"]) == ("rho", 1.5, "path")
    out, _ = cli("train", "hierarchy", "several.arff", "--missed-weight", "2", "--json", "-q")
    assert json.loads(out)["params"]["missed_weight"] == 2.0


def test_a_threshold_and_the_area_under_precision_and_recall(cli):
    cli("train", "hierarchy", "paths.npz", "--merge", "-m", "a.mm", "-q")
    whole = cli("predict", "a.mm", "paths.npz")[0].splitlines()
    sure = cli("predict", "a.mm", "paths.npz", "--threshold", "1e6")[0].splitlines()
    assert sure == [label.partition("/")[0] for label in whole]
    found = json.loads(cli("evaluate", "a.mm", "paths.npz", "--json")[0])
    assert found["auprc"] > 0.95 and found["exact_sets"] > 0.9
    cut = json.loads(cli("evaluate", "a.mm", "paths.npz", "--threshold", "1e6", "--json")[0])
    assert cut["auprc"] == found["auprc"] and cut["exact_sets"] == 0.0
    assert "AUPRC" in cli("evaluate", "a.mm", "paths.npz")[0]
    cli("train", "multiclass", "paths.npz", "-m", "c.mm", "-q")
    _, err = cli("predict", "c.mm", "paths.npz", "--threshold", "1", code=2)
    assert "is for hierarchies, and c.mm holds none" in err


def test_no_area_is_asked_of_sets_in_a_dag(cli):
    write_edges("dag.txt", [(11, 1), (12, 1), (21, 2), (21, 1)])
    cli("train", "hierarchy", "ids.svm", "--hierarchy", "dag.txt", "--space", "closed", "-q",
        "-m", "d.mm")  # fmt: skip
    assert json.loads(cli("evaluate", "d.mm", "ids.svm", "--json")[0])["auprc"] is None
    assert "AUPRC" not in cli("evaluate", "d.mm", "ids.svm")[0]


def test_a_gap_of_another_objective_is_named(cli):
    out, _ = cli("train", "hierarchy", "paths.npz", "--alpha", "shared", "-m", "s.mm", "-q")
    assert "the shared objective" in out
    assert "the shared objective" in cli("inspect", "s.mm")[0]
    assert json.loads(cli("inspect", "s.mm", "--json")[0])["result"]["objective"] == "shared"
    cli("train", "hierarchy", "paths.npz", "-m", "a.mm", "-q")
    assert "gap is of" not in cli("inspect", "a.mm")[0]


def test_edges_have_weights_and_features_weights_in_the_norm(cli):
    out, _ = cli("train", "hierarchy", "paths.npz", "--weights-of", "edges", "-m", "e.mm",
                 "--json", "-q")  # fmt: skip
    assert json.loads(out)["params"]["model"] == "edges"
    out, _ = cli("inspect", "e.mm")
    assert "Longest weights" in out and " > 1" in out
    Path("weights.txt").write_text("0\n1\n")
    cli("train", "hierarchy", "paths.npz", "--feature-weights", "weights.txt", "-m", "f.mm")
    out, _ = cli("inspect", "f.mm", "--json")
    weights = json.loads(out)["weights"]
    assert "1/1" in weights
    assert all(row["weight"] == 0.0 for rows in weights.values() for row in rows
               if row["feature"] == "x[0]")  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hierarchy", "paths.npz", "--weights-of", "leaves"], "model='leaves' is not known"),
        (
            ["hierarchy", "ids.svm", "--weights-of", "edges", "--feature-weights", "ones.txt"],
            "regularizer=Diagonal is for model='nodes'",
        ),
        (["hierarchy", "paths.npz", "--feature-weights", "tree.txt"], "has 6 numbers, but X has 2"),
        (["hierarchy", "paths.npz", "--feature-weights", "one.arff"], "must hold one number per"),
        (["hierarchy", "paths.npz", "--space", "leafs"], "space='leafs' is not known"),
        (["hierarchy", "paths.npz", "--alpha", "most"], "alpha='most' is not known"),
        (["hierarchy", "paths.npz", "--missed-weight", "2"], "an output is one path"),
        (["hierarchy", "paths.npz", "--edge-order", "child"], "--edge-order is for the file"),
        (
            ["hierarchy", "ids.svm", "--hierarchy", "tree.txt", "--edge-order", "up"],
            "parent or chi",
        ),
        (["hierarchy", "ids.svm", "--hierarchy", "none.txt"], "no such file: none.txt"),
        (["hierarchy", "paths.npz", "--hierarchy", "tree.txt"], "no node of the hierarchy"),
        (["multiclass", "paths.npz", "--space", "leaf"], "--space is for hierarchies"),
        (["multilabel", "one.arff", "--labels", "-1"], "hierarchical"),
    ],
)
def test_what_is_refused(cli, arguments, message):
    _, err = cli("train", *arguments, "-q", code=2)
    assert message in err
