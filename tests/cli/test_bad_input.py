"""Bad input: exit code 2, the sentence that Python raises, and no file left behind."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import maxmargin
from maxmargin.cli import console
from maxmargin.cli.console import in_options
from maxmargin.cli.main import run
from maxmargin.io import FeatureTemplate, read_conll, read_npz, read_svmlight, write_npz
from maxmargin.persistence import read, write

CONLL = "the DT B-NP\ncat NN I-NP\nsees VB B-VP\n\nit PRP B-NP\n. . O\n"
X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.5], [0.5, 1.0]])
Y = np.array([0, 1, 0, 1])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "good.conll").write_text(CONLL)
    (tmp_path / "good.svm").write_text("0 1:1\n1 2:1\n0 1:2\n")
    write_npz(tmp_path / "good.npz", X, Y)
    write_npz(tmp_path / "words.npz", [X[:1], X[1:]], [Y[:1], Y[1:]])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(folder, capsys):
    """Run a command that must fail; give back its sentence."""

    def call(*arguments):
        before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        capsys.readouterr()
        code = run(list(arguments))
        out, err = capsys.readouterr()
        # What is compiled depends on the tests before; it is said before any error.
        err = "".join(l for l in err.splitlines(True) if not l.startswith("Compiling "))
        after = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert (code, out) == (2, ""), err
        assert after == before
        assert err.startswith("Error: ") and err.count("\n") == 1, err
        return err.removeprefix("Error: ").rstrip("\n")

    return call


def sentence(work):
    """The sentence that Python raises."""
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        work()
    return str(caught.value)


def fit_conll(path="good.conll", patience=None, **params):
    data = read_conll(path)
    X = FeatureTemplate.parse("chunking", data.columns).transform(data.sentences)
    return maxmargin.ChainSVM(random_state=0, **params).fit(X, data.tags, patience=patience)


TRAIN = ["train", "chain", "good.conll", "--model", "a.mm", "-q"]


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "params", "said"),
    [
        (["--C", "-1"], {"C": -1.0}, "C must be"),
        (["--C", "nan"], {"C": float("nan")}, "C must be"),
        (["--tol", "-0.1"], {"tol": -0.1}, "tol must be"),
        (["--max-iter", "0"], {"max_iter": 0}, "max_iter must be"),
        (["--time-budget", "0"], {"time_budget": 0.0}, "time_budget must be"),
        (["--patience", "0"], {"patience": 0}, "patience must be"),
        (["--n-jobs", "0"], {"n_jobs": 0}, "n_jobs must be"),
        (["--solver", "simplex"], {"solver": "simplex"}, "'bcfw'"),
        (["--cost", "haming"], {"cost": "haming"}, "'hamming'"),
        (["--cost", "matrix"], {"cost": "matrix"}, "CostMatrix"),
        (["--surrogate", "hinge"], {"surrogate": "hinge"}, "'margin'"),
        (["--scheme", "bilou"], {"constraints": "bilou"}, "bioes"),
        (["--min-count", "0"], {"min_count": 0}, "min_count must be"),
        (["--min-count", "9"], {"min_count": 9}, "min_count=9"),
        (["--hashing", "-4"], {"n_hashed_features": -4}, "n_hashed_features must be"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_parameters_are_refused_as_in_python(refused, options, params, said):
    found = refused(*TRAIN, *options)
    assert said in found
    assert found == sentence(lambda: fit_conll(**params))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "tree", "good.conll"], "kind='tree' is not known. There are: 'chain'"),
        (["train", "chain"], "FILE"),
        (["train", "chain", "good.conll", "--C", "much"], "--C"),
        (["train", "chain", "good.conll", "--colour", "red"], "--colour"),
        (["paint"], "paint"),
        ([*TRAIN, "--seed", "-1"], "random_state must be >= 0"),
        ([*TRAIN, "--checkpoint", "c.ck", "--checkpoint-every", "0"], "every must be"),
        ([*TRAIN, "--resume"], "--resume needs --checkpoint"),
        ([*TRAIN, "--patience", "3"], "--patience needs --dev"),
        ([*TRAIN, "--scoring", "token_accuracy"], "--scoring needs --dev"),
        ([*TRAIN, "--missing", "mean"], "--missing is not for ChainSVM"),
        (["train", "multiclass", "good.npz", "--zeros", "value"], "--zeros is for rankings"),
        (["train", "multiclass", "good.npz", "--missing", "maybe"], "missing must be one of"),
        ([*TRAIN, "--resume", "--checkpoint", "c.ck"], "there is no checkpoint c.ck"),
        ([*TRAIN, "--template", "w[0] colour[0]"], "unknown column 'colour'"),
        ([*TRAIN, "--template", "none.txt"], "none.txt"),
        ([*TRAIN, "--columns", "word"], "columns names ['word']"),
        ([*TRAIN, "--tag-column", "7"], "tag_column=7, but the file has 3 columns"),
        ([*TRAIN, "--separator", ""], "separator must be"),
        ([*TRAIN, "--format", "xml"], "format='xml' is unknown"),
        ([*TRAIN, "--dev", "none.conll"], "none.conll"),
        (["train", "multiclass", "good.npz", "--scheme", "iob2"], "--scheme is for CoNLL files"),
        (["train", "chain", "words.npz", "--template", "ner"], "--template is for CoNLL files"),
        (["train", "multiclass", "good.conll"], "takes single samples"),
        (["train", "chain", "good.svm"], "takes sequences, but good.svm holds single samples"),
        (["train", "chain", "good.doc"], "'.doc' names no format"),
        (["train", "chain", "none.conll"], "none.conll"),
        (["warmup", "--solver", "simplex", "-q"], "'bcfw'"),
        (
            ["warmup", "--kind", "ranking", "--solver", "partial_linearization", "-q"],
            "needs expectations of outputs",
        ),
        (["warmup", "--kind", "tree", "-q"], "'multiclass'"),
        (["demo", "--seed", "-1", "-q"], "--seed must be >= 0"),
        (["demo", "-o", "a.xyz", "-q"], "no picture format 'xyz'"),
        (["demo", "-o", "none/a.png", "-q"], "the folder none does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_asked_for_is_refused(refused, arguments, said):
    assert said in refused(*arguments)


# -- files to learn from ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the DT B-NP\ncat I-NP\n", "bad.conll, line 2: expected 3 columns as on line 1, got 2"),
        ("\n\n", "holds no token"),
        ("the DT O\ncat NN O\n", "one label only, 'O'"),
        ("the\ncat\n", "no column is left besides the tags"),
        (b"caf\xe9 NN O\n", "bad.conll"),
    ],
)
def test_conll_files(refused, folder, text, said):
    path = folder / "bad.conll"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = refused("train", "chain", "bad.conll", "--model", "a.mm", "-q")
    assert said in found
    assert found == sentence(lambda: fit_conll("bad.conll"))


def test_tags_that_break_the_scheme_are_refused_if_strict(refused, folder, capsys):
    (folder / "bad.conll").write_text("the DT O\ncat NN I-NP\nsees VB B-VP\n")
    train = ["train", "chain", "bad.conll", "--scheme", "iob2", "-m", "a.mm", "-q"]
    found = refused(*train, "--strict")
    assert found == "bad.conll, line 2: 'I-NP' may not follow 'O' in iob2."
    assert run(train) == 0
    assert "may not follow" in capsys.readouterr().err
    assert maxmargin.load("a.mm").widened_ == [("O", "I-NP", 1)]
    found = refused("evaluate", "a.mm", "bad.conll", "--strict")
    assert found == "bad.conll, line 2: 'I-NP' may not follow 'O' in iob2."


def test_constraints_that_allow_nothing(refused, folder):
    """In BIOES a segment of one token is S; where S-NP is no class, one token has no labelling."""
    (folder / "a.conll").write_text("the DT B-NP\ncat NN E-NP\n")
    (folder / "b.conll").write_text("cat NN O\n")
    model = ["train", "chain", "a.conll", "--scheme", "bioes", "-m", "a.mm", "-q"]
    assert run(model) == 0
    assert "X[0]: the constraints allow no labelling." in refused("predict", "a.mm", "b.conll")
    assert "allow no labelling" in refused(*model, "--dev", "b.conll")


def test_held_out_tags_never_seen_are_missed(folder, capsys):
    (folder / "dev.conll").write_text("cat NN B-XY\n")
    assert run([*TRAIN, "--dev", "dev.conll", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["dev"]
    assert (found["measure"], found["score"], found["token_accuracy"]) == ("chunk_f1", 0.0, 0.0)


def test_strict_without_tags(refused, folder):
    (folder / "pos.conll").write_text("the DT\ncat NN\n")
    train = ["train", "chain", "pos.conll", "-m", "a.mm", "-q"]
    assert "there is no scheme to hold them to" in refused(*train, "--strict")
    assert "--strict needs --to" in refused("convert", "pos.conll", "out.conll", "--strict")
    found = refused("convert", "pos.conll", "out.conll", "--to", "io")
    assert found.startswith("pos.conll, line 1: 'DT' is not a tag: expected 'O'")
    assert "--strict is for CoNLL files" in refused("train", "multiclass", "good.npz", "--strict")
    assert "--strict is for sequences" in refused("evaluate", *_classes(), "--strict")


def test_a_held_out_file_without_labels(refused, folder):
    (folder / "dev.conll").write_text("cat NN\n")
    assert refused(*TRAIN, "--dev", "dev.conll") == "dev.conll has no labels."


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"X": np.where(X == 0.5, np.inf, X)}, "contains infinity"),
        ({"X": X[:, :0]}, "feature"),
        ({"X": X[:, 0]}, "two axes"),
        ({"X": X.astype(object)}, "not an npz file of plain arrays"),
        ({"X": np.full((4, 2), "a")}, "X.npy: it holds '<U1'; expected booleans"),
        ({"y": Y[:3]}, "y has shape (3,) but X has 4 rows"),
        ({"y": np.zeros(4)}, "one class"),
        ({"y": Y + 0.5}, "Unknown label type: continuous"),
    ],
    ids=["infinite", "zero features", "flat", "objects", "text", "lengths", "one", "real"],
)
def test_npz_of_samples(refused, change, said):
    np.savez("bad.npz", **({"X": X, "y": Y} | change))
    found = refused("train", "multiclass", "bad.npz", "--model", "a.mm", "-q")
    assert said in found

    def script():
        maxmargin.MulticlassSVM(random_state=0).fit(*read_npz("bad.npz"))

    assert found == in_options(" ".join(sentence(script).split("\n")))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"offsets": np.array([0, 2, 2, 4])}, "X[1] is empty"),
        ({"offsets": np.array([0, 3])}, "offsets must be whole numbers that rise"),
        ({"X": np.where(X == 0.5, np.nan, X)}, "X[1][0] has nan"),
        ({"y": Y[:3]}, "y has shape (3,) but X has 4 rows"),
    ],
    ids=["empty", "ragged", "nan", "lengths"],
)
def test_npz_of_sequences(refused, change, said):
    np.savez("bad.npz", **({"X": X, "y": Y, "offsets": np.array([0, 2, 4])} | change))
    found = refused("train", "chain", "bad.npz", "--model", "a.mm", "-q")
    assert said in found

    def script():
        maxmargin.ChainSVM(random_state=0).fit(*read_npz("bad.npz"))

    assert found == sentence(script)


def test_npz_without_labels(refused):
    np.savez("bad.npz", X=X)
    assert refused("train", "multiclass", "bad.npz", "-q") == "bad.npz has no labels."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 1:1\n1 2:1 1:3\n", "bad.svm, line 2: the index of '1:3' does not exceed"),
        ("0 1:1\n1 2:1 2:3\n", "bad.svm, line 2: the index of '2:3' does not exceed"),
        ("0 1:1\n1 2:inf\n", "bad.svm, line 2: the value of '2:inf' is not finite"),
        ("0 1:1\nx 2:1\n", "bad.svm, line 2: the label 'x'"),
        ("", "holds no sample"),
        ("0\n1\n", "feature"),
    ],
    ids=["unsorted", "duplicate", "infinite", "label", "empty", "zero features"],
)
def test_svmlight_files(refused, folder, text, said):
    (folder / "bad.svm").write_text(text)
    found = refused("train", "multiclass", "bad.svm", "--model", "a.mm", "-q")
    assert said in found
    if text != "0\n1\n":
        assert found == sentence(lambda: read_svmlight("bad.svm", zero_based=True))


# -- where to write --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "none/a.mm"], "--model: the folder none does not exist."),
        (["--model", "."], "--model: . is a folder."),
        (["--model", "good.conll"], "would replace good.conll"),
        (["--checkpoint", "none/c.ck"], "--checkpoint: the folder none does not exist."),
        (["--model", "a.mm", "--checkpoint", "a.mm"], "would replace a.mm"),
    ],
)
def test_targets_are_looked_at_first(refused, monkeypatch, options, said):
    def no_work(*_, **__):
        raise AssertionError("read before the targets were looked at")

    monkeypatch.setattr("maxmargin.io.read_conll", no_work)
    assert said in refused("train", "chain", "good.conll", "-q", *options)


# -- models and checkpoints ------------------------------------------------------------------------


@pytest.fixture
def model():
    assert run(TRAIN) == 0
    return "a.mm"


@pytest.mark.parametrize("command", ["predict", "evaluate", "inspect"])
def test_model_files(refused, folder, model, command):
    file = [] if command == "inspect" else ["good.conll"]
    whole = (folder / model).read_bytes()
    (folder / "cut.mm").write_bytes(whole[: len(whole) // 2])
    (folder / "foreign.mm").write_bytes(b"PK not ours at all, by any means")
    (folder / "newer.mm").write_bytes(whole.replace(b'\\"format\\": 1', b'\\"format\\": 9'))
    document = read(model)
    meta = {key: value for key, value in document.meta.items() if key != "state"}
    write("damaged.mm", "model", meta, document.arrays)
    for name, said in {
        "cut": "truncated",
        "foreign": "not a maxmargin file",
        "newer": "newer maxmargin",
        "damaged": "damaged model file",
        "none": "no such file: none.mm",
    }.items():
        found = refused(command, f"{name}.mm", *file)
        assert said in found
        assert f"{name}.mm" in found


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_files_that_do_not_fit_the_model(refused, folder, model, command):
    (folder / "wide.conll").write_text("cat NN x y z\n")
    found = refused(command, model, "wide.conll")
    assert found == ("wide.conll has 5 columns; the model expects 2 (w, pos), or 3 with the tags.")
    assert "was trained from a CoNLL file" in refused(
        command, model, "words.npz", "--format", "npz"
    )
    assert run(["train", "multiclass", "good.svm", "-m", "b.mm", "-q"]) == 0
    (folder / "wide.svm").write_text("0 3:1\n")
    assert "the index of '3:1' is outside 1..2" in refused(command, "b.mm", "wide.svm")
    assert "takes single samples" in refused(command, "b.mm", "words.npz")
    assert "no feature template" in refused(command, "b.mm", "good.conll")
    write_npz("wide.npz", np.ones((2, 3)), np.array([0, 1]))
    assert re.search("3 features.* expecting 2", refused(command, "b.mm", "wide.npz"))


def test_evaluate_needs_labels(refused, folder, model):
    (folder / "bare.conll").write_text("cat NN\n")
    assert refused("evaluate", model, "bare.conll") == "bare.conll has no labels."
    assert "--scheme" in refused("evaluate", *_classes(), "--scheme", "iob2")


def _classes():
    assert run(["train", "multiclass", "good.npz", "-m", "b.mm", "-q"]) == 0
    return ["b.mm", "good.npz"]


def test_outputs_of_predict(refused, model):
    assert "does not exist" in refused("predict", model, "good.conll", "-o", "none/out.conll")
    assert "would replace" in refused("predict", model, "good.conll", "-o", "good.conll")
    assert "would replace" in refused("predict", model, "good.conll", "-o", model)


def test_inspect_labels_that_are_none(refused, model):
    assert "'B-XY' is none of B-NP" in refused("inspect", model, "--label", "B-XY")
    assert "--top must be" in refused("inspect", model, "--top", "0")


def test_checkpoints_of_other_runs(refused, folder):
    run([*TRAIN, "--checkpoint", "c.ck", "--checkpoint-every", "1", "--max-iter", "3"])
    (folder / "a.mm").unlink()
    again = [*TRAIN, "--checkpoint", "c.ck", "--resume"]
    assert "C=1.0 there, 2.0 here" in refused(*again, "--C", "2")
    (folder / "other.conll").write_text(CONLL + "\nshe PRP B-NP\n")
    again[2] = "other.conll"
    assert "a run on other data" in refused(*again)
    (folder / "c.ck").write_bytes((folder / "c.ck").read_bytes()[:100])
    assert "truncated" in refused(*again)


# -- convert ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["good.conll", "out.npz"], "conll to npz is no conversion there is"),
        (["good.conll", "out.conll", "--to", "bilou"], "scheme='bilou' is unknown"),
        (
            ["good.conll", "out.conll", "--from", "bioes", "--to", "iob2", "--strict"],
            "good.conll, line 3: 'B-VP' may not follow 'I-NP' in bioes (and 1 more).",
        ),
        (["good.conll", "out.conll", "--from", "iob2"], "--from needs --to"),
        (["good.npz", "out.svm", "--to", "iob2"], "--to is for CoNLL files"),
        (["words.npz", "out.svm"], "holds sequences"),
        (["good.conll", "good.conll", "--to", "bioes"], "would replace"),
        (["good.conll", "none/out.conll"], "does not exist"),
    ],
)
def test_conversions(refused, arguments, said):
    assert said in refused("convert", *arguments)


# -- errors of our own -----------------------------------------------------------------------------


def test_traceback_shows_where(monkeypatch):
    with pytest.raises(ValueError, match="C must be"):
        run(["--traceback", *TRAIN, "--C", "-1"])


def test_other_errors_are_not_hidden(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("maxmargin.io.read_conll", broken)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        run(TRAIN)


# -- pipes and streams -----------------------------------------------------------------------------


def in_new_process(*arguments, **options):
    """Run a command whose streams are what is asked for."""
    home = os.pathsep.join(path for path in sys.path if path)
    code = f"from maxmargin.cli import main; main({list(arguments)})"
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": home}, **options
    )


def test_stdin_is_a_file_and_so_is_stderr(folder):
    options = ["--format", "npz", "--output-format", "svmlight", "--json"]
    content = (folder / "good.npz").read_bytes()
    done = in_new_process("convert", "/dev/stdin", "/dev/stderr", *options, input=content)
    assert done.returncode == 0 and done.stderr == b"0 1:1\n1 2:1\n0 1:1 2:0.5\n1 1:0.5 2:1\n"
    assert b'"samples": 4' in done.stdout


@pytest.fixture
def pipe(folder):
    """Make a pipe with a name, which holds what is given."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names")

    def make(name, content):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
        threading.Thread(target=(folder / name).write_bytes, args=(content,), daemon=True).start()
        return name

    return make


def test_pipes_are_looked_at_twice(pipe, model, capsys):
    capsys.readouterr()
    predicted = [f"{line} {line.split()[2]}" if line else "" for line in CONLL.splitlines()]
    for content in (CONLL.encode(), gzip.compress(CONLL.encode())):
        assert run(["predict", model, pipe("pipe", content)]) == 0
        assert capsys.readouterr().out.splitlines()[: len(predicted)] == predicted
    assert run(["predict", model, pipe("pipe", b"the DT\ncat\n")]) == 2
    said = "Error: pipe, line 2: expected 2 columns as on line 1, got 1: 'cat'\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("content", [b"0 1:1\n1 2:1\n", b"0 qid:1 1:1\n1 qid:1 2:1\n"])
def test_convert_reads_pipes(pipe, content):
    assert run(["convert", pipe("pipe.svm", content), "out.npz"]) == 0
    X, y = read_npz("out.npz")
    assert np.array_equal(np.vstack(X), np.eye(2)) and np.ravel(y).tolist() == [0, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="descriptors are closed in a child process")
def test_streams_that_are_closed(monkeypatch):
    """Results that cannot be printed are an error; what is said on stderr may go unheard."""
    done = in_new_process("--version", preexec_fn=lambda: os.close(1))
    assert done.returncode == 2 and done.stderr.startswith(b"Error: stdout is closed")
    done = in_new_process("--version", preexec_fn=lambda: (os.close(0), os.close(2)))
    assert done.returncode == 0 and done.stdout.startswith(b"maxmargin ")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", buffering=1) as gone:
        monkeypatch.setattr("sys.stderr", console._Unheard(gone))
        assert run([*TRAIN[:4], "c.mm"]) == 0
    assert maxmargin.load("c.mm").result_.status == "converged"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_a_full_disk_is_said():
    with open("/dev/full", "wb") as full:
        done = in_new_process("--version", stdout=full)
    assert done.returncode == 2 and done.stderr == b"Error: [Errno 28] No space left on device\n"


# -- names of files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "chain", "none.x", "--format", "conll"],
        ["train", "multiclass", "none.x", "--format", "svmlight"],
        ["train", "ranking", "none.x", "--format", "svmlight"],
        ["train", "multiclass", "none.x", "--format", "npz"],
        ["train", "multilabel", "none.x", "--format", "arff", "--labels", "1"],
        ["convert", "none.x", "a.npz", "--format", "svmlight"],
        ["convert", "none.x", "a.conll", "--format", "conll"],
        ["predict", "none.x", "good.conll"],
        ["inspect", "none.x"],
        [*TRAIN, "--dev", "none.x"],
    ],
    ids=" ".join,
)
def test_files_that_do_not_exist(refused, arguments):
    assert refused(*arguments) == "no such file: none.x"


def test_extensions_that_are_unknown(refused, folder, model):
    for arguments in (["train", "chain", "a.data"], ["convert", "a.data", "a.npz"]):
        assert "--format" in refused(*arguments)
    assert "--output-format" in refused("convert", "good.svm", "a.data")
    assert "--format='xml' is none that is converted" in refused(
        "convert", "good.svm", "a.npz", "--format", "xml"
    )
    (folder / "good.data").write_text(CONLL)
    assert run(["predict", model, "good.data"]) == 0
    assert run(["predict", model, "good.data", "--format", "conll"]) == 0


def test_errors_speak_of_options(refused, folder):
    write_npz("wide.npz", np.ones((4, 3)), Y)
    found = refused("train", "multiclass", "good.npz", "--dev", "wide.npz", "-q")
    assert found.startswith("--dev wide.npz: X has 3 features, but MulticlassSVM is expecting 2")
    write_npz("one.npz", X, np.zeros(4))
    found = refused("train", "multiclass", "one.npz", "-q")
    assert found == "There is only one class, 0.0; at least 2 are needed."
    run(["train", "multiclass", "good.npz", "--checkpoint", "c.ck", "-q"])
    again = ["--checkpoint", "c.ck", "--resume", "--dev", "good.npz", "-q"]
    assert "a run with another --dev" in refused("train", "multiclass", "good.npz", *again)
    assert "--format says it for any name" in refused("train", "multiclass", "none.doc")


def test_svmlight_called_txt_is_hinted_at(refused, folder, capsys):
    (folder / "rows.txt").write_text("0 1:1\n1 2:1 3:1\n0 1:2\n")
    hint = "Its first line looks like svmlight: --format svmlight reads it so."
    assert hint in refused("train", "multiclass", "rows.txt", "-q")
    assert hint in refused("train", "chain", "rows.txt", "-q")
    assert hint in refused("convert", "rows.txt", "out.conll")
    assert "--format says what it is" in refused("convert", "rows.txt", "out.npz")
    assert hint not in refused("train", "chain", "rows.txt", "--format", "conll", "-q")
    (folder / "text.txt").write_text("The DT O\n12 CD\n")
    assert hint not in refused("train", "chain", "text.txt", "-q")
    (folder / "bytes.txt").write_bytes(b"\xff\xfe 1:1\n")
    assert "not UTF-8" in refused("train", "chain", "bytes.txt", "-q")
    assert run(["train", "multiclass", "rows.txt", "--format", "svmlight", "-q"]) == 0


def test_qid_that_classes_ignore_is_told_of(folder, capsys):
    (folder / "queries.svm").write_text("# q\n0 qid:1 1:1\n1 qid:1 2:1\n0 qid:2 1:2\n")
    assert run(["train", "multiclass", "queries.svm"]) == 0
    assert "queries.svm has qid, which `train multiclass` ignores" in capsys.readouterr().err
    assert run(["train", "multiclass", "queries.svm", "-q"]) == 0
    assert "qid" not in capsys.readouterr().err
    assert run(["train", "multiclass", "good.svm"]) == 0
    assert "qid" not in capsys.readouterr().err


def test_a_dash_is_standard_input(folder):
    run(["train", "multiclass", "good.svm", "-m", "b.mm", "-q"])
    content = (folder / "good.svm").read_bytes()
    done = in_new_process("predict", "b.mm", "-", input=content)
    assert done.returncode == 0, done.stderr
    named = in_new_process("predict", "b.mm", "good.svm")
    assert done.stdout == named.stdout and len(done.stdout.split()) == 3
    done = in_new_process("train", "multiclass", "-", "--format", "svmlight", "-q", input=content)
    assert done.returncode == 0, done.stderr


def test_files_of_another_format_than_the_model_had(refused, folder, model, capsys):
    found = refused("predict", model, "good.svm")
    assert "was trained from a CoNLL file; good.svm is svmlight. If it is CoNLL, --format" in found
    assert run(["train", "multiclass", "good.svm", "-m", "b.mm", "-q"]) == 0
    assert "if that is not CoNLL, --format svmlight" in refused("predict", "b.mm", "good.conll")
    capsys.readouterr()
    assert run(["predict", "b.mm", "good.svm"]) == 0
    expected = capsys.readouterr().out
    (folder / "good.txt").write_bytes((folder / "good.svm").read_bytes())
    assert run(["predict", "b.mm", "good.txt", "--format", "svmlight"]) == 0
    assert run(["convert", "good.svm", "same.npz"]) == 0
    capsys.readouterr()
    assert run(["predict", "b.mm", "same.npz"]) == 0
    assert capsys.readouterr().out == expected


def test_a_wide_file_is_not_made_dense(refused, folder):
    (folder / "wide.svm").write_text("1 100000000:1\n")
    assert "wide.svm: 1 rows of 100000000 columns would take 0.8 GB" in refused(
        "convert", "wide.svm", "out.npz"
    )


def test_missing_values_reach_the_estimator(refused, folder):
    (folder / "bad.svm").write_text("0 1:1\n1 2:nan\n")
    assert "NaN" in refused("train", "multilabel", "bad.svm", "--model", "a.mm", "-q")


def test_a_model_is_no_pipe(refused):
    assert "--model: /dev/null is not a regular file" in refused(*TRAIN[:4], "/dev/null", "-q")


def test_templates_from_files_are_named(refused, folder):
    (folder / "bad.tpl").write_text("w[0]  # words\nlower(w[0]\n")
    found = refused(*TRAIN, "--template", "bad.tpl")
    assert found.startswith("bad.tpl: template 'lower(w[0]': 'lower(w[0]' is not a value")
    (folder / "latin.tpl").write_bytes(b"w[0] # caf\xe9\n")
    assert "latin.tpl, line 1: not UTF-8" in refused(*TRAIN, "--template", "latin.tpl")
