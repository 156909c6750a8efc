"""Several places in a hierarchy: closed sets beside one machine per node, all tuned alike.

python benchmarks/hierarchy_sets.py --select                  # choose all settings
python benchmarks/hierarchy_sets.py --select cellcycle_fun    # of one data set

Features are scaled and have a constant column besides (`hierarchy_cases.widened`), the same for all
rows. The held-out part chooses, of every row's grid, for each of three questions a setting of its
own: "micro": micro-F1 over nodes with a cut, a threshold on the scores of nodes that is chosen on
the same part; "uncut": micro-F1 of what is predicted without a cut; "exact": the share of sets that
are right to the last node, with a cut. What was tried stands in
results/hierarchy_sets_selection.json, and is not tried again. The chosen models are trained on
training and held-out part together and see the test part once. Differences are paired with those
of LinearSVC per node, for micro-F1 by the influence of each sample.

LinearSVC per node has class weights in its grid, and closed sets have `missed_weight`: the same
ones. "The same set for all" has the frequency of a node for its score. The last row of a data set
takes, for each question, the row of closed sets that was best on the held-out part. HiClass 5.0.8
has no estimator for several paths; `LocalSVM` ("H-SVM") is what it does for one.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import Check, Line
from hierarchy_cases import Case, difference, in_errors, load, micro_f1, per_sample
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from maxmargin import HierarchySVM
from maxmargin.estimators.hierarchy import FlatSVM, LocalRidge, LocalSVM
from maxmargin.estimators.hierarchy.scores import NodeScores
from maxmargin.estimators.multilabel.thresholds import best_threshold

SELECTION = Path(__file__).resolve().parent / "results" / "hierarchy_sets_selection.json"
QUESTIONS = ("micro", "uncut", "exact")
MEASURES = ("micro_f1", "F1", "exact", "distance")
#: Cuts that are tried where a cut on scores of nodes takes a minimum cut per sample: a DAG.
SHIFTS = (-0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0)
#: Certified relative gap of our rows.
TOL = 0.02
N_CUTS = 40

Setting = dict[str, float]


class Fitted(NamedTuple):
    """A trained row: scores of nodes, or sets at a cut where those are dear; seconds and gap."""

    scores: Callable[[Any], np.ndarray] | None
    sets: Callable[[Any, float], sp.csr_matrix]
    seconds: float
    gap: float = float("nan")


class Row(NamedTuple):
    """How a row is trained with a setting, and the settings there are."""

    fit: Callable[[Case, Any, Any, Setting], Fitted]
    grid: Sequence[Setting]


def by_scores(scores: Callable[[Any], np.ndarray], seconds: float, gap: float) -> Fitted:
    return Fitted(scores, lambda rows, cut: sp.csr_matrix(scores(rows) > cut), seconds, gap)


def same_for_all(case: Case, X: Any, y: Any, setting: Setting) -> Fitted:
    """Predict the same set for all: nodes that are frequent."""
    share = np.asarray(case.hierarchy.closures(y)[0].mean(axis=0)).ravel()
    return by_scores(lambda rows: np.tile(2.0 * share - 1.0, (len(rows), 1)), 0.0, float("nan"))


class WeightedFlat(FlatSVM):
    """LinearSVC per node, in which true nodes have a class weight."""

    positive = 1.0

    def _machine(self) -> LinearSVC:
        classes = {True: self.positive, False: 1.0}
        return LinearSVC(C=self.C, random_state=0, dual="auto", class_weight=classes)


def machine(make: Any) -> Callable[[Case, Any, Any, Setting], Fitted]:
    """Return a row of an estimator that scores single nodes."""

    def fit(case: Case, X: Any, y: Any, setting: Setting) -> Fitted:
        model = make(hierarchy=case.hierarchy, space="closed", C=setting["C"])
        if "positive" in setting:
            model.positive = setting["positive"]
        started = time.process_time()
        model.fit(X, y)
        return by_scores(model.node_scores, time.process_time() - started, float("nan"))

    return fit


def closed(**params: Any) -> Callable[[Case, Any, Any, Setting], Fitted]:
    """Return a row of `HierarchySVM`."""

    def fit(case: Case, X: Any, y: Any, setting: Setting) -> Fitted:
        model = HierarchySVM(
            hierarchy=case.hierarchy, space="closed", random_state=0,
            **{"tol": TOL, "max_iter": 100, **params, **setting},
        )  # fmt: skip
        clone(model).set_params(max_iter=1).fit(X[:50], y[:50])  # compiles
        started = time.process_time()
        model.fit(X, y)
        seconds, gap = time.process_time() - started, model.result_.relative_gap
        if case.hierarchy.is_forest:
            return by_scores(model.node_scores, seconds, gap)

        def sets(rows: Any, cut: float) -> sp.csr_matrix:
            """Return the best closed set when each node has to score more than the cut."""
            scores = model._reader.node_scores(model.result_.w, rows)
            return model._reader.closed(NodeScores(scores - cut, model._reader.space).best())

        return Fitted(None, sets, seconds, gap)

    return fit


def grid(Cs: Sequence[float], **others: Sequence[float]) -> list[Setting]:
    found: list[Setting] = [{"C": C} for C in Cs]
    for name, values in others.items():
        found = [{**setting, name: value} for setting in found for value in values]
    return found


BASE = "LinearSVC per node"
OURS = "closed, none, missed nodes weighted"
#: Of all rows of closed sets, for each question the one that was best on the held-out part.
BEST = "closed, the best row on the held-out part"
MARGIN, SLACK = "closed, none, margin", "closed, none, slack"
#: The same for LinearSVC, whose true nodes have a class weight, and for closed sets with
#: `missed_weight`; a weight of 1 is none. Rows without weights have the same C, and larger ones,
#: since the best without a cut are there; a price of slack rescaling counts the wrong nodes.
C_FUN, WEIGHTS_FUN = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2), (1.0, 4.0, 5.0, 6.0)
C_GO, WEIGHTS_GO = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2), (1.0, 2.5, 3.0, 4.0)
ROWS: dict[str, dict[str, Row]] = {
    "cellcycle_fun": {
        BASE: Row(machine(WeightedFlat), grid(C_FUN, positive=WEIGHTS_FUN)),
        "the same set for all": Row(same_for_all, [{}]),
        "H-SVM": Row(machine(LocalSVM), grid((*C_FUN, 0.1, 1.0))),
        "H-RLS": Row(machine(LocalRidge), grid((*C_FUN, 0.1, 1.0))),
        MARGIN: Row(closed(alpha="none"), grid((*C_FUN, 0.1, 1.0, 3.0))),
        "closed, maxmin, margin": Row(closed(alpha="maxmin"), grid((*C_FUN, 0.1, 1.0, 3.0))),
        SLACK: Row(
            closed(alpha="none", surrogate="slack", max_iter=200),
            grid((1e-5, 1e-4, 1e-3, 3e-3)),
        ),
        "closed, none, micro_f1": Row(
            closed(alpha="none", surrogate="micro_f1"), grid((0.01, 0.1, 1.0))
        ),
        OURS: Row(closed(alpha="none"), grid(C_FUN, missed_weight=WEIGHTS_FUN)),
        "closed, maxmin, missed nodes weighted": Row(
            closed(alpha="maxmin"), grid(C_FUN, missed_weight=WEIGHTS_FUN)
        ),
    },
    "cellcycle_go": {
        BASE: Row(machine(WeightedFlat), grid(C_GO, positive=WEIGHTS_GO)),
        "the same set for all": Row(same_for_all, [{}]),
        "H-SVM": Row(machine(LocalSVM), grid(C_GO)),
        "H-RLS": Row(machine(LocalRidge), grid(C_GO)),
        MARGIN: Row(closed(alpha="none"), grid(C_GO)),
        OURS: Row(closed(alpha="none"), grid(C_GO, missed_weight=WEIGHTS_GO)),
    },
}


# -- choosing --------------------------------------------------------------------------------------


def judge(case: Case, row: Fitted) -> dict[str, tuple[float, float]]:
    """Return for each question the best score on the held-out part, and its cut."""
    truth, rows = case.closed("held out"), case.X["held out"]
    if row.scores is None:
        sets = {cut: row.sets(rows, cut) for cut in SHIFTS}
        micro = {cut: micro_f1(truth, guess) for cut, guess in sets.items()}
    else:
        scores = row.scores(rows)
        flags = truth.toarray().ravel()
        best = best_threshold(np.clip(scores, -1e9, 1e9).ravel(), flags)
        ranked = np.sort(scores[np.isfinite(scores)])[::-1]
        n_true = max(1, int(flags.sum()))
        places = np.unique(np.geomspace(1, min(len(ranked), 4 * n_true), N_CUTS).astype(int)) - 1
        cuts = {float(ranked[place]) for place in places} | {0.0, best}
        sets = {cut: sp.csr_matrix(scores > cut) for cut in cuts}
        micro = {cut: micro_f1(truth, guess) for cut, guess in sets.items()}
    exact = {cut: float(per_sample(truth, guess)["exact"].mean()) for cut, guess in sets.items()}
    top, most = max(micro, key=lambda c: micro[c]), max(exact, key=lambda c: (exact[c], -abs(c)))
    return {"micro": (micro[top], top), "uncut": (micro[0.0], 0.0), "exact": (exact[most], most)}


def tried(case: Case, label: str) -> list[dict[str, Any]]:
    """Return what every setting of a row reached on the held-out part."""
    known = json.loads(SELECTION.read_text()) if SELECTION.exists() else {}
    mine = known.setdefault(case.name, {}).setdefault(label, [])
    fit, settings = ROWS[case.name][label]
    for setting in settings:
        if any(one["setting"] == setting for one in mine):
            continue
        row = fit(case, case.X["fit"], case.y["fit"], setting)
        found = {"setting": setting, **judge(case, row), "seconds": row.seconds, "gap": row.gap}
        mine.append(found)
        SELECTION.write_text(json.dumps(known, indent=1) + "\n")
        brief = ", ".join(f"{name} {found[name][0]:.4f}" for name in QUESTIONS)
        print(f"{case.name}: {label}: {setting}: {brief}, {row.seconds:.1f} s", flush=True)
    return [one for one in mine if one["setting"] in settings]


# -- the test part ---------------------------------------------------------------------------------


def measured(case: Case, label: str) -> dict[str, Any]:
    """Train the settings chosen for each question, and look at the test part."""
    runs = tried(case, label)
    X, y = case.all_but_test()
    truth, rows = case.closed("test"), case.X["test"]
    fitted: list[tuple[Setting, Fitted]] = []
    found: dict[str, Any] = {}
    for question in QUESTIONS:
        best = max(runs, key=lambda one: one[question][0])
        setting, (held_out, cut) = best["setting"], best[question]
        row = next((row for own, row in fitted if own == setting), None)
        if row is None:
            row = ROWS[case.name][label].fit(case, X, y, setting)
            fitted.append((setting, row))
        guess = row.sets(rows, cut)
        found[question] = {
            "setting": setting,
            "cut": cut,
            "held out": held_out,
            "seconds": row.seconds,
            "gap": row.gap,
            "samples": per_sample(truth, guess),
        }
    return found


def lines() -> Iterator[Line]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in ROWS:
        case = load(name)
        known: dict[str, Any] = {}
        for label in ROWS[name]:
            known[label] = measured(case, label)
            yield as_line(name, label, known)
        known[BEST] = best_of_closed(known)
        yield as_line(name, BEST, known)
        if SLACK in known:
            yield slack_line(name, known)


def best_of_closed(known: dict[str, Any]) -> dict[str, Any]:
    """Return for each question the row of closed sets that the held-out part prefers."""
    rows = [row for label, row in known.items() if label.startswith("closed")]
    return {
        question: max((row[question] for row in rows), key=lambda one: one["held out"])
        for question in QUESTIONS
    }


def as_line(data: str, label: str, known: dict[str, Any]) -> Line:
    """Return a row beside LinearSVC per node."""
    facts: dict[str, Any] = {"data": data, "row": label}
    for question in QUESTIONS:
        mine, base = known[label][question], known[BASE][question]
        facts[question] = {key: value for key, value in mine.items() if key != "samples"}
        for measure in MEASURES:
            own, other = mine["samples"][measure], base["samples"][measure]
            facts[question][measure] = float(own.mean())
            facts[question][f"{measure} less"] = difference(own, other)
    micro, uncut, exact = (facts[question] for question in QUESTIONS)
    checks = []
    if label == BEST:
        checks = [
            Check("micro-F1 gained, in standard errors", _rise(micro, "micro_f1"), ">=", 2.0),
            Check("exact sets gained, in standard errors", _rise(exact, "exact"), ">=", 2.0),
        ]
    return Line(
        f"{data}, {label}: node micro-F1 beside LinearSVC per node",
        micro["micro_f1"],
        float(known[BASE]["micro"]["samples"]["micro_f1"].mean()),
        unit="",
        checks=checks,
        note=f"{_signed(micro, 'micro_f1')}, F1 of samples {micro['F1']:.4f}, wrong nodes "
        f"{micro['distance']:.2f} ({micro['setting']}, cut {micro['cut']:.3f}); without a cut "
        f"micro-F1 {uncut['micro_f1']:.4f}, {_signed(uncut, 'micro_f1')}; exact sets "
        f"{exact['exact']:.4f}, {_signed(exact, 'exact')} ({exact['setting']}); "
        f"{micro['seconds']:.1f} CPU s, gap {micro['gap']:.3f}",
        facts=facts,
    )


def slack_line(data: str, known: dict[str, Any]) -> Line:
    """Return slack beside margin rescaling, without cuts, as Table 4.3 of Choi 2018 has them."""
    slack, margin = (known[label]["uncut"]["samples"] for label in (SLACK, MARGIN))
    less = {measure: difference(slack[measure], margin[measure]) for measure in MEASURES}
    ahead = in_errors(*less["micro_f1"])
    return Line(
        f"{data}, closed sets without a cut: node micro-F1 of slack beside margin rescaling",
        float(slack["micro_f1"].mean()),
        float(margin["micro_f1"].mean()),
        unit="",
        checks=[Check("micro-F1 gained, in standard errors", ahead, ">=", 2.0)],
        note="; ".join(
            f"{measure} {slack[measure].mean():.4f} and {margin[measure].mean():.4f} "
            f"({mean:+.4f}, standard error {error:.4f})"
            for measure, (mean, error) in less.items()
        )
        + "; "
        + " and ".join(
            f"C = {known[label]['uncut']['setting']['C']:g}, gap {known[label]['uncut']['gap']:.3f}"
            for label in (SLACK, MARGIN)
        )
        + "; the source, on 750 Wikipedia pages of LSHTC, has micro-F1 .392 and .339",
        facts={"data": data, "less": less},
    )


def _rise(facts: dict[str, Any], measure: str) -> float:
    return in_errors(*facts[f"{measure} less"])


def _signed(facts: dict[str, Any], measure: str) -> str:
    mean, error = facts[f"{measure} less"]
    return f"{mean:+.4f} (standard error {error:.4f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--select", nargs="?", const=",".join(ROWS), required=True, metavar="SETS")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in parser.parse_args().select.split(","):
        case = load(name)
        for label in ROWS[name]:
            tried(case, label)


if __name__ == "__main__":
    main()
