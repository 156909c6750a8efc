"""The outputs that a batch oracle finds for all examples, one after the other in one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import has, output_length
from maxmargin.core.outputs import cells_of
from maxmargin.core.problem import Desk, Problem


class Found(NamedTuple):
    """One output per example; that of example i begins at outputs[places[i]]."""

    outputs: np.ndarray
    places: np.ndarray


#: What finds the outputs of examples first..last-1: called with first, last, a desk, and an array
#: to which the output of example i is written from cell places[i] on.
Look = Callable[[int, int, Desk, np.ndarray, np.ndarray], Any]


def find_outputs(problem: Problem, look: Look) -> Found:
    """Call ``look`` for all examples, on n_jobs threads; return what it found.

    If outputs differ in length, each chunk of examples writes to an array that is as long as its
    outputs could be, and only the cells in use are kept: these are far fewer.
    """
    sizes, data = problem.sizes, problem.view.data
    if not has(output_length, type(data)):
        places = np.concatenate([[0], np.cumsum(sizes)])
        outputs = problem.empty_outputs(int(places[-1]))
        problem.over_chunks(lambda first, last, desk: look(first, last, desk, outputs, places))
        return Found(outputs, places)
    places = np.zeros(problem.n_examples, dtype=np.int64)
    lengths = np.zeros(problem.n_examples, dtype=np.int64)

    def look_and_pack(first: int, last: int, desk: Desk) -> np.ndarray:
        own, ends = slice(first, last), np.cumsum(sizes[first:last])
        places[own] = ends - sizes[own]
        cells = problem.empty_outputs(int(ends[-1]))
        look(first, last, desk, cells, places)
        for i in range(first, last):
            lengths[i] = output_length(data, i, cells, places[i])
        return cells[cells_of(places[own], lengths[own])]

    packed = problem.over_chunks(look_and_pack)
    return Found(np.concatenate(packed), np.cumsum(lengths) - lengths)
