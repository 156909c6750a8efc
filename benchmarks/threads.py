"""Two threads for the batch solver: wall-clock seconds, and results that do not differ by a bit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from statistics import median

import numpy as np
from harness import Check, Line, cpu_seconds
from words import encodings, warm_up

from maxmargin import ChainSVM
from maxmargin.datasets import load_ocr

PASSES = 40
REPEATS = 3


def lines() -> Iterator[Line]:
    data = load_ocr("large")
    X = encodings(data.X_train)["CSR"]
    warm_up({"CSR": X}, data, solvers=("one_slack",))
    seconds: dict[int, list[float]] = {1: [], 2: []}
    ideal, weights = [], {}
    # Alternately, so that a busy spell of the machine strikes both.
    for _ in range(REPEATS):
        for n_jobs in seconds:
            tagger = ChainSVM(solver="one_slack", max_iter=PASSES, n_jobs=n_jobs)
            own = time.thread_time()
            total, _ = cpu_seconds(lambda tagger=tagger: tagger.fit(X, data.y_train))
            own = time.thread_time() - own
            # Of the passes alone: reading the words is done by one thread.
            seconds[n_jobs].append(tagger.result_.seconds)
            weights[n_jobs] = tagger.result_.w
            if n_jobs == 2:
                ideal.append(total / (own + (total - own) / 2))
    one, two = (median(seconds[n_jobs]) for n_jobs in (1, 2))
    yield Line(
        f"words, large split: {PASSES} passes of one-slack on two threads, beside one (wall clock)",
        two,
        one,
        checks=[
            Check("times faster", one / two, ">=", 1.6),
            Check("bits that differ", float(differing_bits(weights[1], weights[2])), "==", 0.0),
        ],
        note=f"CSR; median of {REPEATS} runs each, taken in turn; {os.cpu_count()} cores, load at "
        f"the end {os.getloadavg()[0]:.1f}. By the CPU seconds of the threads, the whole of `fit` "
        f"would be {median(ideal):.2f} times faster on two idle cores.",
        facts={"one": seconds[1], "two": seconds[2], "times faster by CPU seconds": ideal},
    )


def differing_bits(first: np.ndarray, second: np.ndarray) -> int:
    changed = first.view(np.uint64) ^ second.view(np.uint64)
    return int(np.unpackbits(changed.view(np.uint8)).sum())
