"""What a run returns, and the record it keeps of every pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

STATUSES = (
    "converged", "oracle_bound", "rounding", "max_iter", "time_budget", "interrupted", "patience",
)  # fmt: skip


@dataclass(frozen=True)
class Record:
    """One pass: what is known at its end. NaN where a value was not computed at that pass."""

    pass_: int
    primal: float
    dual: float
    gap: float
    oracle_calls: int
    seconds: float
    validation_score: float = math.nan


@dataclass(repr=False)
class Result:
    """Weights, and how far they are from the best.

    Attributes
    ----------
    w : ndarray of shape (n_weights,)
    primal : float
        P(w), computed at exactly this w; an upper bound of P(w) where the search for the most
        violating output is not exact. NaN for the perceptron, which minimises nothing.
    dual : float
        A lower bound of the optimum. NaN for solvers without one.
    gap : float
        primal - dual with ``rounding`` added, and never below 0: the optimum is at most this far
        below the exact value of P(w).
    rounding : float
        The part of the gap that stands for rounding errors in primal and dual.
    search_gap : float
        How much of P(w) is only a bound of the search, which more training cannot reduce; 0 where
        the search is exact. The losses that were found lie this far below ``primal``, and may lie
        below ``dual``.
    n_open : int
        For how many examples the search only bounds the loss at w; those of all others are proved,
        up to rounding. 0 where the search is exact.
    status : str
        "converged", "max_iter", "time_budget", "interrupted", "patience"; "oracle_bound": at
        two certificates in a row the losses that the search found were within the tolerance of
        ``dual``, so that only its bounds are left of the gap, if not at the weights returned, which
        have the least bound; or "rounding": the computed gap is 0 or no
        longer falls, but with ``rounding`` added it is above the tolerance.
    objective : str
        Which objective primal, dual and gap belong to. "integral": losses are maxima over the
        outputs themselves. "relaxed": they are maxima over the outputs of a relaxation, which are
        more. "reduced": only a part of the data has losses, and the rest are constraints
        (`RankingSVM(two_stage=True)`). "shared": the norm is the shared Frobenius norm, whose
        weights of nodes are learnt too (``alpha="shared"`` of a hierarchy).
    is_convex : bool
        Whether the surrogate is convex in w. If not there is no dual, and no certificate.
    n_iter, n_oracle_calls, seconds : passes over the data, calls of the oracle, wall-clock time
        without what was spent on compiling.
    history : list of `Record`, one per pass.
    solver : str, the solver's name.
    validation_measure : str
        What the `validation_score` of each record measures, such as "chunk_f1"; "" where nothing
        was held out.
    """

    w: np.ndarray
    primal: float
    dual: float
    gap: float
    status: str
    n_iter: int
    n_oracle_calls: int
    seconds: float
    history: list[Record] = field(repr=False)
    solver: str = ""
    search_gap: float = 0.0
    n_open: int = 0
    objective: str = "integral"
    is_convex: bool = True
    validation_measure: str = ""
    rounding: float = 0.0

    def __repr__(self) -> str:
        known = f"relative gap {self.relative_gap:.3g}" if self.is_certified else "no certificate"
        known += f", {self.n_open} examples open" if self.n_open else ""
        return (
            f"Result({self.status} after {self.n_iter} passes of {self.solver}, {known}, primal "
            f"{self.primal:.6g}, {len(self.w)} weights, {self.seconds:.2f} s)"
        )

    @property
    def relative_gap(self) -> float:
        """gap / |primal| (0 where both are 0)."""
        return relative(self.gap, self.primal)

    @property
    def is_certified(self) -> bool:
        """Whether the gap is known."""
        return math.isfinite(self.gap)


def relative(gap: float, primal: float) -> float:
    """Return the gap as a share of the primal."""
    if math.isnan(gap) or primal != 0.0:
        return gap / abs(primal) if primal != 0.0 else math.nan
    return 0.0 if gap <= 0.0 else math.inf
