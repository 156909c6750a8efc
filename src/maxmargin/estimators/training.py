"""What an estimator makes of X and Y: all that is left to add is lam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.problem import Problem


@dataclass(frozen=True)
class Training:
    """Encoded examples.

    Attributes
    ----------
    data : NamedTuple of arrays, or a user's object
        What the structure functions of `maxmargin.generic` take.
    cost : PartCost, WholeCost, or an object for whose type `output_cost` is implemented
        Tables over exactly these examples.
    n_examples : int
    weight : ndarray of shape (n_examples,)
        s_i: sample weights, times class weights where these weigh whole examples.
    """

    data: Any
    cost: Any
    n_examples: int
    weight: np.ndarray

    def problem(self, surrogate: Any, lam: float, n_jobs: int = 1) -> Problem:
        """Return the problem that solvers see."""
        return Problem(
            self.data,
            self.cost,
            surrogate.compiled(),
            self.n_examples,
            lam,
            sample_weight=self.weight,
            n_jobs=n_jobs,
        )
