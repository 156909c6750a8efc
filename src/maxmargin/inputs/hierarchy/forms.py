"""The forms that labels of a hierarchy may have; predictions are written in that of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.inputs.hierarchy.nodes import Hierarchy
from maxmargin.inputs.labels import label_array
from maxmargin.persistence.values import DTYPES

__all__ = ["FORMS", "NodeForm"]

#: The forms of labels. "names": one node for each sample; "levels": an array of shape
#: (n, n_levels), padded; "level_sets": one of shape (n, n_paths, n_levels); "paths": a list of
#: lists of levels; "sets": a list of collections of nodes; "dense" and "csr": indicator matrices.
FORMS = ("names", "levels", "level_sets", "paths", "sets", "dense", "csr")


@dataclass(frozen=True)
class NodeForm:
    """The form of labels: what `predict` returns is of the form that `fit` was given.

    Attributes
    ----------
    kind : str, one of `FORMS`
    dtype : str
        Of the cells of a matrix or of levels; "" where it does not matter.
    is_closed : bool
        Whether sets and matrices name all nodes of a path, or the most specific ones alone.
    """

    kind: str
    dtype: str = ""
    is_closed: bool = False

    @classmethod
    def from_state(cls, state: Any) -> NodeForm:
        """Return the form that a model file holds as [kind, dtype, is_closed]."""
        is_form = isinstance(state, list) and len(state) == 3 and state[0] in FORMS
        if not is_form or state[1] not in ("", "str", *DTYPES) or type(state[2]) is not bool:
            raise ValueError(f"form must be a kind of labels and a dtype, got {state!r:.80}")
        return cls(*state)

    def to_state(self) -> list[Any]:
        """Return what a model file holds."""
        return [self.kind, self.dtype, self.is_closed]

    def write(self, closed: sp.csr_matrix, hierarchy: Hierarchy, has_one: bool) -> Any:
        """Return closed sets of nodes in this form.

        ``has_one`` says that each set is one path; where it is not, names, levels and paths cannot
        hold it, and sets of most specific nodes take their place.

        Examples
        --------
        >>> tree = Hierarchy.from_paths(["a/b", "c"])
        >>> closed = tree.closure([[0, 1, 0], [0, 0, 1]])
        >>> NodeForm("names").write(closed, tree, True)
        array(['a/b', 'c'], dtype='<U3')
        >>> NodeForm("levels", "str").write(closed, tree, True)
        array([['a', 'b'],
               ['c', '']], dtype='<U1')
        >>> NodeForm("sets", is_closed=True).write(closed, tree, False)
        [('a', 'a/b'), ('c',)]
        """
        ends = hierarchy.most_specific(closed)
        if self.kind in ("dense", "csr"):
            cells = (closed if self.is_closed else ends).astype(self.dtype)
            return cells if self.kind == "csr" else cells.toarray()
        if self.kind == "level_sets":
            return _level_array(_rows(ends, hierarchy), hierarchy, self.dtype)
        if self.kind == "sets" or not has_one:
            return _rows(closed if self.is_closed and self.kind == "sets" else ends, hierarchy)
        if self.kind == "names":
            return hierarchy.nodes[_only(ends)]
        names = [[name] for name in hierarchy.nodes[_only(ends)].tolist()]
        if self.kind == "levels":
            found = _level_array(names, hierarchy, self.dtype)
            return found.reshape(len(names), -1)
        return [tuple(_levels(name, hierarchy, self.dtype)) for (name,) in names]


def _only(ends: sp.csr_matrix) -> np.ndarray:
    """Return the only node of every row."""
    if ends.shape[0] and not (np.diff(ends.indptr) == 1).all():
        i = int(np.flatnonzero(np.diff(ends.indptr) != 1)[0])
        raise ValueError(f"sample {i} has no single most specific node, which names would need.")
    return ends.indices


def _rows(cells: sp.csr_matrix, hierarchy: Hierarchy) -> list[tuple[Any, ...]]:
    names = hierarchy.nodes.tolist()
    at = cells.indptr
    return [
        tuple(names[v] for v in sorted(cells.indices[at[i] : at[i + 1]]))
        for i in range(cells.shape[0])
    ]


def _levels(name: Any, hierarchy: Hierarchy, dtype: str) -> list[Any]:
    """Return the levels of the path to a node: in a tree of named nodes, the nodes themselves."""
    if hierarchy.separator is None:
        return hierarchy.above(name)
    levels = name.split(hierarchy.separator)
    return levels if dtype in ("str", "") else [int(level) for level in levels]


def _level_array(sets: Sequence[Sequence[Any]], hierarchy: Hierarchy, dtype: str) -> np.ndarray:
    """Return paths as a padded array of shape (n, n_paths, n_levels)."""
    n_paths = max((len(names) for names in sets), default=0)
    is_text = dtype in ("str", "")
    # Shorter paths of integers are padded with NaN, which only floats hold.
    is_ragged = np.ptp(hierarchy.levels[hierarchy.is_leaf]) > 0 or n_paths != 1
    kind: Any = object if is_text else (np.float64 if is_ragged else np.dtype(dtype))
    found = np.full((len(sets), n_paths, hierarchy.depth), "" if is_text else np.nan, dtype=object)
    for i, names in enumerate(sets):
        for j, name in enumerate(names):
            levels = _levels(name, hierarchy, dtype)
            found[i, j, : len(levels)] = levels
    if is_text:
        return np.asarray(label_array(found.ravel().tolist())).reshape(found.shape)
    return found.astype(kind)
