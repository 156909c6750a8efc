"""What a search must offer, and what searches share: the truth, and labels of the last pass."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import output_sizes, truths


class Search(Protocol):
    """How the output of largest psi(h, g) is found.

    ``bind`` gives what passes read: an object for whose type the generic functions ``find``,
    ``search_room`` and, where it remembers anything, ``memory`` are implemented (a NamedTuple runs
    compiled).
    """

    #: What the search is called, as ``search="..."``.
    name: str
    #: The oracles it calls: of "weighted", "k_best", "constrained", "profile" and "forbid".
    needs: frozenset[str]
    #: The surrogates it is for: "any", or "slack" for slack rescaling alone.
    surrogates: str
    #: It looks for what is worse than a known slack: for the n-slack cutting plane alone.
    needs_slack: bool
    #: It finds the maximum, whatever the outputs are.
    is_exact: bool

    def bind(self, data: Any, cost: Any, surrogate: Any) -> Any:
        """Return the search over these examples, which it may remember something of."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search."""
        ...


#: Bytes that remembered outputs may take, and how many an example are kept whatever they take.
MOST_BYTES, FEWEST_SLOTS = 1 << 28, 3


class Recall(NamedTuple):
    """The true outputs, and a few outputs an example that the last search has left behind.

    Scored anew under the weights of the day, which costs no call of an oracle, these are where the
    next search starts. Slot k of example i begins at cell ``k * n_cells + starts[i]``.
    """

    truths: Any  # (n_cells,), those of the data
    starts: Any  # (n_examples,) int64
    labels: Any  # (n_slots * n_cells,), like truths
    counts: Any  # (n_examples,) int64: slots in use
    numbers: Any  # (n_examples,): one number, of the search's choice
    n_cells: int
    n_slots: int
    is_warm: int


def recall(data: Any, n_slots: int, warm: bool) -> Recall:
    """Return room to remember up to n_slots outputs an example; none if not ``warm``.

    Fewer where they would take more than `MOST_BYTES`, but not fewer than `FEWEST_SLOTS`.
    """
    sizes = np.asarray(output_sizes(data), dtype=np.int64)
    cells = truths(data)
    n_slots = max(min(n_slots, FEWEST_SLOTS), min(n_slots, MOST_BYTES // max(cells.nbytes, 1)))
    return Recall(
        cells,
        np.cumsum(sizes) - sizes,
        np.zeros(n_slots * len(cells) if warm else 0, dtype=cells.dtype),
        np.zeros(len(sizes), dtype=np.int64),
        np.zeros(len(sizes)),
        len(cells),
        n_slots,
        int(warm),
    )


def remembered(kept: Recall) -> dict[str, Any]:
    """Return the arrays of a memory, by name: zeros forget everything."""
    return {"labels": kept.labels, "counts": kept.counts, "numbers": kept.numbers}


def check_at_least(search: str, name: str, number: Any, least: int) -> None:
    """Refuse a parameter that is no integer, or too small."""
    if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
        raise ValueError(f"{search}: {name} must be an integer >= {least}, got {number!r}.")


def check_tolerance(search: str, name: str, number: Any, least: float) -> None:
    """Refuse a tolerance that is no finite number, or too small."""
    if not isinstance(number, Real) or not least <= float(number) < math.inf:
        raise ValueError(f"{search}: {name} must be a number >= {least:g}, got {number!r}.")


@jitable
def copy_output(size: int, source: Any, source_at: int, outputs: Any, at: int) -> None:
    """Copy an output of so many cells."""
    for k in range(size):
        outputs[at + k] = source[source_at + k]


@jitable
def is_same_output(size: int, left: Any, left_at: int, right: Any, right_at: int) -> bool:
    """Tell whether two outputs of so many cells are one."""
    for k in range(size):
        if left[left_at + k] != right[right_at + k]:
            return False
    return True


@jitable
def remember(kept: Any, i: int, size: int, outputs: Any, at: int) -> None:
    """Put an output first among those remembered, in place of itself or of the oldest."""
    start, last = kept.starts[i], kept.counts[i]
    for k in range(kept.counts[i]):
        if is_same_output(size, outputs, at, kept.labels, k * kept.n_cells + start):
            last = k
            break
    last = min(last, kept.n_slots - 1)
    for k in range(last, 0, -1):
        to = k * kept.n_cells + start
        copy_output(size, kept.labels, to - kept.n_cells, kept.labels, to)
    copy_output(size, outputs, at, kept.labels, start)
    kept.counts[i] = max(kept.counts[i], last + 1)
