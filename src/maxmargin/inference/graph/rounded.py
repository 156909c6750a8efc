"""The quadratic relaxation as a method: rounded, with its bound; and the rounding it uses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.local import local_room, polish
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.multilinear import conditional_labels, multilinear_room
from maxmargin.inference.graph.primal import answer, best_labels
from maxmargin.inference.graph.quadratic import quadratic_relaxation

__all__ = ["Rounding", "qp", "round_by_condition"]

#: A rounding: node marginals, laid out as the unary scores of a graph, to labels.
Rounding = Callable[[FactorGraph, npt.NDArray[np.float64]], npt.NDArray[np.int32]]


def round_by_condition(graph: FactorGraph, mu: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    """Return the better of conditional and of largest-mass rounding, both polished."""
    shape = graph.shape
    labels, room = np.empty(len(shape.n_labels), dtype=np.int32), local_room(shape)
    order = np.arange(len(shape.n_labels))
    conditional_labels(shape, graph.unary, graph.tables, mu, order, multilinear_room(shape), labels)
    others = best_labels(graph, mu)
    score = polish(shape, graph.unary, graph.tables, room, labels)
    return others if polish(shape, graph.unary, graph.tables, room, others) > score else labels


def qp(
    graph: FactorGraph, options: Options, rounding: Rounding = round_by_condition
) -> GraphAnswer:
    """Solve the convex quadratic relaxation and round it; the bound is that of the relaxation.

    It is of use to compare roundings: its bound is never lower than that of the linear relaxation.
    """
    n_passes = 2000 if options.max_iter is None else options.max_iter
    point = quadratic_relaxation(graph, max(options.tol, 1e-6), n_passes, options.time_limit)
    if point.unary is None:
        return answer(graph, None, -np.inf, "qp", 0, options)
    labels = rounding(graph, point.unary)
    return answer(graph, labels, point.bound, "qp", point.n_passes, options)
