"""Table 4.1 of Mohapatra 2021 with the learnt rounding, and graphs whose relaxation has a gap.

The recipe is that of `rounding.py` (5 x 5 nodes, all joined, 21 labels), "printed", and "moderate"
for one metric. At the optimum of the linear relaxation nothing is left to round there: it is
integral on nearly all graphs. So the point is that of the convex quadratic relaxation, which is
fractional on all. A third setting, "frustrated", has a linear relaxation with a gap: 4 x 4 nodes
with eight neighbours, 4 labels, unary energies uniform in [0, 1], tables of pairs normal with both
signs; its point is the optimum of the linear relaxation, and the least energy known is that of
branch and bound.

Nets, with the defaults of `learn_rounding` (the entropy .01, not 1, and annealed to 0): "own" is
trained on the one graph it rounds; "others" on N_TRAIN other graphs, and "tuned" is that with 20
steps on the graph, as in the source. Beside them stand max rounding, complete rounding, that of
Kleinberg and Tardos, and the best constant labelling; "+ local" is a local search after what was
rounded, after the least draw where rounding draws. "avg" and "min" are over N_DRAWS draws, all
numbers means over N_TEST graphs, and differences are those of the net of its own from each of the
others on the same graphs, with their standard errors: below 0 the net is ahead. Sizes are cut so
that the table takes ten minutes (the source: 50 + 50 graphs, 1000 draws). Needs torch:
.venv-deep/bin/python benchmarks/run.py --only deep_rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Line, cpu_seconds, number
from rounding import METRICS, instance, of_paper

from maxmargin.inference import FactorGraph
from maxmargin.inference.programs.graphs import GraphProgram
from maxmargin.rounding import Complete, KleinbergTardos, check_marginals, round_graph

N_TRAIN, N_TEST, N_DRAWS = 20, 20, 500
N_STEPS, N_STEPS_OTHERS = 200, 400
SIDE, N_LABELS = 4, 4
NETS = ("own", "others", "tuned")
DRAWN = {"complete": Complete(), "Kleinberg-Tardos": KleinbergTardos()}
#: What the net of its own is held against, by what of the net: draws alone, or a local search too.
PEERS = {
    "own min": ("max", "complete min", "Kleinberg-Tardos min", "constant", "others min",
                "tuned min"),
    "own + local": ("max + local", "complete + local", "Kleinberg-Tardos + local",
                    "others + local", "tuned + local", "least"),
}  # fmt: skip


def lines() -> Iterator[Line]:
    import torch

    torch.set_num_threads(1)
    graphs = [frustrated(seed, seed < N_TEST) for seed in range(N_TEST + N_TRAIN)]
    yield line("frustrated, LP point", graphs, "")
    for setting, metric in [*(("printed", name) for name in METRICS), ("moderate", "uniform")]:
        graphs = []
        for seed in range(N_TEST + N_TRAIN):
            one = instance(seed, setting, metric)
            graphs.append((one.graph, one.points["QP"], one.energy, one.bound))
        yield line(f"{setting}, {metric}, QP point", graphs, of_paper(setting, metric))


def frustrated(seed: int, is_test: bool) -> tuple[Any, Any, float, float]:
    """Return a graph, the optimum of its linear relaxation, its least energy and the bound."""
    rng = np.random.default_rng(seed)
    node = np.arange(SIDE**2).reshape(SIDE, SIDE)
    edges = np.concatenate([
        np.stack([a.ravel(), b.ravel()], axis=1)
        for a, b in ((node[:, :-1], node[:, 1:]), (node[:-1], node[1:]),
                     (node[:-1, :-1], node[1:, 1:]), (node[:-1, 1:], node[1:, :-1]))
    ])  # fmt: skip
    tables = rng.normal(size=(len(edges), N_LABELS, N_LABELS))
    graph = FactorGraph(-rng.random((SIDE**2, N_LABELS)), edges, tables)
    relaxed = GraphProgram(graph.shape, integral=False).solve(graph.unary, graph.tables)
    least = np.nan
    if is_test:
        least = -GraphProgram(graph.shape, integral=True).solve(graph.unary, graph.tables).bound
    return graph, check_marginals(graph, relaxed.unary), least, -relaxed.bound


def line(what: str, graphs: list[tuple[Any, Any, float, float]], paper: str) -> Line:
    from maxmargin.rounding.learnt import learn_rounding

    test, train = graphs[:N_TEST], graphs[N_TEST:]
    seconds, others = cpu_seconds(
        lambda: learn_rounding(
            [g for g, *_ in train], [mu for _, mu, *_ in train], n_steps=N_STEPS_OTHERS
        )
    )
    rows = []
    for seed, (graph, mu, least, bound) in enumerate(test):
        row = {"least": least, "bound": bound, **by_hand(graph, mu, seed)}
        row["seconds"], own = cpu_seconds(
            lambda g=graph, m=mu: learn_rounding([g], [m], n_steps=N_STEPS)
        )
        nets = (own, others, others.fine_tuned(graph, mu))
        for name, net in zip(NETS, nets, strict=True):
            found = net.round(graph, mu, n_draws=N_DRAWS)
            row |= {
                f"{name} avg": -found.mean,
                f"{name} min": -found.scores["learnt"],
                f"{name} + local": -found.scores["learnt+local"],
                "constant": -found.scores["constant"],
            }
        rows.append(row)
    table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    mean = {name: float(column.mean()) for name, column in table.items()}
    told, facts = differences(table)
    n_integral = sum(bool((np.abs(np.asarray(mu) - 0.5) > 0.499).all()) for _, mu, *_ in test)
    n_gaps = int((table["least"] - table["bound"] > 1e-6 * (1 + np.abs(table["least"]))).sum())
    each = "; ".join(
        f"{name} {number(mean[f'{name} avg'])}, {number(mean[f'{name} min'])}, "
        f"{number(mean[f'{name} + local'])}"
        for name in (*NETS, *DRAWN)
    )
    return Line(
        f"{what}: energy of the least draw of a net of its own, beside max rounding + local search",
        mean["own min"], mean["max + local"], "",
        note=f"Least energy known {number(mean['least'])}, bound {number(mean['bound'])} (a gap on "
        f"{n_gaps} of {N_TEST} graphs; the point is integral on {n_integral}), best constant "
        f"{number(mean['constant'])}, max {number(mean['max'])}, with a local search "
        f"{number(mean['max + local'])}; (avg, min, + local): {each}. {told} Training takes "
        f"{mean['seconds']:.1f} CPU s a graph, {seconds:.1f} on the {N_TRAIN} others.{paper}",
        facts={**mean, **facts, "gaps": n_gaps, "integral points": n_integral},
    )  # fmt: skip


def differences(table: dict[str, Any]) -> tuple[str, dict[str, float]]:
    """Return how far the net of its own is from each of the others, in words and as numbers."""
    words, facts = [], {}
    for own, peers in PEERS.items():
        told = []
        for peer in peers:
            less = table[own] - table[peer]
            error = float(less.std(ddof=1) / np.sqrt(len(less)))
            ahead, behind = int((less < -1e-9).sum()), int((less > 1e-9).sum())
            told.append(f"{peer} {less.mean():+.3g} ({error:.2g}; {ahead} : {behind})")
            facts |= {f"{own} - {peer}": float(less.mean()), f"{own} - {peer}, s.e.": error}
        words.append(f"of {own} from {', '.join(told)}")
    return (
        "Differences (standard error; on how many graphs the net is ahead : behind) "
        f"{'; '.join(words)}.",
        facts,
    )


def by_hand(graph: Any, mu: Any, seed: int) -> dict[str, float]:
    def polished(point: Any) -> float:
        return -graph.score(round_graph(graph, point, "max", polish_by="local"))

    found = {"max": -graph.score(round_graph(graph, mu, "max")), "max + local": polished(mu)}
    n_labels = int(graph.shape.n_labels[0])
    rng = np.random.default_rng(seed)
    for name, rounding in DRAWN.items():
        draws = [rounding.draw(graph, mu, rng) for _ in range(N_DRAWS)]
        energies = [-graph.score(draw) for draw in draws]
        found |= {
            f"{name} avg": float(np.mean(energies)),
            f"{name} min": min(energies),
            f"{name} + local": polished(np.eye(n_labels)[draws[int(np.argmin(energies))]]),
        }
    return found
