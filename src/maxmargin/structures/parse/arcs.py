"""What features of arcs offer: scores of all arcs of a sentence, and arcs added to weights.

There are two sorts: templates over tokens, hashed, which are computed anew at every look
(templates.py), and rows of a matrix, one per arc, that users give (`ArcRows`).
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin.core.contract import add_row, add_scores, clear_row
from maxmargin.core.dispatch import generic, implements


@generic
def fill_arcs(features, i, first, n, scale, w, arcs):
    """Fill arcs[h, m, l] with the scores of the arcs of sentence i, at the weights scale * w.

    The sentence has n words, which begin at word ``first`` of all. arcs has the shape (n + 1,
    n + 1, L). The diagonal and arcs[:, 0] may hold anything finite.
    """


@generic
def add_arc(features, i, first, n, h, m, relation, scale, w):
    """w += scale * the features of the arc h -> m with a relation."""


@generic
def clear_arc(features, i, first, n, h, m, relation, w):
    """Set w to 0 wherever `add_arc` changes it."""


@generic
def score_arc(features, i, first, n, h, m, relation, w, out):
    """Return the score of one arc at the weights w; out is scratch of n_relations cells."""


@generic
def fill_siblings(features, i, first, n, scale, w, siblings):
    """Fill siblings[h, m, s] for all s between h and m, and s = h."""


@generic
def add_sibling(features, i, first, n, h, m, s, scale, w):
    """w += scale * the features of s and m as neighbouring children of h."""


@generic
def clear_sibling(features, i, first, n, h, m, s, w):
    """Set w to 0 wherever `add_sibling` changes it."""


@generic
def score_sibling(features, i, first, n, h, m, s, w):
    """Return the score of s and m as neighbouring children of h at the weights w."""


class ArcRows(NamedTuple):
    """One row of features per arc; the arc h -> m of sentence i is row row_at[i] + h (n + 1) + m.

    w is a matrix with a row per feature and a column per relation.
    """

    rows: Any
    row_at: Any  # (n_examples + 1,) int64
    n_columns: int
    n_relations: int


@implements(fill_arcs, ArcRows)
def _fill_arcs(features, i, first, n, scale, w, arcs):
    W = w.reshape((features.n_columns, features.n_relations))
    out = arcs.reshape(((n + 1) * (n + 1), features.n_relations))
    for row in range(out.shape[0]):
        for label in range(features.n_relations):
            out[row, label] = 0.0
    add_scores(features.rows, features.row_at[i], out.shape[0], scale, W, out)


@implements(add_arc, ArcRows)
def _add_arc(features, i, first, n, h, m, relation, scale, w):
    W = w.reshape((features.n_columns, features.n_relations))
    add_row(features.rows, features.row_at[i] + h * (n + 1) + m, relation, scale, W)


@implements(clear_arc, ArcRows)
def _clear_arc(features, i, first, n, h, m, relation, w):
    W = w.reshape((features.n_columns, features.n_relations))
    clear_row(features.rows, features.row_at[i] + h * (n + 1) + m, relation, W)


@implements(score_arc, ArcRows)
def _score_arc(features, i, first, n, h, m, relation, w, out):
    W = w.reshape((features.n_columns, features.n_relations))
    scores = out.reshape((1, features.n_relations))
    for label in range(features.n_relations):
        scores[0, label] = 0.0
    add_scores(features.rows, features.row_at[i] + h * (n + 1) + m, 1, 1.0, W, scores)
    return scores[0, relation]


@implements(fill_siblings, ArcRows)
def _fill_siblings(features, i, first, n, scale, w, siblings):
    return  # rows have no siblings: `parse_data` refuses them


@implements(add_sibling, ArcRows)
def _add_sibling(features, i, first, n, h, m, s, scale, w):
    return


@implements(clear_sibling, ArcRows)
def _clear_sibling(features, i, first, n, h, m, s, w):
    return


@implements(score_sibling, ArcRows)
def _score_sibling(features, i, first, n, h, m, s, w):
    return 0.0
