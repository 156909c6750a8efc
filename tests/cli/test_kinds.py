"""Kinds of the command line: each is one file and one line, and nothing else knows its name."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

import maxmargin.cli as command_line
from maxmargin.cli import kinds, options
from maxmargin.cli.formats import READERS
from maxmargin.cli.kinds import KINDS
from maxmargin.cli.main import run
from maxmargin.io import write_npz
from maxmargin.persistence import ESTIMATORS, estimator_class

ROOT = Path(command_line.__file__).parent
STARS = Path(__file__).parents[1] / "recipes" / "new" / "cli" / "kinds" / "stars.py"
#: The demo is about one kind, the first help shows one command as an example, and factor graphs, of
#: which `infer` speaks, are another thing than the kind "graph".
EXAMPLES = {"commands/demo.py", "commands/demo_tables.py", "commands/infer.py", "main.py"}


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Add a kind by one file and one line, and give a folder with a file of samples."""
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location("stars", STARS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(KINDS, "stars", module.Stars())  # the one line
    X = np.random.default_rng(0).normal(size=(30, 3))
    write_npz("train.npz", X, np.argmax(X, axis=1))
    yield module
    del ESTIMATORS["StarSVM"]


def call(capsys, *arguments, code=0):
    capsys.readouterr()
    found = run(list(arguments))
    out, err = capsys.readouterr()
    assert found == code, err
    return out, err


def test_every_command_takes_a_new_kind(scratch, capsys):
    out, err = call(capsys, "train", "stars", "train.npz", "-m", "a.mm", "--empty", "mean",
                    "--dev", "train.npz", "--json")  # fmt: skip
    found = json.loads(out)
    assert found["estimator"] == "StarSVM" and found["params"]["missing"] == "mean"
    assert found["dev"]["n_samples"] == 30
    assert "train.npz: 30 samples." in err
    out, _ = call(capsys, "predict", "a.mm", "train.npz")
    assert len(out.splitlines()) == 30
    out, _ = call(capsys, "evaluate", "a.mm", "train.npz", "--room", "2", "--json")
    assert json.loads(out)["near"] == 1.0
    assert "near" in call(capsys, "evaluate", "a.mm", "train.npz")[0]
    assert "StarSVM" in call(capsys, "inspect", "a.mm")[0]
    rows = json.loads(call(capsys, "warmup", "--kind", "stars", "-q", "--json")[0])["compiled"]
    assert {row["kind"] for row in rows} == {"stars"}
    assert "stars" in json.loads(call(capsys, "info", "--json")[0])["available"]["kinds"]


def _words(text):
    """The words of a help, without the frames they stand in."""
    return " ".join(text.replace("│", " ").split())


def test_help_and_refusals_know_a_new_kind(scratch, capsys):
    out = _words(call(capsys, "train", "--help")[0])
    assert "or stars (a number of stars)." in out and "--empty" in out
    out = _words(call(capsys, "evaluate", "--help")[0])
    assert "Stars: how far off they are." in out and "--room" in out
    _, err = call(capsys, "train", "multiclass", "train.npz", "--empty", "mean", code=2)
    assert "--empty is for stars, which `train multiclass` does not count." in err
    call(capsys, "train", "stars", "train.npz", "-m", "a.mm", "-q")
    _, err = call(capsys, "evaluate", "a.mm", "train.npz", "--k", "3", code=2)
    assert "--k is for rankings, but a.mm does not rank." in err
    _, err = call(capsys, "train", "stars", "train.npz", "--k", "3", code=2)
    assert "--k is for rankings (`train ranking`), which `train stars` does not learn." in err


@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
def test_help_names_all_formats(capsys, command):
    out = _words(call(capsys, command, "--help")[0])
    told = re.search(r"--format <str> (.*?) -", out)[1]
    assert [name for name in READERS if not re.search(rf"\b{name}\b", told)] == []
    assert "CoNLL-U" in out


def test_two_kinds_with_one_option_must_share_it():
    groups = kinds.own_options("train")
    other = options.OwnOptions({"k": float}, "is for others")
    with pytest.raises(TypeError, match="Two kinds have an option 'k'"):
        options.with_own_options(lambda **own: None, [*groups, other])


def _strings(path):
    """The names and texts of a module, but for its docstrings and comments."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    docs = {
        ast.get_docstring(node, clean=False)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
    }
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    names += [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    names += [a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names]
    return [text for text in texts if isinstance(text, str) and text not in docs] + names


SHARED = sorted({*ROOT.glob("*.py"), *(ROOT / "commands").glob("*.py"), ROOT / "kinds/base.py"})


@pytest.mark.parametrize("path", SHARED, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_shared_modules_know_no_kind_by_name(path):
    if path.relative_to(ROOT).as_posix() in EXAMPLES:
        return
    known = [*KINDS, *(kind.estimator for kind in KINDS.values())]
    pattern = re.compile(rf"\b({'|'.join(known)})\b")
    assert [text for text in _strings(path) if pattern.search(text)] == []


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_says_what_is_true(name):
    kind = KINDS[name]
    own = {option for group in kind.options.get("train", ()) for option in group.options}
    assert kind.name == name
    assert set(kind.parameters) <= own
    assert set(kind.parameters.values()) <= set(kind.new_estimator({}).get_params())
    assert estimator_class(kind.estimator).__name__ == kind.estimator
    assert all(reader.format == format for format, reader in kind.readers.items())
    assert set(kind.readers) <= set(READERS)
    X, y = kind.sample("dense", "float64")
    assert len(X) == len(y)


def test_kinds_have_estimators_of_their_own():
    names = [kind.estimator for kind in KINDS.values()]
    assert len(set(names)) == len(names)
