"""Classes: one label out of K, each with a score.

The kernels come first, for compiled callers; the public functions below them check what they are
given and answer as `maxmargin.inference.chain` does. Scores may be -inf (forbidden), never NaN or
+inf, and ties go to the lowest label.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference._checks import (
    check_count,
    check_feasible,
    check_labels,
    check_potential,
    check_temperature,
    no_output_left,
)
from maxmargin.inference.answer import Answer, Marginals, exact


@kernel
def best_class(scores):
    """Return the index of the highest score; the lowest index wins ties."""
    label = 0
    for k in range(1, scores.shape[0]):
        if scores[k] > scores[label]:
            label = k
    return label


@kernel
def class_marginals(scores, temperature, node):
    """Fill node[k] with p(k) ~ exp(scores[k] / temperature); return the log-partition.

    The logarithm is infinite where a float64 cannot hold it. If every score is -inf it is -inf
    and the marginals are zeros.
    """
    n_labels = scores.shape[0]
    best = scores[best_class(scores)]
    if best == -np.inf:
        for k in range(n_labels):
            node[k] = 0.0
        return best
    total = 0.0
    for k in range(n_labels):
        node[k] = math.exp((scores[k] - best) / temperature)
        total += node[k]
    for k in range(n_labels):
        node[k] /= total
    return best / temperature + math.log(total)


def maximize(scores: npt.ArrayLike, banned: Iterable[int] = ()) -> Answer:
    """Return the best class that is not banned.

    Parameters
    ----------
    scores : array-like of shape (K,)
    banned : iterable of int
        Classes that may not be the answer.

    Returns
    -------
    Answer
        Its `output` is an int.

    Examples
    --------
    >>> from maxmargin.inference import classes
    >>> classes.maximize([1.0, 3.0, 2.0]).output
    1
    >>> classes.maximize([1.0, 3.0, 2.0], banned=[1]).output
    2
    """
    scores = _check_scores(scores)
    banned_labels = {
        int(check_labels(f"banned[{i}]", [label], 1, len(scores))[0])
        for i, label in enumerate(banned)
    }
    for answer in k_best(scores, len(banned_labels) + 1):
        if answer.output not in banned_labels:
            return answer
    raise no_output_left(len(banned_labels))


def k_best(scores: npt.ArrayLike, k: int) -> list[Answer]:
    """Return the k best classes, best first; fewer if fewer are allowed.

    Examples
    --------
    >>> from maxmargin.inference import classes
    >>> [answer.output for answer in classes.k_best([1.0, 3.0, float("-inf")], k=3)]
    [1, 0]
    """
    scores = _check_scores(scores)
    order = np.argsort(-scores, kind="stable")[: check_count("k", k)]
    return [exact(int(label), scores[label]) for label in order if scores[label] > -np.inf]


def marginals(scores: npt.ArrayLike, temperature: float = 1.0) -> Marginals:
    """Return p(k) ~ exp(scores[k] / temperature) and the log-partition log sum exp.

    Returns
    -------
    Marginals
        `node` of shape (K,); `edge` of shape (0, K, K), a class having no neighbours.

    Examples
    --------
    >>> from maxmargin.inference import classes
    >>> classes.marginals([0.0, 0.0]).node
    array([0.5, 0.5])
    """
    scores = _check_scores(scores)
    node = np.empty(len(scores))
    log_partition = class_marginals(scores, check_temperature(temperature), node)
    return Marginals(node, np.empty((0, len(scores), len(scores))), log_partition)


def _check_scores(scores: npt.ArrayLike) -> npt.NDArray[np.float64]:
    checked = check_potential("scores", scores, 1)
    if len(checked) == 0:
        raise ValueError("scores is empty; expected the score of at least one class.")
    check_feasible(checked[best_class(checked)])
    return checked
