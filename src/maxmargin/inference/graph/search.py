"""SRMP as a method with limits on time and iterations.

Kernels are called a few iterations at a time, so that clocks and callbacks have their turn.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.local import local_room, polish
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.srmp import srmp as run_srmp
from maxmargin.inference.graph.srmp import srmp_room

__all__ = ["srmp"]

#: Iterations of SRMP if nothing else is said.
MOST_ITERATIONS = 500
#: About how many numbers of messages are computed between two looks at the clock.
AT_ONCE = 20_000_000


def srmp(graph: FactorGraph, options: Options) -> GraphAnswer:
    """Run SRMP from zero messages, and local search from the best labelling that it met."""
    began = time.monotonic()
    shape, unary, tables = graph.shape, graph.unary, graph.tables
    n_messages = int(shape.message_at[-1])
    messages = np.zeros(n_messages)
    room = srmp_room(shape)
    labels, best = np.zeros((2, graph.n_nodes), dtype=np.int32)
    most = MOST_ITERATIONS if options.max_iter is None else options.max_iter
    # Never less than three: SRMP decodes in every third iteration, and in the last.
    stride = int(np.clip(AT_ONCE // max(1, 2 * n_messages), 3, 50))
    bound, score, done = np.inf, -np.inf, 0
    while done < most:
        asked = min(stride, most - done)
        lower, value, n_done = run_srmp(
            shape, unary, tables, messages, asked, options.tol, room, labels
        )
        done += int(n_done)
        bound = min(bound, float(lower))
        if value > score:
            score, best = float(value), labels.copy()
        if options.callback is not None:
            options.callback(done, bound, score)
        if n_done < asked or _is_closed(bound, score, options.tol):
            break
        if options.time_limit is not None and time.monotonic() - began >= options.time_limit:
            break
    return _finished(graph, best, bound, done, options)


def _is_closed(bound: float, score: float, tol: float) -> bool:
    return bound == -np.inf or bound - score <= tol * (1.0 + abs(score))


def _finished(
    graph: FactorGraph,
    labels: npt.NDArray[np.int32],
    bound: float,
    n_iterations: int,
    options: Options,
) -> GraphAnswer:
    """Return the answer, polished where the bound is not reached."""
    if bound == -np.inf:
        return GraphAnswer(None, -np.inf, -np.inf, True, "srmp", n_iterations)
    room = local_room(graph.shape)
    score = float(polish(graph.shape, graph.unary, graph.tables, room, labels))
    if score == -np.inf:
        return GraphAnswer(None, -np.inf, bound, False, "srmp", n_iterations)
    bound = max(bound, score)  # sums of the same numbers in different order
    is_exact = _is_closed(bound, score, options.tol)
    return GraphAnswer(labels, score, bound, is_exact, "srmp", n_iterations)
