"""Proximal steps on all blocks at once, by Newton's method: for few weights and many examples.

Solving one block after the other is slow where many blocks share few weights: each undoes what the
others did. A proximal step moves all of them,

    max over alpha of  D(alpha) - sigma/2n sum_i s_i |alpha_i - center_i|^2.

Its dual is a smooth function of w alone,

    min over w of  lam/2 |w|^2 + 1/n sum_i s_i max over alpha_i in the simplex of
                       ( alpha_i . v_i(w) - sigma/2 |alpha_i - center_i|^2 ),

where the inner maximum is the projection of center_i + v_i / sigma, v_i are the values h + g, and
the gradient is lam (w - w(alpha)). It is quadratic as long as no projection changes its support:
the curvature is lam plus one term for each output of a support but the first. Newton's method then
ends after a few steps. Every projection is a dual point, and every w that is tried has a primal
that is known exactly, so that a step brings its own certificate.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_few, add_listed, list_values, potentials
from maxmargin.core.problem import Problem
from maxmargin.solvers.listed.dual import ListedState, blocks_of, dual_value
from maxmargin.solvers.listed.projection import threshold

#: A proximal step is solved until its own gap is at most this share of what D has risen by.
SHARE = 0.3
#: Most steps of Newton's method in a proximal step; after more than MANY sigma does not fall.
MOST_STEPS, MANY = 25, 8
#: Factors of sigma: from one proximal step to the next, and where a step of Newton's method can be
#: taken to less than the share POOR, because the function bends too much on the way.
FALL, RISE, POOR = 0.5, 4.0, 0.1
#: The first sigma, as a multiple of the mean gap of a block.
FIRST = 3.0
#: Most weights.
MOST_WEIGHTS = 700
#: Until gaps are a tenth, proximal steps take about as long as PASSES passes over all blocks, and
#: one more for every PER_EXAMPLE by which n_weights^3 / n_examples is larger.
PASSES, PER_EXAMPLE = 1.5, 2e4


class Step(NamedTuple):
    """What a proximal step found."""

    has_risen: bool  # whether D has, and the state is the new dual point
    sigma: float  # for the next step
    primal: float  # the least P of the weights that were tried
    w: Any


class Sums(NamedTuple):
    """Sums over the examples, at one w."""

    top: float  # s_i max v_i
    inner: float  # s_i ( alpha_i . v_i - sigma/2 |alpha_i - center_i|^2 )
    square: float  # s_i |alpha_i - center_i|^2


def first_sigma(problem: Problem, state: ListedState, met: float) -> float:
    """Return sigma of a first proximal step; 0 if passes over blocks get on better.

    ``met`` is the sum of the gaps that the last pass met, and state.met that of the one before.
    """
    m, n = problem.n_weights, problem.n_examples
    is_plain = not state.has_planes and problem.is_euclidean and problem.kernel is None
    if not is_plain or m > MOST_WEIGHTS:
        return 0.0
    n_passes = PASSES + m**3 / (PER_EXAMPLE * n)
    is_slow = met > state.met * 0.1 ** (1.0 / n_passes)
    return FIRST * met / float(problem.view.weight.sum()) if is_slow else 0.0


@jitable
def project_all(
    problem: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    sigma: float,
    w: Any,
    center: Any,
    blocks: Any,
    desk: Any,
    moved: Any,
    sums: Any,
) -> None:
    """Write the projections of blocks first..last-1 at w to blocks.beta.

    ``center`` has coefficients as blocks.beta has them. What follows from their change is added to
    ``moved``, which are weights, and ``sums``, see `Sums`. Supports go to blocks.active.
    """
    beta, active, n_active = blocks.beta, blocks.active, blocks.n_active
    values, costs, change = blocks.room[0], blocks.room[1], blocks.room[2]
    n_outputs = beta.shape[1]
    for i in range(first, last):
        truth = blocks.truths[i]
        weight = problem.weight[i]
        potentials(problem.data, i, w, 1.0, desk.theta)
        list_values(problem.data, problem.cost, i, desk.theta, values, costs)
        top = values[0]
        for k in range(n_outputs):
            top = max(top, values[k])
        for k in range(n_outputs):
            change[k] = center[i, k] + (values[k] - top) / sigma
        tau = threshold(change, n_outputs, truth)
        inner = square = linear = 0.0
        n_active[i] = 0
        for k in range(n_outputs):
            floor = -1.0 if k == truth else 0.0
            over = change[k] - tau
            if over > floor:
                active[i, n_active[i]] = k
                n_active[i] += 1
            new = max(over, floor)
            beta[i, k] = new
            change[k] = center[i, k] - new
            inner += new * values[k]  # as with alpha: the value of the truth is 0
            square += change[k] * change[k]
            linear += new * costs[k]  # the truth costs nothing
        blocks.linear[i] = linear
        sums[0] += weight * top
        sums[1] += weight * (inner - 0.5 * sigma * square)
        sums[2] += weight * square
        if square > 0.0:
            add_listed(problem.data, i, change, weight * inv_lam_n, moved)


@jitable
def add_curvature(
    problem: Any,
    first: int,
    last: int,
    factor: float,
    blocks: Any,
    feature: Any,
    places: Any,
    matrix: Any,
) -> None:
    """Add what blocks first..last-1 bend the smooth function by to the lower half of ``matrix``.

    The projection onto a support of m outputs is that onto the m - 1 directions along which its
    sum is constant: (1, .., 1, -j, 0, ..) / sqrt(j (j + 1)). ``feature`` are zeros, one per weight.
    """
    mass = blocks.room[0]
    for i in range(first, last):
        for j in range(1, blocks.n_active[i]):
            size = math.sqrt(problem.weight[i] * factor / (j * (j + 1.0)))
            for a in range(j):
                mass[a] = size
            mass[j] = -j * size
            add_few(problem.data, i, blocks.active, j + 1, mass, 1.0, feature)
            count = 0
            for f in range(feature.shape[0]):
                if feature[f] != 0.0:
                    places[count] = f
                    count += 1
            for a in range(count):
                row = places[a]
                for b in range(a + 1):
                    matrix[row, places[b]] += feature[row] * feature[places[b]]
            for a in range(count):
                feature[places[a]] = 0.0


class _Smooth:
    """The smooth function of one proximal step, and the dual point where it was looked at last."""

    def __init__(self, problem: Problem, state: ListedState, sigma: float) -> None:
        self.problem, self.sigma = problem, sigma
        self.center, self.w_center = state.beta, state.w
        self.beta, self.linear = np.empty_like(state.beta), np.empty_like(state.linear)
        self.blocks = blocks_of(problem, state)._replace(beta=self.beta, linear=self.linear)
        self.inv_lam_n = 1.0 / (problem.lam * problem.n_examples)
        #: The least primal so far, and its weights.
        self.primal, self.w = math.inf, state.w

    def look(self, w: np.ndarray) -> float:
        """Return the value at w."""
        problem, n, lam = self.problem, self.problem.n_examples, self.problem.lam
        run, desk = problem.bind(project_all), problem.desk()
        self.moved, sums = self.w_center.copy(), np.zeros(3)
        for first, last in problem.strides(0, n):
            problem.n_oracle_calls += last - first
            run(
                problem.view, first, last, self.inv_lam_n, self.sigma, w, self.center, self.blocks,
                desk, self.moved, sums,
            )  # fmt: skip
        found = Sums(*sums.tolist())
        penalty = 0.5 * lam * problem.inner(w, w)
        if penalty + found.top / n < self.primal:
            self.primal, self.w = penalty + found.top / n, w
        own = float(problem.view.weight @ self.linear) / n
        self.dual = own - 0.5 * lam * problem.inner(self.moved, self.moved)
        self.value = penalty + found.inner / n
        self.gap = self.value - self.dual + 0.5 * self.sigma * found.square / n
        return self.value

    def direction(self, w: np.ndarray) -> np.ndarray:
        """Return the step of Newton's method from w, which was looked at last."""
        problem, m = self.problem, self.problem.n_weights
        run, matrix = problem.bind(add_curvature), np.eye(m)
        feature, places = np.zeros(m), np.zeros(m, dtype=np.int64)
        for first, last in problem.strides(0, problem.n_examples):
            run(
                problem.view, first, last, self.inv_lam_n / self.sigma, self.blocks, feature,
                places, matrix,
            )  # fmt: skip
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        return np.asarray(cho_solve(factor, self.moved - w, check_finite=False))


def proximal_step(problem: Problem, state: ListedState, sigma: float) -> Step:
    """Make a proximal step from a state, which changes only if D rises."""
    before = dual_value(problem, state)
    # The mean of recent iterates, or where the last step ended: w itself is that of the center.
    smooth, w = _Smooth(problem, state, sigma), state.w_mean.copy()
    value = smooth.look(w)
    n_steps = 0
    while n_steps < MOST_STEPS and not smooth.gap <= SHARE * (smooth.dual - before):
        n_steps += 1
        try:
            step = smooth.direction(w)
        except LinAlgError:
            break
        slope = problem.lam * problem.inner(w - smooth.moved, step)
        at = _search(smooth, w, step, value, slope)
        if at == 0.0:
            break
        w, value = w + at * step, smooth.value
        if at < POOR:
            smooth.sigma *= RISE
            value = smooth.look(w)
    has_risen = smooth.dual > before
    if has_risen:
        # At once, whatever interrupts: the parts of a state belong together.
        vars(state).update(beta=smooth.beta, linear=smooth.linear, w=smooth.moved, w_mean=w)
    sigma = smooth.sigma * (FALL if has_risen and n_steps <= MANY else 1.0)
    return Step(has_risen, sigma, smooth.primal, smooth.w)


def _search(smooth: _Smooth, w: np.ndarray, step: np.ndarray, value: float, slope: float) -> float:
    """Return how much of a step to take: as much as lets the value fall enough; 0 if none does."""
    at = 1.0
    while at > 1e-8 and slope < 0.0:
        found = smooth.look(w + at * step)
        if found <= value + 1e-4 * at * slope:
            return at
        # The least point of the parabola through both values, with this slope at the first.
        above = found - value - at * slope
        at *= min(max(-0.5 * at * slope / above, 0.1), 0.5) if math.isfinite(above) else 0.1
    smooth.look(w)
    return 0.0
