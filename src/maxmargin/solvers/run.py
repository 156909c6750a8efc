"""The loop around every solver: passes, certificates, stopping, history, callbacks."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from maxmargin.core.news import CompileWatch, compiling_watched
from maxmargin.core.problem import Problem
from maxmargin.solvers.contract import Progress, Solver, State, check_finite
from maxmargin.solvers.restore.snapshot import restore
from maxmargin.solvers.result import Record, Result, relative


@dataclass
class Snapshot:
    """A run at the end of a pass: numbers (JSON-able) and arrays. `run(snapshot=...)` goes on."""

    meta: dict[str, Any]
    arrays: dict[str, np.ndarray]
    #: The file that it comes from, for errors.
    source: str = ""


@dataclass
class Iteration:
    """What a callback is told after each pass. A callback that returns True stops the run."""

    record: Record
    gap_estimate: float
    w: np.ndarray
    snapshot: Callable[[], Snapshot]
    #: Name of the measure that record.validation_score is of, and whether no pass scored as well.
    measure: str = ""
    is_best: bool = False


Callback = Callable[[Iteration], bool | None]


@dataclass
class _Tally:
    """The best that is known so far."""

    primal: float = math.inf
    dual: float = -math.inf
    w: np.ndarray | None = None
    #: How far rounding can have moved primal and dual.
    primal_rounding: float = 0.0
    dual_rounding: float = 0.0
    #: How much of the primal is a bound of the search only.
    excess: float = 0.0
    #: Looks in a row at which the solver was done with all that the search finds.
    n_at_bound: int = 0
    validation: float = -math.inf
    since_validation: int = 0
    next_check: int = 1
    #: Certified gap over the running sum, when last both were known.
    ratio: float = 1.0
    history: list[Record] = field(default_factory=list)

    def offer(self, w: np.ndarray, primal: float, excess: float, rounding: float) -> None:
        if primal + rounding < self.primal + self.primal_rounding:
            self.primal, self.excess, self.primal_rounding = primal, excess, rounding
            self.w = w.copy()

    def bound(self, dual: float, rounding: float) -> None:
        """Keep a dual value if it is the best that is sure."""
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
        """The gap with all that rounding can hide: the optimum is no farther below the primal."""
        open_gap = self.open_gap
        return open_gap if math.isnan(open_gap) else max(open_gap + self.rounding, 0.0)


def run(
    problem: Problem,
    solver: Solver,
    *,
    rng: np.random.Generator,
    tol: float = 1e-2,
    max_iter: int = 1000,
    time_budget: float | None = None,
    state: State | None = None,
    w: np.ndarray | None = None,
    callbacks: Iterable[Callback] = (),
    validate: Callable[[np.ndarray], float] | None = None,
    measure: str = "",
    patience: int | None = None,
    snapshot: Snapshot | None = None,
) -> tuple[Result, State]:
    """Run a solver until the certified relative gap is at most `tol`.

    Parameters
    ----------
    problem, solver : what to solve and how
    rng : the source of all randomness
    tol : largest gap / primal to stop at, both at one w; 0 runs until rounding or another limit
    max_iter : most passes over the examples
    time_budget : most seconds of this run, compiling left out, looked at between the compiled
        calls that passes and certificates are made of; None for no limit. One look at the primal
        follows, of which none is cut
    state : where to go on (warm start), as an earlier run returned it
    w : weights to make use of where there is no state
    callbacks : called with an `Iteration` after each pass; the method `end` of one that has it
        is called when the passes are over
    validate : scores weights on held-out data, larger is better; recorded after each pass
    measure : what `validate` measures, by name
    patience : stop when the validation score has not risen for so many passes, and return the
        weights that scored best
    snapshot : go on where this was taken: the run ends as if it had never stopped

    Returns
    -------
    result, state
    """
    loop = _Loop(problem, solver, rng, tol, validate, measure)
    with threadpool_limits(1, "blas"), compiling_watched() as loop.compiling:
        loop.begin(state, w, snapshot)
        callbacks = list(callbacks)
        status = loop.repeat(max_iter, time_budget, callbacks, patience)
        loop.tell_end(callbacks)
        result = loop.finish(status, patience)
    if result.status == "oracle_bound":
        warnings.warn(
            f"{solver.name} stopped after {result.n_iter} passes at relative gap "
            f"{result.relative_gap:.3g}, above tol={tol:g}, because the search only bounds the "
            f"losses{_bound_share(result)}. Choose an exact search or oracle (a structure of your "
            "own: maximize with forbid), the relaxed objective, or accept a larger tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if result.status == "rounding":
        warnings.warn(
            f"{solver.name} stopped after {result.n_iter} passes at relative gap "
            f"{result.relative_gap:.3g}, above tol={tol:g}, at the limit of rounding: "
            f"{relative(result.rounding, result.primal):.3g} of it is what rounding can hide. "
            "Scale the features, lower C, or accept a larger tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if solver.minimizes and result.status in ("max_iter", "time_budget") and result.is_certified:
        warnings.warn(
            f"{solver.name} stopped after {result.n_iter} passes ({status}) at relative gap "
            f"{result.relative_gap:.3g}, above tol={tol:g}{_bound_share(result)}: scale the "
            "features or lower C, raise max_iter or time_budget, or accept a larger tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if loop.was_interrupted:
        warnings.warn(
            f"{solver.name} was interrupted after {result.n_iter} passes, and the best weights so "
            "far are kept; whatever called it goes on.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return result, loop.state


def _bound_share(result: Result) -> str:
    """Say how much of the gap is a bound of the search, which no training takes off."""
    share = relative(result.search_gap, result.primal)
    if share <= 1e-9:  # rounding
        return ""
    return (
        f"; {share:.3g} of the gap ({share / result.relative_gap:.0%} of it) is the bound of the "
        "search, which further passes may not take off"
    )


class _TimeIsUpError(Exception):
    """Raised between two compiled calls when the time budget is spent."""


#: Rounding decides where it may be as much as one in so many of the gap that is asked for.
CLOSE = 1e3
#: A gap within `CLOSE` of its rounding is at the limit if it has not fallen for so many passes.
MOST_STALLED = 20
#: Where the primal itself is that small the optimum may be 0, which can be met exactly: longer.
MOST_STALLED_AT_0 = 250


class _Loop:
    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        rng: np.random.Generator,
        tol: float,
        validate: Callable[[np.ndarray], float] | None,
        measure: str,
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.rng = rng
        self.tol = tol
        self.validate = validate
        self.measure = measure
        self.is_best = False
        self.tally = _Tally()
        self.compiling = CompileWatch()
        self.n_passes = 0
        self.seconds_before = 0.0
        self.calls_before = 0

    def begin(self, state: State | None, w: np.ndarray | None, snapshot: Snapshot | None) -> None:
        self.started = time.perf_counter()
        self.problem.n_oracle_calls = 0
        self.problem.forget()
        if snapshot is not None:
            self._restore(snapshot)
        else:
            self.state = self.solver.start(self.problem, w) if state is None else state

    @property
    def seconds(self) -> float:
        """Seconds so far, those of earlier runs included."""
        return self.seconds_before + self.seconds_here

    @property
    def seconds_here(self) -> float:
        """Seconds of this run; compiling is none of its work, and left out."""
        return time.perf_counter() - self.started - self.compiling.total

    @property
    def oracle_calls(self) -> int:
        return self.calls_before + self.problem.n_oracle_calls

    def repeat(
        self,
        max_iter: int,
        time_budget: float | None,
        callbacks: list[Callback],
        patience: int | None,
    ) -> str:
        if self.ended:  # resumed from the last pass of a run that was over
            return self.ended

        def look_at_clock() -> None:
            if time_budget is not None and self.seconds_here >= time_budget:
                raise _TimeIsUpError

        self.problem.watch = look_at_clock
        try:
            while self.n_passes < max_iter:
                progress = self.solver.advance(self.problem, self.state, self.rng)
                self.n_passes += 1
                check_finite(self.state.w, self.solver.name, self.n_passes)
                primal = self._look(progress)
                known = math.isfinite(primal)
                reached = self._judge() if known else ""
                score = self._validate()
                converged = progress.is_finished or reached == "converged"
                record = Record(
                    self.n_passes,
                    self.tally.primal if known else math.nan,
                    self.tally.dual if math.isfinite(self.tally.dual) else math.nan,
                    self.tally.gap if known else math.nan,
                    self.oracle_calls,
                    self.seconds,
                    score,
                )
                self.tally.history.append(record)
                if converged:
                    self.ended = "converged"
                elif known and self._is_at_bound():
                    self.ended = "oracle_bound"
                elif reached:
                    self.ended = reached
                elif patience is not None and self.tally.since_validation >= patience:
                    self.ended = "patience"
                event = Iteration(
                    record,
                    progress.gap_estimate,
                    self.state.w,
                    self.snapshot,
                    self.measure,
                    self.is_best,
                )
                stop = [callback(event) for callback in callbacks]
                if converged:
                    return "converged"
                if any(stop):
                    return "interrupted"
                if self.ended:
                    return self.ended
                if time_budget is not None and self.seconds_here >= time_budget:
                    return "time_budget"
        except KeyboardInterrupt:
            self.was_interrupted = True
            self.problem.watch = None
            if not self.problem.is_compiled:
                self.solver.repair(self.problem, self.state)
            return "interrupted"
        except _TimeIsUpError:
            return "time_budget"
        finally:
            self.problem.watch = None
        return "max_iter"

    def tell_end(self, callbacks: list[Callback]) -> None:
        """Tell callbacks that want to know it that the passes are over."""
        try:
            for callback in callbacks:
                if hasattr(callback, "end"):
                    callback.end()
        except KeyboardInterrupt:  # asked twice: what they have not done stays undone
            self.was_interrupted = True

    def _judge(self) -> str:
        """Return how the run is over by what is known of the gap, or nothing.

        "rounding" where the gap as computed is gone or no longer falls, but the gap that is sure,
        with what rounding can hide, is above the tolerance.
        """
        tally = self.tally
        if math.isnan(tally.open_gap):
            return ""
        if self._is_near() and CLOSE * tally.rounding > self._goal:
            self._sharpen()  # the last digits decide: let them be right
        if relative(tally.gap, tally.primal) <= self.tol:
            return "converged"
        is_small = max(tally.open_gap, tally.excess) <= CLOSE * tally.rounding
        if self._is_near() and tally.rounding >= self._goal and tally.open_gap <= 0.0:
            return "rounding"
        return "rounding" if is_small and self._is_stalled() else ""

    def _is_stalled(self) -> bool:
        """Tell whether the gap as computed has hardly fallen for so many passes."""
        may_be_0 = self.tally.primal <= CLOSE * self.tally.rounding
        latest = self.n_passes - (MOST_STALLED_AT_0 if may_be_0 else MOST_STALLED)
        looks = [r for r in self.tally.history if math.isfinite(r.gap) and r.pass_ <= latest]
        if not looks:
            return False
        before = looks[-1].primal - looks[-1].dual
        return before - self.tally.open_gap <= 0.01 * abs(before)

    @property
    def _goal(self) -> float:
        return self.tol * abs(self.tally.primal)

    def _is_near(self) -> bool:
        """Tell whether the gap as computed is within the tolerance, or less than its rounding."""
        return self.tally.open_gap <= max(self._goal, self.tally.rounding)

    def _sharpen(self) -> None:
        dual, rounding = self.solver.sharpen(self.problem, self.state)
        if math.isfinite(dual):
            # What was summed over many passes says no more than this.
            self.tally.dual, self.tally.dual_rounding = dual, rounding

    def _is_at_bound(self) -> bool:
        """Tell whether all that is left of the gap above tol is the search's bound.

        Twice in a row: a search that misses much at one w may not at the next.
        """
        return self.tally.n_at_bound >= 2

    #: Whether Ctrl-C ended the run.
    was_interrupted = False

    #: Why the run is over, known before callbacks are told of its last pass.
    ended = ""

    def _look(self, progress: Progress) -> float:
        """Take in what the pass found out; return the primal if it is known at this pass."""
        tally = self.tally
        if math.isfinite(progress.dual):
            self._bound(progress.dual)
        if progress.w is not None and math.isfinite(progress.primal):
            self._offer(progress.w, progress.primal, progress.excess)
            self._compare(progress.primal - progress.excess, progress.excess)
            return progress.primal
        if not self.solver.minimizes or not self._is_worth_checking(progress):
            return math.nan
        primal = self._certify()
        if progress.gap_estimate > 0.0 and math.isfinite(tally.gap):
            tally.ratio = min(max(tally.gap / progress.gap_estimate, 0.1), 1.5)
        return primal

    def _is_worth_checking(self, progress: Progress) -> bool:
        if self.n_passes >= self.tally.next_check:
            return True
        expected = self.tally.ratio * progress.gap_estimate
        return expected <= self.tol * abs(self.tally.dual + expected)

    def _certify(self) -> float:
        """Compute the primal of the solver's iterates; return the lowest."""
        lowest = found = math.inf
        missing = 0.0
        for w, dual in self.solver.iterates(self.problem, self.state):
            primal, excess = self.solver.assess(self.problem, w)
            lowest, found = min(lowest, primal), min(found, primal - excess)
            missing = max(missing, excess)
            self._offer(w, primal, excess)
            if math.isfinite(dual):
                self._bound(dual)
        self._compare(found, missing)
        # A certificate costs about half a pass: look at passes 1, 2, ..., 8, 10, 12, 15, ... and
        # when the running sum says so.
        self.tally.next_check = self.n_passes + max(1, self.n_passes // 4)
        return lowest

    def _offer(self, w: np.ndarray, primal: float, excess: float) -> None:
        self.tally.offer(w, primal, excess, self.problem.precision.of_primal(w, primal))

    def _bound(self, dual: float) -> None:
        self.tally.bound(dual, self.solver.dual_rounding(self.problem, self.state, dual))

    def _compare(self, found: float, excess: float) -> None:
        """Count looks at which the loss that was found is explained, and only a bound is not."""
        tally = self.tally
        is_done = excess > 0.0 and found - tally.dual <= max(self._goal, tally.rounding)
        tally.n_at_bound = tally.n_at_bound + 1 if is_done else 0

    def _validate(self) -> float:
        if self.validate is None:
            return math.nan
        w = self.solver.iterates(self.problem, self.state)[0][0]
        score = float(self.validate(w))
        self.is_best = score > self.tally.validation
        if self.is_best:
            self.tally.validation = score
            self.tally.since_validation = 0
            self.w_validated = w.copy()
        else:
            self.tally.since_validation += 1
        return score

    w_validated: np.ndarray | None = None

    def finish(self, status: str, patience: int | None) -> Result:
        tally = self.tally
        try:
            if patience is not None and self.w_validated is not None:
                tally.w = self.w_validated
                tally.primal = math.nan
                if self.solver.minimizes:
                    tally.primal, tally.excess = self.solver.assess(self.problem, tally.w)
                    tally.primal_rounding = self.problem.precision.of_primal(tally.w, tally.primal)
                is_above = relative(tally.gap, tally.primal) > self.tol
                if status in ("converged", "rounding") and is_above:
                    status = "patience"  # the weights that scored best are not those that converged
            elif not self.solver.minimizes:
                tally.w, tally.primal = (
                    self.solver.iterates(self.problem, self.state)[0][0],
                    math.nan,
                )
            elif status not in ("converged", "oracle_bound", "rounding"):
                self._certify()
                # The last look may be better than the last one that the run went by.
                is_within = relative(tally.gap, tally.primal) <= self.tol
                if is_within and status in ("max_iter", "time_budget"):
                    status = "converged"
        except KeyboardInterrupt:  # asked twice: no last look
            status, self.was_interrupted = "interrupted", True
        if tally.w is None:
            tally.w, tally.primal = self.state.w, math.nan
        return Result(
            w=tally.w.copy(),
            primal=tally.primal,
            dual=tally.dual if math.isfinite(tally.dual) else math.nan,
            gap=tally.gap,
            status=status,
            n_iter=self.n_passes,
            n_oracle_calls=self.oracle_calls,
            seconds=self.seconds,
            history=tally.history,
            solver=self.solver.name,
            search_gap=tally.excess,
            rounding=tally.rounding if math.isfinite(tally.gap) else 0.0,
            objective=self.problem.objective,
            is_convex=self.problem.is_convex,
            validation_measure=self.measure,
        )

    def snapshot(self) -> Snapshot:
        tally = self.tally
        meta = {
            "solver": self.solver.name,
            "n_passes": self.n_passes,
            "ended": self.ended,
            "seconds": self.seconds,
            "oracle_calls": self.oracle_calls,
            "lam": self.problem.lam,
            "rng": self.rng.bit_generator.state,
            "tally": {
                name: getattr(tally, name)
                for name in (
                    "primal",
                    "dual",
                    "excess",
                    "primal_rounding",
                    "dual_rounding",
                    "n_at_bound",
                    "validation",
                    "since_validation",
                    "next_check",
                    "ratio",
                )
            },
            "history": [dict(vars(record)) for record in tally.history],
        }
        arrays = {f"state.{name}": array for name, array in self.state.arrays().items()}
        arrays |= {f"memory.{name}": array for name, array in self.problem.memory().items()}
        if tally.w is not None:
            arrays["best.w"] = tally.w
        if self.w_validated is not None:
            arrays["validated.w"] = self.w_validated
        return Snapshot(meta, arrays)

    def _restore(self, snapshot: Snapshot) -> None:
        found = restore(self.problem, self.solver, self.rng, self.tol, snapshot)
        self.state = found.state
        self.n_passes = found.n_passes
        self.ended = found.ended
        self.seconds_before = found.seconds
        self.calls_before = found.oracle_calls
        self.rng.bit_generator.state = found.rng
        self.tally = _Tally(**found.tally, history=found.history)
        self.tally.w = found.best_w
        self.w_validated = found.validated_w
