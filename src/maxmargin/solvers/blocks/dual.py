"""The dual of the block solvers: for every example, a few planes and their coefficients.

The loss of example i is bounded below by planes

    offset_p + slope_p * h_i(y_p),    h_i(y) = -w.Psi_i(y),

one an output y_p. With coefficients alpha_p >= 0 that sum to 1 in each block,

    w = sum_i s_i/(lam n) sum_p alpha_p slope_p Psi_i(y_p),
    D = 1/n sum_i s_i sum_p alpha_p offset_p - lam/2 |w|^2.

A block is improved by moving mass between its planes and, where psi is not affine in h, by turning
them. Nothing here is of size n x d.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    conjugate,
    difference_potentials,
    find,
    margin_error,
    output_cost,
    output_size,
    potentials,
    psi,
    shift,
)
from maxmargin.core.problem import Problem

# How a block moves: one Frank-Wolfe step, one pairwise step, or until its planes agree.
PLAIN, PAIRWISE, ACTIVE = 0, 1, 2

#: A plane that has had no coefficient for this many visits is forgotten.
MAX_IDLE = 10

# The columns of `Blocks.planes`.
ALPHA, SLOPE, OFFSET, IDLE = 0, 1, 2, 3


class Blocks(NamedTuple):
    """Active planes of all examples: block i owns rows start[i] to start[i+1] of `planes`.

    The first plane of a block is that of y_i: offset 0, Psi = 0. Outputs of one block lie one after
    the other from cell place[i]; its Gram matrix <Psi_p, Psi_q> is a square from gram[square[i]],
    as wide as the block has rows.
    """

    planes: Any  # (n_rows, 4): coefficient, slope, offset, visits without a coefficient
    outputs: Any  # (n_cells,)
    gram: Any  # (n_entries,)
    start: Any  # (n + 1,) int64
    place: Any  # (n + 1,) int64
    square: Any  # (n + 1,) int64
    count: Any  # (n,) int64: planes in use
    gap: Any  # (n,) last known gap of the block, times n


class Bench(NamedTuple):
    """Room for the planes of the block in hand."""

    alpha: Any
    slope: Any
    value: Any
    change: Any
    h: Any


def capacity(blocks: Blocks) -> np.ndarray:
    """Return how many planes each block has room for."""
    return np.diff(blocks.start)


def empty_blocks(problem: Problem, room: np.ndarray) -> Blocks:
    """Return blocks with room for so many planes each, none in use."""
    start, place, square = (
        np.concatenate([[0], np.cumsum(cells)]).astype(np.int64)
        for cells in (room, room * problem.sizes, room * room)
    )
    return Blocks(
        np.zeros((int(start[-1]), 4)),
        problem.empty_outputs(int(place[-1])),
        np.zeros(int(square[-1])),
        start,
        place,
        square,
        np.zeros(problem.n_examples, dtype=np.int64),
        np.full(problem.n_examples, np.inf),
    )


def new_blocks(problem: Problem) -> Blocks:
    """Return the dual point w = 0: all mass on the true outputs."""
    blocks = empty_blocks(problem, np.full(problem.n_examples, 4, dtype=np.int64))
    blocks.planes[blocks.start[:-1], ALPHA] = 1.0
    blocks.planes[blocks.start[:-1], SLOPE] = 1.0
    blocks.count[:] = 1
    own = np.concatenate([[0], np.cumsum(problem.sizes)])[:-1]
    cells = np.repeat(blocks.place[:-1] - own, problem.sizes) + np.arange(len(problem.truths))
    blocks.outputs[cells] = problem.truths
    return blocks


def bench_for(blocks: Blocks) -> Bench:
    """Return room for the planes of any one block."""
    largest = int(capacity(blocks).max())
    return Bench(*(np.zeros(largest) for _ in Bench._fields))


def in_use(blocks: Blocks) -> np.ndarray:
    """Tell of every row whether it holds a plane."""
    rank = np.arange(len(blocks.planes)) - np.repeat(blocks.start[:-1], capacity(blocks))
    return rank < np.repeat(blocks.count, capacity(blocks))


def kept_planes(blocks: Blocks) -> np.ndarray:
    """Tell of every row whether it holds a plane that is not to be forgotten."""
    kept = in_use(blocks) & (blocks.planes[:, IDLE] <= MAX_IDLE)
    kept[blocks.start[:-1]] = True
    return kept


def make_room(problem: Problem, blocks: Blocks, visits: np.ndarray) -> Blocks:
    """Return blocks in which every example can take one new plane a visit.

    Forgets idle planes on the way. Done before a pass, so that a pass allocates nothing.
    """
    room = capacity(blocks)
    if (blocks.count + visits <= room).all():
        return blocks
    kept = kept_planes(blocks)
    needed = np.add.reduceat(kept, blocks.start[:-1]) + visits
    # Growing copies everything: all that will soon be tight grow at once, by half.
    room = np.where(needed + 3 <= room, room, needed * 3 // 2 + 3)
    larger = empty_blocks(problem, room)
    larger.gap[:] = blocks.gap
    problem.bind(copy_planes)(kept, problem.sizes, blocks, larger)
    return larger


def dual_value(problem: Problem, blocks: Blocks, w: np.ndarray) -> float:
    """Return D at the point whose weights are w."""
    linear = np.where(in_use(blocks), blocks.planes[:, ALPHA] * blocks.planes[:, OFFSET], 0.0)
    means = np.add.reduceat(linear, blocks.start[:-1])
    linear_term = float(problem.view.weight @ means) / problem.n_examples
    return linear_term - 0.5 * problem.lam * float(w @ w)


def sharpen_blocks(problem: Problem, state: Any) -> tuple[float, float]:
    """Free a dual point of the rounding of the run so far; return D, and how far off that can be.

    Coefficients sum to 1 again, planes get the offsets that follow from their slopes, and w is
    summed anew. ``state`` has ``blocks`` and ``w``.
    """
    blocks = state.blocks
    normalize(blocks)
    problem.bind(find_offsets)(problem.view, blocks)
    state.w = primal_weights(problem, blocks)
    in_sum = (blocks.planes[:, ALPHA] > 0.0) & in_use(blocks)
    n_sums = 2.0 * float(np.add.reduceat(in_sum, blocks.start[:-1]) @ problem.sizes)
    dual = dual_value(problem, blocks, state.w)
    n_planes = int(blocks.count.max(initial=1))
    rounding = problem.precision.of_dual(state.w, dual, problem.lam, n_sums + n_planes)
    return dual, rounding


def normalize(blocks: Blocks) -> None:
    """Let the coefficients of each block sum to 1 exactly; the truth takes what is missing."""
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
    """Let the offset of every plane be -psi* of its slope.

    The offset psi - slope * h that it was made with has the rounding of h, which can be large.
    """
    for i in range(blocks.count.shape[0]):
        size = output_size(problem.data, i)
        for p in range(1, blocks.count[i]):
            row, at = blocks.start[i] + p, blocks.place[i] + p * size
            slope = blocks.planes[row, SLOPE]
            g = output_cost(problem.data, problem.cost, i, blocks.outputs, at)
            more = slope * shift(problem.data, problem.cost, i, blocks.outputs, at)
            offset = more - conjugate(problem.surrogate, slope, g)
            if np.isfinite(offset):
                blocks.planes[row, OFFSET] = offset


@jitable
def copy_planes(kept: Any, sizes: Any, blocks: Any, larger: Any) -> None:
    """Copy the planes that are kept into a larger set of blocks."""
    for i in range(sizes.shape[0]):
        size = sizes[i]
        old_room = blocks.start[i + 1] - blocks.start[i]
        new_room = larger.start[i + 1] - larger.start[i]
        new = 0
        for old in range(blocks.count[i]):
            if not kept[blocks.start[i] + old]:
                continue
            for column in range(4):
                larger.planes[larger.start[i] + new, column] = blocks.planes[
                    blocks.start[i] + old, column
                ]
            for cell in range(size):
                larger.outputs[larger.place[i] + new * size + cell] = blocks.outputs[
                    blocks.place[i] + old * size + cell
                ]
            other = 0
            for q in range(old + 1):
                if kept[blocks.start[i] + q]:
                    entry = blocks.gram[blocks.square[i] + old * old_room + q]
                    larger.gram[larger.square[i] + new * new_room + other] = entry
                    larger.gram[larger.square[i] + other * new_room + new] = entry
                    other += 1
            new += 1
        larger.count[i] = new


@jitable
def sum_blocks(problem: Any, factor: float, blocks: Any, w: Any) -> None:
    """w += sum of all blocks; factor is 1/(lam n)."""
    for i in range(blocks.count.shape[0]):
        size = output_size(problem.data, i)
        for p in range(1, blocks.count[i]):
            row = blocks.start[i] + p
            scale = (
                factor * problem.weight[i] * blocks.planes[row, ALPHA] * blocks.planes[row, SLOPE]
            )
            if scale > 0.0:
                at = blocks.place[i] + p * size
                add_difference(problem.data, i, blocks.outputs, at, scale, w)


@jitable
def add_plane(problem: Any, i: int, slope: float, offset: float, blocks: Any, desk: Any) -> int:
    """Give block i the plane of the output in desk.y; return its number. There must be room."""
    size = output_size(problem.data, i)
    count = blocks.count[i]
    place = blocks.place[i]
    for p in range(count):
        same = True
        for cell in range(size):
            if blocks.outputs[place + p * size + cell] != desk.y[cell]:
                same = False
                break
        if same:
            return p
    for cell in range(size):
        blocks.outputs[place + count * size + cell] = desk.y[cell]
    row = blocks.start[i] + count
    blocks.planes[row, ALPHA] = 0.0
    blocks.planes[row, SLOPE] = slope
    blocks.planes[row, OFFSET] = offset
    blocks.planes[row, IDLE] = 0.0
    # Every inner product with the new plane at once: h under the potentials of Psi_i(y) is
    # -<Psi_i(y), .>.
    room = blocks.start[i + 1] - blocks.start[i]
    difference_potentials(problem.data, i, desk.y, 0, desk.spare, desk.theta_difference)
    for p in range(count + 1):
        at = place + p * size
        product = -margin_error(problem.data, i, desk.theta_difference, blocks.outputs, at)
        blocks.gram[blocks.square[i] + count * room + p] = product
        blocks.gram[blocks.square[i] + p * room + count] = product
    # At last, so that an interrupt finds a whole plane or none.
    blocks.count[i] = count + 1
    return count


@jitable
def turned(
    surrogate: Any, h: float, g: float, slope: float, offset: float, value: float, weight: float
) -> tuple[float, float]:
    """Return slope and offset of a plane turned towards the tangent of psi at h.

    ``value`` is that of the plane at h. Per unit of its coefficient, the dual pays for a change of
    slope by ``weight`` / 2 times its square.
    """
    top, target, _ = psi(surrogate, h, g)
    ascent, turn = top - value, target - slope
    if ascent <= 0.0 or turn == 0.0:
        return slope, offset
    # Seen from here psi* is a parabola, nearly. Where that leads too far, its chord does not.
    curvature = weight * turn * turn
    share = 2.0 * ascent / (2.0 * ascent + curvature)
    new = -conjugate(surrogate, slope + share * turn, g)
    gain = new + (slope + share * turn) * h - value
    if gain < 0.5 * share * share * curvature:
        share = ascent / curvature if ascent < curvature else 1.0
        chord = offset + share * (top - target * h - offset)
        new = max(chord, -conjugate(surrogate, slope + share * turn, g))
    return slope + share * turn, new


@jitable
def bend_planes(
    problem: Any, i: int, factor: float, gram: Any, w: Any, blocks: Any, bench: Any
) -> None:
    """Turn the planes of block i towards the tangents at w, where psi is not affine in h.

    Of all tangents of an output one stands for them: a mean of several has the same w as that of
    mean slope c, whose offset -psi*(c) is no less than the mean of theirs. So each plane is turned
    on its own, and the dual does not fall.
    """
    size = output_size(problem.data, i)
    planes, start = blocks.planes, blocks.start[i]
    count = blocks.count[i]
    for p in range(1, count):
        row, at = start + p, blocks.place[i] + p * size
        g = output_cost(problem.data, problem.cost, i, blocks.outputs, at)
        alpha, slope, h = bench.alpha[p], bench.slope[p], bench.h[p]
        weight = alpha * factor * gram[p, p]
        new, offset = turned(
            problem.surrogate, h, g, slope, planes[row, OFFSET], bench.value[p], weight
        )
        turn = new - slope
        if turn == 0.0:
            continue
        bench.slope[p] = planes[row, SLOPE] = new
        planes[row, OFFSET] = offset
        bench.value[p] = offset + bench.slope[p] * h
        if alpha > 0.0:
            moved = factor * alpha * turn
            add_difference(problem.data, i, blocks.outputs, at, moved, w)
            for q in range(1, count):
                bench.h[q] -= moved * gram[p, q]
                bench.value[q] -= bench.slope[q] * moved * gram[p, q]


@jitable
def pairwise_steps(
    gram: Any,
    count: int,
    factor: float,
    corner: int,
    max_steps: int,
    alpha: Any,
    slope: Any,
    value: Any,
    change: Any,
) -> None:
    """Move mass from the lowest active plane to the highest until they agree.

    ``factor`` is s_i/(lam n). The first step goes to plane ``corner``, the next ones to the best.
    """
    slack = -1.0
    for step_number in range(max_steps):
        hi, lo = 0, -1
        for p in range(count):
            if value[p] > value[hi]:
                hi = p
            if alpha[p] > 0.0 and (lo < 0 or value[p] < value[lo]):
                lo = p
        if step_number == 0:
            hi = corner
        ascent = value[hi] - value[lo]
        if slack < 0.0:
            # The other blocks move too: solving this one to the last digit is wasted.
            slack = 1e-2 * ascent
        if ascent <= slack:
            break
        curvature = factor * (
            slope[hi] * slope[hi] * gram[hi, hi]
            - 2.0 * slope[hi] * slope[lo] * gram[hi, lo]
            + slope[lo] * slope[lo] * gram[lo, lo]
        )
        step = most = alpha[lo]
        if ascent < most * curvature:
            step = ascent / curvature
        alpha[hi] += step
        # A plane that gives all it has must end at zero, not at a rounding error.
        alpha[lo] = most - step if step < most else 0.0
        change[hi] += step
        change[lo] -= step
        toward, away = step * factor * slope[hi], step * factor * slope[lo]
        for p in range(count):
            value[p] -= slope[p] * (toward * gram[hi, p] - away * gram[lo, p])


@jitable
def plain_step(
    gram: Any,
    count: int,
    factor: float,
    corner: int,
    alpha: Any,
    slope: Any,
    value: Any,
    change: Any,
) -> None:
    """One Frank-Wolfe step towards a plane."""
    ascent = value[corner]
    curvature = slope[corner] * slope[corner] * gram[corner, corner]
    for p in range(count):
        ascent -= alpha[p] * value[p]
        mass = alpha[p] * slope[p]
        curvature -= 2.0 * mass * slope[corner] * gram[corner, p]
        for q in range(count):
            curvature += mass * alpha[q] * slope[q] * gram[p, q]
    curvature *= factor
    if ascent <= 0.0:
        return
    step = ascent / curvature if ascent < curvature else 1.0
    for p in range(count):
        moved = step * alpha[p]
        alpha[p] -= moved
        change[p] -= moved
    alpha[corner] += step
    change[corner] += step


@jitable
def visit_blocks(
    problem: Any,
    order: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    kind: int,
    max_steps: int,
    ask: bool,
    bends: bool,
    w: Any,
    blocks: Any,
    bench: Any,
    desk: Any,
    total: float,
) -> float:
    """Improve the blocks order[first:last], one after the other; add up their gaps.

    Returns ``total``, the sum so far, with theirs. The gap of a block, times n, before its step is
    s_i (max psi - sum_p alpha_p value_p). With ``ask`` the oracle is called and its plane added;
    without, only the planes at hand are used, and the gap is that over them. With ``bends``, where
    psi is not affine in h, planes are turned too.
    """
    for visit in range(first, last):
        i = order[visit]
        weight = problem.weight[i]
        factor = weight * inv_lam_n
        potentials(problem.data, i, w, 1.0, desk.theta)
        corner = -1
        top = 0.0
        if ask:
            top, slope, h, _ = find(problem.search, problem, i, desk, desk.y, 0)
            if top > 0.0:
                corner = add_plane(problem, i, slope, top - slope * h, blocks, desk)

        size = output_size(problem.data, i)
        start, count = blocks.start[i], blocks.count[i]
        alpha, slopes = bench.alpha, bench.slope
        mean = 0.0
        best = 0
        for p in range(count):
            h = margin_error(
                problem.data, i, desk.theta, blocks.outputs, blocks.place[i] + p * size
            )
            alpha[p] = blocks.planes[start + p, ALPHA]
            slopes[p] = blocks.planes[start + p, SLOPE]
            bench.h[p] = h
            bench.value[p] = blocks.planes[start + p, OFFSET] + slopes[p] * h
            bench.change[p] = 0.0
            mean += alpha[p] * bench.value[p]
            if bench.value[p] > bench.value[best]:
                best = p
        if corner < 0:
            corner = best
            top = bench.value[corner]
        gap = max(weight * (top - mean), 0.0)
        total += gap
        if ask:
            blocks.gap[i] = gap

        room = blocks.start[i + 1] - start
        gram = blocks.gram[blocks.square[i] : blocks.square[i + 1]].reshape((room, room))
        if bends:
            bend_planes(problem, i, factor, gram, w, blocks, bench)
        if kind == PLAIN:
            plain_step(gram, count, factor, corner, alpha, slopes, bench.value, bench.change)
        else:
            n_steps = 1 if kind == PAIRWISE else max_steps
            pairwise_steps(
                gram, count, factor, corner, n_steps, alpha, slopes, bench.value, bench.change
            )

        for p in range(count):
            row = start + p
            if bench.change[p] != 0.0:
                scale = factor * bench.change[p] * slopes[p]
                at = blocks.place[i] + p * size
                add_difference(problem.data, i, blocks.outputs, at, scale, w)
                blocks.planes[row, ALPHA] = alpha[p]
            blocks.planes[row, IDLE] = 0.0 if alpha[p] > 0.0 else blocks.planes[row, IDLE] + 1.0
    return total
