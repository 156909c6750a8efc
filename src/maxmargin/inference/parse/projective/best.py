"""The best projective tree, by Eisner's algorithm in O(n^3)."""

from __future__ import annotations

from maxmargin.core.compile import kernel
from maxmargin.inference.parse.projective.chart import fill_chart, goal_value, write_tree


@kernel
def best_projective(scores, siblings, many, chart, heads):
    """Find a best projective tree; return its score.

    Parameters
    ----------
    scores : float64 array of shape (n + 1, n + 1), n >= 1
        [h, m] scores the arc from head h to word m; 0 is the root. The diagonal and the first
        column are not read.
    siblings : float64 array of shape (n + 1, n + 1, n + 1), or (0, 0, 0) for none
        See `maxmargin.inference.parse.projective.chart`.
    many : int
        1 if several words may hang on the root, 0 if exactly one must.
    chart : Chart, overwritten
    heads : int32 array of length >= n; heads[m - 1] receives the head of word m

    Scores may be -inf, never NaN or +inf. If every tree scores -inf, so does the answer, and
    nothing is written.
    """
    fill_chart(scores, siblings, many, chart)
    best, place = goal_value(scores, siblings, many, chart.values[0])
    if best > -float("inf"):
        flat, side = chart.values.reshape(-1), chart.values.shape[1]
        write_tree(scores, siblings, many, flat, side, chart.stack, place, heads)
    return best
