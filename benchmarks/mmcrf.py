"""MMCRF on hierarchies: Table 1.1 and figures 1.3 and 1.4 of Rousu et al. 2007, on other data.

Sets of nodes of a tree by an edge field (Hamming loss l_Delta, or edge loss), over marginals,
beside an SVM per node (SVM), local classifiers (H-SVM) and ridge regressions (H-RLS). These predict
sets of nodes too, as in the source: the nodes whose classifiers, and those of all nodes above, say
yes. Rows have length 1 and C = 1, as in the source, and once more a C chosen on a third of the
training rows; training parts are about as large as the source's smaller ones. Every fit of ours
ends at a relative gap of 2%, or after LIMIT CPU seconds. F1 stands beside the SVM's,
with a paired test over test examples.

The gap against CPU seconds, with 1, 10 and 50 steps a visit, beside block-coordinate Frank-Wolfe,
by features and by a Gaussian kernel: drawn to docs/images/mmcrf_gap.png.

Rows of the table that results/mmcrf.json has are not measured again: delete it to measure anew.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from harness import Line
from hierarchy_accuracy import load
from paired import compare
from sklearn.base import clone
from sklearn.preprocessing import normalize

from maxmargin import HierarchySVM
from maxmargin.estimators.hierarchy import FlatSVM, LocalRidge, LocalSVM
from maxmargin.features.kernels import Rbf
from maxmargin.inference import FactorGraph, solve_graph
from maxmargin.metrics import exact_sets, hierarchical_f1, tree_distance
from maxmargin.metrics.hierarchies import hierarchical_precision, hierarchical_recall
from maxmargin.solvers import MMCRF, BlockFrankWolfe
from maxmargin.structures.hierarchy.edge_field import field_edges

SIZES = {"imclef07a": 1500, "imclef07d": 1500, "enzyme_ec": 1000}
N_TEST, LIMIT, TOL = 1000, 60.0, 0.02
#: What is tried where C is chosen, and how such a row is called.
GRID, CHOSEN = (1.0, 10.0, 100.0, 1000.0), ", C by validation"
#: Rows of a set whose curves are drawn, and CPU seconds of each of their runs.
N_DRAWN, LIMIT_DRAWN = 300, 5.0
RESULTS = Path(__file__).resolve().parent / "results" / "mmcrf.json"
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "mmcrf_gap.png"


class Clock:
    """A callback that notes CPU seconds, dual and primal, and ends a run that takes too long."""

    def __init__(self, limit: float) -> None:
        self.limit, self.begin = limit, time.process_time()
        self.seconds: list[float] = []
        self.duals: list[float] = []

    def __call__(self, event: Any) -> bool:
        self.seconds.append(time.process_time() - self.begin)
        self.duals.append(event.record.dual)
        return self.seconds[-1] > self.limit


def lines() -> Iterator[Line]:
    stored = json.loads(RESULTS.read_text())["lines"] if RESULTS.exists() else []
    known = {line["facts"].get("row", "") + line["facts"].get("set", ""): line for line in stored}
    for name in SIZES:
        yield from accuracy(name, known)
    yield from curves(known)
    yield directions()


def read(name: str) -> tuple[Any, ...]:
    case, n = load(name), SIZES[name]
    X, X_test = (normalize(case.X[part]) for part in ("fit", "test"))
    y, y_test = ([(label,) for label in case.y[part]] for part in ("fit", "test"))
    return X[:n], y[:n], X_test[:N_TEST], y_test[:N_TEST], case.hierarchy


def field(tree: Any, solver: Any, cost: str = "hamming", **more: Any) -> HierarchySVM:
    return HierarchySVM(
        hierarchy=tree, model="edges", cost=cost, C=1.0, tol=TOL, solver=solver, max_iter=100_000,
        random_state=0, **more,
    )  # fmt: skip


def accuracy(name: str, known: dict[str, Any]) -> Iterator[Line]:
    X, y, X_test, y_test, tree = read(name)
    # With more columns than rows, coefficients over rows are fewer than weights of features.
    is_wide = X.shape[1] > len(y)
    plain = {"kernel": "linear"} if is_wide else {}
    models = {
        "SVM": FlatSVM(C=1.0, hierarchy=tree, space="closed"),
        "H-SVM": LocalSVM(C=1.0, hierarchy=tree, space="closed"),
        "H-RLS": LocalRidge(hierarchy=tree, space="closed", leverage=not is_wide),
        "MMCRF, l_Delta": field(tree, MMCRF(), **plain),
        "MMCRF, edge loss": field(tree, MMCRF(), "edge", **plain),
        "MMCRF, l_Delta, Gaussian kernel": field(tree, MMCRF(), kernel=Rbf(2.0)),
    }
    # The same again, each with the C that is best on a third of the training rows. The optimum is
    # that of MMCRF whoever finds it, and blocks find it sooner.
    models |= {f"{row}{CHOSEN}": clone(model) for row, model in models.items()}
    base: dict[bool, np.ndarray] = {}  # what the SVM counts, without and with a C chosen
    for row, model in models.items():
        line = known.get(row + name, {"what": ""})
        if line["what"].startswith(f"{name}, {len(y)} training rows"):
            base.setdefault(row.endswith(CHOSEN), np.array(line["facts"]["counts"]))
            yield again(line)
            continue
        is_ours = isinstance(model, HierarchySVM)
        if row.endswith(CHOSEN):
            if is_ours:
                model.set_params(solver=BlockFrankWolfe())
            model.set_params(C=best_C(model, X, y, tree))
        clock = Clock(LIMIT)
        model.fit(X, y, **({"callbacks": [clock]} if is_ours else {}))
        seconds = time.process_time() - clock.begin
        guess = model.predict(X_test)
        found = {
            "0/1 loss": 1.0 - exact_sets(y_test, guess, tree),
            "l_Delta": tree_distance(y_test, guess, tree),
            "precision": hierarchical_precision(y_test, guess, tree),
            "recall": hierarchical_recall(y_test, guess, tree),
            "F1": hierarchical_f1(y_test, guess, tree),
            "seconds": seconds,
        }
        counts = counted(y_test, guess, tree)
        first = base.setdefault(row.endswith(CHOSEN), counts)
        gap = f", gap {model.result_.relative_gap:.2g}" if is_ours else ""
        gap += f", C = {model.C:g}" if row.endswith(CHOSEN) else ""
        beside = "" if first is counts else f" F1 beside SVM {compare(first, counts, f1_of)}."
        yield Line(
            f"{name}, {len(y)} training rows, {row}: micro-F1 of nodes",
            found["F1"],
            unit="",
            note=f"0/1 loss {found['0/1 loss']:.3f}, l_Delta {found['l_Delta']:.3f}, precision "
            f"{found['precision']:.3f}, recall {found['recall']:.3f}; {seconds:.1f} CPU "
            f"s{gap}.{beside}",
            facts={"set": name, "row": row, **found, "counts": counts.tolist()},
        )


def counted(truth: Any, guess: Any, tree: Any) -> np.ndarray:
    """Return for each example how many nodes are right, predicted and true."""
    true, found = tree.closures(truth, guess)
    columns = (true.multiply(found).sum(axis=1), found.sum(axis=1), true.sum(axis=1))
    return np.column_stack([np.asarray(column).ravel() for column in columns]).astype(int)


def f1_of(sums: np.ndarray) -> np.ndarray:
    return 2.0 * sums[..., 0] / np.maximum(sums[..., 1] + sums[..., 2], 1)


def best_C(model: Any, X: Any, y: Any, tree: Any) -> float:
    """Return the C of `GRID` that is best on the last third of the rows, by micro-F1 of nodes."""
    n = 2 * len(y) // 3
    scores = {}
    for C in GRID:
        own = clone(model).set_params(C=C)
        ours = {"callbacks": [Clock(LIMIT / 3)]} if isinstance(model, HierarchySVM) else {}
        scores[C] = hierarchical_f1(y[n:], own.fit(X[:n], y[:n], **ours).predict(X[n:]), tree)
    return max(scores, key=lambda C: scores[C])


def curves(known: dict[str, Any]) -> Iterator[Line]:
    solvers = {f"MMCRF, {k} steps a visit": MMCRF(inner=k) for k in (1, 10, 50)}
    solvers["bcfw, active planes"] = BlockFrankWolfe()
    kinds: dict[str, Any] = {"features": {}, "Gaussian kernel": {"kernel": Rbf(2.0)}}
    panels = [f"{name}, {kind}" for name in SIZES for kind in kinds]
    if not all(row + panel in known for panel in panels for row in solvers):
        for name in SIZES:
            for line in measured_curves(name, kinds, solvers):
                known[line.facts["row"] + line.facts["set"]] = asdict(line)
    for panel in panels:
        yield from (again(known[row + panel]) for row in solvers)
    draw({panel: {row: known[row + panel]["facts"] for row in solvers} for panel in panels})


def measured_curves(dataset: str, kinds: dict[str, Any], solvers: dict[str, Any]) -> Iterator[Line]:
    X, y, _, _, tree = read(dataset)
    X, y = X[:N_DRAWN], y[:N_DRAWN]
    for kind, more in kinds.items():
        if kind == "features" and X.shape[1] > len(y):
            more = {"kernel": "linear"}  # fewer coefficients than weights, as in `accuracy`
        runs = {}
        for name, solver in solvers.items():
            clock = Clock(LIMIT_DRAWN)
            model = field(tree, solver, **more).set_params(tol=1e-3, max_iter=2)
            model.fit(X[:30], y[:30])  # compiled before the clock starts
            clock.begin = time.process_time()
            model.set_params(max_iter=100_000).fit(X, y, callbacks=[clock])
            runs[name] = clock, model.result_
        best = min(result.primal for _, result in runs.values())
        for name, (clock, result) in runs.items():
            gaps = 1.0 - np.array(clock.duals) / best
            below = np.flatnonzero(gaps <= 0.1)
            yield Line(
                f"{dataset}, {len(y)} rows, {kind}, {name}: CPU s to 10% below the best primal",
                clock.seconds[below[0]] if len(below) else None,
                note=f"After {clock.seconds[-1]:.1f} s the dual is {gaps[-1]:.2g} below the least "
                f"primal of all runs, its own gap {result.relative_gap:.2g}; "
                f"{len(gaps)} passes, {result.n_oracle_calls} oracle calls.",
                facts={
                    "set": f"{dataset}, {kind}",
                    "row": name,
                    "seconds": clock.seconds,
                    "gaps": gaps.tolist(),
                },
            )


def directions() -> Line:
    """Directions by the dynamic programme, beside the linear programme that the source solves."""
    tree = read("imclef07a")[-1]
    edges = field_edges(tree.shape)
    rng = np.random.default_rng(0)
    unary = np.zeros((edges.max() + 1, 2))
    graphs = [FactorGraph(unary, edges, rng.normal(size=(len(edges), 2, 2))) for _ in range(20)]
    solve_graph(graphs[0], "forest"), solve_graph(graphs[0], "lp")
    found = {}
    for method in ("forest", "lp"):
        begin = time.process_time()
        scores = [solve_graph(graph, method).score for graph in graphs]
        found[method] = 1e3 * (time.process_time() - begin) / len(graphs), scores
    same = np.allclose(found["forest"][1], found["lp"][1])
    return Line(
        f"the best set of a tree of {len(edges)} edges by the dynamic programme, beside HiGHS",
        found["forest"][0],
        found["lp"][0],
        unit="ms",
        note=f"`solve_graph`, models made anew in both; values {'agree' if same else 'DIFFER'}.",
    )


def again(line: dict[str, Any]) -> Line:
    return Line(line["what"], line["ours"], unit=line["unit"], note=line["note"],
                facts=line["facts"])  # fmt: skip


def draw(panels: dict[str, Any]) -> None:
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    figure, grid = plt.subplots(len(SIZES), 2, figsize=(9, 9), sharex=True, sharey=True)
    axes = grid.ravel()
    for axis, (kind, runs) in zip(axes, panels.items(), strict=True):
        for name, facts in runs.items():
            gaps = np.maximum(facts["gaps"], 1e-4)
            axis.plot(facts["seconds"], gaps, label=name, linewidth=1.4)
        axis.set(xscale="log", yscale="log", title=kind)
        axis.xaxis.set_minor_formatter(NullFormatter())  # they would overlap
        axis.grid(alpha=0.3)
    for axis in grid[-1]:
        axis.set_xlabel("CPU seconds")
    for axis in grid[:, 0]:
        axis.set_ylabel("dual below the least primal known")
    axes[0].legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)
