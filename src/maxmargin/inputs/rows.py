"""Inputs that are rows: a matrix, feature dictionaries, or lists of feature names."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from maxmargin.inputs.columns import Columns, check_columns
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.inputs.vocabulary import (
    FeatureTable,
    check_csr,
    check_dense,
    check_matrix_like,
    name_text_column,
    restored_table,
    row_kind,
)


class RowInputs:
    """The part of an estimator that reads one row of features per example.

    It has the parameters `min_count` and `n_hashed_features`; see `FeatureTable`. An estimator that
    takes missing values also has the parameter `missing`; `_columned` then fills them and adds
    columns, see `Columns`.
    """

    min_count: int
    n_hashed_features: int | None
    missing: str = "error"
    zeros: str = "value"
    steps: int = 0
    n_features_in_: int
    features_: FeatureTable | None
    columns_: Columns

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
            self.features_ = FeatureTable(self.min_count, self.n_hashed_features)
            rows = self.features_.fit_transform(X)
            self._forget_names(rows.shape[1], self.features_)
            return rows
        else:
            self.features_ = None
        check_matrix_like(X)
        try:
            matrix = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
                reset=reset,
            )
        except (TypeError, ValueError):
            name_text_column(X, "X")
            raise
        check = check_csr if sp.issparse(matrix) else check_dense
        return check(matrix, allow_nan=self._allows_nan())

    def _forget_names(self, n_features: int, table: FeatureTable | None = None) -> None:
        """Set the number of features for rows that have no column names but those of a table."""
        self.features_, self.n_features_in_ = table, n_features
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _allows_nan(self) -> bool:
        check_columns(self.missing, self.zeros, self.steps)
        return self.missing != "error"

    def _columned(self, rows: Any, reset: bool) -> Any:
        """Return validated rows with gaps filled and columns added, as weights see them."""
        if reset:
            self.columns_ = Columns.learn(rows, self.missing, self.zeros, self._n_steps())
        return self.columns_.transform(rows)

    def _n_steps(self) -> int:
        """Return how many steps a feature may have."""
        return self.steps

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of `coef_`: features first, then columns added to them.

        Parameters
        ----------
        input_features : names of the features, or None for those that were fitted (x0, x1, ...
            where rows had no names)
        """
        known = self._feature_names()
        if known is None:
            known = getattr(self, "feature_names_in_", None)
        names = known if input_features is None else input_features
        if names is not None and len(names) != self.n_features_in_:
            raise ValueError(
                f"input_features has {len(names)} names, but {type(self).__name__} was fitted on "
                f"{self.n_features_in_} features."
            )
        return np.array(self.columns_.names(names), dtype=object)

    def _feature_names(self) -> list[str] | None:
        """Return the vocabulary, if rows have one."""
        return None if self.features_ is None else self.features_.names

    def _rows_state(self) -> dict[str, Any] | None:
        """Return how rows are read, for a model file."""
        return None if self.features_ is None else self.features_.to_state()

    def _restore_rows(self, fields: Fields) -> None:
        """Take back what `_rows_state` gave."""
        self.features_ = restored_table(fields, self.n_features_in_)

    def _restore_columns(self, fields: Fields, arrays: Arrays) -> None:
        """Take back the columns of these features."""
        self.columns_ = Columns.from_state(fields, self.n_features_in_, arrays)


def _describe(kind: str | None) -> str:
    return {"dict": "dictionaries of features", "names": "lists of feature names"}.get(
        kind or "", "a matrix"
    )


def _is_empty_rows(X: Any) -> bool:
    """Tell whether X is a list of empty rows, of which no kind can be told."""
    return isinstance(X, (list, tuple)) and all(hasattr(row, "__len__") and not row for row in X)
