"""Rows of features: matrices checked, dictionaries and lists of names turned into matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.inputs.checks import check_number
from maxmargin.inputs.stored import Fields

Name = Callable[[int], str]


def _named(i: int) -> str:
    return f"X[{i}]"


def row_kind(rows: Any) -> str | None:
    """Tell what kind rows are, by the first row that is not empty.

    "dict": feature dictionaries; "names": lists of feature names; None: neither.
    """
    if sp.issparse(rows) or not hasattr(rows, "__len__"):
        return None
    if isinstance(rows, np.ndarray) and (rows.dtype != object or rows.ndim != 1):
        return None
    if not isinstance(rows, (Sequence, np.ndarray)) or isinstance(rows, (str, bytes)):
        return None
    for row in rows:
        if isinstance(row, Mapping):
            return "dict"
        if not isinstance(row, (list, tuple, set, frozenset)):
            return None
        if len(row) > 0:
            return "names" if isinstance(next(iter(row)), str) else None
    return None


class FeatureTable:
    """From feature dictionaries, or lists of feature names, to the rows of a sparse matrix.

    A dictionary has a number, a text or a list of texts for each feature; text t of feature f
    becomes the feature "f=t" with value 1. A list of names gives each name the value 1. Features
    that were not seen at fit are ignored afterwards.

    Parameters
    ----------
    min_count : int
        Features that occur in fewer rows are left out.
    n_hashed_features : int or None
        Number of columns to hash the features into, without a vocabulary; None keeps one.

    Examples
    --------
    >>> table = FeatureTable()
    >>> table.fit_transform([{"word": "the", "length": 3}, {"word": "cat"}]).toarray()
    array([[3., 0., 1.],
           [0., 1., 0.]])
    >>> table.names
    ['length', 'word=cat', 'word=the']
    >>> table.transform([{"word": "dog", "length": 2}]).toarray()
    array([[2., 0., 0.]])
    """

    def __init__(self, min_count: int = 1, n_hashed_features: int | None = None) -> None:
        self.min_count = check_number("min_count", min_count, 1, closed=True, integer=True)
        if n_hashed_features is not None:
            check_number("n_hashed_features", n_hashed_features, 1, closed=True, integer=True)
            if min_count > 1:
                raise ValueError(
                    "n_hashed_features keeps no vocabulary, so min_count must be 1 with it."
                )
        self.n_hashed_features = n_hashed_features
        self.kind = ""
        #: Names of the columns; None with hashing.
        self.names: list[str] | None = None
        self._places: dict[str, int] = {}

    @property
    def n_columns(self) -> int:
        """Columns of the matrix."""
        return self.n_hashed_features or len(self.names or ())

    def fit_transform(self, rows: Sequence[Any], name: Name = _named) -> sp.csr_matrix:
        """Learn the vocabulary of rows, and return their matrix."""
        kind = row_kind(rows)
        if kind is None:
            raise ValueError("X has zero features: every row is empty.")
        self.kind = kind
        _check_rows(rows, kind, name)
        if self.n_hashed_features is not None:
            return self._matrix(rows, name)
        if kind == "dict":
            from sklearn.feature_extraction import DictVectorizer

            vectorizer = DictVectorizer()
            matrix = vectorizer.fit_transform(rows)
            self._learn(vectorizer.feature_names_)
            X = check_csr(sp.csr_matrix(matrix), name, self.names)
        else:
            self._learn(sorted(set(chain.from_iterable(rows))))
            X = self._matrix(rows, name)
        if self.n_columns == 0:
            raise ValueError("X has zero features: every row is empty.")
        return self._frequent(X) if self.min_count > 1 else X

    def _frequent(self, X: sp.csr_matrix) -> sp.csr_matrix:
        """Leave out the features that occur in fewer than min_count rows."""
        frequent = np.flatnonzero(
            np.bincount(X.indices, minlength=self.n_columns) >= self.min_count
        )
        if len(frequent) == 0:
            raise ValueError(f"No feature occurs in min_count={self.min_count} rows or more.")
        names = self.names or []
        self._learn([names[place] for place in frequent])
        X = X[:, frequent]
        X.sort_indices()
        return X

    def transform(self, rows: Sequence[Any], name: Name = _named) -> sp.csr_matrix:
        """Return the matrix of rows; features that were not seen at fit are ignored."""
        _check_rows(rows, self.kind, name)
        return self._matrix(rows, name)

    def _learn(self, names: list[str]) -> None:
        self.names = names
        self._places = {feature: place for place, feature in enumerate(names)}

    def _matrix(self, rows: Sequence[Any], name: Name) -> sp.csr_matrix:
        if self.n_hashed_features is not None:
            from sklearn.feature_extraction import FeatureHasher

            is_dict = self.kind == "dict"
            hasher = FeatureHasher(
                self.n_hashed_features, input_type="pair" if is_dict else "string"
            )
            X = hasher.transform(map(_pairs, rows) if is_dict else rows)
        elif self.kind == "dict":
            from sklearn.feature_extraction import DictVectorizer

            vectorizer = DictVectorizer()
            vectorizer.feature_names_, vectorizer.vocabulary_ = self.names, self._places
            X = vectorizer.transform(rows)
        else:
            X = self._from_names(rows)
        return check_csr(sp.csr_matrix(X), name, self.names)

    def _from_names(self, rows: Sequence[Any]) -> sp.csr_matrix:
        # The same as DictVectorizer with all values 1, but several times faster.
        sizes = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        find = self._places.get
        found = np.array([find(f, -1) for f in chain.from_iterable(rows)], dtype=np.int64)
        known = found >= 0
        counts = np.bincount(np.repeat(np.arange(len(rows)), sizes)[known], minlength=len(rows))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        shape = (len(rows), self.n_columns)
        X = sp.csr_matrix((np.ones(indptr[-1]), found[known], indptr), shape=shape)
        X.sum_duplicates()
        X.data[:] = 1.0  # also for a name that a row has twice
        return X

    def to_state(self) -> dict[str, Any]:
        """Return the table as plain data, for a model file."""
        return {
            "min_count": self.min_count,
            "n_hashed_features": self.n_hashed_features,
            "kind": self.kind,
            "names": self.names,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> FeatureTable:
        """Return the table that `to_state` was called on."""
        fields = Fields(state, "features")
        table, names = (
            cls(fields.take("min_count"), fields.take("n_hashed_features")),
            fields.take("names"),
        )
        table.kind = fields.text("kind", ("dict", "names"))
        fields.close()
        if (names is None) != (table.n_hashed_features is not None):
            raise ValueError("features must have names, or be hashed, and not both")
        if table.n_hashed_features is None:
            if not isinstance(names, list) or not names:
                raise fields.refuse("names", "a list of names", names)
            if table.kind == "names" and not all(type(name) is str for name in names):
                raise fields.refuse("names", "a list of text", names)
            table._learn(names)
            if len(table._places) < len(names):
                raise ValueError("features names a column twice")
        return table


def restored_table(fields: Fields, n_columns: int) -> FeatureTable | None:
    """Return the table in the field "features"; refuse one with another number of columns."""
    state = fields.take("features")
    if state is None:
        return None
    table = FeatureTable.from_state(state)
    if table.n_columns != n_columns:
        raise ValueError(f"features has {table.n_columns} columns where {n_columns} were fitted")
    return table


def _pairs(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the features of a dictionary as DictVectorizer names them."""
    for feature, value in row.items():
        if isinstance(value, str):
            yield f"{feature}={value}", 1.0
        elif isinstance(value, Number):
            yield feature, value
        else:
            for each in value:
                yield f"{feature}={each}", 1.0


def _check_rows(rows: Sequence[Any], kind: str, name: Name) -> None:
    wanted: Any = Mapping if kind == "dict" else (list, tuple, set, frozenset)
    what = "a dictionary of features" if kind == "dict" else "a list of feature names"
    for i, row in enumerate(rows):
        if not isinstance(row, wanted):
            raise TypeError(f"{name(i)} is of type {type(row).__name__}; expected {what}.")
        if kind == "dict":
            for feature, value in row.items():
                if type(value) not in _VALUES:
                    _check_value(value, f"{name(i)}[{feature!r}]")
        elif not all(type(feature) is str for feature in row):
            bad = next(feature for feature in row if type(feature) is not str)
            raise TypeError(f"{name(i)} has the feature {bad!r}; expected text.")


_VALUES = frozenset({str, int, float, bool})  # nearly all values are of these types


def _check_value(value: Any, name: str) -> None:
    if isinstance(value, (str, Number)):
        return
    is_list = isinstance(value, (list, tuple, set, frozenset))
    if not is_list or not all(isinstance(each, str) for each in value):
        raise TypeError(
            f"{name} is of type {type(value).__name__}; expected a number, a text or a list of "
            "texts."
        )


def check_matrix_like(X: Any) -> None:
    """Refuse text, and lists of rows of different lengths, saying which row."""
    if isinstance(X, (str, bytes)):
        raise TypeError(f"X must be a matrix or a list of rows, got {type(X).__name__}.")
    if isinstance(X, (list, tuple)):
        sizes = [len(row) if hasattr(row, "__len__") else -1 for row in X]
        for i, size in enumerate(sizes):
            if size != sizes[0]:
                raise ValueError(f"X[{i}] has {size} features but X[0] has {sizes[0]}.")


def name_text_column(X: Any, where: str) -> None:
    """Raise an error that names the column, if X is a data frame with a column of no numbers.

    Called when X could not be made a matrix of numbers.
    """
    if not hasattr(X, "columns"):
        return
    cells = np.asarray(np.asarray(X), dtype=object)
    for name, column in zip(X.columns, cells.T, strict=True):
        for row, value in enumerate(column):
            if value is not None and not _is_number(value):
                raise ValueError(
                    f"{where} has {value!r:.40} in row {row} of column {name!r}, where numbers are "
                    "expected. Encode that column (OneHotEncoder or OrdinalEncoder of "
                    "sklearn.preprocessing), drop it, or pass a list of dictionaries, one per row, "
                    "in which a text is a feature of its own."
                )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def check_csr(
    X: Any, name: Name = _named, names: Sequence[str] | None = None, *, allow_nan: bool = False
) -> Any:
    """Return a CSR matrix that compiled code can read: in bounds, sorted, distinct, finite.

    A matrix that is not so is copied, never changed. With `allow_nan` values may be missing.
    """
    # A new matrix over the same arrays: checks would otherwise set flags of the user's matrix.
    X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
    if X.shape[1] >= 2**31:
        raise ValueError(f"X has {X.shape[1]} columns; at most {2**31 - 1} are possible.")
    try:
        X.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"X is not a valid CSR matrix: {error}.") from None
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if not np.isfinite(X.data.sum(dtype=np.float64)):
        for entry in np.flatnonzero(_is_bad(X.data, allow_nan))[:1]:
            row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
            raise _not_finite(X.data[entry], name(row), X.indices[entry], names)
    return X


def check_dense(X: np.ndarray, name: Name = _named, *, allow_nan: bool = False) -> np.ndarray:
    """Return a matrix whose values are all finite (or missing); else name the first that is not."""
    # If the sum is finite, all values are. The sum needs no second array of the size of X.
    with np.errstate(all="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return X
    for i, row in enumerate(X):
        for column in np.flatnonzero(_is_bad(row, allow_nan))[:1]:
            raise _not_finite(row[column], name(i), column)
    return X


def _is_bad(values: np.ndarray, allow_nan: bool) -> np.ndarray:
    return np.isinf(values) if allow_nan else ~np.isfinite(values)


def _not_finite(
    value: Any, row: str, column: Any, names: Sequence[str] | None = None
) -> ValueError:
    what = "NaN" if np.isnan(value) else "infinity"
    feature = repr(names[column]) if names else int(column)
    return ValueError(f"Input X contains {what}: {row} has {value} at feature {feature}.")
