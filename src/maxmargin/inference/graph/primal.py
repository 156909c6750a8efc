"""Methods that find labellings by changing them: local search and expansion moves.

They give no bound of their own. The one that they report is the sum of the best of each term, or
that of SRMP where it had to find the first labelling.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.answer import GraphAnswer, Options
from maxmargin.inference.graph.bound import message_bound
from maxmargin.inference.graph.local import local_room, polish
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.moves import expand, moves_room
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.srmp import srmp, srmp_room

__all__ = ["answer", "best_labels", "expansion", "first_labels", "local", "trivial_bound"]

#: Rounds of all labels after which expansion moves end, if they still gain then.
_ROUNDS = 100


def best_labels(graph: FactorGraph, values: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    """Return the labels of the largest of these values, which are laid out as graph.unary.

    Of equal ones the lowest.
    """
    shape = graph.shape
    if len(shape.n_labels) == 0:
        return np.zeros(0, dtype=np.int32)
    most = np.repeat(np.maximum.reduceat(values, shape.unary_at[:-1]), shape.n_labels)
    cells = np.flatnonzero(values == most)
    nodes = np.repeat(np.arange(len(shape.n_labels)), shape.n_labels)[cells]
    _, first = np.unique(nodes, return_index=True)
    return (cells[first] - shape.unary_at[:-1]).astype(np.int32)


def trivial_bound(graph: FactorGraph) -> float:
    """Return the sum of the best of each term."""
    shape = graph.shape
    messages = np.zeros(int(shape.message_at[-1]))
    out = np.empty(int(shape.n_labels.max(initial=1)))
    return float(message_bound(shape, graph.unary, graph.tables, messages, out))


def answer(
    graph: FactorGraph,
    labels: npt.NDArray[np.int32] | None,
    bound: float,
    method: str,
    n_iterations: int,
    options: Options,
) -> GraphAnswer:
    """Return an answer with the score of these labels, exact if the bound says so."""
    score = -np.inf
    if labels is not None:
        score = float(labelling_score(graph.shape, graph.unary, graph.tables, labels))
    if score == -np.inf:
        return GraphAnswer(None, -np.inf, bound, bound == -np.inf, method, n_iterations)
    # A bound below a score that was reached is rounding.
    bound = max(bound, score)
    is_exact = bound - score <= options.tol * (1.0 + abs(score))
    return GraphAnswer(labels, score, bound, is_exact, method, n_iterations)


def first_labels(graph: FactorGraph, n_iterations: int = 0) -> tuple[npt.NDArray[np.int32], float]:
    """Return labels to begin with, polished, and a bound.

    They are the best by unary scores. If these are not feasible, or if there are `n_iterations`,
    SRMP finds others, and the better ones are returned.
    """
    shape, unary, tables = graph.shape, graph.unary, graph.tables
    room, bound = local_room(shape), trivial_bound(graph)
    labels = best_labels(graph, graph.unary)
    score = polish(shape, unary, tables, room, labels)
    if n_iterations or score == -np.inf:
        messages, others = np.zeros(int(shape.message_at[-1])), np.zeros_like(labels)
        lower, found, _ = srmp(
            shape, unary, tables, messages, n_iterations or 50, 1e-9, srmp_room(shape), others
        )
        bound = min(bound, lower)
        if found > -np.inf and polish(shape, unary, tables, room, others) > score:
            labels = others
    return labels, float(bound)


def local(graph: FactorGraph, options: Options) -> GraphAnswer:
    """Local search from the labels with the best unary scores; if in vain, from those of SRMP."""
    labels, bound = first_labels(graph)
    return answer(graph, labels, bound, "local", 1, options)


def expansion(graph: FactorGraph, options: Options) -> GraphAnswer:
    """Expansion moves from where local search ended, and local search from where these end.

    `options.max_iter` limits the rounds of all labels; the time limit is looked at after each.
    """
    began = time.monotonic()
    shape, unary, tables = graph.shape, graph.unary, graph.tables
    room, polishing = moves_room(shape), local_room(shape)
    labels, bound = first_labels(graph)
    score = labelling_score(shape, unary, tables, labels)
    n_rounds = _ROUNDS if options.max_iter is None else options.max_iter
    n_labels = int(shape.n_labels.max(initial=1))
    done = 0
    while done < n_rounds:
        reached, n_moves = expand(shape, unary, tables, 1, room, labels)
        reached = max(reached, polish(shape, unary, tables, polishing, labels))
        done += 1
        if options.callback is not None:
            options.callback(done, bound, float(reached))
        is_late = options.time_limit is not None and time.monotonic() - began >= options.time_limit
        if not reached > score or n_moves < n_labels or is_late:
            break
        score = reached
    return answer(graph, labels, bound, "expansion", done, options)
