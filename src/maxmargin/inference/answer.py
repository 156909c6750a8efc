"""What inference returns: an output, its score, and how sure one may be that it is the best."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Exactness(Enum):
    """How an answer was found, and so what is known about better outputs.

    Examples
    --------
    >>> from maxmargin.inference import classes
    >>> classes.maximize([1.0, 3.0]).exactness.value
    'exact'
    """

    EXACT = "exact"  #: no output scores higher
    RELAXED = "relaxed"  #: no output scores higher than `bound`, which a relaxation gave
    HEURISTIC = "heuristic"  #: a feasible output; nothing is known about better ones


class Answer(NamedTuple):
    """An output with its score, an upper bound on the best score, and how it was found.

    Attributes
    ----------
    output : int for a class, int32 array of shape (L,) for a chain, (m,) for a label set
    score : float
    bound : float
        No allowed output (one that is not banned) scores higher. Equal to `score` for an exact
        answer; +inf if nothing is known.
    exactness : Exactness

    Examples
    --------
    >>> from maxmargin.inference import classes
    >>> answer = classes.maximize([1.0, 3.0])
    >>> answer.output, answer.score, answer.bound
    (1, 3.0, 3.0)
    """

    output: Any
    score: float
    bound: float
    exactness: Exactness


class Marginals(NamedTuple):
    """Probabilities of parts under p(y) ~ exp(score(y) / temperature).

    Attributes
    ----------
    node : float64 array of shape (L, K), or (K,) for classes
        p(y_t = k).
    edge : float64 array of shape (L - 1, K, K), or (0, K, K) for classes
        p(y_t = j, y_{t+1} = k) at [t, j, k].
    log_partition : float
        log sum_y exp(score(y) / temperature).
    """

    node: npt.NDArray[np.float64]
    edge: npt.NDArray[np.float64]
    log_partition: float


class CostProfile(NamedTuple):
    """The best output at every Hamming distance from a reference.

    Attributes
    ----------
    score : float64 array of shape (L + 1,)
        score[c] is the best score with c mismatches; -inf if there is no such output.
    outputs : int32 array of shape (L + 1, L)
        The outputs that have these scores; -1 where there is none.
    """

    score: npt.NDArray[np.float64]
    outputs: npt.NDArray[np.int32]


def exact(output: Any, score: float) -> Answer:
    """Return the answer of an exact method, whose score is its own bound."""
    return Answer(output, float(score), float(score), Exactness.EXACT)
