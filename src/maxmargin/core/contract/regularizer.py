"""What a regulariser offers: the inner product of weight vectors.

The objective has the term

    lam/2 |w|^2,    |w|^2 = <w, w>,    <u, v> = u . R v,

where R is symmetric and positive definite. If R is not the identity, the `add_difference` of a
structure adds R^-1 Psi, and scores use w unchanged. Then the margin error of y is -<w, R^-1 Psi>. A
solver works with every R if it changes w by `add_difference`, reads it by scores, and takes inner
products by `inner`. A solver that multiplies features itself says ``needs = {"euclidean"}``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.dispatch import generic, generic_with_default, implements


@generic
def times_metric(regularizer, w):
    """Return R w. (Python only.)

    If R is the identity this is w itself, not a copy, so the caller must not change it.
    """


def inner(regularizer: Any, u: Any, v: Any) -> Any:
    """Return <u, v> = u . R v; if u is a matrix, one number per row of u.

    Examples
    --------
    >>> import numpy as np
    >>> float(inner(Identity(), np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    return u @ times_metric(regularizer, v)


@generic_with_default
def metric(data):
    """Return the regulariser that belongs to the updates of the data. (Python only.)

    `add_difference` adds R^-1 Psi with the R that this says; by default R is the identity.
    """
    return Identity()


class Identity(NamedTuple):
    """The regulariser with R = 1, the Euclidean norm: the default of a problem."""


class ColumnWeights(NamedTuple):
    """R = diag(1/alpha) where w is a matrix with one column per alpha, row after row.

    Where alpha is 0 there are no weights: w is 0 there, and R w is taken as 0.
    """

    alpha: Any  # (n_columns,), >= 0; may change from one call to the next


@implements(times_metric, Identity)
def _times_metric(regularizer, w):
    return w


@implements(times_metric, ColumnWeights)
def _times_column_weights(regularizer, w):
    alpha = regularizer.alpha
    inverse = np.divide(1.0, alpha, out=np.zeros_like(alpha), where=alpha > 0.0)
    return (w.reshape(-1, len(alpha)) * inverse).reshape(w.shape)
