"""The second stage: relations of arcs, learnt by a classifier on the features of the arcs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.core.compile import compiled, jitable
from maxmargin.estimators.multiclass import MulticlassSVM
from maxmargin.solvers import MIRA
from maxmargin.structures.parse.templates import TokenTemplates, relation_row

#: Passes of the classifier: measured on UD EWT, more do not help.
N_PASSES = 5


@jitable
def _fill_rows(features: Any, offsets: Any, heads: Any, columns: Any) -> None:
    """Write the rows of relations that the arc into each word has, one per template."""
    for i in range(offsets.shape[0] - 1):
        first, n = offsets[i], offsets[i + 1] - offsets[i]
        for m in range(1, n + 1):
            for q in range(columns.shape[1]):
                columns[first + m - 1, q] = relation_row(
                    features, first + i, heads[first + m - 1], m, q
                )


def arc_rows(features: TokenTemplates, offsets: np.ndarray, heads: np.ndarray) -> sp.csr_matrix:
    """Return the features of one arc per word as a sparse matrix."""
    columns = np.zeros((len(heads), features.heads.shape[1] - 1), dtype=np.int32)
    compiled(_fill_rows)(features, offsets, np.ascontiguousarray(heads, np.int32), columns)
    n_columns = features.relation_mask + 1
    places = np.arange(0, columns.size + 1, columns.shape[1])
    rows = sp.csr_matrix(
        (np.ones(columns.size), columns.ravel(), places), shape=(len(heads), n_columns)
    )
    rows.sum_duplicates()
    return rows


def learn_relations(
    features: TokenTemplates,
    offsets: np.ndarray,
    heads: np.ndarray,
    codes: np.ndarray,
    n_relations: int,
    weight: np.ndarray,
    random_state: Any,
) -> np.ndarray:
    """Return weights of shape (n_rows, n_relations), learnt from the true arcs."""
    table = np.zeros((features.relation_mask + 1, n_relations))
    present = np.unique(codes)
    if len(present) < 2:
        return table  # zeros: argmax takes the first, which is the only one
    model = MulticlassSVM(
        solver=MIRA(C=0.1), max_iter=N_PASSES, fit_intercept=False, random_state=random_state
    )
    rows = arc_rows(features, offsets, heads)
    model.fit(rows, codes, sample_weight=np.repeat(weight, np.diff(offsets)))
    coef = model.coef_ if len(present) > 2 else np.vstack([-model.coef_, model.coef_])
    table[:, present] = coef.T
    # Relations that no arc has must never win.
    absent = np.setdiff1d(np.arange(n_relations), present)
    table[:, absent] = -1.0
    return table


def name_relations(
    features: TokenTemplates, offsets: np.ndarray, heads: np.ndarray, table: np.ndarray
) -> np.ndarray:
    """Return the best relation of the arc into each word."""
    return np.asarray((arc_rows(features, offsets, heads) @ table).argmax(axis=1), dtype=np.int32)
