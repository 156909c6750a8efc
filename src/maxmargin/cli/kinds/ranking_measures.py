"""How well documents are ranked, query by query: the measures, and the tables that show them."""

from __future__ import annotations

from typing import Any

from maxmargin.cli import console
from maxmargin.cli.formats import Batch

CUTS = (1, 3, 5, 10)  # the k of NDCG@k and precision@k

_NAMES = {"average_precision": "average precision", "auc": "AUC", "ndcg": "NDCG"}


def query_measures(
    estimator: Any, batch: Batch, scores: Any, k: tuple[int, ...] | None, relevant: float
) -> dict[str, Any]:
    """Return how well scores rank the documents of each query.

    ``k`` are the places of NDCG@k and precision@k; None takes `CUTS`, and that of the cost.
    """
    import numpy as np

    from maxmargin.metrics import ranking_report

    cost = estimator._cost()
    k = k or tuple(sorted({*CUTS, getattr(cost, "k", CUTS[0])}))
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


def query_tables(found: dict[str, Any], title: str, n_shown: int) -> list[Any]:
    """Return a table of means and, if any are to be shown, one of the first queries."""
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
