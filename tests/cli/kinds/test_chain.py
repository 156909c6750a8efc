"""The command line with tag files as people made them: named scheme, named faults, one score."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin.cli.main import run
from maxmargin.io import read_conll, spans_to_tags, tags_to_spans, write_conll
from maxmargin.metrics import chunk_f1

WORDS = {"PER": ["Anna", "Jan", "Smit"], "LOC": ["Oslo", "Rome"], "": ["in", "went", "saw", "the"]}


def drawn_file(path, scheme, seed, n=30, broken=()):
    """Write sentences whose words tell their tags, and return the lines of the broken ones."""
    rng = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(n):
        kinds = [str(rng.choice(["PER", "LOC", "", ""])) for _ in range(rng.integers(3, 7))]
        sentences.append([(str(rng.choice(WORDS[kind])),) for kind in kinds])
        spans = [(t, t + 1, kind) for t, kind in enumerate(kinds) if kind]
        tags.append(spans_to_tags(spans, len(kinds), scheme))
    places = [
        (i, t)
        for i, sentence in enumerate(tags)
        for t in range(1, len(sentence))
        if sentence[t - 1] == "O" and sentence[t] == "I-PER"
    ]
    for i, t in (places[k] for k in broken):
        tags[i][t] = "B-PER"
    write_conll(path, sentences, tags)
    data = read_conll(path)
    return [data.first_lines[i] + t for i, t in (places[k] for k in broken)]


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """IOB1 files, two of whose training tags are B after O."""
    monkeypatch.chdir(tmp_path)
    drawn_file("dev.conll", "iob1", 1)
    return drawn_file("train.conll", "iob1", 0, broken=(1, 4))


@pytest.fixture
def cli(capsys):
    def call(*arguments):
        capsys.readouterr()
        assert run(list(arguments)) == 0
        return capsys.readouterr()

    return call


TRAIN = ["train", "chain", "train.conll", "--model", "a.mm", "--tol", "0.05"]


def test_a_file_with_two_broken_tags_is_learnt_and_they_are_named(cli, lines):
    found = cli(*TRAIN, "--scheme", "iob1", "--dev", "dev.conll")
    places = ", ".join(f"line {line}" for line in lines)
    assert f"train.conll: 2 of {read_conll('train.conll').n_tokens} tags break iob1" in found.err
    assert f"'B-PER' may not follow 'O' in iob1 ({places})" in found.err
    assert "widened, for training and for prediction: 'B-PER' after 'O' (2 times)" in found.err
    assert "--strict refuses such labels" in found.err and "Constraints(" not in found.err
    assert "30 sequences, tags in iob1." in found.err
    assert "dev.conll: " not in found.err
    assert re.search(r"tag scheme +iob1\n", found.out)
    assert maxmargin.load("a.mm").widened_ == [("O", "B-PER", 2)]


def test_the_progress_line_and_the_table_show_one_measure(cli, lines):
    found = cli(*TRAIN, "--dev", "dev.conll", "--patience", "5")
    model = maxmargin.load("a.mm")
    dev = read_conll("dev.conll")
    shown = [float(score) for score in re.findall(r"  chunk F1 ([\d.]+)", found.err)]
    out = json.loads(cli("evaluate", "a.mm", "dev.conll", "--json").out)
    assert model.result_.validation_measure == "chunk_f1"
    assert max(shown) == pytest.approx(out["chunks"]["f1"], abs=1e-4)
    assert f"chunk F1 on dev.conll   {max(shown):.4f}" in found.out
    assert f"{100 * max(shown):.2f}%" in found.out
    scores = [record.validation_score for record in model.result_.history]
    assert max(scores) == pytest.approx(out["chunks"]["f1"])
    assert out["n_off_scheme"]["true"] == 0
    guess = json.loads(cli("predict", "a.mm", "dev.conll", "--json").out)["predictions"]
    assert chunk_f1(dev.tags, guess) == out["chunks"]["f1"]


def test_scoring_and_labels_without_a_scheme(cli, lines):
    arguments = ["--dev", "dev.conll", "--json", "-q"]
    found = json.loads(cli(*TRAIN, *arguments, "--scoring", "token_accuracy").out)
    assert found["dev"]["measure"] == found["result"]["validation_measure"] == "token_accuracy"
    assert found["dev"]["score"] == found["dev"]["token_accuracy"]
    for name in ("train", "dev"):
        data = read_conll(f"{name}.conll")
        tags = [[f"T{tag}" for tag in sentence] for sentence in data.tags]
        write_conll(f"{name}.txt", data.sentences, tags)
    found = json.loads(cli("train", "chain", "train.txt", "--dev", "dev.txt", "--json", "-q").out)
    assert found["dev"]["measure"] == "token_accuracy" and "chunks" not in found["dev"]
    assert found["dev"]["score"] == found["dev"]["token_accuracy"]
    assert run([*TRAIN, "--scoring", "bleu", "--dev", "dev.conll"]) == 2


def test_a_test_file_of_another_scheme_is_told_of(cli, lines):
    cli(*TRAIN, "-q")
    cli("convert", "dev.conll", "dev2.conll", "--to", "iob2")
    found = cli("evaluate", "a.mm", "dev2.conll")
    assert "tags break iob1" in found.err and "The tags rather follow iob2." in found.err
    assert "true tags off it" in found.out
    same = json.loads(cli("evaluate", "a.mm", "dev2.conll", "--json").out)
    assert (
        same["chunks"] == json.loads(cli("evaluate", "a.mm", "dev.conll", "--json").out)["chunks"]
    )


def test_convert_is_lenient_and_reports(cli, lines):
    found = cli("convert", "train.conll", "out.conll", "--to", "bioes", "--json")
    assert f"line {lines[0]}, line {lines[1]}" in found.err
    values = json.loads(found.out)
    assert values["from"] == "iob1" and values["tags_off"] == 2
    before, after = read_conll("train.conll").tags, read_conll("out.conll").tags
    assert [tags_to_spans(tags) for tags in before] == [
        tags_to_spans(tags, "bioes", strict=True) for tags in after
    ]
    assert run(["convert", "train.conll", "no.conll", "--to", "bioes", "--strict"]) == 2


def test_a_label_that_is_no_tag_counts_as_outside(cli, lines):
    text = Path("dev.conll").read_text().replace(" O\n", " o\n", 1)
    Path("typo.conll").write_text(text)
    cli(*TRAIN, "-q")
    found = cli("evaluate", "a.mm", "typo.conll", "--json")
    line = text.split("\n").index(next(x for x in text.split("\n") if x.endswith(" o"))) + 1
    assert f"'o' is not a tag: expected 'O', or one of B, I, E, S with '-type' (line {line})" in (
        found.err
    )
    clean = json.loads(cli("evaluate", "a.mm", "dev.conll", "--json").out)
    assert json.loads(found.out)["chunks"] == clean["chunks"]


# -- gazetteers ------------------------------------------------------------------------------------


def test_a_model_keeps_its_gazetteers(cli, lines, capsys):
    Path("cities.txt").write_text("Oslo\nROME\n")
    cli(*TRAIN, "--template", "bias", "--gazetteers", "city=cities.txt", "--fold-case")
    names = maxmargin.load("a.mm").features_.names
    assert {"city[0]=B", "city[0]=O", "city[-1]=B", "city[1]=B"} <= set(names)
    Path("cities.txt").unlink()
    cli("predict", "a.mm", "dev.conll", "--output", "out.conll")
    data = read_conll("out.conll")
    for sentence, guess in zip(data.sentences, data.tags, strict=True):
        cities = [row[0] in WORDS["LOC"] for row in sentence]
        assert [tag.endswith("LOC") for tag in guess] == cities
    assert re.search(r"gazetteers +city", cli("inspect", "a.mm").out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gazetteers", "cities.txt"], "must be names and files such as 'city=cities.txt', got"),
        (["--gazetteers", "a=c.txt,a=c.txt"], "has two lists called 'a'"),
        (["--gazetteers", "a=none.txt"], "no such file: none.txt"),
        (["--gazetteers", "w=c.txt"], "a gazetteer cannot be called 'w'"),
        (["--fold-case"], "--fold-case is for phrases of --gazetteers, of which there are none"),
    ],
)
def test_bad_gazetteers_are_refused(options, message, lines, capsys):
    Path("c.txt").write_text("Oslo\n")
    assert run([*TRAIN, *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_micro_f1_is_a_surrogate_of_sequences(cli, lines):
    cli(*TRAIN, "--surrogate", "micro_f1", "--dev", "dev.conll")
    model = maxmargin.load("a.mm")
    assert model.surrogate == "micro_f1" and model.result_.is_certified
