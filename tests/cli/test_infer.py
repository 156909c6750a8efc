"""`maxmargin infer`: what it prints is what Python finds; what it refuses is one sentence."""

from __future__ import annotations

import gzip
import io
import json
import os

import numpy as np
import pytest

from maxmargin.cli.main import run
from maxmargin.cli.solving import SolvingLines, SolvingTable
from maxmargin.inference import FactorGraph, solve_graph
from maxmargin.io import read_graph, write_uai

UAI = "MARKOV\n3\n2 2 2\n2\n2 0 1\n2 1 2\n\n4\n 1 .5 .25 4\n4\n 3 1 1 2\n"
WCSP = "w 2 2 2 10\n2 2\n1 0 1 1\n0 4\n2 0 1 0 2\n0 0 10\n1 1 2\n"
CFN = "{{p <9} {a: [no yes], b: 2} {f: {scope: [a b] costs: [1 2 3 0.5]}}}"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "m.uai").write_text(UAI)
    (tmp_path / "m.wcsp").write_text(WCSP)
    (tmp_path / "m.cfn.gz").write_bytes(gzip.compress(CFN.encode()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(capsys):
    def run_it(*arguments, code=0):
        capsys.readouterr()
        assert run(["infer", *arguments]) == code
        return capsys.readouterr()

    return run_it


def rows(out):
    """The rows of the table, by name."""
    lines = [line.strip().split("  ", 1) for line in out.splitlines()[1:] if line.strip()]
    return {name.strip(): value.strip() for name, value in lines}


def test_a_file_of_probabilities(call):
    out, _ = call("m.uai")
    found = rows(out)
    assert found["proved"].startswith("yes") and found["nodes"] == "3"
    assert float(found["score"]) == pytest.approx(np.log(4 * 2)) == float(found["bound"])
    assert found["best labels"] == "1 1 1" and "cost" not in found


def test_a_file_of_costs_with_json(call):
    out, err = call("m.wcsp", "--json", "--quiet")
    found = json.loads(out)
    assert err == "" and found["command"] == "infer"
    assert found["cost"] == 1 == -found["score"] and found["cost_bound"] == 1
    assert found["is_proved"] and found["is_feasible"] and found["gap"] == 0
    assert found["labels"] == [1, 0] and found["names"] is None and found["seconds"] >= 0


def test_names_of_a_cfn_file(call):
    assert rows(call("m.cfn.gz")[0])["best labels"] == "a=yes b=1"
    assert json.loads(call("m.cfn.gz", "--json")[0])["names"] == ["a", "b"]


def test_evidence(call, folder):
    (folder / "e").write_text("1 1 0\n")
    found = rows(call("m.uai", "--evidence", "e")[0])
    assert found["best labels"] == "0 0 0" and float(found["score"]) == pytest.approx(np.log(3))


def test_labels_are_written(call, folder):
    found = rows(call("m.uai", "-o", "a.sol")[0])
    assert (folder / "a.sol").read_text() == "MPE\n3 1 1 1\n" and found["written to"] == "a.sol"
    out, _ = call("m.wcsp", "--output", "a.sol", "--json")
    assert (folder / "a.sol").read_text() == "1 0\n" and json.loads(out)["labels"] is None


def test_no_labelling_is_allowed(call, folder):
    (folder / "none.uai").write_text("MARKOV\n1\n2\n1\n1 0\n\n2\n 0 0\n")
    found = rows(call("none.uai", "-o", "a.sol")[0])
    assert found["result"].endswith("(proved)") and not (folder / "a.sol").exists()
    values = json.loads(call("none.uai", "--json")[0])
    assert values["is_feasible"] is False and values["is_proved"] and values["score"] is None
    # All different on a triangle of two labels: message passing alone cannot tell.
    graph = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2), (2, 0)], [[-np.inf, 0], [0, -np.inf]])
    write_uai(folder / "odd.uai", graph)
    values = json.loads(call("odd.uai", "--json", "--method", "srmp", "--max-iter", "5")[0])
    assert values["is_feasible"] is None and values["labels"] is None
    out, _ = call("odd.uai", "--method", "srmp", "--max-iter", "5")
    assert "no allowed labelling was found" in out
    assert "(proved)" in call("odd.uai")[0]


def test_progress_goes_to_stderr(call, folder, rng):
    edges = [(a, b) for a in range(9) for b in range(a)]
    graph = FactorGraph(rng.normal(size=(9, 3)), edges, rng.normal(size=(36, 3, 3)))
    write_uai(folder / "dense.LG", graph)
    out, err = call("dense.LG", "--method", "srmp", "--max-iter", "20", "--json")
    found = json.loads(out)
    again = read_graph("dense.LG").graph
    best = solve_graph(again, "srmp", max_iter=20)
    assert found["score"] == best.score <= best.bound == found["bound"]
    assert again.score(found["labels"]) == pytest.approx(found["score"])
    assert "iteration" in err and "bound" in err
    assert "iteration" not in call("dense.LG", "--method", "srmp", "--quiet")[1]


def test_lines_and_table_keep_the_best(capsys):
    lines, table = SolvingLines(), SolvingTable()
    assert table.render() == "Solving."
    for report in (lines, table):
        report(1, 10.0, -np.inf)
        report(2, 12.0, 3.0)  # another stage may know less
    table.end_compiling()
    head, first = capsys.readouterr().err.splitlines()
    assert head.split() == ["iteration", "bound", "score", "gap", "seconds"]
    assert first.split()[:4] == ["1", "10", "-", "-"]
    from rich.console import Console

    screen = Console(width=80, record=True, file=io.StringIO())
    screen.print(table.render())
    last = screen.export_text().split("\n")
    assert any(line.split()[:4] == ["2", "10", "3", "7"] for line in last)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m.uai", "--method", "best"], "--method='best' is unknown. There are: auto, "),
        (["m.uai", "--time-limit", "-1"], "time_limit"),
        (["none.uai"], "no such file: none.uai"),
        (["m.txt"], "m.txt: the extension '.txt' names no format of models"),
        (["m.uai", "--format", "lp"], "format='lp' is unknown"),
        (["m.uai", "--format", "wcsp"], "m.uai, line 5: expected sizes of domains"),
        (
            ["m.uai", "--most-cells", "5"],
            "m.uai, line 3: the model has more than 5 scores; if that",
        ),
        (["cut.uai"], "cut.uai, line 9: the file ends here; expected 4 entries of table 0, got 3"),
        (["m.uai", "--evidence", "bad"], "bad: node 1 has the label 7; expected 0 to 1"),
        (["m.uai", "--evidence", "m.uai"], "m.uai, line 1: expected the number of known variables"),
        (["m.uai", "-o", "m.uai"], "--output: m.uai would replace m.uai, which is to be read"),
        (["m.uai", "-o", "no/a"], "--output: the folder no does not exist"),
    ],
)
def test_bad_input_is_one_sentence(call, folder, arguments, message):
    (folder / "cut.uai").write_text(UAI[:42])
    (folder / "bad").write_text("1 1 7")
    before = sorted(folder.iterdir())
    out, err = call(*arguments, code=2)
    assert out == "" and message in err, err
    assert [line for line in err.splitlines() if not line.startswith("Compiling")] == [err.strip()]
    assert sorted(folder.iterdir()) == before


def test_a_limit_is_told_as_an_option(call):
    assert "say --most-cells" in call("m.uai", "--most-cells", "5", code=2).err


def test_standard_input(call):
    source, target = os.pipe()
    os.write(target, WCSP.encode())
    os.close(target)
    kept = os.dup(0)
    os.dup2(source, 0)
    try:
        out, _ = call("-", "--format", "wcsp", "--json")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(source)
    assert json.loads(out)["cost"] == 1


def test_methods_and_formats_are_listed(capsys):
    assert run(["info", "--json"]) == 0
    available = json.loads(capsys.readouterr().out)["available"]
    assert "srmp" in available["methods of inference"]
    assert "wcsp (.wcsp)" in available["formats of models"]
