"""What the checks of all states of solvers share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.core.contract import (
    has,
    output_length,
    output_sizes,
)
from maxmargin.core.problem import Problem
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


def vector(problem: Problem, arrays: Arrays, name: str, maybe: bool = False) -> np.ndarray:
    """Take a vector as long as w, of finite norm; with ``maybe`` it may be empty instead."""
    array = arrays.take(name, (None,))
    if not (maybe and len(array) == 0):
        check_array(name, array, (problem.n_weights,))
    with np.errstate(over="ignore"):
        if not math.isfinite(float(array @ array)):
            raise ValueError(f"array {name!r} has a length that is not finite")
    return array


def gaps(problem: Problem, arrays: Arrays, name: str) -> np.ndarray:
    """Take the gaps of blocks, infinite before the first pass."""
    array = arrays.take(name, (problem.n_examples,), finite=False)
    if not (array >= 0.0).all():
        raise ValueError(f"array {name!r} must be >= 0 everywhere")
    return array


def check_close(name: str, told: np.ndarray, found: np.ndarray) -> None:
    """Refuse an array that is not, but for rounding, what the rest of its state makes of it."""
    scale = max(float(np.abs(found).max(initial=0.0)), float(np.abs(told).max(initial=0.0)))
    if not np.abs(told - found).max(initial=0.0) <= ROUNDING * scale:
        raise ValueError(f"array {name!r} is not what the rest of its state makes of it")
