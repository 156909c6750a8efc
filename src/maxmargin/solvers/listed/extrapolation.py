"""Passes over moving blocks, there and back again, and points beyond the last one.

Where the supports of blocks no longer change, a pass over the same blocks in the same order and
back is an affine map of their coefficients. Anderson's method takes the combination of the last few
points, with coefficients that sum to 1, whose change under the map would be least, and so jumps
along the directions in which passes creep. It is kept if D is larger there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_listed
from maxmargin.core.problem import Problem
from maxmargin.solvers.listed.dual import ListedState, dual_value

#: Passes there and back between two jumps, and most coefficients and weights of a point: a jump
#: takes room for some twenty points.
MEMORY, MOST_CELLS = 5, 250_000


@jitable
def add_changes(
    problem: Any, order: Any, first: int, last: int, inv_lam_n: float, changes: Any, w: Any
) -> None:
    """w -= s_i/(lam n) sum_k changes[visit, k] phi(x_i, k) for the blocks order[first:last]."""
    for visit in range(first, last):
        i = order[visit]
        add_listed(problem.data, i, changes[visit], -problem.weight[i] * inv_lam_n, w)


class _Points:
    """The last few points of some blocks."""

    def __init__(self, problem: Problem, state: ListedState, order: np.ndarray) -> None:
        self.problem, self.state, self.order = problem, state, order
        self._kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.note()

    def note(self) -> bool:
        """Keep the present point; tell whether there are enough for a jump."""
        state = self.state
        self._kept.append((state.beta[self.order], state.linear[self.order], state.w.copy()))
        return len(self._kept) > MEMORY

    def jump(self) -> None:
        """Go to the best combination, every block as far as it is allowed, if D is larger there."""
        beta, linear, w = map(np.array, zip(*self._kept, strict=True))
        moves = np.diff(beta.reshape(len(beta), -1), axis=0)
        gram = moves @ moves.T
        gram += 1e-10 * np.trace(gram) * np.eye(len(gram))
        try:
            share = np.linalg.solve(gram, np.ones(len(gram)))
        except np.linalg.LinAlgError:
            return  # nothing has moved
        share /= share.sum()
        ahead = np.tensordot(share, beta[1:], 1) - beta[-1]
        floor = np.zeros_like(ahead)
        floor[np.arange(len(floor)), self.problem.truths[self.order]] = -1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            far = np.where(ahead < 0.0, (beta[-1] - floor) / -ahead, np.inf).min(axis=1)
        far = np.minimum(far, 1.0)[:, None]
        there = np.tensordot(share, w[1:], 1)
        short = np.flatnonzero(far[:, 0] < 1.0)
        self._add(self.order[short], ((far - 1.0) * ahead)[short], there)
        own = linear[-1] + far[:, 0] * (np.tensordot(share, linear[1:], 1) - linear[-1])
        self._go(np.maximum(beta[-1] + far * ahead, floor), own, there)

    def _add(self, order: np.ndarray, changes: np.ndarray, w: np.ndarray) -> None:
        problem = self.problem
        run, inv_lam_n = problem.bind(add_changes), 1.0 / (problem.lam * problem.n_examples)
        for first, last in problem.strides(0, len(order)):
            problem.prepare(order[first:last])
            run(problem.view, order, first, last, inv_lam_n, changes, w)

    def _go(self, beta: np.ndarray, linear: np.ndarray, w: np.ndarray) -> None:
        state, problem = self.state, self.problem
        new = {"beta": state.beta.copy(), "linear": state.linear.copy(), "w": w}
        new["beta"][self.order], new["linear"][self.order] = beta, linear
        before, old = dual_value(problem, state), {name: getattr(state, name) for name in new}
        vars(state).update(new)  # at once, whatever interrupts
        if not dual_value(problem, state) > before:
            vars(state).update(old)


def visit_and_jump(
    problem: Problem,
    state: ListedState,
    visit: Callable[[np.ndarray], float],
    order: np.ndarray,
    enough: float,
    still: float,
    n_left: int,
) -> None:
    """Visit some blocks in this order and back, until the sum of their gaps is ``enough``.

    ``visit`` makes a pass over some blocks, writes their gaps to state.gap, and returns the sum.
    Before each jump blocks are left out whose gap is below ``still`` times the mean. ``n_left`` is
    the largest number of passes.
    """
    points = _Points(problem, state, order)
    while n_left > 0 and len(order) > 0:
        rest = 0.5 * visit(np.concatenate([order, order[::-1]]))
        n_left -= 2
        if rest <= enough:
            break
        if points.note():
            points.jump()
            order = order[state.gap[order] > still * rest / len(order)]
            points = _Points(problem, state, order)
