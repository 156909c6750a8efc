"""What compiling costs: the first fit ever, and the first of a process that finds a cache.

A copy of the package in a new folder has no cache, as after an installation. In a fresh process the
same small fit is made twice; the difference of their CPU seconds is what compiling, or reading the
cache, took.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import Check, Line
from subprocesses import SOURCE, ask

_CODE = """
import json, time, warnings
warnings.simplefilter("ignore")
import numpy as np
start = time.process_time()
import maxmargin
from maxmargin import ChainSVM, MulticlassSVM
imported = time.process_time() - start
rng = np.random.default_rng(0)
words = [rng.random((4, 5)) for _ in range(20)]
labels = [rng.integers(0, 3, 4) for _ in range(20)]
cases = {{
    "ChainSVM": (ChainSVM, words, labels),
    "MulticlassSVM": (MulticlassSVM, np.vstack(words), np.concatenate(labels)),
}}
make, X, Y = cases[{estimator!r}]

def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start

fits = [seconds(lambda: make(random_state=0).fit(X, Y)) for _ in range(2)]
machine = make(random_state=0).fit(X, Y)
predicts = [seconds(lambda: machine.predict(X)) for _ in range(2)]
print(json.dumps(dict(
    imported=imported, fits=fits, predicts=predicts, place=maxmargin.__file__,
)))
"""
_GOALS = {"cold": 6.0, "cached": 1.0}


def lines() -> Iterator[Line]:
    for estimator in ("ChainSVM", "MulticlassSVM"):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(
                SOURCE / "maxmargin",
                Path(folder) / "maxmargin",
                ignore=shutil.ignore_patterns("__pycache__"),
            )
            # First without, then with what the first left behind.
            for cache, goal in _GOALS.items():
                yield line_of(estimator, cache, goal, measure(estimator, Path(folder)))


def measure(estimator: str, folder: Path) -> dict[str, Any]:
    seen = ask(_CODE.format(estimator=estimator), folder)
    if Path(seen.pop("place")).resolve().parents[1] != folder.resolve():
        raise RuntimeError("The measured process imported another copy of maxmargin.")
    return seen


def line_of(estimator: str, cache: str, goal: float, seen: dict[str, Any]) -> Line:
    first, again = seen["fits"]
    predicting = seen["predicts"][0] - seen["predicts"][1]
    when = "the first fit ever" if cache == "cold" else "the first fit of a process, from the cache"
    return Line(
        f"{estimator}: compiling at {when}",
        first - again,
        checks=[Check("seconds", first - again, "<", goal)],
        note=f"The same fit again takes {again:.3f} s. Besides, importing maxmargin and what it "
        f"needs takes {seen['imported']:.2f} s (numpy already loaded), and the first `predict` "
        f"{predicting:.2f} s more than the second.",
        facts=seen,
    )
