"""A user's structure that runs compiled: what it must offer, and checks that name what is missing.

Its examples are a NamedTuple of arrays for which the functions of `maxmargin.core.contract` are
implemented, as those of our own structures are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from maxmargin.core.contract import (
    add_difference,
    add_parts,
    has,
    margin_error,
    maximize,
    n_weights,
    output_cost,
    output_size,
    output_sizes,
    parts,
    potentials,
    truths,
    workspace,
)
from maxmargin.core.dispatch import second_types

_NEEDED = (n_weights, output_sizes, truths, workspace, output_size, potentials)

#: Data must implement at least one of these pairs, which give the joint features.
_PAIRS = ((parts, add_parts), (margin_error, add_difference))


class CompiledStructure(Protocol):
    """What `StructuredSVM` asks of a structure that runs compiled.

    Optional: ``cost(data)``, the second argument of `maximize` and `output_cost`, for
    ``StructuredSVM(cost=None)``; and ``classes``, the labels that the cells of an output are
    indices of, for a cost of ours. With a method ``rows(X)``, all rows of features of the inputs in
    one matrix (or a list, for kernels of anything), `data` is called as ``data(X, Y, rows)`` with
    these rows; under a kernel with a `maxmargin.features.GramRows` in their place, and at
    prediction with a matrix of products. Then `kernel_use` must be implemented for the data, as it
    is for most of ours.
    """

    def data(self, X: Any, Y: Any) -> Any:
        """Return the examples as a NamedTuple.

        At prediction Y is None: then any outputs may stand in the place of the true ones.

        Raises ValueError or TypeError for what is no input or output of this structure.
        """
        ...

    def decode(self, data: Any, i: int, cells: np.ndarray) -> Any:
        """Return an output of example i as the user knows it, from its int32 cells."""
        ...


def check_data(data: Any, n_examples: int) -> None:
    """Refuse data that the solvers could not work with; say what is missing."""
    kind = type(data).__name__
    if not isinstance(data, tuple):
        raise TypeError(f"structure.data must return a NamedTuple of arrays, got {kind}.")
    missing = _missing(type(data), _NEEDED)
    if all(_missing(type(data), pair) for pair in _PAIRS):
        missing.append(" or ".join("(" + ", ".join(_names(pair)) + ")" for pair in _PAIRS))
    if missing:
        raise TypeError(
            f"structure.data returned {kind}, for which maxmargin.core.contract has no "
            f"implementation of {', '.join(missing)}."
        )
    n_found = len(output_sizes(data))
    if n_found != n_examples:
        raise ValueError(f"structure.data made {n_found} examples of {n_examples} inputs.")
    sizes = np.asarray(output_sizes(data))
    empty = np.flatnonzero(sizes < 1)
    if len(empty):
        i = empty[0]
        raise ValueError(f"output_sizes[{i}] is {sizes[i]}; an output has at least one cell.")
    n_cells = len(truths(data))
    if n_cells != sizes.sum():
        raise ValueError(f"truths has {n_cells} cells, but output_sizes adds up to {sizes.sum()}.")


def _names(functions: tuple[Callable, ...]) -> list[str]:
    """Return the names of functions."""
    return [function.__name__ for function in functions]


def _missing(kind: type, functions: tuple[Callable, ...]) -> list[str]:
    """Return the names of the functions that have no implementation for a type."""
    return _names(tuple(function for function in functions if not has(function, kind)))


def check_labels(data: Any, n_labels: int) -> None:
    """Refuse true outputs that are no indices of the classes: compiled code checks no bounds."""
    cells = np.asarray(truths(data))
    outside = np.flatnonzero((cells < 0) | (cells >= n_labels))
    if len(outside):
        i = outside[0]
        raise ValueError(
            f"truths[{i}] is {cells[i]}, but the structure has {n_labels} classes: a cost of ours "
            f"needs indices of them, 0 to {n_labels - 1}."
        )


def check_cost_fits(data: Any, cost: Any) -> None:
    """Refuse a cost for which these data have no oracle; name those that have one."""
    if has(maximize, type(data), type(cost)) and has(output_cost, type(data), type(cost)):
        return
    fitting = [kind.__name__ for kind in second_types(maximize, type(data))]
    raise TypeError(
        f"{type(data).__name__} has no maximize and output_cost for {type(cost).__name__}. Costs "
        f"that fit: {', '.join(fitting) or 'none'}."
    )
