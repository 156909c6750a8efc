"""Hierarchies beside flat classes, local classifiers and HiClass, all tuned alike.

python benchmarks/hierarchy_accuracy.py                          # all sets, all rows
python benchmarks/hierarchy_accuracy.py --sets imclef07a,ng20    # some of them
python benchmarks/hierarchy_accuracy.py --show                   # the tables of what was measured

What was measured stands in results/hierarchy_SET.json, and is not measured again; --again measures
anew. Every row has the same grid of C, and the same held-out part chooses: by accuracy
where a sample has one path, by micro-F1 over nodes where it has several. There every row also has a
cut on its scores of nodes, chosen on the same part. The chosen model is trained on the whole
training part and sees the test part once. Differences are paired with those of LinearSVC, one
against the rest: their mean and its standard error over test samples. Seconds are CPU seconds of
the last fit, certificates included.

HiClass is asked in an environment of its own: HICLASS_PYTHON names its interpreter.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from maxmargin import Hierarchy, HierarchySVM
from maxmargin.datasets import (
    load_cellcycle,
    load_enzymes,
    load_imclef07,
    load_newsgroups,
)
from maxmargin.estimators.hierarchy import FlatSVM, LocalRidge, LocalSVM
from maxmargin.estimators.hierarchy.scores import NodeScores
from maxmargin.estimators.multilabel.thresholds import best_threshold

RESULTS = Path(__file__).resolve().parent / "results"
HELPER = Path(__file__).resolve().parent / "hierarchy_hiclass.py"
GRID = (0.01, 0.1, 1.0)
#: Certified relative gap of our rows.
TOL = 0.01
#: Cuts that are tried where scores of nodes are too dear to compute: sets of a DAG.
SHIFTS = (0.0, -0.1, -0.2, -0.3, -0.4, -0.5, -0.6, -0.7, -0.8)


@dataclass
class Case:
    """One data set, cut into training, held-out and test part."""

    name: str
    X: dict[str, Any]  # "fit", "held out", "test"
    y: dict[str, Any]
    hierarchy: Hierarchy
    has_one: bool

    def closed(self, part: str) -> sp.csr_matrix:
        return self.hierarchy.closures(self.y[part])[0]


# -- data sets -------------------------------------------------------------------------------------


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
        numbers = sorted(set(data.y_train) | set(data.y_test))
        X_train, X_test = _mers(data.X_train, data.X_test)
        tree = Hierarchy.from_paths(numbers, ".")
        return _split(name, X_train, data.y_train, X_test, data.y_test, tree)
    data = load_cellcycle(name.removeprefix("cellcycle_"), scale=True)
    dag = Hierarchy.from_edges(data.extra["edges"], data.classes)
    X = {"fit": data.X_train, "held out": data.X_dev, "test": data.X_test}
    X = {part: np.nan_to_num(rows) for part, rows in X.items()}  # scaled: 0 is the mean
    y = {"fit": data.y_train, "held out": data.y_dev, "test": data.y_test}
    return Case(name, X, y, dag, has_one=False)


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
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import normalize

    counter = CountVectorizer(analyzer="char", ngram_range=(1, 3), lowercase=False)
    parts = counter.fit_transform(train), counter.transform(test)
    return tuple(normalize(part.astype(np.float64).log1p()).tocsr() for part in parts)  # type: ignore[return-value]


SETS = ("imclef07a", "imclef07d", "ng20", "enzyme_ec", "cellcycle_fun", "cellcycle_go")


# -- rows ------------------------------------------------------------------------------------------

#: A fitted row: closed sets of rows by a cut, and the cuts that may be tried on held-out rows.
Predict = Callable[[Any, float], sp.csr_matrix]


@dataclass
class Fitted:
    """A trained row: what it predicts at a cut, and its scores of nodes, if they can be had."""

    predict: Predict
    scores: Callable[[Any], np.ndarray] | None
    gap: float = float("nan")


def ours(**params: Any) -> Callable[[Case, str, float], Fitted]:
    """Return a row of `HierarchySVM`."""

    def fit(case: Case, X: Any, y: Any, C: float) -> Fitted:
        model = HierarchySVM(
            hierarchy=case.hierarchy,
            space="leaf" if case.has_one else "closed",
            C=C,
            random_state=0,
            **{"tol": TOL if case.has_one else 0.02, **params},
        )
        model.fit(X, y)
        is_dear = not case.has_one and not case.hierarchy.is_forest

        def predict(rows: Any, cut: float) -> sp.csr_matrix:
            if is_dear:  # a node must score more than the cut: the nodes of one minimum cut
                scores = model._reader.node_scores(model.result_.w, rows)
                flags = NodeScores(scores - cut, model._reader.space).best()
                return model._reader.closed(flags)
            found = model.predict(rows) if case.has_one else model.predict(rows, threshold=cut)
            return case.hierarchy.closures(found)[0]

        return Fitted(predict, None if is_dear else model.node_scores, model.result_.relative_gap)

    return fit  # type: ignore[return-value]


def baseline(make: Any, **params: Any) -> Callable[..., Fitted]:
    """Return a row of a baseline."""

    def fit(case: Case, X: Any, y: Any, C: float) -> Fitted:
        space = "leaf" if case.has_one else "closed"
        more = dict(params)
        if make is LocalRidge and X.shape[1] > 3000:
            more["leverage"] = False
        model = make(hierarchy=case.hierarchy, space=space, C=C, **more).fit(X, y)

        def predict(rows: Any, cut: float) -> sp.csr_matrix:
            if case.has_one:
                return case.hierarchy.closures(model.predict(rows))[0]
            return sp.csr_matrix(model.node_scores(rows) > cut)

        return Fitted(predict, model.node_scores)

    return fit


def crammer_singer(case: Case, X: Any, y: Any, C: float) -> Fitted:
    """Return LinearSVC's own machine of several classes."""
    model = LinearSVC(C=C, multi_class="crammer_singer", random_state=0, tol=1e-3).fit(X, y)
    return Fitted(lambda rows, cut: case.hierarchy.closures(list(model.predict(rows)))[0], None)


def hiclass(kind: str) -> Callable[..., Fitted]:
    """Return HiClass' local classifiers, per node or per parent, in a process of its own."""

    def fit(case: Case, X: Any, y: Any, C: float) -> Fitted:
        def predict(rows: Any, cut: float) -> sp.csr_matrix:
            levels = [case.hierarchy.above(label) for label in y]
            found = _ask_hiclass(kind, C, X, levels, rows)
            fit.seconds = found["seconds"]  # type: ignore[attr-defined]
            return case.hierarchy.closures(found["labels"])[0]

        return Fitted(predict, None)

    return fit


def _ask_hiclass(kind: str, C: float, X: Any, levels: Any, rows: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        for name, part in (("X", X), ("rows", rows)):
            sp.save_npz(Path(folder) / f"{name}.npz", sp.csr_matrix(part))
        task = {"kind": kind, "C": C, "levels": levels, "dense": not sp.issparse(X)}
        (Path(folder) / "task.json").write_text(json.dumps(task))
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        python = os.environ["HICLASS_PYTHON"]
        subprocess.run([python, str(HELPER), folder], check=True, env=environment)
        return json.loads((Path(folder) / "answer.json").read_text())


ONE_PATH: dict[str, Any] = {
    "LinearSVC, one against the rest": baseline(FlatSVM, random_state=0),
    "LinearSVC, Crammer-Singer": crammer_singer,
    "HiClass per parent node": hiclass("parent"),
    "HiClass per node": hiclass("node"),
    "H-SVM": baseline(LocalSVM, random_state=0),
    "H-RLS": baseline(LocalRidge),
    "flat, 0-1": ours(alpha="flat", cost="zero_one"),
    "none, 0-1": ours(alpha="none", cost="zero_one"),
    "none, tree distance": ours(alpha="none", cost="tree_distance"),
    "rho 2, normalised": ours(alpha="rho"),
    "maxmin, normalised": ours(alpha="maxmin"),
    "maxmin, 0-1": ours(alpha="maxmin", cost="zero_one"),
}
SEVERAL: dict[str, Any] = {
    "LinearSVC, one against the rest": baseline(FlatSVM, random_state=0),
    "H-SVM": baseline(LocalSVM, random_state=0),
    "H-RLS": baseline(LocalRidge),
    "closed, none, node Hamming": ours(alpha="none"),
    "closed, maxmin, node Hamming": ours(alpha="maxmin"),
}
BASE = "LinearSVC, one against the rest"


# -- measuring -------------------------------------------------------------------------------------


def per_sample(truth: sp.csr_matrix, guess: sp.csr_matrix) -> dict[str, np.ndarray]:
    """Return what is averaged over samples, for each of them."""
    both = np.asarray(truth.multiply(guess).sum(axis=1), dtype=float).ravel()
    total = np.asarray(truth.sum(axis=1) + guess.sum(axis=1), dtype=float).ravel()
    f1 = np.where(total > 0, 2.0 * both / np.maximum(total, 1.0), 1.0)
    return {"exact": (total == 2 * both).astype(float), "distance": total - 2 * both, "F1": f1}


def micro_f1(truth: sp.csr_matrix, guess: sp.csr_matrix) -> float:
    both = float(truth.multiply(guess).sum())
    return 2.0 * both / float(truth.sum() + guess.sum())


def choose_cut(case: Case, row: Fitted) -> tuple[float, float]:
    """Return the score on the held-out part, and the cut that it is reached with."""
    truth = case.closed("held out")
    rows = case.X["held out"]
    if case.has_one:
        return float(per_sample(truth, row.predict(rows, 0.0))["exact"].mean()), 0.0
    if row.scores is None:
        tried = [(micro_f1(truth, row.predict(rows, cut)), cut) for cut in SHIFTS]
        return max(tried)
    scores = row.scores(rows)
    finite = np.clip(scores, -1e9, 1e9)
    cut = best_threshold(finite.ravel(), truth.toarray().ravel())
    return micro_f1(truth, sp.csr_matrix(scores > cut)), float(cut)


def measure(case: Case, fit: Any) -> dict[str, Any]:
    """Choose C and the cut on the held-out part, train on all, and look at the test part once."""
    tried = {}
    for C in GRID:
        row = fit(case, case.X["fit"], case.y["fit"], C)
        tried[C] = choose_cut(case, row)
    C = max(tried, key=lambda c: tried[c][0])
    X = _both(case.X["fit"], case.X["held out"])
    y = list(case.y["fit"]) + list(case.y["held out"])
    started = time.process_time()
    row = fit(case, X, y, C)
    seconds = time.process_time() - started
    truth = case.closed("test")
    guess = row.predict(case.X["test"], tried[C][1])
    seconds = getattr(fit, "seconds", seconds)
    found = per_sample(truth, guess)
    return {
        "C": C,
        "cut": tried[C][1],
        "held out": tried[C][0],
        "exact": float(found["exact"].mean()),
        "distance": float(found["distance"].mean()),
        "F1": float(found["F1"].mean()),
        "micro_f1": micro_f1(truth, guess),
        "seconds": seconds,
        "gap": row.gap,
        "samples": {name: np.round(values, 4).tolist() for name, values in found.items()},
    }


def _both(first: Any, second: Any) -> Any:
    return sp.vstack([first, second]).tocsr() if sp.issparse(first) else np.vstack([first, second])


def differences(base: dict[str, Any], row: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Return paired differences from the base, and their standard errors; forget the samples."""
    found = {}
    for name, values in row.pop("samples").items():
        gap = np.array(values) - np.array(base["samples"][name])
        found[name] = (float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap))))
    return found


def tables(results: dict[str, Any]) -> Iterator[str]:
    """Yield one table per set, in Markdown."""
    for name, rows in results.items():
        if not rows:
            continue
        yield f"\n### {name}\n"
        heads = ["row", "C", "exact", "distance", "sample F1", "node micro-F1", "seconds"]
        yield "| " + " | ".join([*heads, "exact; distance, less OvR"]) + " |"
        yield "|---|---|---|---|---|---|---|---|"
        for label, row in rows.items():
            change = ""
            if "less" in row:
                (mean, error), (further, its_error) = row["less"]["exact"], row["less"]["distance"]
                change = f"{mean:+.3f} ({error:.3f}); {further:+.3f} ({its_error:.3f})"
            yield (
                f"| {label} | {row['C']:g} | {row['exact']:.3f} | {row['distance']:.3f} | "
                f"{row['F1']:.3f} | {row['micro_f1']:.3f} | {row['seconds']:.1f} | {change} |"
            )


def _file(name: str) -> Path:
    return RESULTS / f"hierarchy_{name}.json"


def _known(name: str) -> dict[str, Any]:
    return json.loads(_file(name).read_text()) if _file(name).exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS), help="with commas between")
    parser.add_argument("--rows", default=None, help="parts of the names of rows")
    parser.add_argument("--again", action="store_true", help="measure what was measured before")
    parser.add_argument("--show", action="store_true", help="print the tables and measure nothing")
    options = parser.parse_args()
    results = {name: _known(name) for name in SETS}
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in [] if options.show else options.sets.split(","):
        case = load(name)
        for label, fit in (ONE_PATH if case.has_one else SEVERAL).items():
            wanted = options.rows is None or any(p in label for p in options.rows.split(","))
            is_known = label in results[name] and not options.again
            is_foreign = label.startswith("HiClass") and "HICLASS_PYTHON" not in os.environ
            if not wanted or is_known or is_foreign:
                continue
            row = measure(case, fit)
            if label != BASE:
                row["less"] = differences(_known(name)[BASE], row)
            results[name] = {**_known(name), label: row}
            _file(name).write_text(json.dumps(results[name]))
            print(f"{name}: {label}: exact {row['exact']:.3f}, C {row['C']:g}", flush=True)
    print("\n".join(tables(results)))


if __name__ == "__main__":
    main()
