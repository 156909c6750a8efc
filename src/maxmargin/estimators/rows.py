"""Inputs that are rows: a matrix, feature dictionaries, or lists of feature names."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from maxmargin.estimators.features import (
    FeatureTable,
    check_csr,
    check_dense,
    check_matrix_like,
    restored_table,
    row_kind,
)
from maxmargin.estimators.stored import Fields


class RowInputs:
    """The part of an estimator that reads one row of features an example.

    It has the parameters `min_count` and `hashing`; see `FeatureTable`.
    """

    min_count: int
    hashing: int | None
    n_features_in_: int
    features_: FeatureTable | None

    def _rows(self, X: Any, reset: bool) -> Any:
        """Return X as a validated matrix, dense or CSR."""
        kind = row_kind(X)
        if not reset:
            fitted = None if self.features_ is None else self.features_.kind
            if kind != fitted and not (kind is None and fitted and _is_empty_rows(X)):
                raise TypeError(
                    f"X has {_describe(kind)}, but {type(self).__name__} was fitted on "
                    f"{_describe(fitted)}."
                )
            if self.features_ is not None:
                return self.features_.transform(X)
        elif kind is not None:
            self.features_ = FeatureTable(self.min_count, self.hashing)
            rows = self.features_.fit_transform(X)
            self.n_features_in_ = rows.shape[1]
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return rows
        else:
            self.features_ = None
        check_matrix_like(X)
        matrix = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            reset=reset,
        )
        return check_csr(matrix) if sp.issparse(matrix) else check_dense(matrix)

    def _feature_names(self) -> list[str] | None:
        """Return the vocabulary, if rows have one."""
        return None if self.features_ is None else self.features_.names

    def _rows_state(self) -> dict[str, Any] | None:
        """Return how rows are read, for a model file."""
        return None if self.features_ is None else self.features_.to_state()

    def _restore_rows(self, fields: Fields) -> None:
        """Take back what `_rows_state` gave."""
        self.features_ = restored_table(fields, self.n_features_in_)


def _describe(kind: str | None) -> str:
    return {"dict": "dictionaries of features", "names": "lists of feature names"}.get(
        kind or "", "a matrix"
    )


def _is_empty_rows(X: Any) -> bool:
    """Tell whether X is a list of rows without any feature, which have no kind."""
    return isinstance(X, (list, tuple)) and all(hasattr(row, "__len__") and not row for row in X)
