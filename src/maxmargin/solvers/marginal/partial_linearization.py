"""Partial linearization: steps towards tempered laws, from Frank-Wolfe to exponentiated gradient.

A visit of example i, whose law is p, goes towards the law

    s(y) ~ p(y) exp((g(y) + h(y)) / tau),

which maximises the linear part of the dual minus tau times the divergence from p (Mohapatra, 2017,
chapter 2, with the corrections that docs/decisions.md names). The length of the step is the best
one. tau = 0 is the corner of Frank-Wolfe, and a full step is one of exponentiated gradient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_parts, gather, law_parts, marginals, parts_square
from maxmargin.core.problem import Problem
from maxmargin.solvers.averaging import run_strides
from maxmargin.solvers.blocks.bcfw import BlockFrankWolfe
from maxmargin.solvers.contract import Progress, Solver, State
from maxmargin.solvers.marginal.frank_wolfe import FrankWolfe
from maxmargin.solvers.marginal.laws import (
    bench_of,
    best_step,
    check_memory,
    clear,
    dual_rounding,
    dual_value,
    expect,
    first_laws,
    look,
    places,
    price_of_cost,
    sum_laws,
    weigh,
)


class LawState(State):
    """A law per example, w and the expected costs that follow from them, and a mean of recent w."""

    def __init__(self, w: np.ndarray, laws: np.ndarray, linear: np.ndarray) -> None:
        self.w = w
        self.laws = laws
        self.linear = linear
        self.w_mean = np.zeros(0)
        self.offer = np.zeros(0)
        self.n_passes = 0

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        own = {name: getattr(self, name) for name in ("w", "laws", "linear", "w_mean", "offer")}
        return own | {"n_passes": np.array(self.n_passes)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> LawState:
        """Make the state that `arrays` was called on."""
        state = cls(*(arrays[name].copy() for name in ("w", "laws", "linear")))
        state.w_mean, state.offer = arrays["w_mean"].copy(), arrays["offer"].copy()
        state.n_passes = int(arrays["n_passes"])
        return state


def offered(solver: Solver, problem: Problem, state: Any, progress: Progress) -> Progress:
    """Return what a pass found out, with the weights that the run was started with, once."""
    if len(state.offer):
        w, state.offer = state.offer, np.zeros(0)
        known, dual, estimate = solver.assess(problem, w), progress.dual, progress.gap_estimate
        return Progress.at(w, known, dual=dual, gap_estimate=estimate)
    return progress


@dataclass(frozen=True)
class PartialLinearization(Solver):
    """Partial linearization: Frank-Wolfe steps towards laws at a temperature.

    For structures with marginals and losses h + tilt * g, as margin rescaling is. Dual values never
    fall. It is here for comparison: `BlockFrankWolfe` is faster, and its visits cost less.

    Parameters
    ----------
    tau : float >= 0
        The temperature. 0 is Frank-Wolfe to the bit, and needs no more than that: neither marginals
        nor a loss of slope 1. Small ones lose outputs to underflow, and stall.
    fall : float from -2 to 2
        The schedule of the temperature: in pass k = 0, 1, ... it is tau / (1 + k)^fall. With .5 a
        gap of 1% takes fewer passes, but steps become those of Frank-Wolfe, which never arrive
        where high precision is asked for; so the default stays tau.
    block : bool
        Whether each visit changes one example, or each pass all of them, by one common step.
    spread : float
        The mass that the first laws have besides the true outputs. Without any, no output would
        ever get mass.
    average : bool
        Report a mean of the iterates within the last few passes.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS
    >>> SOLVERS["partial_linearization"](tau=0.3)
    PartialLinearization(tau=0.3, fall=0.0, block=True, spread=0.001, average=True)
    """

    tau: float = 1.0
    fall: float = 0.0
    block: bool = True
    spread: float = 1e-3
    average: bool = True

    name: ClassVar[str] = "partial_linearization"
    state_class: ClassVar[type[State]] = LawState
    needs: ClassVar[frozenset[str]] = frozenset({"convex", "linear", "unit_slope", "marginals"})
    reach: ClassVar[float] = 1e-2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.tau == 0.0 or 1e-12 <= self.tau <= 1e12):
            raise ValueError(
                "PartialLinearization: tau must be 0, or from 1e-12 to 1e12, got "
                f"{self.tau!r}; 0 is Frank-Wolfe."
            )
        if not -2.0 <= self.fall <= 2.0:
            raise ValueError(f"PartialLinearization: fall must be from -2 to 2, got {self.fall!r}.")
        if not 1e-300 <= self.spread < 1.0:
            raise ValueError(
                f"PartialLinearization: spread must be above 0 and below 1, got {self.spread!r}."
            )
        if self.tau == 0.0:
            stands_for = PlainBlocks if self.block else PlainBatch
            for name in ("needs", "takes_kernels"):
                object.__setattr__(self, name, getattr(stands_for, name))  # instances are frozen

    def engine(self, problem: Problem) -> Solver:
        """Return Frank-Wolfe where tau is 0."""
        if self.tau > 0.0:
            return self
        return PlainBlocks(average=self.average) if self.block else PlainBatch()

    def start(self, problem: Problem, w: np.ndarray | None = None) -> LawState:
        """Start near w = 0, little mass besides the true outputs; report given weights first."""
        where, n = places(problem), problem.n_examples
        check_memory("The laws", int(where.law_at[-1]))
        state = LawState(np.zeros(problem.n_weights), np.zeros(int(where.law_at[-1])), np.zeros(n))
        run = problem.bind(first_laws)
        for first, last in problem.strides(0, n):
            run(
                problem.view, first, last, self.spread, state.w, state.laws, where,
                problem.desk(), bench_of(problem),
            )  # fmt: skip
        sum_up(problem, state)
        if w is not None:
            state.offer = w.copy()
        return state

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Make one step in every example, or one step in all of them together."""
        state = cast(LawState, state)
        estimate = (self._visit if self.block else self._sweep)(problem, state, rng)
        state.n_passes += 1
        progress = Progress(dual_value(problem, state.linear, state.w), estimate)
        return offered(self, problem, state, progress)

    def temperature(self, n_passes: int) -> float:
        """Return the temperature of the pass after so many.

        Examples
        --------
        >>> PartialLinearization(tau=1.0, fall=0.5).temperature(3)
        0.5
        """
        return min(max(self.tau * (1.0 + n_passes) ** -self.fall, 1e-12), 1e12)

    def _visit(self, problem: Problem, state: LawState, rng: np.random.Generator) -> float:
        order = rng.permutation(problem.n_examples)
        run, where = problem.bind(visit_laws), places(problem)
        inv_lam_n, tilt = 1.0 / (problem.lam * problem.n_examples), price_of_cost(problem)
        tau = self.temperature(state.n_passes)

        def call(first: int, last: int, total: float) -> float:
            return run(
                problem.view, order, first, last, inv_lam_n, tilt, tau, 0.0, state.w,
                state.laws, state.linear, where, problem.desk(), bench_of(problem), total,
            )  # fmt: skip

        mean = state.w_mean if self.average else None
        total, mean = run_strides(problem, call, len(order), state.w, mean)
        if mean is not None:
            state.w_mean = mean
        return total / problem.n_examples

    def _sweep(self, problem: Problem, state: LawState, rng: np.random.Generator) -> float:
        n, where = problem.n_examples, places(problem)
        fresh, change = np.zeros_like(state.laws), np.zeros_like(state.w)
        rises, prices = np.zeros((2, n))
        run, inv_lam_n = problem.bind(sweep_laws), 1.0 / (problem.lam * n)
        tau = self.temperature(state.n_passes)
        for first, last in problem.strides(0, n):
            run(
                problem.view, first, last, inv_lam_n, price_of_cost(problem), tau, state.w,
                state.laws, fresh, rises, prices, change, where, problem.desk(),
                bench_of(problem),
            )  # fmt: skip
        rise = float(problem.view.weight @ rises) / n
        curvature = problem.lam * problem.inner(change, change)
        step = best_step(rise, curvature)
        state.w = state.w + step * change
        state.laws += step * (fresh - state.laws)
        state.linear += step * prices
        return max(rise, 0.0)

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the mean of recent iterates and the last one."""
        state = cast(LawState, state)
        last = (state.w, dual_value(problem, state.linear, state.w))
        return [(state.w_mean, math.nan), last] if len(state.w_mean) else [last]

    def dual_rounding(self, problem: Problem, state: State, dual: float) -> float:
        """Return a cheap estimate of how far D can be from its computed value."""
        return dual_rounding(problem, state.w, dual, cast(LawState, state).n_passes)

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Sum w and the expected costs anew; return D and its rounding."""
        state = cast(LawState, state)
        sum_up(problem, state)
        dual = dual_value(problem, state.linear, state.w)
        return dual, dual_rounding(problem, state.w, dual, 1)

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep the laws; w is in inverse proportion to lam."""
        self.repair(problem, state)
        cast(LawState, state).n_passes = 0

    def repair(self, problem: Problem, state: State) -> None:
        """Compute w and the expected costs from the laws."""
        state = cast(LawState, state)
        sum_up(problem, state)
        state.w_mean = np.zeros(0)


@dataclass(frozen=True)
class PlainBlocks(BlockFrankWolfe):
    """Block-coordinate Frank-Wolfe with its textbook step, as tau = 0."""

    step: str = "plain"
    cache: int = 0

    name: ClassVar[str] = "partial_linearization"


@dataclass(frozen=True)
class PlainBatch(FrankWolfe):
    """Frank-Wolfe over all examples, as tau = 0."""

    name: ClassVar[str] = "partial_linearization"


def sum_up(problem: Problem, state: LawState) -> None:
    """Compute w and the expected costs from the laws."""
    state.w = np.zeros(problem.n_weights)
    n, run = problem.n_examples, problem.bind(sum_laws)
    for first, last in problem.strides(0, n):
        run(
            problem.view, first, last, 1.0 / (problem.lam * n), price_of_cost(problem),
            problem.truths, problem.truth_places, state.laws, places(problem),
            bench_of(problem), state.w, state.linear,
        )  # fmt: skip


@jitable
def temper(
    problem: Any,
    i: int,
    tilt: float,
    tau: float,
    w: Any,
    laws: Any,
    where: Any,
    desk: Any,
    bench: Any,
) -> tuple[float, float]:
    """Write the tempered law of example i to bench.law, and its change of parts to bench.mu.

    Returns by how much the value E(h + g) changes, and E g alone.
    """
    n, at = where.flat_at[i + 1] - where.flat_at[i], where.law_at[i]
    look(problem, i, tilt, w, where, desk, bench)
    marginals(problem.data, i, desk.theta, bench.own, tau, laws, at, bench.law, 0)
    desk.calls[0] += 1
    expect(problem, i, bench.law, 0, where, bench)
    law_parts(problem.data, i, laws, at, -1.0, bench.mu)
    gather(problem.data, i, bench.mu, where.counts, 1.0, bench.change, 0)
    return weigh(n, bench)


@jitable
def visit_laws(
    problem: Any,
    order: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    tilt: float,
    tau: float,
    least_step: float,
    w: Any,
    laws: Any,
    linear: Any,
    where: Any,
    desk: Any,
    bench: Any,
    total: float,
) -> float:
    """Step towards the tempered laws of order[first:last], one after the other.

    Returns ``total``, the sum so far, plus how much the values of these laws would rise: a lower
    bound of their gaps. Steps are no shorter than ``least_step``, which is 0 unless all steps are
    to be whole.
    """
    for visit in range(first, last):
        i = order[visit]
        factor = problem.weight[i] * inv_lam_n
        value, price = temper(problem, i, tilt, tau, w, laws, where, desk, bench)
        total += problem.weight[i] * max(value, 0.0)
        curvature = factor * parts_square(problem.data, i, bench.mu, bench.spare, bench.theta)
        step = max(best_step(value, curvature), least_step)
        if step > 0.0:
            add_parts(problem.data, i, bench.mu, -factor * step, w)
            at = where.law_at[i]
            for c in range(where.law_at[i + 1] - at):
                new = bench.law[c]
                laws[at + c] = new if step == 1.0 else laws[at + c] + step * (new - laws[at + c])
            linear[i] += step * price
        clear(problem, i, where, bench)
    return total


@jitable
def sweep_laws(
    problem: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    tilt: float,
    tau: float,
    w: Any,
    laws: Any,
    fresh: Any,
    rises: Any,
    prices: Any,
    change: Any,
    where: Any,
    desk: Any,
    bench: Any,
) -> None:
    """Write the tempered laws of examples first..last-1 at w, and add up what w would change by."""
    for i in range(first, last):
        factor = problem.weight[i] * inv_lam_n
        rises[i], prices[i] = temper(problem, i, tilt, tau, w, laws, where, desk, bench)
        add_parts(problem.data, i, bench.mu, -factor, change)
        at = where.law_at[i]
        for c in range(where.law_at[i + 1] - at):
            fresh[at + c] = bench.law[c]
        clear(problem, i, where, bench)
