"""The convex quadratic relaxation of pairwise graphs, by Frank-Wolfe steps in one node at a time.

Over node marginals y, each in its simplex, it maximises

    sum_v <u_v, y_v> + sum_(a,b) y_a' T_ab y_b - sum_v sum_x d_v(x) (y_v(x)^2 - y_v(x)),
    d_v(x) = half the sum of |T| over the edges at v and the labels of the other ends,

which is concave because the diagonal outweighs the rest (Ravikumar and Lafferty). At a labelling
y^2 = y, so it is the score: the maximum is a bound. It is a poor one, never below that of the local
polytope, so this is no oracle. It is here because the roundings of the literature start from it.

A step moves mass from the label of node v with the least derivative to that with the largest. The
bound at any y is the value plus the gap of Frank and Wolfe, sum_v (max_x g_v(x) - <g_v, y_v>).

Forbidden labels have no mass. A forbidden entry of an edge is replaced by a finite number, the
least entry of its table less the range of the table, less 1: that can only raise the bound.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.moves import pair_factors

__all__ = ["QuadraticPoint", "quadratic_relaxation"]

_STEPS_PER_VISIT = 4
_PASSES_PER_CHECK = 10


class QuadraticPoint(NamedTuple):
    """An almost optimal point of the quadratic relaxation.

    Attributes
    ----------
    unary : float64 array, as that of the graph, or None
        The node marginals; None if all labels of a node are forbidden.
    value : float
        The concave objective there; not the score of anything, unless the point is integral.
    bound : float
        No labelling scores higher, and no y has a larger value; -inf if there is no labelling.
    n_passes : int
    """

    unary: npt.NDArray[np.float64] | None
    value: float
    bound: float
    n_passes: int


class _Quadratic(NamedTuple):
    """The edges, their tables with finite numbers, and the weights of the squares."""

    edges: npt.NDArray[np.int32]
    table_at: npt.NDArray[np.int64]
    tables: npt.NDArray[np.float64]
    unary: npt.NDArray[np.float64]
    start: npt.NDArray[np.int64]
    edge_of: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64]


def quadratic_relaxation(
    graph: FactorGraph,
    tol: float = 1e-6,
    max_passes: int = 2000,
    time_limit: float | None = None,
) -> QuadraticPoint:
    """Return a point of the quadratic relaxation whose gap is at most tol * (1 + |value|).

    Parameters
    ----------
    graph : FactorGraph
        With tables of one and two nodes only.
    tol : float
    max_passes : int
        The most passes over all nodes; the bound is valid also if they were too few.
    time_limit : float or None
        Seconds; looked at after every tenth pass.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.quadratic import quadratic_relaxation
    >>> graph = FactorGraph([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], [[1.0, 0.0], [0.0, 1.0]])
    >>> relaxed = quadratic_relaxation(graph)
    >>> relaxed.bound >= 2.0  # the score of the best labelling
    True
    """
    began = time.monotonic()
    shape = graph.shape
    problem = _quadratic(graph)
    mu = _first_point(graph, problem)
    if mu is None:
        return QuadraticPoint(None, -np.inf, -np.inf, 0)
    gradient = np.empty(int(shape.n_labels.max(initial=1)))
    n_passes = 0
    while True:
        value, gap = quadratic_gap(shape, problem, mu, gradient)
        is_late = time_limit is not None and time.monotonic() - began >= time_limit
        if gap <= tol * (1.0 + abs(value)) or n_passes >= max_passes or is_late:
            return QuadraticPoint(mu, float(value), float(value + gap), n_passes)
        count = min(_PASSES_PER_CHECK, max_passes - n_passes)
        quadratic_passes(shape, problem, count, mu, gradient)
        n_passes += count


def _quadratic(graph: FactorGraph) -> _Quadratic:
    """Return the problem in arrays; refuse factors that are no tables of one or two nodes."""
    shape = graph.shape
    singles, pairs, label_graph = pair_factors("the quadratic relaxation", shape)
    unary = graph.unary.copy()
    for f in singles.tolist():
        v, at = shape.members[shape.member_at[f]], shape.table_at[f]
        unary[shape.unary_at[v] : shape.unary_at[v + 1]] += graph.tables[
            at : at + shape.n_labels[v]
        ]
    edges = label_graph.edges
    sizes = shape.n_labels[edges].astype(np.int64).prod(axis=1)
    table_at = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    tables = np.empty(int(table_at[-1]))
    weight = np.zeros(len(unary))
    copy_tables(shape, graph.tables, pairs, edges, table_at, tables, weight)
    return _Quadratic(
        edges, table_at, tables, unary, label_graph.start, label_graph.edge_of, weight
    )


@kernel
def copy_tables(shape, given, pairs, edges, table_at, tables, weight):
    """Copy the tables of the edges, with finite numbers; add |T| / 2 to the weights."""
    for e in range(edges.shape[0]):
        a, b = edges[e, 0], edges[e, 1]
        source = shape.table_at[pairs[e]]
        n_cells = table_at[e + 1] - table_at[e]
        least, most = np.inf, -np.inf
        for i in range(n_cells):
            if given[source + i] > -np.inf:
                least = min(least, given[source + i])
                most = max(most, given[source + i])
        low = least - (most - least) - 1.0 if most > -np.inf else -1.0
        n_columns = shape.n_labels[b]
        for i in range(n_cells):
            value = max(given[source + i], low)
            tables[table_at[e] + i] = value
            weight[shape.unary_at[a] + i // n_columns] += 0.5 * abs(value)
            weight[shape.unary_at[b] + i % n_columns] += 0.5 * abs(value)


def _first_point(graph: FactorGraph, problem: _Quadratic) -> npt.NDArray[np.float64] | None:
    """Return equal mass on all labels that are not forbidden; None if a node has none."""
    allowed = (problem.unary > -np.inf).astype(np.float64)
    if len(graph.shape.n_labels) == 0:
        return allowed
    counts = np.add.reduceat(allowed, graph.shape.unary_at[:-1])
    if (counts == 0.0).any():
        return None
    mu: npt.NDArray[np.float64] = allowed / np.repeat(counts, graph.shape.n_labels)
    return mu


@kernel
def _fill_gradient(shape, problem, mu, v, gradient):
    """Fill gradient with the partial derivatives at node v; -inf at forbidden labels."""
    at = shape.unary_at[v]
    n_labels = shape.n_labels[v]
    for x in range(n_labels):
        gradient[x] = problem.unary[at + x] - problem.weight[at + x] * (2.0 * mu[at + x] - 1.0)
    for i in range(problem.start[v], problem.start[v + 1]):
        e = problem.edge_of[i]
        is_first = problem.edges[e, 0] == v
        u = problem.edges[e, 1] if is_first else problem.edges[e, 0]
        other = shape.unary_at[u]
        table = problem.table_at[e]
        n_other = shape.n_labels[u]
        for y in range(n_other):
            share = mu[other + y]
            if share > 0.0:
                if is_first:
                    for x in range(n_labels):
                        gradient[x] += share * problem.tables[table + x * n_other + y]
                else:
                    for x in range(n_labels):
                        gradient[x] += share * problem.tables[table + y * n_labels + x]


@kernel
def quadratic_passes(shape, problem, n_passes, mu, gradient):
    """Visit all nodes `n_passes` times; mu is overwritten and its value never falls."""
    for _ in range(n_passes):
        for v in range(shape.n_labels.shape[0]):
            _fill_gradient(shape, problem, mu, v, gradient)
            at = shape.unary_at[v]
            for _ in range(_STEPS_PER_VISIT):
                high = -1
                low = -1
                for x in range(shape.n_labels[v]):
                    if problem.unary[at + x] > -np.inf:
                        if high < 0 or gradient[x] > gradient[high]:
                            high = x
                        if mu[at + x] > 0.0 and (low < 0 or gradient[x] < gradient[low]):
                            low = x
                rise = gradient[high] - gradient[low]
                if high == low or rise <= 0.0:
                    break
                curvature = problem.weight[at + high] + problem.weight[at + low]
                step = mu[at + low]
                if 2.0 * curvature * step > rise:
                    step = rise / (2.0 * curvature)
                    mu[at + low] -= step
                else:
                    mu[at + low] = 0.0
                mu[at + high] += step
                gradient[high] -= 2.0 * problem.weight[at + high] * step
                gradient[low] += 2.0 * problem.weight[at + low] * step


@kernel
def quadratic_gap(shape, problem, mu, gradient):
    """Return the value at mu, and by how much at most it can rise: the Frank-Wolfe gap."""
    value = 0.0
    gap = 0.0
    for v in range(shape.n_labels.shape[0]):
        _fill_gradient(shape, problem, mu, v, gradient)
        at = shape.unary_at[v]
        best = -np.inf
        mean = 0.0
        for x in range(shape.n_labels[v]):
            if problem.unary[at + x] == -np.inf:
                continue
            best = max(best, gradient[x])
            mean += mu[at + x] * gradient[x]
            # Edges are in the gradients of both their ends: half of each.
            value += (
                0.5 * mu[at + x] * (gradient[x] + problem.unary[at + x] + problem.weight[at + x])
            )
        gap += best - mean
    return value, gap
