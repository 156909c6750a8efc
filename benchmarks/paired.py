"""Paired tests of two systems on one test part, by approximate randomisation over its sentences.

If the systems were alike, any sentence's results could be exchanged between them. So that is done
at random, and p is the share of draws in which the difference is as large as the one observed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Difference(NamedTuple):
    """How much better the second system is, its standard error, and p of no difference."""

    value: float
    error: float
    p: float

    def __str__(self) -> str:
        return f"{100 * self.value:+.2f} (s.e. {100 * self.error:.2f}) points, p = {self.p:.3g}"


def compare(
    first: np.ndarray,
    second: np.ndarray,
    score: Callable[[np.ndarray], np.ndarray],
    n_draws: int = 2000,
    seed: int = 0,
) -> Difference:
    """Return the difference of the scores of two systems; two-sided p.

    Parameters
    ----------
    first, second : arrays of shape (n_sentences, n_counts)
        What is counted in each sentence.
    score : function
        From sums of counts over sentences, an array of shape (..., n_counts), to scores.

    The standard error is that over sentences drawn anew with replacement.

    Examples
    --------
    >>> one, two = np.zeros((50, 1)), np.ones((50, 1))
    >>> compare(one, two, lambda sums: sums[..., 0] / 50)
    Difference(value=1.0, error=0.0, p=0.0004997501249375312)
    >>> compare(one, one, lambda sums: sums[..., 0] / 50).p
    1.0
    """
    rng = np.random.default_rng(seed)
    step, n = second - first, len(first)
    base, moved = first.sum(axis=0), step.sum(axis=0)
    seen = float(score(base + moved) - score(base))
    swaps = rng.integers(2, size=(n_draws, n)).astype(np.float64)
    other = swaps @ step
    drawn = score(base + moved - other) - score(base + other)
    p = (1 + np.count_nonzero(np.abs(drawn) >= abs(seen) - 1e-12)) / (n_draws + 1)
    times = rng.multinomial(n, np.full(n, 1.0 / n), size=n_draws).astype(np.float64)
    spread = score(times @ second) - score(times @ first)
    return Difference(seen, float(spread.std(ddof=1)), float(p))
