"""The linear relaxation of graphs: ADMM beside smoothed ascent and the interior point of HiGHS.

Dense graphs: 20 nodes, each joined to all others, unary scores standard normal. "Gauss": 4 labels,
normal tables; "weak": these times .1; "repulsive": -1 where labels agree; "10 labels": 15 nodes,
normal tables. "Grid": 20 x 20 nodes, 5 labels, normal tables. Five graphs each.

Both methods give a point of the local polytope and a bound. They run with limits that double, from
10 iterations of ADMM and 10 passes per temperature on, until bound and point are both within 1e-4
of the optimum of HiGHS, relative to it. The time is that of the run with the least limit that does,
the least of five; "none" if 1280 do not. SRMP, which both begin with, is in it. Means are over the
graphs that both solve; if there are none, over those that ADMM solves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from harness import Check, Line, cpu_seconds, number

from maxmargin.datasets import make_grid
from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.answer import Options
from maxmargin.inference.graph.relaxed import relaxed_point
from maxmargin.inference.graph.splitting import admm_point
from maxmargin.inference.programs.graphs import GraphProgram

N_GRAPHS, CLOSE, REPEATS = 5, 1e-4, 5
LIMITS = tuple(10 * 2**k for k in range(8))
METHODS = {"ADMM": admm_point, "smoothed": relaxed_point}


def dense(seed: int, n_nodes: int = 20, n_labels: int = 4, scale: float = 1.0) -> FactorGraph:
    rng = np.random.default_rng(seed)
    edges = list(itertools.combinations(range(n_nodes), 2))
    tables = scale * rng.normal(size=(len(edges), n_labels, n_labels))
    return FactorGraph(rng.normal(size=(n_nodes, n_labels)), edges, tables)


def repulsive(seed: int) -> FactorGraph:
    unary = np.random.default_rng(seed).normal(size=(20, 4))
    return FactorGraph(unary, list(itertools.combinations(range(20), 2)), -np.eye(4))


KINDS: dict[str, Callable[[int], FactorGraph]] = {
    "dense, gauss": dense,
    "dense, weak": lambda seed: dense(seed, scale=0.1),
    "dense, repulsive": repulsive,
    "dense, 10 labels": lambda seed: dense(seed, 15, 10),
    "grid": lambda seed: make_grid((20, 20), 5, "gauss", random_state=seed),
}


def lines() -> Iterator[Line]:
    for name, make in KINDS.items():
        yield kind_line(name, [make(seed) for seed in range(N_GRAPHS)])


def kind_line(name: str, graphs: list[FactorGraph]) -> Line:
    for method in METHODS.values():
        method(graphs[0], Options(max_iter=2))  # compiles
    programmes = [cpu_seconds(lambda g=graph: programme(g)) for graph in graphs]
    seconds = {
        method: [
            to_optimum(graph, optimum, method)
            for graph, (_, optimum) in zip(graphs, programmes, strict=True)
        ]
        for method in METHODS
    }
    reached = np.isfinite(list(seconds.values()))
    # Times are compared on the graphs that both solve.
    compared = reached.all(axis=0) if reached.all(axis=0).any() else np.ones(len(graphs), bool)
    mean = {
        method: mean_ms(np.array(found)[compared], own[compared])
        for (method, found), own in zip(seconds.items(), reached, strict=True)
    }
    highs = 1e3 * float(np.mean([own for own, _ in programmes]))
    counts = dict(zip(seconds, reached.sum(axis=1).tolist(), strict=True))
    checks = []
    if name == "dense, gauss":
        checks.append(Check("times smoothed", mean["ADMM"] / mean["smoothed"], "<=", 1.0))
    return Line(
        f"{name}: CPU ms to within 1e-4 of the relaxation, ADMM beside smoothed ascent",
        mean["ADMM"],
        mean["smoothed"],
        unit="ms",
        checks=checks,
        note=f"HiGHS {number(highs)} ms. Reached on {counts['ADMM']} of {len(graphs)} graphs by "
        f"ADMM and on {counts['smoothed']} by smoothed ascent. "
        + "; ".join(
            f"{method}: {', '.join(number(1e3 * s) if np.isfinite(s) else 'none' for s in found)}"
            for method, found in seconds.items()
        )
        + ".",
        facts={"seconds": seconds, "highs": highs},
    )


def mean_ms(seconds: np.ndarray, reached: np.ndarray) -> float | None:
    return 1e3 * float(seconds[reached].mean()) if reached.any() else None


def programme(graph: FactorGraph) -> float:
    relaxed = GraphProgram(graph.shape, integral=False, solver="ipm")
    return relaxed.solve(graph.unary, graph.tables).bound


def to_optimum(graph: FactorGraph, optimum: float, method: str) -> float:
    """Return the seconds of the shortest run that is close to the optimum, or inf."""
    for limit in LIMITS:
        options = Options(max_iter=limit, tol=0.1 * CLOSE)

        def run(options: Options = options) -> object:
            return METHODS[method](graph, options)

        seconds, point = cpu_seconds(run)
        if max(point.bound - optimum, optimum - point.value) <= CLOSE * abs(optimum):
            return min(seconds, *(cpu_seconds(run)[0] for _ in range(REPEATS - 1)))
    return np.inf
