"""Checks that the public inference functions make before any kernel runs.

Kernels check nothing, so whatever they could trip over is refused here: NaN, +inf, wrong shapes,
labels out of range.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt


def check_potential(name: str, value: Any, n_dimensions: int) -> npt.NDArray[np.float64]:
    """Return `value` as a C-ordered writable float64 array, free of NaN and +inf.

    The layout is the same for every input, so kernels are compiled once. They do not write to it.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not an array of numbers: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    if array.ndim != n_dimensions:
        raise ValueError(
            f"{name} must have {n_dimensions} dimension(s), got an array of shape {array.shape}."
        )
    if array.dtype != np.float64 or not array.flags.carray:  # np.require takes 1 us to say so
        array = np.require(array, np.float64, ["C", "A", "W"])
    # A NaN is the largest of all, so most arrays are passed over once.
    if np.maximum.reduce(array, axis=None, initial=-np.inf) < np.inf:
        return array
    for bad, what in ((np.isnan(array), "NaN"), (array == np.inf, "+inf")):
        if bad.any():
            where = ", ".join(str(i) for i in np.argwhere(bad)[0])
            raise ValueError(
                f"{name}[{where}] is {what}; expected finite numbers, or -inf where forbidden."
            )
    return array


def check_shape(name: str, array: npt.NDArray[Any], shape: tuple[int, ...], why: str) -> None:
    """Refuse an array whose shape does not fit."""
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; expected {shape}, {why}.")


def check_feasible(best_score: float) -> None:
    """Refuse potentials under which every output scores -inf."""
    if best_score == -np.inf:
        raise ValueError("the constraints allow no output: every one of them scores -inf.")


def no_output_left(n_banned: int) -> ValueError:
    """Return the error for `n_banned` banned outputs that leave no output."""
    return ValueError(f"the constraints allow no output that is not banned; {n_banned} are banned.")


def whole_number(value: Any) -> int:
    """Return a whole number as an int, also one that is held as a float; refuse all else.

    Examples
    --------
    >>> whole_number(np.float32(2.0)), whole_number(np.uint8(3))
    (2, 3)
    >>> whole_number(0.5)
    Traceback (most recent call last):
    ...
    TypeError: 'float' object cannot be interpreted as an integer
    """
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    return operator.index(value)


def check_count(name: str, value: Any) -> int:
    """Return a whole number of at least 1."""
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}.") from None
    if count < 1:
        raise ValueError(f"{name} must be at least 1, got {count}.")
    return count


#: The lowest temperature: 1 / temperature overflows for much lower ones.
COLDEST = 1e-300


def check_temperature(value: Any) -> float:
    """Return a positive finite float, large enough that one can divide by it."""
    try:
        temperature = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"temperature must be a number, got {value!r}.") from None
    if not 0.0 < temperature < np.inf:
        raise ValueError(f"temperature must be positive and finite, got {temperature}.")
    if temperature < COLDEST:
        raise ValueError(
            f"temperature must be at least {COLDEST:g}, got {temperature:g}, one over which is no "
            "finite number. The best output, or max-marginals, are the limit at 0."
        )
    return temperature


def check_labels(
    name: str, value: Any, length: int, n_labels: int, unknown: bool = False
) -> npt.NDArray[np.int32]:
    """Return `length` labels in 0..n_labels-1 as int32; if `unknown`, -1 is allowed too."""
    try:
        labels = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not a sequence of labels: {error}") from None
    if labels.shape != (length,):
        raise ValueError(
            f"{name} has shape {labels.shape}; expected ({length},), one per position."
        )
    if labels.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integer labels, got dtype {labels.dtype}.")
    lowest = -1 if unknown else 0
    bad = (labels < lowest) | (labels >= n_labels)
    if bad.any():
        raise ValueError(
            f"{name} has the label {labels[bad][0]} at position {np.argmax(bad)}; "
            f"expected {lowest} to {n_labels - 1}."
        )
    return np.require(labels, np.int32, ["C", "A", "W"])
