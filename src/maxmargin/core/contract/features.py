"""What rows of features offer: products with weights, and rows added to weights."""

from __future__ import annotations

from maxmargin.core.dispatch import generic, generic_with_default


@generic
def add_scores(features, first, n_rows, scale, W, out):
    """out[t, k] += scale * x_{first+t} . W[:, k] for the first n_rows rows of out.

    W has one row per feature; further rows are ignored. W is two-dimensional on purpose: an index
    that is a sum of two variables might be negative as far as the compiler knows, and the loop
    would not be vectorised.
    """


@generic
def add_row(features, row, label, scale, W):
    """W[f, label] += scale * x_row[f] for every feature f."""


@generic
def add_outer(features, row, mass, scale, W):
    """W[f, k] += scale * x_row[f] * mass[k] for every feature f and label k."""


@generic_with_default
def add_columns(features, row, cells, at, n_cells, scale, weights, W):
    """W[f, c] += scale * weights[c] * x_row[f] for every feature f and every column c listed.

    The columns are listed in cells[at : at + n_cells], all different; a cell -1 - c stands for
    column c with the opposite sign. The default adds one column after the other; where many are
    listed it is faster to go through W row by row.
    """
    for place in range(at, at + n_cells):
        cell = cells[place]
        column = cell if cell >= 0 else -1 - cell
        signed = scale if cell >= 0 else -scale
        add_row(features, row, column, signed * weights[column], W)


@generic
def clear_row(features, row, label, W):
    """W[f, label] = 0 for every feature f that is stored in x_row."""


@generic
def score_few(features, row, labels, place, n_few, W, out):
    """out[a] = x_row . W[:, labels[place, a]] for a < n_few."""


@generic
def score_rows(features, first, n_rows, scale, w, out):
    """out[t] = scale * x_{first+t} . w for t < n_rows."""


@generic
def add_combination(features, first, weights, w):
    """w += sum_t weights[t] x_{first+t}."""


@generic
def row_product(features, row, other):
    """Return x_row . x_other."""


@generic
def as_matrix(features, n_columns):
    """Return all rows as a matrix of numpy or scipy. (Python only.)"""


@generic
def squared_norms(features):
    """Return |x|^2 of every row. (Python only.)"""


@generic
def row_sizes(features):
    """Return how many numbers are stored per row, as floats. (Python only.)"""
