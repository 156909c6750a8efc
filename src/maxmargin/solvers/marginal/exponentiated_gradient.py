"""Exponentiated gradient in Gibbs form: per example the potentials of its law are kept.

The law of example i is p(y) ~ exp(<sums_i, mu(y)>). A step adds eta (scores + prices) to sums_i:

    p(y) <- p(y) exp(eta (g(y) + h(y))) / Z    (Collins et al., 2008).

So a law takes as many numbers as theta has, and no mass is ever lost to underflow. A step changes
the dual by what the line between the two laws would, taken to its end; backtracking halves eta
until the dual does not fall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_parts,
    gather,
    lean,
    marginals,
    parts_square,
    potentials,
    spread,
)
from maxmargin.core.problem import Problem
from maxmargin.solvers.averaging import run_strides
from maxmargin.solvers.contract import Progress, Solver, State
from maxmargin.solvers.marginal.laws import (
    add_example,
    bench_of,
    check_memory,
    clear,
    dual_rounding,
    dual_value,
    expect,
    look,
    places,
    price_of_cost,
    weigh,
    zero,
)
from maxmargin.solvers.marginal.partial_linearization import offered

#: After a step that was taken eta grows by this factor; it is halved at most so often per step.
GROWTH, MOST_HALVINGS = 1.05, 6


class GibbsState(State):
    """Potentials and expected parts of all examples; w and expected costs that follow from them."""

    def __init__(self, w: np.ndarray, sums: np.ndarray, means: np.ndarray, eta: np.ndarray) -> None:
        self.w = w
        self.sums = sums
        self.means = means
        self.eta = eta
        self.linear = np.zeros(0)
        self.w_mean = np.zeros(0)
        self.offer = np.zeros(0)
        self.n_passes = 0

    _NAMES = ("w", "sums", "means", "eta", "linear", "w_mean", "offer")

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        own = {name: getattr(self, name) for name in self._NAMES}
        return own | {"n_passes": np.array(self.n_passes)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> GibbsState:
        """Make the state that `arrays` was called on."""
        state = cls(*(arrays[name].copy() for name in cls._NAMES[:4]))
        for name in cls._NAMES[4:]:
            setattr(state, name, arrays[name].copy())
        state.n_passes = int(arrays["n_passes"])
        return state


@dataclass(frozen=True)
class ExponentiatedGradient(Solver):
    """Exponentiated gradient on the dual, in Gibbs form.

    For structures with marginals and losses h + tilt * g, as margin rescaling is. Here for
    comparison, as `PartialLinearization` is: a full step towards the law of temperature 1 / eta.

    Parameters
    ----------
    block : bool
        Whether each visit changes one example ("online"), or each pass all of them.
    step : {"backtracking", "fixed"}
        "backtracking" halves eta, of the example or of all, until the dual does not fall, and lets
        it grow again. "fixed" always takes ``eta``; the dual may fall, and need not converge.
    eta : float > 0
        The length of a step, or of the first.
    spread : float
        The mass that the first laws have besides the true outputs.
    average : bool
        Report a mean of the iterates within the last few passes.

    Examples
    --------
    >>> from maxmargin.solvers import SOLVERS
    >>> SOLVERS["exponentiated_gradient"](step="fixed", eta=0.5).step
    'fixed'
    """

    block: bool = True
    step: str = "backtracking"
    eta: float = 1.0
    spread: float = 1e-3
    average: bool = True

    name: ClassVar[str] = "exponentiated_gradient"
    state_class: ClassVar[type[State]] = GibbsState
    needs: ClassVar[frozenset[str]] = frozenset({"convex", "linear", "unit_slope", "marginals"})
    reach: ClassVar[float] = 1e-2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step not in ("backtracking", "fixed"):
            raise ValueError(
                "ExponentiatedGradient: step must be one of ['backtracking', 'fixed'], got "
                f"{self.step!r}."
            )
        if not 1e-12 <= self.eta <= 1e12:
            raise ValueError(
                f"ExponentiatedGradient: eta must be from 1e-12 to 1e12, got {self.eta!r}."
            )
        if not 1e-300 <= self.spread < 1.0:
            raise ValueError(
                f"ExponentiatedGradient: spread must be above 0 and below 1, got {self.spread!r}."
            )

    def start(self, problem: Problem, w: np.ndarray | None = None) -> GibbsState:
        """Start near w = 0, little mass besides the true outputs; report given weights first."""
        where, n = places(problem), problem.n_examples
        size = int(where.flat_at[-1])
        check_memory("The potentials", 2 * size)
        eta = np.full(n if self.block else 1, float(self.eta))
        state = GibbsState(np.zeros(problem.n_weights), np.zeros(size), np.zeros(size), eta)
        state.linear = np.zeros(n)
        run = problem.bind(first_sums)
        for first, last in problem.strides(0, n):
            run(
                problem.view, first, last, self.spread, state.w, state.sums, where,
                problem.desk(), bench_of(problem),
            )  # fmt: skip
        self._sum_up(problem, state)
        if w is not None:
            state.offer = w.copy()
        return state

    def _sum_up(self, problem: Problem, state: GibbsState) -> None:
        """Compute means, w and the expected costs from the potentials."""
        nowhere = np.zeros(problem.n_weights)
        state.w, state.linear = self._walk(problem, state, nowhere, 0.0, state.sums, state.means)

    def _walk(
        self,
        problem: Problem,
        state: GibbsState,
        w: np.ndarray,
        eta: float,
        sums: np.ndarray,
        means: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add eta times scores and prices at w to the potentials, written to ``sums``.

        ``means`` receives the expected parts. Returns the w and the expected costs that follow.
        """
        new, linear = np.zeros(problem.n_weights), np.zeros(problem.n_examples)
        run = problem.bind(sweep_gibbs)
        inv_lam_n = 1.0 / (problem.lam * problem.n_examples)
        for first, last in problem.strides(0, problem.n_examples):
            run(
                problem.view, first, last, inv_lam_n, price_of_cost(problem), eta, w, state.sums,
                sums, means, problem.truths, problem.truth_places, places(problem),
                problem.desk(), bench_of(problem), new, linear,
            )  # fmt: skip
        return new, linear

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Make one step in every example, or one step in all of them together."""
        state = cast(GibbsState, state)
        estimate = (self._visit if self.block else self._sweep)(problem, state, rng)
        state.n_passes += 1
        progress = Progress(dual_value(problem, state.linear, state.w), estimate)
        return offered(self, problem, state, progress)

    def _visit(self, problem: Problem, state: GibbsState, rng: np.random.Generator) -> float:
        order = rng.permutation(problem.n_examples)
        run, where = problem.bind(visit_gibbs), places(problem)
        inv_lam_n, tilt = 1.0 / (problem.lam * problem.n_examples), price_of_cost(problem)
        backtracks = self.step == "backtracking"

        def call(first: int, last: int, total: float) -> float:
            return run(
                problem.view, order, first, last, inv_lam_n, tilt, backtracks, state.w,
                state.sums, state.means, state.linear, state.eta, where, problem.desk(),
                bench_of(problem), total,
            )  # fmt: skip

        mean = state.w_mean if self.average else None
        total, mean = run_strides(problem, call, len(order), state.w, mean)
        if mean is not None:
            state.w_mean = mean
        return total / problem.n_examples

    def _sweep(self, problem: Problem, state: GibbsState, rng: np.random.Generator) -> float:
        before = dual_value(problem, state.linear, state.w)
        sums, means = np.zeros((2, len(state.sums)))
        for _ in range(MOST_HALVINGS):
            found = self._walk(problem, state, state.w, float(state.eta[0]), sums, means)
            after = dual_value(problem, found[1], found[0])
            if self.step == "fixed" or after >= before:
                state.w, state.linear = found
                state.sums, state.means = sums, means
                if self.step == "backtracking":
                    state.eta[0] = min(GROWTH * state.eta[0], 1e12)
                return math.nan
            state.eta[0] *= 0.5
        return math.nan

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the mean of recent iterates and the last one."""
        state = cast(GibbsState, state)
        last = (state.w, dual_value(problem, state.linear, state.w))
        return [(state.w_mean, math.nan), last] if len(state.w_mean) else [last]

    def dual_rounding(self, problem: Problem, state: State, dual: float) -> float:
        """Return a cheap estimate of how far D can be from its computed value."""
        return dual_rounding(problem, state.w, dual, cast(GibbsState, state).n_passes)

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Sum w and the expected costs anew; return D and its rounding."""
        state = cast(GibbsState, state)
        self._sum_up(problem, state)
        dual = dual_value(problem, state.linear, state.w)
        return dual, dual_rounding(problem, state.w, dual, 1)

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep the laws; w is in inverse proportion to lam."""
        self.repair(problem, state)
        state = cast(GibbsState, state)
        state.n_passes = 0
        state.eta[:] = self.eta

    def repair(self, problem: Problem, state: State) -> None:
        """Compute w and the expected costs from the potentials."""
        state = cast(GibbsState, state)
        self._sum_up(problem, state)
        state.w_mean = np.zeros(0)


@jitable
def first_sums(
    problem: Any,
    first: int,
    last: int,
    spread_mass: float,
    w: Any,
    sums: Any,
    where: Any,
    desk: Any,
    bench: Any,
) -> None:
    """Write potentials of laws with about ``spread_mass`` besides the truth."""
    for i in range(first, last):
        potentials(problem.data, i, w, 1.0, desk.theta)
        n = where.flat_at[i + 1] - where.flat_at[i]
        lean(problem.data, i, np.log(n / spread_mass), desk.theta)
        gather(problem.data, i, desk.theta, where.counts, 1.0, sums, where.flat_at[i])


@jitable
def expect_gibbs(
    problem: Any, i: int, eta: float, sums: Any, where: Any, desk: Any, bench: Any
) -> None:
    """Fill bench.trial with sums + eta * scores, and bench.mu with the expected parts."""
    at = where.flat_at[i]
    for c in range(where.flat_at[i + 1] - at):
        # Not 0 * -inf: forbidden parts have a score of -inf.
        more = eta * bench.scores[c] if eta > 0.0 else 0.0
        bench.trial[c] = sums[at + c] + more
    spread(problem.data, i, bench.trial, 0, where.counts, bench.theta)
    marginals(problem.data, i, bench.theta, bench.own, 1.0, bench.trial, -1, bench.law, 0)
    desk.calls[0] += 1
    expect(problem, i, bench.law, 0, where, bench)


@jitable
def visit_gibbs(
    problem: Any,
    order: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    tilt: float,
    backtracks: bool,
    w: Any,
    sums: Any,
    means: Any,
    linear: Any,
    eta: Any,
    where: Any,
    desk: Any,
    bench: Any,
    total: float,
) -> float:
    """Make a step in each of the examples order[first:last].

    Returns ``total``, the sum so far, plus how much the values of these laws rise.
    """
    for visit in range(first, last):
        i = order[visit]
        factor = problem.weight[i] * inv_lam_n
        at = where.flat_at[i]
        n = where.flat_at[i + 1] - at
        look(problem, i, tilt, w, where, desk, bench)
        for attempt in range(MOST_HALVINGS if backtracks else 1):
            expect_gibbs(problem, i, eta[i], sums, where, desk, bench)
            gather(problem.data, i, bench.mu, where.counts, 1.0, bench.change, 0)
            for c in range(n):
                bench.change[c] -= means[at + c]
            spread(problem.data, i, bench.change, 0, where.counts, bench.mu)
            value, price = weigh(n, bench)
            square = parts_square(problem.data, i, bench.mu, bench.spare, bench.theta)
            total += problem.weight[i] * max(value, 0.0) if attempt == 0 else 0.0
            if not backtracks or value >= 0.5 * factor * square:
                add_parts(problem.data, i, bench.mu, -factor, w)
                for c in range(n):
                    sums[at + c] = bench.trial[c]
                    means[at + c] += bench.change[c]
                linear[i] += price
                if backtracks:
                    eta[i] = min(GROWTH * eta[i], 1e12)
                break
            eta[i] *= 0.5
        clear(problem, i, where, bench)
    return total


@jitable
def sweep_gibbs(
    problem: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    tilt: float,
    eta: float,
    w: Any,
    sums: Any,
    new_sums: Any,
    new_means: Any,
    truths: Any,
    truth_at: Any,
    where: Any,
    desk: Any,
    bench: Any,
    new_w: Any,
    linear: Any,
) -> None:
    """Make the same step in all of examples first..last-1, from the same w; add up the new w."""
    for i in range(first, last):
        at = where.flat_at[i]
        if eta > 0.0:
            look(problem, i, tilt, w, where, desk, bench)
        expect_gibbs(problem, i, eta, sums, where, desk, bench)
        zero(bench.change, where.flat_at[i + 1] - at)
        gather(problem.data, i, bench.mu, where.counts, 1.0, bench.change, 0)
        for c in range(where.flat_at[i + 1] - at):
            new_sums[at + c] = bench.trial[c]
            new_means[at + c] = bench.change[c]
        factor = problem.weight[i] * inv_lam_n
        linear[i] = add_example(problem, i, tilt, factor, truths, truth_at, where, bench, new_w)
