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
#: The seconds that a graph may take at prediction, unless a call says otherwise.
TIME_LIMIT = 10.0
#: Methods that go on until a labelling is proved to be the best.
PROVING = ("auto", "branch", "ilp")


def solver_of(
    method: str | None,
    rounding: str | Rounding | None,
    constraints: Any,
    extra: Mapping[str, Any],
    time_limit: float | None,
) -> Callable[[FactorGraph], GraphAnswer] | None:
    """Return the function that solves one graph; None: all graphs at once, as in training.

    ``extra`` are the options of the rounding, refused where there is none. So is another time limit
    than the default where all graphs are solved at once, as that search looks at no clock.
    """
    check_time_limit(time_limit)
    if rounding is None:
        for name, value in extra.items():
            if value != UNASKED[name]:
                raise ValueError(f"{name}={value!r} is an option of rounding=, which is not given.")
        if method is None and constraints is None:
            if time_limit != TIME_LIMIT:
                raise ValueError(
                    f"time_limit={time_limit!r} is an option of method=, rounding= and "
                    "constraints=, none of which is given. A search as in training ends by "
                    "`max_branches`."
                )
            return None
        chosen = "auto" if method is None else method
        check_name("method", chosen, METHODS)
        return lambda graph: solve_graph(graph, chosen, time_limit=time_limit)
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
    return lambda graph: solve_rounded(graph, by, time_limit=time_limit, **extra)


def aims_at_proof(method: str | None, rounding: str | Rounding | None) -> bool:
    """Return whether what a call asks for goes on until labels are proved to be the best."""
    return rounding is None and (method is None or method in PROVING)


def check_time_limit(time_limit: float | None) -> None:
    """Refuse what is neither None nor a number of seconds."""
    if time_limit is not None:
        check_number("time_limit", time_limit, closed=True)


def check_name(what: str, value: Any, known: Collection[str]) -> None:
    """Refuse a name that is not known."""
    if not isinstance(value, str) or value not in known:
        raise unknown(what, value, dict.fromkeys(known))
