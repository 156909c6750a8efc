"""What the costs of rankings share.

All are 1 minus a measure that is 1 for the best ranking, so a cost is between 0 and 1, and 0 where
all relevant samples are on top (Mohapatra 2021, 3.2.2); pairs.py has a bound of one of them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.costs.base import Cost, Names
from maxmargin.inference.ranking.rule import RankingRule, cost_of_places

__all__ = ["RankingBase", "check_grades", "check_k", "check_order"]


class RankingBase(Cost):
    """A cost of rankings. A subclass is a frozen dataclass with the method `rule`."""

    @property
    def measure(self) -> str | None:
        """The name of the measure, as `scoring` has it: the cost is 1 - measure."""
        return None

    def rule(self, shapes: Iterable[tuple[int, int]]) -> RankingRule:
        """Return the cost as compiled code reads it.

        shapes : the numbers (P, N) of relevant and irrelevant samples of the queries
            The tables are as large as the largest query needs; the others look up their own
            normalisation in them.
        """
        raise NotImplementedError

    def places(self, names: Names, sizes: np.ndarray) -> RankingRule:
        """Return the cost as compiled code reads it."""
        return self.rule(sorted({(int(P), int(N)) for N, P in sizes}))

    def value(self, relevant: npt.ArrayLike, order: npt.ArrayLike) -> float:
        """Return the cost of a ranking.

        Parameters
        ----------
        relevant : array-like of shape (n,)
            Relevant where above 0.
        order : array-like of shape (n,)
            The samples from the top of the ranking down.
        """
        ranked = (check_grades(relevant) > 0)[check_order(order, np.size(relevant))]
        hits = np.flatnonzero(ranked)
        P, N = len(hits), len(ranked) - len(hits)
        if P == 0 or N == 0:
            return 0.0
        return float(cost_of_places(self.rule([(P, N)]), hits - np.arange(P), P, N))

    def thresholds(
        self, grades: np.ndarray, relevant: float
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return grades from which samples may count as relevant, and what each of them weighs.

        For each of these grades the samples of at least this grade count as relevant, which gives
        one cost per grade. The cost of a graded ranking is their weighted sum. A cost that looks
        only at relevance has one grade: the least that is ``relevant``.
        """
        return np.array([relevant]), np.ones(1)

    def tells_apart(self, n_relevant: np.ndarray, n: int) -> np.ndarray:
        """Tell whether the cost depends on the ranking, given how many samples are relevant."""
        return (n_relevant > 0) & (n_relevant < n)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        return asdict(self)  # type: ignore[call-overload]


def check_grades(grades: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return grades as an array of numbers; refuse anything else."""
    array = np.asarray(grades, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"grades must have one dimension, got an array of shape {array.shape}.")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        where = int(np.argmax(bad))
        raise ValueError(f"grades[{where}] is {array[where]:g}; expected finite grades >= 0.")
    return array


def check_order(order: npt.ArrayLike, n: int) -> np.ndarray:
    """Return a ranking, the numbers 0 .. n - 1 in some order; refuse anything else."""
    array = np.asarray(order)
    if array.shape != (n,) or not np.array_equal(np.sort(array), np.arange(n)):
        raise ValueError(f"order must hold each of the {n} samples once, the first on top.")
    return array


def check_k(cost: Any) -> int:
    """Return the number of places k of a cost; refuse anything but a whole number >= 1."""
    name = type(cost).__name__
    try:
        k = operator.index(cost.k)
    except TypeError:
        raise TypeError(f"{name}: k must be a whole number, got {cost.k!r}.") from None
    if k < 1:
        raise ValueError(f"{name}: k must be at least 1, got {k}.")
    return k
