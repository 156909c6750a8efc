"""Proteins as strings: explicit maps beside the subsequence kernel, by accuracy, time and memory.

The first level of EC numbers, 500 training proteins drawn once, and the newer proteins as test.
Every row is the same learner, scikit-learn's SVC on a Gram matrix, with C in {1, 10, 100} chosen by
five-fold cross-validation of the training part. Seconds are CPU seconds of the rows or the Gram
matrix; memory is that of the arrays which are kept. Explicit maps are also taken of all training
proteins, where the kernel is out of reach, and learnt by LinearSVC with the same choice of C.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import Check, Line, cpu_seconds
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, LinearSVC

from maxmargin.datasets import load_enzymes
from maxmargin.features.strings import (
    GappyFeatures,
    MismatchFeatures,
    SpectrumFeatures,
    SubsequenceKernel,
)

N_TRAIN, N_LETTERS, P = 500, 400, 4
GRID = {"C": [1.0, 10.0, 100.0]}
LIMIT_SECONDS = 600.0
LETTERS = "ACDEFGHIKLMNPQRSTVWY"

MAPS = {
    "3-mers": SpectrumFeatures(3, unknown="skip"),
    "1- to 4-mers": SpectrumFeatures(4, 1, unknown="skip"),
    "gappy, p = 4, window 6": GappyFeatures(4, 6, 0.5, unknown="skip"),
    "3-mers with a mismatch": MismatchFeatures(3, 1, unknown="skip"),
}


def lines() -> Iterator[Line]:
    yield drawn_strings()
    data = load_enzymes(levels=1)
    chosen = np.random.default_rng(0).permutation(len(data.X_train))[:N_TRAIN]
    X = [data.X_train[i] for i in chosen]
    y = np.array(data.y_train)[chosen]
    test = data.X_test, np.array(data.y_test)
    yield from on_few(X, y, *test)
    yield from on_all(data.X_train, np.array(data.y_train), *test)


def drawn_strings() -> Line:
    """The goal: 500 strings of 400 letters on two threads."""
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list(LETTERS), N_LETTERS)) for _ in range(N_TRAIN)]
    gram = SubsequenceKernel(P, 0.5, n_jobs=2)
    gram(strings[:2])  # compiled before the clock starts
    begin = time.perf_counter()
    seconds, _ = cpu_seconds(lambda: gram(strings))
    elapsed = time.perf_counter() - begin
    n_pairs = N_TRAIN * (N_TRAIN + 1) // 2
    return Line(
        f"subsequence kernel, p = {P}: {N_TRAIN} strings of {N_LETTERS} letters, two threads, "
        "wall clock",
        elapsed,
        checks=[Check("seconds", elapsed, "<=", LIMIT_SECONDS)],
        note=f"{1e3 * seconds / n_pairs:.2f} CPU ms a pair.",
        facts={"cpu seconds": seconds, "pairs": n_pairs},
    )


def on_few(X: list[str], y: Any, X_test: list[str], y_test: Any) -> Iterator[Line]:
    gram = SubsequenceKernel(P, 0.5)
    gram(X[:2])
    seconds, (K, K_test) = cpu_seconds(lambda: (gram.fit_transform(X), gram.transform(X_test)))
    of_kernel = accuracy(K, y, K_test, y_test), seconds, megabytes(K)
    yield line(f"subsequence kernel, p = {P}, decay .5", of_kernel, None, len(X), len(y_test))
    for name, features in MAPS.items():
        own, (rows, new) = cpu_seconds(
            lambda f=features: (f.fit_transform(X), f.transform(X_test))  # type: ignore[misc]
        )
        products = [(part @ rows.T).toarray() for part in (rows, new)]
        found = accuracy(products[0], y, products[1], y_test), own, megabytes(rows)
        yield line(name, found, of_kernel, len(X), len(y_test))


def on_all(X: list[str], y: Any, X_test: list[str], y_test: Any) -> Iterator[Line]:
    for name in ("3-mers", "1- to 4-mers", "gappy, p = 4, window 6"):
        features = MAPS[name]
        seconds, (rows, new) = cpu_seconds(
            lambda f=features: (f.fit_transform(X), f.transform(X_test))  # type: ignore[misc]
        )
        search = GridSearchCV(LinearSVC(), {"C": [0.1, 1.0, 10.0]}, cv=3)
        of_fit, search = cpu_seconds(lambda s=search, r=rows: s.fit(r, y))  # type: ignore[misc]
        score = float(search.score(new, y_test))
        yield Line(
            f"{name}, all {len(X)} training proteins: test accuracy",
            score,
            unit="",
            note=f"Rows in {seconds:.1f} s, {megabytes(rows):.0f} MB; LinearSVC, C by "
            f"cross-validation, {of_fit:.0f} s.",
            facts={"seconds": seconds, "MB": megabytes(rows), "C": search.best_params_["C"]},
        )


def accuracy(K: Any, y: Any, K_test: Any, y_test: Any) -> float:
    search = GridSearchCV(SVC(kernel="precomputed"), GRID, cv=5).fit(K, y)
    return float(search.score(K_test, y_test))


def line(name: str, found: Any, kernel: Any, n: int, n_test: int) -> Line:
    score, seconds, size = found
    error = (score * (1.0 - score) / n_test) ** 0.5
    return Line(
        f"{name}, {n} training proteins: test accuracy, beside the subsequence kernel",
        score,
        None if kernel is None else kernel[0],
        unit="",
        note=f"Standard error {error:.3f}. {seconds:.2f} CPU s, {size:.1f} MB.",
        facts={"seconds": seconds, "MB": size},
    )


def megabytes(rows: Any) -> float:
    if sp.issparse(rows):
        return (rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes) / 1e6
    return rows.nbytes / 1e6
