"""``maxmargin warmup``: compile ahead what training and prediction need."""

from __future__ import annotations

import time
import warnings
from itertools import product
from typing import Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.kinds import KINDS, Kind, kind_called, listed
from maxmargin.core.news import compiling_shown


def warmup(
    kind: Annotated[
        list[str] | None,
        typer.Option(help=f"{listed(list(KINDS))}; else all. May be repeated."),
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option(help="A solver to compile; else the one that `train` takes. May be repeated."),
    ] = None,
    float32: Annotated[bool, typer.Option("--float32", help="Also for float32 features.")] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compile ahead what training and prediction need, for containers and workers.

    The code stays in the cache that `maxmargin info` shows; a second run only loads it.
    """
    solvers: list[Any] = list(solver or ()) or [None]  # None: what the estimator takes
    pairs = list(product(kind or list(KINDS), solvers))
    for name, used in pairs:
        kind_called(name).new_estimator({"solver": used})  # refuses what does not fit
    dtypes = ("float64", "float32") if float32 else ("float64",)
    rows = []
    for (name, used), storage, dtype in product(pairs, ("dense", "sparse"), dtypes):
        if not quiet:
            console.note(f"{name}, {storage} {dtype} ...")
        rows.append(compile_case(KINDS[name], storage, dtype, used, is_shown=not quiet))
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
    kind: Kind, storage: str, dtype: str, solver: str | None = None, *, is_shown: bool = False
) -> dict[str, Any]:
    """Fit, score and predict on a few samples; return what was compiled, and the seconds."""
    X, y = kind.sample(storage, dtype)
    # Labels that are noise, fitted closely: solvers then need all they have, such as more room.
    params = {"C": 100.0, "tol": 0.0, "max_iter": 20, "random_state": 0, "solver": solver}
    estimator = kind.new_estimator(params)
    started = time.perf_counter()
    with compiling_shown(is_shown) as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of course it does not converge
        estimator.fit(X, y, eval_set=(X, y)).predict(X)
    return {
        "kind": kind.name,
        "solver": estimator.result_.solver,
        "features": f"{storage} {dtype}",
        "compiled": watch.compiled,
        "seconds": time.perf_counter() - started,
        "functions": [
            {"function": one.function, "what": one.what, "seconds": seconds}
            for one, seconds in watch.seconds
        ],
    }
