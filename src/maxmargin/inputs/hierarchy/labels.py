"""Labels in a hierarchy, of any form: leaves, nodes, paths, sets of these, indicator matrices.

All are read as cells, a CSR matrix with a column for each node, and predictions are written in the
form that the labels of the training had.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning

from maxmargin.inputs.hierarchy.forms import NodeForm
from maxmargin.inputs.hierarchy.nodes import Hierarchy
from maxmargin.inputs.hierarchy.paths import path_text
from maxmargin.inputs.hierarchy.rows import GivenPath, rows_of_levels, rows_of_list
from maxmargin.inputs.labels import Labels

#: What looks like flags of nodes, by the names that levels of paths would have.
_FLAGS = (0, 1, "0", "1")

__all__ = ["NodeForm", "NodeLabels", "common_closures", "over", "read_nodes"]


@dataclass(frozen=True)
class NodeLabels:
    """Labels as cells.

    Attributes
    ----------
    hierarchy : Hierarchy, the one given, or what was read off the labels
    cells : csr_matrix of int32, shape (n, n_nodes): the nodes that were named
    closed : csr_matrix, of these and all nodes above them
    form : NodeForm
    """

    hierarchy: Hierarchy
    cells: sp.csr_matrix
    form: NodeForm
    closed: sp.csr_matrix = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "closed", self.hierarchy.closure(self.cells))


def read_nodes(
    y: Any,
    n_examples: int,
    hierarchy: Hierarchy | None,
    *,
    separator: str = "/",
    several: bool | None = None,
    form: NodeForm | None = None,
    extend: bool = False,
) -> NodeLabels:
    """Return labels of any form as cells.

    Parameters
    ----------
    y : labels, one entry per sample
        A node (or leaf) by name; a path, as text or as a list of levels; a collection of nodes or
        of paths; arrays of levels, padded with "", None or NaN, of 2 axes (one path) or 3
        (several); an indicator matrix, dense or sparse, with a column for each node in the order
        of `hierarchy.nodes` (or, in a data frame, by name).
    hierarchy : Hierarchy or None
        None: labels are paths, and the hierarchy is read off them.
    separator : str
        Joins the levels of paths, where the hierarchy is read off the labels.
    several : bool or None
        Whether a list such as ["a", "b"] is a set of nodes (True) or one path (False), in a
        hierarchy of paths; None: as it fits.
    form : NodeForm or None
        The form of earlier labels of the same model.
    extend : bool
        Whether paths that are no nodes are added to a hierarchy of paths, or refused.

    Examples
    --------
    >>> found = read_nodes(["a/b", "a/c", "d"], 3, None)
    >>> found.hierarchy.nodes.tolist(), found.cells.toarray().tolist()
    (['a', 'a/b', 'a/c', 'd'], [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    >>> read_nodes(["cat", "fox"], 2, Hierarchy.of({"mammal": ["cat", "dog"]}))
    Traceback (most recent call last):
    ValueError: y[1] is 'fox', which is no node of the hierarchy. Known are: 'mammal', 'cat', ...
    """
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    is_list = hasattr(y, "__len__") or hasattr(y, "__array__") or sp.issparse(y)
    if isinstance(y, (str, bytes, dict)) or not is_list:
        raise TypeError(f"y must be a sequence of labels, got {type(y).__name__}.")
    if sp.issparse(y) or hasattr(y, "columns"):
        return _from_matrix(y, n_examples, hierarchy)
    values = np.asarray(y) if hasattr(y, "__array__") else None
    if values is not None and values.ndim == 2 and values.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected."
        warnings.warn(message, DataConversionWarning, stacklevel=5)
        values = values.ravel()
    if values is not None and values.ndim > 1:
        if values.ndim == 2 and _is_indicator(values, hierarchy):
            return _from_matrix(values, n_examples, hierarchy)
        rows, form = rows_of_levels(values)
    else:
        rows, form = rows_of_list(
            y if values is None else values, hierarchy, separator, several, form
        )
    if len(rows) != n_examples:
        raise ValueError(f"X has {n_examples} samples but y has {len(rows)} labels.")
    return _encode(rows, form, hierarchy, separator, extend)


def common_closures(hierarchy: Hierarchy, ys: Sequence[Any]) -> list[sp.csr_matrix]:
    """Return labels of any forms as closed sets over common columns; see `Hierarchy.closures`."""
    found: list[NodeLabels] = []
    for y in ys:
        n_examples = y.shape[0] if hasattr(y, "shape") else len(y)
        found.append(read_nodes(y, n_examples, hierarchy, extend=True))
        hierarchy = found[-1].hierarchy
    return [over(each.hierarchy, hierarchy, each.closed) for each in found]


def over(own: Hierarchy, other: Hierarchy, closed: sp.csr_matrix) -> sp.csr_matrix:
    """Return cells over the nodes of another hierarchy, which has all nodes of this one."""
    if own is other:
        return closed
    place = other.labels.encode(own.nodes)
    coo = closed.tocoo()
    shape = (closed.shape[0], len(other))
    return sp.csr_matrix((coo.data, (coo.row, place[coo.col])), shape=shape)


def _is_indicator(values: np.ndarray, hierarchy: Hierarchy | None) -> bool:
    if values.dtype.kind == "b":
        return True
    if values.dtype.kind not in "iuf" or hierarchy is None:
        return False
    if values.shape[1] != len(hierarchy) and any(v in hierarchy.labels.index for v in _FLAGS):
        return False  # levels called 0 and 1
    return bool(np.isin(values, (0, 1)).all())


def _from_matrix(y: Any, n_examples: int, hierarchy: Hierarchy | None) -> NodeLabels:
    if hierarchy is None:
        raise ValueError(
            "y is an indicator matrix, of which no hierarchy can be read: pass hierarchy."
        )
    is_sparse = sp.issparse(y)
    matrix = sp.csr_matrix(y) if is_sparse else np.asarray(y)
    if matrix.dtype.kind not in "biuf":
        if hasattr(y, "columns"):  # a data frame of levels
            return read_nodes(matrix, n_examples, hierarchy)
        raise TypeError(f"y must hold 0 and 1 in an indicator matrix, got dtype {matrix.dtype}.")
    if matrix.shape[0] != n_examples:
        raise ValueError(f"X has {n_examples} samples but y has {matrix.shape[0]} rows.")
    if matrix.shape[1] != len(hierarchy):
        raise ValueError(
            f"y has {matrix.shape[1]} columns but the hierarchy has {len(hierarchy)} nodes: an "
            "indicator matrix has a column for each node, in the order of hierarchy.nodes."
        )
    cells = sp.csr_matrix(matrix)
    if not np.isin(cells.data, (0, 1)).all():
        wrong = cells.data[~np.isin(cells.data, (0, 1))][0]
        raise ValueError(f"y has the value {wrong}; an indicator matrix holds 0 and 1.")
    cells = cells.astype(np.int32)
    cells.eliminate_zeros()
    if hasattr(y, "columns"):
        place = hierarchy.labels.encode(list(y.columns), lambda k: f"column {k} of y")
        back = np.empty(len(place), dtype=np.int64)
        back[place] = np.arange(len(place))
        cells = sp.csr_matrix(cells[:, back])
    cells.sort_indices()
    kind = "csr" if is_sparse else "dense"
    is_closed = cells.nnz == hierarchy.closure(cells).nnz
    return NodeLabels(hierarchy, cells, NodeForm(kind, matrix.dtype.name, is_closed))


def _encode(
    rows: list[Any], form: NodeForm, hierarchy: Hierarchy | None, separator: str, extend: bool
) -> NodeLabels:
    if hierarchy is None:
        hierarchy = _read_off(rows, separator)
    elif extend and hierarchy.separator is not None:
        texts = {
            _text(element, hierarchy.separator, f"y[{i}]")
            for i, row in enumerate(rows)
            for element in row
        }
        unseen = sorted(text for text in texts if text and text not in hierarchy.labels.index)
        if unseen:
            hierarchy = hierarchy.extended(unseen)
    indices, ends = [], [0]
    for i, row in enumerate(rows):
        found = {_place(element, hierarchy, f"y[{i}]") for element in row}
        indices.extend(sorted(found - {-1}))
        ends.append(len(indices))
    ones = np.ones(len(indices), dtype=np.int32)
    places = np.array(indices, dtype=np.int64)
    cells = sp.csr_matrix((ones, places, np.array(ends)), shape=(len(rows), len(hierarchy)))
    if form.kind == "sets":
        is_closed = cells.nnz > 0 and cells.nnz == hierarchy.closure(cells).nnz
        form = NodeForm("sets", is_closed=is_closed)
    return NodeLabels(hierarchy, cells, form)


def _read_off(rows: list[Any], separator: str) -> Hierarchy:
    """Return the hierarchy of the labels that occur: of paths, or of classes side by side."""
    elements = [element for row in rows for element in row]
    is_paths = any(isinstance(element, (GivenPath, str)) for element in elements)
    if not is_paths:
        labels = Labels.learn(elements)
        if len(labels) == 0:
            raise ValueError("y has no label in any of its samples: there is nothing to learn.")
        return Hierarchy(labels.classes, [])
    texts = {_text(e, separator, f"y[{i}]") for i, row in enumerate(rows) for e in row}
    return Hierarchy.from_paths(sorted(texts - {""}), separator)


def _text(element: Any, separator: str, name: str) -> str:
    """Return a path as text; "" for one that is padding alone."""
    levels = element.levels if isinstance(element, GivenPath) else element
    if not isinstance(levels, str) and not isinstance(element, GivenPath):
        raise TypeError(
            f"{name} has the label {levels!r:.60} beside paths: a path must be text or levels."
        )
    return path_text(levels, separator, name)


def _place(element: Any, hierarchy: Hierarchy, name: str) -> int:
    """Return the number of a node; -1 for a path that is padding alone."""
    if isinstance(element, GivenPath):
        if hierarchy.separator is None:
            return _end_of_path(element, hierarchy, name)
        element = path_text(element.levels, hierarchy.separator, name)
        if not element:
            return -1
    try:
        place = hierarchy.labels.index.get(element, -1)
    except TypeError:
        kind = type(element).__name__
        raise TypeError(f"{name} has a {kind} as a label: a label must be hashable.") from None
    if place < 0:
        if element is None or element != element:
            raise ValueError(f"{name} is {element!r}, which is no label.")
        if element == "":
            return -1
        raise ValueError(
            f"{name} is {element!r}, which is no node of the hierarchy. "
            f"Known are: {hierarchy.labels.some()}."
        )
    return place


def _end_of_path(path: GivenPath, hierarchy: Hierarchy, name: str) -> int:
    """Return the last node of a path in a hierarchy whose nodes have names of their own."""
    levels = [level for level in path.levels if not (level is None or level == "")]
    levels = [level.item() if isinstance(level, np.generic) else level for level in levels]
    levels = [level for level in levels if level == level]
    places = [_place(level, hierarchy, name) for level in levels]
    for lower, upper in zip(places[1:], places, strict=False):
        own = hierarchy.shape.parents[
            hierarchy.shape.parent_at[lower] : hierarchy.shape.parent_at[lower + 1]
        ]
        if upper not in own:
            below, above = hierarchy.nodes.tolist()[lower], hierarchy.nodes.tolist()[upper]
            raise ValueError(f"{name} is a path on which {below!r} follows {above!r}, "
                             "which is none of its parents.")  # fmt: skip
    return places[-1] if places else -1
