"""Rows that w must classify right: y_i (w.x_i + b) >= 1 is a constraint, not part of the loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import compiled, jitable
from maxmargin.core.contract import add_row, score_rows


class HardRows(NamedTuple):
    """Rows of features, each with the side y_i it must be on. The last cell of w is the bias b.

    Attributes
    ----------
    features : a type of `maxmargin.features.FEATURES`
    sign : array of shape (n_rows,), y_i = 1.0 or -1.0
    start : array of shape (n_weights,)
        Weights that keep all rows on their side. They prove that the constraints can be met.
    """

    features: Any
    sign: np.ndarray
    start: np.ndarray

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return y_i (w.x_i + b) of every row."""
        return self.sign * (row_scores(self.features, len(self.sign), w) + w[-1])

    def signed(self, i: int) -> np.ndarray:
        """Return y_i (x_i, 1), whose product with w is the margin of row i."""
        row = np.zeros((len(self.start), 1))
        compiled(_add_row)(self.features, i, row)
        row[-1] = 1.0
        return self.sign[i] * row[:, 0]


def row_scores(features: Any, n_rows: int, w: np.ndarray) -> np.ndarray:
    """Return w.x_i of every row; w may be longer than a row."""
    scores = np.empty(n_rows)
    compiled(_scores)(features, w, scores)
    return scores


@jitable
def _add_row(features: Any, i: int, out: Any) -> None:
    add_row(features, i, 0, 1.0, out)


@jitable
def _scores(features: Any, w: Any, out: Any) -> None:
    score_rows(features, 0, out.shape[0], 1.0, w, out)
