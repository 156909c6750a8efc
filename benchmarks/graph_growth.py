"""How time and memory of SRMP grow: 20 iterations on graphs of more nodes, labels and order.

Nodes: grids with 5 labels and Potts edges, up to 10^6 nodes, each in a process of its own, whose
peak of resident memory is reset after compiling. Edges: random graphs of 1000 nodes with 5 labels
and Potts edges. Labels: grids of 30 x 30. Order: 400 random tables over 200 nodes of 4 labels.

A graph of 10^6 nodes also goes through the other methods that are meant for any size: "auto" with a
time limit, and expansion moves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from harness import Check, Line, cpu_seconds, number
from subprocesses import ask

from maxmargin.datasets import make_grid
from maxmargin.inference import FactorGraph, solve_graph
from maxmargin.inference.graph.answer import GraphAnswer
from maxmargin.inference.graph.factors import Table

N_ITERATIONS = 20
SIDES, LABELS, ORDERS = (10, 32, 100, 316, 1000), (2, 5, 10, 20, 50, 100), (2, 3, 4)
EDGES = (1_000, 10_000, 100_000, 400_000)
#: Methods other than SRMP on the largest grid, with the limit on their seconds.
OTHERS = {"auto": 60.0, "expansion": 60.0, "local": 60.0}

_LARGE = """
import json, time
from maxmargin.datasets import make_grid
from maxmargin.inference import solve_graph

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))

solve_graph(make_grid((3, 3), 5), "{method}")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = status("VmRSS")
start = time.process_time()
graph = make_grid(({side}, {side}), 5)
made = time.process_time() - start
start = time.process_time()
answer = solve_graph(graph, "{method}", max_iter={n}, time_limit={limit})
print(json.dumps(dict(
    made=made, seconds=time.process_time() - start, bound=answer.bound, score=answer.score,
    n=answer.n_iterations, memory=status("VmHWM") - before,
)))
"""


def lines() -> Iterator[Line]:
    for side in SIDES:
        yield grid_line(side)
    for method, limit in OTHERS.items():
        yield largest_line(method, limit)
    for n_edges in EDGES:
        yield growth_line(f"1000 nodes, 5 labels, {n_edges} edges", random_graph(n_edges))
    for n_labels in LABELS:
        yield growth_line(f"30 x 30 grid, {n_labels} labels", make_grid((30, 30), n_labels))
    for order in ORDERS:
        yield growth_line(f"200 nodes, 4 labels, 400 tables of order {order}", hypergraph(order))


def grid_line(side: int) -> Line:
    """SRMP on a grid, in a process of its own for its memory."""
    found = ask(_LARGE.format(method="srmp", side=side, n=N_ITERATIONS, limit=None))
    n_edges = 2 * side * (side - 1)
    each = found["seconds"] / found["n"] / n_edges
    gap = (found["bound"] - found["score"]) / abs(found["score"])
    return Line(
        f"{side} x {side} grid, 5 labels: CPU seconds of {N_ITERATIONS} iterations of SRMP",
        found["seconds"],
        checks=[Check("bound - score", found["bound"] - found["score"], ">=", -1e-9)],
        note=f"{number(1e9 * each)} ns per edge and iteration ({found['n']} made); score "
        f"{found['score']:.6g}, bound {found['bound']:.6g} ({100 * gap:.2g}% above); building the "
        f"graph {number(found['made'])} s; at most {number(found['memory'])} MiB more memory.",
        facts=found,
    )


def largest_line(method: str, limit: float) -> Line:
    """Another method on the largest grid, in a process of its own."""
    side = SIDES[-1]
    found = ask(_LARGE.format(method=method, side=side, n=None, limit=limit))
    return Line(
        f"{side} x {side} grid, 5 labels: CPU seconds of {method!r}, at most {limit:g} s",
        found["seconds"],
        checks=[Check("bound - score", found["bound"] - found["score"], ">=", -1e-9)],
        note=f"Score {found['score']:.6g}, bound {found['bound']:.6g} after {found['n']} "
        f"iterations; at most {number(found['memory'])} MiB more memory.",
        facts=found,
    )


def growth_line(what: str, graph: FactorGraph) -> Line:
    def run() -> GraphAnswer:
        return solve_graph(graph, "srmp", max_iter=N_ITERATIONS)

    run()
    seconds, found = min((cpu_seconds(run) for _ in range(3)), key=lambda pair: pair[0])
    shape = graph.shape
    sizes = np.multiply.reduceat(shape.n_labels[shape.members].astype(float), shape.member_at[:-1])
    cells = float((sizes * np.diff(shape.member_at)).sum())
    each = seconds / found.n_iterations
    return Line(
        f"{what}: CPU ms per iteration of SRMP",
        1e3 * each,
        unit="ms",
        checks=[Check("bound - score", found.bound - found.score, ">=", -1e-9)],
        note=f"{number(1e9 * each / cells)} ns per table cell and message; score "
        f"{found.score:.6g}, bound {found.bound:.6g} after {found.n_iterations} iterations.",
        facts={"seconds": seconds, "bound": found.bound, "score": found.score},
    )


def random_graph(n_edges: int) -> FactorGraph:
    """Return 1000 nodes of 5 labels and different random pairs of them, with one Potts table."""
    rng = np.random.default_rng(n_edges)
    upper = np.stack(np.triu_indices(1000, 1), axis=1)
    edges = upper[rng.choice(len(upper), n_edges, replace=False)]
    return FactorGraph(rng.normal(size=(1000, 5)), edges, 0.1 * np.eye(5))


def hypergraph(order: int) -> FactorGraph:
    """Return 400 random tables of an order over 200 nodes of 4 labels."""
    rng = np.random.default_rng(order)
    factors = [
        Table(tuple(rng.choice(200, order, replace=False).tolist()), rng.normal(size=(4,) * order))
        for _ in range(400)
    ]
    return FactorGraph(rng.normal(size=(200, 4)), factors=factors)
