"""Gram matrices: computed on demand, within a limit, and refused where they are none."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from maxmargin.core.contract import make_ready, most_ready, times_gram
from maxmargin.features import GramRows, as_features, gram
from maxmargin.features.kernels import (
    KERNELS,
    CallableKernel,
    Linear,
    Poly,
    Precomputed,
    Rbf,
    as_kernel,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(12, 3))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_kernels_are_those_of_scikit_learn(X, form):
    rows, others = form(X), form(X[:5] + 1.0)
    gamma = 1.0 / (3 * X.var())
    cases = [
        (Linear(), lambda a, b: a @ b.T),
        (Rbf().bound(rows), lambda a, b: rbf_kernel(a, b, gamma)),
        (Poly(2, 0.5, 2.0), lambda a, b: polynomial_kernel(a, b, 2, 0.5, 2.0)),
    ]
    for kernel, expected in cases:
        assert np.allclose(kernel.gram(rows), expected(X, X))
        assert np.allclose(kernel.gram(others, rows), expected(X[:5] + 1.0, X))
        assert np.allclose(kernel.diagonal(rows), np.diag(expected(X, X)))


@pytest.mark.parametrize("n_slots", [1, 5, 12])
def test_rows_are_computed_when_asked_for_and_make_room(X, n_slots):
    K, rng = X @ X.T, np.random.default_rng(1)
    held = GramRows(X, Linear(), 8 * 12 * n_slots) if n_slots == 12 else None
    if held is None:
        with pytest.warns(UserWarning, match=f"holds {n_slots} of its columns"):
            held = GramRows(X, Linear(), 8 * 12 * n_slots)
    features = as_features(held)
    assert most_ready(features) == (0 if n_slots == 12 else n_slots)
    for _ in range(30):
        rows = rng.permutation(12)[: rng.integers(1, n_slots + 1)]
        make_ready(features, rows)
        assert np.allclose(features.rows.values[features.place[rows]], K[rows])
    B = rng.normal(size=(12, 2))
    assert np.allclose(times_gram(features, B), K @ B)
    B[0] += 1.0  # what was remembered of the old B is not taken for the new one
    assert np.allclose(times_gram(features, B), K @ B)
    again = pickle.loads(pickle.dumps(features))
    make_ready(again, rows)
    assert np.allclose(again.rows.values[again.place[rows]], K[rows])


def test_more_rows_than_fit_are_refused_with_the_bytes(X):
    with pytest.raises(ValueError, match=r"too small for one column.*12 rows, 96 bytes"):
        GramRows(X, Linear(), 95)
    with pytest.warns(UserWarning, match="computed again"):
        features = as_features(GramRows(X, Linear(), 200))
    with pytest.raises(ValueError, match="reads 3, which take 288 bytes"):
        make_ready(features, np.arange(3))


def test_a_matrix_goes_when_nobody_needs_it(X):
    before = len(gram._sources)
    features = as_features(GramRows(X, Linear(), 1e6))
    assert len(gram._sources) == before + 1
    del features
    gc.collect()
    assert len(gram._sources) == before


def test_matrices_that_are_no_gram_matrices_are_refused(X):
    K = X @ X.T
    for wrong, message in [
        (K[:5], r"square matrix of products.*got shape \(5, 12\)"),
        (np.where(np.eye(12), np.nan, K), "nan for the rows 0 and 0"),
        (K + np.triu(np.ones((12, 12)), 1), "not symmetric: the product of the rows"),
        (K - 50 * np.eye(12), "not positive: of 12 rows its Gram matrix has the eigenvalue -"),
    ]:
        with pytest.raises(ValueError, match=message):
            Precomputed().bound(wrong)
    assert Precomputed().bound(K) == Precomputed()
    far = np.eye(1500)
    far[1499, 3] = 0.5  # outside any sample of rows
    with pytest.raises(ValueError, match="not symmetric: the product of the rows"):
        Precomputed().bound(far)


def test_functions_that_are_no_kernels_are_refused(X):
    for function, message in [
        (lambda A, B: np.full((len(A), len(B)), np.nan), "nan for the rows 0 and 0"),
        (lambda A, B: A @ B.T + np.arange(len(B)), "not symmetric"),
        (lambda A, B: -(A @ B.T), "not positive"),
        (lambda A, B: np.ones(3), "must have 12 x 12 products"),
    ]:
        with pytest.raises(ValueError, match=message):
            CallableKernel(function).bound(X)


def test_a_function_that_fails_on_some_rows_alone_is_refused_too():
    X = np.ones((300, 1))
    unseen = np.setdiff1d(np.arange(300), gram_sample(300))[0]
    X[unseen] = -1.0

    def function(A, B):
        return np.where((A < 0) | (B.T < 0), np.inf, 1.0)

    kernel = CallableKernel(function).bound(X)
    with pytest.raises(ValueError, match=rf"inf for the rows {unseen}"):
        GramRows(X, kernel, 1e6)


def gram_sample(n):
    from maxmargin.features.kernels.checks import sample_of

    return sample_of(n)


def test_kernels_go_by_name_and_their_parameters_are_checked():
    assert [as_kernel(name).takes for name in KERNELS] == [
        "rows", "rows", "rows", "gram", "strings",
    ]  # fmt: skip
    for make, message in [
        (lambda: Rbf(0.0), "gamma must be 'scale' or a finite number > 0, got 0.0"),
        (lambda: Rbf("wide"), "gamma must be 'scale'"),
        (lambda: Poly(0), "degree must be an integer >= 1, got 0"),
        (lambda: Poly(2, coef0=-1.0), "coef0 must be a finite number >= 0, got -1.0"),
        (lambda: as_kernel("cosine"), "kernel='cosine' is not known. There are: 'linear'"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
    for value in (3, Rbf):
        with pytest.raises(TypeError, match="kernel must be"):
            as_kernel(value)
    assert Rbf().bound(np.ones((3, 2))).gamma == 1.0
