"""Columns of features with weights of their own in the norm.

The norm is sum_f |w_f|^2 / alpha_f. With w'_f = w_f / sqrt(alpha_f) and x'_f = sqrt(alpha_f) x_f
the scores are the same, and the norm of w' is the Euclidean one. So a structure that reads rows of
features scales their columns, and no solver, oracle or certificate has to know of the norm.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.dispatch import generic


@generic
def weigh_columns(data, alpha):
    """Return data whose norm has these weights of columns, and the factors of their w. (Python.)

    Multiplied by the factors, weights that are learnt from the data returned fit those given. The
    factors are None if they are all 1: then the data say by `metric` what their norm is. ``alpha``
    has one number >= 0 per column of features; a column of weight 0 is not used.
    """


@generic
def scaled_columns(features, factors):
    """Return rows of features with every column multiplied by its factor. (Python only.)"""


def row_factors(alpha: np.ndarray, n_columns: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return sqrt(alpha) for the first n_columns rows of an array of weights, 1 for the others.

    Examples
    --------
    >>> row_factors(np.array([4.0, 9.0]), 2, (3, 2)).tolist()
    [[2.0, 2.0], [3.0, 3.0], [1.0, 1.0]]
    """
    if alpha.shape != (n_columns,):
        raise ValueError(f"There are {n_columns} columns of features, but {len(alpha)} weights.")
    factors = np.ones(shape)
    factors[:n_columns] *= np.sqrt(alpha).reshape(-1, *(1,) * (len(shape) - 1))
    return factors
