"""Lists of sequences as compiled code reads them: one stacked matrix, and offsets.

Sequence i is rows ``offsets[i]:offsets[i + 1]``. Wrong inputs are refused here, and errors name the
sequence and the position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.inputs.vocabulary import (
    FeatureTable,
    _check_rows,
    check_csr,
    check_dense,
    name_text_column,
    row_kind,
)


class Stack(NamedTuple):
    """Sequences, one below the other."""

    matrix: Any  # (n_positions, n_features), ndarray or CSR
    offsets: np.ndarray  # (n_sequences + 1,) int64


def read_sequences(X: Any, table: FeatureTable) -> tuple[Stack, FeatureTable | None]:
    """Return the features of training sequences, and the table if they are names or dictionaries.

    ``table`` is empty at first, and learns their features.
    """
    sequences = as_sequences("X", X)
    kind = symbolic_kind(sequences)
    if kind is None:
        return stack_arrays(sequences), None
    positions, offsets = flatten_positions(sequences, kind)
    return Stack(table.fit_transform(positions, naming("X", offsets)), offsets), table


def reread_sequences(X: Any, table: FeatureTable | None, n_features: int) -> Stack:
    """Return the features of sequences as those of training were read."""
    sequences = as_sequences("X", X)
    if table is not None:
        positions, offsets = flatten_positions(sequences, table.kind)
        return Stack(table.transform(positions, naming("X", offsets)), offsets)
    kind = symbolic_kind(sequences)
    if kind is not None:
        raise TypeError(
            f"X has {'dictionaries' if kind == 'dict' else 'lists'} of features, but the model was "
            "fitted on arrays."
        )
    return stack_arrays(sequences, n_features)


def as_sequences(name: str, value: Any) -> list[Any]:
    """Return the elements of X or y as a list; one element is one sequence."""
    is_iterable = hasattr(value, "__len__") and hasattr(value, "__iter__")
    is_table = sp.issparse(value) or hasattr(value, "columns")
    if is_table or isinstance(value, (str, bytes, dict)) or not is_iterable:
        raise TypeError(
            f"{name} must be a list of sequences, got {type(value).__name__}; one element of "
            f"{name} is one sequence, so wrap a single one in a list."
        )
    if isinstance(value, np.ndarray) and value.ndim == 0:
        raise TypeError(f"{name} must be a list of sequences, got an array of no dimension.")
    if len(value) == 0:
        raise ValueError(f"{name} holds no sequence.")
    return list(value)


def offsets_of(lengths: Sequence[int]) -> np.ndarray:
    """Return where each sequence begins, and the end."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def place(offsets: np.ndarray, row: int) -> tuple[int, int]:
    """Return the sequence, and the position within it, that a stacked row is.

    Examples
    --------
    >>> place(offsets_of([2, 3]), 3)
    (1, 1)
    """
    i = int(np.searchsorted(offsets, row, side="right")) - 1
    return i, int(row - offsets[i])


def naming(name: str, offsets: np.ndarray) -> Callable[[int], str]:
    """Return the function that says what a stacked row is, such as "X[1][1]"."""
    return lambda row: "{}[{}][{}]".format(name, *place(offsets, row))


def symbolic_kind(sequences: list[Any]) -> str | None:
    """Tell what positions are: "dict", "names", or None for arrays; see `row_kind`."""
    return next((kind for kind in map(row_kind, sequences) if kind is not None), None)


def flatten_positions(
    sequences: list[Any], kind: str, name: str = "X"
) -> tuple[list[Any], np.ndarray]:
    """Return the positions of all sequences, all of one kind, in one list; and the offsets."""
    for i, sequence in enumerate(sequences):
        is_array = isinstance(sequence, np.ndarray) and sequence.dtype != object
        is_list = hasattr(sequence, "__len__") and not isinstance(sequence, (str, dict))
        if sp.issparse(sequence) or is_array or not is_list:
            wanted = "dictionaries of features" if kind == "dict" else "lists of feature names"
            raise TypeError(
                f"{name}[{i}] is of type {type(sequence).__name__}; expected a list of {wanted}, "
                "one per position."
            )
        if len(sequence) == 0:
            raise ValueError(f"{name}[{i}] is empty; a sequence has at least one position.")
    positions = list(chain.from_iterable(sequences))
    offsets = offsets_of([len(sequence) for sequence in sequences])
    if row_kind(positions) != kind:  # if equal, the table checks the positions
        _check_rows(positions, kind, naming(name, offsets))
    return positions, offsets


def stack_arrays(
    sequences: list[Any],
    n_features: int | None = None,
    name: str = "X",
    *,
    allow_nan: bool = False,
) -> Stack:
    """Stack dense or CSR sequences; none is copied if they are neighbours in one array already.

    Parameters
    ----------
    sequences : list of arrays of shape (L_i, n_features), L_i >= 1, all dense or all sparse
    n_features : int or None
        What each must have; None: what the first has.
    allow_nan : bool
        Whether values may be missing.

    Examples
    --------
    >>> stack_arrays([np.ones((2, 3)), np.zeros((1, 3))]).offsets
    array([0, 2, 3])
    """
    arrays = [_as_matrix(f"{name}[{i}]", sequence) for i, sequence in enumerate(sequences)]
    expected = arrays[0].shape[1] if n_features is None else n_features
    is_sparse = sp.issparse(arrays[0])
    for i, array in enumerate(arrays):
        if array.shape[1] != expected:
            wanted = f"{name}[0] has {expected}" if n_features is None else f"expected {expected}"
            raise ValueError(f"{name}[{i}] has {array.shape[1]} features but {wanted}.")
        if sp.issparse(array) != is_sparse:
            kinds = "dense but X[0] is sparse" if is_sparse else "sparse but X[0] is dense"
            raise TypeError(f"{name}[{i}] is {kinds}; sequences must be all one or the other.")
    if expected == 0:
        raise ValueError(f"{name} has 0 features; at least one is needed.")
    offsets = offsets_of([array.shape[0] for array in arrays])
    if is_sparse:
        stacked = sp.vstack([sp.csr_matrix(array) for array in arrays], format="csr")
        stacked = stacked.astype(_float_type(arrays))
        matrix = check_csr(stacked, naming(name, offsets), allow_nan=allow_nan)
    else:
        matrix = check_dense(_stack_dense(arrays), naming(name, offsets), allow_nan=allow_nan)
    return Stack(matrix, offsets)


def _as_matrix(where: str, sequence: Any) -> Any:
    if sp.issparse(sequence):
        array = sequence.tocsr() if sequence.ndim == 2 else sequence
    else:
        try:
            array = np.asarray(sequence)
            if array.dtype == object:
                array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            name_text_column(sequence, where)
            raise ValueError(
                f"{where} is not a rectangular array of numbers of shape (positions, features): "
                f"{error}"
            ) from None
    if array.dtype.kind not in "fiub":
        raise TypeError(
            f"{where} must hold real numbers, or feature dictionaries or lists of feature names, "
            f"got dtype {array.dtype}."
        )
    if array.shape[:1] == (0,):
        raise ValueError(f"{where} is empty; a sequence has at least one position.")
    if array.ndim != 2:
        raise ValueError(
            f"{where} must have two dimensions (positions, features), got shape {array.shape}."
        )
    return array


def _float_type(arrays: list[Any]) -> type:
    return np.float32 if all(array.dtype == np.float32 for array in arrays) else np.float64


def _stack_dense(arrays: list[np.ndarray]) -> np.ndarray:
    shared = _neighbours(arrays)
    if shared is not None:
        return shared
    return np.concatenate(arrays, dtype=_float_type(arrays), casting="unsafe")


def _neighbours(arrays: list[np.ndarray]) -> np.ndarray | None:
    """Return one view of all arrays, if they lie one after the other in one array; else None."""
    first, base = arrays[0], _owner(arrays[0])
    if not base.flags.c_contiguous or base.dtype not in (np.float64, np.float32):
        return None
    begin = end = first.ctypes.data - base.ctypes.data
    for array in arrays:
        is_part = _owner(array) is base and array.flags.c_contiguous and array.dtype == base.dtype
        if not is_part or array.ctypes.data - base.ctypes.data != end:
            return None
        end += array.nbytes
    cells = np.asarray(base).reshape(-1)[begin // base.itemsize : end // base.itemsize]
    return cells.reshape(-1, first.shape[1])


def _owner(array: np.ndarray) -> np.ndarray:
    """Return the array that owns the memory of an array."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
