"""The k best labellings by any method that finds the best one (Lawler 1972).

The best labelling x splits the others: those that first differ from it at node 0, at node 1, and so
on. The best of each part is found by forbidding labels, and the best of these is the second best
labelling of all; its part is split in the same way. That takes up to n calls per labelling.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Generator

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.answer import GraphAnswer
from maxmargin.inference.graph.model import FactorGraph

__all__ = ["best_by_partition"]


def best_by_partition(
    graph: FactorGraph, solve: Callable[[FactorGraph], GraphAnswer]
) -> Generator[GraphAnswer, None, float]:
    """Yield labellings from the best down, as long as any are found.

    The bound of each answer is one on all labellings that were not yielded before. Returned is a
    bound on those that were never yielded, -inf if there is none.

    Parameters
    ----------
    graph : FactorGraph
    solve : callable
        graph -> GraphAnswer. The order is that of the scores only if its answers are exact.
    """
    shape = graph.shape
    count = itertools.count()
    # An entry: -score, a number that settles ties, answer, unary scores, first node that may split.
    parts: list[tuple[float, int, GraphAnswer, npt.NDArray[np.float64], int]] = []
    # No labelling of a part for which none was found scores above this.
    lost = -np.inf

    def enter(unary: npt.NDArray[np.float64], first: int) -> None:
        nonlocal lost
        answer = solve(FactorGraph.of_arrays(shape, unary, graph.tables))
        if answer.labels is not None:
            heapq.heappush(parts, (-answer.score, next(count), answer, unary, first))
        else:
            lost = max(lost, answer.bound)

    enter(graph.unary, 0)
    while parts:
        bound = max(lost, max(part[2].bound for part in parts))
        _, _, answer, unary, first = heapq.heappop(parts)
        labels = answer.labels
        if labels is None:
            continue  # such parts are not entered
        is_exact = answer.is_exact and bound <= answer.bound
        yield answer._replace(bound=max(bound, answer.score), is_exact=is_exact)
        held = unary.copy()
        for v in range(first, len(shape.n_labels)):
            own = slice(shape.unary_at[v], shape.unary_at[v + 1])
            x = int(labels[v])
            if np.count_nonzero(held[own] > -np.inf) > 1:
                other = held.copy()
                other[own][x] = -np.inf
                enter(other, v)
            kept = held[own][x]
            held[own] = -np.inf
            held[own][x] = kept
    return lost
