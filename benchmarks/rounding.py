"""Roundings of relaxed labellings, on the synthetic graphs of Mohapatra 2021, chapter 4.

25 nodes on a 5 x 5 lattice, each joined to all others, and 21 labels. Unary energies are uniform in
[0, 1]; an edge costs tau w d(i, j), w = exp(-|c_a - c_b|^2 / sigma^2), with d uniform ([i != j]),
truncated linear (min(|i - j|, 10)) or truncated quadratic (min((i - j)^2, 10)). Two settings:

- "printed": sigma and tau uniform in [0, 10^5]. (The page says [-10^5, 10^5], but its energies are
  those of attractive edges.) So w is 1, any disagreement costs more than all unary energies, and
  the optimum is the best constant labelling, which the table of the source lacks;
- "moderate": sigma 1, log10 tau uniform in [-2, 0], so that neither term settles the matter.

Three fractional points are rounded: the optimum of the linear relaxation (Table 4.1 has a solver of
it that was stopped early), the optimum of the convex quadratic relaxation (Table 4.2), and the
exponentiated max-marginals of TRW-S, that is SRMP (Table 4.3; both tables are of images there).
Where SRMP closes the gap, its labelling is the optimum of the linear relaxation, and HiGHS is not
asked.

"avg" and "min" are the mean and the least energy of 1000 draws, as in the source. All numbers are
means over 50 graphs. Writes no picture.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Check, Line, cpu_seconds, number

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.answer import Options
from maxmargin.inference.graph.factors import factor_message
from maxmargin.inference.graph.primal import expansion
from maxmargin.inference.graph.quadratic import quadratic_relaxation
from maxmargin.inference.graph.srmp import srmp, srmp_room
from maxmargin.inference.programs.graphs import GraphProgram
from maxmargin.rounding import (
    Complete,
    Conditional,
    Interval,
    KleinbergTardos,
    Max,
    check_marginals,
    round_graph,
)

SIDE, N_LABELS, N_GRAPHS, N_DRAWS = 5, 21, 50, 1000
DISTANCE = np.abs(np.subtract.outer(np.arange(N_LABELS), np.arange(N_LABELS))).astype(float)
METRICS = {
    "uniform": (DISTANCE > 0).astype(float),
    "truncated linear": np.minimum(DISTANCE, 10.0),
    "truncated quadratic": np.minimum(DISTANCE**2, 10.0),
}
SETTINGS = ("printed", "moderate")
POINTS = ("LP", "QP", "TRW-S")
RANDOM = {"complete": Complete(), "interval": Interval(3), "Kleinberg-Tardos": KleinbergTardos()}
#: Table 4.1: max rounding, (avg, min) of complete and interval rounding and of the learned one.
PAPER = {
    "uniform": (12.204, (12.532, 10.435), (12.437, 10.327), (10.180, 10.103)),
    "truncated linear": (74.423, (1887.213, 19.427), (1936.361, 17.787), (153.801, 14.762)),
    "truncated quadratic": (152.532, (904.821, 84.640), (876.610, 72.418), (71.469, 65.359)),
}


@dataclass
class Instance:
    """One graph, what SRMP says of it, and the points to be rounded."""

    graph: FactorGraph
    labels: np.ndarray
    energy: float
    bound: float
    points: dict[str, np.ndarray]


def lines() -> Iterator[Line]:
    for setting, metric in itertools.product(SETTINGS, METRICS):
        instances = [instance(seed, setting, metric) for seed in range(N_GRAPHS)]
        optimum = float(np.mean([one.energy for one in instances]))
        yield whole_line(setting, metric, instances, optimum)
        for point in POINTS:
            yield point_line(setting, metric, point, instances, optimum)


def instance(seed: int, setting: str, metric: str) -> Instance:
    """Draw a graph, the same for all metrics, and solve its relaxations."""
    rng = np.random.default_rng(seed)
    unary = rng.random((SIDE**2, N_LABELS))
    sigma, tau = rng.uniform(0.0, 1e5, 2)
    if setting == "moderate":
        sigma, tau = 1.0, 10.0 ** rng.uniform(-2.0, 0.0)
    places = np.stack(np.divmod(np.arange(SIDE**2), SIDE), axis=1)
    edges = np.array(list(itertools.combinations(range(SIDE**2), 2)))
    far = ((places[edges[:, 0]] - places[edges[:, 1]]) ** 2).sum(axis=1)
    weights = tau * np.exp(-far / sigma**2)
    graph = FactorGraph(-unary, edges, -weights[:, None, None] * METRICS[metric])
    labels, messages = np.zeros(SIDE**2, dtype=np.int32), np.zeros(graph.shape.message_at[-1])
    room = srmp_room(graph.shape)
    bound, score, _ = srmp(
        graph.shape, graph.unary, graph.tables, messages, 2000, 1e-12, room, labels
    )
    points = {"TRW-S": max_marginals(graph, messages)}
    points["LP"] = np.eye(N_LABELS)[labels].ravel()
    if bound - score > 1e-7 * (1.0 + abs(score)):
        relaxed = GraphProgram(graph.shape, integral=False, solver="ipm")
        found = relaxed.solve(graph.unary, graph.tables)
        points["LP"], bound = found.unary, min(bound, found.bound)
    points["QP"] = quadratic_relaxation(graph, tol=1e-6).unary
    checked = {name: check_marginals(graph, mu) for name, mu in points.items()}
    return Instance(graph, labels, -score, -bound, checked)


def max_marginals(graph: FactorGraph, messages: np.ndarray) -> np.ndarray:
    """Return exp of u_v + sum_f r_fv, normalised for each node."""
    shape = graph.shape
    n_labels = int(shape.n_labels[0])
    theta, out = graph.unary.copy(), np.empty(n_labels)
    for slot, v in enumerate(shape.members):
        factor_message(shape, graph.tables, shape.factor_of[slot], slot, messages, out)
        theta[shape.unary_at[v] : shape.unary_at[v + 1]] += out
    theta = theta.reshape(-1, n_labels)
    powers = np.exp(theta - theta.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).ravel()


def whole_line(setting: str, metric: str, instances: list[Instance], optimum: float) -> Line:
    """Expansion moves beside SRMP, and what needs no relaxation."""
    constant = np.mean(
        [-one.graph.unary.reshape(-1, N_LABELS).sum(axis=0).max() for one in instances]
    )
    seconds, answers = cpu_seconds(lambda: [expansion(one.graph, Options()) for one in instances])
    moved = -float(np.mean([answer.score for answer in answers]))
    n_proved = sum(one.energy - one.bound <= 1e-6 * (1 + abs(one.energy)) for one in instances)
    off = min(one.energy - one.bound for one in instances)
    return Line(
        f"{setting}, {metric}: energy of expansion moves, beside SRMP",
        moved,
        optimum,
        unit="",
        checks=[Check("least energy - bound", off, ">=", -1e-6 * (1 + abs(optimum)))],
        note=f"Best constant labelling {number(constant)}, expansion moves {number(moved)} "
        f"({number(1e3 * seconds / len(instances))} ms a graph), SRMP {number(optimum)}, proved to "
        f"be optimal on {n_proved} of {len(instances)} graphs.{of_paper(setting, metric)}",
        facts={"constant": constant, "expansion": moved, "srmp": optimum, "proved": n_proved},
    )


def of_paper(setting: str, metric: str) -> str:
    if setting != "printed":
        return ""
    largest, complete, interval, learned = PAPER[metric]
    return (
        f" Table 4.1 (avg, min): max {largest}, complete {complete}, interval {interval}, learned "
        f"{learned}."
    )


def point_line(
    setting: str, metric: str, point: str, instances: list[Instance], optimum: float
) -> Line:
    """All roundings of one point."""
    rows = [roundings(one, point, seed) for seed, one in enumerate(instances)]
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    shares = [one.points[point] for one in instances]
    n_integral = sum(bool((np.abs(mu - 0.5) > 0.499).all()) for mu in shares)
    worst = max(row["max + local"] - row["max"] for row in rows)
    drawn = [
        f"{name} {number(mean[name + ' avg'])}, {number(mean[name + ' min'])}" for name in RANDOM
    ]
    polished = ("max + local", "max + expansion", "conditional", "conditional + local")
    return Line(
        f"{setting}, {metric}, {point} point: energy of max rounding + local search, beside SRMP",
        mean["max + local"],
        optimum,
        unit="",
        checks=[
            Check("polish adds at most", worst, "<=", 0.0),
            Check(
                "max + expansion over least of 1000 complete",
                mean["max + expansion"] / mean["complete min"],
                "<=",
                1.01,
            ),
        ],
        note=f"max {number(mean['max'])}; (avg, min) {'; '.join(drawn)}; "
        + "; ".join(f"{name} {number(mean[name])}" for name in polished)
        + f". The point is integral on {n_integral} of {len(instances)} graphs.",
        facts={"point is integral": n_integral, **mean},
    )


def roundings(one: Instance, point: str, seed: int, n_draws: int = N_DRAWS) -> dict[str, float]:
    """Return the energies of all roundings of one point."""
    graph, mu = one.graph, one.points[point]
    found: dict[str, float] = {}

    def energy(rounding: Any, polish_by: str | None = None) -> float:
        return -graph.score(round_graph(graph, mu, rounding, polish_by=polish_by, seed=seed))

    found["max"] = energy(Max())
    found["max + local"] = energy(Max(), "local")
    found["max + expansion"] = energy(Max(), "expansion")
    found["conditional"] = energy(Conditional())
    found["conditional + local"] = energy(Conditional(), "local")
    rng = np.random.default_rng(seed)
    for name, rounding in RANDOM.items():
        drawn = [-graph.score(rounding.draw(graph, mu, rng)) for _ in range(n_draws)]
        found[f"{name} avg"], found[f"{name} min"] = float(np.mean(drawn)), min(drawn)
    return found
