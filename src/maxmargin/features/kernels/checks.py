"""Gram matrices that are none, refused with what is wrong of them."""

from __future__ import annotations

from typing import Any

import numpy as np

#: So many rows are looked at for eigenvalues.
SAMPLE = 200
#: How much of its largest number a matrix may lack in symmetry, and how much of its largest
#: eigenvalue the least one may be below 0.
ASYMMETRY, NEGATIVE = 1e-8, 1e-8


def check_finite_block(block: np.ndarray, rows: np.ndarray, what: str) -> None:
    """Refuse NaN and infinities, with the rows that have such a product."""
    if not np.isfinite(block).all():
        i, j = np.argwhere(~np.isfinite(block))[0]
        raise ValueError(f"{what} is {block[i, j]} for the rows {rows[i]} and {j}.")


def sample_of(n: int) -> np.ndarray:
    """Return the rows that are looked at: all of few, else some drawn once and for all."""
    if n <= SAMPLE:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False))


def check_gram(K: Any, rows: np.ndarray, what: str) -> None:
    """Refuse a square block of products that is not symmetric or not positive.

    Parameters
    ----------
    K : array of shape (n, n)
    rows : the rows that it belongs to
    what : what to call it

    Examples
    --------
    >>> check_gram(np.array([[0.0, 1.0], [1.0, 0.0]]), np.arange(2), "kernel")
    Traceback (most recent call last):
    ValueError: kernel is not positive: of 2 rows its Gram matrix has the eigenvalue -1, beside 1...
    """
    if K.shape != (len(rows), len(rows)):
        raise ValueError(f"{what} must have {len(rows)} x {len(rows)} products, got {K.shape}.")
    check_finite_block(K, rows, what)
    uneven = np.abs(K - K.T)
    i, j = np.unravel_index(np.argmax(uneven), K.shape)
    if uneven[i, j] > ASYMMETRY * max(float(np.abs(K).max()), 1e-300):
        raise ValueError(
            f"{what} is not symmetric: the product of the rows {rows[i]} and {rows[j]} is "
            f"{K[i, j]:g} in one order and {K[j, i]:g} in the other."
        )
    values = np.linalg.eigvalsh(0.5 * (K + K.T))
    if values[0] < -NEGATIVE * max(values[-1], 0.0) - 1e-300:
        raise ValueError(
            f"{what} is not positive: of {len(rows)} rows its Gram matrix has the eigenvalue "
            f"{values[0]:.3g}, beside {values[-1]:.3g} as the largest. A kernel must have none "
            "below 0, or the objective has no minimum."
        )
