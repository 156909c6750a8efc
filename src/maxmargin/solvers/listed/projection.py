"""The projection of the coefficients of a block onto the simplex."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.compile import jitable


@jitable
def threshold(z: Any, n: int, truth: int) -> float:
    """Return tau with sum_k max(z[k] - tau, floor_k) = 0 by Michelot's shrinking active sets.

    The floor is -1 at ``truth`` and 0 elsewhere; without a truth (-1) the sum is to be 1. Some z
    should be of the order of 1 at most; the others may be as low as -inf.
    """
    # No coefficient is above 1, which gives a first lower bound of tau.
    tau = -np.inf
    for k in range(n):
        tau = max(tau, z[k] if k == truth else z[k] - 1.0)
    n_before = n + 1
    for _ in range(n):
        excess = 0.0 if truth >= 0 and z[truth] - tau > -1.0 else -1.0
        n_above = 0
        for k in range(n):
            over = z[k] - tau
            if over > (-1.0 if k == truth else 0.0):
                excess += over
                n_above += 1
        if n_above == 0 or n_above >= n_before:
            break
        n_before = n_above
        tau += excess / n_above
    return tau
