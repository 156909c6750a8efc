"""Inputs that are queries: rows of documents, normalised over all rows or query by query."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from maxmargin.inputs.queries import (
    SMALLEST_SCALE,
    Queries,
    largest_values,
    normalize_queries,
    read_queries,
)
from maxmargin.inputs.request import Request
from maxmargin.inputs.rows import RowInputs
from maxmargin.inputs.stored import Arrays, Fields

#: The height of a step in the problem that is solved, where the largest value of a feature is 1.
#: There are several times as many steps as features; steps of height 1 would need a much smaller C.
STEP_HEIGHT = 0.1


class QueryInputs(RowInputs):
    """The part of an estimator that reads queries, by its parameter `normalize_queries`.

    `_scale` divides the columns in training, and so multiplies the weights that are learnt.
    """

    normalize_queries: str | None
    _scale: np.ndarray
    _has_qid: bool

    def _documents(self, request: Request, reset: bool) -> tuple[Queries, Any]:
        """Return validated queries, and their rows as `coef_` sees them."""
        n_features = None if reset else self.n_features_in_
        how = self.normalize_queries
        queries = read_queries(
            request.X,
            request.qid,
            lambda rows: self._rows(rows, reset),
            n_features,
            allow_nan=self._allows_nan(),
        )
        if reset and queries.is_list:
            self._forget_names(queries.matrix.shape[1])
        rows = normalize_queries(queries, self._columned(queries.matrix, reset), how)
        if not reset and self._goes_by_query():
            self._warn_of_one_query(queries)
        if reset:
            self._has_qid = queries.has_qid
            n_columns = rows.shape[1]
            self._scale = largest_values(rows) if how == "maxabs" else np.ones(n_columns)
            if self._n_steps():
                # Columns for zeros have the height of steps, and come before them.
                first = n_columns - len(self.columns_.stepped) - len(self.columns_.presence)
                self._scale[first:] /= STEP_HEIGHT
        return queries, rows

    def _n_steps(self) -> int:
        # No steps: quantiles over all queries mean nothing if features are normalised per query.
        return 0 if self._goes_by_query() else int(self.steps)

    def _goes_by_query(self) -> bool:
        """Tell whether features are normalised query by query, so that `predict` needs qid."""
        return self.normalize_queries in ("standard", "minmax")

    def _warn_of_one_query(self, queries: Queries) -> None:
        """Warn that rows without a qid are taken as one query, if training rows had a qid.

        That may be meant, but far more often qid was forgotten.
        """
        is_one = not queries.has_qid and not queries.is_list
        if self._has_qid and is_one:
            warnings.warn(
                f"X has no qid, so its {queries.matrix.shape[0]} rows are taken as one query; the "
                "training rows had one. Pass qid=, and to eval_set (X, y, qid).",
                UserWarning,
                stacklevel=5,
            )

    def _queries_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays) of how queries are read, for a model file."""
        columns, arrays = self.columns_.to_state()
        meta = {"features": self._rows_state(), "has_qid": self._has_qid, "columns": columns}
        return meta, {**arrays, "scale": self._scale}

    def _restore_queries(self, fields: Fields, arrays: Arrays) -> None:
        """Take back what `_queries_state` gave."""
        self._restore_rows(fields)
        self._restore_columns(fields, arrays)
        self._scale = arrays.take("scale", (self.columns_.n_columns,), low=SMALLEST_SCALE)
        self._has_qid = fields.flag("has_qid")
