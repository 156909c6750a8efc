"""ADMM as a method for factor graphs: the relaxation to many digits, and labellings."""

from __future__ import annotations

import time

import numpy as np

from maxmargin.inference.graph.admm import admm, admm_room
from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.dense import dense_graph
from maxmargin.inference.graph.local import local_room, polish
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.passing import answer, deadline, is_proved, stride_of
from maxmargin.inference.graph.primal import best_labels
from maxmargin.inference.graph.relaxed import MOST_CELLS, RelaxedPoint, write_labels
from maxmargin.inference.graph.srmp import srmp, srmp_room

__all__ = ["admm_point", "by_admm"]

DEFAULT = Options()
#: Iterations if no limit is given; and of SRMP before and after them.
N_ITERATIONS, N_SRMP = 1000, 20


def admm_point(graph: FactorGraph, options: Options = DEFAULT) -> RelaxedPoint:
    """Return a point of the local polytope close to the optimum of the relaxation, and a bound.

    A few iterations of SRMP come first: if their labelling meets their bound, that is the optimum.
    If not, ADMM goes on from their messages until bound and point meet, and SRMP from those that it
    leaves. Of the points met, labellings included, the best is returned.

    Parameters
    ----------
    graph : FactorGraph
        Rules are written out as tables.
    options : Options
        max_iter is 1000 if None.

    Examples
    --------
    Three nodes that should differ have two labels: half of each is the best.

    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.splitting import admm_point
    >>> differ = [[0.0, 1.0], [1.0, 0.0]]
    >>> point = admm_point(FactorGraph([[0.0, 0.0]] * 3, [(0, 1), (1, 2), (2, 0)], differ))
    >>> point.nodes.round(6).tolist(), round(point.value, 6), point.score
    ([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], 3.0, 2.0)
    """
    graph = dense_graph(graph, MOST_CELLS)
    given = graph.shape, graph.unary, graph.tables
    ends = deadline(options)
    labels, trial = (np.zeros(graph.n_nodes, dtype=np.int32) for _ in range(2))
    messages, passing = np.zeros(int(graph.shape.message_at[-1])), srmp_room(graph.shape)
    bound, score, n_done = srmp(*given, messages, N_SRMP, options.tol, passing, labels)
    room = admm_room(graph.shape)
    nodes, factors, value = np.zeros_like(room.nodes), np.zeros_like(room.factors), -np.inf
    own_nodes, own_factors = np.zeros_like(nodes), np.zeros_like(factors)
    most = N_ITERATIONS if options.max_iter is None else options.max_iter
    stride, step, n_made = stride_of(graph, options, most), 0.0, 0
    if bound > -np.inf and not is_proved(bound, score, options.tol):
        while n_made < most:
            now = min(stride, most - n_made)
            found, own, n, step = admm(
                *given, messages, step, now, options.tol, room, own_nodes, own_factors
            )
            n_made, bound = n_made + n, min(bound, found)
            if own > value:
                value, nodes[:], factors[:] = own, own_nodes, own_factors
            if options.callback is not None:
                options.callback(n_done + n_made, max(bound, score), score)
            is_closed = bound - value <= options.tol * (1.0 + abs(bound))
            if bound == -np.inf or is_closed or time.perf_counter() > ends:
                break
        found, own, n = srmp(*given, messages, N_SRMP, options.tol, passing, trial)
        bound, n_done = min(bound, found), n_done + n_made + n
        rounded = best_labels(graph, nodes)
        polished = polish(*given, local_room(graph.shape), rounded)
        for labelling, reached in ((trial, own), (rounded, polished)):
            if reached > score:
                labels, score = labelling.copy(), reached
    is_integral = score > -np.inf and score >= value
    if is_integral:
        value = score
        write_labels(graph, labels, room.cell_at, nodes, factors)
    return RelaxedPoint(
        nodes,
        factors,
        room.cell_at,
        float(value),
        float(max(bound, value)),
        labels,
        float(score),
        bool(is_integral),
        int(n_done),
    )


def by_admm(graph: FactorGraph, options: Options = DEFAULT) -> GraphAnswer:
    """Return the labelling that ADMM leads to, and its bound.

    Its point is rounded to the largest marginals and polished, or SRMP decodes from its messages;
    see `admm_point`. Other roundings are in `maxmargin.rounding`.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.splitting import by_admm
    >>> differ = [[0.0, 1.0], [1.0, 0.0]]
    >>> found = by_admm(FactorGraph([[0.0, 0.0]] * 3, [(0, 1), (1, 2), (2, 0)], differ))
    >>> found.score, round(found.bound, 6), found.is_exact
    (2.0, 3.0, False)
    """
    point = admm_point(graph, options)
    return answer("admm", point.labels, point.score, point.bound, options.tol, point.n_iterations)
