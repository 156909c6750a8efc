"""Least squares of several targets over the same examples, with scores as H-RLS has them."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

__all__ = ["RidgeGroup"]

#: With more columns the factor, a matrix of columns x columns, is too large to be kept.
MOST_COLUMNS = 4000


class RidgeGroup(NamedTuple):
    """Weights of several targets, and the factor of A = I/C + S S' that scores are divided by.

    The intercept is a constant feature, and is regularised as the others are.
    """

    weights: np.ndarray  # (n_columns + 1, n_targets)
    factor: Any  # of `cho_factor`; None without leverage

    @classmethod
    def learn(
        cls, rows: Any, targets: np.ndarray, weight: np.ndarray, C: float, leverage: bool
    ) -> Self:
        """Return the solution for rows (dense or CSR), targets (n, k) and sample weights."""
        X = with_ones(rows)
        if not leverage:
            from sklearn.linear_model import Ridge

            ridge = Ridge(alpha=1.0 / C, fit_intercept=False)
            ridge.fit(X, targets, sample_weight=weight)
            return cls(np.asarray(ridge.coef_).reshape(targets.shape[1], -1).T, None)
        if X.shape[1] > MOST_COLUMNS:
            raise ValueError(
                f"leverage=True keeps a matrix of {X.shape[1]} x {X.shape[1]} numbers for each "
                f"inner node; with more than {MOST_COLUMNS} columns pass leverage=False."
            )
        weighted = X.multiply(weight[:, None]).tocsr() if sp.issparse(X) else X * weight[:, None]
        A = weighted.T @ X
        A = np.asarray(A.todense() if sp.issparse(A) else A, dtype=np.float64)
        A[np.diag_indices_from(A)] += 1.0 / C
        factor = cho_factor(A, lower=True)
        return cls(cho_solve(factor, np.asarray(weighted.T @ targets)), factor)

    def scores(self, rows: Any) -> np.ndarray:
        """Return w.x / (1 + x' A^-1 x) for all rows and targets; w.x without leverage."""
        X = with_ones(rows)
        found = np.asarray(X @ self.weights)
        if self.factor is None:
            return found
        dense = X.toarray() if sp.issparse(X) else X
        leverage = np.einsum("ij,ji->i", dense, cho_solve(self.factor, dense.T))
        return np.asarray(found / (1.0 + leverage[:, None]))


def with_ones(rows: Any) -> Any:
    """Return rows with a constant feature behind the others."""
    ones = np.ones((rows.shape[0], 1))
    return sp.hstack([rows, ones], format="csr") if sp.issparse(rows) else np.hstack([rows, ones])
