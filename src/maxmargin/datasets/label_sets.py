"""Label sets drawn from a pairwise model, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin.datasets.dataset import Dataset

__all__ = ["make_label_sets"]

_MAX_LABELS = 16
_CELLS = 2**22  # scores held at a time: 32 megabytes


def make_label_sets(
    n_samples: int = 200,
    n_features: int = 10,
    n_labels: int = 5,
    *,
    signal: float = 2.0,
    coupling: float = 1.0,
    bias: float = -0.5,
    test_size: float = 0.25,
    random_state: int | np.random.Generator | None = 0,
) -> Dataset:
    """Label sets whose labels depend on the features and on one another.

    Features are standard normal. The labels y in {0,1}^n of a sample x are drawn from the
    distribution ``p(y|x)`` proportional to ``exp(y @ (W @ x + b) + sum_{j<k} J[j, k] y_j y_k)``,
    exactly, by listing all 2^n sets. `W` and `J` are normal; ``b = bias - J.sum(axis=1) / 2``, so
    that the couplings do not change how many labels there are, only which go together.

    Parameters
    ----------
    n_samples : int, default 200
        Samples in both parts together.
    n_features : int, default 10
    n_labels : int, default 5
        At most 16.
    signal : float, default 2.0
        Standard deviation of ``W @ x``: how much the features say about the labels.
    coupling : float, default 1.0
        Standard deviation of the entries of `J`. 0: labels are independent, given x.
    bias : float, default -0.5
        Below 0: less than half of the labels are in the mean set.
    test_size : float, default 0.25
        Share of the samples that are for the test; 0: none.
    random_state : int, Generator or None, default 0
        The same number gives the same samples.

    Returns
    -------
    Dataset
        X : float64 arrays of shape (n, n_features); y : int64 indicator matrices of shape
        (n, n_labels). ``extra["weights"]``, ``extra["bias"]``, ``extra["couplings"]`` : W, b and
        the symmetric J.

    Examples
    --------
    >>> data = make_label_sets(40, n_features=3, n_labels=4, random_state=0)
    >>> data.X_train.shape, data.y_train.shape, data.y_test.shape
    ((30, 3), (30, 4), (10, 4))
    >>> data.classes
    [0, 1, 2, 3]
    """
    for name, count in (("n_samples", n_samples), ("n_features", n_features)):
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}.")
    if not 1 <= n_labels <= _MAX_LABELS:
        raise ValueError(
            f"n_labels must be from 1 to {_MAX_LABELS}, since all sets are listed, got {n_labels}."
        )
    for name, value in (("signal", signal), ("coupling", coupling)):
        if not (value >= 0 and np.isfinite(value)):
            raise ValueError(f"{name} must be at least 0 and finite, got {value}.")
    if not np.isfinite(bias):
        raise ValueError(f"bias must be finite, got {bias}.")
    n_test = round(test_size * n_samples) if 0 <= test_size < 1 else n_samples
    if n_test == n_samples:
        raise ValueError(
            f"test_size={test_size} leaves no sample of {n_samples} for training; it must be in "
            "[0, 1)."
        )
    rng = np.random.default_rng(random_state)
    weights = rng.normal(scale=signal / np.sqrt(n_features), size=(n_labels, n_features))
    upper = np.triu(rng.normal(scale=coupling, size=(n_labels, n_labels)), k=1)
    couplings = upper + upper.T
    biases = bias - couplings.sum(axis=1) / 2
    X = rng.normal(size=(n_samples, n_features))
    Y = _draw(X @ weights.T + biases, upper, rng)
    n = n_samples - n_test
    return Dataset(
        "label_sets",
        X[:n],
        Y[:n],
        X[n:],
        Y[n:],
        classes=list(range(n_labels)),
        description="Label sets drawn from a pairwise model with normal weights.",
        extra={"weights": weights, "bias": biases, "couplings": couplings},
    )


def _draw(
    unary: NDArray[np.float64], upper: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """One label set a row of `unary`, by the inverse of the distribution function."""
    n_samples, n_labels = unary.shape
    sets = (np.arange(2**n_labels)[:, None] >> np.arange(n_labels)) & 1
    pairwise = np.einsum("sj,sk,jk->s", sets, sets, upper, optimize=True)
    u = rng.random((n_samples, 1))
    chosen = np.empty(n_samples, dtype=np.int64)
    step = max(1, _CELLS // len(sets))
    for first in range(0, n_samples, step):
        part = slice(first, first + step)
        scores = unary[part] @ sets.T + pairwise
        mass = np.cumsum(np.exp(scores - scores.max(axis=1, keepdims=True)), axis=1)
        chosen[part] = (mass <= u[part] * mass[:, -1:]).sum(axis=1)
    return sets[chosen].astype(np.int64)
