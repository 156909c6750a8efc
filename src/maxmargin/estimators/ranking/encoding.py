"""Graded queries as examples of two kinds of documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.costs import NDCG, NDCGAtK, NDCGPairs, PrecisionAtK, graded_weights
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
    """Return examples, and how many queries had none, as all their rankings cost the same.

    That is so where documents are of one kind, and under precision at k where there are at most k.

    A query is one example, whose documents of grade >= relevance_threshold are to stand above the
    others. Under NDCG with several grades it is one example for each of them: the cost of a ranking
    is the sum, with the weights of `graded_weights`, of its costs for each grade from which
    documents may count as relevant. No query left: None in place of examples.
    """
    # Within a query by falling grade: the relevant ones then come first, whichever grade counts.
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
        if isinstance(cost, (NDCG, NDCGAtK, NDCGPairs)):
            thresholds, shares = graded_weights(own, cost)
        else:
            thresholds, shares = np.array([relevance_threshold]), np.ones(1)
        counts = (own[:, None] >= thresholds).sum(axis=0)
        is_mixed = (counts > 0) & (counts < len(own)) & (shares > 0.0)
        if isinstance(cost, PrecisionAtK):
            is_mixed &= len(own) > cost.k
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
    others = np.array(sizes) - np.array(n_relevant)
    rule = cost.rule(sorted(set(zip(n_relevant, others.tolist(), strict=True))))
    return Task(data, rule, len(first), np.array(share)), n_skipped
