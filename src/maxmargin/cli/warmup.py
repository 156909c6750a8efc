"""``maxmargin warmup``: compile ahead what training and prediction need."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.kinds import KINDS, kind_called
from maxmargin.cli.progress import told_of_compiling


def warmup(
    kind: Annotated[
        list[str] | None, typer.Option(help="chain or multiclass; else both. May be repeated.")
    ] = None,
    solver: Annotated[
        list[str] | None, typer.Option(help="A solver to compile; else bcfw. May be repeated.")
    ] = None,
    float32: Annotated[bool, typer.Option("--float32", help="Also for float32 features.")] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compile ahead what training and prediction need, for containers and workers.

    The code stays in the cache that `maxmargin info` shows; a second run only loads it.
    """
    from maxmargin.estimators.settings import resolve_solver

    kinds = kind or list(KINDS)
    solvers = solver or ["bcfw"]
    for name in kinds:
        kind_called(name)
    for name in solvers:
        resolve_solver(name)
    rows = []
    for name, used, storage, dtype in _cases(kinds, solvers, float32):
        row: dict[str, Any] = {"kind": name, "solver": used, "features": f"{storage} {dtype}"}
        if not quiet:
            console.note(f"{name}, {used}, {row['features']} ...")
        row |= compile_case(name, used, storage, dtype)
        rows.append(row)
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


def _cases(
    kinds: list[str], solvers: list[str], float32: bool
) -> Iterator[tuple[str, str, str, str]]:
    for kind in kinds:
        for solver in solvers:
            for storage in ("dense", "sparse"):
                for dtype in ("float64", "float32") if float32 else ("float64",):
                    yield kind, solver, storage, dtype


def compile_case(kind: str, solver: str, storage: str, dtype: str) -> dict[str, Any]:
    """Fit, score and predict on a few samples; return what was compiled, and the seconds."""
    import maxmargin

    X, y = tiny_samples(storage, dtype)
    if KINDS[kind].is_sequence:
        X, y = [X[:2], X[2:]], [y[:2], y[2:]]
    estimator = getattr(maxmargin, KINDS[kind].estimator)(solver=solver, max_iter=2, random_state=0)
    started = time.perf_counter()
    with told_of_compiling(lambda _: None) as count, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two passes do not converge
        estimator.fit(X, y, eval_set=(X, y)).predict(X)
    return {"compiled": count.compiled, "seconds": time.perf_counter() - started}


def tiny_samples(storage: str, dtype: str) -> tuple[Any, Any]:
    """Return four samples of two features and their labels."""
    import numpy as np
    import scipy.sparse as sp

    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.5], [0.5, 1.0]], dtype=dtype)
    y = np.array([0, 1, 0, 1])
    return (sp.csr_matrix(X) if storage == "sparse" else X), y
