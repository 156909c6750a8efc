"""Copies and comparisons of outputs, which are cells of an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import output_length


@jitable
def copy_output(data: Any, i: int, source: Any, source_at: int, outputs: Any, at: int) -> None:
    """Copy the output of example i at (source, source_at) to (outputs, at)."""
    for cell in range(output_length(data, i, source, source_at)):
        outputs[at + cell] = source[source_at + cell]


@jitable
def is_same_output(data: Any, i: int, left: Any, left_at: int, right: Any, right_at: int) -> bool:
    """Tell whether two outputs of example i are equal."""
    length = output_length(data, i, left, left_at)
    if length != output_length(data, i, right, right_at):
        return False
    for cell in range(length):
        if left[left_at + cell] != right[right_at + cell]:
            return False
    return True


def cells_of(at: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the numbers of the cells of outputs, one output after the other.

    Examples
    --------
    >>> import numpy as np
    >>> cells_of(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(at - before, lengths) + np.arange(int(lengths.sum()))
