"""Points of the local polytope of factor graphs, with their bound: the relaxation, not rounded."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.dense import dense_graph
from maxmargin.inference.graph.loopy import loopy
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.passing import DEFAULT, answer, deadline, is_proved, stride_of
from maxmargin.inference.graph.smoothed import FALL, FIRST, smoothed, smoothed_room
from maxmargin.inference.graph.srmp import srmp, srmp_room

__all__ = ["RelaxedPoint", "by_loopy", "by_smoothed", "relaxed_point", "write_labels"]

#: Temperatures of smoothed ascent, and the most passes at each if no limit is given.
N_ROUNDS, N_PASSES = 7, 60
#: Iterations of SRMP before and after; iterations and damping of loopy belief propagation.
N_SRMP, N_LOOPY, DAMPING = 100, 200, 0.3
#: The most entries of a rule that is written out as a table.
MOST_CELLS = 100_000


class RelaxedPoint(NamedTuple):
    """A point of the local polytope, exactly (up to rounding), and a bound of the relaxation.

    Attributes
    ----------
    nodes : float64 array, flat as the unary potentials
        mu_v of each node.
    factors : float64 array
        mu_f of factor f is factors[cell_at[f] : cell_at[f + 1]], in the order of its table.
    cell_at : int64 array
    value : float
        The score of the point: sum of u mu_v and of T mu_f. -inf if none was found that uses no
        forbidden entry; there are no marginals then.
    bound : float
        No point of the local polytope scores higher. -inf if it is empty.
    labels : int32 array of shape (n,)
        The best labelling that was met on the way.
    score : float
        Its score; -inf if it is forbidden.
    is_integral : bool
        Whether the point is that labelling.
    n_iterations : int
    """

    nodes: npt.NDArray[np.float64]
    factors: npt.NDArray[np.float64]
    cell_at: npt.NDArray[np.int64]
    value: float
    bound: float
    labels: npt.NDArray[np.int32]
    score: float
    is_integral: bool
    n_iterations: int


def relaxed_point(graph: FactorGraph, options: Options = DEFAULT) -> RelaxedPoint:
    """Return a good point of the local polytope, and a bound that is often close to it.

    SRMP comes first; if its labelling meets its bound, that is the optimum of the relaxation. If
    not, smoothed ascent starts from zero, and SRMP lowers the bound of its messages. Of the points
    met, labellings included, the best is returned.

    Parameters
    ----------
    graph : FactorGraph
        Rules are written out as tables.
    options : Options
        max_iter is the number of passes per temperature, 60 if None.

    Examples
    --------
    Three nodes that should differ have two labels: half of each is the best.

    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.relaxed import relaxed_point
    >>> differ = [[0.0, 1.0], [1.0, 0.0]]
    >>> point = relaxed_point(FactorGraph([[0.0, 0.0]] * 3, [(0, 1), (1, 2), (2, 0)], differ))
    >>> point.nodes.round(6).tolist(), round(point.value, 6), point.score
    ([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], 3.0, 2.0)
    """
    return _point(dense_graph(graph, MOST_CELLS), options)


def by_smoothed(graph: FactorGraph, options: Options = DEFAULT) -> GraphAnswer:
    """Return the labelling that smoothed ascent leads to, and its bound.

    The point of the local polytope is rounded to its largest marginals, and by SRMP from its
    messages; see `relaxed_point`. Other roundings are in `maxmargin.rounding`.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.relaxed import by_smoothed
    >>> differ = [[0.0, 1.0], [1.0, 0.0]]
    >>> found = by_smoothed(FactorGraph([[0.0, 0.0]] * 3, [(0, 1), (1, 2), (2, 0)], differ))
    >>> found.score, round(found.bound, 6), found.is_exact
    (2.0, 3.0, False)
    """
    point = _point(dense_graph(graph, MOST_CELLS), options)
    return answer(
        "smoothed", point.labels, point.score, point.bound, options.tol, point.n_iterations
    )


def by_loopy(graph: FactorGraph, options: Options = DEFAULT) -> GraphAnswer:
    """Return the best labelling that loopy belief propagation meets.

    It has no bound, unless there are no factors.

    Parameters
    ----------
    graph : FactorGraph
    options : Options
        max_iter is 200 if None.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.relaxed import by_loopy
    >>> graph = FactorGraph([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], [[1.0, 0.0], [0.0, 1.0]])
    >>> found = by_loopy(graph)
    >>> found.labels.tolist(), found.score, found.bound
    ([1, 1], 2.0, inf)
    """
    ends = deadline(options)
    most = N_LOOPY if options.max_iter is None else options.max_iter
    room = srmp_room(graph.shape)
    messages = np.zeros(int(graph.shape.message_at[-1]))
    labels = np.zeros(graph.n_nodes, dtype=np.int32)
    trial = np.zeros(graph.n_nodes, dtype=np.int32)
    score, n_done = -np.inf, 0
    stride = stride_of(graph, options, most)
    while n_done < most:
        now = min(stride, most - n_done)
        found, change, n = loopy(
            graph.shape, graph.unary, graph.tables, messages, now, DAMPING, options.tol, room, trial
        )
        n_done += n
        if found > score:
            score = found
            labels[:] = trial
        if options.callback is not None:
            options.callback(n_done, np.inf, score)
        if change <= options.tol or time.perf_counter() > ends:
            break
    bound = np.inf if graph.n_factors else score
    return answer("loopy", labels, score, bound, options.tol, n_done)


def _point(graph: FactorGraph, options: Options) -> RelaxedPoint:
    """Do as `relaxed_point`, for a graph of tables."""
    ends = deadline(options)
    given = (graph.shape, graph.unary, graph.tables)
    room = smoothed_room(graph.shape)
    messages = np.zeros(int(graph.shape.message_at[-1]))
    labels = np.zeros(graph.n_nodes, dtype=np.int32)
    trial = np.zeros(graph.n_nodes, dtype=np.int32)
    bound, score, n_done = srmp(*given, messages, N_SRMP, options.tol, room.srmp, labels)
    nodes, factors, value = np.zeros_like(room.nodes), np.zeros_like(room.factors), -np.inf
    is_closed = bound == -np.inf or is_proved(bound, score, options.tol)
    if not is_closed:
        n_passes = N_PASSES if options.max_iter is None else options.max_iter
        messages[:] = 0.0
        own_nodes, own_factors = np.zeros_like(nodes), np.zeros_like(factors)
        for k in range(N_ROUNDS):
            share = FIRST / FALL**k
            found, own, n = smoothed(
                *given, messages, share, 1, n_passes, room, own_nodes, own_factors
            )
            bound, n_done = min(bound, found), n_done + n
            if own > value:
                value, nodes[:], factors[:] = own, own_nodes, own_factors
            if options.callback is not None:
                options.callback(n_done, bound, score)
            if bound == -np.inf or time.perf_counter() > ends:
                break
    if not is_closed and bound > -np.inf:
        found, own, n = srmp(*given, messages, N_SRMP, options.tol, room.srmp, trial)
        bound, n_done = min(bound, found), n_done + n
        for labelling, own_score in ((trial, own), _rounded(graph, own_nodes)):
            if own_score > score:
                labels, score = labelling.copy(), own_score
    is_integral = score > -np.inf and score >= value
    if is_integral:
        value = score
        write_labels(graph, labels, room.cell_at, nodes, factors)
    bound = max(bound, value)
    return RelaxedPoint(
        nodes,
        factors,
        room.cell_at,
        float(value),
        float(bound),
        labels,
        float(score),
        bool(is_integral),
        int(n_done),
    )


def _rounded(
    graph: FactorGraph, nodes: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int32], float]:
    """Return the labels of largest marginals, and their score."""
    at = graph.shape.unary_at
    parts = np.split(nodes, at[1:-1]) if graph.n_nodes else []
    labels = np.array([int(np.argmax(part)) for part in parts], dtype=np.int32)
    return labels, graph.score(labels.tolist())


def write_labels(
    graph: FactorGraph,
    labels: npt.NDArray[np.int32],
    cell_at: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.float64],
    factors: npt.NDArray[np.float64],
) -> None:
    """Write a labelling as marginals: 1 at what it uses, 0 elsewhere."""
    shape = graph.shape
    nodes[:] = factors[:] = 0.0
    nodes[shape.unary_at[:-1] + labels] = 1.0
    # The cell of a factor: sum of labels times strides, the last axis first.
    stride = np.ones(len(shape.members), dtype=np.int64)
    sizes = shape.n_labels[shape.members].astype(np.int64)
    orders = np.diff(shape.member_at)
    for back in range(2, int(orders.max(initial=0)) + 1):
        slots = shape.member_at[1:][orders >= back] - back
        stride[slots] = stride[slots + 1] * sizes[slots + 1]
    if len(stride):
        cells = np.add.reduceat(labels[shape.members] * stride, shape.member_at[:-1])
        factors[cell_at[:-1] + cells] = 1.0
