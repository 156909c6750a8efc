"""Optima to the last digits: the n-slack cutting plane with masters solved by interior points.

Blocks solved one after the other creep where many examples share few weights, as each undoes what
the others did, and so do planes over all examples together: P is not smooth, and P(w) - P* falls as
the root of D* - D. The master of `NSlack` is a quadratic programme over known planes,

    min over w, xi of  lam/2 |w|^2 + 1/n sum_i s_i xi_i,    xi_i >= b_p + a_p.w  for its planes p,

and Newton's method on its conditions of optimality with t_p alpha_p = mu instead of 0, mu falling,
solves it to rounding in some twenty steps, one matrix n_weights x n_weights each. It takes a dense
row of n_weights for every plane, so it is for optima that are looked for once
(`race.py --optima`), and no solver of the library. P, D and planes are the library's: the
coefficients are written to its blocks, and all that is told of them is computed there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_difference
from maxmargin.core.problem import Problem
from maxmargin.solvers import NSlack
from maxmargin.solvers.blocks.arena import ALPHA, AT, IDLE, OFFSET, SLOPE, Blocks, in_use
from maxmargin.solvers.blocks.bcfw import BlockState
from maxmargin.solvers.blocks.dual import dual_value

#: Most weights, and most numbers in the rows of all planes.
MOST_WEIGHTS, MOST_NUMBERS = 3000, 100_000_000
#: Sweeps over blocks are the faster while the gap of a master need not be below this share of D.
NEAR = 2e-5
#: How much of the mass of a block a master spreads over all its planes to begin with.
SPREAD = 0.05
#: Most steps of Newton's method, and how far one goes to where a number would be 0.
MOST_STEPS, FAR = 60, 0.995
#: A master is solved to this share of the gap that is asked of it: digits are cheap.
SHARE = 0.1


def fits(problem: Problem) -> bool:
    """Tell whether the optimum of a problem can be looked for in this way."""
    is_plain = problem.is_linear and problem.is_euclidean and problem.kernel is None
    weighs = bool((problem.view.weight > 0.0).all())
    return bool(is_plain and weighs and problem.n_weights <= MOST_WEIGHTS)


@dataclass(frozen=True)
class NewtonSlack(NSlack):
    """`NSlack` whose masters are solved by interior points where sweeps do not do."""

    def _solve_master(
        self,
        problem: Problem,
        state: BlockState,
        goal: float,
        n_sweeps: int,
        rng: np.random.Generator,
    ) -> None:
        blocks = state.blocks
        used, before = in_use(blocks), dual_value(problem, blocks, state.w)
        is_far = goal > NEAR * before
        if is_far or not fits(problem) or used.sum() * problem.n_weights > MOST_NUMBERS:
            super()._solve_master(problem, state, goal, n_sweeps, rng)
            return
        old = blocks.planes[used].copy()
        found = Master(problem, blocks).solve(SHARE * goal)
        blocks.planes[used, ALPHA] = found
        self.repair(problem, state)
        if not dual_value(problem, blocks, state.w) > before:
            blocks.planes[used] = old
            self.repair(problem, state)
        carries = blocks.planes[used, ALPHA] > TINY
        blocks.planes[used, IDLE] = np.where(carries, 0.0, old[:, IDLE] + 1.0)


#: A coefficient below this, of which interior points leave many, is no reason to keep a plane.
TINY = 1e-7


@jitable
def write_rows(problem: Any, blocks: Any, rows: Any) -> None:
    """Write slope * Psi of all planes in use to ``rows``, one after the other."""
    at = 0
    for i in range(blocks.count.shape[0]):
        for p in range(blocks.count[i]):
            row = blocks.start[i] + p
            if p > 0:
                place, slope = blocks.spans[row, AT], blocks.planes[row, SLOPE]
                add_difference(problem.data, i, blocks.outputs, place, slope, rows[at])
            at += 1


class Master:
    """The quadratic programme over known planes, whose values are ``offset - rows @ w``."""

    def __init__(self, problem: Problem, blocks: Blocks) -> None:
        self.lam = problem.lam
        used = in_use(blocks)
        self.counts = blocks.count.copy()
        self.firsts = np.cumsum(self.counts) - self.counts
        self.rows = np.zeros((int(used.sum()), problem.n_weights))
        problem.bind(write_rows)(problem.view, blocks, self.rows)
        self.offset, self.start = blocks.planes[used, OFFSET], blocks.planes[used, ALPHA]
        #: What the coefficients of a block sum to here.
        self.total = problem.view.weight / problem.n_examples

    def sums(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sums over the planes of each block."""
        return np.asarray(np.add.reduceat(numbers, self.firsts, axis=0))

    def spread(self, numbers: np.ndarray) -> np.ndarray:
        """Return one number of each block for all its planes."""
        return np.repeat(numbers, self.counts, axis=0)

    def solve(self, goal: float) -> np.ndarray:
        """Return coefficients whose gap over known planes is ``goal``, or near to rounding."""
        share = (1.0 - SPREAD) * self.start + SPREAD * self.spread(1.0 / self.counts)
        mass = share * self.spread(self.total)
        w = mass @ self.rows / self.lam
        values = self.offset - self.rows @ w
        top = np.maximum.reduceat(values, self.firsts)
        gap = float(self.total @ top - mass @ values)
        # The first room is as large for all blocks, and as much as the gap is.
        room = self.spread(top) - values + gap / float(self.total.sum())
        for _ in range(MOST_STEPS):
            gap = float(mass @ room)
            if gap <= goal:
                break
            step = Newton(self, mass, room)
            try:
                change = step.towards(np.zeros_like(mass))
                far = min(_far(mass, change.mass), _far(room, change.room))
                after = float((mass + far * change.mass) @ (room + far * change.room))
                mu = gap / len(mass) * (after / gap) ** 3
                change = step.towards(mu - change.mass * change.room)
            except np.linalg.LinAlgError:
                break
            ahead = FAR * min(_far(mass, change.mass), _far(room, change.room))
            mass = mass + ahead * change.mass
            room = room + ahead * change.room
        return np.asarray(mass / self.spread(self.sums(mass)))


@dataclass
class Change:
    """A step: of the coefficients, and of the room between a plane and the slack."""

    mass: np.ndarray
    room: np.ndarray


class Newton:
    """Newton's method at one point, at which w is that of the coefficients."""

    def __init__(self, master: Master, mass: np.ndarray, room: np.ndarray) -> None:
        self.master, self.mass, self.room = master, mass, room
        self.curve = mass / room
        self.curves = master.sums(self.curve)
        # Slacks move with w, so that of the planes of a block only differences count.
        centred = master.rows * self.curve[:, None]
        self.means = master.sums(centred) / self.curves[:, None]
        np.subtract(master.rows, master.spread(self.means), out=centred)
        centred *= np.sqrt(self.curve)[:, None]
        matrix = centred.T @ centred
        matrix[np.diag_indices_from(matrix)] += master.lam
        self.factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def towards(self, products: np.ndarray) -> Change:
        """Return the step to where mass * room is ``products``, to first order."""
        master = self.master
        free = products / self.room - self.mass
        slack = master.sums(free) / self.curves
        right = free @ master.rows - (slack * self.curves) @ self.means
        w = cho_solve(self.factor, right, check_finite=False)
        slack = slack - self.means @ w
        room = master.spread(slack) + master.rows @ w
        return Change(free - self.curve * room, room)


def _far(numbers: np.ndarray, change: np.ndarray) -> float:
    """Return how much of a step, at most all of it, keeps numbers from falling below 0."""
    falls = change < 0.0
    return float(min(np.min(-numbers[falls] / change[falls], initial=np.inf), 1.0))
