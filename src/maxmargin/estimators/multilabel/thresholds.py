"""Thresholds on the scores of labels that maximise micro- or macro-F1, exactly, by sorting."""

from __future__ import annotations

import numpy as np

METRICS = ("micro_f1", "macro_f1")


def best_thresholds(scores: np.ndarray, truth: np.ndarray, metric: str) -> np.ndarray:
    """Return one threshold per label; a label is on where its score is above it.

    Parameters
    ----------
    scores : array of shape (n, m)
    truth : int array of shape (n, m): 1 on, 0 off, -1 unknown, which counts for nothing
    metric : {"micro_f1", "macro_f1"}
        Micro-F1 has one threshold, that of all labels; macro-F1, a mean over labels, one for each.

    Notes
    -----
    Of equally good thresholds the one nearest to 0 is taken. A label that is nowhere on has F1 = 0
    whatever its threshold, which stays 0.

    Examples
    --------
    >>> scores = np.array([[-0.4, 1.0], [-0.2, 2.0], [-0.9, 3.0]])
    >>> truth = np.array([[1, 0], [1, 0], [0, 1]])
    >>> best_thresholds(scores, truth, "macro_f1")
    array([-0.65,  2.5 ])
    """
    if metric not in METRICS:
        raise ValueError(
            f"metric={metric!r} is not known. There are: {', '.join(map(repr, METRICS))}."
        )
    if metric == "micro_f1":
        return np.full(scores.shape[1], best_threshold(scores.ravel(), truth.ravel()))
    return np.array([best_threshold(*column) for column in zip(scores.T, truth.T, strict=True)])


def best_threshold(scores: np.ndarray, truth: np.ndarray) -> float:
    """Return the threshold of highest F1, of all possible cuts.

    Examples
    --------
    >>> best_threshold(np.array([3.0, 2.0, 1.0]), np.array([1, 0, 0]))
    2.5
    """
    known = truth >= 0
    scores, truth = scores[known], truth[known]
    n_true = int(truth.sum())
    if n_true == 0:
        return 0.0
    order = np.argsort(-scores, kind="stable")
    scores, right = scores[order], np.cumsum(truth[order])
    # A cut after the first k scores is possible only if the next score is lower, or at the end.
    ends = np.append(np.flatnonzero(scores[:-1] > scores[1:]), len(scores) - 1)
    f1 = 2.0 * right[ends] / (ends + 1.0 + n_true)
    lowest = scores[ends]
    following = np.append(scores[ends[:-1] + 1], min(scores[-1] - 1.0, -1.0))
    best = np.flatnonzero(f1 == f1.max())
    cuts = [_between(following[b], lowest[b]) for b in best]
    return float(min(cuts, key=abs))


def _between(low: float, high: float) -> float:
    """Return a number in [low, high): 0 if it lies there, else the middle."""
    if low <= 0.0 < high:
        return 0.0
    middle = low + (high - low) / 2.0
    return middle if middle < high else low
