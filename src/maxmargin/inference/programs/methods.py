"""Methods for factor graphs that ask HiGHS: the relaxation, rounded, and the best labelling."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.primal import answer, first_labels
from maxmargin.inference.graph.rounded import Rounding, round_by_condition
from maxmargin.inference.programs.graphs import GraphProgram

__all__ = ["ilp", "lp"]

#: Iterations of SRMP for a labelling and a bound where HiGHS may end without.
_WARM_UP = 100


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
        labels, bound = first_labels(graph, n_iterations=_WARM_UP)
        return answer(graph, labels, min(bound, point.bound), "lp", 0, options)
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
        A labelling that was found before; by default that of some iterations of SRMP.
    bound : float
        A bound that is known; the answer has none that is higher.
    """
    began = time.monotonic()
    if start is None:
        start, known = first_labels(graph, n_iterations=_WARM_UP)
        bound = min(bound, known)
    limit = options.time_limit
    if limit is not None:
        limit = max(0.0, limit - (time.monotonic() - began))
    found = GraphProgram(graph.shape, integral=True).solve(graph.unary, graph.tables, limit, start)
    result = answer(graph, found.labels, min(found.bound, bound), "ilp", 1, options)
    if found.status == "optimal" and found.labels is not None:
        result = result._replace(bound=result.score, is_exact=True)
    return result
