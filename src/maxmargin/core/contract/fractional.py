"""Fractional outputs as sparse differences of parts.

A relaxation has outputs whose parts are fractions: points of a polytope rather than its integral
corners. Such an output is kept as what its parts differ by from those of the true output, in
float64 cells:

    count, index_1, value_1, index_2, value_2, ...

An index counts the cells of theta, field after field; the indices rise. Near the optimum an output
differs from the truth in few parts, so most outputs are short, whatever the structure. The true
output is the one cell 0. The margin error of an output is the product of theta and its difference,
and every mean of two outputs is an output again.
"""

from __future__ import annotations

from typing import Any

from maxmargin.core.compile import jitable, overloads


def most_cells(n_parts: int) -> int:
    """Return how many cells an output takes if it differs in all its parts.

    Examples
    --------
    >>> most_cells(3)
    7
    """
    return 1 + 2 * n_parts


@jitable
def n_entries(outputs: Any, at: int) -> int:
    """Return in how many parts the output at (outputs, at) differs from the truth."""
    return int(outputs[at])


@jitable
def index_of(outputs: Any, at: int, entry: int) -> int:
    """Return the index of an entry of a difference."""
    return int(outputs[at + 1 + 2 * entry])


@jitable
def value_of(outputs: Any, at: int, entry: int) -> float:
    """Return the value of an entry of a difference."""
    return outputs[at + 2 + 2 * entry]


@jitable
def difference_length(outputs: Any, at: int) -> int:
    """Return how many cells the output at (outputs, at) has."""
    return 1 + 2 * n_entries(outputs, at)


@jitable
def add_entry(outputs: Any, at: int, index: int, value: float) -> None:
    """Append an entry to a difference, unless the value is 0. Indices must rise."""
    if value != 0.0:
        count = n_entries(outputs, at)
        outputs[at + 1 + 2 * count] = index
        outputs[at + 2 + 2 * count] = value
        outputs[at] = count + 1


@jitable
def mix_differences(
    left: Any, left_at: int, right: Any, right_at: int, share: float, outputs: Any, at: int
) -> None:
    """Write to (outputs, at) the difference (1 - share) * left + share * right.

    Examples
    --------
    >>> import numpy as np
    >>> left, right, mean = np.array([1.0, 4, -1]), np.array([2.0, 0, 1, 4, 1]), np.zeros(5)
    >>> mix_differences(left, 0, right, 0, 0.25, mean, 0)
    >>> mean.tolist()
    [2.0, 0.0, 0.25, 4.0, -0.5]
    """
    n_left, n_right = n_entries(left, left_at), n_entries(right, right_at)
    outputs[at] = 0
    a = b = 0
    while a < n_left or b < n_right:
        from_left = b == n_right or (
            a < n_left and index_of(left, left_at, a) <= index_of(right, right_at, b)
        )
        from_right = a == n_left or (
            b < n_right and index_of(right, right_at, b) <= index_of(left, left_at, a)
        )
        index = index_of(left, left_at, a) if from_left else index_of(right, right_at, b)
        value = 0.0
        if from_left:
            value += (1.0 - share) * value_of(left, left_at, a)
            a += 1
        if from_right:
            value += share * value_of(right, right_at, b)
            b += 1
        add_entry(outputs, at, index, value)


def difference_product(theta: Any, outputs: Any, at: int) -> float:
    """Return the product of potentials, a tuple of arrays, and a difference.

    Examples
    --------
    >>> import numpy as np
    >>> theta = (np.array([[1.0, -np.inf]]), np.array([2.0]))
    >>> float(difference_product(theta, np.array([2.0, 0, 3, 2, 0.5]), 0))
    4.0
    """
    return _product_from(theta, outputs, at, 0, 0)


def _product_from(theta: Any, outputs: Any, at: int, entry: int, first: int) -> float:
    """Go on with the product from ``entry``; the first cell of theta[0] has the index ``first``."""
    if len(theta) == 0:
        return 0.0
    entry, total = _array_product(theta[0], outputs, at, entry, first)
    return total + _product_from(theta[1:], outputs, at, entry, first + theta[0].size)


@jitable
def _array_product(scores: Any, outputs: Any, at: int, entry: int, first: int) -> tuple[int, float]:
    """Return the next entry beyond this array, and the product over the array."""
    flat = scores.reshape(-1)  # not ravel, which may copy: then numba counts references
    total = 0.0
    while entry < n_entries(outputs, at):
        index = index_of(outputs, at, entry) - first
        if index >= flat.shape[0]:
            break
        total += flat[index] * value_of(outputs, at, entry)
        entry += 1
    return entry, total


def spread_difference(outputs: Any, at: int, scale: float, mu: Any) -> None:
    """mu += scale * a difference, where mu is a tuple of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> mu = (np.zeros((1, 2)), np.zeros(1))
    >>> spread_difference(np.array([2.0, 0, 3, 2, 0.5]), 0, 2.0, mu)
    >>> mu[0].tolist(), mu[1].tolist()
    ([[6.0, 0.0]], [1.0])
    """
    _spread_from(outputs, at, scale, mu, 0, 0)


def _spread_from(outputs: Any, at: int, scale: float, mu: Any, entry: int, first: int) -> None:
    if len(mu) > 0:
        entry = _spread_array(outputs, at, scale, mu[0], entry, first)
        _spread_from(outputs, at, scale, mu[1:], entry, first + mu[0].size)


@jitable
def _spread_array(outputs: Any, at: int, scale: float, counts: Any, entry: int, first: int) -> int:
    flat = counts.reshape(-1)
    while entry < n_entries(outputs, at):
        index = index_of(outputs, at, entry) - first
        if index >= flat.shape[0]:
            break
        flat[index] += scale * value_of(outputs, at, entry)
        entry += 1
    return entry


# The arrays of theta have different types, so compiled code cannot loop over them: it recurses.


@overloads(difference_product)
def _compiled_difference_product(theta, outputs, at):
    return lambda theta, outputs, at: _product_from(theta, outputs, at, 0, 0)


@overloads(_product_from)
def _compiled_product_from(theta, outputs, at, entry, first):
    if len(theta) == 0:
        return lambda theta, outputs, at, entry, first: 0.0

    def go_on(theta, outputs, at, entry, first):
        entry, total = _array_product(theta[0], outputs, at, entry, first)
        return total + _product_from(theta[1:], outputs, at, entry, first + theta[0].size)

    return go_on


@overloads(spread_difference)
def _compiled_spread_difference(outputs, at, scale, mu):
    return lambda outputs, at, scale, mu: _spread_from(outputs, at, scale, mu, 0, 0)


@overloads(_spread_from)
def _compiled_spread_from(outputs, at, scale, mu, entry, first):
    if len(mu) == 0:
        return lambda outputs, at, scale, mu, entry, first: None

    def go_on(outputs, at, scale, mu, entry, first):
        entry = _spread_array(outputs, at, scale, mu[0], entry, first)
        _spread_from(outputs, at, scale, mu[1:], entry, first + mu[0].size)

    return go_on
