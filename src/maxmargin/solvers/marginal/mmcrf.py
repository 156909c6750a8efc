"""MMCRF: conditional gradient within one example after the other, over marginals.

Of example i the dual keeps no outputs, but their mean parts less those of the truth,

    b_i = E_p mu(y) - mu(y_i),    l_i = E_p g_i(y),

with which w = - sum_i s_i/(lam n) phi(x_i, b_i) and D = 1/n sum_i s_i l_i - lam/2 |w|^2. A visit
makes some conditional gradient steps within one example: the oracle finds the output y of largest
h + g, and (b_i, l_i) move towards those of y as far as is best. (Rousu et al. 2007, with the
corrections of docs/decisions.md.) One step a visit is block-coordinate Frank-Wolfe with its
textbook step; more of them share the products of w with the features, as a step changes the scores
of its own example by products of the rows of that example alone. Marginals take as much memory as
there are parts, however many outputs they are means of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_parts,
    find,
    gather,
    has,
    output_sizes,
    part_counts,
    parts,
    parts_square,
    potentials,
    spread,
    square_size,
    workspace,
)
from maxmargin.core.laws import LawDesk, Places
from maxmargin.core.problem import Problem
from maxmargin.solvers.averaging import run_strides
from maxmargin.solvers.contract import Progress, Solver, State
from maxmargin.solvers.marginal.laws import (
    best_step,
    check_memory,
    clear,
    dual_rounding,
    dual_value,
    zero,
)

KEPT = ("w", "marginals", "linear", "gap", "w_mean", "offer")


class MarginalState(State):
    """Mean parts of every example, less those of the truth; w and expected costs with them."""

    def __init__(self, w: np.ndarray, marginals: np.ndarray, linear: np.ndarray) -> None:
        self.w = w
        self.marginals = marginals
        self.linear = linear
        self.gap = np.full(len(linear), np.inf)
        self.w_mean = np.zeros(0)
        self.offer = np.zeros(0)
        self.n_passes = 0

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        return {name: getattr(self, name) for name in KEPT} | {"n_passes": np.array(self.n_passes)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> MarginalState:
        """Make the state that `arrays` was called on."""
        state = cls(*(arrays[name].copy() for name in KEPT[:3]))
        for name in KEPT[3:]:
            setattr(state, name, arrays[name].copy())
        state.n_passes = int(arrays["n_passes"])
        return state


@dataclass(frozen=True)
class MMCRF(Solver):
    """Conditional gradient over marginals, a few steps within one example after the other.

    For structures whose outputs are sums of parts (nodes, edges, paths of a label graph) and losses
    h + tilt * g, as margin rescaling is, with features or kernels. Directions may come from oracles
    that are hasty; the certificate asks them again, and says what they are worth.

    Parameters
    ----------
    inner : int >= 1
        Most steps within an example per visit. The examples of a pass share their steps by the gaps
        that they had when visited last: whoever has the mean gap gets a third of `inner`.
    chunk : int >= 1 or None
        So many examples are visited `sweeps` times before the next ones are: with a kernel whose
        columns do not all fit into memory, these are then computed once. None: all examples.
    sweeps : int >= 1
        How often a chunk is visited in a pass.
    average : bool
        Report a mean of the iterates within the last few passes.

    Examples
    --------
    >>> from maxmargin.solvers import MMCRF
    >>> MMCRF(inner=3)
    MMCRF(inner=3, chunk=None, sweeps=1, average=True)
    """

    inner: int = 10
    chunk: int | None = None
    sweeps: int = 1
    average: bool = True

    name: ClassVar[str] = "mmcrf"
    state_class: ClassVar[type[State]] = MarginalState
    needs: ClassVar[frozenset[str]] = frozenset({"convex", "linear", "unit_slope", "parts"})
    takes_kernels: ClassVar[bool] = True
    reach: ClassVar[float] = 5e-2

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("inner", self.inner), ("sweeps", self.sweeps), ("chunk", self.chunk)):
            if value is not None and value < 1:
                raise ValueError(f"MMCRF: {name} must be an integer >= 1, got {value!r}.")

    def start(self, problem: Problem, w: np.ndarray | None = None) -> MarginalState:
        """Start at w = 0, all mass on the true outputs; given weights are the first to report."""
        where = places(problem)
        check_memory("The marginals", int(where.flat_at[-1]))
        marginals, linear = np.zeros(int(where.flat_at[-1])), np.zeros(problem.n_examples)
        state = MarginalState(np.zeros(problem.n_weights), marginals, linear)
        if w is not None:
            state.offer = w.copy()
        return state

    def advance(self, problem: Problem, state: State, rng: np.random.Generator) -> Progress:
        """Visit the examples, chunk by chunk; those of larger gaps make more steps."""
        state = cast(MarginalState, state)
        n = problem.n_examples
        order = rng.permutation(n)
        step = n if self.chunk is None else self.chunk
        chunks = [order[first : first + step] for first in range(0, n, step)]
        order = np.concatenate([np.tile(chunk, self.sweeps) for chunk in chunks])
        estimate = self._visit(problem, state, order) / n
        state.n_passes += 1
        progress = Progress(dual_value(problem, state.linear, state.w), estimate)
        if len(state.offer):
            w, state.offer = state.offer, np.zeros(0)
            dual = progress.dual
            return Progress.at(w, self.assess(problem, w), dual=dual, gap_estimate=estimate)
        return progress

    def _limits(self, gap: np.ndarray) -> np.ndarray:
        """Return how many steps each example may make, by its share of the gap."""
        known = np.isfinite(gap)
        mean = float(gap[known].mean()) if known.any() else 0.0
        shares = np.where(known & (mean > 0.0), gap / max(mean, 1e-300), 3.0)
        return np.clip(np.ceil(shares * self.inner / 3.0), 1, self.inner).astype(np.int64)

    def _visit(self, problem: Problem, state: MarginalState, order: np.ndarray) -> float:
        run, where, bench = problem.bind(visit_marginals), places(problem), bench_of(problem)
        limits = self._limits(state.gap)
        inv_lam_n = 1.0 / (problem.lam * problem.n_examples)

        def call(first: int, last: int, total: float) -> float:
            problem.prepare(order[first:last])
            return run(
                problem.view, order, first, last, inv_lam_n, limits, state.w, state.marginals,
                state.linear, state.gap, problem.truths, problem.truth_places, where,
                problem.desk(), bench, total,
            )  # fmt: skip

        mean = state.w_mean if self.average else None
        with problem.in_haste():
            total, mean = run_strides(problem, call, len(order), state.w, mean)
        if mean is not None:
            state.w_mean = mean
        return total / self.sweeps

    def iterates(self, problem: Problem, state: State) -> list[tuple[np.ndarray, float]]:
        """Return the mean of recent iterates and the last one."""
        state = cast(MarginalState, state)
        last = (state.w, dual_value(problem, state.linear, state.w))
        return [(state.w_mean, math.nan), last] if len(state.w_mean) else [last]

    def dual_rounding(self, problem: Problem, state: State, dual: float) -> float:
        """Return a cheap estimate of how far D can be from its computed value."""
        n_passes = cast(MarginalState, state).n_passes * self.inner * self.sweeps
        return dual_rounding(problem, state.w, dual, n_passes)

    def sharpen(self, problem: Problem, state: State) -> tuple[float, float]:
        """Sum w anew; return D and its rounding."""
        state = cast(MarginalState, state)
        sum_up(problem, state)
        dual = dual_value(problem, state.linear, state.w)
        return dual, dual_rounding(problem, state.w, dual, 1)

    def adapt(self, problem: Problem, state: State, lam: float) -> None:
        """Keep the marginals; w is in inverse proportion to lam."""
        self.repair(problem, state)
        state = cast(MarginalState, state)
        state.n_passes = 0
        state.gap[:] = np.inf

    def repair(self, problem: Problem, state: State) -> None:
        """Compute w from the marginals."""
        state = cast(MarginalState, state)
        sum_up(problem, state)
        state.w_mean = np.zeros(0)


def places(problem: Problem) -> Places:
    """Return where the parts of every example are; there are no laws."""
    return problem.remember(places_of_parts)


def places_of_parts(data: Any) -> Places:
    """Return where parts begin, if those of all examples lie one after the other."""
    if has(part_counts, type(data)):
        counts = np.ascontiguousarray(part_counts(data), dtype=np.int64)
    else:
        sizes = [array.size for array in workspace(data)[0]]
        counts = np.tile(np.array(sizes, dtype=np.int64), (len(output_sizes(data)), 1))
    ends = np.concatenate([[0], np.cumsum(counts.sum(axis=1))]).astype(np.int64)
    return Places(np.zeros(len(counts) + 1, dtype=np.int64), ends, counts)


def bench_of(problem: Problem) -> LawDesk:
    """Return the one desk for marginals; passes over them run on one thread."""
    return problem.remember(new_bench)


def new_bench(data: Any) -> LawDesk:
    """Return a desk that is large enough for any one example."""
    most = int(np.diff(places_of_parts(data).flat_at).max(initial=1))
    flat = (np.zeros(most) for _ in range(4))
    return LawDesk(
        workspace(data)[0], workspace(data)[0], (), np.zeros(square_size(data)), np.zeros(1), *flat
    )


def sum_up(problem: Problem, state: MarginalState) -> None:
    """Compute w from the marginals."""
    state.w = np.zeros(problem.n_weights)
    run, n = problem.bind(sum_marginals), problem.n_examples
    for first, last in problem.strides(0, n):
        run(
            problem.view, first, last, 1.0 / (problem.lam * n), state.marginals, places(problem),
            bench_of(problem), state.w,
        )  # fmt: skip


@jitable
def read_scores(problem: Any, i: int, w: Any, where: Any, desk: Any, bench: Any) -> None:
    """Fill desk.theta and bench.scores with the scores of example i at w."""
    potentials(problem.data, i, w, 1.0, desk.theta)
    zero(bench.scores, where.flat_at[i + 1] - where.flat_at[i])
    gather(problem.data, i, desk.theta, where.counts, 1.0, bench.scores, 0)


@jitable
def move_scores(problem: Any, i: int, scale: float, where: Any, desk: Any, bench: Any) -> None:
    """Add scale times the scores in bench.theta, which `parts_square` left, to those of i."""
    n = where.flat_at[i + 1] - where.flat_at[i]
    zero(bench.prices, n)
    gather(problem.data, i, bench.theta, where.counts, 1.0, bench.prices, 0)
    for c in range(n):
        if bench.scores[c] > -math.inf:  # what is forbidden remains so
            bench.scores[c] += scale * bench.prices[c]
    spread(problem.data, i, bench.scores, 0, where.counts, desk.theta)


@jitable
def visit_marginals(
    problem: Any,
    order: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    limits: Any,
    w: Any,
    marginals: Any,
    linear: Any,
    gap: Any,
    truths: Any,
    truth_at: Any,
    where: Any,
    desk: Any,
    bench: Any,
    total: float,
) -> float:
    """Make up to limits[i] conditional gradient steps within each example of order[first:last].

    Returns ``total``, the sum so far, plus the gaps of these examples before their steps, times n.
    """
    desk.slack[0] = 0.0
    for visit in range(first, last):
        i = order[visit]
        weight, at = problem.weight[i], where.flat_at[i]
        n, factor = where.flat_at[i + 1] - at, weight * inv_lam_n
        read_scores(problem, i, w, where, desk, bench)
        for step in range(limits[i]):
            top, _, h, _ = find(problem.search, problem, i, desk, desk.y, 0)
            value = linear[i]
            for c in range(n):
                if marginals[at + c] != 0.0:  # forbidden parts have no mass, and a score of -inf
                    value += marginals[at + c] * bench.scores[c]
            # The truth has h + g = 0: a hasty oracle may find less.
            rise = top - value
            if step == 0:
                gap[i] = max(weight * rise, 0.0)
                total += gap[i]
            if rise <= 1e-14 * abs(top):
                break
            clear(problem, i, where, bench)
            parts(problem.data, i, desk.y, 0, 1.0, bench.mu)
            parts(problem.data, i, truths, truth_at[i], -1.0, bench.mu)
            zero(bench.change, n)
            gather(problem.data, i, bench.mu, where.counts, 1.0, bench.change, 0)
            for c in range(n):
                bench.change[c] -= marginals[at + c]
            spread(problem.data, i, bench.change, 0, where.counts, bench.mu)
            square = parts_square(problem.data, i, bench.mu, bench.spare, bench.theta)
            share = best_step(rise, factor * square)
            add_parts(problem.data, i, bench.mu, -factor * share, w)
            for c in range(n):
                marginals[at + c] += share * bench.change[c]
            # psi = h + (what the output costs), so that a mean of outputs costs the mean of these.
            linear[i] += share * (top - h - linear[i])
            if step + 1 < limits[i]:
                move_scores(problem, i, -factor * share, where, desk, bench)
        clear(problem, i, where, bench)
    return total


@jitable
def sum_marginals(
    problem: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    marginals: Any,
    where: Any,
    bench: Any,
    w: Any,
) -> None:
    """Add the shares of examples first..last-1 to w."""
    for i in range(first, last):
        spread(problem.data, i, marginals, where.flat_at[i], where.counts, bench.mu)
        add_parts(problem.data, i, bench.mu, -problem.weight[i] * inv_lam_n, w)
        clear(problem, i, where, bench)
