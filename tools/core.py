"""Build the library of compiled code: `make core`. It takes minutes.

One process for each level of processors compiles, for that level, all entries of all structures x
features x costs, the searches, the passes of all solvers, and what estimators call besides. Then
the entries are linked into one library, with `cc`, in src/maxmargin/_library.

    python tools/core.py                     # both levels
    python tools/core.py --only chain        # structures whose names begin so; to try something
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

LEVELS = ("x86-64-v3", "x86-64-v2")
HOME = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="structures whose names begin so")
    parser.add_argument("--level", choices=LEVELS, help="one level, in this process")
    parser.add_argument("--folder", type=Path, help="where the library goes, if not to the package")
    given = parser.parse_args()
    if given.level:
        build(given.level, given.only, given.folder)
        return 0
    running = []
    for level in LEVELS:
        # With NUMBA_CPU_NAME alone, numba would take the features of this processor.
        settings = {
            "NUMBA_CPU_NAME": level,
            "NUMBA_CPU_FEATURES": "",
            # No cache: code from another process may have the names of other code from this one.
            "NUMBA_CACHE_DIR": os.path.join(os.devnull, "none"),
            "MAXMARGIN_LIBRARY": "0",
            "MAXMARGIN_MODE": "erased",
            **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
        }
        command = [sys.executable, __file__, "--level", level, *sys.argv[1:]]
        running.append(subprocess.Popen(command, env=os.environ | settings))
    codes = [each.wait() for each in running]
    return int(any(codes))  # that of a process that was ended by a signal is below 0


def build(level: str, only: str, folder: Path | None) -> None:
    from maxmargin.core.ahead.build import build_library
    from maxmargin.core.ahead.load import FOLDER
    from maxmargin.core.erase.kernels import collect_kernels
    from maxmargin.structures import STRUCTURES

    warnings.simplefilter("ignore")  # nothing converges in three passes
    folder = folder or FOLDER
    collect_kernels()
    rows, started = [], time.process_time()
    parts = [(f"structure {name}", structure, (name,)) for name in STRUCTURES]
    parts += [(f"estimator {name}", estimator, (name,)) for name in CASES]
    for title, compile_part, arguments in parts:
        if not arguments[0].startswith(only):
            continue
        before, seconds = n_codes(), time.process_time()
        compile_part(*arguments)
        rows.append([title, n_codes() - before, round(time.process_time() - seconds, 1)])
        print(level, *rows[-1], flush=True)
    manifest = build_library(level, folder)
    size = (folder / f"{level}.so").stat().st_size
    total = round(time.process_time() - started, 1)
    print(level, len(manifest["entries"]), "entries,", size, "bytes,", total, "CPU s", flush=True)
    report = {"level": level, "entries": len(manifest["entries"]), "bytes": size}
    report |= {"seconds": total, "parts": rows}
    path = HOME / "build" / "core" / f"{level}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def n_codes() -> int:
    from maxmargin.core.erase.entries import all_entries

    return sum(len(entry.codes) for entry in all_entries())


# -- structures ------------------------------------------------------------------------------------


def structure(name: str) -> None:
    """Compile all entries of a structure, and all passes and searches with its first cost."""
    import numpy as np
    import scipy.sparse as sp

    from maxmargin.core.erase import entries_of
    from maxmargin.search import SEARCHES
    from maxmargin.solvers import SOLVERS
    from maxmargin.surrogates import SURROGATES
    from maxmargin.testing.tiny import FORMS, fitting_costs, tiny_problem

    FORMS["csr float32"] = lambda X: sp.csr_matrix(X.astype(np.float32))
    costs = fitting_costs(name)
    problem = tiny_problem(name)
    if problem.mode != "erased":
        return
    if not isinstance(problem.view.data, tuple):  # its entries are callbacks into Python
        passes(name, costs[0], "margin", "bcfw", "auto")
        return
    for features, cost in itertools.product(FORMS, costs):
        try:
            problem = tiny_problem(name, cost, features=features)
        except ValueError:
            continue  # not every structure takes a kernel of all its rows
        if all(isinstance(part, tuple) for part in (problem.view.data, problem.view.cost)):
            for entry, kind in entries_of(problem.view.data, problem.view.cost):
                entry.code(kind)
    for surrogate, solver in itertools.product(SURROGATES, SOLVERS):
        passes(name, costs[0], surrogate, solver, "auto")
    for surrogate, search in itertools.product(SURROGATES, SEARCHES):
        passes(name, costs[0], surrogate, "bcfw", search)
    for cost in costs[1:]:  # a search may choose itself by the cost
        passes(name, cost, "slack", "bcfw", "auto")


def passes(name: str, cost: str, surrogate: str, solver: str, search: str) -> None:
    """Make a few passes of a solver over a tiny problem, if all that fits together."""
    import numpy as np

    from maxmargin.solvers import SOLVERS, run
    from maxmargin.testing.tiny import tiny_problem

    try:
        problem = tiny_problem(name, cost, surrogate, search=search, mode="erased")
        run(problem, SOLVERS[solver](), rng=np.random.default_rng(0), tol=0.0, max_iter=3)
    except (TypeError, ValueError):
        return  # it does not fit: the registries hold pairs that are refused by name


# -- estimators ------------------------------------------------------------------------------------

#: Kinds of the command line (and trees), and parameters that choose other structures.
CASES: dict[str, list[dict[str, str]]] = {
    "multiclass": [{}],
    "chain": [{}],
    "multilabel": [
        {},
        {"pairwise": "tree"},
        {"pairwise": "full"},
        {"pairwise": "full", "inference": "pairwise"},
        {"pairwise": "full", "inference": "relaxed"},
    ],
    "ranking": [{}, {"cost": "ap"}, {"cost": "ndcg"}],
    "graph": [{}, {"training": "relaxed"}],
    "tree": [{}],
    "hierarchy": [{}, {"model": "edges"}, {"space": "paths"}],
    "parser": [{}, {"solver": "bcfw"}],
}


def estimator(name: str) -> None:
    """Fit, score and predict with an estimator, for all features, as a user does."""
    features = itertools.product(("dense", "sparse"), ("float64", "float32"))
    for (storage, dtype), params in itertools.product(features, CASES[name]):
        samples, make = sampled(name, storage, dtype)
        for (X, y), surrogate in itertools.product(samples, ("margin", "slack")):
            # Labels that are noise, fitted closely: solvers then need all they have.
            own = {"C": 100.0, "tol": 0.0, "max_iter": 20, "random_state": 0, **params}
            try:
                made = make(own | {"surrogate": surrogate, "warm_start": True})
                made.fit(X, y, eval_set=(X, y)).predict(X)
            except (TypeError, ValueError) as error:
                print(f"{name} {own} {surrogate}: {error}", file=sys.stderr)
                continue
            answer(made, X)
            made.set_params(C=50.0).fit(X, y)


def answer(made, X) -> None:
    """Ask a fitted estimator all that it can answer beside its best output."""
    for method in ("decision_function", "predict_topk", "predict_marginals"):
        try:
            getattr(made, method)(X)
        except (AttributeError, TypeError, ValueError):
            continue  # not every kind has every answer


def sampled(name: str, storage: str, dtype: str):
    """Return small data of a kind, (X, y) each, and what makes its estimator of parameters."""
    from maxmargin import TreeSVM
    from maxmargin.cli.kinds import KINDS

    kind = KINDS["graph" if name == "tree" else name]
    X, y = kind.sample(storage, dtype)
    if name == "tree":  # a ring without its last edge
        X = [(nodes, edges[:-1], own[:-1]) for nodes, edges, own in X]
    samples = [(X, y)]
    if name in ("graph", "tree"):  # edges without features of their own
        samples.append(([graph[:2] for graph in X], y))
    return samples, (lambda params: TreeSVM(**params)) if name == "tree" else kind.new_estimator


if __name__ == "__main__":
    sys.exit(main())
