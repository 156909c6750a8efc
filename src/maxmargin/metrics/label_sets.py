"""Scores for label sets: Jaccard, Hamming, F1 over samples, labels and all, whole sets.

`y_true` and `y_pred` are indicator matrices (2-D arrays or sparse, one row per sample and one
column per label), or lists of label sets, one collection of labels per sample. A list of lists is
always the latter. In an indicator matrix of the truth -1 is an unknown label: that cell is left
out, and so is a sample or label of which nothing is known. All agree with scikit-learn where it has
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

__all__ = [
    "example_accuracy",
    "example_f1",
    "hamming_loss",
    "label_set_report",
    "macro_f1",
    "micro_f1",
    "subset_accuracy",
]

Classes = Sequence[Any] | None


@dataclass(frozen=True)
class _Counts:
    """Known labels along one axis: how many, in the truth, in the prediction, in both."""

    n_known: NDArray[np.int64]
    n_true: NDArray[np.int64]
    n_pred: NDArray[np.int64]
    n_both: NDArray[np.int64]

    def known(self) -> _Counts:
        """Return the counts of the entries of which some label is known."""
        keep = self.n_known > 0
        return _Counts(self.n_known[keep], self.n_true[keep], self.n_pred[keep], self.n_both[keep])

    def total(self) -> _Counts:
        """Return the sums of all counts."""
        return _Counts(
            *(
                np.array([column.sum()])
                for column in (self.n_known, self.n_true, self.n_pred, self.n_both)
            )
        )

    def n_wrong(self) -> NDArray[np.int64]:
        """Return the number of wrong labels."""
        return self.n_true + self.n_pred - 2 * self.n_both

    def mean_f1(self, zero_division: float) -> float:
        """Return the mean of F1 over the entries."""
        return _mean_ratio(2 * self.n_both, self.n_true + self.n_pred, zero_division)


def _mean_ratio(above: NDArray[Any], below: NDArray[Any], zero_division: float) -> float:
    """The mean of above/below; 0/0 is `zero_division`, and left out where that is nan."""
    is_zero = below == 0
    ratios = np.where(is_zero, zero_division, above / np.where(is_zero, 1, below))
    ratios = ratios[~np.isnan(ratios)]
    return float(ratios.mean()) if len(ratios) else float("nan")


def _check_zero_division(zero_division: float) -> None:
    if not (zero_division in (0, 1) or np.isnan(zero_division)):
        raise ValueError(f"zero_division must be 0, 1 or nan, got {zero_division}.")


# From what users have to indicator matrices ------------------------------------------------------


def _is_indicator(y: Any) -> bool:
    return issparse(y) or (isinstance(y, np.ndarray) and y.dtype != object)


def _check_indicator(y: Any, name: str, allowed: tuple[int, ...]) -> csr_matrix:
    if y.ndim != 2:
        raise ValueError(
            f"{name} must be an indicator matrix of shape (n_samples, n_labels) or a list of label "
            f"sets, got an array of shape {y.shape}."
        )
    matrix = csr_matrix(y)
    bad = ~np.isin(matrix.data, allowed)
    if bad.any():
        e = int(np.flatnonzero(bad)[0])
        i = int(np.searchsorted(matrix.indptr, e, side="right")) - 1
        raise ValueError(
            f"{name}[{i}, {matrix.indices[e]}] is {matrix.data[e]}; expected "
            f"{' or '.join(str(v) for v in allowed)}."
        )
    return matrix.astype(np.int64)


def _check_set(label_set: Any, name: str, i: int) -> None:
    if isinstance(label_set, (str, bytes)) or not hasattr(label_set, "__iter__"):
        raise TypeError(f"{name}[{i}] must be a collection of labels, got {label_set!r}.")
    seen = set()
    for label in label_set:
        if label in seen:
            raise ValueError(
                f"{name}[{i}] holds the label {label!r} twice; an indicator matrix must be an "
                "array, not a list of lists."
            )
        seen.add(label)


def _from_sets(y: Any, name: str, places: dict[Any, int]) -> csr_matrix:
    indices: list[int] = []
    ends = [0]
    for i, label_set in enumerate(y):
        for label in label_set:
            if label not in places:
                raise ValueError(f"{name}[{i}] holds the label {label!r}, which is not in classes.")
            indices.append(places[label])
        ends.append(len(indices))
    ones = np.ones(len(indices), dtype=np.int64)
    return csr_matrix((ones, indices, ends), shape=(len(y), len(places)))


def _indicators(y_true: Any, y_pred: Any, classes: Classes) -> tuple[csr_matrix, csr_matrix]:
    pairs = (("y_true", y_true, (0, 1, -1)), ("y_pred", y_pred, (0, 1)))
    for name, y, _ in pairs:
        if not _is_indicator(y):
            if isinstance(y, (str, bytes)) or not hasattr(y, "__len__"):
                raise TypeError(
                    f"{name} must be an indicator matrix or a list of label sets, got "
                    f"{type(y).__name__}."
                )
            for i, label_set in enumerate(y):
                _check_set(label_set, name, i)
    if classes is None:
        if _is_indicator(y_true) != _is_indicator(y_pred):
            raise ValueError(
                "one of y_true and y_pred is an indicator matrix and the other a list of label "
                "sets: classes must say which label each column is."
            )
        if not _is_indicator(y_true):
            classes = list(dict.fromkeys(label for y in (y_true, y_pred) for s in y for label in s))
    places = {label: k for k, label in enumerate(classes or ())}
    if len(places) < len(classes or ()):
        raise ValueError("classes hold a label twice.")
    truth, guess = (
        _check_indicator(y, name, allowed) if _is_indicator(y) else _from_sets(y, name, places)
        for name, y, allowed in pairs
    )
    for name, matrix in (("y_true", truth), ("y_pred", guess)):
        if classes is not None and matrix.shape[1] != len(places):
            raise ValueError(
                f"{name} has {matrix.shape[1]} columns but classes has {len(places)} labels."
            )
    if truth.shape[0] != guess.shape[0]:
        raise ValueError(f"y_true has {truth.shape[0]} samples but y_pred has {guess.shape[0]}.")
    if truth.shape[1] != guess.shape[1]:
        raise ValueError(f"y_true has {truth.shape[1]} labels but y_pred has {guess.shape[1]}.")
    if truth.shape[0] == 0:
        raise ValueError("y_true holds no sample.")
    return truth, guess


def _counts(y_true: Any, y_pred: Any, classes: Classes) -> tuple[_Counts, _Counts]:
    """Counts of each sample, and of each label."""
    truth, guess = _indicators(y_true, y_pred, classes)
    unknown = (truth == -1).astype(np.int64)
    truth = (truth == 1).astype(np.int64)
    guess = guess - guess.multiply(unknown)
    both = truth.multiply(guess)
    found = []
    for axis in (1, 0):
        sums = [np.asarray(m.sum(axis=axis)).ravel() for m in (unknown, truth, guess, both)]
        found.append(_Counts(truth.shape[axis] - sums[0], *sums[1:]))
    by_sample, by_label = found
    # If all sets are empty there is no label at all, and yet truth and prediction are equal.
    if truth.shape[1] and not by_sample.n_known.any():
        raise ValueError("y_true has no known label.")
    return (by_sample.known() if truth.shape[1] else by_sample), by_label.known()


# Scores ------------------------------------------------------------------------------------------


def _example_accuracy(samples: _Counts) -> float:
    return _mean_ratio(samples.n_both, samples.n_true + samples.n_pred - samples.n_both, 1.0)


def _hamming_loss(samples: _Counts) -> float:
    return _mean_ratio(samples.n_wrong().sum(keepdims=True), samples.n_known.sum(keepdims=True), 0)


def _subset_accuracy(samples: _Counts) -> float:
    return float((samples.n_wrong() == 0).mean())


def example_accuracy(y_true: Any, y_pred: Any, *, classes: Classes = None) -> float:
    """Mean over the samples of |both| / |either|, the Jaccard index; two empty sets count 1.

    scikit-learn's ``jaccard_score(average="samples", zero_division=1)``.

    Parameters
    ----------
    y_true, y_pred : indicator matrices, dense or sparse, or lists of label sets
        -1 in an indicator matrix `y_true`: unknown, left out.
    classes : sequence of labels or None, default None
        All labels, in the order of the columns. Needed where only one of the two is a matrix.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> example_accuracy(np.array([[1, 1, 0], [0, 0, 0]]), np.array([[1, 0, 0], [0, 0, 0]]))
    0.75
    >>> example_accuracy([{"sad", "slow"}, set()], [{"sad"}, set()])
    0.75
    """
    return _example_accuracy(_counts(y_true, y_pred, classes)[0])


def example_f1(
    y_true: Any, y_pred: Any, *, classes: Classes = None, zero_division: float = 1.0
) -> float:
    """Mean over the samples of 2 |both| / (|truth| + |prediction|).

    scikit-learn's ``f1_score(average="samples")``, but here two empty sets count 1 by default.

    Parameters
    ----------
    y_true, y_pred, classes
        As in :func:`example_accuracy`.
    zero_division : {0, 1, nan}, default 1
        What a sample counts whose truth and prediction are empty; nan: it is left out.

    Examples
    --------
    >>> round(example_f1([{"sad", "slow"}, set()], [{"sad"}, set()]), 3)
    0.833
    """
    _check_zero_division(zero_division)
    return _counts(y_true, y_pred, classes)[0].mean_f1(zero_division)


def hamming_loss(y_true: Any, y_pred: Any, *, classes: Classes = None) -> float:
    """Share of all known cells of the indicator matrix that are wrong.

    Parameters
    ----------
    y_true, y_pred, classes
        As in :func:`example_accuracy`. For lists of label sets give `classes`: without, only the
        labels that occur are counted, and the share is larger.

    Examples
    --------
    >>> import numpy as np
    >>> hamming_loss(np.array([[1, -1, 0], [0, 0, 1]]), np.array([[1, 1, 0], [0, 0, 0]]))
    0.2
    >>> hamming_loss([{"a"}], [{"b"}], classes=["a", "b", "c", "d"])
    0.5
    """
    return _hamming_loss(_counts(y_true, y_pred, classes)[0])


def micro_f1(
    y_true: Any, y_pred: Any, *, classes: Classes = None, zero_division: float = 0.0
) -> float:
    """F1 of all cells together: 2 |both| / (|truth| + |prediction|), summed over the samples.

    Parameters
    ----------
    y_true, y_pred, classes
        As in :func:`example_accuracy`.
    zero_division : {0, 1, nan}, default 0
        The score where neither truth nor prediction has any label.

    Examples
    --------
    >>> round(micro_f1([{"sad", "slow"}, {"sad"}], [{"sad"}, {"sad"}]), 3)
    0.8
    """
    _check_zero_division(zero_division)
    return _counts(y_true, y_pred, classes)[0].total().mean_f1(zero_division)


def macro_f1(
    y_true: Any, y_pred: Any, *, classes: Classes = None, zero_division: float = 0.0
) -> float:
    """Mean over the labels of the F1 of each label.

    Parameters
    ----------
    y_true, y_pred, classes
        As in :func:`example_accuracy`. For lists of label sets without `classes`: the mean over
        the labels that occur.
    zero_division : {0, 1, nan}, default 0
        What a label counts that no sample has, neither in truth nor in prediction; nan: it is left
        out. The convention of scikit-learn, which also starts from 0.

    Examples
    --------
    >>> macro_f1([{"sad", "slow"}, {"sad"}], [{"sad"}, {"sad"}])
    0.5
    >>> import numpy as np
    >>> truth, guess = np.array([[1, 0], [1, 0]]), np.array([[1, 0], [1, 0]])
    >>> macro_f1(truth, guess), macro_f1(truth, guess, zero_division=np.nan)
    (0.5, 1.0)
    """
    _check_zero_division(zero_division)
    return _counts(y_true, y_pred, classes)[1].mean_f1(zero_division)


def subset_accuracy(y_true: Any, y_pred: Any, *, classes: Classes = None) -> float:
    """Share of the samples whose known labels are all right.

    Parameters
    ----------
    y_true, y_pred, classes
        As in :func:`example_accuracy`.

    Examples
    --------
    >>> subset_accuracy([{"sad", "slow"}, {"sad"}], [{"sad"}, {"sad"}])
    0.5
    """
    return _subset_accuracy(_counts(y_true, y_pred, classes)[0])


def label_set_report(
    y_true: Any, y_pred: Any, *, classes: Classes = None, zero_division: float = 0.0
) -> dict[str, float]:
    """All scores of this module by name.

    Parameters
    ----------
    y_true, y_pred, classes
        As in :func:`example_accuracy`.
    zero_division : {0, 1, nan}, default 0
        For `micro_f1` and `macro_f1`. In the scores of samples two empty sets count 1.

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> report = label_set_report([{"sad", "slow"}, {"sad"}], [{"sad"}, {"sad"}])
    >>> {name: round(score, 3) for name, score in report.items()}
    {'example_accuracy': 0.75, 'hamming_loss': 0.25, 'micro_f1': 0.8, 'macro_f1': 0.5,
    'subset_accuracy': 0.5, 'example_f1': 0.833}
    """
    _check_zero_division(zero_division)
    by_sample, by_label = _counts(y_true, y_pred, classes)
    return {
        "example_accuracy": _example_accuracy(by_sample),
        "hamming_loss": _hamming_loss(by_sample),
        "micro_f1": by_sample.total().mean_f1(zero_division),
        "macro_f1": by_label.mean_f1(zero_division),
        "subset_accuracy": _subset_accuracy(by_sample),
        "example_f1": by_sample.mean_f1(1.0),
    }
