"""The command line does what a script would, and says so in the right places."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin.cli.kinds import KINDS
from maxmargin.cli.main import run
from maxmargin.core.news import compiling_watched
from maxmargin.io import (
    FeatureTemplate,
    convert_tags,
    read_conll,
    read_npz,
    write_npz,
    write_svmlight,
)
from maxmargin.metrics import chunk_f1, token_accuracy
from maxmargin.persistence import read
from maxmargin.solvers import SOLVERS

NOUNS, VERBS = ("cat", "dog", "bird", "fish"), ("sees", "eats", "likes")


def make_conll(rng, n_sentences):
    lines = []
    for _ in range(n_sentences):
        for _ in range(rng.integers(1, 4)):
            lines += ["the DT B-NP", f"{rng.choice(NOUNS)} NN I-NP"]
            lines += [f"{rng.choice(VERBS)} VB B-VP"] * int(rng.integers(0, 2))
        lines += [". . O", ""]
    return "\n".join(lines) + "\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test works in a folder of its own, which holds a training and a test file."""
    rng = np.random.default_rng(0)
    (tmp_path / "train.conll").write_text(make_conll(rng, 12))
    (tmp_path / "test.conll").write_text(make_conll(rng, 5))
    X = rng.normal(size=(30, 3))
    y = np.argmax(X, axis=1)
    write_npz(tmp_path / "flat.npz", X, y)
    write_svmlight(tmp_path / "flat.svm", X, y)
    write_npz(tmp_path / "words.npz", np.split(X, [4, 9, 20]), np.split(y, [4, 9, 20]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(capsys):
    """Run a command that must succeed; give back its stdout and stderr."""

    def call(*arguments, code=0):
        capsys.readouterr()
        found = run(list(arguments))
        out, err = capsys.readouterr()
        assert found == code, err
        return out, err

    return call


# -- chains from CoNLL files -------------------------------------------------------------------


def test_train_builds_the_estimator_of_a_script(cli):
    cli("train", "chain", "train.conll", "--model", "a.mm", "--C", "0.5", "--tol", "0.01", "-q")
    data = read_conll("train.conll")
    X = FeatureTemplate.parse("chunking", data.columns).transform(data.sentences)
    script = maxmargin.ChainSVM(C=0.5, tol=0.01, random_state=0).fit(X, data.tags)
    model = maxmargin.load("a.mm")
    np.testing.assert_array_equal(model.result_.w, script.result_.w)
    assert model.get_params() == script.get_params()


def test_predict_needs_model_and_file_only(cli, folder):
    template = "w[0] pos[0] pos[-1]|pos[0]"
    cli("train", "chain", "train.conll", "-m", "a.mm", "--template", template, "-q")
    out, err = cli("predict", "a.mm", "test.conll")
    assert all(line.startswith("Compiling ") for line in err.splitlines())
    data = read_conll("test.conll")
    X = FeatureTemplate.parse(template).transform(data.sentences)
    expected = [labels.tolist() for labels in maxmargin.load("a.mm").predict(X)]
    (folder / "out.conll").write_text(out)
    again = read_conll("out.conll")
    assert again.tags == expected
    assert [[row[:3] for row in s] for s in again.sentences] == [
        [(*row, tag) for row, tag in zip(rows, tags, strict=True)]
        for rows, tags in zip(data.sentences, data.tags, strict=True)
    ]


def test_predict_without_tags_and_to_a_file(cli, folder):
    cli("train", "chain", "train.conll", "-m", "a.mm", "-q")
    with_tags, _ = cli("predict", "a.mm", "test.conll")
    text = (folder / "test.conll").read_text()
    bare = "\n".join(" ".join(line.split()[:2]) for line in text.split("\n"))
    (folder / "bare.conll").write_text(bare)
    out, _ = cli("predict", "a.mm", "bare.conll", "-o", "out.conll")
    assert out == ""
    written = (folder / "out.conll").read_text()
    tags = [line.split()[-1] for line in with_tags.split("\n") if line]
    assert [line.split()[-1] for line in written.split("\n") if line] == tags
    out, _ = cli("predict", "a.mm", "bare.conll", "--json")
    assert list(chain.from_iterable(json.loads(out)["predictions"])) == tags


def test_columns_separator_and_tag_column_are_kept(cli, folder):
    swapped = [
        "\t".join([line.split()[2], *line.split()[:2]]) if line else ""
        for line in (folder / "train.conll").read_text().split("\n")
    ]
    (folder / "swapped.txt").write_text("\n".join(swapped))
    options = ["--tag-column", "0", "--columns", "word,part", "--separator", "tab"]
    template = ["--template", "word[0] part[0]"]
    cli("train", "chain", "swapped.txt", "-m", "a.mm", "-q", *options, *template)
    out, _ = cli("predict", "a.mm", "swapped.txt")
    rows = [line.split("\t") for line in out.split("\n") if line]
    assert all(len(row) == 4 for row in rows)
    assert [row[0] for row in rows] == [row[3] for row in rows]
    values = json.loads(cli("inspect", "a.mm", "--json")[0])
    assert values["reader"]["columns"] == ["word", "part"]
    assert values["reader"]["tag_column"] == 0


def test_a_template_may_be_a_file(cli, folder):
    (folder / "features.txt").write_text("w[0]  # the word\npos[0]\n")
    cli("train", "chain", "train.conll", "-m", "a.mm", "--template", "features.txt", "-q")
    names = maxmargin.load("a.mm").features_.names
    assert {name.partition("=")[0] for name in names} == {"w[0]", "pos[0]"}


def test_evaluate_agrees_with_the_metrics(cli):
    cli("train", "chain", "train.conll", "-m", "a.mm", "--max-iter", "1", "-q")
    found = json.loads(cli("evaluate", "a.mm", "test.conll", "--json")[0])
    guess = json.loads(cli("predict", "a.mm", "test.conll", "--json")[0])["predictions"]
    truth = read_conll("test.conll").tags
    assert found["token_accuracy"] == token_accuracy(truth, guess)
    assert found["chunks"]["f1"] == chunk_f1(truth, guess)
    assert found["scheme"] == "iob2"
    by_type = {name: score["f1"] for name, score in found["chunks_by_type"].items()}
    assert by_type == chunk_f1(truth, guess, average=None)
    out, _ = cli("evaluate", "a.mm", "test.conll")
    assert f"{100 * found['token_accuracy']:.2f}%" in out
    assert "NP" in out and "recall" in out


def test_tags_that_are_no_scheme_have_no_segments(cli, folder):
    for name in ("train", "test"):
        text = (folder / f"{name}.conll").read_text()
        words = "\n".join(" ".join(line.split()[:2]) for line in text.split("\n"))
        (folder / f"{name}.txt").write_text(words)
    cli("train", "chain", "train.txt", "-m", "a.mm", "-q")
    found = json.loads(cli("evaluate", "a.mm", "test.txt", "--json")[0])
    assert found["token_accuracy"] == 1.0
    assert "chunks" not in found


def test_a_scheme_binds_predictions(cli):
    cli("train", "chain", "train.conll", "-m", "a.mm", "--scheme", "iob2", "-q")
    model = maxmargin.load("a.mm")
    assert model.constraints == "iob2"
    guess = json.loads(cli("predict", "a.mm", "test.conll", "--json")[0])["predictions"]
    for tags in guess:
        convert_tags(tags, "iob2", "bioes")  # refuses what is not valid


# -- what is printed where ---------------------------------------------------------------------


def test_train_json_is_the_result(cli):
    arguments = ["train", "chain", "train.conll", "--dev", "test.conll", "--tol", "0.01"]
    out, err = cli(*arguments, "--json")
    found = json.loads(out)
    result = found["result"]
    assert result["status"] == "converged" and result["is_certified"]
    assert result["relative_gap"] <= 0.01
    assert result["relative_gap"] == pytest.approx(result["gap"] / result["primal"])
    assert len(result["history"]) == result["n_iter"]
    assert found["params"]["C"] == 1.0 and found["n_samples"] == 12
    assert 0.0 <= found["dev"]["token_accuracy"] <= 1.0
    assert "rel. gap" in err  # progress
    out, err = cli(*arguments, "--json", "-q")
    assert err == ""
    assert json.loads(out)["result"]["primal"] == result["primal"]


def test_what_is_not_known_is_null(cli):
    out, _ = cli("train", "chain", "train.conll", "--solver", "perceptron", "--json", "-q")
    assert json.loads(out)["result"]["primal"] is None


def test_results_go_to_stdout_and_the_rest_to_stderr(cli, folder):
    out, err = cli("train", "chain", "train.conll", "-m", "a.mm", "--max-iter", "2", "--tol", "0")
    assert "relative gap" in out and "a.mm" in out
    assert "rel. gap" in err and "rel. gap" not in out
    assert "Warning: bcfw stopped after 2 passes" in err
    assert ".py" not in err  # no line of our source
    assert sorted(path.name for path in folder.iterdir()) == [
        "a.mm", "flat.npz", "flat.svm", "test.conll", "train.conll", "words.npz",
    ]  # fmt: skip


def test_without_a_model_nothing_is_written(cli, folder):
    before = sorted(folder.iterdir())
    cli("train", "chain", "train.conll", "-q")
    assert sorted(folder.iterdir()) == before


def test_progress_on_a_terminal_is_a_table():
    from maxmargin.cli.progress import LiveTable
    from maxmargin.solvers import Iteration, Record

    table = LiveTable()
    assert table.render() == "Preparing."
    nan = float("nan")
    for record in (Record(1, 2.0, 1.0, 1.0, 10, 0.5), Record(2, nan, 1.5, nan, 20, 0.75)):
        table(Iteration(record, nan, np.zeros(1), lambda: None))
    columns = [[str(cell) for cell in column._cells] for column in table.render().columns]
    assert columns[0] == ["1", "2"]
    assert columns[1] == ["2", "-"]
    assert columns[3] == ["0.5", "-"]
    record = Record(3, nan, 1.5, nan, 30, 1.0, 0.75)
    table(Iteration(record, nan, np.zeros(1), lambda: None, "chunk_f1", is_best=True))
    table(Iteration(Record(4, nan, 1.5, nan, 40, 1.5, 0.5), nan, np.zeros(1), lambda: None))
    assert [str(cell) for cell in table.render().columns[0]._cells] == ["1", "3", "4"]


# -- Ctrl-C and checkpoints ------------------------------------------------------------------------


@contextmanager
def pressed(pass_):
    """Press Ctrl-C at the end of a pass."""
    from maxmargin.training.progress import ProgressLine

    def interrupt(self, event):
        if event.record.pass_ == pass_:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProgressLine, "__call__", interrupt)
        yield


def test_ctrl_c_keeps_the_best_model(cli):
    arguments = ["train", "chain", "train.conll", "-m", "a.mm", "--tol", "0", "--json"]
    with pressed(3):
        out, err = cli(*arguments, code=130)
    assert "Interrupted after 3 passes: the best model so far is in a.mm." in err
    assert json.loads(out)["result"]["status"] == "interrupted"
    assert maxmargin.load("a.mm").result_.n_iter == 3
    cli("evaluate", "a.mm", "test.conll")


def test_ctrl_c_while_reading_leaves_nothing(cli, folder, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("maxmargin.io.read_conll", interrupt)
    before = sorted(folder.iterdir())
    cli("train", "chain", "train.conll", "-m", "a.mm", code=130)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "what",
    [
        ["chain", "train.conll", "--dev", "test.conll", "--patience", "20"],
        ["multiclass", "flat.npz", "--solver", "sgd"],
    ],
    ids=["chain", "multiclass"],
)
def test_resume_ends_where_an_uninterrupted_run_would_have(cli, what):
    base = ["train", *what, "--tol", "0", "--max-iter", "12"]
    saved = ["--checkpoint", "run.ck", "--checkpoint-every", "4"]
    cli(*base, "-m", "whole.mm", "-q")
    with pressed(7):
        _, err = cli(*base, *saved, "-m", "part.mm", code=130)
    assert "--resume goes on from the checkpoint" in err
    assert maxmargin.load("part.mm").result_.n_iter == 7
    assert read("run.ck", kind="checkpoint").meta["run"]["n_passes"] == 7
    cli(*base, *saved, "-m", "part.mm", "--resume", "-q")
    whole, part = maxmargin.load("whole.mm").result_, maxmargin.load("part.mm").result_
    np.testing.assert_array_equal(whole.w, part.w)
    assert whole.status == part.status
    for a, b in zip(whole.history, part.history, strict=True):
        np.testing.assert_equal(
            (a.pass_, a.primal, a.dual, a.validation_score),
            (b.pass_, b.primal, b.dual, b.validation_score),
        )


# -- other files, other commands ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["flat.npz", "flat.svm"])
def test_classes_round_trip(cli, name):
    cli("train", "multiclass", name, "-m", "a.mm", "--C", "10", "-q")
    X, y = read_npz("flat.npz")
    guess = maxmargin.load("a.mm").predict(X)
    out, _ = cli("predict", "a.mm", name)
    assert [int(line) for line in out.split()] == guess.tolist()
    found = json.loads(cli("evaluate", "a.mm", name, "--json")[0])
    assert found["accuracy"] == np.mean(guess == y)
    assert np.trace(found["confusion"]) == np.sum(guess == y)
    assert np.sum(found["confusion"], axis=1).tolist() == np.bincount(y).tolist()
    table, _ = cli("evaluate", "a.mm", name)
    assert "Confusion" in table
    assert "x[2]" in cli("inspect", "a.mm")[0]


def test_indices_count_as_in_the_training_file(cli, folder):
    """A file whose indices count from 0 may lack the 0 in a part of it."""
    (folder / "zero.svm").write_text("0 0:1\n1 1:1\n0 0:2\n1 1:2\n")
    (folder / "rest.svm").write_text("1 1:1\n1 1:3\n")
    cli("train", "multiclass", "zero.svm", "-m", "a.mm", "-q")
    assert cli("predict", "a.mm", "rest.svm")[0].split() == ["1", "1"]


def test_sequences_of_arrays_round_trip(cli):
    cli("train", "chain", "words.npz", "-m", "a.mm", "-q")
    X, y = read_npz("words.npz")
    guess = maxmargin.load("a.mm").predict(X)
    out, _ = cli("predict", "a.mm", "words.npz")
    assert [list(map(int, line.split())) for line in out.splitlines()] == [
        labels.tolist() for labels in guess
    ]
    found = json.loads(cli("evaluate", "a.mm", "words.npz", "--json")[0])
    assert found["token_accuracy"] == token_accuracy(y, guess)


def test_a_script_s_model_is_read_too(cli):
    X, y = read_npz("flat.npz")
    maxmargin.MulticlassSVM(random_state=0).fit(X, y).save("a.mm")
    found = json.loads(cli("evaluate", "a.mm", "flat.svm", "--json")[0])
    assert found["n_samples"] == 30


def test_inspect_shows_weights_and_transitions(cli):
    cli("train", "chain", "train.conll", "-m", "a.mm", "-q")
    model = maxmargin.load("a.mm")
    values = json.loads(cli("inspect", "a.mm", "--json", "--top", "2", "--label", "O")[0])
    assert list(values["weights"]) == ["O"]
    largest = np.sort(np.abs(model.coef_[list(model.classes_).index("O")]))[::-1][:2]
    shown = [abs(entry["weight"]) for entry in values["weights"]["O"]]
    assert sorted(shown, reverse=True) == largest.tolist()
    np.testing.assert_array_equal(values["transitions_"], model.transitions_)
    out, _ = cli("inspect", "a.mm")
    cell = model.transitions_[0, 1]
    assert f"{cell:+.2f}" in out and "(start)" in out and "pos[0]=DT" in out


def test_convert_schemes_there_and_back(cli):
    found = json.loads(cli("convert", "train.conll", "b.tsv", "--to", "bioes", "--json")[0])
    assert (found["from"], found["to"]) == ("iob2", "bioes")
    data = read_conll("b.tsv", separator="\t")
    before = read_conll("train.conll")
    assert data.tags == [convert_tags(tags, "iob2", "bioes") for tags in before.tags]
    cli("convert", "b.tsv", "c.conll.gz", "--from", "bioes", "--to", "iob2")
    assert read_conll("c.conll.gz") == before


def test_convert_svmlight_and_npz(cli):
    cli("convert", "flat.npz", "again.svm")
    cli("convert", "again.svm", "again.npz")
    for a, b in zip(read_npz("flat.npz"), read_npz("again.npz"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_warmup_goes_over_all_kinds(cli, monkeypatch):
    asked = []

    def compile_case(kind, storage, dtype, solver, is_shown):
        asked.append((kind, storage, dtype))
        return {"kind": "", "solver": solver, "features": "", "compiled": 0, "seconds": 0.0}

    monkeypatch.setattr("maxmargin.cli.commands.warmup.compile_case", compile_case)
    cli("warmup", "-q")
    forms = [(storage, "float64") for storage in ("dense", "sparse")]
    assert asked == [(kind, *form) for kind in KINDS.values() for form in forms]


def test_warmup_leaves_nothing_to_compile(cli):
    """Of two kinds: what the others compile is compiled in tests of their own."""
    kinds = ["--kind", "chain", "--kind", "multiclass"]
    cli("warmup", "-q", *kinds)
    found = json.loads(cli("warmup", "--json", "-q", *kinds)[0])
    cases = [(row["kind"], row["features"]) for row in found["compiled"]]
    assert cases == [
        (kind, f"{storage} float64")
        for kind in ("chain", "multiclass")
        for storage in ("dense", "sparse")
    ]
    assert all(row["compiled"] == 0 for row in found["compiled"])
    rng = np.random.default_rng(1)
    write_npz("noise.npz", rng.normal(size=(60, 4)), rng.integers(5, size=60))
    with compiling_watched() as watch:
        arguments = ["--C", "100", "--tol", "1e-4", "-m", "a.mm", "-q"]
        cli("train", "multiclass", "noise.npz", "--dev", "noise.npz", *arguments)
        cli("evaluate", "a.mm", "noise.npz")
        scheme = ["--scheme", "iob2", "--dev", "test.conll"]
        cli("train", "chain", "train.conll", *scheme, *arguments)
        cli("predict", "a.mm", "test.conll")
    assert watch.compiled == 0


def test_compiled_code_is_found_again_by_every_command():
    """Its stamp must not hang on which other modules a command happens to have loaded."""
    from maxmargin.core.files import is_ours
    from maxmargin.core.predict import predict_examples
    from maxmargin.core.sources import sources
    from maxmargin.structures import ChainData

    assert all(map(is_ours, sources(predict_examples, [ChainData]).files))


def test_info_lists_the_registries(cli):
    found = json.loads(cli("info", "--json")[0])
    assert found["available"]["solvers"] == ["auto", *SOLVERS]
    assert found["versions"]["maxmargin"] == maxmargin.__version__
    out, _ = cli("info")
    assert "bcfw" in out and "Cache" in out


def test_demo(cli, folder):
    out, err = cli("demo", "--seed", "1")
    assert (folder / "maxmargin-demo.png").read_bytes().startswith(b"\x89PNG")
    assert "read as a whole" in out and "Certified" in out and "▒" in out
    assert "rel. gap" in err
    found = json.loads(cli("demo", "--seed", "1", "--json", "-q", "-o", "b.svg")[0])
    assert found["chain"]["result"]["relative_gap"] <= 1e-3
    assert found["chain"]["string_accuracy"] > found["per_character"]["string_accuracy"]
    assert (folder / "b.svg").exists()


def in_new_process(code, **options):
    # Where the package is not installed, the path to it may be relative to another folder.
    home = str(Path(maxmargin.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", code],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": home},
        **options,
    )


def test_help_loads_no_compiler():
    """In a new process; the seconds are left to the reader, the imports are what they hang on."""
    code = (
        "import sys\nfrom maxmargin.cli.main import run\nassert run(['train', '--help']) == 0\n"
        "heavy = {'numba', 'numpy', 'sklearn', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = in_new_process(code, stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert "--checkpoint" in done.stdout


def test_a_closed_pipe_is_no_error(cli):
    cli("train", "chain", "train.conll", "-m", "a.mm", "-q")
    cli("predict", "a.mm", "test.conll")  # the next one has nothing to compile, and says nothing
    code = "from maxmargin.cli import main; main(['predict', 'a.mm', 'test.conll'])"
    reader, writer = os.pipe()
    os.close(reader)
    done = in_new_process(code, stdout=writer)
    os.close(writer)
    assert done.returncode == 1
    assert done.stderr == ""
