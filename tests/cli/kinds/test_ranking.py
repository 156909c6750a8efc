"""Rankings on the command line: svmlight with qid and npz files, and what is refused."""

from __future__ import annotations

import gzip
import json
import re
import shutil

import numpy as np
import pytest

import maxmargin
from maxmargin import RankingSVM
from maxmargin.cli.main import run
from maxmargin.costs import NDCGAtK, NDCGPairs, PrecisionAtK
from maxmargin.datasets import make_rankings
from maxmargin.io import read_npz, read_rankings, write_npz, write_svmlight
from maxmargin.metrics import auc, average_precision, ndcg, precision_at_k, ranking_report


@pytest.fixture(scope="module")
def drawn():
    return make_rankings(
        30, n_documents=(6, 9), n_features=3, noise=0.2, test_size=1 / 3, random_state=4
    )


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, drawn):
    """Every test works in a folder of its own, with files of all formats."""
    monkeypatch.chdir(tmp_path)
    for part, X, y in (
        ("train", drawn.X_train, drawn.y_train),
        ("test", drawn.X_test, drawn.y_test),
    ):
        qid = drawn.extra[f"qid_{part}"]
        write_svmlight(f"{part}.svm", X, y, qid=qid)
        rows = [qid == q for q in dict.fromkeys(qid)]
        write_npz(f"{part}.npz", [X[own] for own in rows], [y[own] for own in rows])
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


def train(cli, *options, file="train.svm"):
    return cli("train", "ranking", file, "-m", "a.mm", "--tol", "0.01", "-q", *options)


def sentence(work):
    """The sentence that Python raises."""
    with pytest.raises((ValueError, TypeError)) as caught:
        work()
    return str(caught.value)


# -- training, predicting, measuring ---------------------------------------------------------------


def test_training_is_that_of_a_script(cli):
    options = ["--C", "5", "--cost", "ap", "--relevant", "2"]
    out, _ = train(cli, *options, "--json")
    X, grades, qid = read_rankings("train.svm")
    script = RankingSVM(C=5.0, cost="ap", relevance_threshold=2.0, tol=0.01, random_state=0)
    with pytest.warns(UserWarning, match="teach nothing"):
        script.fit(X, grades, qid=qid)
    model = maxmargin.load("a.mm")
    np.testing.assert_array_equal(model.coef_, script.coef_)
    assert model.get_params() == script.get_params()
    found = json.loads(out)
    sizes = {"n_queries": 20, "n_documents": len(qid), "n_features": 3}
    assert {name: found[name] for name in sizes} == sizes
    assert found["n_skipped_queries"] == script.n_skipped_ > 0
    out, _ = train(cli, *options)
    assert "skipped queries" in out and "converged" in out


def test_what_can_be_said_of_a_cost(cli):
    train(cli, "--cost", "ndcg_at_k", "--k", "4", "--gain", "linear")
    assert maxmargin.load("a.mm").cost == NDCGAtK(4, "linear")
    train(cli, "--gain", "linear")
    assert maxmargin.load("a.mm").cost == NDCGPairs("linear")
    train(cli, "--cost", "precision_at_k", "--k", "2", "--solver", "one_slack")
    assert maxmargin.load("a.mm").cost == PrecisionAtK(2)
    assert maxmargin.load("a.mm").result_.solver == "one_slack"


@pytest.mark.parametrize("how", ["standard", "minmax"])
def test_normalisation_makes_the_rows_of_a_file_dense(cli, how):
    train(cli, "--normalize", how, "--dev", "test.svm")
    X, grades, qid = read_rankings("train.svm")
    script = RankingSVM(normalize_queries=how, tol=0.01, random_state=0)
    with pytest.warns(UserWarning, match="1 of 20 queries"):
        script.fit(X.toarray(), grades, qid=qid)
    np.testing.assert_array_equal(maxmargin.load("a.mm").coef_, script.coef_)
    out, _ = cli("predict", "a.mm", "test.svm")
    X, _, qid = read_rankings("test.svm")
    np.testing.assert_allclose(list(map(float, out.split())), script.predict(X.toarray(), qid=qid))


def test_predict_writes_a_score_a_line_in_the_order_of_the_file(cli, folder, rng):
    train(cli)
    scores = [float(line) for line in cli("predict", "a.mm", "test.svm")[0].splitlines()]
    X, grades, qid = read_rankings("test.svm")
    assert scores == maxmargin.load("a.mm").predict(X).tolist()
    order = rng.permutation(len(qid))  # the documents of a query then lie apart
    write_svmlight("mixed.svm", X[order], grades[order], qid=qid[order])
    cli("predict", "a.mm", "mixed.svm", "-o", "scores.txt")
    mixed = [float(line) for line in (folder / "scores.txt").read_text().split()]
    assert mixed == pytest.approx(np.array(scores)[order])
    assert json.loads(cli("predict", "a.mm", "mixed.svm", "--json")[0])["predictions"] == mixed
    one, other = (
        json.loads(cli("evaluate", "a.mm", name, "--json")[0]) for name in ("test.svm", "mixed.svm")
    )
    assert one["means"] == pytest.approx(other["means"])


def test_training_on_queries_that_lie_apart(cli, rng):
    X, grades, qid = read_rankings("train.svm")
    order = rng.permutation(len(qid))
    write_svmlight("mixed.svm", X[order], grades[order], qid=qid[order])
    train(cli, "--tol", "1e-6")
    straight = maxmargin.load("a.mm").result_.primal
    train(cli, "--tol", "1e-6", file="mixed.svm")
    assert maxmargin.load("a.mm").result_.primal == pytest.approx(straight, rel=1e-5)


def test_evaluate_gives_the_measures_of_every_query(cli):
    train(cli)
    found = json.loads(cli("evaluate", "a.mm", "test.svm", "--k", "2,4", "--json")[0])
    X, grades, qid = read_rankings("test.svm")
    scores = maxmargin.load("a.mm").predict(X)
    assert [query["qid"] for query in found["by_query"]] == list(dict.fromkeys(qid.tolist()))
    for query in found["by_query"]:
        own = qid == query["qid"]
        expected = {
            "n_documents": own.sum(),
            "n_relevant": (grades[own] >= 1).sum(),
            "average_precision": average_precision(grades[own], scores[own]),
            "auc": auc(grades[own] >= 1, scores[own]),
            "ndcg": ndcg(grades[own], scores[own]),
        }
        for k in (2, 4):
            expected[f"ndcg@{k}"] = ndcg(grades[own], scores[own], k)
            expected[f"precision@{k}"] = precision_at_k(grades[own], scores[own], k)
        assert {name: query[name] for name in expected} == pytest.approx(expected)
    report = ranking_report(grades, scores, qid, (2, 4))
    for name in ("average_precision", "ndcg", "ndcg@2", "ndcg@4", "precision@4"):
        assert found["means"][name] == pytest.approx(report.means[name])


@pytest.mark.parametrize("cost", ["ap", "ndcg", "auc", "ndcg_at_k"])
def test_the_mean_of_the_cost_is_the_score_of_the_model(cli, cost):
    options = ("--k", "7", "--gain", "linear") if cost == "ndcg_at_k" else ()
    found = json.loads(train(cli, "--cost", cost, *options, "--dev", "test.svm", "--json")[0])
    X, grades, qid = read_rankings("test.svm")
    score = maxmargin.load("a.mm").score(X, grades, qid=qid)
    name = {"ap": "average_precision", "ndcg_at_k": "ndcg@7"}.get(cost, cost)
    assert found["dev"]["means"][name] == pytest.approx(score)


def test_tables_of_evaluate(cli):
    train(cli)
    found = json.loads(cli("evaluate", "a.mm", "test.svm", "--json")[0])
    out, _ = cli("evaluate", "a.mm", "test.svm")
    for name, words in {"average_precision": "average precision", "ndcg@3": "NDCG@3"}.items():
        (line,) = [line for line in out.splitlines() if words in line]
        assert line.split()[-2:] == [f"{found['means'][name]:.4f}", "10"]
    lines = out.splitlines()
    start = lines.index("Queries")
    heads = "query documents relevant AP AUC NDCG NDCG@10 P@10"
    assert lines[start + 2].split() == heads.split()
    names = ("average_precision", "auc", "ndcg", "ndcg@10", "precision@10")
    for line, query in zip(lines[start + 4 :], found["by_query"], strict=False):
        counts = [query[name] for name in ("qid", "n_documents", "n_relevant")]
        assert line.split() == [*map(str, counts), *(f"{query[name]:.4f}" for name in names)]
    assert max(map(len, lines)) <= 80


def test_tables_of_many_queries_are_cut_and_say_so(cli):
    train(cli)
    out, _ = cli("evaluate", "a.mm", "test.svm", "--queries", "4")
    assert "Queries, the first 4 of 10" in out
    assert out.splitlines()[-1].startswith("6 more: --queries 10 shows all, --json")
    assert len(out.splitlines()) == len(cli("evaluate", "a.mm", "test.svm")[0].splitlines()) - 5
    out, _ = cli("evaluate", "a.mm", "test.svm", "--queries", "0")
    assert "Queries" not in out and "NDCG@10" in out
    write_svmlight("many.svm", np.ones((60, 3)), np.arange(60) % 2, qid=np.arange(60) // 2)
    assert "Queries, the first 20 of 30" in cli("evaluate", "a.mm", "many.svm")[0]
    assert "Queries" not in train(cli, "--dev", "test.svm")[0]  # means alone


def test_queries_without_a_measure_are_left_out_and_shown(cli, folder):
    train(cli)
    (folder / "odd.svm").write_text(
        "1 qid:5 1:1\n0 qid:5 1:0\n0 qid:6 1:1\n0 qid:6 2:1\n1 qid:7 1:1\n2 qid:7 2:1\n"
    )
    found = json.loads(cli("evaluate", "a.mm", "odd.svm", "--json")[0])
    assert found["n_undefined"]["average_precision"] == 1 and found["n_undefined"]["auc"] == 2
    assert found["by_query"][1]["ndcg"] is None
    lines = [line.split() for line in cli("evaluate", "a.mm", "odd.svm")[0].splitlines()]
    assert ["6", "2", "0", "-", "-", "-", "-", "0.0000"] in lines
    (line,) = [line for line in lines if line[:1] == ["AUC"]]
    assert line[-1] == "1"
    higher = json.loads(cli("evaluate", "a.mm", "odd.svm", "--relevant", "2", "--json")[0])
    assert higher["n_relevant"] == 1 and higher["n_undefined"]["auc"] == 2


# -- files -----------------------------------------------------------------------------------------


def test_text_files_are_svmlight(cli):
    train(cli)
    expected = cli("predict", "a.mm", "test.svm")[0]
    for part in ("train", "test"):
        shutil.copy(f"{part}.svm", f"{part}.txt")
    with open("test.svm", "rb") as file, gzip.open("test.txt.gz", "wb") as out:
        out.write(file.read())
    train(cli, file="train.txt")
    assert cli("predict", "a.mm", "test.txt")[0] == expected
    assert cli("predict", "a.mm", "test.txt.gz")[0] == expected
    shutil.copy("train.svm", "train.dat")
    train(cli, "--format", "svmlight", file="train.dat")
    shutil.copy("test.svm", "test.dat")
    assert cli("predict", "a.mm", "test.dat")[0] == expected


def test_npz_files_hold_a_query_a_sequence(cli, drawn):
    train(cli, "--tol", "1e-6")
    svmlight = maxmargin.load("a.mm")
    train(cli, "--tol", "1e-6", "--dev", "test.npz", file="train.npz")
    model = maxmargin.load("a.mm")
    assert model.result_.primal == pytest.approx(svmlight.result_.primal, rel=1e-5)
    scores = [float(line) for line in cli("predict", "a.mm", "test.npz")[0].splitlines()]
    assert scores == pytest.approx(model.predict(drawn.X_test))
    of_npz, of_svm = (
        json.loads(cli("evaluate", "a.mm", f"test.{kind}", "--json")[0]) for kind in ("npz", "svm")
    )
    assert of_npz["means"] == pytest.approx(of_svm["means"])


def test_conversion_keeps_queries(cli, drawn):
    found = json.loads(cli("convert", "train.svm", "made.npz", "--json")[0])
    assert (found["queries"], found["documents"]) == (20, len(drawn.y_train))
    for made, straight in zip(read_npz("made.npz"), read_npz("train.npz"), strict=True):
        assert len(made) == len(straight) == 20
        for a, b in zip(made, straight, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
    cli("convert", "made.npz", "back.svm")
    for made, straight in zip(read_rankings("back.svm"), read_rankings("train.svm"), strict=True):
        made, straight = (getattr(each, "toarray", lambda x=each: x)() for each in (made, straight))
        np.testing.assert_allclose(made, straight, rtol=1e-14)
    cli("train", "ranking", "made.npz", "-m", "made.mm", "-q")
    by_query = json.loads(cli("evaluate", "made.mm", "made.npz", "--json")[0])["by_query"]
    qid = read_rankings("train.svm").qid
    assert [query["qid"] for query in by_query] == list(dict.fromkeys(qid.tolist()))
    assert "has no array qid" in cli("convert", "train.npz", "none.svm", code=2)[1]
    X, grades, qid = read_rankings("train.svm")
    write_svmlight("mixed.svm", X[::-1], grades, qid=np.arange(len(qid)) % 3)
    assert (
        "the documents of query 0 do not lie together"
        in cli("convert", "mixed.svm", "mixed.npz", code=2)[1]
    )


def test_rows_of_an_npz_file_are_one_query(cli, drawn):
    write_npz("one.npz", drawn.X_train, drawn.y_train)
    out, _ = train(cli, "--cost", "auc", "--json", file="one.npz")
    assert json.loads(out)["n_queries"] == 1
    assert maxmargin.load("a.mm").result_.solver == "one_slack"
    out, _ = cli("evaluate", "a.mm", "one.npz")
    assert [line.split()[0] for line in out.splitlines() if line.strip()][-1] == "all"
    assert len(cli("predict", "a.mm", "one.npz")[0].splitlines()) == len(drawn.X_train)


def test_indices_count_as_in_the_training_file(cli, folder):
    # Index 0 is written, but 0 everywhere: no matrix has it, and the numbers do count from 0.
    (folder / "zero.svm").write_text("1 qid:1 0:0 1:1\n0 qid:1 0:0 2:1\n")
    train(cli, file="zero.svm")
    assert maxmargin.load("a.mm").n_features_in_ == 3
    (folder / "next.svm").write_text("1 qid:1 1:1\n0 qid:1 2:1\n")
    high, low = map(float, cli("predict", "a.mm", "next.svm")[0].split())
    assert high > 0 > low
    (folder / "comment.svm").write_text("1 qid:1 1:1 # 0:1\n0 qid:10 2:1\n0 qid:1 2:1\n")
    train(cli, file="comment.svm")
    assert maxmargin.load("a.mm").n_features_in_ == 2


def test_missing_values_and_zeros_by_option(cli):
    train(cli, "--missing", "zero", "--zeros", "value")
    model = maxmargin.load("a.mm")
    assert (model.missing, model.zeros) == ("zero", "value")
    train(cli)
    model = maxmargin.load("a.mm")
    assert (model.missing, model.zeros) == ("indicator", "indicator")
    cli("train", "multiclass", "train.svm", "-m", "b.mm", "--missing", "mean", "-q")
    assert maxmargin.load("b.mm").missing == "mean"


def test_a_model_saved_by_a_script(cli):
    X, grades, qid = read_rankings("train.svm")
    script = RankingSVM(tol=0.01, random_state=0)
    with pytest.warns(UserWarning, match="1 of 20 queries"):
        script.fit(X, grades, qid=qid).save("script.mm")
    train(cli)
    for command in ("predict", "evaluate"):
        mine, theirs = (cli(command, m, "test.svm", "--json")[0] for m in ("a.mm", "script.mm"))
        assert mine.replace("a.mm", "script.mm") == theirs


# -- the run ---------------------------------------------------------------------------------------


def test_held_out_queries_patience_and_checkpoints(cli):
    options = ["--dev", "test.svm", "--solver", "sgd", "--patience", "2", "--max-iter", "60"]
    found = json.loads(train(cli, *options, "--json")[0])
    assert found["result"]["n_iter"] < 60 and found["dev"]["n_queries"] == 10
    options = ["--dev", "test.svm", "--tol", "1e-6", "--checkpoint", "run.ck"]
    train(cli, *options, "--max-iter", "3", "--checkpoint-every", "1")
    train(cli, *options, "--resume")
    resumed = maxmargin.load("a.mm").coef_
    train(cli, "--dev", "test.svm", "--tol", "1e-6")
    np.testing.assert_array_equal(resumed, maxmargin.load("a.mm").coef_)


def test_notes_and_progress(cli):
    _, err = cli("train", "ranking", "train.svm", "--dev", "test.svm")
    n = len(read_rankings("train.svm").qid)
    assert f"train.svm: {n} documents of 20 queries." in err
    assert "rel. gap" in err and re.search(r"  NDCG [01]\.\d{4}\n", err)
    assert "Features reach" not in err


def test_features_of_very_different_scales_are_noted(cli, drawn):
    X = drawn.X_train * [1.0, 1e6, 1.0]
    write_svmlight("wide.svm", X, drawn.y_train, qid=drawn.extra["qid_train"])
    arguments = ["train", "ranking", "wide.svm", "--max-iter", "2"]
    _, err = cli(*arguments, "--normalize", "none")
    assert f"to {np.abs(X).max():.3g} (x[1]): training may get nowhere. --normalize" in err
    assert "Features reach" not in cli(*arguments)[1]
    assert "Features reach" not in cli(*arguments, "--normalize", "none", "-q")[1]


def test_missing_values_are_said(cli, drawn):
    X = drawn.X_train.copy()
    X[[1, 4], 2] = np.nan
    starts = np.flatnonzero(np.diff(drawn.extra["qid_train"], prepend=-1))
    offsets = np.append(starts, len(X))
    np.savez("gaps.npz", X=X, y=drawn.y_train, offsets=offsets)
    out, _ = train(cli, file="gaps.npz")
    assert "2 values missing in 1 of 3 features (2)" in " ".join(out.split())
    assert "x[2] is missing" in cli("inspect", "a.mm")[0]


def test_inspect_info_and_warmup(cli):
    train(cli, "--cost", "ap", "--normalize", "minmax")
    coef = maxmargin.load("a.mm").coef_
    found = json.loads(cli("inspect", "a.mm", "--top", "2", "--json")[0])
    largest = sorted(range(3), key=lambda j: -abs(coef[j]))[:2]
    assert {row["feature"]: row["weight"] for row in found["weights"]} == {
        f"x[{j}]": coef[j] for j in largest
    }
    out, _ = cli("inspect", "a.mm")
    for words in ("RankingSVM", "minmax", "grade >= 1", "x[0] is index 1 of the file"):
        assert words in out
    assert "has no labels" in cli("inspect", "a.mm", "--label", "1", code=2)[1]
    available = json.loads(cli("info", "--json")[0])["available"]
    assert "ranking" in available["kinds"] and "ap" in available["costs of rankings"]
    cli("warmup", "--kind", "ranking", "-q")
    rows = json.loads(cli("warmup", "--kind", "ranking", "--json", "-q")[0])["compiled"]
    assert [(row["features"], row["compiled"]) for row in rows] == [
        ("dense float64", 0),
        ("sparse float64", 0),
    ]


# -- bad input -------------------------------------------------------------------------------------


def test_queries_of_one_grade_are_skipped_counted_and_warned_of_once(cli, folder):
    text = (folder / "train.svm").read_text()
    (folder / "more.svm").write_text(text + "0 qid:100 1:1\n0 qid:100 2:1\n2 qid:101 1:1\n")
    # Columns of steps are learnt from all rows, also from those of queries that teach nothing.
    train(cli, "--steps", "0")
    plain = maxmargin.load("a.mm")
    out, err = train(cli, "--json", "--steps", "0", file="more.svm")
    n_skipped = json.loads(out)["n_skipped_queries"]
    assert n_skipped == plain.n_skipped_ + 2
    assert err.count("Warning") == 1 and f"{n_skipped} of 22 queries teach nothing" in err
    np.testing.assert_array_equal(maxmargin.load("a.mm").coef_, plain.coef_)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 1:1\n0 2:1\n", "bad.svm, line 1: expected qid:number after the grade, got '1:1'."),
        ("1 qid:1 1:1\n0 2:1\n", "bad.svm, line 2: expected qid:number"),
        ("1 qid:x 1:1\n", "bad.svm, line 1: expected a whole number after qid:"),
        ("1 qid:1 1:1\n-1 qid:1 2:1\n", "bad.svm, line 2: the grade '-1' is below 0."),
        ("nan qid:1 1:1\n0 qid:1 2:1\n", "bad.svm, line 1: the label 'nan' is not a finite"),
        ("1 qid:1 1:na\n0 qid:1 2:1\n", "bad.svm, line 1: expected index:number, got '1:na'."),
        ("1 qid:1 1:inf\n0 qid:1 2:1\n", "bad.svm, line 1: the value of '1:inf' is not finite."),
        ("0 qid:1 1:1\n0 qid:1 2:1\n1 qid:2 1:1\n", "nothing to learn from 2 queries: each has"),
        ("", "bad.svm: holds no sample."),
    ],
)
def test_bad_files_end_with_the_sentence_of_python(cli, folder, text, said):
    (folder / "bad.svm").write_text(text)
    out, err = cli("train", "ranking", "bad.svm", "-m", "a.mm", "-q", code=2)
    assert said in err and out == "" and not (folder / "a.mm").exists()

    def script():
        X, grades, qid = read_rankings("bad.svm")
        RankingSVM(random_state=0).fit(X, grades, qid=qid)

    assert err == f"Error: {sentence(script)}\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"y": [1.0, -2.0, 0.0]}, "y[1] is -2; expected a grade"),
        ({"y": [1.0, np.nan, 0.0]}, "y[1] is nan; expected a grade"),
        ({"y": ["a", "b", "c"]}, "y must be grades, numbers >= 0"),
        ({"X": [[1.0], [np.inf], [0.0]]}, "contains infinity"),
    ],
)
def test_bad_arrays_end_with_the_sentence_of_python(cli, change, said):
    given = {"X": [[1.0], [2.0], [0.0]], "y": [1, 0, 0], **change}
    arrays = {name: np.array(values) for name, values in given.items()}
    np.savez("bad.npz", **arrays, offsets=np.array([0, 2, 3]))
    _, err = cli("train", "ranking", "bad.npz", "-q", code=2)
    assert said in err
    script = sentence(lambda: RankingSVM().fit(**arrays, qid=[0, 0, 1]))
    assert err == f"Error: {' '.join(script.splitlines())}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ranking", "train.svm", "--cost", "hamming"], "Hamming is no cost of rankings"),
        (["ranking", "train.svm", "--cost", "map", "--k", "3"], "cost='map' is not known"),
        (["ranking", "train.svm", "--cost", "map"], "'precision_at_k'. Say --cost ap."),
        (["ranking", "train.svm", "--cost", "ndcg@5"], "Say --cost ndcg_at_k --k 5."),
        (["ranking", "train.svm", "--cost", "ap", "--k", "3"], "--k is for the costs ndcg_at_k"),
        (["ranking", "train.svm", "--cost", "auc", "--gain", "linear"], "--gain is for the costs"),
        (["ranking", "train.svm", "--gain", "square"], "gain must be one of exponential, linear"),
        (["ranking", "train.svm", "--cost", "ndcg_at_k", "--k", "0"], "k must be at least 1"),
        (["ranking", "train.svm", "--relevant", "0"], "relevance_threshold must be a number > 0"),
        (["ranking", "train.svm", "--normalize", "l2"], "normalize_queries must be None or one of"),
        (["ranking", "train.svm", "--solver", "exponentiated_gradient"], "needs expectations"),
        (["ranking", "train.svm", "--labels", "3"], "--labels is for label sets"),
        (["ranking", "train.svm", "--template", "ner"], "--template is for CoNLL files"),
        (["ranking", "train.svm", "--format", "conll"], "is of format conll, which holds no"),
        (["ranking", "a.arff"], "a.arff is of format arff, which holds no queries"),
        (["ranking", "bare.npz"], "bare.npz has no labels."),
        (["multiclass", "train.svm", "--normalize", "minmax"], "--normalize is for rankings"),
        (["chain", "train.npz", "--relevant", "2"], "--relevant is for rankings (`train ranking`)"),
        (["multilabel", "train.svm", "--k", "2"], "--k is for rankings"),
    ],
)
def test_bad_options_are_refused(cli, arguments, said):
    write_npz("bare.npz", [np.ones((2, 1))])
    out, err = cli("train", *arguments, "-q", code=2)
    assert said in err and out == "" and "Traceback" not in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--k", "0"], "--k must be whole numbers of at least 1, parted by commas, got '0'."),
        (["--k", "1;5"], "parted by commas, got '1;5'."),
        (["--queries", "-1"], "--queries must be at least 0, got -1."),
        (["--relevant", "-1"], "relevant must be above 0, got -1.0."),
        (["--scheme", "iob2"], "--scheme is for sequences"),
    ],
)
def test_bad_options_of_evaluate(cli, options, said):
    train(cli)
    assert said in cli("evaluate", "a.mm", "test.svm", *options, code=2)[1]


def test_files_and_options_that_do_not_fit_the_model(cli, folder, drawn):
    train(cli)
    (folder / "wide.svm").write_text("0 qid:1 4:1\n")
    assert "the index of '4:1' is outside 1..3" in cli("predict", "a.mm", "wide.svm", code=2)[1]
    (folder / "bare.svm").write_text("0 1:1\n")
    assert "expected qid:number" in cli("evaluate", "a.mm", "bare.svm", code=2)[1]
    (folder / "a.conll").write_text("cat NN B-NP\n")
    assert "which holds no queries" in cli("predict", "a.mm", "a.conll", code=2)[1]
    cli("train", "multiclass", "train.svm", "-m", "classes.mm", "--tol", "0.5", "-q")
    err = cli("evaluate", "classes.mm", "test.svm", "--k", "3", code=2)[1]
    assert "--k is for rankings, but classes.mm does not rank." in err
