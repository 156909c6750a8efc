"""What a regulariser offers: the inner product of weight vectors, of whose |w|^2 the objective has

    lam/2 |w|^2,    |w|^2 = <w, w>,    <u, v> = u . R v,

R symmetric and positive definite. With another R than 1 a structure's `add_difference` adds
R^-1 Psi, and scores read w as it is. Then the margin error of y is -<w, R^-1 Psi>, and a solver
that adds, scores and asks for inner products here needs no change. One that multiplies features
itself says ``needs = {"euclidean"}``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin.core.dispatch import generic, implements


@generic
def times_metric(regularizer, w):
    """Return R w, which the caller does not change: w itself, not a copy, where R is 1.

    (Python only.)
    """


def inner(regularizer: Any, u: Any, v: Any) -> Any:
    """Return <u, v> = u . R v; of every row of u where that is a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> float(inner(Identity(), np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    return u @ times_metric(regularizer, v)


class Identity(NamedTuple):
    """R = 1, what the Euclidean norm is made of. A problem has it unless it is given another."""


@implements(times_metric, Identity)
def _times_metric(regularizer, w):
    return w
