"""Chains: labellings of a sequence scored by unary and transition potentials.

The score of a labelling y of length L >= 1 with labels 0..K-1 is

    start[y_0] + sum_t unary[t, y_t] + sum_{t>0} transitions[y_{t-1}, y_t] + end[y_{L-1}]

Potentials may be -inf (forbidden), never NaN or +inf. The functions here check that and answer
exactly; ties go to the lowest label, decided from the last position backwards. The kernels they
call, which check nothing, are given here too under their own names, for compiled callers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import (
    check_count,
    check_feasible,
    check_labels,
    check_potential,
    check_shape,
    check_temperature,
    no_output_left,
)
from maxmargin.inference.answer import Answer, CostProfile, Marginals, exact
from maxmargin.inference.chain.best import best_path, path_score
from maxmargin.inference.chain.kbest import best_k_paths
from maxmargin.inference.chain.marginal import forward_backward, path_max_marginals
from maxmargin.inference.chain.profiles import profile_path, profile_scores

__all__ = [
    "best_k_paths",
    "best_path",
    "forward_backward",
    "k_best",
    "marginals",
    "max_marginals",
    "maximize",
    "path_max_marginals",
    "path_score",
    "profile",
    "profile_path",
    "profile_scores",
    "score",
]


def maximize(
    unary: npt.ArrayLike,
    transitions: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    end: npt.ArrayLike | None = None,
    banned: Iterable[npt.ArrayLike] = (),
) -> Answer:
    """Return the best labelling that is not banned.

    Parameters
    ----------
    unary : array-like of shape (L, K)
    transitions : array-like of shape (K, K)
        [a, b] scores going from a to b.
    start, end : array-like of shape (K,), or None for zeros
    banned : iterable of labellings, each of length L
        Labellings that may not be the answer. With b of them this costs as much as the b + 1 best.

    Returns
    -------
    Answer
        Its `output` is an int32 array of shape (L,).

    Examples
    --------
    >>> from maxmargin.inference import chain
    >>> unary = [[1.0, 0.0], [0.0, 0.0]]
    >>> stay = [[2.0, 0.0], [0.0, 2.0]]
    >>> answer = chain.maximize(unary, stay)
    >>> answer.output, answer.score, answer.exactness.value
    (array([0, 0], dtype=int32), 3.0, 'exact')
    >>> chain.maximize(unary, stay, banned=[[0, 0]]).output
    array([1, 1], dtype=int32)
    """
    potentials = _check_potentials(unary, transitions, start, end)
    length, n_labels = potentials.unary.shape
    banned_paths = {
        tuple(check_labels(f"banned[{i}]", path, length, n_labels).tolist())
        for i, path in enumerate(banned)
    }
    if not banned_paths:
        path = np.empty(length, dtype=np.int32)
        best = best_path(*potentials, np.empty((length, n_labels)), path)
        check_feasible(best)
        return exact(path, best)
    for answer in _k_best(potentials, len(banned_paths) + 1):
        if tuple(answer.output.tolist()) not in banned_paths:
            return answer
    raise no_output_left(len(banned_paths))


def score(
    unary: npt.ArrayLike,
    transitions: npt.ArrayLike,
    path: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    end: npt.ArrayLike | None = None,
) -> float:
    """Return the score of a labelling; -inf if it is forbidden.

    Examples
    --------
    >>> from maxmargin.inference import chain
    >>> chain.score([[1.0, 0.0], [0.0, 0.5]], [[2.0, 0.0], [0.0, 2.0]], [0, 1])
    1.5
    """
    potentials = _check_potentials(unary, transitions, start, end)
    labels = check_labels("path", path, *potentials.unary.shape)
    return float(path_score(*potentials, labels))


def k_best(
    unary: npt.ArrayLike,
    transitions: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    end: npt.ArrayLike | None = None,
    *,
    k: int,
) -> list[Answer]:
    """Return the k best labellings, best first; fewer if fewer are allowed.

    Parameters are those of `maximize`, and `k`, at least 1.

    Examples
    --------
    >>> from maxmargin.inference import chain
    >>> answers = chain.k_best([[1.0, 0.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]], k=3)
    >>> [(answer.output.tolist(), answer.score) for answer in answers]
    [([0, 0], 3.0), ([1, 1], 2.0), ([0, 1], 1.0)]
    """
    potentials = _check_potentials(unary, transitions, start, end)
    answers = _k_best(potentials, check_count("k", k))
    check_feasible(answers[0].score if answers else -np.inf)
    return answers


def marginals(
    unary: npt.ArrayLike,
    transitions: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    end: npt.ArrayLike | None = None,
    temperature: float = 1.0,
) -> Marginals:
    """Return the marginals and the log-partition of p(y) ~ exp(score(y) / temperature).

    Any positive finite temperature will do. Towards zero the marginals go to the uniform
    distribution over the best labellings, and the log-partition grows as best score / temperature:
    it is infinite once a float64 cannot hold that.

    Examples
    --------
    >>> from maxmargin.inference import chain
    >>> found = chain.marginals([[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, float("-inf")]])
    >>> found.node.round(3)
    array([[0.667, 0.333],
           [0.667, 0.333]])
    >>> round(found.log_partition, 3)  # of the three labellings left
    1.099
    """
    potentials = _check_potentials(unary, transitions, start, end)
    length, n_labels = potentials.unary.shape
    temperature = check_temperature(temperature)
    top, log_sum, node = (np.empty((length, n_labels)) for _ in range(3))
    edge = np.empty((length - 1, n_labels, n_labels))
    _check_allows_some(potentials)
    log_partition = forward_backward(*potentials, temperature, top, log_sum, node, edge)
    return Marginals(node, edge, float(log_partition))


def max_marginals(
    unary: npt.ArrayLike,
    transitions: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    end: npt.ArrayLike | None = None,
) -> npt.NDArray[np.float64]:
    """Return, at [t, k], the best score of a labelling with label k at position t.

    Examples
    --------
    >>> from maxmargin.inference import chain
    >>> chain.max_marginals([[1.0, 0.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]])
    array([[3., 2.],
           [3., 2.]])
    """
    potentials = _check_potentials(unary, transitions, start, end)
    _check_allows_some(potentials)
    result = np.empty(potentials.unary.shape)
    path_max_marginals(*potentials, np.empty(result.shape), result)
    return result


def profile(
    unary: npt.ArrayLike,
    transitions: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    end: npt.ArrayLike | None = None,
    *,
    reference: npt.ArrayLike,
) -> CostProfile:
    """Return the best labelling for every number of mismatches with the reference, 0 to L.

    Parameters are those of `maximize`, and

    reference : array-like of shape (L,)
        Labels, or -1 where the label is unknown: such a position is never a mismatch.

    Takes about L / 2 times as long as `maximize`, and L * L * K floats of memory.

    Examples
    --------
    >>> from maxmargin.inference import chain
    >>> found = chain.profile(
    ...     [[1.0, 0.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]], reference=[0, 1]
    ... )
    >>> found.score
    array([1., 3., 0.])
    >>> found.outputs.tolist()
    [[0, 1], [0, 0], [1, 0]]
    """
    potentials = _check_potentials(unary, transitions, start, end)
    length, n_labels = potentials.unary.shape
    labels = check_labels("reference", reference, length, n_labels, unknown=True)
    _check_allows_some(potentials)
    step = ((labels[:, None] >= 0) & (labels[:, None] != np.arange(n_labels))).astype(np.int32)
    reach = np.empty(length + 1, dtype=np.int64)
    delta = np.empty((length, length, n_labels))
    level_scores = np.full(length + 1, -np.inf)
    profile_scores(*potentials, step, length, reach, delta, np.empty(n_labels), level_scores)
    outputs = np.full((length + 1, length), -1, dtype=np.int32)
    scores, matrix, _, last = potentials
    for level in np.flatnonzero(level_scores > -np.inf):
        found = level_scores[level], outputs[level]
        profile_path(scores, matrix, last, step, reach, delta, level, *found)
    return CostProfile(level_scores, outputs)


class _Potentials(NamedTuple):
    unary: npt.NDArray[np.float64]
    transitions: npt.NDArray[np.float64]
    start: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]


def _check_potentials(
    unary: npt.ArrayLike,
    transitions: npt.ArrayLike,
    start: npt.ArrayLike | None,
    end: npt.ArrayLike | None,
) -> _Potentials:
    checked = check_potential("unary", unary, 2)
    length, n_labels = checked.shape
    if length == 0 or n_labels == 0:
        raise ValueError(
            f"unary has shape {checked.shape}; expected at least one position and one label."
        )
    why = f"as unary has {n_labels} label(s)"
    matrix = check_potential("transitions", transitions, 2)
    check_shape("transitions", matrix, (n_labels, n_labels), why)
    ends = []
    for name, value in (("start", start), ("end", end)):
        bias = np.zeros(n_labels) if value is None else check_potential(name, value, 1)
        check_shape(name, bias, (n_labels,), why)
        ends.append(bias)
    potentials = _Potentials(checked, matrix, *ends)
    largest = max(float(np.abs(p[p > -np.inf]).max(initial=0.0)) for p in potentials)
    # A score is a sum of 2 L + 1 potentials; if that overflows, -inf no longer means forbidden.
    if largest > np.finfo(np.float64).max / (2 * length + 1):
        raise ValueError(f"potentials as large as {largest:g} overflow at length {length}.")
    return potentials


def _check_allows_some(potentials: _Potentials) -> None:
    length, n_labels = potentials.unary.shape
    path = np.empty(length, dtype=np.int32)
    check_feasible(best_path(*potentials, np.empty((length, n_labels)), path))


def _k_best(potentials: _Potentials, k: int) -> list[Answer]:
    length, n_labels = potentials.unary.shape
    k = min(k, n_labels**length)
    shape = (length, n_labels, k)
    paths = np.empty((k, length), dtype=np.int32)
    scores = np.empty(k)
    count = best_k_paths(
        *potentials,
        k,
        np.empty(shape),
        np.empty(shape, dtype=np.int32),
        np.empty(shape, dtype=np.int32),
        np.empty(n_labels, dtype=np.int32),
        np.empty(n_labels),
        paths,
        scores,
    )
    return [exact(paths[i].copy(), scores[i]) for i in range(count)]
