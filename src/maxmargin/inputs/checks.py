"""Checks that all readers of inputs and settings share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

#: The largest number accepted: above it, products of weights, features, costs and C may overflow.
LARGEST_WEIGHT = 1e100


def unknown(
    kind: str, name: object, registry: Mapping[str, Any], hint: str | None = None
) -> ValueError:
    """Return the error for a name that a registry does not have; it lists the known names.

    ``hint`` follows, where there is one.

    Examples
    --------
    >>> unknown("cost", "haming", {"hamming": None, "zero_one": None})
    ValueError("cost='haming' is not known. There are: 'hamming', 'zero_one'.")
    """
    names = ", ".join(repr(known) for known in registry)
    return ValueError(f"{kind}={name!r} is not known. There are: {names}.{hint or ''}")


def check_number(
    name: str, value: Any, low: float = 0.0, *, closed: bool = False, integer: bool = False
) -> Any:
    """Return a finite number > low (>= low if closed), or raise an error that names it."""
    kind = Integral if integer else Real
    wanted = f"{'an integer' if integer else 'a number'} {'>=' if closed else '>'} {low:g}"
    finite = f"{wanted} and finite"
    if low == -math.inf:
        wanted = finite = "an integer" if integer else "a finite number"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, kind):
        raise TypeError(f"{name} must be {wanted}, got {value!r}.")
    number = float(value)
    if not math.isfinite(number) or number < low or (number == low and not closed):
        raise ValueError(f"{name} must be {finite}, got {value!r}.")
    return round(number) if integer else number


def check_weights(sample_weight: Any, n_examples: int) -> np.ndarray:
    """Return sample weights as a new vector: finite, >= 0, not all 0 (None: all 1)."""
    if sample_weight is None:
        return np.ones(n_examples)
    weight = np.array(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_examples, weight)
    if weight.shape != (n_examples,):
        raise ValueError(
            f"sample_weight must have one weight per sample, shape ({n_examples},), got shape "
            f"{weight.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}] must be finite and >= 0, got {weight[bad[0]]}.")
    large = np.flatnonzero(weight > LARGEST_WEIGHT)
    if len(large):
        raise ValueError(
            f"sample_weight[{large[0]}] is {weight[large[0]]:g}, above {LARGEST_WEIGHT:g}: sums of "
            "such weights overflow. Only their proportions and C matter: divide them all by one "
            "number, and multiply C with it."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every sample: there is nothing to learn from.")
    return weight
