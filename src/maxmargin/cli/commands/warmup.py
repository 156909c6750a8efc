"""``maxmargin warmup``: compile ahead what training and prediction need."""

from __future__ import annotations

import time
import warnings
from itertools import product
from typing import Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.fitting import new_estimator
from maxmargin.cli.kinds import KINDS, kind_called
from maxmargin.core.news import compiling_shown


def warmup(
    kind: Annotated[
        list[str] | None,
        typer.Option(help="chain, multiclass, multilabel or ranking; else all. May be repeated."),
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option(help="A solver to compile; else auto. May be repeated."),
    ] = None,
    float32: Annotated[bool, typer.Option("--float32", help="Also for float32 features.")] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compile ahead what training and prediction need, for containers and workers.

    The code stays in the cache that `maxmargin info` shows; a second run only loads it.
    """
    pairs = list(product(kind or list(KINDS), solver or ["auto"]))
    for name, used in pairs:
        new_estimator(kind_called(name), {"solver": used})  # refuses what does not fit
    dtypes = ("float64", "float32") if float32 else ("float64",)
    rows = []
    for (name, used), storage, dtype in product(pairs, ("dense", "sparse"), dtypes):
        if not quiet:
            console.note(f"{name}, {storage} {dtype} ...")
        rows.append(compile_case(name, storage, dtype, used, is_shown=not quiet))
    total = sum(row["seconds"] for row in rows)
    if as_json:
        console.result_json({"command": "warmup", "seconds": total, "compiled": rows})
        return
    cells = [
        [*(row[key] for key in ("kind", "solver", "features", "compiled")), f"{row['seconds']:.2f}"]
        for row in rows
    ]
    heads = ["kind", "solver", "features", "functions compiled", "seconds"]
    console.result(console.grid(f"Ready in {total:.1f} seconds", heads, cells, n_text=3))


def compile_case(
    kind: str, storage: str, dtype: str, solver: str = "auto", *, is_shown: bool = False
) -> dict[str, Any]:
    """Fit, score and predict on a few samples; return what was compiled, and the seconds."""
    X, y = _noise(storage, dtype)
    if KINDS[kind].is_sequence or KINDS[kind].has_queries:
        X, y = [X[:6], X[6:]], [y[:6], y[6:]]
    elif KINDS[kind].has_label_sets:
        y = (y[:, None] == range(4)).astype(int)
    # Labels that are noise, fitted closely: solvers then need all they have, such as more room.
    params = {"C": 100.0, "tol": 0.0, "max_iter": 20, "random_state": 0, "solver": solver}
    estimator = new_estimator(KINDS[kind], params)
    started = time.perf_counter()
    with compiling_shown(is_shown) as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of course it does not converge
        estimator.fit(X, y, eval_set=(X, y)).predict(X)
    return {
        "kind": kind,
        "solver": estimator.result_.solver,
        "features": f"{storage} {dtype}",
        "compiled": watch.compiled,
        "seconds": time.perf_counter() - started,
        "functions": [
            {"function": one.function, "what": one.what, "seconds": seconds}
            for one, seconds in watch.seconds
        ],
    }


def _noise(storage: str, dtype: str) -> tuple[Any, Any]:
    import numpy as np
    import scipy.sparse as sp

    X = np.random.default_rng(0).normal(size=(12, 3)).astype(dtype)
    y = np.arange(12) % 4
    return (sp.csr_matrix(X) if storage == "sparse" else X), y
