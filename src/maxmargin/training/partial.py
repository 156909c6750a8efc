"""partial_fit: an online solver fed batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import update_wrapper
from types import MethodType
from typing import Any, TypeVar, cast

import numpy as np

from maxmargin.core.problem import Problem, lam_from_C
from maxmargin.inputs.checks import check_number
from maxmargin.inputs.request import Request
from maxmargin.solvers import SOLVERS, Record, Result, Solver, State
from maxmargin.solvers.contract import check_finite
from maxmargin.training.automatic import settle
from maxmargin.training.settings import check_settings, generator, resolve_solver
from maxmargin.training.weighing import Units, weigh

F = TypeVar("F", bound=Callable[..., Any])


def is_online(estimator: Any) -> bool:
    """Tell whether an estimator's solver can go batch by batch; if not, say which can."""
    solver = resolve_solver(estimator._named_solver())
    if not solver.is_online:
        online = [name for name, cls in SOLVERS.items() if cls.is_online]
        # What "auto" stands for is settled once data are known, but none of it is online here.
        name = estimator.solver if isinstance(estimator.solver, str) else solver.name
        raise AttributeError(
            f"{type(estimator).__name__} has no partial_fit with solver {name!r}, which is "
            "not online: it needs all examples at once. Online solvers: "
            f"{', '.join(map(repr, online)) or 'none'}."
        )
    return True


class OnlineOnly:
    """A method that an estimator has only with an online solver.

    Like scikit-learn's `available_if`, but its error says which solvers have it.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self.method
        is_online(estimator)
        return MethodType(self.method, estimator)


def online_only(method: F) -> F:
    """Hide a method, `partial_fit`, from estimators whose solver is not online."""
    return cast(F, OnlineOnly(method))


def batch_lam(estimator: Any, solver: Solver, lam: float | None, n_total: int | None) -> float:
    """Return the regularisation of a batch."""
    if lam is not None and n_total is not None:
        raise ValueError("partial_fit takes lam or n_total, not both.")
    if lam is not None:
        return check_number("lam", lam)
    if n_total is not None:
        return lam_from_C(
            float(estimator.C), check_number("n_total", n_total, 1, closed=True, integer=True)
        )
    if solver.minimizes:
        raise ValueError(
            f"solver {solver.name!r} needs the regularisation: give partial_fit lam, or n_total, "
            "the number of examples there will be in all."
        )
    return 1.0  # nobody reads it


def check_classes(estimator: Any, classes: Iterable[Any] | None, is_first: bool) -> None:
    """Check that the first batch comes with all classes, and that later ones name no others."""
    if not estimator.has_classes:
        return
    if is_first:
        if classes is None and getattr(estimator, "classes", None) is None:
            raise ValueError("classes must be given at the first call of partial_fit.")
    elif classes is not None and set(classes) != set(estimator.classes_.tolist()):
        raise ValueError(
            f"classes are {list(classes)!r} but were {estimator.classes_.tolist()!r} before."
        )


def partial_fit(
    estimator: Any,
    request: Request,
    classes: Iterable[Any] | None,
    lam: float | None,
    n_total: int | None,
) -> Any:
    """Make one pass over a batch; see `BaseSVM.partial_fit`. An error may leave it half done."""
    settings = check_settings(estimator)
    lam = batch_lam(estimator, settings.solver, lam, n_total)
    is_first = not hasattr(estimator, "result_")
    check_classes(estimator, classes, is_first)
    task, units = weigh(estimator, estimator._encode(request, reset=is_first, classes=classes))
    settings, task = settle(estimator, settings, task)
    problem = task.problem(settings.surrogate, lam, settings.n_jobs, settings.search)
    if estimator._online is None or estimator._online.solver != settings.solver:
        known = None if is_first else estimator.result_
        rng = generator(estimator.random_state)
        estimator._online = OnlineRun(settings.solver, rng, result=known)
    estimator._memory = None
    return estimator._adopt(estimator._online.advance(problem, units))


class OnlineRun:
    """An online solver between two batches."""

    def __init__(
        self,
        solver: Solver,
        rng: np.random.Generator,
        state: State | None = None,
        lam: float = np.nan,
        result: Result | None = None,
    ) -> None:
        self.solver = solver
        self.rng = rng
        self.state = state
        self.lam = lam
        self.result = result
        #: Calls of partial_fit so far.
        self.n_batches = 0

    def advance(self, problem: Problem, units: Units) -> Result:
        """Make one pass over a batch; its record follows those of the earlier ones."""
        before, nan = self.result, float("nan")
        started = time.perf_counter()
        if self.state is None:
            known = None if before is None else units.solved(before.w)
            self.state = self.solver.start(problem, known)
        elif problem.lam != self.lam:
            self.solver.adapt(problem, self.state, self.lam)
        self.lam = problem.lam
        self.n_batches += 1
        self.solver.advance(problem, self.state, self.rng)
        w = units.seen(self.solver.iterates(problem, self.state)[0][0].copy())
        n_calls, seconds = problem.n_oracle_calls, time.perf_counter() - started
        history: list[Record] = []
        if before is not None:
            n_calls, seconds = n_calls + before.n_oracle_calls, seconds + before.seconds
            history = before.history
        n = 1 if before is None else before.n_iter + 1
        check_finite(w, self.solver.name, n)
        history = [*history, Record(n, nan, nan, nan, n_calls, seconds)]
        # The status is "max_iter", because one pass was asked for and it is over.
        self.result = Result(
            w, nan, nan, nan, "max_iter", n, n_calls, seconds, history, self.solver.name
        )
        return self.result
