"""Features that are known by a kernel alone: weights are coefficients over training rows.

With rows x_j known by K[i, j] = <x_i, x_j> alone, a column of weights is a combination
sum_j B[j] x_j, and its coefficients B are what is kept in w. This is a norm as
`maxmargin.core.contract.regularizer` has them, with R = K: scores read w through the rows K[i, :],
an update adds R^-1 Psi, which is one coefficient, and <u, v> = u . K v. So a solver that takes any
norm takes kernels too, if it also says before a compiled call which examples that will visit: rows
of K are computed on demand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract.regularizer import metric, times_metric
from maxmargin.core.dispatch import generic, generic_with_default, implements

#: How far below 0 rounding may bring what cannot be negative, as a share of what it is a sum of.
NEGATIVE = 1e-8


class KernelUse(NamedTuple):
    """Where a structure has features that are known by a kernel, and the weights of them."""

    features: Any
    #: (first, width) of every matrix of coefficients: it begins at w[first], and has one row per
    #: training row and so many columns.
    blocks: tuple[tuple[int, int], ...]
    #: (n_examples + 1,): example i reads the rows row_at[i] to row_at[i + 1].
    row_at: Any
    #: The rows that are read there, where they are not these numbers themselves.
    row_of: Any = None

    def rows_of(self, examples: np.ndarray) -> np.ndarray:
        """Return the rows that these examples read, each once."""
        firsts = np.asarray(self.row_at)[examples]
        counts = np.asarray(self.row_at)[np.asarray(examples) + 1] - firsts
        ends = np.cumsum(counts)
        rows = np.repeat(firsts - (ends - counts), counts) + np.arange(int(counts.sum()))
        return np.unique(rows if self.row_of is None else np.asarray(self.row_of)[rows])


@generic_with_default
def kernel_use(data):
    """Return the `KernelUse` of data, None if no features are known by a kernel. (Python only.)"""
    return None


@generic_with_default
def make_ready(features, rows):
    """Compute what products with these rows need, before compiled code reads it. (Python only.)

    Rows that were ready before may no longer be so.
    """


@generic_with_default
def most_ready(features):
    """Return how many rows can be ready at the same time; 0 if all can. (Python only.)"""
    return 0


@generic
def times_gram(features, B):
    """Return K B, for a matrix of coefficients B. (Python only.)"""


@generic_with_default
def share_of_rounding(features):
    """Return what share of a product rounding may make wrong, as known so far. (Python only.)"""
    return NEGATIVE


class KernelNorm:
    """R = K times the norm that the data have otherwise, where w are coefficients of a kernel."""

    def __init__(self, own: Any, use: KernelUse) -> None:
        self.own, self.use = own, use


def norm_of(data: Any) -> Any:
    """Return the norm of the updates of data: their `metric`, times K where a kernel is used."""
    use = kernel_use(data)
    return metric(data) if use is None else KernelNorm(metric(data), use)


@implements(times_metric, KernelNorm)
def _times_kernel(regularizer, w):
    product = np.array(times_metric(regularizer.own, w))
    use = regularizer.use
    n_rows = len(use.features.diagonal)
    for first, width in use.blocks:
        block = product[first : first + n_rows * width].reshape(n_rows, width)
        block[:] = times_gram(use.features, block)
    return product


def check_square(norm: KernelNorm, w: np.ndarray, square: float) -> None:
    """Refuse a kernel by which |w|^2 is ``square``, a number so far below 0 that it is no rounding.

    |u.Kv| is at most the sum of |u_i| |v_j| sqrt(K_ii K_jj) over all i and j if K is positive. Of
    this the same part may be rounding that is allowed in eigenvalues.
    """
    diagonal = np.asarray(norm.use.features.diagonal)
    scaled = np.asarray(times_metric(norm.own, w))
    most = 0.0
    for first, width in norm.use.blocks:
        block = slice(first, first + len(diagonal) * width)
        sides = (np.abs(u[block]).reshape(-1, width).T @ np.sqrt(diagonal) for u in (w, scaled))
        most += float(np.multiply(*sides).sum())
    if square < -share_of_rounding(norm.use.features) * most:
        raise ValueError(
            f"The kernel is not positive: the squared length of w, w.Kw, is {square:g}. Its Gram "
            "matrix has an eigenvalue below 0, so the objective has no minimum. Take a kernel "
            "whose matrices have none."
        )
