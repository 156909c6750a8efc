"""Scores for labelled graphs, over all nodes whose label is known."""

from __future__ import annotations

import numpy as np

from maxmargin.metrics.sequences import Sequences, _check_pairs, _is_known, token_accuracy

__all__ = ["mean_recall", "node_accuracy"]


def node_accuracy(y_true: Sequences, y_pred: Sequences) -> float:
    """Share of all nodes with a known label that are right; None and -1 are unknown.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of labels, one per node

    Examples
    --------
    >>> node_accuracy([[0, 1, -1], [1]], [[0, 0, 1], [1]])
    0.6666666666666667
    """
    return token_accuracy(y_true, y_pred)


def mean_recall(y_true: Sequences, y_pred: Sequences) -> float:
    """Share of the nodes of a label that are right, averaged over the labels that occur.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of labels, one per node

    Examples
    --------
    >>> mean_recall([[0, 0, 0, 1]], [[0, 0, 0, 0]])
    0.5
    """
    _check_pairs(y_true, y_pred)
    right: dict[object, list[bool]] = {}
    for truth, guess in zip(y_true, y_pred, strict=True):
        for a, b in zip(truth, guess, strict=True):
            if _is_known(a):
                right.setdefault(a, []).append(bool(a == b))
    if not right:
        raise ValueError("y_true has no known label.")
    return float(np.mean([np.mean(each) for each in right.values()]))
