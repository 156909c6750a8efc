"""How graphs are solved at prediction, by what a call asks for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from maxmargin.inference.graph.answer import GraphAnswer
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.public import METHODS, solve_graph
from maxmargin.inputs.checks import check_number, unknown
from maxmargin.rounding import Rounding, as_rounding, solve_rounded
from maxmargin.rounding.public import RELAXATIONS

#: The options of a rounding, and what they are where none is asked for.
UNASKED = {"relaxation": "auto", "polish_by": "local", "n_draws": 1, "seed": 0}


def solver_of(
    method: str | None,
    rounding: str | Rounding | None,
    constraints: Any,
    extra: Mapping[str, Any],
) -> Callable[[FactorGraph], GraphAnswer] | None:
    """Return the function that solves one graph; None: all graphs at once, as in training.

    ``extra`` are the options of the rounding, refused where there is none.
    """
    if rounding is None:
        for name, value in extra.items():
            if value != UNASKED[name]:
                raise ValueError(f"{name}={value!r} is an option of rounding=, which is not given.")
        if method is None and constraints is None:
            return None
        chosen = "auto" if method is None else method
        check_name("method", chosen, METHODS)
        return lambda graph: solve_graph(graph, chosen)
    if method is not None:
        raise ValueError(
            f"method={method!r} and rounding={rounding!r} are two ways to solve a graph; leave one "
            "of them out."
        )
    by = as_rounding(rounding)
    check_name("relaxation", extra["relaxation"], RELAXATIONS)
    if extra["polish_by"] is not None:
        check_name("polish_by", extra["polish_by"], ("local", "expansion"))
    check_number("n_draws", extra["n_draws"], integer=True)
    check_number("seed", extra["seed"], closed=True, integer=True)
    return lambda graph: solve_rounded(graph, by, **extra)


def check_name(what: str, value: Any, known: Collection[str]) -> None:
    """Refuse a name that is not known."""
    if not isinstance(value, str) or value not in known:
        raise unknown(what, value, dict.fromkeys(known))
