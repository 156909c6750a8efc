"""Hierarchies: outputs are nodes, or sets of nodes; the score is the sum over the nodes.

There are four spaces of outputs:

- "leaf": one leaf, which stands for itself and all nodes above it.
- "path": one node, a leaf or not, likewise.
- "paths": a union of paths from a root to a leaf, one at least. In a DAG: a set of nodes that holds
  the parents of its nodes, and a child of each of its inner nodes.
- "closed": any set of nodes that holds the parents of its nodes, the empty one too.

The hierarchy is a forest or a DAG, a `HierarchyShape`. An output of "leaf" and "path" is the number
of its node, one of "paths" and "closed" an int32 array of M zeros and ones. Scores may be -inf,
which keeps a node out, and so what is below it. All answers are exact. Closed sets of a DAG take
one minimum cut. Unions of paths of a DAG are NP-hard: HiGHS solves an integer programme, which may
take long. Ties go to lower nodes or leave nodes out, but for integer programmes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import (
    check_count,
    check_feasible,
    check_temperature,
)
from maxmargin.inference.answer import Answer, CostProfile, exact
from maxmargin.inference.hierarchy.best_first import (
    best_first,
    best_set_of,
    listed_sets,
    sums_over,
)
from maxmargin.inference.hierarchy.checked import NodeProblem, check_problem, check_set
from maxmargin.inference.hierarchy.forest import (
    set_levels_room,
    set_marginals,
    set_max_marginals,
    set_profile,
    write_set_level,
)
from maxmargin.inference.hierarchy.shape import HierarchyShape, ancestors

__all__ = ["NodeMarginals", "k_best", "marginals", "max_marginals", "maximize", "profile", "score"]


class NodeMarginals(NamedTuple):
    """Probabilities of nodes under p(y) ~ exp(score(y) / temperature).

    Attributes
    ----------
    node : float64 array of shape (M,)
        The probability that node n is in the set, or above the node, that is drawn.
    log_partition : float
        log sum_y exp(score(y) / temperature).
    """

    node: npt.NDArray[np.float64]
    log_partition: float


def maximize(
    scores: npt.ArrayLike,
    shape: HierarchyShape,
    space: str = "closed",
    *,
    required: Iterable[int] = (),
    forbidden: Iterable[int] = (),
) -> Answer:
    """Return the best output.

    Parameters
    ----------
    scores : array-like of shape (M,)
        Scores of the nodes, -inf where a node must be out.
    shape : HierarchyShape
    space : {"leaf", "path", "paths", "closed"}
    required : iterable of nodes that must be in the output, and so all nodes above them
    forbidden : iterable of nodes that must be out, and so all nodes below them

    Examples
    --------
    >>> from maxmargin.inference import hierarchy
    >>> from maxmargin.inference.hierarchy import hierarchy_shape
    >>> shape = hierarchy_shape(5, child=[1, 2, 3, 4], parent=[0, 0, 1, 1])
    >>> scores = [0.5, 1.0, -1.0, -3.0, -2.0]
    >>> hierarchy.maximize(scores, shape, "leaf").output
    2
    >>> hierarchy.maximize(scores, shape, "path").output
    1
    >>> hierarchy.maximize(scores, shape, "closed").output
    array([1, 1, 0, 0, 0], dtype=int32)
    >>> hierarchy.maximize(scores, shape, "paths", required=[4]).score
    -0.5
    """
    problem = check_problem(scores, shape, space, required, forbidden)
    for y, value in best_first(problem, 1):
        return exact(_output(problem, y), value)
    check_feasible(-np.inf)
    raise AssertionError  # check_feasible has raised


def k_best(
    scores: npt.ArrayLike,
    shape: HierarchyShape,
    space: str = "closed",
    *,
    k: int,
    required: Iterable[int] = (),
    forbidden: Iterable[int] = (),
) -> list[Answer]:
    """Return the k best outputs, best first; fewer if fewer are allowed.

    Parameters are those of `maximize`, and `k`, at least 1. In a DAG each further set of "closed"
    or "paths" may take as many calls of `maximize` as there are nodes.

    Examples
    --------
    >>> from maxmargin.inference import hierarchy
    >>> from maxmargin.inference.hierarchy import hierarchy_shape
    >>> shape = hierarchy_shape(3, child=[1, 2], parent=[0, 0])
    >>> answers = hierarchy.k_best([1.0, 0.5, -2.0], shape, k=3)
    >>> [(answer.output.tolist(), answer.score) for answer in answers]
    [([1, 1, 0], 1.5), ([1, 0, 0], 1.0), ([0, 0, 0], 0.0)]
    """
    problem = check_problem(scores, shape, space, required, forbidden)
    k = check_count("k", k)
    answers = [exact(_output(problem, y), value) for y, value in best_first(problem, k)]
    if not answers:
        check_feasible(-np.inf)
    return answers


def score(
    scores: npt.ArrayLike, shape: HierarchyShape, space: str = "closed", *, output: Any
) -> float:
    """Return the score of an output; -inf if it has a node that must be out.

    Examples
    --------
    >>> from maxmargin.inference import hierarchy
    >>> from maxmargin.inference.hierarchy import hierarchy_shape
    >>> hierarchy.score([1.0, 0.5], hierarchy_shape(2, [1], [0]), "path", output=1)
    1.5
    """
    problem = check_problem(scores, shape, space)
    y = check_set("output", output, problem)
    return float(sums_over(y[None] == 1, problem.scores)[0])


def marginals(
    scores: npt.ArrayLike, shape: HierarchyShape, space: str = "closed", temperature: float = 1.0
) -> NodeMarginals:
    """Return the probabilities of nodes and the log-partition of p(y) ~ exp(score / temperature).

    For "leaf" and "path" on any hierarchy; for sets of nodes on forests.

    Examples
    --------
    >>> from maxmargin.inference import hierarchy
    >>> from maxmargin.inference.hierarchy import hierarchy_shape
    >>> found = hierarchy.marginals([0.0, 0.0], hierarchy_shape(2, [1], [0]))
    >>> found.node.round(3), round(found.log_partition, 3)
    (array([0.667, 0.333]), 1.099)
    """
    problem = check_problem(scores, shape, space)
    temperature = check_temperature(temperature)
    if problem.is_listed:
        from scipy.special import logsumexp

        _, flags = listed_sets(problem)
        logs = sums_over(flags, problem.scores) / temperature
        check_feasible(logs.max())
        total = float(logsumexp(logs))
        return NodeMarginals(np.exp(logs - total) @ flags, total)
    _check_forest(problem, "marginals")
    node = np.zeros(problem.n_nodes)
    log_any, top, rest = np.zeros((3, problem.n_nodes + 1))
    total = set_marginals(
        problem.scores, problem.parent, problem.n_children, problem.to_leaves, temperature,
        log_any, top, rest, node,
    )  # fmt: skip
    check_feasible(total)
    return NodeMarginals(node, float(total))


def max_marginals(
    scores: npt.ArrayLike, shape: HierarchyShape, space: str = "closed"
) -> npt.NDArray[np.float64]:
    """Return, at [n, 0] and [n, 1], the best score of an output without and with node n.

    -inf where there is none. For sets of nodes of a DAG each number takes a call of `maximize`.

    Examples
    --------
    >>> from maxmargin.inference import hierarchy
    >>> from maxmargin.inference.hierarchy import hierarchy_shape
    >>> hierarchy.max_marginals([1.0, -3.0], hierarchy_shape(2, [1], [0]))
    array([[ 0.,  1.],
           [ 1., -2.]])
    """
    problem = check_problem(scores, shape, space)
    M = problem.n_nodes
    found = np.full((M, 2), -np.inf)
    if problem.is_listed:
        _, flags = listed_sets(problem)
        values = sums_over(flags, problem.scores)
        for n in range(M):
            for state in (0, 1):
                found[n, state] = values[flags[:, n] == state].max(initial=-np.inf)
    elif problem.is_forest:
        most, second = np.zeros((2, M + 1))
        set_max_marginals(
            problem.scores, problem.parent, problem.n_children, problem.to_leaves,
            np.zeros((3, M + 1)), most, second, found,
        )  # fmt: skip
    else:
        best, none = best_set_of(problem), np.zeros(M, dtype=bool)
        for n in range(M):
            found[n, 0] = best(none, np.arange(M) == n)[1]
            found[n, 1] = best(ancestors(shape, [n]), none)[1]
    return found


def profile(
    scores: npt.ArrayLike,
    shape: HierarchyShape,
    space: str = "closed",
    *,
    reference: Any,
    taken: npt.ArrayLike = 1,
    left: npt.ArrayLike = 1,
) -> CostProfile:
    """Return the best output at every cost, a sum over the nodes in which it differs.

    Parameters are those of `maximize`, and

    reference : node, or array-like of shape (M,)
        An output.
    taken, left : int >= 0, or arrays of shape (M,)
        The cost of a node that is in the output but not in the reference, and of one that is in the
        reference but not in the output.

    For "leaf" and "path" on any hierarchy; for sets of nodes on forests. The `outputs` of the
    profile are flags of nodes for every space; -1 where no output has that cost.

    Examples
    --------
    >>> from maxmargin.inference import hierarchy
    >>> from maxmargin.inference.hierarchy import hierarchy_shape
    >>> shape = hierarchy_shape(3, child=[1, 2], parent=[0, 0])
    >>> found = hierarchy.profile([1.0, 0.5, -2.0], shape, reference=[1, 0, 1])
    >>> found.score.tolist()
    [-1.0, 1.0, 1.5, -inf]
    >>> found.outputs[2]
    array([1, 1, 0], dtype=int32)
    """
    problem = check_problem(scores, shape, space)
    truth = check_set("reference", reference, problem)
    M = problem.n_nodes
    prices = [_steps("taken", taken, M), _steps("left", left, M)]
    most = np.maximum(*prices)
    is_taken = np.where(truth == 0, prices[0], 0).astype(np.int32)
    is_left = np.where(truth == 1, prices[1], 0).astype(np.int32)
    if problem.is_listed:
        _, flags = listed_sets(problem)
        return _profile_listed(problem, flags, is_taken, is_left, int(most.sum()) + 1)
    _check_forest(problem, "a profile")
    room = set_levels_room(problem.parent, most)
    best = np.zeros(int(room.size[M]) + 1)
    set_profile(
        problem.scores, problem.parent, problem.n_children, problem.to_leaves, is_taken, is_left,
        room, best,
    )  # fmt: skip
    outputs = np.full((len(best), M), -1, dtype=np.int32)
    y = np.zeros(M, dtype=np.int8)
    for level in np.flatnonzero(best > -np.inf):
        write_set_level(problem.parent, is_taken, is_left, int(level), room, y)
        outputs[level] = y
    return CostProfile(best, outputs)


def _profile_listed(
    problem: NodeProblem, flags: np.ndarray, taken: np.ndarray, left: np.ndarray, n_levels: int
) -> CostProfile:
    best = np.full(n_levels, -np.inf)
    outputs = np.full((n_levels, problem.n_nodes), -1, dtype=np.int32)
    values = sums_over(flags, problem.scores)
    for own, value, level in zip(flags, values, flags @ taken + ~flags @ left, strict=True):
        if value > best[level]:
            best[level], outputs[level] = value, own
    return CostProfile(best, outputs)


def _output(problem: NodeProblem, y: npt.NDArray[np.int32]) -> Any:
    """Return an output as its space has it; the last node of a path is the highest one."""
    return int(np.flatnonzero(y)[-1]) if problem.is_listed else y


def _check_forest(problem: NodeProblem, what: str) -> None:
    if not problem.is_forest:
        n = int(np.flatnonzero(np.diff(problem.shape.parent_at) > 1)[0])
        raise ValueError(
            f"{what} of space={problem.space!r} needs a forest, but node {n} has several parents; "
            "on such hierarchies space='leaf' and 'path' fit."
        )


def _steps(name: str, value: Any, n_nodes: int) -> npt.NDArray[np.int32]:
    given = np.asarray(value)
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, got dtype {given.dtype}.")
    if given.shape not in ((), (n_nodes,)) or (given < 0).any():
        raise ValueError(
            f"{name} must be a number >= 0, or {n_nodes} of them, one per node; got {value!r}."
        )
    return np.broadcast_to(given, n_nodes).astype(np.int32)
