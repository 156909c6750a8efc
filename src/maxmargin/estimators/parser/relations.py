"""The second stage: relations of arcs, learnt by a classifier on the features of the arcs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.core.compile import kernel
from maxmargin.estimators.multiclass import MulticlassSVM
from maxmargin.features.rows import frozen
from maxmargin.solvers import MIRA
from maxmargin.structures.parse.templates import TokenTemplates, relation_row

#: Passes and longest step of the classifier, by the relations of true arcs of UD EWT's dev part.
N_PASSES, STEP = 8, 0.01
#: Templates that stand once more with the distance to the head, and with the number of children of
#: the word: tags of both, the word, head and tag of the word, coarse tags of both.
WITH_DISTANCE = (10, 0, 15, 11)
WITH_CHILDREN = (10, 0)


@kernel
def _fill_rows(features: Any, offsets: Any, heads: Any, n_children: Any, columns: Any) -> None:
    """Write the rows of relations that the arc into each word has, one per template."""
    n_templates = features.heads.shape[1] - 1
    for i in range(offsets.shape[0] - 1):
        first, n = offsets[i], offsets[i + 1] - offsets[i]
        base = first + i
        for m in range(n + 1):
            n_children[m] = 0
        for m in range(1, n + 1):
            n_children[heads[first + m - 1]] += 1
        for m in range(1, n + 1):
            h = heads[first + m - 1]
            at = first + m - 1
            for q in range(n_templates):
                columns[at, q] = relation_row(features, base, h, m, q, 0)
            distance = min(abs(h - m), 11)
            for k, q in enumerate(WITH_DISTANCE):
                columns[at, n_templates + k] = relation_row(features, base, h, m, q, distance)
            count = 12 + min(n_children[m], 5)
            for k, q in enumerate(WITH_CHILDREN):
                place = n_templates + len(WITH_DISTANCE) + k
                columns[at, place] = relation_row(features, base, h, m, q, count)


@kernel
def _name_arcs(columns: Any, table: Any, total: Any, codes: Any) -> None:
    """Write the relation of the largest sum of weights, the first of equals."""
    for at in range(columns.shape[0]):
        total[:] = 0.0
        for q in range(columns.shape[1]):
            row = columns[at, q]
            for k in range(table.shape[1]):
                total[k] += table[row, k]
        best = 0
        for k in range(1, table.shape[1]):
            if total[k] > total[best]:
                best = k
        codes[at] = best


def _arc_columns(features: TokenTemplates, offsets: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Return the rows of weights that the arc into each word has."""
    width = features.heads.shape[1] - 1 + len(WITH_DISTANCE) + len(WITH_CHILDREN)
    columns = np.zeros((len(heads), width), dtype=np.int32)
    n_children = np.zeros(int(np.diff(offsets).max(initial=0)) + 1, dtype=np.int64)
    own = np.ascontiguousarray(heads, np.int32)
    _fill_rows(features, offsets, own, n_children, columns)
    return columns


def arc_rows(features: TokenTemplates, offsets: np.ndarray, heads: np.ndarray) -> sp.csr_matrix:
    """Return the features of one arc per word as a sparse matrix."""
    columns = _arc_columns(features, offsets, heads)
    places = np.arange(0, columns.size + 1, columns.shape[1])
    rows = sp.csr_matrix(
        (np.ones(columns.size), columns.ravel(), places),
        shape=(len(heads), features.relation_mask + 1),
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
        solver=MIRA(C=STEP), max_iter=N_PASSES, fit_intercept=False, random_state=random_state
    )
    rows = arc_rows(features, offsets, heads)
    model.fit(rows, codes, sample_weight=np.repeat(weight, np.diff(offsets)))
    table[:, present] = model.coef_.T
    # Relations that no arc has must never win.
    absent = np.setdiff1d(np.arange(n_relations), present)
    table[:, absent] = -1.0
    return table


def name_relations(
    features: TokenTemplates, offsets: np.ndarray, heads: np.ndarray, table: np.ndarray
) -> np.ndarray:
    """Return the best relation of the arc into each word."""
    codes = np.zeros(len(heads), dtype=np.int32)
    # Rows of weights lie far apart in memory: each is read once, and no matrix is made.
    _name_arcs(
        _arc_columns(features, offsets, heads), frozen(table, np.float64),
        np.zeros(table.shape[1]), codes,
    )  # fmt: skip
    return codes
