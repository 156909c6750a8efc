"""The best outputs of a hierarchy, best first, by the method that its space and shape allow."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from maxmargin.inference.hierarchy.checked import NodeProblem
from maxmargin.inference.hierarchy.closure import best_closure, closure_room
from maxmargin.inference.hierarchy.closure_kbest import best_closures_room, best_k_closures
from maxmargin.inference.hierarchy.forest import best_k_sets, best_sets_room, write_ranked_set
from maxmargin.inference.hierarchy.shape import ancestors

#: Finds the best set with the nodes of a mask in it and those of another out: flags and score.
Oracle = Callable[[np.ndarray, np.ndarray], tuple[npt.NDArray[np.int32], float]]


def best_first(problem: NodeProblem, k: int) -> Iterator[tuple[npt.NDArray[np.int32], float]]:
    """Yield the k best sets of nodes with their scores, fewer if there are fewer."""
    if problem.is_listed:
        yield from _of_listed(problem, k)
    elif problem.is_forest:
        yield from _of_forest(problem, k)
    elif problem.space == "closed":
        yield from _of_dag(problem, k)
    else:
        yield from _by_parts(problem, k, best_set_of(problem))


def best_set_of(problem: NodeProblem) -> Oracle:
    """Return what finds the best set of a DAG, under more constraints than the problem has."""
    scores, shape = problem.scores, problem.shape
    if problem.space == "paths":
        from maxmargin.inference.programs.hierarchy import PathsProgram  # which imports this room

        program = PathsProgram(shape, integral=True)

        def by_program(must: np.ndarray, out: np.ndarray) -> tuple[npt.NDArray[np.int32], float]:
            found = program.solve(np.where(out, -np.inf, scores), must)
            is_found = found.value > -np.inf
            return (found.node if is_found else np.zeros(len(scores))).astype(np.int32), found.value

        return by_program
    room, y = closure_room(shape), np.zeros(len(scores), dtype=np.int8)

    def by_cut(must: np.ndarray, out: np.ndarray) -> tuple[npt.NDArray[np.int32], float]:
        kept = np.where(out, -np.inf, scores)
        value = best_closure(kept, shape, must.astype(np.int8), room, y)
        return y.astype(np.int32), float(value)

    return by_cut


def listed_sets(problem: NodeProblem) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the nodes that are outputs of "leaf" or "path", and the flags of their nodes."""
    shape = problem.shape
    M = problem.n_nodes
    flags = np.zeros((M, M), dtype=bool)
    for n in range(M):
        for above in shape.parents[shape.parent_at[n] : shape.parent_at[n + 1]]:
            flags[n] |= flags[above]
        flags[n, n] = True
    nodes = np.arange(M)
    if problem.space == "leaf":
        nodes = np.flatnonzero(np.diff(shape.child_at) == 0)
    if len(problem.must):
        nodes = nodes[flags[nodes][:, problem.must == 1].all(axis=1)]
    return nodes, flags[nodes]


def sums_over(flags: npt.NDArray[np.bool_], scores: npt.NDArray[np.float64]) -> np.ndarray:
    """Return the sums of scores over the nodes of each row of flags; 0 times -inf is 0."""
    finite = np.where(np.isneginf(scores), 0.0, scores)
    sums = flags @ finite
    sums[(flags & np.isneginf(scores)).any(axis=1)] = -np.inf
    return np.asarray(sums)


def _of_listed(problem: NodeProblem, k: int) -> Iterator[tuple[npt.NDArray[np.int32], float]]:
    _, flags = listed_sets(problem)
    values = sums_over(flags, problem.scores)
    for place in np.argsort(-values, kind="stable")[:k]:
        if values[place] > -np.inf:
            yield flags[place].astype(np.int32), float(values[place])


def _of_forest(problem: NodeProblem, k: int) -> Iterator[tuple[npt.NDArray[np.int32], float]]:
    n_children, to_leaves = problem.n_children, problem.to_leaves
    room = best_sets_room(problem.n_nodes, k)
    count = best_k_sets(
        problem.scores, problem.parent, n_children, to_leaves, problem.must, k, room
    )
    y = np.zeros(problem.n_nodes, dtype=np.int8)
    for rank in range(count):
        write_ranked_set(rank, problem.parent, n_children, to_leaves, room, y)
        yield y.astype(np.int32), float(room.scores[rank])


def _of_dag(problem: NodeProblem, k: int) -> Iterator[tuple[npt.NDArray[np.int32], float]]:
    room, shape = best_closures_room(problem.n_nodes, k), problem.shape
    count = best_k_closures(problem.scores, shape, problem.must, k, closure_room(shape), room)
    for rank in range(count):
        yield room.sets[rank].astype(np.int32), float(room.scores[rank])


def _by_parts(
    problem: NodeProblem, k: int, best: Oracle
) -> Iterator[tuple[npt.NDArray[np.int32], float]]:
    """Split all sets but the best one into parts, each with a best set of its own, and so on.

    The part of node n has the sets that agree with the best one in all nodes before n, and not in
    n. One set more takes up to M calls of the oracle.
    """
    M = problem.n_nodes
    must = np.zeros(M, dtype=bool)
    if len(problem.must):
        must = problem.must == 1
    heap: list[tuple[float, int, np.ndarray, np.ndarray, np.ndarray, int]] = []
    n_made = 0

    def push(must: np.ndarray, out: np.ndarray, first: int) -> None:
        nonlocal n_made
        y, value = best(must, out)
        if value > -np.inf:
            heapq.heappush(heap, (-value, n_made, y, must, out, first))
            n_made += 1

    push(must, np.zeros(M, dtype=bool), 0)
    for found in range(k):
        if not heap:
            return
        low, _, y, must, out, first = heapq.heappop(heap)
        yield y, -low
        if found == k - 1:
            return
        for n in range(first, M):
            if not must[n] and not out[n]:
                more_in, more_out = must.copy(), out.copy()
                if y[n] == 1:
                    more_out[n] = True
                else:
                    more_in |= ancestors(problem.shape, [n])
                if not (more_in & more_out).any():
                    push(more_in, more_out, n + 1)
            must, out = must.copy(), out.copy()
            if y[n] == 1:
                must[n] = True
            else:
                out[n] = True
