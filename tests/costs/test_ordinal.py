"""The ordinal cost: one file and one line of the registry, and classes and sequences have it."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin
from maxmargin import ChainSVM, MulticlassSVM, MultilabelSVM, RankingSVM
from maxmargin.cli.main import run
from maxmargin.costs import Ordinal
from maxmargin.io import write_npz

GRADES = np.array(["low", "middle", "high"])


def examples(n=60):
    """Grades along a line, seen with noise: mistakes are there, and some are off by two."""
    rng = np.random.default_rng(0)
    where = rng.integers(3, size=n)
    X = (where - 1.0)[:, None] + rng.normal(size=(n, 2))
    return X, GRADES[where]


def test_classes(tmp_path):
    X, y = examples()
    model = MulticlassSVM(cost=Ordinal(GRADES, power=2), tol=1e-4, random_state=0).fit(X, y)
    assert model.result_.status == "converged"
    ranks = np.array([GRADES.tolist().index(label) for label in model.classes_])
    found, truth = (
        ranks[np.searchsorted(model.classes_, labels)] for labels in (model.predict(X), y)
    )
    largest = np.maximum(truth, 2 - truth) ** 2
    assert model.score(X, y) == pytest.approx(1 - np.mean((found - truth) ** 2 / largest))
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert again.cost == Ordinal(GRADES, power=2)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_order_of_the_classes_is_the_default():
    X, y = examples()
    options = {"tol": 1e-3, "random_state": 0, "classes": GRADES.tolist()}
    by_name = MulticlassSVM(cost="ordinal", **options).fit(X, y)
    by_order = MulticlassSVM(cost=Ordinal(GRADES), **options).fit(X, y)
    np.testing.assert_array_equal(by_name.result_.w, by_order.result_.w)


def test_sequences():
    X, y = examples()
    words, labels = np.split(X, [2, 9, 20]), np.split(y, [2, 9, 20])
    model = ChainSVM(cost=Ordinal(GRADES), tol=1e-2, random_state=0)
    model.fit(words, labels)
    assert model.result_.status == "converged"
    assert 0.5 < model.score(words, labels) < 1.0


def test_label_sets_and_rankings_have_no_order():
    X, y = examples(6)
    with pytest.raises(ValueError, match=r"Ordinal is no cost of label sets.*: hamming, zero_one"):
        MultilabelSVM(cost="ordinal").fit(X, [[label] for label in y])
    with pytest.raises(ValueError, match=r"Ordinal is no cost of rankings.*Costs that fit: ap, "):
        RankingSVM(cost=Ordinal()).fit(X, np.arange(6) % 2)


def test_the_command_line(tmp_path, capsys):
    X, y = examples()
    write_npz(tmp_path / "train.npz", X, np.searchsorted(np.sort(GRADES), y))
    model = tmp_path / "model.mm"
    data = str(tmp_path / "train.npz")
    assert run(["train", "multiclass", data, "--model", str(model), "--cost", "ordinal", "-q"]) == 0
    assert maxmargin.load(model).cost == "ordinal"
    assert run(["train", "ranking", data, "--model", str(model), "--cost", "ordinal", "-q"]) == 2
    assert "Ordinal is no cost of rankings" in capsys.readouterr().err
