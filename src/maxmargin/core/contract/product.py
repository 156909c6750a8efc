"""The inner product of potentials and parts, which are NamedTuples of arrays of one shape."""

from __future__ import annotations

from typing import Any

from maxmargin.core.compile import jitable, overloads


def product(theta: Any, mu: Any) -> float:
    """Return <theta, mu>, summed over the cells that mu uses: 0 times -inf is 0.

    Forbidden cells of theta are -inf. Both are tuples of arrays, of the same shapes.

    Examples
    --------
    >>> import numpy as np
    >>> theta = (np.array([[1.0, -np.inf]]), np.array([2.0]))
    >>> float(product(theta, (np.array([[3.0, 0.0]]), np.array([0.5]))))
    4.0
    """
    if len(theta) == 0:
        return 0.0
    return _array_product(theta[0], mu[0]) + product(theta[1:], mu[1:])


@jitable
def _array_product(theta: Any, mu: Any) -> float:
    scores, counts = theta.ravel(), mu.ravel()
    total = 0.0
    for k in range(counts.shape[0]):
        if counts[k] != 0.0:
            total += scores[k] * counts[k]
    return total


@overloads(product)
def _compiled_product(theta, mu):
    # The arrays of theta have different types, so compiled code cannot loop over them: recurse.
    if len(theta) == 0:
        return lambda theta, mu: 0.0
    return lambda theta, mu: _array_product(theta[0], mu[0]) + product(theta[1:], mu[1:])
