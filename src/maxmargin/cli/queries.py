"""Rankings: how queries reach an estimator, and how well their documents are ranked."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from maxmargin.cli import console
from maxmargin.cli.kinds import KINDS
from maxmargin.cli.readers import Batch

CUTS = (1, 3, 5, 10)  # the k of NDCG@k and precision@k
MOST_QUERIES = 20  # queries that are shown one by one
_WIDE = 1e3  # times the median of the features' largest values, from which one rules all others

_NAMES = {"average_precision": "average precision", "auc": "AUC", "ndcg": "NDCG"}


def has_queries(estimator: Any) -> bool:
    """Tell whether an estimator ranks the documents of queries."""
    return type(estimator).__name__ == KINDS["ranking"].estimator


def n_queries(batch: Batch) -> int:
    """Return how many queries a file has; rows without a qid are one."""
    return 1 if batch.qid is None else len(set(batch.qid.tolist()))


def for_estimator(batch: Batch, estimator: Any) -> Batch:
    """Return the rows of a file dense where they are to be normalised by query, which fills them.

    A script is asked to do so itself; here the file, not the user, made them sparse.
    """
    by_query = has_queries(estimator) and estimator.normalize_queries in ("standard", "minmax")
    if by_query and hasattr(batch.X, "toarray"):
        from maxmargin.io.unpack import to_dense

        return replace(batch, X=to_dense(batch.X, str(batch.path)))
    return batch


def scale_note(batch: Batch, estimator: Any) -> str | None:
    """Say so if the features of queries have such different scales that one rules all others.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from maxmargin import RankingSVM
    >>> batch = Batch(Path("a.svm"), np.array([[1.0, 1e7, 2.0]]), None, False)
    >>> scale_note(batch, RankingSVM(normalize_queries=None))
    'Features reach from 1 to 1e+07 (x[1]): training may get nowhere. --normalize maxabs helps.'
    """
    if not has_queries(estimator) or estimator.normalize_queries is not None:
        return None
    import numpy as np

    sizes = abs(batch.X)
    if hasattr(sizes, "toarray"):
        largest = np.ravel(sizes.nanmax(axis=0).toarray())
    else:
        largest = np.fmax.reduce(sizes, axis=0)  # missing values have no size
    top, used = int(largest.argmax()), largest[largest > 0]
    if not len(used) or not largest[top] > _WIDE * np.median(used):
        return None
    return (
        f"Features reach from {used.min():.3g} to {largest[top]:.3g} (x[{top}]): training may get "
        "nowhere. --normalize maxabs helps."
    )


def as_eval_set(batch: Batch) -> tuple[Any, ...]:
    """Return held-out samples as `fit` takes them."""
    return (batch.X, batch.y) if batch.qid is None else (batch.X, batch.y, batch.qid)


def as_request(batch: Batch) -> Any:
    """Return labelled samples as the hooks of an estimator take them."""
    from maxmargin.inputs.request import Request

    return Request(batch.X, batch.y, qid=batch.qid)


def predict_batch(estimator: Any, batch: Batch) -> Any:
    """Return what an estimator predicts: the score of each document, where there are queries."""
    if has_queries(estimator):
        return estimator.predict(batch.X, qid=batch.qid)
    return estimator.predict(batch.X)


# -- options -------------------------------------------------------------------------------------


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


def check_ranking(estimator: Any) -> None:
    """Check the parameters that only rankings have, before a long file is read."""
    from maxmargin.inputs.checks import check_number
    from maxmargin.inputs.queries import check_normalization

    estimator._cost()
    check_number("relevance_threshold", estimator.relevance_threshold)
    check_normalization(estimator.normalize_queries)


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


# -- measures ------------------------------------------------------------------------------------


def measure_queries(
    batch: Batch,
    scores: Any,
    estimator: Any,
    k: tuple[int, ...] | None = None,
    relevant: float | None = None,
) -> dict[str, Any]:
    """Return how well scores rank the documents of each query, as JSON shows it.

    Parameters
    ----------
    batch : Batch, with grades
    scores : one a row
    estimator : RankingSVM
        Its cost says which gains NDCG has, and a k besides `CUTS`.
    k, relevant
        As in `ranking_report`; None: `CUTS`, and what the estimator has.
    """
    import numpy as np

    from maxmargin.metrics import ranking_report

    cost = estimator._cost()
    if k is None:
        k = tuple(sorted({*CUTS, getattr(cost, "k", CUTS[0])}))
    relevant = estimator.relevance_threshold if relevant is None else relevant
    gains: Any = getattr(cost, "gain", "exponential")
    grades = np.asarray(batch.y)
    qid = np.zeros(len(grades), dtype=np.int64) if batch.qid is None else batch.qid
    report = ranking_report(grades, scores, qid, k, relevant=relevant, gains=gains)
    # AUC as the estimator scores it: relevant documents against the others.
    two_kinds = ranking_report((grades >= relevant).astype(int), scores, qid, k)
    columns = {**report.scores, "auc": two_kinds.scores["auc"]}
    by_query = [
        {
            "qid": None if batch.qid is None else report.qid[q],
            "n_documents": report.n_documents[q],
            "n_relevant": report.n_relevant[q],
            **{name: column[q] for name, column in columns.items()},
        }
        for q in range(len(report.qid))
    ]
    return {
        "n_queries": len(report.qid),
        "n_documents": len(grades),
        "n_relevant": int(report.n_relevant.sum()),
        "relevant": relevant,
        "gain": gains,
        "means": {**report.means, "auc": two_kinds.means["auc"]},
        "n_undefined": {**report.n_undefined, "auc": two_kinds.n_undefined["auc"]},
        "by_query": by_query,
    }


def query_tables(found: dict[str, Any], title: str, n_shown: int = 0) -> list[Any]:
    """Return the tables that show what `measure_queries` found, with the first queries alone.

    The table of queries has the largest k only, so that it fits a terminal.
    """
    rows = {
        "queries": found["n_queries"],
        "documents": found["n_documents"],
        "relevant": f"{found['n_relevant']} (grade >= {found['relevant']:g})",
    }
    cells = [
        [_NAMES.get(name, name.replace("ndcg", "NDCG")), f"{mean:.4f}", found["n_queries"] - n]
        for (name, mean), n in zip(
            found["means"].items(), found["n_undefined"].values(), strict=True
        )
    ]
    heads = ["measure", "mean", "queries"]
    tables = [console.facts(title, rows), console.grid("Means over queries", heads, cells)]
    return [*tables, *_one_by_one(found, n_shown)] if n_shown else tables


def _one_by_one(found: dict[str, Any], n_shown: int) -> list[Any]:
    k = max(int(name.partition("@")[2]) for name in found["means"] if "@" in name)
    columns = ["average_precision", "auc", "ndcg", f"ndcg@{k}", f"precision@{k}"]
    heads = ["query", "documents", "relevant", "AP", "AUC", "NDCG", f"NDCG@{k}", f"P@{k}"]
    shown = found["by_query"][:n_shown]
    cells = [
        [
            "all" if query["qid"] is None else query["qid"],
            query["n_documents"],
            query["n_relevant"],
            *(_score(query[name]) for name in columns),
        ]
        for query in shown
    ]
    n = found["n_queries"]
    title = "Queries" if len(shown) == n else f"Queries, the first {len(shown)} of {n}"
    tables: list[Any] = [console.grid(title, heads, cells)]
    if len(shown) < n:
        tables.append(f"{n - len(shown)} more: --queries {n} shows all, --json has all measures.")
    return tables


def _score(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"
