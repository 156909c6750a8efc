"""The contract of a type of features, checked against the matrix that it holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.core.compile import compiled
from maxmargin.core.contract import (
    add_columns,
    add_combination,
    add_outer,
    add_row,
    add_scores,
    as_matrix,
    clear_row,
    make_ready,
    row_product,
    row_sizes,
    score_few,
    score_rows,
    squared_norms,
)
from maxmargin.testing._require import require


def check_features(
    features: Any, X: Any, *, added: Any = None, compile: bool = True, seed: int = 0
) -> None:
    """Check a type of features against the contract of `maxmargin.core.contract.features`.

    Products with weights, rows that are added to weights and lengths are those of the matrix, in
    double precision; nothing else of the weights is touched; compiled code gives what Python gives.

    Parameters
    ----------
    features : what ``of(X)`` of the type returned
    X : array or sparse matrix of shape (n_rows, n_columns)
        The rows that it should hold, of each of them no more than a few.
    added : array of shape (n_rows, n_columns), or None for X
        The rows that it should add to weights: R^-1 x, where it has a norm R of its own.
    compile : bool
        False leaves out compiled code.
    seed : of the weights that are drawn

    Raises
    ------
    AssertionError
        That says which function is wrong.

    Examples
    --------
    >>> from maxmargin.features import Dense
    >>> check_features(Dense.of(np.eye(3)), np.eye(3), compile=False)
    """
    x = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    a = x if added is None else np.asarray(added, dtype=np.float64)
    matrix = as_matrix(features, x.shape[1])
    held = matrix.toarray() if sp.issparse(matrix) else matrix
    _compare("as_matrix", held, x)
    _compare("squared_norms", squared_norms(features), (x * a).sum(axis=1))
    sizes = np.asarray(row_sizes(features))
    require(
        sizes.shape == (len(x),) and (sizes >= (x != 0.0).sum(axis=1)).all(),
        f"row_sizes must be how many numbers each row has, got {sizes}.",
    )
    for chosen in (_plain, compiled) if compile else (_plain,):

        def call(function: Any, chosen: Any = chosen) -> Any:
            return chosen(function.implementations[(type(features),)])

        make_ready(features, np.arange(len(x)))
        _check_products(features, x, a, call, np.random.default_rng(seed))
        _check_sums(features, a, call, np.random.default_rng(seed))


def _plain(function: Any) -> Any:
    return function


def _check_products(
    features: Any, x: np.ndarray, a: np.ndarray, call: Any, rng: np.random.Generator
) -> None:
    n, d = x.shape
    W = rng.normal(size=(d + 1, 3))  # a row more than there are features, as for a bias
    scores = rng.normal(size=(n, 3))
    expected = scores + 0.5 * x @ W[:d]
    call(add_scores)(features, 0, n, 0.5, W, scores)
    _compare("add_scores", scores, expected)
    labels = np.array([[0, 1, 2], [2, 0, 1]])
    for row in range(n):
        few = np.zeros(2)
        call(score_few)(features, row, labels, 1, 2, W, few)
        _compare("score_few", few, (x[row] @ W[:d])[[2, 0]])
        product = call(row_product)(features, row, n - 1)
        _compare("row_product", product, x[row] @ a[n - 1])
    own = np.zeros(n - 1)
    call(score_rows)(features, 1, n - 1, -2.0, np.ascontiguousarray(W[:, 0]), own)
    _compare("score_rows", own, -2.0 * x[1:] @ W[:d, 0])


def _check_sums(features: Any, x: np.ndarray, call: Any, rng: np.random.Generator) -> None:
    n, d = x.shape
    for row in range(n):
        W = rng.normal(size=(d + 1, 3))
        expected = W.copy()
        expected[:d, 1] += 0.5 * x[row]
        call(add_row)(features, row, 1, 0.5, W)
        _compare("add_row", W, expected)
        mass = rng.normal(size=3)
        expected[:d] += -2.0 * np.outer(x[row], mass)
        call(add_outer)(features, row, mass, -2.0, W)
        _compare("add_outer", W, expected)
        cells, weights = np.array([7, -3, 0], dtype=np.int32), rng.normal(size=3)
        expected[:d, [2, 0]] += 0.5 * np.outer(x[row], [-weights[2], weights[0]])
        if (type(features),) in add_columns.implementations:  # type: ignore[attr-defined]
            call(add_columns)(features, row, cells, 1, 2, 0.5, weights, W)
        else:
            add_columns(features, row, cells, 1, 2, 0.5, weights, W)
        _compare("add_columns", W, expected)
        cleared = np.zeros((d + 1, 3))
        call(add_row)(features, row, 2, 1.0, cleared)
        call(clear_row)(features, row, 2, cleared)
        _compare("clear_row after add_row", cleared, np.zeros((d + 1, 3)))
    w, weights = rng.normal(size=d + 1), rng.normal(size=n - 1)
    total = w + np.append(weights @ x[1:], 0.0)
    call(add_combination)(features, 1, weights, w)
    _compare("add_combination", w, total)


def _compare(name: str, got: Any, expected: Any) -> None:
    require(
        np.allclose(got, expected, rtol=1e-9, atol=1e-9),
        f"{name} must give {np.asarray(expected).tolist()}, got {np.asarray(got).tolist()}.",
    )
