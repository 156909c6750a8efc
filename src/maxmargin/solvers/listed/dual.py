"""The dual over lists of outputs: a coefficient for every output of every example.

A state keeps beta_i: alpha_i with 1 subtracted at the true output. Where lam is small, all entries
of beta_i are small, and adding the 1 would cost them digits. With the planes offset_k + slope_k h_k
of blocks/dual.py,

    w = -1/(lam n) sum_i s_i sum_k beta_ik slope_ik ( phi(x_i, k) - phi(x_i, y_i) ),
    D = 1/n sum_i s_i sum_k beta_ik offset_ik - lam/2 |w|^2.

Under margin rescaling every plane is h + g: then a state keeps neither slopes nor offsets, if the
phi(x_i, k) are orthogonal and equally long.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_listed,
    conjugate,
    listed_gram,
    listed_norms,
    n_listed,
    output_cost,
    psi,
)
from maxmargin.core.problem import Problem
from maxmargin.search.direct import Direct
from maxmargin.solvers.contract import State

#: Fields that are saved with a state; every pass over all outputs computes the others anew.
KEPT = ("w", "beta", "slope", "offset", "linear", "gap", "w_mean", "offer")


class ListedState(State):
    """Coefficients and planes of every output of every example, and w = their sum."""

    def __init__(
        self, w: np.ndarray, beta: np.ndarray, slope: np.ndarray, offset: np.ndarray
    ) -> None:
        self.w = w
        self.beta = beta
        #: Empty where all planes are h + g.
        self.slope, self.offset = slope, offset
        self.linear = np.zeros(len(beta))
        self.gap = np.full(len(beta), np.inf)
        self.w_mean = np.zeros(0)
        #: Weights to report if they are better, until the first pass has looked at them.
        self.offer = np.zeros(0)
        self.active = np.zeros(beta.shape, dtype=np.int32)
        self.n_active = np.zeros(len(beta), dtype=np.int64)
        self.room = np.zeros((3, beta.shape[1]))
        #: The sum of the gaps that the last pass over all blocks met, and the sigma of the next
        #: proximal step, 0 as long as passes are quick; see newton.py.
        self.met, self.sigma = np.inf, 0.0

    @property
    def has_planes(self) -> bool:
        """Whether slopes and offsets are kept."""
        return self.slope.size > 0

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays."""
        own = {name: getattr(self, name) for name in KEPT}
        return own | {"pace": np.array([self.met, self.sigma])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> ListedState:
        """Make the state that `arrays` was called on."""
        state = cls(*(arrays[name].copy() for name in KEPT[:4]))
        for name in KEPT[4:]:
            setattr(state, name, arrays[name].copy())
        state.met, state.sigma = arrays["pace"].tolist()
        return state


class Blocks(NamedTuple):
    """The arrays of a state, and what passes read beside them."""

    beta: Any  # (n_examples, n_outputs): coefficients alpha, with 1 subtracted at the truth
    slope: Any  # (n_examples, n_outputs), 0 at the truth; or empty
    offset: Any  # (n_examples, n_outputs), 0 at the truth; or empty
    linear: Any  # (n_examples,): sum_k alpha_k offset_k
    gap: Any  # (n_examples,): last known gap of each block, times n
    active: Any  # (n_examples, n_outputs) int32: the first n_active[i] of row i are in use
    n_active: Any  # (n_examples,) int64
    room: Any  # (3, n_outputs)
    truths: Any  # (n_examples,) int32
    norms: Any  # (n_examples,): |phi(x_i, y)|^2


def new_state(problem: Problem) -> ListedState:
    """Return the dual point w = 0: all mass on the true outputs."""
    shape = problem.n_examples, int(n_listed(problem.view.data))
    slope, offset = empty = np.zeros((2, 0, 0))
    search = problem.view.search
    # Where the search is one call of the oracle for h + g, every plane is h + g: keep none, as the
    # projection needs none.
    has_gram = problem.remember(listed_gram) is not None
    if has_gram or not isinstance(search, Direct) or search != Direct(1.0, 1.0):
        slope, offset = np.zeros((2, *shape))
        run = problem.bind(first_planes)
        is_margin = run(problem.view, problem.truths, slope, offset, problem.desk().y)
        if is_margin and problem.is_linear and not has_gram:
            slope, offset = empty
    return ListedState(np.zeros(problem.n_weights), np.zeros(shape), slope, offset)


def blocks_of(problem: Problem, state: ListedState) -> Blocks:
    """Return a state as passes see it."""
    return Blocks(
        state.beta, state.slope, state.offset, state.linear, state.gap, state.active,
        state.n_active, state.room, problem.truths, problem.remember(listed_norms),
    )  # fmt: skip


def dual_value(problem: Problem, state: ListedState) -> float:
    """Return D."""
    linear = float(problem.view.weight @ state.linear) / problem.n_examples
    return linear - 0.5 * problem.lam * problem.inner(state.w, state.w)


def sum_weights(problem: Problem, state: ListedState) -> None:
    """Sum w from the coefficients anew."""
    state.w = np.zeros(problem.n_weights)
    inv_lam_n = 1.0 / (problem.lam * problem.n_examples)
    problem.bind(sum_listed)(problem.view, inv_lam_n, blocks_of(problem, state), state.w)
    state.w_mean = np.zeros(0)


def mend_state(problem: Problem, state: ListedState) -> None:
    """Turn a state that an interrupt left half updated into a dual point."""
    blocks, y = blocks_of(problem, state), problem.desk().y
    problem.bind(mend)(problem.view, not problem.is_linear, blocks, y)
    sum_weights(problem, state)


@jitable
def first_planes(problem: Any, truths: Any, slope: Any, offset: Any, y: Any) -> bool:
    """Fill in the tangents of psi at h = 0; tell whether they are h + g for all outputs."""
    is_margin = True
    for i in range(slope.shape[0]):
        for k in range(slope.shape[1]):
            if k != truths[i]:
                y[0] = k
                g = output_cost(problem.data, problem.cost, i, y, 0)
                offset[i, k], slope[i, k], _ = psi(problem.surrogate, 0.0, g)
                if offset[i, k] != g or slope[i, k] != 1.0:
                    is_margin = False
    return is_margin


@jitable
def sum_listed(problem: Any, inv_lam_n: float, blocks: Any, w: Any) -> None:
    """w -= sum_i s_i/(lam n) sum_k beta_ik slope_ik ( phi(x_i, k) - phi(x_i, y_i) )."""
    mass = blocks.room[2]
    for i in range(blocks.beta.shape[0]):
        for k in range(blocks.beta.shape[1]):
            mass[k] = blocks.beta[i, k]
        if blocks.slope.shape[0] > 0:
            truth = blocks.truths[i]
            mass[truth] = 0.0
            for k in range(blocks.beta.shape[1]):
                if k != truth:
                    mass[k] *= blocks.slope[i, k]
                    mass[truth] -= mass[k]
        add_listed(problem.data, i, mass, -problem.weight[i] * inv_lam_n, w)


@jitable
def mend(problem: Any, bends: bool, blocks: Any, y: Any) -> None:
    """Make coefficients >= 0 with sum 1, and compute the offsets that belong to the slopes."""
    beta, offset = blocks.beta, blocks.offset
    for i in range(beta.shape[0]):
        truth = blocks.truths[i]
        others = 0.0
        for k in range(beta.shape[1]):
            if k != truth:
                beta[i, k] = max(beta[i, k], 0.0)
                others += beta[i, k]
        share = 1.0 / max(others, 1.0)
        beta[i, truth] = -min(others, 1.0)
        blocks.linear[i] = 0.0
        for k in range(beta.shape[1]):
            if k == truth or beta[i, k] == 0.0:
                continue
            beta[i, k] *= share
            y[0] = k
            level = output_cost(problem.data, problem.cost, i, y, 0)
            if offset.shape[0] > 0:
                if bends:
                    offset[i, k] = -conjugate(problem.surrogate, blocks.slope[i, k], level)
                level = offset[i, k]
            blocks.linear[i] += beta[i, k] * level
