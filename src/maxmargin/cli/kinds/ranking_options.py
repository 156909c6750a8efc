"""Options of rankings, and the cost that they name."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

import typer

from maxmargin.cli.options import OwnOptions

MOST_QUERIES = 20  # queries that are shown one by one
_PANEL = "Rankings"


def cuts(text: str | None) -> tuple[int, ...] | None:
    """Return the k of an option.

    Examples
    --------
    >>> cuts("10,1,5")
    (1, 5, 10)
    """
    if text is None:
        return None
    try:
        found = {int(piece) for piece in text.split(",")}
    except ValueError:
        found = {0}
    if min(found) < 1:
        raise ValueError(
            f"--k must be whole numbers of at least 1, parted by commas, got {text!r}."
        )
    return tuple(sorted(found))


def _not_negative(n: int | None) -> int | None:
    if n is not None and n < 0:
        raise ValueError(f"--queries must be at least 0, got {n}.")
    return n


def _option(type_: Any, help: str, *names: str, **more: Any) -> Any:
    return Annotated[type_, typer.Option(*names, help=help, rich_help_panel=_PANEL, **more)]


_RELEVANT = _option(
    float | None,
    "The grade from which a document is relevant, for all but NDCG; else 1, or the model's own.",
)
TRAIN = OwnOptions(
    {
        "k": _option(
            int | None,
            "Places that count, for the costs ndcg_at_k and precision_at_k; else 10.",
            "--k",
        ),
        "gain": _option(
            str | None,
            "What a grade g is worth to NDCG: exponential (2^g - 1) or linear (g).",
        ),
        "relevant": _RELEVANT,
        "normalize": _option(
            str | None,
            "Make features comparable: maxabs over all documents, standard or minmax query by "
            "query, none as they are; else maxabs.",
        ),
        "zeros": _option(
            str | None,
            "What a zero is: a value, or by indicator also a column that says where a feature is "
            "not zero; else indicator.",
        ),
        "steps": _option(
            int | None,
            "Columns that say where a feature is beyond a quantile of its values, at most so many "
            "per feature; else 5.",
        ),
    },
    "is for rankings (`train ranking`), which `train {kind}` does not learn",
)
EVALUATE = OwnOptions(
    {
        "k": _option(
            str | None,
            "For NDCG@k and precision@k: numbers parted by commas; else 1,3,5,10.",
            "--k",
            callback=cuts,
        ),
        "relevant": _RELEVANT,
        "queries": _option(
            int | None,
            f"Queries to show one by one; else {MOST_QUERIES}.",
            callback=_not_negative,
        ),
    },
    "is for rankings, but {model} does not rank",
)


def ranking_cost(name: str | None, k: int | None, gain: str | None) -> Any:
    """Return the cost that the options name; None: the estimator's own.

    Examples
    --------
    >>> ranking_cost("ndcg_at_k", 5, None)
    NDCGAtK(k=5, gain='exponential')
    >>> ranking_cost("auc", 5, None)
    Traceback (most recent call last):
        ...
    ValueError: --k is for the costs ndcg_at_k, precision_at_k, not for auc.
    """
    from maxmargin import RankingSVM
    from maxmargin.costs import COSTS, check_priced, fitting_costs
    from maxmargin.estimators.ranking.scores import cost_meant
    from maxmargin.inputs.checks import unknown

    costs: dict[str, Any] = {cost: COSTS[cost] for cost in fitting_costs("places")}
    if name is not None and name not in COSTS:
        meant = cost_meant(name)
        raise unknown("cost", name, costs, meant and f" Say {meant[1]}.")
    if name is not None:
        check_priced(COSTS[name], "places")
    given = {option: value for option, value in (("k", k), ("gain", gain)) if value is not None}
    if not given:
        return name
    name = RankingSVM().cost if name is None else name
    known = {cost: {field.name for field in fields(costs[cost])} for cost in costs}
    for option in given:
        if option not in known[name]:
            able = ", ".join(cost for cost in known if option in known[cost])
            raise ValueError(f"--{option} is for the costs {able}, not for {name}.")
    return costs[name](**given)
