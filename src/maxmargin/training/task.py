"""What an estimator makes of a request: all that is left to add is lam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.contract import has, shift
from maxmargin.core.problem import Problem
from maxmargin.costs import F1Cost, SwitchCost, micro_f1_cost
from maxmargin.search.choose import bind_search


@dataclass(frozen=True)
class Task:
    """Encoded examples.

    Attributes
    ----------
    data : NamedTuple of arrays, or a user's object
        What the structure functions of `maxmargin.core.contract` take.
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

    def problem(
        self,
        surrogate: Any,
        lam: float,
        n_jobs: int = 1,
        search: Any = "auto",
        compile: bool = True,
    ) -> Problem:
        """Return the problem that solvers see.

        Raises ValueError where surrogate, search, structure and cost do not fit together.
        """
        cost = self._criteria(surrogate)
        return Problem(
            self.data,
            cost,
            surrogate.compiled(),
            self.n_examples,
            lam,
            sample_weight=self.weight,
            search=bind_search(search, surrogate, self.data, cost),
            is_convex=surrogate.is_convex,
            is_linear=surrogate.is_linear,
            n_jobs=n_jobs,
            compile=compile,
        )

    def _criteria(self, surrogate: Any) -> Any:
        """Return the cost as the surrogate wants it: itself, but for Micro-F1."""
        if getattr(surrogate, "criteria", "cost") == "cost":
            return self.cost
        if not has(shift, type(self.data), SwitchCost):
            raise ValueError(
                f"surrogate={surrogate!r} is for label sets (MultilabelSVM) only, not for "
                f"{type(self.data).__name__}."
            )
        counts = isinstance(self.cost, SwitchCost) and all(
            (numbers == 1.0).all() for numbers in (self.cost.price, self.cost.scale)
        )
        if not (counts or isinstance(self.cost, F1Cost)):
            raise ValueError(
                f"surrogate={surrogate!r} has a cost of its own, 1 - F1, so that another would be "
                "passed over: leave cost at 'hamming', or choose another surrogate."
            )
        return micro_f1_cost(self.data)
