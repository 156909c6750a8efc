"""Which surrogate for label sets: every one that is convex, on all our data sets.

python benchmarks/run.py --only label_surrogates    # measure
python benchmarks/label_surrogates.py               # print the tables of what was measured

C goes by tens of 1 / mean |x|^2, from the middle of each surrogate's grid outwards while the end of
the grid has the best micro-F1, then by half a ten around the best. It is chosen by three-fold
cross-validation within the training part, for each score its own. Bibtex and Delicious are trained
for a few passes only, have one fold and no half tens; of Delicious 2000 rows are trained on. No
setting is chosen by the test part. "With a cut" is margin rescaling with one threshold on
`decision_function`, tuned for micro-F1 on the rows held out. What cross-validation found stands in
results/label_surrogates_selection.json, and is not computed again.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import Line, cpu_seconds
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from maxmargin import MultilabelSVM
from maxmargin.datasets import load_mulan
from maxmargin.estimators.multilabel.thresholds import best_threshold

RESULTS = Path(__file__).resolve().parent / "results"
SELECTION = RESULTS / "label_surrogates_selection.json"

#: Options of MultilabelSVM, and the middle of the grid: the power of ten of C * mean |x|^2.
RIVALS: dict[str, tuple[dict[str, Any], int]] = {
    "margin": ({"surrogate": "margin"}, 0),
    "slack": ({"surrogate": "slack"}, -1),
    "beta": ({"surrogate": "beta"}, 0),
    "log": ({"surrogate": "log"}, 0),
    "micro_f1": ({"surrogate": "micro_f1"}, 1),
    "margin, cost f1": ({"surrogate": "margin", "cost": "f1"}, 1),
}
CUT = "margin with a cut"
MEASURES = ("micro_f1", "example_f1", "hamming_loss", "subset_accuracy")
PAIRS = {"none": "no pairs", "tree": "a tree of pairs", "full": "all pairs"}


class Plan(NamedTuple):
    """How a data set is gone about."""

    pairs: tuple[str, ...]
    preparation: type
    n_folds: int
    tol: float
    max_iter: int
    is_fine: bool  # half tens around the best
    most_rows: int | None = None
    left_out: tuple[str, ...] = ()


SMALL = Plan(("none", "tree", "full"), StandardScaler, 3, 0.01, 200, True)
LARGE = Plan(("none",), Normalizer, 1, 0.05, 20, False)
PLANS = {
    "emotions": SMALL,
    "scene": SMALL,
    "yeast": SMALL._replace(pairs=("none", "full"), max_iter=60),
    "bibtex": LARGE,
    # Some of its true sets are empty, which the cost f1 refuses.
    "delicious": LARGE._replace(max_iter=8, most_rows=2000, left_out=("margin, cost f1",)),
}


def lines() -> Iterator[Line]:
    warnings.simplefilter("ignore")
    for name, plan in PLANS.items():
        for pairwise in plan.pairs:
            base: dict[str, Any] = {}
            for rival in RIVALS:
                # With pairs on a forest the cost f1 has no oracle but the list of all label sets.
                if rival in plan.left_out or (rival == "margin, cost f1" and pairwise != "none"):
                    continue
                for row in judge(name, plan, pairwise, rival):
                    base = base or row
                    yield as_line(row, base)


# -- choosing C ------------------------------------------------------------------------------------


def load(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    data = load_mulan(name)
    dense = (Y.toarray() if hasattr(Y, "toarray") else Y for Y in (data.y_train, data.y_test))
    truth, test = dense
    rows = np.sort(np.random.default_rng(0).permutation(len(truth))[: PLANS[name].most_rows])
    return data.X_train[rows], truth[rows], data.X_test, test


def machine(plan: Plan, pairwise: str, rival: str, C: float) -> Pipeline:
    model = MultilabelSVM(
        C=C, pairwise=pairwise, tol=plan.tol, max_iter=plan.max_iter, random_state=0,
        **RIVALS[rival][0],
    )  # fmt: skip
    return make_pipeline(plan.preparation(), model)


def unit(plan: Plan, X: Any) -> float:
    """Return 1 / mean |x|^2 of the features as they are trained on: C goes by multiples of it."""
    rows = plan.preparation().fit_transform(X)
    squares = rows.multiply(rows) if hasattr(rows, "multiply") else rows * rows
    return float(rows.shape[0] / squares.sum())


def folds(n: int, n_held_out: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    order = np.random.default_rng(0).permutation(n)
    for part in np.array_split(order, 3)[:n_held_out]:
        yield np.setdiff1d(order, part), np.sort(part)


def cross_validate(name: str, plan: Plan, pairwise: str, rival: str, C: float) -> dict[str, Any]:
    X, Y, _, _ = load(name)
    found, scores, truth = [], [], []
    for train, held_out in folds(len(Y), plan.n_folds):
        model = machine(plan, pairwise, rival, C).fit(X[train], Y[train])
        found.append(model.predict(X[held_out]))
        truth.append(Y[held_out])
        if rival == "margin":
            scores.append(model.decision_function(X[held_out]))
    all_truth = np.vstack(truth)
    tried = {"C": C, "scores": means(all_truth, np.vstack(found))}
    if scores:
        values = np.vstack(scores)
        tried["cut"] = best_threshold(values.ravel(), all_truth.ravel())
        tried["scores with a cut"] = means(all_truth, values > tried["cut"])
    return tried


def tried_settings(name: str, plan: Plan, pairwise: str, rival: str) -> list[dict[str, Any]]:
    """Return what cross-validation found at every C of the grid."""
    known = json.loads(SELECTION.read_text()) if SELECTION.exists() else {}
    key = f"{name}, {PAIRS[pairwise]}, {rival}"
    mine = known.setdefault(key, {})
    scale = unit(plan, load(name)[0])

    def score(power: float) -> float:
        if f"{power:g}" not in mine:
            mine[f"{power:g}"] = cross_validate(name, plan, pairwise, rival, scale * 10.0**power)
            SELECTION.write_text(json.dumps(known, indent=1) + "\n")
        return mine[f"{power:g}"]["scores"]["micro_f1"]

    powers = [float(RIVALS[rival][1] + step) for step in ((-1, 0, 1) if plan.is_fine else (0, 1))]
    for _ in range(2 if plan.is_fine else 1):
        best = max(powers, key=score)
        if best not in (powers[0], powers[-1]):
            break
        powers = [powers[0] - 1.0, *powers] if best == powers[0] else [*powers, powers[-1] + 1.0]
    best = max(powers, key=score)
    if plan.is_fine:
        for power in (best - 0.5, best + 0.5):
            score(power)
    return list(mine.values())


# -- the test part ---------------------------------------------------------------------------------


def values(truth: np.ndarray, found: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return of each measure what it is a ratio of, above and below, sample by sample."""
    on = truth == 1
    hits = (on & (found == 1)).sum(axis=1)
    both = on.sum(axis=1) + (found == 1).sum(axis=1)
    wrong = (on != (found == 1)).sum(axis=1)
    ones = np.ones(len(truth))
    return {
        "micro_f1": (2.0 * hits, both.astype(float)),
        # The empty set is right where the true set is empty.
        "example_f1": (np.where(both > 0, 2.0 * hits / np.maximum(both, 1), 1.0), ones),
        "hamming_loss": (wrong / truth.shape[1], ones),
        "subset_accuracy": ((wrong == 0).astype(float), ones),
    }


def means(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    pairs = values(truth, found)
    return {name: float(above.sum() / below.sum()) for name, (above, below) in pairs.items()}


def influence(truth: np.ndarray, found: np.ndarray, measure: str) -> np.ndarray:
    """Return what each sample adds to a score: the delta method, for paired standard errors."""
    above, below = values(truth, found)[measure]
    return (above - above.sum() / below.sum() * below) / below.mean()


def judge(name: str, plan: Plan, pairwise: str, rival: str) -> Iterator[dict[str, Any]]:
    """Train with the C of each measure, and look at the test part; also with a cut."""
    tried = tried_settings(name, plan, pairwise, rival)
    X, Y, X_test, truth = load(name)
    machine(plan, pairwise, rival, 1.0).set_params(multilabelsvm__max_iter=1).fit(X[:50], Y[:50])
    fitted: dict[float, tuple[Pipeline, float]] = {}
    for kind in ("scores", "scores with a cut") if rival == "margin" else ("scores",):
        row: dict[str, Any] = {"data": name, "pairs": pairwise, "scores": {}, "C": {}, "added": {}}
        row["rival"] = rival if kind == "scores" else CUT
        for measure in MEASURES:
            sign = -1.0 if measure == "hamming_loss" else 1.0
            best = max(tried, key=lambda one: sign * one[kind][measure])
            C = best["C"]
            if C not in fitted:
                model = machine(plan, pairwise, rival, C)
                fitted[C] = model, cpu_seconds(lambda: model.fit(X, Y))[0]  # noqa: B023
            model, seconds = fitted[C]
            if kind == "scores":
                found = model.predict(X_test)
            else:
                found = (model.decision_function(X_test) > best["cut"]).astype(int)
            row["scores"][measure] = means(truth, found)[measure]
            row["added"][measure] = influence(truth, found, measure)
            row["C"][measure] = C
            if measure == "micro_f1":
                result = model[-1].result_
                row |= {"seconds": seconds, "passes": result.n_iter, "gap": result.relative_gap}
                row |= {"status": result.status, "calls": result.n_oracle_calls}
        yield row


def as_line(row: dict[str, Any], base: dict[str, Any]) -> Line:
    """Return a row as a line beside margin rescaling, with paired standard errors."""
    differences, errors = {}, {}
    for measure in MEASURES:
        spread = row["added"][measure] - base["added"][measure]
        differences[measure] = row["scores"][measure] - base["scores"][measure]
        errors[measure] = float(spread.std(ddof=1) / math.sqrt(len(spread)))
    facts = {key: value for key, value in row.items() if key != "added"}
    facts |= {"differences": differences, "errors": errors}
    return Line(
        f"{row['data']}, {PAIRS[row['pairs']]}, {row['rival']}: micro-F1 beside margin",
        row["scores"]["micro_f1"],
        base["scores"]["micro_f1"],
        unit="",
        note=", ".join(
            f"{measure} {row['scores'][measure]:.4f} ({differences[measure]:+.4f} +- "
            f"{errors[measure]:.4f}, C {row['C'][measure]:.3g})"
            for measure in MEASURES
        )
        + f"; {row['seconds']:.1f} CPU s, {row['passes']} passes, gap {row['gap']:.2%}, "
        f"{row['status']}",
        facts=facts,
    )


# -- the tables ------------------------------------------------------------------------------------


def table(report: dict[str, Any], name: str) -> str:
    """Return what was measured of one data set as a table in Markdown.

    A score beyond two paired standard errors of margin rescaling is marked, + better or - worse.
    """
    out = ["| surrogate | micro-F1 | example-F1 | Hamming | whole sets | CPU s |"]
    out += ["|---|---:|---:|---:|---:|---:|"]
    for line in report["lines"]:
        facts = line["facts"]
        if facts.get("data") != name:
            continue
        cells = []
        for measure in MEASURES:
            sign = -1.0 if measure == "hamming_loss" else 1.0
            rise, error = sign * facts["differences"][measure], facts["errors"][measure]
            mark = " +" if rise > 2.0 * error else " -" if rise < -2.0 * error else ""
            cells.append(f"{facts['scores'][measure]:.{3 if sign > 0 else 4}f}{mark}")
        title = f"{facts['rival']}, {PAIRS[facts['pairs']]}"
        out.append(f"| {title} | {' | '.join(cells)} | {facts['seconds']:.2f} |")
    return "\n".join(out)


def main() -> None:
    report = json.loads((RESULTS / "label_surrogates.json").read_text())
    for name in PLANS:
        print(f"\n{name}\n\n{table(report, name)}")


if __name__ == "__main__":
    main()
