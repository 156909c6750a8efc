"""Gram matrices: computed on demand, within a limit, and refused where they are none."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from maxmargin.core.contract import make_ready, most_ready, share_of_rounding, times_gram
from maxmargin.features import GramRows, as_features, gram
from maxmargin.features.kernels import (
    KERNELS,
    CallableKernel,
    Linear,
    Poly,
    Precomputed,
    Rbf,
    as_kernel,
    precomputed,
)
from maxmargin.testing import tiny_problem


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
        (1.9 * np.eye(12) - 0.9, "not positive: of 12 rows its Gram matrix has the eigenvalue -"),
        (K - 50 * np.eye(12), "X, its diagonal, is -49.* for row 0.* least eigenvalue -50"),
        (-K, "X, its diagonal, is -.* Of 12 rows with these .* least eigenvalue -"),
        (1.0 - np.eye(2), "product of the rows 0 and 1 is 1, but .* least eigenvalue -1"),
    ]:
        with pytest.raises(ValueError, match=message):
            Precomputed().bound(wrong)
    assert Precomputed().bound(K) == Precomputed()
    far = np.eye(1500)
    far[1499, 3] = 0.5  # outside any sample of rows
    with pytest.raises(ValueError, match="not symmetric: the product of the rows"):
        Precomputed().bound(far)


@pytest.mark.parametrize("seed", range(3))
def test_products_in_single_precision_may_be_as_far_off_as_that_is(seed):
    Z = np.random.default_rng(seed).normal(size=(300, 10)).astype(np.float32)
    K = Z @ Z.T
    assert K.dtype == np.float32 and np.linalg.eigvalsh(K.astype(np.float64))[0] < -1e-6
    assert Precomputed().bound(K) == Precomputed()
    with pytest.raises(ValueError, match="not positive"):
        Precomputed().bound(K - np.float32(1e-2) * np.eye(300, dtype=np.float32))
    part = CallableKernel(lambda A, B: A @ B.T)
    assert part.bound(Z) is part
    held = [GramRows(Z, part, 1e6), GramRows(K, Precomputed(), 1e6), GramRows(Z, Linear(), 1e6)]
    for each in held:
        each.make_ready(np.arange(300))
        assert each._values.dtype == np.float64
    assert share_of_rounding(as_features(held[0])) == share_of_rounding(as_features(held[1])) > 1e-6
    assert share_of_rounding(as_features(held[2])) == 1e-8


@pytest.mark.parametrize("all_is_tried", [True, False])
def test_what_is_no_gram_matrix_outside_the_sample_is_refused(all_is_tried, monkeypatch):
    if not all_is_tried:
        monkeypatch.setattr(precomputed, "MOST_FACTORED", 0)
    i, j = np.setdiff1d(np.arange(400), gram_sample(400))[:2]
    rows = np.random.default_rng(0).normal(size=(400, 3))
    good = rows @ rows.T  # of rank 3: 397 eigenvalues are 0 and some rounding
    assert Precomputed().bound(good) == Precomputed().bound(np.zeros((400, 400)))
    below, large, hidden = (good + np.eye(400) for _ in range(3))
    below[j, j] = -1.0
    with pytest.raises(ValueError, match=rf"diagonal, is -1 for row {j}: .* Of 201 rows .* -2"):
        Precomputed().bound(below)
    large[i, j] = large[j, i] = 200.0
    with pytest.raises(ValueError, match=rf"not positive: the product of the rows {i} and {j} is"):
        Precomputed().bound(large)
    hidden[i, j] = hidden[j, i] = 0.99 * np.sqrt(hidden[i, i] * hidden[j, j])
    assert np.linalg.eigvalsh(hidden)[0] < -0.1  # though each pair of rows is as it may be
    if all_is_tried:
        with pytest.raises(ValueError, match="of 400 rows its Gram matrix has the eigenvalue -"):
            Precomputed().bound(hidden)


def test_lengths_are_checked_of_columns_as_they_are_computed():
    i, j = np.setdiff1d(np.arange(300), gram_sample(300))[:2]
    X = np.arange(300.0)[:, None]

    def wrong(A, B):
        pair = ((i == A) & (j == B.T)) | ((j == A) & (i == B.T))
        return (A == B.T) + 1.5 * pair

    kernel = CallableKernel(wrong).bound(X)
    whole = GramRows(X, kernel, 1e6)
    with pytest.warns(UserWarning, match=r"takes 0\.72 MB; cache_size=0\.024 MB holds 10"):
        part = GramRows(X, kernel, 8 * 300 * 10)
    part.make_ready(np.array([0]))
    for held in (whole, part):
        with pytest.raises(ValueError, match=f"of the rows {i} and {j} is 1.5, but .* -0.5"):
            held.make_ready(np.array([i]))


def test_a_length_below_zero_is_refused_where_it_turns_up():
    """No pair of rows tells, and no row of the sample: only w.Kw does."""
    problem = tiny_problem("multiclass", features="gram", compile=False)
    held = gram._sources[problem.kernel.features.source]
    held.make_ready(np.arange(len(held)))
    values, vectors = np.linalg.eigh(held._values)
    first, width = problem.kernel.blocks[0]
    w = np.zeros(problem.n_weights)
    w[first : first + len(held) * width : width] = vectors[:, 0]
    held._values -= (values[0] + 1e-12) * np.outer(vectors[:, 0], vectors[:, 0])
    assert problem.length(w) == 0.0  # rounding
    held._products.clear()
    held._values -= 0.5 * np.outer(vectors[:, 0], vectors[:, 0])
    for look in (problem.length, problem.primal):
        with pytest.raises(ValueError, match=r"kernel is not positive: .* w\.Kw, is -0\.5"):
            look(w)


def test_functions_that_are_no_kernels_are_refused(X):
    for function, message in [
        (lambda A, B: np.full((len(A), len(B)), np.nan), "nan for the rows 0 and 0"),
        (lambda A, B: A @ B.T + np.arange(len(B)), "not symmetric"),
        (lambda A, B: -(A @ B.T), "not positive"),
        (lambda A, B: np.ones(3), r"here of shape \(12, 12\), but it returned shape \(3,\)"),
        (lambda A, B: float(A @ B), r"kernel=<lambda> is called with many rows A and .*\(12, 12\), "
                                    "but it failed: matmul"),
        (lambda A: A, "matrix of the products .* but it failed: .*takes 1 positional argument"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            CallableKernel(function).bound(X)


def test_a_function_that_fails_on_some_rows_alone_is_refused_too():
    X = np.ones((300, 1))
    unseen = np.setdiff1d(np.arange(300), gram_sample(300))[0]
    X[unseen] = -1.0

    def function(A, B):
        return np.where((A < 0) | (B.T < 0), np.inf, 1.0)

    kernel = CallableKernel(function).bound(X)
    with pytest.raises(ValueError, match=rf"K\(x, x\) is inf for row {unseen}"):
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
    for kernel, rows in [
        (Rbf(), np.array([[1e200], [0.0]])),
        (Poly(), np.array([[1e-160], [0.0]])),
        (Rbf(), sp.csr_matrix([[1e200], [0.0]])),
    ]:
        with pytest.raises(ValueError, match=r"but their variance is .* or give gamma a number"):
            kernel.bound(rows)
