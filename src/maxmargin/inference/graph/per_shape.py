"""What is computed once per shape of a graph, and forgotten with it."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from maxmargin.inference.graph.shape import Shape

__all__ = ["per_shape"]

R = TypeVar("R")


def per_shape(function: Callable[[Shape], R]) -> Callable[[Shape], R]:
    """Return a function that remembers its results as long as the arrays of their shapes live.

    Two shapes count as one if their arrays of members, label numbers and kinds are the same
    objects: graphs made by `FactorGraph.of_arrays` for one shape share what is computed of it.

    Examples
    --------
    >>> from maxmargin.inference.graph.per_shape import per_shape
    >>> from maxmargin.inference.graph.shape import graph_shape
    >>> @per_shape
    ... def count(shape):
    ...     print("counting")
    ...     return len(shape.kinds)
    >>> shape = graph_shape([2, 2], [0, 1], [2], [0])
    >>> count(shape), count(shape)
    counting
    (1, 1)
    """
    found: dict[tuple[int, ...], tuple[Any, R]] = {}

    @functools.wraps(function)
    def remembering(shape: Shape) -> R:
        arrays = (shape.members, shape.member_at, shape.n_labels, shape.kinds)
        key = tuple(id(array) for array in arrays)
        if key in found:
            return found[key][1]
        result = function(shape)
        # An id may be used again once its array is gone, so the entry goes with the first of them.
        watches = [weakref.ref(array, lambda _: found.pop(key, None)) for array in arrays]
        found[key] = watches, result
        return result

    return remembering
