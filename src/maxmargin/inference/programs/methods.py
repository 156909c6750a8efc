"""Methods for factor graphs that ask HiGHS: the linear relaxation, rounded, and the best labelling."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.local import local_room, polish
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.multilinear import conditional_labels, multilinear_room
from maxmargin.inference.graph.primal import answer, best_labels, local, trivial_bound
from maxmargin.inference.programs.graphs import GraphProgram

__all__ = ["ilp", "lp", "round_by_condition"]

#: A rounding: node marginals, laid out as the unary scores of a graph, to labels.
Rounding = Callable[[FactorGraph, npt.NDArray[np.float64]], npt.NDArray[np.int32]]


def round_by_condition(
    graph: FactorGraph, mu: npt.NDArray[np.float64]
) -> npt.NDArray[np.int32]:
    """Return the better of conditional and of largest-mass rounding, both polished."""
    shape = graph.shape
    labels, room = np.empty(len(shape.n_labels), dtype=np.int32), local_room(shape)
    order = np.arange(len(shape.n_labels))
    conditional_labels(
        shape, graph.unary, graph.tables, mu, order, multilinear_room(shape), labels
    )
    others = best_labels(graph, mu)
    score = polish(shape, graph.unary, graph.tables, room, labels)
    return others if polish(shape, graph.unary, graph.tables, room, others) > score else labels


def lp(
    graph: FactorGraph, options: Options, rounding: Rounding = round_by_condition
) -> GraphAnswer:
    """Solve the linear relaxation and round it; the bound is that of the relaxation.

    Parameters
    ----------
    graph : FactorGraph
    options : Options
    rounding : callable
        rounding(graph, mu) -> labels, such as those of `maxmargin.rounding`.
    """
    point = GraphProgram(graph.shape, integral=False).solve(
        graph.unary, graph.tables, options.time_limit
    )
    if point.status == "infeasible":
        return answer(graph, None, -np.inf, "lp", 0, options)
    if point.unary is None:
        # The time was too short for a point.
        return answer(graph, local(graph, options).labels, point.bound, "lp", 0, options)
    return answer(graph, rounding(graph, point.unary), point.bound, "lp", 1, options)


def ilp(
    graph: FactorGraph,
    options: Options,
    start: npt.NDArray[np.int32] | None = None,
    bound: float = np.inf,
) -> GraphAnswer:
    """Solve the integer programme: a best labelling, or what was found within the time limit.

    Parameters
    ----------
    graph : FactorGraph
    options : Options
    start : int32 array of shape (n,), or None
        A labelling that was found before; by default that of local search.
    bound : float
        A bound that is known; the answer has none that is higher.
    """
    began = time.monotonic()
    if start is None:
        start = local(graph, options).labels
    limit = options.time_limit
    if limit is not None:
        limit = max(0.0, limit - (time.monotonic() - began))
    found = GraphProgram(graph.shape, integral=True).solve(
        graph.unary, graph.tables, limit, start
    )
    known = min(found.bound, bound, trivial_bound(graph))
    result = answer(graph, found.labels, known, "ilp", 1, options)
    if found.status == "optimal" and found.labels is not None:
        result = result._replace(bound=result.score, is_exact=True)
    return result
