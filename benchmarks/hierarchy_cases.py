"""Data sets with a hierarchy, cut into parts, and what is measured of predictions; for the topics.

`Case` has the parts "fit", "held out" and "test". Settings are chosen on "held out"; the chosen
model is trained on the first two, and sees "test" once.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from maxmargin import Hierarchy
from maxmargin.datasets import (
    load_cellcycle,
    load_enzymes,
    load_imclef07,
    load_newsgroups,
)

HELPER = Path(__file__).resolve().parent / "hierarchy_hiclass.py"
#: So many of the 7200 proteins are trained on: LinearSVC takes minutes for all of them.
N_ENZYMES = 1500
#: What the constant column of `widened` holds: intercepts then cost a hundredth in the norm.
CONSTANT = 10.0


@dataclass
class Case:
    """One data set, cut into training, held-out and test part."""

    name: str
    X: dict[str, Any]  # "fit", "held out", "test"
    y: dict[str, Any]
    hierarchy: Hierarchy
    has_one: bool

    def closed(self, part: str) -> sp.csr_matrix:
        """Return the true nodes of a part, with all above them."""
        return self.hierarchy.closures(self.y[part])[0]

    def all_but_test(self) -> tuple[Any, list[Any]]:
        """Return rows and labels of the training and held-out part together."""
        first, second = self.X["fit"], self.X["held out"]
        is_sparse = sp.issparse(first)
        X = sp.vstack([first, second]).tocsr() if is_sparse else np.vstack([first, second])
        return X, list(self.y["fit"]) + list(self.y["held out"])


def load(name: str) -> Case:
    """Return a data set; a fifth of its training part is held out, or its own held-out part."""
    if name.startswith("imclef07"):
        data = load_imclef07(name[-1], scale=True)
        tree = Hierarchy.from_edges(data.extra["edges"], data.classes)
        return _split(name, data.X_train, data.y_train, data.X_test, data.y_test, tree)
    if name == "ng20":
        data = load_newsgroups()
        tree = Hierarchy.from_paths(data.classes, ".")
        return _split(name, data.X_train, data.y_train, data.X_test, data.y_test, tree)
    if name == "enzyme_ec":
        data = load_enzymes()
        few = np.random.default_rng(0).permutation(len(data.X_train))[:N_ENZYMES].tolist()
        y_train = [data.y_train[i] for i in few]
        X_train, X_test = _mers([data.X_train[i] for i in few], data.X_test)
        tree = Hierarchy.from_paths(sorted({*y_train, *data.y_test}), ".")
        return _split(name, X_train, y_train, X_test, data.y_test, tree)
    data = load_cellcycle(name.removeprefix("cellcycle_"), scale=True)
    dag = Hierarchy.from_edges(data.extra["edges"], data.classes)
    X = {"fit": data.X_train, "held out": data.X_dev, "test": data.X_test}
    y = {"fit": data.y_train, "held out": data.y_dev, "test": data.y_test}
    return Case(name, {part: widened(rows) for part, rows in X.items()}, y, dag, has_one=False)


def widened(rows: np.ndarray) -> np.ndarray:
    """Return scaled rows with a constant column; 0, the mean, where a value is missing."""
    return np.hstack([np.nan_to_num(rows), np.full((len(rows), 1), CONSTANT)])


def _split(name: str, X: Any, y: Any, X_test: Any, y_test: Any, tree: Hierarchy) -> Case:
    order = np.random.default_rng(0).permutation(X.shape[0])
    n_held = X.shape[0] // 5
    held, fit = order[:n_held], order[n_held:]
    y = list(y)
    return Case(
        name,
        {"fit": X[fit], "held out": X[held], "test": X_test},
        {"fit": [y[i] for i in fit], "held out": [y[i] for i in held], "test": list(y_test)},
        tree,
        has_one=True,
    )


def _mers(train: list[str], test: list[str]) -> tuple[Any, Any]:
    """Return log counts of 1- to 3-mers, rows of length 1."""
    counter = CountVectorizer(analyzer="char", ngram_range=(1, 3), lowercase=False)
    parts = counter.fit_transform(train), counter.transform(test)
    return tuple(normalize(part.astype(np.float64).log1p()).tocsr() for part in parts)  # type: ignore[return-value]


# -- what is measured ------------------------------------------------------------------------------


def per_sample(truth: sp.csr_matrix, guess: sp.csr_matrix) -> dict[str, np.ndarray]:
    """Return what each sample adds to the measures, so that differences can be paired.

    "micro_f1" is a ratio of sums: of it the influence of each sample is returned (delta method),
    whose mean is the score.
    """
    both = np.asarray(truth.multiply(guess).sum(axis=1), dtype=float).ravel()
    total = np.asarray(truth.sum(axis=1) + guess.sum(axis=1), dtype=float).ravel()
    f1 = np.where(total > 0, 2.0 * both / np.maximum(total, 1.0), 1.0)
    pooled = micro_f1(truth, guess)
    return {
        "exact": (total == 2 * both).astype(float),
        "distance": total - 2 * both,
        "F1": f1,
        "micro_f1": pooled + (2.0 * both - pooled * total) / max(total.mean(), 1e-12),
    }


def micro_f1(truth: sp.csr_matrix, guess: sp.csr_matrix) -> float:
    """Return F1 over all nodes of all samples."""
    total = float(truth.sum() + guess.sum())
    return 2.0 * float(truth.multiply(guess).sum()) / total if total else 1.0


def difference(ours: np.ndarray, base: np.ndarray) -> tuple[float, float]:
    """Return the mean of paired differences, and its standard error."""
    gap = ours - base
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))


def in_errors(mean: float, error: float) -> float:
    """Return a difference in standard errors."""
    return mean / error if error > 0.0 else 0.0


# -- HiClass ---------------------------------------------------------------------------------------


def ask_hiclass(kind: str, C: float, X: Any, levels: Any, rows: Any) -> dict[str, Any]:
    """Return labels and CPU seconds of HiClass, by the interpreter that HICLASS_PYTHON names."""
    with tempfile.TemporaryDirectory() as folder:
        for name, part in (("X", X), ("rows", rows)):
            sp.save_npz(Path(folder) / f"{name}.npz", sp.csr_matrix(part))
        task = {"kind": kind, "C": C, "levels": levels, "dense": not sp.issparse(X)}
        (Path(folder) / "task.json").write_text(json.dumps(task))
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        python = os.environ["HICLASS_PYTHON"]
        subprocess.run([python, str(HELPER), folder], check=True, env=environment)
        return json.loads((Path(folder) / "answer.json").read_text())
