"""Graded queries as examples of two kinds of documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.costs import tabulate
from maxmargin.inputs.queries import Queries
from maxmargin.structures.ranking.data import ranking_data
from maxmargin.training.task import Task


def ranking_task(
    queries: Queries,
    rows: Any,
    grades: np.ndarray,
    cost: Any,
    relevance_threshold: float,
    weight: np.ndarray,
) -> tuple[Task | None, int]:
    """Return examples, and how many queries were left out because all their rankings cost the same.

    This is so if all documents are relevant or none is, and under precision at k if a query has at
    most k documents.

    A query is one example, whose documents of grade >= relevance_threshold are to stand above the
    others. Under NDCG with several grades a query is one example per grade, in which documents of
    at least this grade are relevant. The cost of a ranking is the sum of their costs, with the
    weights of `thresholds`. If no query is left, None is returned in the place of examples.
    """
    # Sort each query by falling grade: then relevant documents come first at every threshold.
    order = queries.order
    query = np.repeat(np.arange(len(queries)), np.diff(queries.offsets))
    by_grade = np.lexsort((-grades[order], query))
    order = order[by_grade]
    first: list[int] = []
    sizes: list[int] = []
    n_relevant: list[int] = []
    share: list[float] = []
    n_skipped = 0
    for q in range(len(queries)):
        start, end = queries.offsets[q], queries.offsets[q + 1]
        own = grades[order[start:end]]
        thresholds, shares = cost.thresholds(own, relevance_threshold)
        counts = (own[:, None] >= thresholds).sum(axis=0)
        is_mixed = cost.tells_apart(counts, len(own)) & (shares > 0.0)
        n_skipped += not is_mixed.any()
        for count, part in zip(counts[is_mixed], shares[is_mixed], strict=True):
            first.append(int(start))
            sizes.append(int(end - start))
            n_relevant.append(int(count))
            share.append(float(part) * weight[q])
    if not any(share):
        return None, n_skipped
    is_ordered = bool((order == np.arange(len(order))).all())
    data = ranking_data(rows if is_ordered else rows[order], first, sizes, n_relevant)
    return Task(data, tabulate(cost, data, ()), len(first), np.array(share)), n_skipped
