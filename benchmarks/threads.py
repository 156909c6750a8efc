"""Two threads for the batch solver: wall-clock seconds, and results that do not differ by a bit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import numba
import numpy as np
from harness import Check, Line, cpu_seconds
from words import encodings, warm_up

from maxmargin import ChainSVM
from maxmargin.datasets import load_ocr
from maxmargin.inference.chain.public import best_path

PASSES = 40
REPEATS = 9


def lines() -> Iterator[Line]:
    data = load_ocr("large")
    X = encodings(data.X_train)["CSR"]
    warm_up({"CSR": X}, data, solvers=("one_slack",))
    seconds: dict[int, list[float]] = {1: [], 2: []}
    limits, weights = [], {}
    # Alternately, so that a busy spell of the machine strikes both.
    for _ in range(REPEATS):
        limits.append(limit())
        for n_jobs in seconds:
            tagger = ChainSVM(solver="one_slack", tol=0.0, max_iter=PASSES, n_jobs=n_jobs)
            cpu_seconds(lambda tagger=tagger: tagger.fit(X, data.y_train))
            # Of the passes alone: reading the words is done by one thread.
            seconds[n_jobs].append(tagger.result_.seconds)
            weights[n_jobs] = tagger.result_.w
    one, two = (min(seconds[n_jobs]) for n_jobs in (1, 2))
    yield Line(
        f"words, large split: {PASSES} passes of one-slack on two threads, beside one (wall clock)",
        two,
        one,
        checks=[
            Check("times faster", one / two, ">=", 1.6),
            Check("bits that differ", float(differing_bits(weights[1], weights[2])), "==", 0.0),
        ],
        note=f"CSR; the best of {REPEATS} runs each, taken in turn; {os.cpu_count()} cores, load "
        f"at the end {os.getloadavg()[0]:.1f}. Two threads that share nothing, each at Viterbi "
        f"searches of its own, were {min(limits):.2f} to {max(limits):.2f} times faster than one "
        f"in the same minutes, {median(limits):.2f} in the median: the limit of the machine.",
        facts={"one": seconds[1], "two": seconds[2], "limits": limits},
    )


def limit() -> float:
    """Return how many times faster two threads are that have nothing in common."""
    desks = [searches(seed) for seed in (0, 1)]
    for desk in desks:
        search(*desk, 10)
    with ThreadPoolExecutor(2) as pool:
        one = wall_seconds(lambda: [search(*desk, 100_000) for desk in desks])
        two = wall_seconds(lambda: list(pool.map(lambda desk: search(*desk, 100_000), desks)))
    return one / two


def searches(seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    shapes = ((8, 26), (26, 26), 26, 26)
    # A page each for what is written, so that no line of cache is shared.
    return (
        *(rng.standard_normal(shape) for shape in shapes),
        np.zeros((32, 26)),
        np.zeros(1024, "i4"),
    )


@numba.njit(nogil=True)
def search(unary, transitions, start, end, delta, path, n):
    total = 0.0
    for _ in range(n):
        total += best_path(unary, transitions, start, end, delta, path)
    return total


def wall_seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def differing_bits(first: np.ndarray, second: np.ndarray) -> int:
    changed = first.view(np.uint64) ^ second.view(np.uint64)
    return int(np.unpackbits(changed.view(np.uint8)).sum())
