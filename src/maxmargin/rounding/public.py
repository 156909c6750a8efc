"""Marginals rounded: the best of some draws, polished or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import check_count
from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.dense import table_sizes
from maxmargin.inference.graph.local import local_room, polish
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.moves import expand, moves_room
from maxmargin.inference.graph.passing import is_proved
from maxmargin.inference.graph.quadratic import quadratic_relaxation
from maxmargin.inference.graph.relaxed import MOST_CELLS, relaxed_point
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.shape import DENSE
from maxmargin.inference.graph.splitting import admm_point
from maxmargin.inference.programs.graphs import GraphProgram
from maxmargin.rounding import ROUNDINGS  # defined by now: imported last
from maxmargin.rounding.base import Rounding, check_marginals

__all__ = ["as_rounding", "round_graph", "solve_rounded"]

_POLISHES = (None, "local", "expansion")
#: What is solved before it is rounded.
RELAXATIONS = ("auto", "smoothed", "admm", "lp", "qp")


def as_rounding(value: str | Rounding) -> Rounding:
    """Return the rounding of this name, or the object itself."""
    if isinstance(value, Rounding):
        return value
    if not isinstance(value, str) or value not in ROUNDINGS:
        raise ValueError(
            f"rounding={value!r} is not known. There are: {', '.join(map(repr, ROUNDINGS))}."
        )
    return ROUNDINGS[value]()


def round_graph(
    graph: FactorGraph,
    mu: Any,
    rounding: str | Rounding = "max",
    *,
    n_draws: int = 1,
    polish_by: str | None = None,
    seed: int = 0,
) -> npt.NDArray[np.int32]:
    """Return a labelling made of fractional node marginals.

    Parameters
    ----------
    graph : FactorGraph
    mu : float64 array laid out as graph.unary, or one row per node
        Of each node >= 0 and with sum 1, such as the `unary` of a `GraphPoint`.
    rounding : str or Rounding, default="max"
        "max", "complete", "interval", "kleinberg_tardos" or "conditional", or an object such as
        ``Interval(width=5)``.
    n_draws : int, default=1
        Of so many labellings the best is returned, the first of equal ones. One is enough where
        nothing is drawn.
    polish_by : {None, "local", "expansion"}, default=None
        Improve each of them by local search, or by expansion moves and local search.
    seed : int, default=0

    Returns
    -------
    int32 array of shape (n,)
        It may break hard constraints: graph.score() is -inf then.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.programs.graphs import GraphProgram
    >>> from maxmargin.rounding import round_graph
    >>> graph = FactorGraph([[0.0, 0.0]] * 3, [(0, 1), (1, 2), (0, 2)], [[0.0, 1.0], [1.0, 0.0]])
    >>> point = GraphProgram(graph.shape, integral=False).solve(graph.unary, graph.tables)
    >>> graph.score(round_graph(graph, point.unary, "conditional"))
    2.0
    """
    chosen = as_rounding(rounding)
    check_count("n_draws", n_draws)
    if polish_by not in _POLISHES:
        raise ValueError(f"polish_by={polish_by!r} is not known. There are: {_POLISHES}.")
    marginals = check_marginals(graph, mu)
    rng = np.random.default_rng(seed)
    draws_anything = chosen.is_random or getattr(chosen, "shuffle", False)
    potentials = graph.shape, graph.unary, graph.tables
    room = local_room(graph.shape)
    moves = moves_room(graph.shape) if polish_by == "expansion" else None
    best, best_score = None, -np.inf
    for _ in range(n_draws if draws_anything else 1):
        labels = chosen.draw(graph, marginals, rng)
        if polish_by is None:
            score = labelling_score(*potentials, labels)
        else:
            score = polish(*potentials, room, labels)
        if moves is not None and expand(*potentials, 100, moves, labels)[0] > score:
            score = polish(*potentials, room, labels)
        if best is None or score > best_score:
            best, best_score = labels, score
    return np.zeros(0, dtype=np.int32) if best is None else best


def solve_rounded(
    graph: FactorGraph,
    rounding: str | Rounding = "max",
    *,
    relaxation: str = "auto",
    n_draws: int = 1,
    polish_by: str | None = "local",
    seed: int = 0,
    time_limit: float | None = None,
) -> GraphAnswer:
    """Return a labelling made by solving a relaxation and rounding it, and the relaxation's bound.

    Parameters
    ----------
    graph : FactorGraph
    rounding, n_draws, polish_by, seed
        As of `round_graph`.
    relaxation : {"auto", "smoothed", "admm", "lp", "qp"}, default="auto"
        "smoothed": message passing and then smoothed ascent, a point of the local polytope that is
        nearly the best, for rules whose tables are small. "admm": the same with ADMM in the place
        of smoothed ascent, nearer to the best. "lp": the best one, by HiGHS. "qp": the quadratic
        relaxation, for pairs. "auto" is "smoothed" where it can be had, else "lp".
    time_limit : float or None
        Seconds; None for no limit.

    Returns
    -------
    GraphAnswer
        `is_exact` if the score of the labelling meets the bound of the relaxation. If the labelling
        breaks hard constraints there are no labels; then polish, or use `solve_graph`.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.rounding import solve_rounded
    >>> graph = FactorGraph([[0.0, 0.0]] * 3, [(0, 1), (1, 2), (0, 2)], [[0.0, 1.0], [1.0, 0.0]])
    >>> found = solve_rounded(graph, "kleinberg_tardos", n_draws=10)
    >>> found.score, round(found.bound, 6), found.is_exact, found.method
    (2.0, 3.0, False, 'smoothed+kleinberg_tardos')
    """
    chosen = as_rounding(rounding)
    if relaxation not in RELAXATIONS:
        raise ValueError(
            f"relaxation={relaxation!r} is not known. There are: "
            f"{', '.join(map(repr, RELAXATIONS))}."
        )
    if relaxation == "auto":
        is_rule = graph.shape.kinds != DENSE
        largest = table_sizes(graph.shape)[is_rule].max(initial=0.0)
        relaxation = "smoothed" if largest <= MOST_CELLS else "lp"
    options = Options(time_limit=time_limit)
    name = next((key for key, cls in ROUNDINGS.items() if type(chosen) is cls), None)
    method = f"{relaxation}+{name or type(chosen).__name__}"
    mu, bound = _relaxed(graph, relaxation, options)
    if mu is None:
        return GraphAnswer(None, -np.inf, bound, bound == -np.inf, method, 0)
    labels = round_graph(graph, mu, chosen, n_draws=n_draws, polish_by=polish_by, seed=seed)
    score = graph.score(labels.tolist())
    is_exact = is_proved(bound, score, options.tol)
    found = labels if score > -np.inf else None
    return GraphAnswer(found, score, max(bound, score), is_exact, method, 0)


def _relaxed(
    graph: FactorGraph, relaxation: str, options: Options
) -> tuple[npt.NDArray[np.float64] | None, float]:
    """Return node marginals of a relaxation, None if it has no point, and its bound."""
    if relaxation in ("smoothed", "admm"):
        near = (relaxed_point if relaxation == "smoothed" else admm_point)(graph, options)
        return (near.nodes if near.value > -np.inf else None), near.bound
    if relaxation == "qp":
        convex = quadratic_relaxation(graph, 1e-6, 2000, options.time_limit)
        return convex.unary, float(convex.bound)
    program = GraphProgram(graph.shape, integral=False)
    point = program.solve(graph.unary, graph.tables, options.time_limit)
    return point.unary, point.bound
