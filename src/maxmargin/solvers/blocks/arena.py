"""The planes of all examples, and the arena that holds their outputs.

Block i, of example i, owns rows start[i] to start[i+1] of `planes`, of which the first count[i] are
in use. The first one is the plane of y_i: offset 0, Psi = 0. Outputs lie in one array of cells for
all blocks, in the order in which they came; every row says where its own begins and how many cells
it has, so that outputs may differ in length. A pass allocates nothing: `make_room` and `reserve`
provide rows and cells before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    difference_potentials,
    difference_potentials_of,
    has,
    margin_error,
    output_cost,
    output_length,
    shift,
)
from maxmargin.core.outputs import cells_of
from maxmargin.core.problem import Problem

#: A plane that has had no coefficient for this many visits is forgotten.
MAX_IDLE = 10

# The columns of `Blocks.planes`.
ALPHA, SLOPE, OFFSET, IDLE, COST, SHIFT = range(6)
# The columns of `Blocks.spans`.
AT, LENGTH = 0, 1


class Blocks(NamedTuple):
    """Active planes of all examples, block by block.

    The Gram matrix <Psi_p, Psi_q> of block i is a square from gram[square[i]], as wide as the block
    has rows.
    """

    # (n_rows, 6): coefficient, slope, offset, visits without a coefficient; then cost g and shift
    # of the output. The last two are 0 for a true output, where nobody reads them.
    planes: Any
    spans: Any  # (n_rows, 2) int64: first cell and number of cells of the output
    outputs: Any  # (n_cells,): the arena
    end: Any  # (1,) int64: cells of the arena in use
    gram: Any  # (n_entries,)
    start: Any  # (n + 1,) int64
    square: Any  # (n + 1,) int64
    count: Any  # (n,) int64: planes in use
    gap: Any  # (n,) last known gap of the block, times n


def capacity(blocks: Blocks) -> np.ndarray:
    """Return how many planes each block has room for."""
    return np.diff(blocks.start)


def empty_blocks(problem: Problem, room: np.ndarray, n_cells: int) -> Blocks:
    """Return blocks with room[i] rows for block i and n_cells cells in all, none in use."""
    start, square = (
        np.concatenate([[0], np.cumsum(cells)]).astype(np.int64) for cells in (room, room * room)
    )
    n_rows = int(start[-1])
    return Blocks(
        np.zeros((n_rows, 6)),
        np.zeros((n_rows, 2), dtype=np.int64),
        problem.empty_outputs(n_cells),
        np.zeros(1, dtype=np.int64),
        np.zeros(int(square[-1])),
        start,
        square,
        np.zeros(problem.n_examples, dtype=np.int64),
        np.full(problem.n_examples, np.inf),
    )


def new_blocks(problem: Problem) -> Blocks:
    """Return the dual point w = 0: all mass on the true outputs."""
    lengths = truth_lengths(problem)
    n_cells = int(lengths.sum())
    blocks = empty_blocks(problem, np.full(problem.n_examples, 4, dtype=np.int64), n_cells)
    firsts = blocks.start[:-1]
    blocks.planes[firsts, ALPHA] = 1.0
    blocks.planes[firsts, SLOPE] = 1.0
    blocks.spans[firsts, AT] = np.cumsum(lengths) - lengths
    blocks.spans[firsts, LENGTH] = lengths
    blocks.outputs[:] = problem.truths[cells_of(problem.truth_places[:-1], lengths)]
    blocks.end[0] = n_cells
    blocks.count[:] = 1
    return blocks


def truth_lengths(problem: Problem) -> np.ndarray:
    """Return how many cells the true output of each example has in use."""
    data = problem.view.data
    if not has(output_length, type(data)):
        return problem.sizes
    places = problem.truth_places[:-1].tolist()
    found = [output_length(data, i, problem.truths, at) for i, at in enumerate(places)]
    return np.array(found, dtype=np.int64)


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
    """Return blocks in which every example can take one new plane per visit.

    Forgets idle planes when it copies. `reserve` provides the cells of the new outputs.
    """
    room = capacity(blocks)
    if (blocks.count + visits <= room).all():
        return blocks
    kept = kept_planes(blocks)
    needed = np.add.reduceat(kept, blocks.start[:-1]) + visits
    # Growing copies all blocks, so every block that is nearly full grows now, by half.
    room = np.where(needed + 3 <= room, room, needed * 3 // 2 + 3)
    larger = empty_blocks(problem, room, len(blocks.outputs))
    larger.gap[:] = blocks.gap
    problem.bind(copy_planes)(kept, blocks, larger)
    return larger


def packed(problem: Problem, blocks: Blocks) -> Blocks:
    """Return a copy with the planes that have a coefficient, and room for no others."""
    kept = in_use(blocks) & (blocks.planes[:, ALPHA] > 0.0)
    kept[blocks.start[:-1]] = True
    room = np.add.reduceat(kept, blocks.start[:-1])
    smaller = empty_blocks(problem, room, int(blocks.spans[kept, LENGTH].sum()))
    smaller.gap[:] = blocks.gap
    problem.bind(copy_planes)(kept, blocks, smaller)
    return smaller


def reserve(problem: Problem, blocks: Blocks, examples: np.ndarray) -> Blocks:
    """Return blocks whose arena has cells for one more output of each of these examples.

    Called before every compiled call, not once per pass: it has to assume outputs as long as
    `output_size`, and where outputs differ in length most are far shorter.
    """
    end = int(blocks.end[0])
    needed = end + int(problem.sizes[examples].sum())
    if needed <= len(blocks.outputs):
        return blocks
    outputs = problem.empty_outputs(needed + needed // 2)
    outputs[:end] = blocks.outputs[:end]
    return blocks._replace(outputs=outputs)


@jitable
def copy_planes(kept: Any, blocks: Any, larger: Any) -> None:
    """Copy the planes that are kept into a larger set of blocks, outputs block by block."""
    end = 0
    for i in range(blocks.count.shape[0]):
        old_room = blocks.start[i + 1] - blocks.start[i]
        new_room = larger.start[i + 1] - larger.start[i]
        new = 0
        for old in range(blocks.count[i]):
            if not kept[blocks.start[i] + old]:
                continue
            source, row = blocks.start[i] + old, larger.start[i] + new
            for column in range(6):
                larger.planes[row, column] = blocks.planes[source, column]
            at, length = blocks.spans[source, AT], blocks.spans[source, LENGTH]
            larger.spans[row, AT] = end
            larger.spans[row, LENGTH] = length
            for cell in range(length):
                larger.outputs[end + cell] = blocks.outputs[at + cell]
            end += length
            other = 0
            for q in range(old + 1):
                if kept[blocks.start[i] + q]:
                    entry = blocks.gram[blocks.square[i] + old * old_room + q]
                    larger.gram[larger.square[i] + new * new_room + other] = entry
                    larger.gram[larger.square[i] + other * new_room + new] = entry
                    other += 1
            new += 1
        larger.count[i] = new
    larger.end[0] = end


@jitable
def find_plane(i: int, length: int, y: Any, blocks: Any) -> int:
    """Return the number of the plane of an output of so many cells in block i; -1 if none."""
    for p in range(blocks.count[i]):
        row = blocks.start[i] + p
        if blocks.spans[row, LENGTH] != length:
            continue
        at = blocks.spans[row, AT]
        same = True
        for cell in range(length):
            if blocks.outputs[at + cell] != y[cell]:
                same = False
                break
        if same:
            return p
    return -1


@jitable
def find_products(problem: Any, blocks: Any, desk: Any) -> None:
    """Compute all inner products of planes anew, because the norm has changed."""
    for i in range(blocks.count.shape[0]):
        start, room = blocks.start[i], blocks.start[i + 1] - blocks.start[i]
        for p in range(blocks.count[i]):
            at = blocks.spans[start + p, AT]
            difference_potentials(
                problem.data, i, blocks.outputs, at, desk.spare, desk.theta_difference
            )
            for q in range(blocks.count[i]):
                other = blocks.spans[start + q, AT]
                product = -margin_error(
                    problem.data, i, desk.theta_difference, blocks.outputs, other
                )
                blocks.gram[blocks.square[i] + p * room + q] = product


@jitable
def add_plane(problem: Any, i: int, slope: float, offset: float, blocks: Any, desk: Any) -> int:
    """Give block i the plane of the output in desk.y; return its number. There must be room."""
    length = output_length(problem.data, i, desk.y, 0)
    known = find_plane(i, length, desk.y, blocks)
    if known >= 0:
        return known
    count, end = blocks.count[i], blocks.end[0]
    for cell in range(length):
        blocks.outputs[end + cell] = desk.y[cell]
    row = blocks.start[i] + count
    blocks.spans[row, AT] = end
    blocks.spans[row, LENGTH] = length
    blocks.planes[row, ALPHA] = 0.0
    blocks.planes[row, SLOPE] = slope
    blocks.planes[row, OFFSET] = offset
    blocks.planes[row, IDLE] = 0.0
    blocks.planes[row, COST] = output_cost(problem.data, problem.cost, i, desk.y, 0)
    blocks.planes[row, SHIFT] = shift(problem.data, problem.cost, i, desk.y, 0)
    # All inner products with the new plane: if the potentials are those of the weights Psi_i(y),
    # then the margin error h of an output z is -<Psi_i(y), Psi_i(z)>.
    room = blocks.start[i + 1] - blocks.start[i]
    difference_potentials_of(
        problem.data, i, blocks.outputs, end, blocks.spans, blocks.start[i], count, desk.spare,
        desk.theta_difference,
    )  # fmt: skip
    for p in range(count + 1):
        at = blocks.spans[blocks.start[i] + p, AT]
        product = -margin_error(problem.data, i, desk.theta_difference, blocks.outputs, at)
        blocks.gram[blocks.square[i] + count * room + p] = product
        blocks.gram[blocks.square[i] + p * room + count] = product
    # The counters change last, so that an interrupt finds a whole plane or none.
    blocks.end[0] = end + length
    blocks.count[i] = count + 1
    return count
