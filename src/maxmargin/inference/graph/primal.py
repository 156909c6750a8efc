"""Methods that find labellings by changing them: local search and expansion moves.

They give no bound of their own. The one that they report is that of each term alone, which is the
score only where the terms agree.
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

__all__ = ["answer", "expansion", "local", "unary_labels"]

#: Rounds of all labels after which expansion moves end, if they still gain then.
_ROUNDS = 100


def unary_labels(graph: FactorGraph) -> npt.NDArray[np.int32]:
    """Return the labels with the best unary scores, the lowest of equal ones."""
    return best_labels(graph, graph.unary)


def best_labels(graph: FactorGraph, values: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    """Return the labels of the largest of these values, one per label of each node."""
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


def local(graph: FactorGraph, options: Options) -> GraphAnswer:
    """Local search from the labels with the best unary scores."""
    labels = unary_labels(graph)
    polish(graph.shape, graph.unary, graph.tables, local_room(graph.shape), labels)
    return answer(graph, labels, trivial_bound(graph), "local", 1, options)


def expansion(graph: FactorGraph, options: Options) -> GraphAnswer:
    """Expansion moves from where local search ended, and local search from where these ended.

    `options.max_iter` limits the rounds of all labels; the time limit is looked at after each.
    """
    began = time.monotonic()
    shape, unary, tables = graph.shape, graph.unary, graph.tables
    room, polishing = moves_room(shape), local_room(shape)
    labels = unary_labels(graph)
    score = polish(shape, unary, tables, polishing, labels)
    bound = trivial_bound(graph)
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
