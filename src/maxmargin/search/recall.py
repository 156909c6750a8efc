"""What searches remember of each example: the true output, and a few outputs of the last pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import has, output_length, output_sizes, truth_sizes, truths
from maxmargin.core.outputs import copy_output, is_same_output

#: Bytes that remembered outputs may take, and how many outputs per example are kept in any case.
MOST_BYTES, FEWEST_SLOTS = 1 << 28, 3

#: Where outputs differ in length, only those of at most so many cells are remembered: a slot has to
#: be as long as the longest of them.
MOST_CELLS = 512


class Recall(NamedTuple):
    """The true outputs, and a few outputs per example that earlier searches found.

    The next search starts from them: it scores them under the current weights, which takes no call
    of an oracle. Slot k of example i begins at cell ``k * n_cells + starts[i]`` and ends, for the
    last example, at ``(k + 1) * n_cells``.
    """

    truths: Any  # those of the data, read-only, so that all data have one type of recall
    truth_starts: Any  # (n_examples,) int64
    starts: Any  # (n_examples,) int64
    slot_sizes: Any  # (n_examples,) int64
    outputs: Any  # (n_slots * n_cells,), like truths
    counts: Any  # (n_examples,) int64: slots in use
    numbers: Any  # (n_examples,): one number per example; each search says what it means
    n_cells: int
    n_slots: int
    is_warm: int


def recall(data: Any, n_slots: int, warm: bool) -> Recall:
    """Return room to remember up to n_slots outputs per example; none if not ``warm``.

    There are fewer slots if they would take more than `MOST_BYTES`, but at least `FEWEST_SLOTS`.
    """
    cells, sizes = truths(data).view(), slot_sizes(data)
    cells.flags.writeable = False
    n_cells = int(sizes.sum())
    slot_bytes = max(n_cells * cells.itemsize, 1)
    n_slots = max(min(n_slots, FEWEST_SLOTS), min(n_slots, MOST_BYTES // slot_bytes))
    own = np.asarray(truth_sizes(data), dtype=np.int64)
    return Recall(
        cells,
        np.cumsum(own) - own,
        np.cumsum(sizes) - sizes,
        sizes,
        np.zeros(n_slots * n_cells if warm else 0, dtype=cells.dtype),
        np.zeros(len(sizes), dtype=np.int64),
        np.zeros(len(sizes)),
        n_cells,
        n_slots,
        int(warm),
    )


def slot_sizes(data: Any) -> np.ndarray:
    """Return how many cells a slot of each example has."""
    sizes = np.asarray(output_sizes(data), dtype=np.int64)
    return np.minimum(sizes, MOST_CELLS) if has(output_length, type(data)) else sizes


def remembered(kept: Recall) -> dict[str, Any]:
    """Return the arrays of a memory by name; setting them to 0 forgets everything."""
    return {"outputs": kept.outputs, "counts": kept.counts, "numbers": kept.numbers}


@jitable
def remember(data: Any, kept: Any, i: int, outputs: Any, at: int) -> None:
    """Put an output first among those remembered; drop its old copy or, if full, the oldest one.

    An output that is too long for a slot is not remembered.
    """
    if output_length(data, i, outputs, at) > kept.slot_sizes[i]:
        return
    start, last = kept.starts[i], kept.counts[i]
    for k in range(kept.counts[i]):
        if is_same_output(data, i, outputs, at, kept.outputs, k * kept.n_cells + start):
            last = k
            break
    last = min(last, kept.n_slots - 1)
    for k in range(last, 0, -1):
        to = k * kept.n_cells + start
        copy_output(data, i, kept.outputs, to - kept.n_cells, kept.outputs, to)
    copy_output(data, i, outputs, at, kept.outputs, start)
    kept.counts[i] = max(kept.counts[i], last + 1)
