"""The best that a run knows so far, and whether that is enough to stop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from maxmargin.core.problem import Primal
from maxmargin.solvers.result import Record, relative

#: Rounding matters once it is above 1 / CLOSE of the gap that is asked for.
CLOSE = 1e3
#: A gap below `CLOSE` times its rounding is at its limit if it has not fallen for this many passes.
MOST_STALLED = 20
#: The same where the primal itself is that small. More passes are allowed, because the optimum may
#: be 0, which a run can reach exactly.
MOST_STALLED_AT_0 = 250

#: What a snapshot keeps of a tally, besides weights and history.
NUMBERS = (
    "primal", "dual", "excess", "n_open", "primal_rounding", "dual_rounding", "n_at_bound",
    "validation", "since_validation", "next_check", "ratio",
)  # fmt: skip


@dataclass
class Tally:
    """The best that is known so far."""

    primal: float = math.inf
    dual: float = -math.inf
    w: np.ndarray | None = None
    #: How far rounding can have moved primal and dual.
    primal_rounding: float = 0.0
    dual_rounding: float = 0.0
    #: The part of the primal that is only a bound of the search.
    excess: float = 0.0
    #: How many examples have a part in it.
    n_open: int = 0
    #: Certificates in a row at which only the bound of the search was left of the gap.
    n_at_bound: int = 0
    validation: float = -math.inf
    since_validation: int = 0
    next_check: int = 1
    #: Certified gap / gap estimate, when both were last known.
    ratio: float = 1.0
    history: list[Record] = field(default_factory=list)

    def keep(self, known: Primal) -> None:
        """Keep a primal, and what of it is only a bound."""
        self.primal, self.excess, self.n_open = known

    def offer(self, w: np.ndarray, known: Primal, rounding: float) -> None:
        """Keep weights if their primal, with its rounding added, is the lowest so far."""
        if known.value + rounding < self.primal + self.primal_rounding:
            self.keep(known)
            self.primal_rounding = rounding
            self.w = w.copy()

    def bound(self, dual: float, rounding: float) -> None:
        """Keep a dual value if, with its rounding subtracted, it is the largest so far."""
        if math.isfinite(dual) and dual - rounding > self.dual - self.dual_rounding:
            self.dual, self.dual_rounding = dual, rounding

    @property
    def rounding(self) -> float:
        """How far rounding can have moved the gap."""
        return self.primal_rounding + self.dual_rounding

    @property
    def open_gap(self) -> float:
        """The gap as computed, which rounding can make negative."""
        return self.primal - self.dual if math.isfinite(self.dual) else math.nan

    @property
    def gap(self) -> float:
        """The gap with its rounding added: the optimum is no farther below the exact primal."""
        open_gap = self.open_gap
        return open_gap if math.isnan(open_gap) else max(open_gap + self.rounding, 0.0)

    def goal(self, tol: float) -> float:
        """Return the gap that corresponds to a relative gap of ``tol``."""
        return tol * abs(self.primal)

    def is_near(self, tol: float) -> bool:
        """Tell whether the gap as computed is within the tolerance, or less than its rounding."""
        return self.open_gap <= max(self.goal(tol), self.rounding)

    def compare(self, found: float, excess: float, tol: float) -> None:
        """Count certificates in a row at which only the bound of the search is left of the gap."""
        is_done = excess > 0.0 and found - self.dual <= max(self.goal(tol), self.rounding)
        self.n_at_bound = self.n_at_bound + 1 if is_done else 0

    def is_at_bound(self) -> bool:
        """Tell whether only the bound of the search keeps the gap above tol.

        This must hold twice in a row, because a search that misses much at one w may miss less at
        the next.
        """
        return self.n_at_bound >= 2

    def is_stalled(self, n_passes: int) -> bool:
        """Tell whether the gap as computed has hardly fallen for too many passes."""
        may_be_0 = self.primal <= CLOSE * self.rounding
        latest = n_passes - (MOST_STALLED_AT_0 if may_be_0 else MOST_STALLED)
        looks = [r for r in self.history if math.isfinite(r.gap) and r.pass_ <= latest]
        if not looks:
            return False
        before = looks[-1].primal - looks[-1].dual
        return before - self.open_gap <= 0.01 * abs(before)

    def note_score(self, score: float) -> bool:
        """Record the validation score of a pass; tell whether it is better than all before."""
        is_best = score > self.validation
        if is_best:
            self.validation = score
            self.since_validation = 0
        else:
            self.since_validation += 1
        return is_best


def judge(
    tally: Tally, tol: float, n_passes: int, sharpen: Callable[[], tuple[float, float]]
) -> str:
    """Return the status of a run that the gap ends, or "" if the run goes on.

    The status is "converged", or "rounding" if the computed gap is 0 or no longer falls, but the
    gap with its rounding added is above the tolerance. ``sharpen`` removes rounding from the dual;
    it is called where the last digits decide.
    """
    if math.isnan(tally.open_gap):
        return ""
    if tally.is_near(tol) and CLOSE * tally.rounding > tally.goal(tol):
        dual, rounding = sharpen()
        if math.isfinite(dual):
            # The dual that was summed over many passes is no better than this one: replace it.
            tally.dual, tally.dual_rounding = dual, rounding
    if relative(tally.gap, tally.primal) <= tol:
        return "converged"
    is_small = max(tally.open_gap, tally.excess) <= CLOSE * tally.rounding
    if tally.is_near(tol) and tally.rounding >= tally.goal(tol) and tally.open_gap <= 0.0:
        return "rounding"
    return "rounding" if is_small and tally.is_stalled(n_passes) else ""
