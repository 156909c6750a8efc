"""A junction tree in flat arrays: which tables meet in the bucket of each node, with strides.

Bucket i belongs to the i-th node that is eliminated, v. Its table is over the separator of v, then
v, in C order. It is never stored: kernels go through the cells of the separator, keep in `base`
where each source of the bucket is read at label 0 of v, and add up the row over the labels of v.
The sources of a bucket are the factors whose first eliminated node is v, and the messages of the
buckets whose separators have v as their first eliminated node. So memory is the separators alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.junction.order import min_fill
from maxmargin.inference.graph.per_shape import per_shape
from maxmargin.inference.graph.shape import Shape

__all__ = ["JunctionTree", "find_junction_tree", "junction_tree", "laid_out", "too_large"]

#: Kinds of sources.
FACTOR, MESSAGE = 0, 1
#: Graphs of more nodes are refused without counting all their cells.
COUNTED = 2_000


class JunctionTree(NamedTuple):
    """What meets in which bucket.

    Attributes
    ----------
    order : int32 array of shape (n,)
        The node of each bucket.
    above : int32 array of shape (n,)
        The bucket that takes its message; -1 for none.
    scope_at : int64 array of shape (n + 1,)
    scope : int32 array
        The separator of bucket i is scope[scope_at[i] : scope_at[i + 1]].
    message_at : int64 array of shape (n + 1,)
        The message of bucket i is messages[message_at[i] : message_at[i + 1]], in C order.
    source_at : int64 array of shape (n + 1,)
        The sources of bucket i are source_at[i] to source_at[i + 1] - 1.
    source_kind, source : int32 arrays
        FACTOR and the number of a factor, or MESSAGE and the number of a bucket.
    stride_at : int64 array, one entry per source and one more
    stride : int64 array
        How far apart two labels are in the source, for the separator and then for the node itself.
    n_cells : float
        The cells of all buckets: one sum each per source.
    """

    order: npt.NDArray[np.int32]
    above: npt.NDArray[np.int32]
    scope_at: npt.NDArray[np.int64]
    scope: npt.NDArray[np.int32]
    message_at: npt.NDArray[np.int64]
    source_at: npt.NDArray[np.int64]
    source_kind: npt.NDArray[np.int32]
    source: npt.NDArray[np.int32]
    stride_at: npt.NDArray[np.int64]
    stride: npt.NDArray[np.int64]
    n_cells: float


def junction_tree(shape: Shape, most_cells: float, way_out: str = "") -> JunctionTree:
    """Return the junction tree of min-fill; refuse one of more than `most_cells` table cells.

    The size is computed as a float before anything is allocated. ``way_out`` ends the refusal: what
    the caller offers in place of a junction tree.
    """
    tree = find_junction_tree(shape, most_cells)
    if tree is None:
        n_cells, width, is_whole = _size(shape, most_cells)
        size = f"{'' if is_whole else 'more than '}{n_cells:.3g} cells"
        raise too_large(f"{size} (the largest joins {width} nodes)", most_cells, way_out)
    return tree


def too_large(size: str, most_cells: float, way_out: str) -> ValueError:
    """Return the error for a junction tree of too many cells; ``size`` says how many."""
    return ValueError(
        f"the junction tree needs tables of {size}; at most {most_cells:.3g} are allowed."
        f"{way_out and ' '}{way_out}"
    )


def find_junction_tree(shape: Shape, most_cells: float) -> JunctionTree | None:
    """Return the junction tree of min-fill, or None if it has more than `most_cells` cells."""
    found = _known_tree(shape)
    if found.tree is None and found.failed_at < most_cells:
        elimination = min_fill(shape, most_cells)
        if elimination.is_whole and elimination.n_cells <= most_cells:
            found.tree = laid_out(shape, elimination)
        else:
            found.failed_at = most_cells
    if found.tree is None or found.tree.n_cells > most_cells:
        return None
    return found.tree


class _Known:
    """What is known of the junction tree of a shape."""

    def __init__(self) -> None:
        self.tree: JunctionTree | None = None
        self.failed_at = -1.0


@per_shape
def _known_tree(shape: Shape) -> _Known:
    return _Known()


def _size(shape: Shape, most_cells: float) -> tuple[float, int, bool]:
    """Return the cells of a junction tree, the nodes of its largest table, whether these are all.

    In a large graph the count ends early: to eliminate it all would take long, for a message.
    """
    limit = np.inf if len(shape.n_labels) <= COUNTED else 1e3 * most_cells
    found = min_fill(shape, limit)
    width = 1 + max((len(nodes) for nodes in found.separators), default=0)
    return found.n_cells, width, found.is_whole


def laid_out(shape: Shape, elimination: Any) -> JunctionTree:
    """Return the flat arrays of an order of elimination."""
    order, separators = elimination.order, elimination.separators
    n_labels = shape.n_labels.tolist()
    position = {v: i for i, v in enumerate(order)}
    above = [position[nodes[0]] if nodes else -1 for nodes in separators]
    sources: list[list[tuple[int, int, list[int]]]] = [[] for _ in order]
    starts, members = shape.member_at.tolist(), shape.members.tolist()
    for f in range(len(starts) - 1):
        nodes = members[starts[f] : starts[f + 1]]
        sources[min(position[v] for v in nodes)].append((FACTOR, f, nodes))
    for i, nodes in enumerate(separators):
        if nodes:
            sources[above[i]].append((MESSAGE, i, nodes))
    lengths, kinds, numbers, stride_lengths = [], [], [], []
    strides: list[int] = []
    for i, v in enumerate(order):
        axes = [*separators[i], v]
        lengths.append(len(sources[i]))
        for kind, number, nodes in sources[i]:
            kinds.append(kind)
            numbers.append(number)
            steps = _strides(nodes, n_labels)
            strides.extend(steps.get(a, 0) for a in axes)
            stride_lengths.append(len(axes))
    sizes = [int(np.prod([n_labels[a] for a in nodes], dtype=np.int64)) for nodes in separators]
    return JunctionTree(
        np.array(order, dtype=np.int32),
        np.array(above, dtype=np.int32),
        _starts([len(nodes) for nodes in separators]),
        np.array([a for nodes in separators for a in nodes], dtype=np.int32),
        _starts(sizes),
        _starts(lengths),
        np.array(kinds, dtype=np.int32),
        np.array(numbers, dtype=np.int32),
        _starts(stride_lengths),
        np.array(strides, dtype=np.int64),
        elimination.n_cells,
    )


def _strides(nodes: list[int], n_labels: list[int]) -> dict[int, int]:
    """Return how far apart two labels of each node are in a table over these nodes."""
    steps = {}
    step = 1
    for v in reversed(nodes):
        steps[v] = step
        step *= n_labels[v]
    return steps


def _starts(lengths: list[int]) -> npt.NDArray[np.int64]:
    """Return where each piece begins, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
