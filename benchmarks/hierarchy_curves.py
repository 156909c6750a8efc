"""Figure 6-3 of Choi 2018 with learning curves: which norm, on the two drawn hierarchies.

python benchmarks/run.py --only hierarchy_curves     # measure, and draw
python benchmarks/hierarchy_curves.py                # draw what was measured, anew

The caterpillar (depth 10, 11 leaves) and the balanced tree (8 leaves) of chapter 6, 150 features.
For each number of training examples and each seed, C is chosen on 2000 held-out examples, of the
same grid for all rows, and accuracy is that of 5000 test examples; differences are paired over
seeds. Fits end at a certified gap of 5%, or after `PASSES`; notes say which did. The shared norm
learns alpha; its cost is the normalised one at the weights of "rho", as that of NHSVM.
"""

from __future__ import annotations

import json
import statistics
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import Check, Line, cpu_seconds
from hierarchy_cases import difference

from maxmargin import HierarchySVM
from maxmargin.datasets import make_balanced_tree, make_caterpillar

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "hierarchy_curves.json"
PICTURE = ROOT / "docs" / "images" / "hierarchy_curves.png"
#: Generator, and the grid of C: rows have length 1, and length 12.
SETS: dict[str, Any] = {
    "caterpillar": (make_caterpillar, (1.0, 10.0, 100.0)),
    "balanced": (make_balanced_tree, (0.001, 0.01, 0.1)),
}
SIZES = (150, 500, 1500)
SEEDS = (1, 2, 3)
TOL, PASSES = 0.05, 30
FLAT, NORMALISED, SHARED = "flat, 0-1", "NHSVM, rho 2", "shared norm"
ROWS: dict[str, dict[str, Any]] = {
    FLAT: {"alpha": "flat", "cost": "zero_one"},
    "HSVM, tree distance": {"alpha": "none", "cost": "tree_distance"},
    NORMALISED: {"alpha": "rho", "cost": "normalized_hierarchical"},
    SHARED: {"alpha": "shared", "cost": "normalized_hierarchical"},
}


def lines() -> Iterator[Line]:
    warnings.simplefilter("ignore")
    for name, (make, Cs) in SETS.items():
        for size in SIZES:
            known: dict[str, list[dict[str, float]]] = {}
            drawn = [make(size, 5000, n_dev=2000, seed=seed) for seed in SEEDS]
            for label in ROWS:
                known[label] = [chosen(data, label, Cs) for data in drawn]
                yield as_line(name, size, label, known)
    if RESULTS.exists():
        draw()


def chosen(data: Any, label: str, Cs: tuple[float, ...]) -> dict[str, float]:
    """Return the test accuracy at the C that is best on held-out examples."""
    tried = []
    for C in Cs:
        model = HierarchySVM(C=C, tol=TOL, max_iter=PASSES, random_state=0, **ROWS[label])
        seconds, _ = cpu_seconds(lambda: model.fit(data.X_train, data.y_train))  # noqa: B023
        tried.append((model.score(data.X_dev, data.y_dev), -C, seconds, model))
    _, C, seconds, model = max(tried, key=lambda one: one[:2])
    return {
        "C": -C,
        "accuracy": model.score(data.X_test, data.y_test),
        "gap": model.result_.relative_gap,
        "seconds": seconds,
    }


def as_line(name: str, size: int, label: str, known: dict[str, list[dict[str, float]]]) -> Line:
    """Return a row beside flat classes."""
    mine, flat, normalised = (
        np.array([run["accuracy"] for run in known.get(row, known[label])])
        for row in (label, FLAT, NORMALISED)
    )
    gain, error = difference(mine, flat)
    checks = []
    if name == "caterpillar" and label == NORMALISED:
        hsvm = np.array([run["accuracy"] for run in known["HSVM, tree distance"]])
        checks.append(Check("least gain over flat and HSVM", float(
            min((mine - flat).min(), (mine - hsvm).min())), ">", 0.0))  # fmt: skip
    if name == "caterpillar" and label == SHARED:
        beside = difference(mine, normalised)[0]
        checks.append(Check("gain over NHSVM", beside, ">", 0.0))
    runs = known[label]
    return Line(
        f"{name}, {size} examples, {label}: accuracy beside flat classes",
        float(mine.mean()),
        float(flat.mean()),
        unit="",
        checks=checks,
        note=f"{gain:+.4f} (standard error over seeds {error:.4f}); by seed "
        f"{', '.join(f'{value:.3f}' for value in mine)}; C "
        f"{', '.join(format(run['C'], 'g') for run in runs)}; largest gap "
        f"{max(run['gap'] for run in runs):.3f}; {statistics.mean(r['seconds'] for r in runs):.2f} "
        "CPU s",
        facts={"data": name, "size": size, "row": label, "runs": runs, "less": (gain, error)},
    )


def _mean(runs: list[dict[str, float]]) -> float:
    return statistics.mean(run["accuracy"] for run in runs)


def draw() -> None:
    """Write the picture of what was measured; bars are errors of differences from flat classes."""
    from maxmargin.plots import _style

    facts = [line["facts"] for line in json.loads(RESULTS.read_text())["lines"]]
    figure = _style.new_figure(8.5, 3.6)
    axes = figure.subplots(1, len(SETS))
    for at, name in zip(axes, SETS, strict=True):
        for (label, colour), marker in zip(
            zip(ROWS, (_style.MUTED, *_style.COLOURS), strict=False), "osD^", strict=True
        ):
            own = [one for one in facts if (one["data"], one["row"]) == (name, label)]
            sizes, means, errors = zip(
                *((one["size"], _mean(one["runs"]), one["less"][1]) for one in own), strict=True
            )
            at.errorbar(sizes, means, errors, marker=marker, color=colour, label=label, capsize=3)
        at.set_xscale("log")
        at.set_xticks(SIZES, [str(size) for size in SIZES], minor=False)
        at.minorticks_off()
        at.set_title(
            {"caterpillar": "Caterpillar, 11 leaves", "balanced": "Balanced, 8 leaves"}[name]
        )
        at.set_xlabel("Training examples")
    axes[0].set_ylabel("Test accuracy")
    axes[0].legend(frameon=False, loc="lower right")
    figure.savefig(PICTURE, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    draw()
