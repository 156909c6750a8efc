"""One place in a hierarchy: beside flat classes, local classifiers and HiClass, all tuned alike.

python benchmarks/hierarchy_accuracy.py --select               # choose C for all rows
python benchmarks/hierarchy_accuracy.py --select enzyme_ec     # for those of one data set

Every row has the same grid of C, and the same held-out fifth of the training part chooses, by
accuracy; where the best is at an end of the grid, C goes on beyond it, for every row alike. What
was chosen stands in results/hierarchy_accuracy_selection.json, and is not chosen again. The chosen
model is trained on the whole training part and sees the test part once.
Differences are paired with those of LinearSVC, one against the rest: their mean and its standard
error over test samples. Seconds are CPU seconds of the last fit, certificates included.

HiClass is asked in an environment of its own: HICLASS_PYTHON names its interpreter. Without it,
its rows are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import Check, Line
from hierarchy_cases import (
    Case,
    ask_hiclass,
    difference,
    in_errors,
    load,
    micro_f1,
    per_sample,
)
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from maxmargin import HierarchySVM
from maxmargin.estimators.hierarchy import FlatSVM, LocalRidge, LocalSVM

SELECTION = Path(__file__).resolve().parent / "results" / "hierarchy_accuracy_selection.json"
SETS = ("ng20", "imclef07d", "imclef07a", "enzyme_ec")
GRIDS = dict.fromkeys(SETS, (0.01, 0.1, 1.0)) | {"enzyme_ec": (0.1, 1.0, 10.0, 100.0)}
#: How far beyond an end of its grid C may go.
MOST_BEYOND = 100.0
#: Certified relative gap of our rows.
TOL = 0.01


@dataclass
class Fitted:
    """A trained row: the nodes it predicts, how long it took, and what is certified."""

    predict: Callable[[Any], sp.csr_matrix]
    seconds: float
    gap: float = float("nan")


Fit = Callable[[Case, Any, Any, float], Fitted]


def timed(make: Callable[[Case, float], Any]) -> Fit:
    """Return a row of an estimator."""

    def fit(case: Case, X: Any, y: Any, C: float) -> Fitted:
        model = make(case, C)
        if isinstance(model, HierarchySVM):  # compiles
            clone(model).set_params(max_iter=1).fit(X[:200], y[:200])
        started = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - started
        gap = model.result_.relative_gap if hasattr(model, "result_") else float("nan")
        return Fitted(
            lambda rows: case.hierarchy.closures(list(model.predict(rows)))[0], seconds, gap
        )

    return fit


def ours(**params: Any) -> Fit:
    return timed(
        lambda case, C: HierarchySVM(
            hierarchy=case.hierarchy, space="leaf", C=C, random_state=0, tol=TOL, **params
        )
    )


def baseline(make: Any, **params: Any) -> Fit:
    def model(case: Case, C: float) -> Any:
        more = dict(params)
        if make is LocalRidge and case.X["fit"].shape[1] > 3000:
            more["leverage"] = False
        return make(hierarchy=case.hierarchy, space="leaf", C=C, **more)

    return timed(model)


def hiclass(kind: str) -> Fit:
    """Return HiClass' local classifiers, per node or per parent, in a process of its own."""

    def fit(case: Case, X: Any, y: Any, C: float) -> Fitted:
        levels = [case.hierarchy.above(label) for label in y]
        fitted = Fitted(lambda rows: sp.csr_matrix((0, 0)), float("nan"))

        def predict(rows: Any) -> sp.csr_matrix:
            found = ask_hiclass(kind, C, X, levels, rows)
            fitted.seconds = found["seconds"]
            return case.hierarchy.closures(found["labels"])[0]

        fitted.predict = predict
        return fitted

    return fit


BASE = "LinearSVC, one against the rest"
LOCAL = "HiClass per parent node"
OURS = "maxmin, normalised"  # the default
ROWS: dict[str, Fit] = {
    BASE: baseline(FlatSVM, random_state=0),
    "LinearSVC, Crammer-Singer": timed(
        lambda case, C: LinearSVC(C=C, multi_class="crammer_singer", random_state=0, tol=1e-3)
    ),
    LOCAL: hiclass("parent"),
    "HiClass per node": hiclass("node"),
    "H-SVM": baseline(LocalSVM, random_state=0),
    "H-RLS": baseline(LocalRidge),
    "flat, 0-1": ours(alpha="flat", cost="zero_one"),
    "none, 0-1": ours(alpha="none", cost="zero_one"),
    "none, tree distance": ours(alpha="none", cost="tree_distance"),
    "rho 2, normalised": ours(alpha="rho", cost="normalized_hierarchical"),
    OURS: ours(alpha="maxmin", cost="normalized_hierarchical"),
    "maxmin, 0-1": ours(alpha="maxmin", cost="zero_one"),
}
#: Rows of ours that take long on enzymes, and say little that the other rows do not.
LEFT_OUT = {"enzyme_ec": ("none, 0-1", "none, tree distance", "rho 2, normalised", "maxmin, 0-1")}


def rows_of(name: str) -> dict[str, Fit]:
    """Return the rows of a data set, those of HiClass where it is there."""
    return {
        label: fit
        for label, fit in ROWS.items()
        if label not in LEFT_OUT.get(name, ())
        and not (label.startswith("HiClass") and "HICLASS_PYTHON" not in os.environ)
    }


def chosen(case: Case, label: str) -> dict[str, float]:
    """Return C of a row, the best on the held-out part, and its accuracy there."""
    known = json.loads(SELECTION.read_text()) if SELECTION.exists() else {}
    mine, grid = known.setdefault(case.name, {}), GRIDS[case.name]
    if label not in mine:
        tried = {C: held_out(case, label, C) for C in grid}
        best = max(tried, key=lambda C: tried[C])
        mine[label] = {"C": best, "held out": tried[best]}
    one = mine[label]
    low, high = one.get("tried", (grid[0], grid[-1]))
    while (at_low := one["C"] == low > grid[0] / MOST_BEYOND) or (
        one["C"] == high < grid[-1] * MOST_BEYOND
    ):
        C = low / 10.0 if at_low else high * 10.0
        score = held_out(case, label, C)
        low, high = min(low, C), max(high, C)
        one["tried"] = [low, high]
        if score > one["held out"]:
            one |= {"C": C, "held out": score}
    SELECTION.write_text(json.dumps(known, indent=1) + "\n")
    return {"C": one["C"], "held out": one["held out"]}


def held_out(case: Case, label: str, C: float) -> float:
    """Return the accuracy of a row on the held-out part."""
    row = ROWS[label](case, case.X["fit"], case.y["fit"], C)
    guess = row.predict(case.X["held out"])
    score = float(per_sample(case.closed("held out"), guess)["exact"].mean())
    print(f"{case.name}: {label}: C {C:g}: {score:.4f}", flush=True)
    return score


def lines() -> Iterator[Line]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in SETS:
        case = load(name)
        X, y = case.all_but_test()
        truth = case.closed("test")
        samples: dict[str, dict[str, np.ndarray]] = {}
        for label, fit in rows_of(name).items():
            setting = chosen(case, label)
            row = fit(case, X, y, setting["C"])
            guess = row.predict(case.X["test"])
            samples[label] = per_sample(truth, guess)
            facts = {"data": name, "row": label, "seconds": row.seconds, "gap": row.gap, **setting}
            facts["node micro-F1"] = micro_f1(truth, guess)
            yield as_line(facts, samples)


def as_line(facts: dict[str, Any], samples: dict[str, dict[str, np.ndarray]]) -> Line:
    """Return a row beside LinearSVC, one against the rest."""
    label = facts["row"]
    mine, base = samples[label], samples[BASE]
    facts |= {key: float(mine[key].mean()) for key in ("exact", "distance", "F1")}
    facts["less"] = {key: difference(mine[key], base[key]) for key in ("exact", "distance", "F1")}
    checks = []
    if label == OURS and LOCAL in samples:
        facts["less local"] = difference(mine["exact"], samples[LOCAL]["exact"])
        ahead = in_errors(*facts["less local"])
        checks = [Check("ahead of HiClass per parent, in standard errors", ahead, ">=", 2.0)]
    (gain, error), (further, its_error) = facts["less"]["exact"], facts["less"]["distance"]
    return Line(
        f"{facts['data']}, {label}: accuracy beside LinearSVC, one against the rest",
        facts["exact"],
        float(base["exact"].mean()),
        unit="",
        checks=checks,
        note=f"{gain:+.4f} (standard error {error:.4f}), tree distance {facts['distance']:.3f} "
        f"({further:+.3f}, {its_error:.3f}), F1 of samples {facts['F1']:.4f}, C {facts['C']:g}, "
        f"{facts['seconds']:.1f} CPU s",
        facts=facts,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--select", nargs="?", const=",".join(SETS), required=True, metavar="SETS")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in parser.parse_args().select.split(","):
        case = load(name)
        for label in rows_of(name):
            print(f"{name}: {label}: {chosen(case, label)}", flush=True)


if __name__ == "__main__":
    main()
