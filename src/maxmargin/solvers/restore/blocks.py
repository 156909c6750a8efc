"""States of block solvers from a file: their planes hold for the examples, and w is their sum."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    are_outputs,
    conjugate,
    output_cost,
    psi,
    shift,
)
from maxmargin.core.outputs import cells_of
from maxmargin.core.problem import Problem
from maxmargin.solvers.blocks.arena import (
    ALPHA,
    AT,
    COST,
    IDLE,
    OFFSET,
    SHIFT,
    SLOPE,
    Blocks,
    capacity,
    in_use,
    truth_lengths,
)
from maxmargin.solvers.blocks.bcfw import BlockState
from maxmargin.solvers.contract import Solver, State
from maxmargin.solvers.restore.checked import Arrays
from maxmargin.solvers.restore.shared import (
    ROUNDING,
    bound,
    check_close,
    gaps,
    told_lengths,
    vector,
)


def check_blocks(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays of blocks, if their shapes and counts go together."""
    n = problem.n_examples
    start = arrays.take("blocks.start", (n + 1,), np.int64, 0)
    planes = arrays.take("blocks.planes", (None, 6))
    room = np.diff(start)
    if start[0] != 0 or start[-1] != len(planes) or not (room >= 1).all():
        raise ValueError("array 'blocks.start' must rise from 0 to the number of planes")
    found = {"w": vector(problem, arrays, "w"), "blocks.start": start, "blocks.planes": planes}
    found["w_mean"] = vector(problem, arrays, "w_mean", maybe=True)
    found["n_passes"] = arrays.take("n_passes", (), np.int64, 0)
    square = arrays.take("blocks.square", (n + 1,), np.int64)
    if not np.array_equal(square, np.concatenate([[0], np.cumsum(room * room)])):
        raise ValueError("array 'blocks.square' is not that of the room of its blocks")
    found["blocks.square"] = square
    found["blocks.gram"] = arrays.take("blocks.gram", (int(square[-1]),))
    found["blocks.outputs"] = arrays.take("blocks.outputs", (None,), problem.truths.dtype)
    n_cells = len(found["blocks.outputs"])
    found["blocks.end"] = arrays.take("blocks.end", (1,), np.int64, 0, n_cells + 1)
    found["blocks.spans"] = arrays.take("blocks.spans", (len(planes), 2), np.int64, 0, n_cells + 1)
    found["blocks.gap"] = gaps(problem, arrays, "blocks.gap")
    count = arrays.take("blocks.count", (n,), np.int64, 1)
    if not (count <= room).all():
        raise ValueError("array 'blocks.count' tells of more planes than there is room for")
    found["blocks.count"] = count
    return found


def audit_blocks(problem: Problem, solver: Solver, state: State) -> None:
    """Check coefficients, outputs and planes against the problem, and w against their sum."""
    state = cast(BlockState, state)
    blocks, firsts = state.blocks, state.blocks.start[:-1]
    used = in_use(blocks)
    planes = blocks.planes
    if (planes[used] < 0.0)[:, [ALPHA, SLOPE, IDLE]].any():
        raise ValueError("array 'blocks.planes' has a coefficient, a slope or a count below 0")
    alpha = np.where(used, planes[:, ALPHA], 0.0)
    if not np.allclose(np.add.reduceat(alpha, firsts), 1.0, rtol=0.0, atol=ROUNDING):
        raise ValueError("the coefficients of a block do not sum to 1")
    owners = np.repeat(np.arange(problem.n_examples), capacity(blocks))
    is_truth = np.zeros(len(planes), dtype=bool)
    is_truth[firsts] = True
    if planes[is_truth, OFFSET].any():
        raise ValueError("the plane of a true output must have the offset 0")
    if problem.truths.dtype != object:  # objects never come from a file
        _audit_outputs(problem, blocks, np.flatnonzero(used), owners, is_truth)
    w = np.zeros(problem.n_weights)
    factor = 1.0 / (problem.lam * problem.n_examples)
    run = bound(problem, audit_planes, int(blocks.count.sum()))
    row = int(run(problem.view, factor, problem.is_linear, ROUNDING, blocks, w))
    if row >= 0:
        raise ValueError(f"plane {row} of its blocks is not below the loss of its output")
    check_close("w", state.w, w)


def _audit_outputs(
    problem: Problem, blocks: Blocks, used: np.ndarray, owners: np.ndarray, is_truth: np.ndarray
) -> None:
    """Check the outputs of all planes in use against their examples."""
    data, (at, lengths) = problem.view.data, blocks.spans[used].T
    sizes = problem.sizes[owners[used]]
    if not (at + lengths <= blocks.end[0]).all():
        raise ValueError("array 'blocks.spans' tells of cells that are not in use")
    if not (lengths <= sizes).all():
        raise ValueError("array 'blocks.spans' has an output that is too long for its example")
    firsts = is_truth[used]
    true_cells = problem.truths[cells_of(problem.truth_places[:-1], truth_lengths(problem))]
    if not np.array_equal(blocks.outputs[cells_of(at[firsts], lengths[firsts])], true_cells):
        raise ValueError("the first output of a block must be the true one")
    if not np.array_equal(told_lengths(data, owners[used], blocks.outputs, at, lengths), lengths):
        raise ValueError("array 'blocks.spans' has a length that is not that of its output")
    at, lengths, owners = at[~firsts], lengths[~firsts], owners[used][~firsts]
    others = blocks.outputs[cells_of(at, lengths)]
    if len(others) and not are_outputs(data, owners, others, lengths).all():
        raise ValueError("array 'blocks.outputs' has an output that its example does not have")


@jitable
def audit_planes(
    problem: Any, factor: float, is_linear: bool, rounding: float, blocks: Any, w: Any
) -> int:
    """Add up w; return the first row whose plane is above psi somewhere, or -1."""
    for i in range(blocks.count.shape[0]):
        for p in range(1, blocks.count[i]):
            row = blocks.start[i] + p
            at = blocks.spans[row, AT]
            slope, offset = blocks.planes[row, SLOPE], blocks.planes[row, OFFSET]
            g = output_cost(problem.data, problem.cost, i, blocks.outputs, at)
            moved = shift(problem.data, problem.cost, i, blocks.outputs, at)
            off = abs(blocks.planes[row, COST] - g) + abs(blocks.planes[row, SHIFT] - moved)
            if off > rounding * (1.0 + abs(g) + abs(moved)):
                return row
            if not below_psi(problem.surrogate, is_linear, rounding, slope, offset, g, moved):
                return row
            scale = factor * problem.weight[i] * blocks.planes[row, ALPHA] * slope
            if scale > 0.0:
                add_difference(problem.data, i, blocks.outputs, at, scale, w)
    return -1


@jitable
def below_psi(
    surrogate: Any,
    is_linear: bool,
    rounding: float,
    slope: float,
    offset: float,
    g: float,
    moved: float,
) -> bool:
    """Tell whether offset + slope * h is nowhere above psi(h + moved, g), but for rounding."""
    top, tangent, _ = psi(surrogate, moved, g)
    room = rounding * (1.0 + abs(g) + abs(top) + abs(offset))
    if is_linear:
        return abs(slope - tangent) <= rounding * (1.0 + abs(tangent)) and offset <= top + room
    return offset <= slope * moved - conjugate(surrogate, slope, g) + room
