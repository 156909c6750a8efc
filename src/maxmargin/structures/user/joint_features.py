"""Joint features that a user's structure returned: checked, kept dense or sparse, and added up."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

#: Joint features: a dense vector, or indices and values.
Features: TypeAlias = "np.ndarray | tuple[np.ndarray, np.ndarray]"


def checked_features(returned: Any, n_features: int, i: int) -> Features:
    """Return joint features as float64, with distinct sorted indices if they are sparse."""
    where = f"joint_feature of sample {i}"
    if isinstance(returned, tuple):
        return _checked_sparse(returned, n_features, where)
    values = _numbers(returned, f"{where} must be a vector or a tuple (indices, values)")
    if values.shape != (n_features,):
        raise ValueError(
            f"{where} must have shape ({n_features},), as n_features says, got {values.shape}."
        )
    # Keep indices and values instead, if these take less memory.
    indices = np.flatnonzero(values)
    if 2 * len(indices) < n_features:
        return indices, values[indices]
    return values.copy()


def _checked_sparse(returned: tuple[Any, ...], n_features: int, where: str) -> Features:
    """Return sparse features with distinct, sorted indices; values of equal indices are added."""
    if len(returned) != 2:
        raise ValueError(
            f"{where} is a tuple of {len(returned)}; expected (indices, values), or a dense vector "
            "as an array or list."
        )
    indices = np.asarray(returned[0])
    values = _numbers(returned[1], f"the values of {where} must be numbers")
    if indices.size == 0:
        indices = indices.astype(np.int64)
    if indices.ndim != 1 or values.shape != indices.shape:
        raise ValueError(
            f"{where}: indices and values must be vectors of one length, got shapes "
            f"{indices.shape} and {values.shape}."
        )
    if indices.dtype.kind not in "iu":
        raise TypeError(f"{where}: indices must be integers, got {indices.dtype}.")
    outside = indices[(indices < 0) | (indices >= n_features)]
    if len(outside):
        raise ValueError(f"{where}: index {outside[0]} is not in 0..{n_features - 1}.")
    distinct, place = np.unique(indices.astype(np.int64), return_inverse=True)
    return distinct, np.bincount(place, weights=values, minlength=len(distinct))


def _numbers(returned: Any, complaint: str) -> np.ndarray:
    """Return finite numbers as float64, or raise an error that begins with ``complaint``."""
    try:
        if returned is None:  # numpy would convert it to NaN
            raise TypeError
        values = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{complaint}, got {type(returned).__name__}.") from None
    if not np.isfinite(values).all():
        raise ValueError(f"{complaint} without NaN or infinity.")
    return values


def dot(features: Features, w: np.ndarray) -> float:
    """Return features . w."""
    if isinstance(features, tuple):
        return float(features[1] @ w[features[0]])
    return float(features @ w)


def add(features: Features, scale: float, w: np.ndarray, alpha: np.ndarray | None = None) -> None:
    """w += scale * features, each times its alpha if there are any."""
    if isinstance(features, tuple):
        indices, values = features
        w[indices] += scale * (values if alpha is None else alpha[indices] * values)
    else:
        w += scale * (features if alpha is None else alpha * features)
