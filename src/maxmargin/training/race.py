"""A race: solvers on one problem, each in a process of its own, by one clock.

The clock is the CPU time of the process, from the first pass on, compiling and reading apart. All
solvers are looked at by the same callback, and their certificates, which take time, are the same.
"""

from __future__ import annotations

import ast
import json
import math
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from maxmargin.core.problem import Problem, lam_from_C
from maxmargin.solvers import SOLVERS, Iteration, Solver, run
from maxmargin.training.automatic import settle
from maxmargin.training.settings import check_settings, generator
from maxmargin.training.weighing import weigh

#: The relative gap to which an optimum counts as known.
OPTIMUM_TOL = 1e-8
#: How processes are started. "fork" spares a caller that has read everything the reading, on
#: systems that have it.
START_METHOD = "spawn"
#: Relative gaps that a table tells the time to.
LEVELS = (1e-1, 1e-2, 1e-3, 1e-4)
#: Seconds in which a run may be behind without being late.
LEAST = 0.1


class Point(NamedTuple):
    """What was known after a pass: the lowest primal and the largest dual so far, NaN if none."""

    pass_: int
    oracle_calls: int
    seconds: float
    primal: float
    dual: float


@dataclass(frozen=True)
class Course:
    """One solver's run; ``error`` says why there was none.

    ``status`` is that of the result, but "time_budget" where the seconds were over, and "late"
    where others were at a gap long before. ``chosen`` is the solver that ran, which "auto" does not
    say.
    """

    solver: str
    points: list[Point]
    status: str = ""
    error: str = ""
    chosen: str = ""

    @property
    def label(self) -> str:
        """What to call it: its name, and after "auto" the solver that this was."""
        return f"auto: {self.chosen}" if self.solver == "auto" and self.chosen else self.solver

    def first(self, reached: Callable[[Point], bool]) -> Point | None:
        """Return the first point that has reached something."""
        return next((point for point in self.points if reached(point)), None)

    def to_gap(self, level: float) -> Point | None:
        """Return the first point at which the certified gap is at most this share of the primal."""
        return self.first(lambda point: point.primal - point.dual <= level * abs(point.primal))

    def to_primal(self, level: float, optimum: Optimum) -> Point | None:
        """Return the first point whose primal is at most so far, relatively, above the optimum."""
        return self.first(lambda point: point.primal - optimum.dual <= level * optimum.primal)


class Optimum(NamedTuple):
    """The optimum of a problem lies between these two."""

    dual: float
    primal: float

    @property
    def relative_gap(self) -> float:
        """How well it is known."""
        return (self.primal - self.dual) / abs(self.primal) if self.primal else 0.0


class Case(NamedTuple):
    """A problem: an estimator, and what its `fit` takes."""

    estimator: Any
    X: Any
    y: Any
    beside: dict[str, Any]


#: What makes a problem, in the process that solves it: a function that can be pickled.
Make = Callable[[], Case]


@dataclass(frozen=True)
class Limits:
    """When a run ends: at a certified relative gap, after passes, or CPU seconds.

    But not by seconds before ``least`` passes are over. ``by`` has relative gaps, each with the
    seconds by which a run that has a dual must be there, or it ends.
    """

    tol: float = 1e-4
    max_iter: int = 100_000
    seconds: float = 60.0
    least: int = 1
    by: tuple[tuple[float, float], ...] = ()


#: A run before the race; some functions are first called after a few passes.
WARM_UP = Limits(0.0, 30, 0.5, least=5)


def named_solver(text: str) -> str | Solver:
    """Return the solver of a name, with options in brackets if any.

    Examples
    --------
    >>> named_solver("bcfw")
    'bcfw'
    >>> named_solver("partial_linearization(tau=0.1, block=False)").tau
    0.1
    >>> named_solver("bcfw(step=print())")
    Traceback (most recent call last):
    ValueError: solver 'bcfw(step=print())': options must be written as in Python, name=value, ...
    """
    if "(" not in text:
        return text
    refusal = ValueError(
        f"solver {text!r}: options must be written as in Python, name=value, with plain values."
    )
    try:
        call: Any = ast.parse(text.strip(), mode="eval").body
        options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        name = call.func.id
    except (SyntaxError, ValueError, AttributeError):
        raise refusal from None
    if call.args or None in options or len(options) < len(call.keywords):  # named twice
        raise refusal
    if name not in SOLVERS:
        raise ValueError(f"solver={name!r} is not known. There are: {', '.join(SOLVERS)}.")
    try:
        return SOLVERS[name](**options)
    except TypeError as error:
        raise ValueError(f"solver {text!r}: {str(error).rstrip('.')}.") from None


def spelled(solver: Solver) -> str:
    """Return the name of a solver with its options, as far as they are not the default.

    Examples
    --------
    >>> spelled(named_solver("one_slack(inwards=True, radius=None)"))
    'one_slack(inwards=True)'
    >>> spelled(SOLVERS["bcfw"]())
    'bcfw'
    """
    options = [
        f"{option.name}={getattr(solver, option.name)!r}"
        for option in fields(solver)
        if getattr(solver, option.name) != option.default
    ]
    return f"{solver.name}({', '.join(options)})" if options else solver.name


class Clock:
    """The callback of a race: records each pass by CPU time, and ends a run when time is up."""

    def __init__(self, limits: Limits) -> None:
        self.points: list[Point] = []
        self._primal, self._dual, self._limits = math.inf, -math.inf, limits
        self._start = time.process_time()
        #: Why this clock ended the run, "" if it did not.
        self.ended = ""

    def __call__(self, event: Iteration) -> bool:
        """Record a pass."""
        seconds = time.process_time() - self._start
        record = event.record
        if math.isfinite(record.primal):
            self._primal = min(self._primal, record.primal)
        if math.isfinite(record.dual):
            self._dual = max(self._dual, record.dual)
        self.points.append(
            Point(record.pass_, record.oracle_calls, seconds, self._primal, self._dual)
        )
        if record.pass_ >= self._limits.least:
            is_over = seconds >= self._limits.seconds
            self.ended = "time_budget" if is_over else "late" if self._is_late(seconds) else ""
        return bool(self.ended)

    def _is_late(self, seconds: float) -> bool:
        if not math.isfinite(self._dual):
            return False
        gap = self._primal - self._dual
        return any(
            seconds >= latest and gap > level * abs(self._primal)
            for level, latest in self._limits.by
        )


def problem_of(case: Case, solver: str | Solver) -> tuple[Problem, Solver]:
    """Return the problem on which the estimator of a case would train, and its solver."""
    estimator = case.estimator.set_params(solver=solver)
    settings = check_settings(estimator)
    request = estimator._request(case.X, case.y, None, **case.beside)
    task, _ = weigh(estimator, estimator._encode(request, reset=True))
    settings, task = settle(estimator, settings, task)
    lam = lam_from_C(float(estimator.C), task.n_examples)
    return task.problem(settings.surrogate, lam, settings.n_jobs, settings.search), settings.solver


def run_solver(
    case: Case, name: str, solver: str | Solver, limits: Limits, before: Limits = WARM_UP
) -> Course:
    """Run one solver on a problem, in this process; a solver that does not fit has an error.

    ``before`` is a run that compiles: nothing is compiled after it.
    """
    try:
        problem, chosen = problem_of(case, solver)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it does not converge is in the table
            for goal in (before, limits):
                clock = Clock(goal)
                result, _ = run(
                    problem,
                    chosen,
                    rng=generator(case.estimator.random_state),
                    tol=goal.tol,
                    max_iter=goal.max_iter,
                    callbacks=[clock],
                )
    except (TypeError, ValueError) as error:
        return Course(name, [], error=str(error))
    points = clock.points
    if points and math.isfinite(result.primal):  # the last certificate, after the passes
        last = points[-1]
        dual = max(last.dual, result.dual) if math.isfinite(result.dual) else last.dual
        spent = max(time.process_time() - clock._start, last.seconds)
        points.append(last._replace(seconds=spent, primal=result.primal, dual=dual))
    status = clock.ended if result.status == "interrupted" and clock.ended else result.status
    return Course(name, points, status, chosen=spelled(chosen))


def _child(pipe: Any, make: Make, name: str, solver: str | Solver, limits: Limits) -> None:
    pipe.send(run_solver(make(), name, solver, limits))


def in_own_process(make: Make, name: str, solver: str | Solver, limits: Limits) -> Course:
    """Run one solver in a fresh process on one thread; wait for it."""
    context: Any = multiprocessing.get_context(START_METHOD)
    receive, send = context.Pipe(duplex=False)
    names = [f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")]
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        child = context.Process(target=_child, args=(send, make, name, solver, limits))
        child.start()
        send.close()
        try:
            return receive.recv()
        except EOFError:
            child.join()
            return Course(name, [], error=f"its process ended with {child.exitcode}")
        finally:
            child.join()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def race(
    make: Make,
    solvers: Mapping[str, str | Solver],
    limits: Limits,
    tell: Callable[[Course], None] = lambda course: None,
    far: float = math.inf,
) -> list[Course]:
    """Run solvers one after the other, each in a process of its own.

    A run ends that is not at a gap of `LEVELS` after ``far`` times the seconds, or `LEAST` of them
    if these are more, in which one before it was there.
    """
    courses: list[Course] = []
    for name, solver in solvers.items():
        times = {level: soonest(courses, level) for level in LEVELS}
        by = tuple((level, far * max(at, LEAST)) for level, at in times.items() if at is not None)
        goal = limits if math.isinf(far) else replace(limits, by=by)
        courses.append(in_own_process(make, name, solver, goal))
        tell(courses[-1])
    return courses


def soonest(courses: Sequence[Course], level: float) -> float | None:
    """Return the least seconds in which one of the courses came to a certified relative gap."""
    points = [course.to_gap(level) for course in courses]
    return min((point.seconds for point in points if point is not None), default=None)


# -- the optimum, known once ---------------------------------------------------------------------


def known_optimum(
    path: Path | None,
    key: str,
    make: Make,
    seconds: float,
    courses: Sequence[Course] = (),
    solver: str | Solver = "auto",
) -> Optimum:
    """Return the optimum of a problem, from a file if it is there to `OPTIMUM_TOL`.

    Otherwise ``solver`` looks for it, for so many CPU seconds. What these runs and ``courses``
    found out is kept in the file, under ``key``.
    """
    kept = json.loads(path.read_text()) if path is not None and path.exists() else {}
    found = [Optimum(**kept[key])] if key in kept else []
    if not found or found[0].relative_gap > OPTIMUM_TOL:
        points = [point for course in courses for point in course.points]
        if not points or bracket(points).relative_gap > OPTIMUM_TOL:
            limits = Limits(OPTIMUM_TOL, seconds=seconds)
            points += in_own_process(make, "optimum", solver, limits).points
        found.append(bracket(points))
    best = Optimum(max(one.dual for one in found), min(one.primal for one in found))
    if path is not None:
        path.write_text(json.dumps(kept | {key: best._asdict()}, indent=1) + "\n")
    return best


def bracket(points: Sequence[Point]) -> Optimum:
    """Return what all points say together of the optimum."""
    return Optimum(max(point.dual for point in points), min(point.primal for point in points))


def as_json(courses: Sequence[Course], optimum: Optimum) -> dict[str, Any]:
    """Return a race for a file."""
    return {
        "optimum": optimum._asdict(),
        "courses": [
            {**asdict(course), "points": [point._asdict() for point in course.points]}
            for course in courses
        ],
    }
