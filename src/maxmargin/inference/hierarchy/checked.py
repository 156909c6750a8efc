"""What the public functions of hierarchies are given, checked: scores, a space, constraints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import check_potential, check_shape
from maxmargin.inference.hierarchy.shape import HierarchyShape, ancestors, is_forest, parents_of

#: The outputs that a hierarchy may have; public.py says what they are.
SPACES = ("leaf", "path", "paths", "closed")


class NodeProblem(NamedTuple):
    """Scores of the nodes of a hierarchy, -inf where constraints keep a node out."""

    scores: npt.NDArray[np.float64]  # (M,)
    shape: HierarchyShape
    space: str
    must: npt.NDArray[np.int8]  # (M,), with the parents of its nodes; (0,) if there are none
    parent: npt.NDArray[np.int32]  # (M,), -1 for roots; (0,) if a node has several parents

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.scores)

    @property
    def is_forest(self) -> bool:
        """Whether no node has several parents."""
        return len(self.parent) > 0

    @property
    def is_listed(self) -> bool:
        """Whether an output is one node with all nodes above it."""
        return self.space in ("leaf", "path")

    @property
    def n_children(self) -> npt.NDArray[np.int32]:
        """How many children each node has."""
        return np.diff(self.shape.child_at).astype(np.int32)

    @property
    def to_leaves(self) -> int:
        """1 if paths must go on to a leaf, as kernels of forests read it."""
        return int(self.space == "paths")


def check_problem(
    scores: Any,
    shape: HierarchyShape,
    space: str,
    required: Iterable[int] = (),
    forbidden: Iterable[int] = (),
) -> NodeProblem:
    """Return the problem; refuse what does not fit together."""
    if space not in SPACES:
        raise ValueError(f"space must be one of {', '.join(SPACES)}; got {space!r}.")
    if not isinstance(shape, HierarchyShape):
        raise TypeError(
            f"shape must be a HierarchyShape, as hierarchy_shape makes it; got {type(shape)}."
        )
    n_nodes = len(shape.parent_at) - 1
    if n_nodes == 0:
        raise ValueError("the hierarchy has no nodes.")
    checked = check_potential("scores", scores, 1)
    check_shape("scores", checked, (n_nodes,), "one per node")
    must = np.zeros(0, dtype=np.int8)
    in_all = check_nodes("required", required, n_nodes)
    if len(in_all):
        must = ancestors(shape, in_all).astype(np.int8)
    out = check_nodes("forbidden", forbidden, n_nodes)
    if len(out):
        checked = checked.copy()
        checked[out] = -np.inf
    parent = parents_of(shape) if is_forest(shape) else np.zeros(0, dtype=np.int32)
    return NodeProblem(checked, shape, space, must, parent)


def check_nodes(name: str, nodes: Iterable[int], n_nodes: int) -> npt.NDArray[np.int64]:
    """Return numbers of nodes; refuse others."""
    given = np.asarray(list(nodes))
    if len(given) == 0:
        return np.zeros(0, dtype=np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise TypeError(f"{name} must be numbers of nodes, got {given.tolist()!r}.")
    wrong = (given < 0) | (given >= n_nodes)
    if wrong.any():
        raise ValueError(f"{name} has node {given[wrong][0]}; expected 0 to {n_nodes - 1}.")
    return given.astype(np.int64)


def check_set(name: str, value: Any, problem: NodeProblem) -> npt.NDArray[np.int32]:
    """Return an output as flags of nodes: a node of "leaf" or "path", or flags; refuse others."""
    M, shape = problem.n_nodes, problem.shape
    if problem.is_listed:
        node = int(check_nodes(name, [value], M)[0])
        if problem.space == "leaf" and shape.child_at[node] < shape.child_at[node + 1]:
            raise ValueError(f"{name} is node {node}, which is no leaf; expected one.")
        return ancestors(shape, [node]).astype(np.int32)
    flags = np.asarray(value)
    check_shape(name, flags, (M,), "one flag per node")
    if not ((flags == 0) | (flags == 1)).all():
        raise ValueError(f"{name} must hold zeros and ones only.")
    flags = flags.astype(np.int32)
    child = np.repeat(np.arange(M), np.diff(shape.parent_at))
    alone = np.flatnonzero(flags[child] > flags[shape.parents])
    if len(alone):
        n, above = child[alone[0]], shape.parents[alone[0]]
        raise ValueError(f"{name} holds node {n}, but not its parent {above}.")
    if problem.space == "paths":
        has_child = np.zeros(M, dtype=bool)
        has_child[shape.parents[flags[child] == 1]] = True
        ends = np.flatnonzero((flags == 1) & ~has_child & (np.diff(shape.child_at) > 0))
        if len(ends) or not flags.any():
            what = f"ends at node {ends[0]}, which is no leaf" if len(ends) else "is empty"
            raise ValueError(f"{name} {what}; with space='paths' each path goes on to a leaf.")
    return flags
