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
steps on the graph, as in the source. "avg" and "min" are over N_DRAWS draws of a net, all numbers
means over N_TEST graphs; beside them max rounding, the same with a local search, complete rounding,
that of Kleinberg and Tardos, and the best constant labelling. Sizes are cut so that the table takes
minutes (the source: 50 + 50 graphs, 1000 draws). Needs torch: .venv-deep/bin/python
benchmarks/run.py --only deep_rounding.
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

N_TRAIN, N_TEST, N_DRAWS, N_STEPS = 3, 3, 100, 200
SIDE, N_LABELS = 4, 4
NETS = ("own", "others", "tuned")


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
        lambda: learn_rounding([g for g, *_ in train], [mu for _, mu, *_ in train], n_steps=N_STEPS)
    )
    rows = []
    for seed, (graph, mu, least, bound) in enumerate(test):
        row = {"least": least, "bound": bound, **by_hand(graph, mu, seed)}
        own_seconds, own = cpu_seconds(
            lambda g=graph, m=mu: learn_rounding([g], [m], n_steps=N_STEPS)
        )
        nets = (own, others, others.fine_tuned(graph, mu))
        for name, net in zip(NETS, nets, strict=True):
            found = net.round(graph, mu, n_draws=N_DRAWS)
            scores = found.scores
            row |= {
                f"{name} avg": -found.mean,
                f"{name} min": -scores["learnt"],
                f"{name} + local": -scores["learnt+local"],
                "constant": -scores["constant"],
            }
        rows.append(row | {"seconds": own_seconds})
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    wins = sum(row["own + local"] < row["max + local"] - 1e-9 for row in rows)
    losses = sum(row["own + local"] > row["max + local"] + 1e-9 for row in rows)
    n_integral = sum(bool((np.abs(np.asarray(mu) - 0.5) > 0.499).all()) for _, mu, *_ in test)
    nets = "; ".join(
        f"{name} {number(mean[f'{name} avg'])}, {number(mean[f'{name} min'])}, + local "
        f"{number(mean[f'{name} + local'])}"
        for name in NETS
    )
    drawn = "; ".join(
        f"{name} {number(mean[f'{name} avg'])}, {number(mean[f'{name} min'])}"
        for name in ("complete", "Kleinberg-Tardos")
    )
    return Line(
        f"{what}: energy of the least draw of a net of its own, beside max rounding + local search",
        mean["own min"], mean["max + local"], "",
        note=f"Least energy known {number(mean['least'])}, bound {number(mean['bound'])}, best "
        f"constant {number(mean['constant'])}, max {number(mean['max'])}; (avg, min) nets: {nets}; "
        f"by hand: {drawn}. With a local search after both, the net of its own is ahead of max "
        f"rounding on {wins} graphs and behind on {losses} of {N_TEST}; the point is integral on "
        f"{n_integral}. Training takes "
        f"{mean['seconds']:.1f} CPU s a graph, {seconds:.1f} on the {N_TRAIN} others.{paper}",
        facts={**mean, "ahead": wins, "behind": losses, "integral points": n_integral},
    )  # fmt: skip


def by_hand(graph: Any, mu: Any, seed: int) -> dict[str, float]:
    found = {
        "max": -graph.score(round_graph(graph, mu, "max")),
        "max + local": -graph.score(round_graph(graph, mu, "max", polish_by="local")),
    }
    rng = np.random.default_rng(seed)
    for name, rounding in (("complete", Complete()), ("Kleinberg-Tardos", KleinbergTardos())):
        drawn = [-graph.score(rounding.draw(graph, mu, rng)) for _ in range(N_DRAWS)]
        found |= {f"{name} avg": float(np.mean(drawn)), f"{name} min": min(drawn)}
    return found
