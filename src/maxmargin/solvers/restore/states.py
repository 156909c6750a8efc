"""States of solvers that come from a file: which there can be, and what dual they prove."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    are_outputs,
    conjugate,
    has,
    output_cost,
    output_length,
    output_sizes,
    psi,
    shift,
    times_metric,
)
from maxmargin.core.outputs import cells_of
from maxmargin.core.problem import Problem
from maxmargin.solvers.blocks import dual as block_dual
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
from maxmargin.solvers.cutting.one_slack import OneSlack, OneSlackState
from maxmargin.solvers.cutting.one_slack_rows import MET, OneSlackRows, OneSlackRowsState
from maxmargin.solvers.listed import dual as listed
from maxmargin.solvers.listed.dual import ListedState
from maxmargin.solvers.online.perceptron import PerceptronState
from maxmargin.solvers.online.sgd import SgdState
from maxmargin.solvers.restore.checked import Arrays, check_array

#: Relative difference that is allowed between two ways to compute the same number.
ROUNDING = 1e-7
#: Number of steps of a pass that plain Python makes in about a second.
FEW = 5000


def bound(problem: Problem, function: Callable, n_steps: int) -> Callable:
    """Return a pass as the problem runs it, or in plain Python if that is faster than compiling."""
    return problem.bind(function) if n_steps > FEW else function


def told_lengths(
    data: Any, examples: np.ndarray, outputs: np.ndarray, at: np.ndarray, most: np.ndarray
) -> np.ndarray:
    """Return the number of cells of each output, as its own cells tell it.

    Refuses an output that tells no length from 1 to ``most``: an array from a file can hold
    anything.
    """
    if not has(output_length, type(data)):
        return np.asarray(output_sizes(data), dtype=np.int64)[examples]
    lengths = np.zeros(len(examples), dtype=np.int64)
    for k, i in enumerate(examples.tolist()):
        own = outputs[at[k] : at[k] + most[k]]
        told = output_length(data, i, own, 0) if np.isfinite(own).all() and len(own) else 0
        if not 1 <= told <= most[k]:
            raise ValueError("an output does not tell how long it is")
        lengths[k] = told
    return lengths


def checked_state(problem: Problem, solver: Solver, arrays: Arrays) -> State:
    """Return the state that a solver left, if it could have left it on this problem."""
    kind = solver.state_class
    if kind not in _CHECKS:  # a solver of a user's own
        return kind.from_arrays(arrays.rest())
    checked = _CHECKS[kind](problem, solver, arrays)
    arrays.close()
    state = kind.from_arrays(checked)
    if kind in _AUDITS:
        _AUDITS[kind](problem, solver, state)
    return state


def proved_dual(problem: Problem, solver: Solver, state: State) -> float:
    """Return the lower bound of the optimum that a checked state proves."""
    if isinstance(state, BlockState):
        return block_dual.dual_value(problem, state.blocks, state.w)
    if isinstance(state, ListedState):
        return listed.dual_value(problem, state)
    if isinstance(state, OneSlackState):
        # The state's coefficients solve the master only to a tenth of the gap: solve it fully.
        trial = cast(Any, copy.deepcopy(state))
        trial.lower, trial.upper = -math.inf, math.inf
        if isinstance(trial, OneSlackRowsState):
            trial.primal = math.inf
        cast(OneSlack, solver)._solve_master(problem, trial)
        return float(trial.lower)
    return -math.inf if type(state) in _CHECKS else math.inf


def _vector(problem: Problem, arrays: Arrays, name: str, maybe: bool = False) -> np.ndarray:
    """Take a vector as long as w, of finite norm; with ``maybe`` it may be empty instead."""
    array = arrays.take(name, (None,))
    if not (maybe and len(array) == 0):
        check_array(name, array, (problem.n_weights,))
    with np.errstate(over="ignore"):
        if not math.isfinite(float(array @ array)):
            raise ValueError(f"array {name!r} has a length that is not finite")
    return array


def _gaps(problem: Problem, arrays: Arrays, name: str) -> np.ndarray:
    """Take the gaps of blocks, infinite before the first pass."""
    array = arrays.take(name, (problem.n_examples,), finite=False)
    if not (array >= 0.0).all():
        raise ValueError(f"array {name!r} must be >= 0 everywhere")
    return array


def _close(name: str, told: np.ndarray, found: np.ndarray) -> None:
    scale = max(float(np.abs(found).max(initial=0.0)), float(np.abs(told).max(initial=0.0)))
    if not np.abs(told - found).max(initial=0.0) <= ROUNDING * scale:
        raise ValueError(f"array {name!r} is not what the rest of its state makes of it")


# -- blocks: bcfw, n_slack -----------------------------------------------------------------------


def _check_blocks(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    n = problem.n_examples
    start = arrays.take("blocks.start", (n + 1,), np.int64, 0)
    planes = arrays.take("blocks.planes", (None, 6))
    room = np.diff(start)
    if start[0] != 0 or start[-1] != len(planes) or not (room >= 1).all():
        raise ValueError("array 'blocks.start' must rise from 0 to the number of planes")
    found = {"w": _vector(problem, arrays, "w"), "blocks.start": start, "blocks.planes": planes}
    found["w_mean"] = _vector(problem, arrays, "w_mean", maybe=True)
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
    found["blocks.gap"] = _gaps(problem, arrays, "blocks.gap")
    count = arrays.take("blocks.count", (n,), np.int64, 1)
    if not (count <= room).all():
        raise ValueError("array 'blocks.count' tells of more planes than there is room for")
    found["blocks.count"] = count
    return found


def _audit_blocks(problem: Problem, solver: Solver, state: State) -> None:
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
    _close("w", state.w, w)


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


# -- lists of outputs: sdca ----------------------------------------------------------------------


def _check_listed(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    own = listed.new_state(problem).arrays()
    found = {name: arrays.take(name, own[name].shape) for name in ("beta", "slope", "offset")}
    found["linear"] = arrays.take("linear", (problem.n_examples,))
    found["gap"] = _gaps(problem, arrays, "gap")
    found["w"] = _vector(problem, arrays, "w")
    for name in ("w_mean", "offer"):
        found[name] = _vector(problem, arrays, name, maybe=True)
    if problem.is_linear:  # then planes are never turned
        for name in ("slope", "offset"):
            if not np.array_equal(found[name], own[name]):
                raise ValueError(f"array {name!r} is not that of the losses of the outputs")
    elif (found["slope"] < 0.0).any():
        raise ValueError("array 'slope' must be >= 0 everywhere")
    return found


def _audit_listed(problem: Problem, solver: Solver, state: State) -> None:
    """Check coefficients, w and the linear part against what they are computed from."""
    state = cast(ListedState, state)
    mended = ListedState(state.w.copy(), state.beta.copy(), state.slope.copy(), state.offset.copy())
    parts, n_cells = listed.blocks_of(problem, mended), mended.beta.size
    bends, y = not problem.is_linear, problem.desk().y
    bound(problem, listed.mend, n_cells)(problem.view, bends, parts, y)
    mended.w = np.zeros(problem.n_weights)
    factor = 1.0 / (problem.lam * problem.n_examples)
    bound(problem, listed.sum_listed, n_cells)(problem.view, factor, parts, mended.w)
    if not np.allclose(state.beta, mended.beta, rtol=ROUNDING, atol=ROUNDING):
        raise ValueError("array 'beta' has coefficients that are below 0 or do not sum to 1")
    # The offsets that belong to the slopes are the largest possible: the state's are no larger.
    room = ROUNDING * (1.0 + np.abs(mended.linear))
    if not (state.linear <= mended.linear + room).all():
        raise ValueError("array 'linear' is above what the losses of the outputs allow")
    _close("w", state.w, mended.w)


# -- cutting planes: one_slack -------------------------------------------------------------------


def _check_planes(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    found = {"offset": arrays.take("offset", (None,))}
    m, d = len(found["offset"]), problem.n_weights
    found["alpha"] = arrays.take("alpha", (m,), low=0.0)
    found["idle"] = arrays.take("idle", (m,), np.int64, 0)
    found["noise"] = arrays.take("noise", (m,), low=0.0)
    found["gram"] = arrays.take("gram", (m, m))
    found["w"], found["best"] = _vector(problem, arrays, "w"), _vector(problem, arrays, "best")
    found["bounds"] = arrays.take("bounds", (4,), finite=False)
    upper, lower, share, noise = found["bounds"].tolist()
    is_run = 0.0 <= lower < math.inf and upper > -math.inf and 0.0 < share <= 1.0
    if m < 1 or not (is_run and 0.0 <= noise < math.inf):
        raise ValueError("array 'bounds' must be the bounds of a run")
    if isinstance(listed_planes(d), dict):
        found |= _sparse_planes(arrays, m, d)
    else:
        found["planes"] = arrays.take("planes", (m, d))
    return found


def listed_planes(n_weights: int) -> dict[str, np.ndarray] | None:
    """Return the arrays of the first plane where planes this long are kept as lists; else None."""
    from maxmargin.solvers.cutting.planes import SparsePlanes, zero_plane

    planes = zero_plane(n_weights)
    return planes.arrays() if isinstance(planes, SparsePlanes) else None


def _sparse_planes(arrays: Arrays, m: int, d: int) -> dict[str, np.ndarray]:
    ends = arrays.take("planes.ends", (m,), np.int64, 0)
    values = arrays.take("planes.values", (None,))
    indices = arrays.take("planes.indices", values.shape, np.int64, 0, d)
    if not (np.diff(ends) >= 0).all() or ends[-1] != len(values):
        raise ValueError("array 'planes.ends' must rise to the number of values")
    return {"planes.ends": ends, "planes.values": values, "planes.indices": indices}


def _check_planes_rows(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    found = _check_planes(problem, solver, arrays)
    rows = cast(OneSlackRows, solver).rows
    n_rows = len(rows.margins(found["w"]))
    found["row"] = arrays.take("row", found["offset"].shape, np.int64, -1, n_rows)
    found["kept"] = _vector(problem, arrays, "kept")
    if not rows.margins(found["kept"]).min() >= 1.0 - 2.0 * MET:
        raise ValueError("array 'kept' misses a row")
    found["numbers"] = arrays.take("numbers", (2,), finite=False)
    primal, is_kept = found["numbers"].tolist()
    if not primal > -math.inf or is_kept not in (0.0, 1.0):
        raise ValueError("array 'numbers' must be a primal and 0 or 1")
    return found


def _audit_cuts(problem: Problem, solver: Solver, state: State) -> None:
    """Check planes against the risk where it is known, and their Gram matrix against the planes.

    A plane is a mean over all examples, and a file does not say of which outputs. But at the
    weights of the state no plane may be above the risk.
    """
    state = cast(OneSlackState, state)
    m = len(state.offset)
    is_row = state.row >= 0 if isinstance(state, OneSlackRowsState) else np.zeros(m, dtype=bool)
    units = np.eye(m)
    vectors = [state.planes.combine(unit) for unit in units] if m * m < 10**6 else []
    if state.offset[0] != 0.0 or state.planes.combine(units[0]).any():
        raise ValueError("the first plane must be 0")
    metric = problem.regularizer
    gram = np.array([state.planes.products(times_metric(metric, v)) for v in vectors])
    if vectors:
        _close("gram", state.gram[:m, :m], gram)
    for k in np.flatnonzero(is_row):
        row = -cast(OneSlackRows, solver).rows.signed(int(cast(Any, state).row[k]))
        if state.offset[k] != 1.0 or not np.array_equal(state.planes.combine(units[k]), row):
            raise ValueError(f"plane {k} is not the row that it says")
    if not abs(float(state.alpha[~is_row].sum()) - 1.0) <= ROUNDING:
        raise ValueError("the coefficients of its planes do not sum to 1")
    for w in (state.w, state.best):
        risk = problem.risk(w).value
        height = state.offset + state.planes.products(times_metric(metric, w))
        room = ROUNDING * (1.0 + abs(risk) + np.abs(state.offset))
        if (height > risk + room)[~is_row].any():
            raise ValueError("a plane of its state is above the losses")


# -- online solvers ------------------------------------------------------------------------------


def _check_sgd(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    found = {name: _vector(problem, arrays, name) for name in ("w", "total")}
    found["lag"] = _lag(problem, solver, arrays)
    found["clock"] = arrays.take("clock", (4,), low=0.0)
    t, t0, lam, area = found["clock"].tolist()
    if lam != problem.lam or t != int(t) or t0 < 1.0 or area <= 0.0:
        raise ValueError("array 'clock' must be the steps, the first step, lam and an area")
    return found


def _check_perceptron(problem: Problem, solver: Solver, arrays: Arrays) -> dict[str, np.ndarray]:
    found = {"w": _vector(problem, arrays, "w"), "lag": _lag(problem, solver, arrays)}
    found["clock"] = arrays.take("clock", (1,), np.int64, 0)
    return found


def _lag(problem: Problem, solver: Solver, arrays: Arrays) -> np.ndarray:
    size = problem.n_weights if cast(Any, solver).average else 0
    return arrays.take("lag", (size,))


_Check = Callable[[Problem, Solver, Arrays], dict[str, np.ndarray]]
_CHECKS: dict[type[State], _Check] = {
    BlockState: _check_blocks,
    ListedState: _check_listed,
    OneSlackState: _check_planes,
    OneSlackRowsState: _check_planes_rows,
    SgdState: _check_sgd,
    PerceptronState: _check_perceptron,
}
_AUDITS: dict[type[State], Callable[[Problem, Solver, State], None]] = {
    BlockState: _audit_blocks,
    ListedState: _audit_listed,
    OneSlackState: _audit_cuts,
    OneSlackRowsState: _audit_cuts,
}
