"""What the parameter `hierarchy` of an estimator stands for, told with the labels at hand.

A list of pairs may be edges (child, parent) or paths of two levels from the top. Read in the wrong
way it is another hierarchy, most often the one upside down, so the labels must tell which it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.inputs.hierarchy.labels import NodeLabels, read_nodes
from maxmargin.inputs.hierarchy.nodes import Hierarchy
from maxmargin.inputs.hierarchy.paths import is_blank
from maxmargin.inputs.hierarchy.ways_in import pairs_of

__all__ = ["check_given", "given_hierarchy", "is_undecided"]

_SAY_WHICH = "Say which: hierarchy=Hierarchy.from_edges(pairs) or Hierarchy.from_paths(pairs)."


def is_undecided(given: Any, separator: str) -> bool:
    """Tell whether a hierarchy is given as pairs that may be paths."""
    pairs = pairs_of(given)
    return pairs is not None and isinstance(_built(pairs, separator)["paths"], Hierarchy)


def check_given(given: Any, separator: str) -> None:
    """Refuse a hierarchy that is none in any reading."""
    pairs = pairs_of(given)
    if pairs is None:
        Hierarchy.of(given, separator)
        return
    built = _built(pairs, separator)
    if not any(isinstance(each, Hierarchy) for each in built.values()):
        raise built["edges"]  # the reading that `Hierarchy.of` has


def given_hierarchy(
    given: Any, y: Any, n_examples: int, separator: str, several: bool | None = None
) -> Hierarchy | None:
    """Return the hierarchy that is given, or None; of pairs, in the reading that y fits.

    y fits a reading if it names nodes of it alone, and some below the top: whoever has turned the
    edges round finds all leaves there. If it fits both, its own form decides where it can.

    Examples
    --------
    >>> pairs = [["pet", "cat"], ["pet", "dog"], ["wild", "fox"]]
    >>> given_hierarchy(pairs, np.array(pairs), 3, "/").nodes.tolist()
    ['pet', 'pet/cat', 'pet/dog', 'wild', 'wild/fox']
    >>> given_hierarchy([["cat", "pet"], ["dog", "pet"]], ["cat", "dog"], 2, "/").nodes.tolist()
    ['pet', 'cat', 'dog']
    """
    if given is None:
        return None
    pairs = pairs_of(given)
    if pairs is None:
        return Hierarchy.of(given, separator)
    built = _built(pairs, separator)
    if isinstance(built["edges"], Hierarchy) and not isinstance(built["paths"], Hierarchy):
        return built["edges"]
    found: dict[str, NodeLabels] = {}
    wrong: dict[str, Exception] = {}
    for kind, hierarchy in built.items():
        try:
            if not isinstance(hierarchy, Hierarchy):
                raise hierarchy
            found[kind] = read_nodes(y, n_examples, hierarchy, separator=separator, several=several)
            _check_depth(found[kind])
        except (ValueError, TypeError) as error:
            found.pop(kind, None)
            wrong[kind] = error
    if len(found) == 1:
        return next(iter(found.values())).hierarchy
    if not found:
        raise ValueError(
            "hierarchy is a list of pairs, edges (child, parent) or paths of two levels, and y "
            f"fits neither. As edges: {wrong['edges']} As paths: {wrong['paths']} {_SAY_WHICH}"
        )
    if found["paths"].form.kind == "paths" and not found["edges"].hierarchy.is_forest:
        return found["paths"].hierarchy  # a tree of paths that y has, upside down a DAG
    raise ValueError(
        "hierarchy is a list of pairs, and y fits it as edges (child, parent) and as paths of two "
        f"levels. {_SAY_WHICH}"
    )


def _built(pairs: list[tuple[Any, Any]], separator: str) -> dict[str, Any]:
    """Return the hierarchy of each reading, or the error that it ends in."""
    found: dict[str, Any] = {}
    try:
        found["edges"] = _of_edges(pairs)
    except (ValueError, TypeError) as error:
        found["edges"] = error
    try:
        found["paths"] = Hierarchy.from_paths([list(pair) for pair in pairs], separator)
    except (ValueError, TypeError) as error:
        found["paths"] = error
    return found


def _of_edges(pairs: list[tuple[Any, Any]]) -> Hierarchy:
    for e, pair in enumerate(pairs):
        if any(isinstance(name, (str, float)) and is_blank(name) for name in pair):
            raise ValueError(f"edge {e} is {pair!r}, which has an end without a name.")
    return Hierarchy.from_edges(pairs)


def _check_depth(labels: NodeLabels) -> None:
    """Refuse labels of which none is below the top."""
    used = np.unique(labels.closed.indices)
    if not (np.diff(labels.hierarchy.shape.parent_at)[used] > 0).any():
        raise ValueError("y names no node that has a parent.")
