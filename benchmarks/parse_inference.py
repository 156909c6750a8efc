"""Inference on parses: microseconds per sentence at 10, 25, 50 and 100 words.

Normal scores, one thread, CPU seconds of calls from compiled code, as passes and predictions make
them. The peer is a prototype that was measured on another machine; times should be within 1.3 times
the prototype's. How many runs of Eisner's algorithm on the same scores a time is worth stands in
the note: that depends on the machine less, but also on how fast Eisner's algorithm is. Calls from
Python stand beside packages. Trees that need not be projective stand beside ufal.chu_liu_edmonds,
once by the kernel and once by `parse.maximize`, which also reads and checks its input; what a
compiled call that does nothing takes says how much of that could be saved. Batches of 32 sentences
in one call are for those to whom that is much: by the kernel, and by `parse.maximize_batch`, which
also reads and checks its input. Projective trees, and marginals of any trees, stand beside
torch-struct on the CPU, one a call beside one a call, and batches of 32 beside batches of 32, ours
by `parse.maximize_batch` and `parse.marginals_batch` with all checks. Both packages are optional
(torch-struct 0.5 needs a patch with torch 2, which is made here).

Marginals by logarithms are what a temperature of .0001 asks for: its exponentials overflow. (Those
of projective trees take sums relative to the best part of each item since, and no logarithm.) The
time holds the first try, by exponentials, too; what a temperature of .01 takes, where most splits
weigh something, is a line without a peer.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numba
import numpy as np
from harness import Check, Line

from maxmargin.core.compile import kernel
from maxmargin.inference import parse
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
    best_spanning_batch,
    best_spanning_once,
    contraction_room,
    reduction_room,
    spanning_lists_room,
    spanning_marginals,
)

#: Calls on scores of sentences, so many times.
Work = Callable[[Any, int], Any]

NONE = np.zeros((0, 0, 0))
SIZES = (10, 25, 50, 100)
COLD, COOL = 1e-4, 1e-2  # temperatures
BATCH = 32
#: Microseconds of a prototype on another machine.
KNOWN: dict[str, tuple[float | None, ...]] = {
    "Eisner": (2.5, 15, 86, 716),
    "4 best": (43, 102, 241, 1010),
    "16 best": (129, 243, 431, 1270),
    "marginals": (6, 33, 203, 1790),
    "marginals by logarithms": (11, 141, 1100, 8470),
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
        scores = rng.normal(size=(8, n + 1, n + 1))
        found = {name: _microseconds(work, scores) for name, work in _calls(n, rng).items()}
        base, known = found["Eisner"], KNOWN["Eisner"][at]
        for name, own in found.items():
            peer = KNOWN.get(name, (None,) * 4)[at]
            note, exp = "", name.removesuffix(" by logarithms")
            if exp != name:
                note = f" {own / found[exp]:.1f} times those by exponentials."
            if peer is None and (exp != name or name == "marginals, cool"):
                yield Line(f"{name}, {n} words: microseconds", own, unit="us", note=note)
            if peer is None or known is None:
                continue
            yield Line(
                f"{name}, {n} words: microseconds, beside the prototype's", own, peer, unit="us",
                checks=[Check("times the prototype's", own / peer, "<=", 1.3)],
                note=f"{own / base:.2f} Eisner runs; prototype {peer / known:.2f}.{note}",
                facts={"name": name, "n": n, "us": own},
            )  # fmt: skip
        batches = _in_batches(n, scores)
        yield from _beside_ufal(n, scores, found, batches)
        yield from _beside_torch_struct(n, scores, found, batches)


def _calls(n: int, rng: np.random.Generator) -> dict[str, Work]:
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

    calls = {
        "Eisner": (best_projective, (NONE, 0, chart, heads)),
        "4 best": (best_k_projective, (NONE, 0, 4, lists[4], trees, totals)),
        "16 best": (best_k_projective, (NONE, 0, 16, lists[16], trees, totals)),
        "marginals": (tree_marginals, (NONE, 0, 1.0, sums, arcs, NONE)),
        "marginals by logarithms": (tree_marginals, (NONE, 0, COLD, sums, arcs, NONE)),
        "marginals, cool": (tree_marginals, (NONE, 0, COOL, sums, arcs, NONE)),
        "siblings": (best_projective, (siblings, 0, chart, heads)),
        "any tree": (best_spanning, (1, room, heads)),
        "any tree, one root": (best_spanning, (0, room, heads)),
        "any tree, 4 best": (best_k_spanning, (0, 4, others[4], trees, totals)),
        "any tree, 16 best": (best_k_spanning, (0, 16, others[16], trees, totals)),
        "any tree, marginals": (spanning_marginals, (0, 1.0, states, arcs)),
        "any tree, marginals by logarithms": (spanning_marginals, (0, COLD, states, arcs)),
    }
    works = {name: partial(_looped(function), given) for name, (function, given) in calls.items()}
    if n <= 50:
        works["profile"] = _from_python(profile)
    works["any tree, from Python"] = _from_python(lambda s: best_spanning_once(s, 1, heads))
    works["any tree, maximize"] = _from_python(
        lambda s: parse.maximize(s, projective=False, one_root=False)
    )
    works["nothing, from Python"] = _from_python(lambda s: _nothing(s, 1, heads))
    works["Eisner, from Python"] = _from_python(lambda s: best_projective(s, NONE, 0, chart, heads))
    works["marginals, from Python"] = _from_python(
        lambda s: tree_marginals(s, NONE, 0, 1.0, sums, arcs, NONE)
    )
    works["any tree, marginals, from Python"] = _from_python(
        lambda s: spanning_marginals(s, 0, 1.0, states, arcs)
    )
    return works


def _in_batches(n: int, scores: np.ndarray) -> dict[str, float]:
    """Return microseconds per sentence of calls for batches."""
    batch = np.array([scores[k % len(scores)] for k in range(BATCH)])
    lengths, totals = np.full(BATCH, n), np.zeros(BATCH)
    heads = np.zeros((BATCH, n), dtype=np.int32)
    works = {
        "Eisner": lambda: parse.maximize_batch(batch),
        "marginals": lambda: parse.marginals_batch(batch),
        "any tree, marginals": lambda: parse.marginals_batch(batch, projective=False),
        "any tree": lambda: best_spanning_batch(batch, lengths, 1, heads, totals),
        "any tree, maximize": lambda: parse.maximize_batch(
            batch, projective=False, one_root=False
        ),
    }  # fmt: skip
    return {
        name: _microseconds(_from_python(lambda _, call=call: call()), scores) / BATCH
        for name, call in works.items()
    }


@kernel
def _nothing(scores, many, heads):
    """Return at once: what a call from Python takes."""
    return 0.0


@functools.cache
def _looped(function: Any) -> Work:
    """Return a compiled loop over calls of a kernel, as passes and predictions make them."""

    @numba.njit(error_model="numpy")
    def run(given, stack, repeats):
        for k in range(repeats):
            function(stack[k % len(stack)], *given)

    return run


def _from_python(call: Callable[[np.ndarray], Any]) -> Work:
    """Return a loop over calls from Python."""

    def run(stack: Any, repeats: int) -> None:
        for k in range(repeats):
            call(stack[k % len(stack)])

    return run


def _microseconds(work: Work, stack: Any) -> float:
    """Return the least mean of some rounds, each of a fiftieth of a second or more."""
    work(stack, 1)
    start = time.process_time()
    work(stack, 2)
    repeats = int(np.clip(0.04 / max(time.process_time() - start, 1e-6), 2, 5000))
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        work(stack, repeats)
        best = min(best, (time.process_time() - start) / repeats)
    return 1e6 * best


def _beside_ufal(
    n: int, scores: np.ndarray, found: dict[str, float], batches: dict[str, float]
) -> Iterator[Line]:
    try:
        from ufal.chu_liu_edmonds import chu_liu_edmonds
    except ImportError:
        return
    # Its rows are words, its columns heads; NaN where there is no arc.
    theirs = [np.where(np.eye(n + 1, dtype=bool), np.nan, s.T) for s in scores]
    for matrix in theirs:
        matrix[0] = np.nan
    peer, ours = (
        _microseconds(_from_python(chu_liu_edmonds), theirs),
        found["any tree, from Python"],
    )
    yield Line(
        f"any tree, {n} words: microseconds, beside ufal.chu_liu_edmonds", ours, peer, unit="us",
        checks=[Check("times faster", peer / ours, ">=", 3.0)],
        note=f"{found['nothing, from Python']:.2f} us of it are a compiled call that does nothing.",
        facts={"name": "ufal", "n": n, "us": peer},
    )  # fmt: skip
    yield Line(
        f"any tree by parse.maximize, {n} words: microseconds, beside ufal.chu_liu_edmonds",
        found["any tree, maximize"], peer, unit="us",
        facts={"name": "maximize", "n": n, "us": found["any tree, maximize"]},
    )  # fmt: skip
    ours = batches["any tree"]
    yield Line(
        f"any tree, {n} words, {BATCH} a call: microseconds per sentence, beside "
        "ufal.chu_liu_edmonds",
        ours, peer, unit="us", checks=[Check("times faster", peer / ours, ">=", 3.0)],
        facts={"name": "batch", "n": n, "us": ours},
    )  # fmt: skip
    yield Line(
        f"any tree by parse.maximize_batch, {n} words, {BATCH} a call: microseconds per sentence, "
        "beside ufal.chu_liu_edmonds",
        batches["any tree, maximize"], peer, unit="us",
        facts={"name": "maximize_batch", "n": n, "us": batches["any tree, maximize"]},
    )  # fmt: skip


def _beside_torch_struct(
    n: int, scores: np.ndarray, found: dict[str, float], batches: dict[str, float]
) -> Iterator[Line]:
    try:
        import torch
        from torch_struct import DependencyCRF, NonProjectiveDependencyCRF
        from torch_struct.deptree import DepTree
    except ImportError:
        return
    torch.set_num_threads(1)
    # It writes into what it has just made a leaf of the graph, which torch 2 refuses.
    DepTree._get_dimension = lambda self, edge: edge.shape
    # Root scores stand on its diagonal.
    own = [s[1:, 1:] * (1 - np.eye(n)) + np.diag(s[0, 1:]) for s in scores]

    def peer(kind: Any, name: str, batch: Any) -> Callable[[Any], Any]:
        return lambda _: getattr(kind(batch, multiroot=False), name)

    # One sentence a call, and 32, which theirs is made for.
    for size, how in ((1, "one a call"), (BATCH, f"{BATCH} a call")):
        batch = torch.tensor(np.array([own[k % len(own)] for k in range(size)]))
        batch = batch.to(torch.float32)
        for name, kind, what in (
            ("Eisner", DependencyCRF, "argmax"),
            ("marginals", DependencyCRF, "marginals"),
            ("any tree, marginals", NonProjectiveDependencyCRF, "marginals"),
        ):
            theirs = _microseconds(_from_python(peer(kind, what, batch)), scores) / size
            ours = found[f"{name}, from Python"] if size == 1 else batches[name]
            # The goal is for projective trees; any trees are a determinant in both.
            goal = [Check("times faster", theirs / ours, ">=", 50.0)]
            yield Line(
                f"{name}, {n} words: microseconds per sentence, beside torch-struct, {how}", ours,
                theirs, unit="us", checks=goal if kind is DependencyCRF else [],
                facts={"name": f"torch-struct, {name}, {how}", "n": n, "us": theirs},
            )  # fmt: skip
