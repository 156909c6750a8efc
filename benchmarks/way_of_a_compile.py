"""The way of a compiler: what the first fit of an estimator compiles, and where its seconds go.

    python benchmarks/way_of_a_compile.py graphs
    python benchmarks/way_of_a_compile.py relaxed --most 40

A cache of its own is empty. CPU seconds of each function by numba's events: its own, and with what
it calls. Whole seconds of optimising are those of LLVM's passes over modules.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections import defaultdict
from typing import Any

import numba
from llvmlite.binding import newpassmanagers
from numba.core import event
from numba.core.event import Listener

#: What is fitted.
KINDS = ("chain", "trees", "graphs", "relaxed")


class Seconds(Listener):  # type: ignore[misc]
    """A listener to numba's events: CPU seconds by function."""

    def __init__(self) -> None:
        self.open: list[list[float]] = []
        self.own: dict[str, float] = defaultdict(float)
        self.whole: dict[str, float] = defaultdict(float)
        self.times: dict[str, int] = defaultdict(int)

    def on_start(self, event: Any) -> None:
        self.open.append([time.process_time(), 0.0])

    def on_end(self, event: Any) -> None:
        start, inner = self.open.pop()
        seconds = time.process_time() - start
        if self.open:
            self.open[-1][1] += seconds
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}".removeprefix("maxmargin.")
        self.own[name] += seconds - inner
        self.whole[name] += seconds
        self.times[name] += 1


def fit(kind: str) -> None:
    """Fit and predict what compile_time.py does."""
    import numpy as np

    from maxmargin import ChainSVM, GraphSVM, TreeSVM

    rng = np.random.default_rng(0)
    rows, labels = rng.random((80, 5)), rng.integers(0, 3, 80)
    edges = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])[: 3 if kind == "trees" else 4]
    X: list[Any] = [(rows[k : k + 4], edges) for k in range(0, 80, 4)]
    models = {
        "chain": lambda: ChainSVM(random_state=0),
        "trees": lambda: TreeSVM(random_state=0),
        "graphs": lambda: GraphSVM(random_state=0),
        "relaxed": lambda: GraphSVM(training="relaxed", random_state=0),
    }
    X = [own for own, _ in X] if kind == "chain" else X
    models[kind]().fit(X, list(labels.reshape(20, 4))).predict(X)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--most", type=int, default=25, help="lines of functions")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        numba.config.CACHE_DIR = folder
        heard, optimising = Seconds(), [0.0]
        run = newpassmanagers.ModulePassManager.run

        def timed(*arguments: Any) -> Any:
            start = time.process_time()
            try:
                return run(*arguments)
            finally:
                optimising[0] += time.process_time() - start

        newpassmanagers.ModulePassManager.run = timed
        event.register("numba:compile", heard)
        start = time.process_time()
        fit(options.kind)
        spent = time.process_time() - start
    compiling = sum(heard.own.values())
    print(
        f"{options.kind}: {spent:.1f} CPU s, {compiling:.1f} of them compiling {len(heard.own)} "
        f"functions, {optimising[0]:.1f} of these in passes over modules"
    )
    print("  own  with callees  times")
    for name in sorted(heard.own, key=lambda name: -heard.own[name])[: options.most]:
        print(f"{heard.own[name]:5.2f} {heard.whole[name]:8.2f} {heard.times[name]:10d}  {name}")


if __name__ == "__main__":
    main()
