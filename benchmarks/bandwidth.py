"""How far a pass is from reading its features once.

Nothing can be faster than the memory that holds the features. Beside it stand the product X W alone
by BLAS, and the passes of solvers, which besides that product find the best sequence (26 x 26 sums
a letter), and change the weights.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import Line, cpu_seconds
from words import encodings, warm_up

from maxmargin import ChainSVM
from maxmargin.datasets import load_ocr
from maxmargin.solvers import BlockFrankWolfe, Perceptron

PASSES = 20


def lines() -> Iterator[Line]:
    data = load_ocr("large")
    inputs = encodings(data.X_train)
    solvers = {
        "averaged perceptron": Perceptron(),
        "bcfw, no cache": BlockFrankWolfe(cache=0, average=False),
        "bcfw, default": BlockFrankWolfe(),
    }
    warm_up(inputs, data)
    bandwidth = read_bandwidth()
    for kind, X in inputs.items():
        stacked: Any = np.concatenate(X) if kind == "dense" else sp.vstack(X, format="csr")
        reading = n_bytes(stacked) / bandwidth
        multiplying = product_seconds(stacked)
        for name, solver in solvers.items():
            ours = pass_seconds(solver, X, data.y_train)
            yield Line(
                f"words, large split, {kind}: a pass of {name}, beside reading its features once",
                1e3 * ours,
                1e3 * reading,
                unit="ms",
                note=f"{n_bytes(stacked) / 1e6:.1f} MB of features at {bandwidth / 1e9:.1f} GB/s; "
                f"their product with W alone takes numpy or scipy {1e3 * multiplying:.1f} ms; a "
                f"pass is {1e6 * ours / len(X):.1f} us per word.",
                facts={"bytes": n_bytes(stacked), "bandwidth": bandwidth, "product": multiplying},
            )


def n_bytes(X: Any) -> int:
    if not sp.issparse(X):
        return int(X.nbytes)
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def read_bandwidth() -> float:
    """Return the bytes per second at which one thread sums a large array."""
    cells = np.ones(32_000_000)
    seconds = []
    for _ in range(7):
        start = time.process_time()
        cells.dot(cells)  # one array, read once: both operands are the same cells
        seconds.append(time.process_time() - start)
    return float(cells.nbytes / median(seconds))


def product_seconds(X: Any) -> float:
    W = np.random.default_rng(0).random((X.shape[1], 26))
    return median(cpu_seconds(lambda: X @ W)[0] for _ in range(7))


def pass_seconds(solver: Any, X: list[Any], Y: list[np.ndarray]) -> float:
    """Return the median CPU seconds of the passes that are not followed by a certificate."""
    clock, plain = [], []

    def note(event: Any) -> None:
        clock.append(time.process_time())
        if len(clock) > 1 and np.isnan(event.record.primal):
            plain.append(clock[-1] - clock[-2])

    tagger = ChainSVM(solver=solver, max_iter=PASSES, tol=0.0, random_state=0)
    cpu_seconds(lambda: tagger.fit(X, Y, callbacks=[note]))
    return median(plain)
