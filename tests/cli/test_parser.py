"""``maxmargin train parser``, predict and evaluate, on a small file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import maxmargin
from maxmargin.cli.main import run
from maxmargin.io import read_conllu

ROWS = {"the": ("DET", "det"), "dog": ("NOUN", "nsubj"), "barks": ("VERB", "root")}
TREES = {"the dog barks": [2, 3, 0], "dog barks": [2, 0], "the dog": [2, 0]}


def text():
    lines = []
    for sentence, heads in TREES.items():
        lines.append(f"# text = {sentence}")
        for k, (word, head) in enumerate(zip(sentence.split(), heads, strict=True), start=1):
            tag, relation = ROWS[word]
            lines.append(
                "\t".join([str(k), word, word, tag, "_", "_", str(head), relation, "_", "_"])
            )
        lines.append("")
    return "\n".join(lines) + "\n"


def maxmargin_(*arguments):
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": str(Path(maxmargin.__path__[0]).parent),
    }
    command = [sys.executable, "-m", "maxmargin", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_train_predict_evaluate(tmp_path):
    train, model, out = (tmp_path / name for name in ("a.conllu", "m.mm", "out.conllu"))
    train.write_text(text())
    done = maxmargin_("train", "parser", train, "--model", model, "--max-iter", "20")
    assert done.returncode == 0, done.stderr
    assert maxmargin.load(model).result_.solver == "mira"
    done = maxmargin_("predict", model, train, "--output", out)
    assert done.returncode == 0, done.stderr
    assert [sentence.heads for sentence in read_conllu(out)] == list(TREES.values())
    assert out.read_text() == text()
    done = maxmargin_("evaluate", model, train, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["las"] == 1.0
    train.write_text(text().replace("\tdet\t", "\t"))
    done = maxmargin_("evaluate", model, train)
    assert done.returncode == 2
    assert "line 2: expected 10 columns" in done.stderr.replace("\n", " ")


def test_options_that_are_not_given_are_left_to_the_estimator(monkeypatch, tmp_path):
    """`train` without --solver is the learner of the page: ten passes of MIRA."""
    asked = {}

    def fit(estimator, batch, held_out, **options):
        asked.update(estimator.get_params())
        raise ValueError("enough")

    monkeypatch.setattr("maxmargin.cli.commands.train._fit", fit)
    file = tmp_path / "a.conllu"
    file.write_text(text())
    assert run(["train", "parser", str(file), "-q"]) == 2
    own = maxmargin.ParserSVM(random_state=0).get_params()
    assert asked == own and (asked["solver"], asked["max_iter"]) == ("mira", 10)
    run(["train", "parser", str(file), "-q", "--solver", "bcfw", "--many-roots", "--outside",
         "repair", "--no-punctuation", "--hashing", "64"])  # fmt: skip
    given = {"solver": "bcfw", "one_root": False, "outside": "repair", "punctuation": False}
    assert asked == own | given | {"n_hashed_features": 64}
