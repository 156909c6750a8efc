"""Roundings of relaxed labellings on street scenes, with the potentials of a trained GraphSVM.

The roundings are those of the topic `rounding`. CamVid: superpixels of validation images, some 209
nodes, 540 edges and 11 labels each; the GraphSVM made a few passes over some training images.
"Prediction" are its potentials; "training" adds 1 to every wrong label, as margin rescaling does;
"weak" are those of prediction with unary scores divided by 5, so that edges matter as much.

Four points are rounded: the optimum of the linear relaxation (SRMP's labelling where it closes the
gap, otherwise by HiGHS), that of the convex quadratic relaxation, the exponentiated max-marginals
of TRW-S (SRMP), and the point of smoothed ascent. Energies are told above the bound of the linear
relaxation; no peer is shown where SRMP reaches it. "avg" and "min" are of 200 draws. All numbers
are means over the images.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Check, Line, cpu_seconds, number
from rounding import RANDOM, Instance, max_marginals, roundings

from maxmargin import GraphSVM
from maxmargin.datasets import load_camvid
from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.answer import Options
from maxmargin.inference.graph.primal import expansion
from maxmargin.inference.graph.quadratic import quadratic_relaxation
from maxmargin.inference.graph.relaxed import relaxed_point
from maxmargin.inference.graph.srmp import srmp, srmp_room
from maxmargin.inference.programs.graphs import GraphProgram
from maxmargin.rounding import check_marginals

N_TRAINING, N_IMAGES, N_DRAWS, PASSES, N_LABELS = 100, 20, 200, 4, 11
SETTINGS = ("prediction", "training", "weak")
POINTS = ("LP", "QP", "TRW-S", "smoothed")
#: Seconds that the quadratic relaxation of an image may take.
OF_QP = 5.0


def lines() -> Iterator[Line]:
    seconds, (graphs, truths) = cpu_seconds(scenes)
    for setting in SETTINGS:
        instances = [
            instance(changed(graph, truth, setting))
            for graph, truth in zip(graphs, truths, strict=True)
        ]
        yield whole_line(setting, instances, seconds)
        for point in POINTS:
            yield point_line(setting, point, instances)


def scenes() -> tuple[list[FactorGraph], list[np.ndarray]]:
    """Return the factor graphs of images that were not trained on, and their labels."""
    data = load_camvid()
    nodes, edges = (np.concatenate([x[k] for x in data.X_train]) for k in (0, 2))
    mean, spread, size = nodes.mean(axis=0), nodes.std(axis=0) + 1e-9, np.sqrt((edges**2).mean(0))

    def scaled(X: list[Any]) -> list[Any]:
        return [((nodes - mean) / spread, edges, features / size) for nodes, edges, features in X]

    model = GraphSVM(C=0.01, max_iter=PASSES, fit_edge_intercept=False, random_state=0)
    model.fit(scaled(data.X_train[:N_TRAINING]), data.y_train[:N_TRAINING])
    graphs = model._for_each(lambda graph: graph, scaled(data.X_dev[:N_IMAGES]), {})
    return graphs, data.y_dev[:N_IMAGES]


def changed(graph: FactorGraph, truth: np.ndarray, setting: str) -> FactorGraph:
    unary = graph.unary.reshape(-1, N_LABELS).copy()
    if setting == "training":
        unary += (np.arange(N_LABELS) != truth[:, None]) & (truth >= 0)[:, None]
    elif setting == "weak":
        unary /= 5.0
    return FactorGraph.of_arrays(graph.shape, unary.ravel(), graph.tables)


def instance(graph: FactorGraph) -> Instance:
    """Solve the relaxations of an image."""
    labels, messages = (
        np.zeros(graph.n_nodes, dtype=np.int32),
        np.zeros(graph.shape.message_at[-1]),
    )
    potentials = graph.shape, graph.unary, graph.tables
    bound, score, _ = srmp(*potentials, messages, 2000, 1e-12, srmp_room(graph.shape), labels)
    points = {"TRW-S": max_marginals(graph, messages)}
    points["LP"] = np.eye(N_LABELS)[labels].ravel()
    if bound - score > 1e-7 * (1.0 + abs(score)):
        relaxed = GraphProgram(graph.shape, integral=False, solver="ipm")
        found = relaxed.solve(graph.unary, graph.tables)
        points["LP"], bound = found.unary, min(bound, found.bound)
    points["QP"] = quadratic_relaxation(graph, tol=1e-6, time_limit=OF_QP).unary
    points["smoothed"] = relaxed_point(graph).nodes
    checked = {name: check_marginals(graph, mu) for name, mu in points.items()}
    return Instance(graph, labels, -score, -bound, checked)


def above(instances: list[Instance], energies: Any) -> float:
    """Return how far energies are above the bounds on average; less than 1e-9 is rounding."""
    off = [energy - one.bound for one, energy in zip(instances, energies, strict=True)]
    return round(float(np.mean(off)), 9)


def whole_line(setting: str, instances: list[Instance], training: float) -> Line:
    """Expansion moves beside SRMP, and the best constant labelling."""
    constant = above(instances, [-best_constant(one.graph) for one in instances])
    expansion(instances[0].graph, Options())  # compiles
    seconds, answers = cpu_seconds(lambda: [expansion(one.graph, Options()) for one in instances])
    moved = above(instances, [-answer.score for answer in answers])
    decoded = above(instances, [one.energy for one in instances])
    n_proved = sum(one.energy - one.bound <= 1e-6 * (1 + abs(one.energy)) for one in instances)
    return Line(
        f"{setting}: energy of expansion moves above the bound, beside SRMP",
        moved,
        decoded or None,
        unit="",
        checks=[Check("least energy - bound", decoded, ">=", -1e-6)],
        note=f"Above the bound of {number(float(np.mean([one.bound for one in instances])))} on "
        f"average: best constant labelling {number(constant)}, expansion moves {number(moved)} "
        f"({number(1e3 * seconds / len(instances))} ms an image), SRMP {number(decoded)}, proved "
        f"to be optimal on {n_proved} of {len(instances)} images. Training took "
        f"{number(training)} s with compiling.",
        facts={"constant": constant, "expansion": moved, "srmp": decoded, "proved": n_proved},
    )


def best_constant(graph: FactorGraph) -> float:
    labels = np.ones(graph.n_nodes, dtype=np.int32)
    return max(graph.score(k * labels) for k in range(N_LABELS))


def point_line(setting: str, point: str, instances: list[Instance]) -> Line:
    """All roundings of one point."""
    rows = [roundings(one, point, seed, N_DRAWS) for seed, one in enumerate(instances)]
    mean = {name: above(instances, [row[name] for row in rows]) for name in rows[0]}
    decoded = above(instances, [one.energy for one in instances])
    worst = max(row["max + local"] - row["max"] for row in rows)
    shares = [one.points[point] for one in instances]
    n_integral = sum(bool((np.abs(mu - 0.5) > 0.499).all()) for mu in shares)
    drawn = [
        f"{name} {number(mean[name + ' avg'])}, {number(mean[name + ' min'])}" for name in RANDOM
    ]
    polished = ("max + local", "max + expansion", "conditional", "conditional + local")
    return Line(
        f"{setting}, {point} point: max rounding + local search above the bound, beside SRMP",
        mean["max + local"],
        decoded or None,
        unit="",
        checks=[
            Check("polish adds at most", worst, "<=", 1e-9),
            Check(
                "max + local - least of 200 complete",
                mean["max + local"] - mean["complete min"],
                "<=",
                0.01,
            ),
        ],
        note=f"max {number(mean['max'])}; (avg, min) {'; '.join(drawn)}; "
        + "; ".join(f"{name} {number(mean[name])}" for name in polished)
        + f". The point is integral on {n_integral} of {len(instances)} images.",
        facts={"point is integral": n_integral, **mean},
    )
