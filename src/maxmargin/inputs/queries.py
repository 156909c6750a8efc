"""Queries and their documents: a list of arrays, one per query, or rows with the query of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.sequences import offsets_of, stack_arrays
from maxmargin.metrics._ranked import number_queries


@dataclass(frozen=True)
class Queries:
    """Rows of features by query.

    Attributes
    ----------
    matrix : ndarray or CSR matrix, rows as the caller has them
    order : int64 array of shape (n_rows,)
        The numbers of the rows, query by query; within a query in the order of the caller.
    offsets : int64 array of shape (n_queries + 1,)
        Query q is ``order[offsets[q]:offsets[q + 1]]``.
    is_list : bool
        Whether the caller passed a list, one element per query, and gets a list back.
    names : function of q that says which query it is
    has_qid : bool
        Whether the caller has said which query each row is of.
    """

    matrix: Any
    order: np.ndarray
    offsets: np.ndarray
    is_list: bool
    names: Callable[[int], str]
    has_qid: bool = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def members(self, q: int) -> np.ndarray:
        """Return the numbers of the rows of a query."""
        return self.order[self.offsets[q] : self.offsets[q + 1]]

    def give_back(self, values: np.ndarray) -> Any:
        """Return one value per row, in the form in which the caller passed the rows."""
        if not self.is_list:
            return values
        return [values[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]


def read_queries(
    X: Any,
    qid: Any,
    read_rows: Callable[[Any], Any],
    n_features: int | None = None,
    *,
    allow_nan: bool = False,
) -> Queries:
    """Return validated queries.

    Parameters
    ----------
    X : list of arrays of shape (n_documents, n_features), or rows
    qid : the query of each row, or None; rows without it are one query
    read_rows : validates rows that come as one matrix
    n_features : what arrays in a list must have; None: what the first has
    allow_nan : whether values may be missing in arrays in a list
    """
    if is_list_of_queries(X):
        if qid is not None:
            raise ValueError(
                "qid is for rows in one matrix; X is a list with one element per query."
            )
        stack = stack_arrays(list(X), n_features, allow_nan=allow_nan)
        everyone = np.arange(int(stack.offsets[-1]))
        return Queries(stack.matrix, everyone, stack.offsets, True, lambda q: f"X[{q}]")
    matrix = read_rows(X)
    n_rows = matrix.shape[0]
    if qid is None:
        everyone = np.arange(n_rows)
        return Queries(matrix, everyone, offsets_of([n_rows]), False, lambda q: "X")
    ids = check_ids(qid, n_rows)
    # Queries in the order in which they first occur; rows need not lie together.
    named, query = number_queries(ids)
    order = np.argsort(query, kind="stable")
    sizes = np.bincount(query, minlength=len(named))
    offsets = offsets_of(sizes.tolist())
    return Queries(matrix, order, offsets, False, lambda q: f"query {named[q]}", has_qid=True)


def check_ids(qid: Any, n_rows: int) -> np.ndarray:
    """Return the query of each row as an array, or say that it is not one."""
    ids = np.asarray(qid)
    if ids.shape != (n_rows,):
        raise ValueError(
            f"qid must have one entry per row of X, shape ({n_rows},), got shape {ids.shape}."
        )
    return ids


def is_list_of_queries(X: Any) -> bool:
    """Tell whether X holds one array per query, rather than rows."""
    if sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype != object and X.ndim < 3):
        return False
    if isinstance(X, (str, bytes, dict)) or not hasattr(X, "__len__") or len(X) == 0:
        return False
    if hasattr(X, "columns"):  # a frame of pandas, polars or another library: rows
        return False
    first = X[0]
    if sp.issparse(first) or hasattr(first, "ndim"):
        return bool(sp.issparse(first) or first.ndim == 2)
    try:
        return np.ndim(first) == 2
    except ValueError:  # rows of different lengths, which the reader of arrays refuses
        return True


def read_grades(y: Any, queries: Queries) -> np.ndarray:
    """Return the grade of each row, in the order of the caller; refuse what is no grade."""
    n_rows = len(queries.order)
    if queries.is_list:
        given = list(y) if hasattr(y, "__len__") else y
        if not isinstance(given, list) or len(given) != len(queries):
            n = f"{len(given)}" if isinstance(given, list) else type(y).__name__
            raise ValueError(
                f"y must have the grades of each of the {len(queries)} queries in X, got {n}."
            )
        parts = [_numbers(part, f"y[{q}]") for q, part in enumerate(given)]
        for q, (part, size) in enumerate(zip(parts, np.diff(queries.offsets), strict=True)):
            if part.shape != (size,):
                raise ValueError(
                    f"y[{q}] must have a grade for each of the {size} rows of X[{q}], got shape "
                    f"{part.shape}."
                )
        grades = np.concatenate(parts)
    else:
        grades = _numbers(y, "y")
        if grades.shape != (n_rows,):
            raise ValueError(
                f"y must have a grade for each of the {n_rows} rows of X, got shape {grades.shape}."
            )
    bad = ~(np.isfinite(grades) & (grades >= 0.0))
    if bad.any():
        row = int(np.argmax(bad))
        if queries.is_list:
            q = int(np.searchsorted(queries.offsets, row, side="right")) - 1
            where = f"y[{q}][{row - queries.offsets[q]}]"
        else:
            where = f"y[{row}]"
        raise ValueError(f"{where} is {grades[row]:g}; expected a grade, a finite number >= 0.")
    return grades


def _numbers(values: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be grades, numbers >= 0: {error}.") from None


def read_weights(sample_weight: Any, queries: Queries) -> np.ndarray:
    """Return one weight per query: as given for a list; for rows, the weight of all its rows."""
    if queries.is_list or sample_weight is None:
        return check_weights(sample_weight, len(queries))
    weight = check_weights(sample_weight, len(queries.order))
    of_query = np.empty(len(queries))
    for q in range(len(queries)):
        own = weight[queries.members(q)]
        if (own != own[0]).any():
            way_out = "" if queries.has_qid else " Without qid=, X is one query."
            raise ValueError(
                f"sample_weight differs within {queries.names(q)} ({own.min():g} to {own.max():g});"
                f" a query has one weight.{way_out}"
            )
        of_query[q] = own[0]
    return of_query


#: Ways to make features comparable: over all training rows, or query by query.
NORMALIZATIONS = ("maxabs", "standard", "minmax")


def check_normalization(how: Any) -> None:
    """Refuse an unknown way to normalise."""
    if how is not None and how not in NORMALIZATIONS:
        raise ValueError(
            f"normalize_queries must be None or one of {', '.join(map(repr, NORMALIZATIONS))}, got "
            f"{how!r}."
        )


#: A column whose largest |value| is below this is not divided by it: its weight might overflow.
SMALLEST_SCALE = 1e-150


def largest_values(rows: Any) -> np.ndarray:
    """Return the largest |value| of each column, or 1 where that is zero or almost zero."""
    if sp.issparse(rows):
        largest = np.zeros(rows.shape[1])
        np.maximum.at(largest, rows.indices, np.abs(rows.data))
    else:
        largest = np.maximum(rows.max(axis=0), -rows.min(axis=0)).astype(np.float64)
    return np.where(largest >= SMALLEST_SCALE, largest, 1.0)


def scale_columns(rows: Any, scale: np.ndarray) -> Any:
    """Return rows with each column divided by its number; the same object if all numbers are 1."""
    if (scale == 1.0).all():
        return rows
    if sp.issparse(rows):
        scaled = rows.copy()
        scaled.data = (scaled.data / scale[scaled.indices]).astype(rows.dtype)
        return scaled
    return np.divide(rows, scale, dtype=rows.dtype, casting="same_kind")


def normalize_queries(queries: Queries, rows: Any, how: str | None) -> Any:
    """Return rows, in the order of the caller, with features normalised query by query."""
    check_normalization(how)
    if how is None or how == "maxabs":
        return rows
    if sp.issparse(rows):
        raise ValueError(
            f"normalize_queries={how!r} would make sparse rows dense: pass dense rows, or take "
            "'maxabs'."
        )
    rows = np.array(rows)
    for q in range(len(queries)):
        own = queries.members(q)
        values = rows[own].astype(np.float64)
        # Divide by a power of 2, which is exact, so that sums and differences cannot overflow.
        # Normalising cancels this factor.
        top = np.abs(values).max(axis=0, initial=0.0)
        values = np.ldexp(values, -np.where(top > 1e100, np.frexp(top)[1], 0))
        if how == "standard":
            low, spread = values.mean(axis=0), values.std(axis=0)
        else:
            low, spread = values.min(axis=0), np.ptp(values, axis=0)
        # A feature that is the same in all documents becomes 0: the rest would be only rounding.
        flat = spread <= 1e-12 * np.abs(values).max(axis=0, initial=0.0)
        rows[own] = np.where(flat, 0.0, (values - low) / np.where(flat, 1.0, spread))
    return rows
