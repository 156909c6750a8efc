"""What an estimator makes of a request: all that is left to add is lam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.costs import CRITERIA
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
    names : sequence of labels or None
        The labels of positions in their order, for surrogates that single one out. None: 0, 1, ...
    given : GivenHierarchy or None
        The hierarchy that the numbers in the cost go by, where ``data`` has others of its nodes.
    """

    data: Any
    cost: Any
    n_examples: int
    weight: np.ndarray
    names: Any = None
    given: Any = None

    def problem(
        self,
        surrogate: Any,
        lam: float,
        n_jobs: int = 1,
        search: Any = "auto",
        compile: bool = True,
        mode: str | None = None,
    ) -> Problem:
        """Return the problem that solvers see.

        Raises ValueError where surrogate, search, structure and cost do not fit together.
        """
        # Most surrogates take the cost as it is; Micro-F1 has two criteria of its own.
        criteria = CRITERIA.get(getattr(surrogate, "criteria", "cost"))
        cost = self.cost
        if criteria is not None:
            cost = criteria(surrogate, self.data, cost, self.names, self.given)
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
            mode=mode,
        )
