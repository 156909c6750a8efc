"""The dual of the block solvers: for every example, a few planes and their coefficients.

The loss of example i is bounded below by planes

    offset_p + slope_p * h_i(y_p),    h_i(y) = -w.Psi_i(y),

one plane per output y_p. With coefficients alpha_p >= 0 that sum to 1 in each block,

    w = sum_i s_i/(lam n) sum_p alpha_p slope_p Psi_i(y_p),
    D = 1/n sum_i s_i sum_p alpha_p offset_p - lam/2 |w|^2.

A block is improved by moving mass between its planes and, where psi is not affine in h, by turning
them. No array here has size n x d.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import add_difference, conjugate
from maxmargin.core.problem import Problem
from maxmargin.solvers.blocks.arena import (
    ALPHA,
    AT,
    COST,
    OFFSET,
    SHIFT,
    SLOPE,
    Blocks,
    capacity,
    in_use,
)


def dual_value(problem: Problem, blocks: Blocks, w: np.ndarray) -> float:
    """Return D at the point whose weights are w."""
    return linear_term(problem, blocks) - 0.5 * problem.lam * problem.inner(w, w)


def linear_term(problem: Problem, blocks: Blocks) -> float:
    """Return the linear part of D."""
    linear = np.where(in_use(blocks), blocks.planes[:, ALPHA] * blocks.planes[:, OFFSET], 0.0)
    means = np.add.reduceat(linear, blocks.start[:-1])
    return float(problem.view.weight @ means) / problem.n_examples


def sharpen_blocks(problem: Problem, state: Any) -> tuple[float, float]:
    """Remove the rounding errors of the run so far from a dual point; return D and its rounding.

    Makes coefficients sum to 1 again, computes the offsets of planes from their slopes, and sums w
    anew. ``state`` has ``blocks`` and ``w``.
    """
    blocks = state.blocks
    normalize(blocks)
    problem.bind(find_offsets)(problem.view, blocks)
    state.w = primal_weights(problem, blocks)
    in_sum = (blocks.planes[:, ALPHA] > 0.0) & in_use(blocks)
    n_sums = 2.0 * float(np.add.reduceat(in_sum, blocks.start[:-1]) @ problem.sizes)
    dual = dual_value(problem, blocks, state.w)
    n_planes = int(blocks.count.max(initial=1))
    length = problem.length(state.w)
    rounding = problem.precision.of_dual(length, dual, problem.lam, n_sums + n_planes)
    return dual, rounding


def normalize(blocks: Blocks) -> None:
    """Make the coefficients of each block sum to 1 exactly; the truth takes what is missing."""
    alpha = np.where(in_use(blocks), np.maximum(blocks.planes[:, ALPHA], 0.0), 0.0)
    sums = np.add.reduceat(alpha, blocks.start[:-1])
    alpha /= np.repeat(np.maximum(sums, 1.0), capacity(blocks))
    alpha[blocks.start[:-1]] += np.maximum(1.0 - sums, 0.0)
    blocks.planes[:, ALPHA] = alpha


def primal_weights(problem: Problem, blocks: Blocks) -> np.ndarray:
    """Return w summed from the blocks anew."""
    w = np.zeros(problem.n_weights)
    problem.bind(sum_blocks)(problem.view, 1.0 / (problem.lam * problem.n_examples), blocks, w)
    return w


@jitable
def find_offsets(problem: Any, blocks: Any) -> None:
    """Set the offset of every plane to -psi*(slope).

    A plane was made with the offset psi - slope * h, which has the rounding error of h. That error
    can be large.
    """
    for i in range(blocks.count.shape[0]):
        for p in range(1, blocks.count[i]):
            row = blocks.start[i] + p
            slope = blocks.planes[row, SLOPE]
            more = slope * blocks.planes[row, SHIFT]
            offset = more - conjugate(problem.surrogate, slope, blocks.planes[row, COST])
            if np.isfinite(offset):
                blocks.planes[row, OFFSET] = offset


@jitable
def sum_blocks(problem: Any, factor: float, blocks: Any, w: Any) -> None:
    """w += sum of all blocks; factor is 1/(lam n)."""
    for i in range(blocks.count.shape[0]):
        for p in range(1, blocks.count[i]):
            row = blocks.start[i] + p
            scale = (
                factor * problem.weight[i] * blocks.planes[row, ALPHA] * blocks.planes[row, SLOPE]
            )
            if scale > 0.0:
                at = blocks.spans[row, AT]
                add_difference(problem.data, i, blocks.outputs, at, scale, w)
