"""Gram matrices that are none, refused with what is wrong of them.

Of few rows all eigenvalues are looked at, of many those of a sample, and a matrix that is given is
tried by its Cholesky factor where it is not too large. Besides these every product that is
computed is held against the lengths of its two rows, which costs as much as reading it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: So many rows are looked at for eigenvalues.
SAMPLE = 200
#: A matrix that is given has so many rows at most if all of it is tried: n^3 / 3 multiplications,
#: a fifth of a second for 2000 rows.
MOST_FACTORED = 2000
#: How much of its largest number a matrix may lack in symmetry, and how much of its largest
#: eigenvalue the least one may be below 0: so much, or so many units in the last place of the
#: numbers that were given, if that is more.
ALLOWED, UNITS = 1e-8, 32
#: So many products are held against lengths at once: scratch stays small beside a large matrix.
CHUNK = 1 << 16


def allowed(dtype: Any) -> float:
    """Return what share of its largest number rounding may make wrong in a matrix of this dtype.

    Examples
    --------
    >>> allowed(np.float64), allowed(np.dtype("float32")) > 1e-6
    (1e-08, True)
    """
    kind = np.dtype(dtype)
    return max(ALLOWED, UNITS * float(np.finfo(kind).eps)) if kind.kind == "f" else ALLOWED


def least_eigenvalue(K: np.ndarray, *rows: int) -> str:
    """Return what to say of the eigenvalues of a matrix, by a sample that holds these rows.

    Examples
    --------
    >>> least_eigenvalue(np.array([[0.0, 1.0], [1.0, 0.0]]), 0, 1)
    'Of 2 rows with these its Gram matrix has the least eigenvalue -1.'
    """
    sample = np.union1d(sample_of(len(K)), np.array(rows, dtype=np.int64))
    own = np.asarray(K[np.ix_(sample, sample)], dtype=np.float64)
    value = np.linalg.eigvalsh(0.5 * (own + own.T))[0]
    n = f"{len(sample)} rows" if len(sample) > 1 else "1 row"
    return f"Of {n} with these its Gram matrix has the least eigenvalue {value:.3g}."


def check_finite_block(block: np.ndarray, rows: np.ndarray, what: str) -> None:
    """Refuse NaN and infinities, with the rows that have such a product."""
    if not np.isfinite(block).all():
        i, j = np.argwhere(~np.isfinite(block))[0]
        raise ValueError(f"{what} is {block[i, j]} for the rows {rows[i]} and {j}.")


def check_diagonal(diagonal: np.ndarray, what: str, K: np.ndarray | None = None) -> None:
    """Refuse products of rows with themselves that are not finite, or below 0.

    Of the whole matrix `K`, where there is one, the least eigenvalue of a sample is said.

    Examples
    --------
    >>> check_diagonal(np.array([1.0, -2.0]), "K(x, x)")
    Traceback (most recent call last):
    ValueError: K(x, x) is -2 for row 1: the product of a row with itself is its squared length, ...
    """
    for is_wrong in (~np.isfinite(diagonal), diagonal < 0.0):
        if is_wrong.any():
            i = int(np.argmax(is_wrong))
            more = "" if K is None else f" {least_eigenvalue(K, i)}"
            raise ValueError(
                f"{what} is {diagonal[i]:g} for row {i}: the product of a row with itself is its "
                f"squared length, which is finite and at least 0.{more}"
            )


def check_products(
    block: np.ndarray,
    rows: np.ndarray,
    diagonal: np.ndarray,
    what: str,
    K: np.ndarray | None = None,
) -> None:
    """Refuse products that are larger than the lengths of their two rows allow.

    K(x, z)^2 <= K(x, x) K(z, z) for any kernel (Cauchy-Schwarz). As of eigenvalues, rounding is
    allowed for as if the diagonal had a little more.

    Parameters
    ----------
    block : array of shape (len(rows), n), products of these rows with all rows
    rows : their numbers
    diagonal : array of shape (n,), all >= 0
    what : what to call it
    K : the whole matrix, where there is one, of which a sample is looked at for its eigenvalues;
        else the two rows are the sample

    Examples
    --------
    >>> check_products(np.array([[1.0, 3.0]]), np.array([0]), np.array([1.0, 4.0]), "kernel")
    Traceback (most recent call last):
    ValueError: kernel is not positive: the product of the rows 0 and 1 is 3, ...
    """
    length = np.sqrt(diagonal + allowed(block.dtype) * float(diagonal.max(initial=0.0)))
    step = max(CHUNK // max(len(diagonal), 1), 1)
    for first in range(0, len(rows), step):
        part = block[first : first + step]
        is_over = np.abs(part) > np.multiply.outer(length[rows[first : first + step]], length)
        if is_over.any():
            i, j = np.unravel_index(np.argmax(is_over), is_over.shape)
            row = rows[first + i]
            if K is None:
                pair = np.array([[diagonal[row], part[i, j]], [part[i, j], diagonal[j]]])
                least = least_eigenvalue(pair)
            else:
                least = least_eigenvalue(K, int(row), int(j))
            raise ValueError(
                f"{what} is not positive: the product of the rows {row} and {j} is "
                f"{part[i, j]:g}, but those of each with itself are {diagonal[row]:g} and "
                f"{diagonal[j]:g}, and its square may not be above the product of these two. "
                f"Otherwise the objective has no minimum. {least}"
            )


def has_factor(K: np.ndarray) -> bool:
    """Tell whether K with a little more on its diagonal has a Cholesky factor.

    If so it has no eigenvalue below 0 but by rounding.
    """
    lifted = np.array(K, dtype=np.float64)
    lifted[np.diag_indices(len(K))] += allowed(K.dtype) * float(np.diag(K).max(initial=0.0))
    try:
        np.linalg.cholesky(lifted)
    except np.linalg.LinAlgError:
        return False
    return True


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
    share, K = allowed(K.dtype), np.asarray(K, dtype=np.float64)
    uneven = np.abs(K - K.T)
    i, j = np.unravel_index(np.argmax(uneven), K.shape)
    if uneven[i, j] > share * max(float(np.abs(K).max()), 1e-300):
        raise ValueError(
            f"{what} is not symmetric: the product of the rows {rows[i]} and {rows[j]} is "
            f"{K[i, j]:g} in one order and {K[j, i]:g} in the other."
        )
    values = np.linalg.eigvalsh(0.5 * (K + K.T))
    if values[0] < -share * max(values[-1], 0.0) - 1e-300:
        raise ValueError(
            f"{what} is not positive: of {len(rows)} rows its Gram matrix has the eigenvalue "
            f"{values[0]:.3g}, beside {values[-1]:.3g} as the largest. A kernel must have none "
            "below 0, or the objective has no minimum."
        )
