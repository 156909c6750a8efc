"""Label sets on the command line: ARFF, svmlight and npz files, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin
from maxmargin.cli.main import run
from maxmargin.datasets import make_label_sets
from maxmargin.io import read_arff, write_arff, write_npz
from maxmargin.metrics import label_set_report

LABELS = ["sad", "happy", "quiet & still"]


@pytest.fixture(scope="module")
def drawn():
    return make_label_sets(60, n_features=3, n_labels=3, test_size=0.5, random_state=2)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, drawn):
    """Every test works in a folder of its own, with files of all formats."""
    monkeypatch.chdir(tmp_path)
    for name, X, Y in (
        ("train", drawn.X_train, drawn.y_train),
        ("test", drawn.X_test, drawn.y_test),
    ):
        write_arff(f"{name}.arff", X, Y, label_names=LABELS)
        lines = [
            ",".join(str(j) for j in np.flatnonzero(row))
            + " "
            + " ".join(f"{f + 1}:{value:.17g}" for f, value in enumerate(x))
            for x, row in zip(X, Y, strict=True)
        ]
        (tmp_path / f"{name}.svm").write_text("\n".join(lines) + "\n")
    write_npz("train.npz", drawn.X_train, drawn.y_train)
    return tmp_path


@pytest.fixture
def cli(capsys):
    """Run a command; give back its stdout and stderr."""

    def call(*arguments, code=0):
        capsys.readouterr()
        found = run(list(arguments))
        out, err = capsys.readouterr()
        assert found == code, err
        return out, err

    return call


def train(cli, *options, file="train.arff", labels=("--labels", "-3")):
    return cli("train", "multilabel", file, *labels, "-m", "a.mm", "-q", *options)


def test_training_is_that_of_a_script(cli, drawn):
    train(cli, "--C", "0.5", "--tol", "0.01")
    script = maxmargin.MultilabelSVM(C=0.5, tol=0.01, random_state=0, classes=LABELS)
    script.fit(*read_arff("train.arff", -3)[:2])
    model = maxmargin.load("a.mm")
    np.testing.assert_array_equal(model.result_.w, script.result_.w)
    assert model.classes_.tolist() == LABELS


def test_labels_by_xml_by_number_and_by_name(cli):
    names = '<labels><label name="sad"/><label name="happy"/></labels>'
    with open("two.xml", "w") as file:
        file.write(names)
    for labels in ("two.xml", "sad,happy"):
        out, _ = cli("train", "multilabel", "train.arff", "--labels", labels, "--json", "-q")
        found = json.loads(out)
        assert found["params"]["classes"] == ["sad", "happy"]
        assert (found["n_labels"], found["n_features"]) == (2, 4)


def test_evaluate_prints_the_scores_of_label_sets(cli):
    train(cli, "--pairwise", "tree")
    out, _ = cli("evaluate", "a.mm", "test.arff", "--json")
    found = json.loads(out)
    X, Y, _, _ = read_arff("test.arff", -3)
    report = label_set_report(Y, maxmargin.load("a.mm").predict(X))
    assert {name: found[name] for name in report} == pytest.approx(report)
    assert (found["n_samples"], found["n_labels"]) == (30, 3)
    out, _ = cli("evaluate", "a.mm", "test.arff")
    for words in ("example accuracy", "Hamming loss", "micro-F1", "macro-F1", "subset accuracy"):
        assert words in out
    assert f"{found['micro_f1']:.4g}" in out


def test_predict_writes_names(cli):
    train(cli)
    X, _, _, _ = read_arff("test.arff", -3)
    guess = maxmargin.load("a.mm").predict(X)
    sets = [[LABELS[j] for j in np.flatnonzero(row)] for row in guess]
    out, _ = cli("predict", "a.mm", "test.arff")
    assert out.splitlines() == [",".join(each) for each in sets]
    out, _ = cli("predict", "a.mm", "test.arff", "--json")
    assert json.loads(out)["predictions"] == sets
    cli("predict", "a.mm", "test.arff", "-o", "out.txt")
    with open("out.txt") as file:
        assert file.read().splitlines() == [",".join(each) for each in sets]


def test_a_file_without_labels_can_be_predicted(cli, drawn):
    train(cli)
    expected, _ = cli("predict", "a.mm", "test.arff")
    names = read_arff("test.arff", -3).feature_names
    lines = [f"@attribute {name} numeric" for name in names]
    rows = [",".join(f"{value:.17g}" for value in row) for row in read_arff("test.arff", -3).X]
    with open("bare.arff", "w") as file:
        file.write("\n".join(["@relation bare", *lines, "@data", *rows]) + "\n")
    assert cli("predict", "a.mm", "bare.arff")[0] == expected
    assert "has no labels" in cli("evaluate", "a.mm", "bare.arff", code=2)[1]


def test_unknown_labels_are_read(cli):
    with open("train.arff") as file:
        lines = file.read().splitlines()
    lines[-1] = lines[-1].rpartition(",")[0] + ",?"
    with open("part.arff", "w") as file:
        file.write("\n".join(lines))
    assert (read_arff("part.arff", -3).Y == -1).sum() == 1
    train(cli, file="part.arff")
    assert maxmargin.load("a.mm").result_.status == "converged"


def test_svmlight_and_npz(cli):
    train(cli, file="train.svm", labels=())
    first, _ = cli("predict", "a.mm", "test.svm")
    assert all(set(line.split(",")) <= {"", "0", "1", "2"} for line in first.splitlines())
    found = json.loads(cli("evaluate", "a.mm", "test.svm", "--json")[0])
    assert found["n_labels"] == 3 and found["hamming_loss"] < 0.5
    train(cli, file="train.npz", labels=())
    assert json.loads(cli("evaluate", "a.mm", "train.npz", "--json")[0])["n_samples"] == 30
    # A model of one format predicts files of another.
    assert len(cli("predict", "a.mm", "test.svm")[0].splitlines()) == 30


def test_a_dev_file_and_its_scores(cli):
    out, _ = train(cli, "--dev", "test.arff", "--json")
    dev = json.loads(out)["dev"]
    assert dev["n_samples"] == 30 and 0 < dev["micro_f1"] <= 1
    out, _ = train(cli, "--dev", "test.arff", "--patience", "3")
    assert "micro-F1" in out


def test_sparse_files(cli, drawn):
    write_arff("sparse.arff", sp.csr_matrix(drawn.X_train), drawn.y_train, label_names=LABELS)
    out, err = cli("train", "multilabel", "sparse.arff", "--labels", "-3", "-m", "a.mm")
    assert "30 samples" in err and "converged" in out
    assert len(cli("predict", "a.mm", "sparse.arff")[0].splitlines()) == 30


def test_surrogate_search_and_inference(cli):
    train(cli, "--surrogate", "slack", "--search", "profile", "--pairwise", "full")
    model = maxmargin.load("a.mm")
    assert (model.surrogate, model.search, model.pairwise) == ("slack", "profile", "full")
    assert model.inference_ == "listed"
    out, _ = cli("inspect", "a.mm")
    assert "Largest pairs" in out and "quiet & still" in out
    found = json.loads(cli("inspect", "a.mm", "--json")[0])
    assert len(found["edges_"]) == len(found["pairwise_"]) == 3
    assert "searches" in cli("info")[0]


def test_a_model_saved_by_a_script_reads_arff_by_its_classes(cli):
    X, Y, names, _ = read_arff("train.arff", -3)
    maxmargin.MultilabelSVM(classes=names, random_state=0).fit(X, Y).save("script.mm")
    assert json.loads(cli("evaluate", "script.mm", "test.arff", "--json")[0])["n_samples"] == 30


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["multilabel", "train.arff"], "--labels must say which attributes of train.arff are"),
        (["multilabel", "train.arff", "--labels", "none.xml"], "none.xml"),
        (["multilabel", "train.arff", "--labels", "sad,bad"], "names 'bad', which is no attribute"),
        (["multilabel", "train.arff", "--labels", "-9"], "leaves no label or no feature"),
        (
            ["multilabel", "train.svm", "--labels", "-3"],
            "--labels is for ARFF files, but train.svm",
        ),
        (["multiclass", "train.arff"], "is an ARFF file, which holds label sets"),
        (["multiclass", "train.npz", "--pairwise", "full"], "--pairwise is for label sets"),
        (["multiclass", "train.npz", "--labels", "2"], "--labels is for label sets"),
        (["chain", "train.npz", "--inference", "tree"], "--inference is for label sets"),
        (["multilabel", "train.npz", "--pairwise", "star"], "pairwise='star' is not known"),
        (["multilabel", "train.npz", "--inference", "fast"], "inference='fast' is not known"),
        (["multilabel", "train.npz", "--search", "fast"], "search='fast' is not known"),
        (["multilabel", "train.npz", "--template", "ner"], "--template is for CoNLL files"),
        (["multilabel", "train.npz", "--cost", "f1"], "has an empty truth under F1"),
        (["multilabel", "train.npz", "--solver", "simplex"], "solver='simplex' is not known"),
        (["multilabel", "flat.npz"], "got an array of shape (30,)"),
        (["multilabel", "bad.arff", "--labels", "-1"], "contains NaN"),
        (["multilabel", "nominal.arff", "--labels", "-1"], "attribute 'x'"),
    ],
)
def test_bad_input_ends_with_the_sentence_of_python(cli, drawn, arguments, message):
    write_npz("flat.npz", drawn.X_train, drawn.y_train[:, 0])
    for name, kind, value in (("bad", "numeric", "?"), ("nominal", "{red,blue}", "red")):
        with open(f"{name}.arff", "w") as file:
            file.write(
                f"@relation r\n@attribute x {kind}\n@attribute y {{0,1}}\n@data\n{value},1\n"
            )
    out, err = cli("train", *arguments, "-q", code=2)
    assert message in err and out == "" and "Traceback" not in err


def test_a_file_with_other_attributes_is_refused(cli, drawn):
    train(cli)
    write_arff("other.arff", drawn.X_test[:, :2], drawn.y_test, label_names=LABELS)
    assert (
        "has 2 attributes that are no labels; the model expects 3"
        in (cli("predict", "a.mm", "other.arff", code=2)[1])
    )
    names = [*read_arff("test.arff", -3).feature_names[:2], "odd"]
    write_arff("odd.arff", drawn.X_test, drawn.y_test, label_names=LABELS, feature_names=names)
    assert (
        "has the attribute 'odd' where the model expects"
        in (cli("predict", "a.mm", "odd.arff", code=2)[1])
    )


def test_arff_is_not_for_models_of_classes(cli, drawn):
    model = maxmargin.MulticlassSVM(random_state=0).fit(drawn.X_train, drawn.y_train[:, 0])
    model.save("classes.mm")
    assert "holds label sets" in cli("predict", "classes.mm", "test.arff", code=2)[1]
