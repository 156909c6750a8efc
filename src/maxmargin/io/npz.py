"""Dense data in npz files: keys ``X``, ``y`` and, for sequences, ``offsets``.

Sequences are stacked: sequence i is rows ``offsets[i]`` to ``offsets[i + 1] - 1`` of X and y. Where
sequences are queries, ``qid[i]`` may be the number of query i.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.arrays import read_arrays
from maxmargin.io.files import Source, source_name
from maxmargin.io.replace import atomic_write
from maxmargin.io.unpack import most_unpacked

__all__ = ["cut", "read_npz", "read_npz_queries", "stack", "write_npz"]

#: The arrays of a file, and the kinds of `numpy.dtype` that each may have.
_KINDS = {"X": "biuf", "y": "biufUS", "offsets": "biuf", "qid": "iu"}


def stack(
    sequences: Sequence[Any] | NDArray[Any], name: str = "X"
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Sequences under one another, and where each begins and ends.

    Parameters
    ----------
    sequences : sequence of array-like
        Their first axis may differ, the others must not.
    name : str, default "X"
        What errors call them.

    Returns
    -------
    stacked : ndarray
    offsets : ndarray of int64, shape (n + 1,)

    Examples
    --------
    >>> stack([[1, 2], [3]])
    (array([1, 2, 3]), array([0, 2, 3]))
    """
    arrays = [np.asarray(s) for s in sequences]
    if not arrays:
        raise ValueError(f"{name} holds no sequence.")
    for i, array in enumerate(arrays):
        if array.ndim == 0 or array.shape[1:] != arrays[0].shape[1:]:
            raise ValueError(
                f"{name}[{i}] has shape {array.shape}, which does not stack on that of {name}[0], "
                f"{arrays[0].shape}."
            )
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(array) for array in arrays], out=offsets[1:])
    return np.concatenate(arrays), offsets


def cut(stacked: NDArray[Any], offsets: NDArray[np.int64]) -> list[NDArray[Any]]:
    """The sequences that :func:`stack` put under one another, as views.

    Examples
    --------
    >>> cut(np.array([1, 2, 3]), np.array([0, 2, 3]))
    [array([1, 2]), array([3])]
    """
    ends = offsets.tolist()
    return [stacked[a:b] for a, b in pairwise(ends)]


def write_npz(
    path: str | os.PathLike[str],
    X: NDArray[Any] | Sequence[Any],
    y: NDArray[Any] | Sequence[Any] | None = None,
    *,
    qid: NDArray[Any] | Sequence[int] | None = None,
) -> None:
    """Write dense samples, or sequences, with their labels; the file is replaced in one step.

    Parameters
    ----------
    path : path
    X : ndarray of shape (n_samples, n_features), or list of arrays of shape (length, n_features)
        A list makes a file of sequences.
    y : labels of the samples, list of sequences of labels, or None
        Numbers or strings.
    qid : array of int of shape (n_sequences,) or None
        The numbers of the queries, where sequences are queries; each stands for one.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "words.npz")
    ...     write_npz(path, [np.zeros((2, 3)), np.ones((1, 3))], [["a", "b"], ["c"]])
    ...     X, y = read_npz(path)
    >>> y
    [array(['a', 'b'], dtype='<U1'), array(['c'], dtype='<U1')]
    """
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(X, np.ndarray) and X.dtype != object:
        arrays["X"] = X
        if y is not None:
            arrays["y"] = np.asarray(y)
    else:
        arrays["X"], arrays["offsets"] = stack(X)
        if y is not None:
            arrays["y"], ends = stack(y, "y")
            _check_same_lengths(arrays["offsets"], ends)
    if qid is not None:
        arrays["qid"] = np.asarray(qid)
    for key, array in arrays.items():
        if array.dtype == object:
            raise TypeError(f"{key} holds Python objects; expected numbers or strings.")
        if array.dtype.kind not in _KINDS[key]:
            raise TypeError(f"{key} holds {array.dtype}, which `read_npz` would not read.")
    _check(arrays, "write_npz")
    with atomic_write(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        if sum(array.nbytes for array in arrays.values()) > most_unpacked(file.tell()):
            # Not packed: an array of nearly all zeros packs so small that reading would refuse it
            # as a file made to fill the memory.
            file.seek(0)
            file.truncate()
            np.savez(file, **arrays)  # type: ignore[arg-type]


def _check_same_lengths(of_x: NDArray[np.int64], of_y: NDArray[np.int64]) -> None:
    if len(of_x) != len(of_y):
        raise ValueError(f"y has {len(of_y) - 1} sequences but X has {len(of_x) - 1}.")
    lengths_x, lengths_y = np.diff(of_x), np.diff(of_y)
    for i in np.flatnonzero(lengths_x != lengths_y)[:1]:
        raise ValueError(
            f"y[{i}] has {lengths_y[i]} labels but X[{i}] has {lengths_x[i]} positions."
        )


def _check(arrays: dict[str, NDArray[Any]], name: str) -> None:
    X, y, offsets = arrays["X"], arrays.get("y"), arrays.get("offsets")
    if X.ndim != 2:
        raise ValueError(f"{name}: X must have two axes, got shape {X.shape}.")
    if y is not None and (y.ndim == 0 or len(y) != len(X)):
        raise ValueError(f"{name}: y has shape {y.shape} but X has {len(X)} rows.")
    if offsets is None:
        _check_queries(arrays.get("qid"), 0, name)
        return
    is_whole = offsets.ndim == 1 and len(offsets) >= 2 and np.issubdtype(offsets.dtype, np.integer)
    # Compare neighbours, do not subtract them: a difference of unsigned numbers is never < 0.
    if (
        not is_whole
        or offsets[0] != 0
        or offsets[-1] != len(X)
        or (offsets[1:] < offsets[:-1]).any()
    ):
        raise ValueError(
            f"{name}: offsets must be whole numbers that rise from 0 to the {len(X)} rows of X."
        )
    _check_queries(arrays.get("qid"), len(offsets) - 1, name)


def _check_queries(qid: NDArray[Any] | None, n_sequences: int, name: str) -> None:
    if qid is None:
        return
    if n_sequences == 0 or qid.shape != (n_sequences,) or len(np.unique(qid)) < n_sequences:
        raise ValueError(f"{name}: qid must have a number of its own for each sequence of X.")
    if int(qid.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"{name}: qid holds {qid.max()}, which is beyond int64.")


def read_npz(source: Source) -> tuple[Any, Any]:
    """Samples and labels of an npz file.

    Parameters
    ----------
    source : path or file open for reading bytes
        With keys ``X``, perhaps ``y``, and ``offsets`` if it holds sequences. Nothing is unpickled,
        and no array is made that is larger than what the file holds for it.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), or list of arrays of shape (length, n_features)
        Sequences are views into one array.
    y : ndarray, list of arrays, or None

    Raises
    ------
    ValueError
        Naming the file and, within it, the array, for what cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "flat.npz")
    ...     write_npz(path, np.eye(2), np.array([1, 0]))
    ...     X, y = read_npz(path)
    >>> X.shape, y
    ((2, 2), array([1, 0]))
    """
    return read_npz_queries(source)[:2]


def read_npz_queries(source: Source) -> tuple[Any, Any, NDArray[np.int64] | None]:
    """Samples and labels as :func:`read_npz` gives them, and the numbers of queries, or None."""
    name = source_name(source)
    arrays = read_arrays(source, _KINDS)
    _check(arrays, name)
    X, y, offsets, qid = arrays["X"], arrays.get("y"), arrays.get("offsets"), arrays.get("qid")
    if offsets is None:
        return X, y, None
    offsets = offsets.astype(np.int64)
    numbers = None if qid is None else qid.astype(np.int64)
    return cut(X, offsets), None if y is None else cut(y, offsets), numbers
