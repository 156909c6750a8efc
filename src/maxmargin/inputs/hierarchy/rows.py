"""Labels that are no matrix: what each sample names, nodes or paths."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from maxmargin.inputs.hierarchy.forms import NodeForm
from maxmargin.inputs.hierarchy.nodes import Hierarchy

__all__ = ["GivenPath", "rows_of_levels", "rows_of_list"]


def rows_of_levels(values: np.ndarray) -> tuple[list[Any], NodeForm]:
    """Return the paths of each row of a padded array."""
    if values.ndim > 3:
        raise ValueError(f"y must have 1, 2 or 3 axes, got an array of shape {values.shape}.")
    kind = values.dtype.kind
    dtype = "str" if kind in "UO" else values.dtype.name
    if kind == "f":
        check_levels = values[np.isfinite(values)]
        if np.any(check_levels != np.round(check_levels)):
            check_classification_targets(values.ravel())
    if values.ndim == 2:
        return [[GivenPath(row)] for row in values], NodeForm("levels", dtype)
    return [[GivenPath(path) for path in row] for row in values], NodeForm("level_sets", dtype)


class GivenPath:
    """Levels that are one path, so that no reader takes them for a set."""

    def __init__(self, levels: Any) -> None:
        self.levels = levels


def _is_collection(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, np.ndarray))


def rows_of_list(
    y: Any,
    hierarchy: Hierarchy | None,
    separator: str,
    several: bool | None,
    form: NodeForm | None,
) -> tuple[list[Any], NodeForm]:
    """Return the nodes or paths of each sample, from a list or a vector."""
    if isinstance(y, np.ndarray) and y.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(y))
        if len(bad):
            raise ValueError(f"y[{bad[0]}] is {y[bad[0]]}, which is no label.")
        check_classification_targets(y)
    items = y.tolist() if isinstance(y, np.ndarray) else list(y)
    several_of = [_is_collection(item) and not _is_name(item, hierarchy) for item in items]
    if not any(several_of):
        return [[item] for item in items], NodeForm("names")
    if not all(several_of):
        i = several_of.index(False)
        raise TypeError(f"y[{i}] is {items[i]!r:.60}, but other labels are collections.")
    if _are_paths(items, hierarchy, separator, several, form):
        return [[GivenPath(list(item))] for item in items], NodeForm("paths", _levels_dtype(items))
    rows = [[_named_or_path(element, hierarchy) for element in item] for item in items]
    return rows, NodeForm("sets")


def _is_name(value: Any, hierarchy: Hierarchy | None) -> bool:
    """Tell whether a tuple or frozenset is the name of a node, not a collection of nodes."""
    if hierarchy is None or not isinstance(value, (tuple, frozenset)):
        return False
    try:
        return value in hierarchy.labels.index
    except TypeError:
        return False


def _named_or_path(element: Any, hierarchy: Hierarchy | None) -> Any:
    is_path = _is_collection(element) and not _is_name(element, hierarchy)
    return GivenPath(element) if is_path else element


def _are_paths(
    items: list[Any],
    hierarchy: Hierarchy | None,
    separator: str,
    several: bool | None,
    form: NodeForm | None,
) -> bool:
    """Tell whether each collection is the levels of one path, or a set of nodes."""
    if any(isinstance(item, (set, frozenset)) for item in items):
        return False
    if any(_is_collection(element) for item in items for element in item):
        return False
    if hierarchy is not None:
        if hierarchy.separator is None:
            return False  # the nodes of a path are a set of nodes
        separator = hierarchy.separator
    elements = [element for item in items for element in item]
    if any(isinstance(element, str) and separator in element for element in elements):
        return False
    if several is not None:
        return not several
    if form is not None:
        return form.kind != "sets"
    if hierarchy is None or all(len(item) < 2 for item in items):
        return hierarchy is None
    as_nodes = all(element in hierarchy.labels.index for element in elements)
    paths = [separator.join(map(str, item)) for item in items]
    as_paths = all(path in hierarchy.labels.index for path in paths)
    if as_nodes and as_paths:
        raise ValueError(
            f"y is ambiguous: {items[0]!r:.60} may be a path of levels or a set of nodes. Pass a "
            "path as text, and sets as sets, [set(nodes) for nodes in y]."
        )
    return not as_nodes


def _levels_dtype(items: list[Any]) -> str:
    levels = [level for item in items for level in item if level not in (None, "")]
    is_integer = all(isinstance(level, (int, np.integer)) for level in levels)
    return "int64" if is_integer and levels else "str"
