"""Pass after pass of a solver: looks at the primal, callbacks, snapshots, and why it ended."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from maxmargin.core.contract import has, tell_gap, tell_haste
from maxmargin.core.news import CompileWatch
from maxmargin.core.problem import Primal, Problem
from maxmargin.solvers.contract import Progress, Solver, State, check_finite
from maxmargin.solvers.events import Callback, Iteration, Snapshot
from maxmargin.solvers.restore.snapshot import restore
from maxmargin.solvers.result import Record, Result, relative
from maxmargin.solvers.stopping import NUMBERS, Tally, judge


class _TimeIsUpError(Exception):
    """Raised between two compiled calls when the time budget is spent."""


class Loop:
    """One run: what it is given, how far it is, and the best that it knows."""

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
        self.tally = Tally()
        self.compiling = CompileWatch()
        self.n_passes = 0
        self.seconds_before = 0.0
        self.calls_before = 0

    def begin(self, state: State | None, w: np.ndarray | None, snapshot: Snapshot | None) -> None:
        """Continue from a state or a snapshot, or let the solver start, at w if given."""
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
        """Seconds of this run, without those that it waited for the compiler."""
        return time.perf_counter() - self.started - self.compiling.waited

    @property
    def oracle_calls(self) -> int:
        """Calls of the oracle so far, those of earlier runs included."""
        return self.calls_before + self.problem.n_oracle_calls

    def repeat(
        self,
        max_iter: int,
        time_budget: float | None,
        callbacks: list[Callback],
        patience: int | None,
    ) -> str:
        """Make passes until there is a reason to stop; return it."""
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
                if known:
                    gap = relative(self.tally.gap, self.tally.primal)
                    tell_gap(self.problem.view.data, gap, self.tally.primal)
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
                elif known and self.tally.is_at_bound():
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
            if self.problem.calls_python:
                self.solver.repair(self.problem, self.state)
            return "interrupted"
        except _TimeIsUpError:
            return "time_budget"
        finally:
            self.problem.watch = None
        return "max_iter"

    def tell_end(self, callbacks: list[Callback]) -> None:
        """Tell the callbacks that have a method `end` that the passes are over."""
        try:
            for callback in callbacks:
                if hasattr(callback, "end"):
                    callback.end()
        except KeyboardInterrupt:  # a second Ctrl-C: the other callbacks are not told
            self.was_interrupted = True

    #: Whether Ctrl-C ended the run.
    was_interrupted = False

    #: Why the run is over, known before callbacks are told of its last pass.
    ended = ""

    def _judge(self) -> str:
        def sharpen() -> tuple[float, float]:
            return self.solver.sharpen(self.problem, self.state)

        return judge(self.tally, self.tol, self.n_passes, sharpen)

    def _look(self, progress: Progress) -> float:
        """Record what the pass found out; return the primal if this pass knows it."""
        tally = self.tally
        if math.isfinite(progress.dual):
            self._bound(progress.dual)
        if progress.w is not None and math.isfinite(progress.primal):
            self._offer(progress.w, progress.known)
            tally.compare(progress.primal - progress.excess, progress.excess, self.tol)
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
            known = self.solver.assess(self.problem, w)
            lowest, found = min(lowest, known.value), min(found, known.value - known.excess)
            missing = max(missing, known.excess)
            self._offer(w, known)
            if math.isfinite(dual):
                self._bound(dual)
        self.tally.compare(found, missing, self.tol)
        # A certificate costs about half a pass, so the best distance grows as the square root of
        # the passes: one at passes 1, 2, ..., 8, 10, 12, 15, 18, 22, 26, 31, 36, 42, ... and
        # whenever the gap estimate says that it is worth it. Where oracles are hasty in passes and
        # not here, it costs as much as a pass or more: one at passes 1, 2, 3, 4, 6, 9, 13, ...
        if has(tell_haste, type(self.problem.view.data)):
            distance = self.n_passes // 2
        else:
            distance = min(self.n_passes // 4, math.isqrt(self.n_passes))
        self.tally.next_check = self.n_passes + max(1, distance)
        return lowest

    def _offer(self, w: np.ndarray, known: Primal) -> None:
        self.tally.offer(w, known, self._rounding(w, known.value))

    def _rounding(self, w: np.ndarray, primal: float) -> float:
        return self.problem.precision.of_primal(self.solver.length(self.problem, w), primal)

    def _bound(self, dual: float) -> None:
        self.tally.bound(dual, self.solver.dual_rounding(self.problem, self.state, dual))

    def _validate(self) -> float:
        if self.validate is None:
            return math.nan
        w = self.solver.iterates(self.problem, self.state)[0][0]
        score = float(self.validate(w))
        self.is_best = self.tally.note_score(score)
        if self.is_best:
            self.w_validated = w.copy()
        return score

    w_validated: np.ndarray | None = None

    def finish(self, status: str, patience: int | None) -> Result:
        """Return the best weights and what is known of them, after a last certificate if useful."""
        tally = self.tally
        try:
            if patience is not None and self.w_validated is not None:
                tally.w = self.w_validated
                tally.primal = math.nan
                if self.solver.minimizes:
                    tally.keep(self.solver.assess(self.problem, tally.w))
                    tally.primal_rounding = self._rounding(tally.w, tally.primal)
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
                # The last certificate may meet the tolerance though no earlier one did.
                is_within = relative(tally.gap, tally.primal) <= self.tol
                if is_within and status in ("max_iter", "time_budget"):
                    status = "converged"
        except KeyboardInterrupt:  # a second Ctrl-C: no last certificate
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
            n_open=tally.n_open,
            rounding=tally.rounding if math.isfinite(tally.gap) else 0.0,
            objective=self.solver.objective(self.problem),
            is_convex=self.problem.is_convex,
            validation_measure=self.measure,
        )

    def snapshot(self) -> Snapshot:
        """Return all that another run needs to go on from here."""
        tally = self.tally
        meta = {
            "solver": self.solver.name,
            "n_passes": self.n_passes,
            "ended": self.ended,
            "seconds": self.seconds,
            "oracle_calls": self.oracle_calls,
            "lam": self.problem.lam,
            "rng": self.rng.bit_generator.state,
            "tally": {name: getattr(tally, name) for name in NUMBERS},
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
        self.tally = Tally(**found.tally, history=found.history)
        self.tally.w = found.best_w
        self.w_validated = found.validated_w
