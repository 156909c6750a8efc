"""Inference on parses: microseconds per sentence at 10, 25, 50 and 100 words.

Normal scores, one thread, CPU seconds with the call from Python. The peer is a prototype that was
measured on another machine: so goals are about ratios to Eisner's algorithm on the same scores,
which should be within 1.3 times the prototype's. Trees that need not be projective stand beside
ufal.chu_liu_edmonds where it is installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from harness import Check, Line

from maxmargin.inference.parse.projective import (
    best_k_projective,
    best_projective,
    chart_room,
    projective_profile,
    tree_levels_room,
    tree_lists_room,
    tree_marginals,
    tree_sums_room,
)
from maxmargin.inference.parse.spanning import (
    best_k_spanning,
    best_spanning,
    contraction_room,
    reduction_room,
    spanning_lists_room,
    spanning_marginals,
)

NONE = np.zeros((0, 0, 0))
SIZES = (10, 25, 50, 100)
#: Microseconds of a prototype on another machine, by which ratios are compared.
KNOWN: dict[str, tuple[float | None, ...]] = {
    "Eisner": (2.5, 15, 86, 716),
    "4 best": (43, 102, 241, 1010),
    "16 best": (129, 243, 431, 1270),
    "marginals": (6, 33, 203, 1790),
    "siblings": (2.5, 20, 182, 3950),
    "profile": (14, 388, 5850, None),
    "any tree": (1.5, 2.8, 8.5, 27),
    "any tree, one root": (2.2, 5.6, 18, 62),
    "any tree, 4 best": (20, 72, 260, 1370),
    "any tree, 16 best": (95, 298, 1200, 6050),
    "any tree, marginals": (4.9, 20, 119, 728),
}


def lines() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    for at, n in enumerate(SIZES):
        scores = [rng.normal(size=(n + 1, n + 1)) for _ in range(8)]
        found = {name: _microseconds(call, scores, n) for name, call in _calls(n, rng).items()}
        base, known = found["Eisner"], KNOWN["Eisner"][at]
        for name, own in found.items():
            peer = KNOWN[name][at]
            if peer is None or known is None:
                continue
            checks = []
            if name != "Eisner":
                checks = [
                    Check(
                        "ratio to Eisner, beside the prototype's",
                        own / base / (peer / known),
                        "<=",
                        1.3,
                    )
                ]
            yield Line(
                f"{name}, {n} words: microseconds, beside the prototype's", own, peer, unit="us",
                checks=checks, note=f"{own / base:.2f} Eisner runs; prototype {peer / known:.2f}.",
                facts={"name": name, "n": n, "us": own},
            )  # fmt: skip
        yield from _beside_ufal(n, scores, found["any tree"])


def _calls(n: int, rng: np.random.Generator) -> dict[str, Callable[[np.ndarray], Any]]:
    heads, arcs = np.zeros(n, dtype=np.int32), np.zeros((n + 1, n + 1))
    siblings, truth = rng.normal(size=(n + 1,) * 3), (np.arange(n), np.arange(1, n + 1))
    chart, sums, levels = chart_room(n), tree_sums_room(n), tree_levels_room(min(n, 50))
    room, states, totals = contraction_room(n), reduction_room(n), np.zeros(max(n + 1, 16))
    lists = {k: tree_lists_room(n, k) for k in (4, 16)}
    others = {k: spanning_lists_room(n, k) for k in (4, 16)}
    trees = np.zeros((16, n), dtype=np.int32)
    right = np.full((n + 1, n + 1), -np.inf)
    right[truth] = 0.0

    def profile(scores: np.ndarray) -> Any:
        wrong = scores.copy()
        wrong[truth] = -np.inf
        return projective_profile(right, wrong, 0, n, levels, totals)

    calls: dict[str, Callable[[np.ndarray], Any]] = {
        "Eisner": lambda s: best_projective(s, NONE, 0, chart, heads),
        "4 best": lambda s: best_k_projective(s, NONE, 0, 4, lists[4], trees, totals),
        "16 best": lambda s: best_k_projective(s, NONE, 0, 16, lists[16], trees, totals),
        "marginals": lambda s: tree_marginals(s, NONE, 0, 1.0, sums, arcs, NONE),
        "siblings": lambda s: best_projective(s, siblings, 0, chart, heads),
        "any tree": lambda s: best_spanning(s, 1, room, heads),
        "any tree, one root": lambda s: best_spanning(s, 0, room, heads),
        "any tree, 4 best": lambda s: best_k_spanning(s, 0, 4, others[4], trees, totals),
        "any tree, 16 best": lambda s: best_k_spanning(s, 0, 16, others[16], trees, totals),
        "any tree, marginals": lambda s: spanning_marginals(s, 0, 1.0, states, arcs),
    }
    if n <= 50:
        calls["profile"] = profile
    return calls


def _microseconds(call: Callable[[np.ndarray], Any], scores: list[np.ndarray], n: int) -> float:
    """Return the least mean of some rounds, each of a hundredth of a second or more."""
    call(scores[0])
    start = time.process_time()
    call(scores[0])
    repeats = int(np.clip(0.02 / max(time.process_time() - start, 1e-6), 2, 2000))
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        for k in range(repeats):
            call(scores[k % len(scores)])
        best = min(best, (time.process_time() - start) / repeats)
    return 1e6 * best


def _beside_ufal(n: int, scores: list[np.ndarray], ours: float) -> Iterator[Line]:
    try:
        from ufal.chu_liu_edmonds import chu_liu_edmonds
    except ImportError:
        return
    # Its rows are words, its columns heads; NaN where there is no arc.
    theirs = [np.where(np.eye(n + 1, dtype=bool), np.nan, s.T) for s in scores]
    for matrix in theirs:
        matrix[0] = np.nan
    peer = _microseconds(chu_liu_edmonds, theirs, n)
    yield Line(
        f"any tree, {n} words: microseconds, beside ufal.chu_liu_edmonds", ours, peer, unit="us",
        checks=[Check("times faster", peer / ours, ">=", 3.0)],
        facts={"name": "ufal", "n": n, "us": peer},
    )  # fmt: skip
