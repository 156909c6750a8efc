"""One small fit, run in a process of its own by test_ahead.py, and how its code was got.

python -m tests.core.ahead_case build FOLDER LEVEL [STRUCTURE ...]
python -m tests.core.ahead_case use FOLDER|"" MODE [STRUCTURE ...]
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np

from maxmargin.core.ahead import Library, load
from maxmargin.core.compile import listen
from maxmargin.core.erase.entries import all_entries
from maxmargin.core.predict import best_outputs
from maxmargin.solvers import SOLVERS, run
from maxmargin.testing import tiny_problem

COMPILED: list[str] = []
#: Perceptrons take no fractional outputs.
BY_BLOCKS = (
    "graph_relaxed",
    "hierarchy_relaxed_program",
    "multilabel_relaxed",
    "multilabel_relaxed_program",
    "user",
)


def fit(structure, mode):
    """Return a hash of the weights, bounds and outputs of a few passes."""
    solver = "bcfw" if structure in BY_BLOCKS else "perceptron"
    problem = tiny_problem(structure, mode=mode)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, _ = run(
            problem, SOLVERS[solver](), rng=np.random.default_rng(0), tol=0.0, max_iter=3
        )
    view = problem.view
    outputs, costs = best_outputs(view.data, result.w, view.cost, view.cost, mode=mode)
    numbers = np.array([result.primal, result.dual])
    parts = (result.w, numbers, outputs, costs)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def main(task, folder, choice, *structures):
    listen(lambda news: COMPILED.append(news.data["dispatcher"].__name__), lambda news: None)
    structures = structures or ("multiclass",)
    mode = "erased" if task == "build" else choice
    if task == "build":
        from maxmargin.core.erase.kernels import collect_kernels

        collect_kernels()
    elif folder:
        load._LOADED[:] = [Library(Path(folder))]
    found = {structure: fit(structure, mode) for structure in structures}
    if task == "build":
        from maxmargin.core.ahead.build import build_library

        build_library(choice, Path(folder))
    library = load.library()
    # Entries that are not from the library: compiled, or from the cache.
    others = sorted({entry.function.__name__ for entry in all_entries() if entry.codes})
    answer = {"found": found, "compiled": COMPILED, "others": others}
    json.dump(answer | {"level": library.level, "reason": library.reason}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
