"""A matrix as the rows that structures read, and what is checked and counted of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import KernelUse, has, row_sizes, squared_norms, times_gram


def frozen(array: Any, dtype: Any) -> np.ndarray:
    """Return a read-only C-ordered view of an array (a copy only if order or type must change).

    For numba, writeable and read-only arrays have different types. All our arrays are read-only, as
    the memory maps of joblib are, so nothing is compiled again for these.
    """
    view = np.ascontiguousarray(array, dtype=dtype).view(np.ndarray)
    view = view[...]
    view.flags.writeable = False
    return view


def check_labels(labels: Any, n_rows: int, n_labels: int) -> None:
    """Refuse labels outside 0..n_labels-1, or not one per row: compiled code checks no bounds."""
    labels = np.asarray(labels)
    if labels.shape != (n_rows,):
        raise ValueError(f"There must be {n_rows} labels, a row of X each; got {labels.shape}.")
    if len(labels) and not (labels.min() >= 0 and labels.max() < n_labels):
        raise ValueError(
            f"Labels must be encoded as 0 to {n_labels - 1}; got {labels.min()} to {labels.max()}."
        )


def float_type(X: Any) -> type:
    """Return the type in which X is stored: float32 if X is float32, else float64."""
    return np.float32 if X.dtype == np.float32 else np.float64


def as_features(X: Any) -> Any:
    """Wrap a validated matrix, dense or CSR, by the last type of `FEATURES` that takes it.

    Examples
    --------
    >>> type(as_features(np.eye(2))).__name__
    'Dense'
    """
    from maxmargin.features import FEATURES  # not at the top: that package imports this module

    return next(kind for kind in reversed(FEATURES.values()) if kind.takes(X)).of(X)


def kernel_rows(
    features: Any, blocks: tuple[tuple[int, int], ...], row_at: Any = None
) -> KernelUse | None:
    """Return where weights are coefficients of a kernel; None if these features have none.

    Parameters
    ----------
    features : of any type; rows that are shared may be those of a kernel
    blocks : (first, width) of the matrices of weights of these features, see `KernelUse`
    row_at : where the rows of each example begin, and the end; None if each has one row
    """
    row_of = getattr(features, "row_of", None)
    own = features if row_of is None else features.rows
    if not has(times_gram, type(own)):
        return None
    n_rows = len(own.diagonal) if row_of is None else len(row_of)
    places = np.arange(n_rows + 1) if row_at is None else np.asarray(row_at)
    return KernelUse(own, blocks, places, row_of)


def row_lengths(features: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return |x| of every row, and how many stored numbers every row has."""
    with np.errstate(over="ignore"):
        lengths = np.sqrt(squared_norms(features))
    return lengths, row_sizes(features)
