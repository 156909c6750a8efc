"""``maxmargin infer``: the best labelling of a model in a file, with a bound."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import console, options
from maxmargin.cli.options import check_target
from maxmargin.cli.solving import solving

if TYPE_CHECKING:
    from maxmargin.inference.graph.answer import GraphAnswer
    from maxmargin.io import GraphFile

_FEW = 30  # nodes whose labels are part of the table


def infer(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="UAI (.uai, .LG of logarithms), WCSP (.wcsp), CFN (.cfn), QPBO (.qpbo .bqp), "
            "DIMACS max-flow (.max .dimacs) or .npz; text may be gzipped. - is standard input.",
            callback=options.standard_input,
        ),
    ],
    evidence: Annotated[
        Path | None, typer.Option("--evidence", help="A UAI file of labels that are known.")
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help="How to solve it; `maxmargin info` lists the methods.")
    ] = "auto",
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", help="Seconds; else until it is proved.")
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option("--max-iter", help="Iterations of message passing.")
    ] = None,
    tol: Annotated[
        float, typer.Option("--tol", help="Proved means: bound - score <= tol (1 + |score|).")
    ] = 1e-9,
    most_cells: Annotated[
        int, typer.Option("--most-cells", help="The most scores of the model that is read.")
    ] = 30_000_000,
    format: Annotated[
        str | None,
        typer.Option("--format", help="uai, wcsp, cfn, qpbo, dimacs or npz; else the name says."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the labels here, on one line in their order."),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the best labelling of a model in a file, and a bound that none exceeds.

    Files of probabilities are maximised: the score is the sum of logarithms. Files of costs are
    minimised: the score is minus the cost. If bound and score meet, the labelling is proved to be
    the best. Labels count from 0; of UAI files they are written as solutions of the MPE task.
    """
    check_target("--output", output, model, evidence, takes_pipes=True)
    from maxmargin.inference.graph.public import METHODS, solve_graph
    from maxmargin.io import graph_format, read_evidence, read_graph, with_evidence

    if method not in METHODS:
        raise ValueError(f"--method={method!r} is unknown. There are: {', '.join(METHODS)}.")
    chosen = graph_format(model) if format is None else format
    started = time.perf_counter()
    found = read_graph(model, format=chosen, most_cells=most_cells)
    if evidence is not None:
        known = read_evidence(evidence)
        found = found._replace(graph=with_evidence(found.graph, known, str(evidence)))
    reading = time.perf_counter() - started
    with solving(quiet) as report:
        started = time.perf_counter()
        answer = solve_graph(
            found.graph, method, time_limit=time_limit, max_iter=max_iter, tol=tol, callback=report
        )
        seconds = time.perf_counter() - started
    if output is not None and answer.labels is not None:
        _write(output, answer.labels.tolist(), chosen)
    values = _values(found, answer) | {"seconds": seconds, "seconds_reading": reading}
    if as_json:
        labels = None if answer.labels is None or output is not None else answer.labels
        values |= {"labels": labels, "names": None if labels is None else found.names}
        console.result_json({"command": "infer", "model": model, "output": output, **values})
        return
    console.result(console.facts(str(model), _facts(found, answer, values, output)))


def _values(found: GraphFile, answer: GraphAnswer) -> dict[str, Any]:
    """Return what is known, as numbers; what does not exist is infinite, which JSON has as null."""
    graph = found.graph
    has_labels = answer.labels is not None
    values = {
        "nodes": graph.n_nodes,
        "factors": graph.n_factors,
        "most_labels": int(graph.shape.n_labels.max(initial=0)),
        "method": answer.method,
        "iterations": answer.n_iterations,
        "is_feasible": True if has_labels else False if answer.is_exact else None,
        "is_proved": answer.is_exact,
        "score": answer.score,
        "bound": answer.bound,
        "gap": answer.bound - answer.score if has_labels else math.inf,
    }
    if found.is_cost:
        values |= {"cost": 0.0 - answer.score, "cost_bound": 0.0 - answer.bound}
    return values


def _facts(
    found: GraphFile, answer: GraphAnswer, values: dict[str, Any], output: Path | None
) -> dict[str, Any]:
    """Return the rows of the table."""
    rows: dict[str, Any] = {
        "nodes": values["nodes"],
        "factors": values["factors"],
        "labels": f"up to {values['most_labels']}",
    }
    if answer.labels is None:
        rows["result"] = (
            "no labelling is allowed: every one scores -inf (proved)"
            if answer.is_exact
            else "no allowed labelling was found; there may be one"
        )
        rows["bound"] = None if answer.is_exact else _exact(answer.bound)
    else:
        if found.is_cost:
            rows["cost"] = _exact(values["cost"])
            rows["lower bound"] = _exact(values["cost_bound"])
        rows |= {"score": _exact(answer.score), "bound": _exact(answer.bound)}
        rows["gap"] = _exact(values["gap"])
        rows["proved"] = "yes, no labelling is better" if answer.is_exact else "no"
    rows |= {
        "method": answer.method,
        "iterations": answer.n_iterations or None,
        "seconds": f"{values['seconds']:.2f} (and {values['seconds_reading']:.2f} for reading)",
    }
    if answer.labels is not None and output is not None:
        rows["written to"] = output
    elif answer.labels is not None and len(answer.labels) <= _FEW:
        rows["best labels"] = _named(found, answer.labels.tolist())
    return rows


def _named(found: GraphFile, labels: list[int]) -> str:
    """Return labels in words: name=label where the file has names, else the labels alone."""
    if found.names is None or found.values is None:
        return " ".join(map(str, labels))
    known = [k if v is None else v[k] for k, v in zip(labels, found.values, strict=True)]
    return " ".join(f"{name}={label}" for name, label in zip(found.names, known, strict=True))


def _exact(value: float) -> str:
    """Return a number with the digits that a bound is worth."""
    return f"{value:.10g}" if math.isfinite(value) else "not known"


def _write(output: Path, labels: list[int], format: str) -> None:
    """Write the labels, whole or not at all."""
    from maxmargin.io import atomic_write

    line = " ".join(map(str, labels))
    text = f"MPE\n{len(labels)} {line}\n" if format == "uai" else f"{line}\n"
    with atomic_write(output) as file:
        file.write(text.encode())
