"""The expected score of a rounding, from its law of pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.moves import pair_factors
from maxmargin.rounding.base import Rounding

__all__ = ["expected_score"]


def expected_score(graph: FactorGraph, mu: npt.NDArray[np.float64], rounding: Rounding) -> float:
    """Return the expected score of a pairwise graph that is rounded, exactly; -inf if it can be.

    Parameters
    ----------
    graph : FactorGraph
        With tables of one and two nodes only.
    mu : float64 array, laid out as graph.unary, checked
    rounding : Rounding
        With a law of pairs.
    """
    shape = graph.shape
    singles, pairs, edges = pair_factors("expected scores", shape)
    rows = np.split(mu, shape.unary_at[1:-1])
    total = 0.0
    # A rounding that is not random does not have mu as its marginals.
    laws = [rounding.pair_law(row, [1.0])[:, 0] for row in rows if len(row)]
    for v, law in enumerate(laws):
        total += _mean(law, graph.unary[shape.unary_at[v] : shape.unary_at[v + 1]])
    for f in singles.tolist():
        law = laws[shape.members[shape.member_at[f]]]
        total += _mean(law, graph.tables[shape.table_at[f] :][: len(law)])
    for f, (a, b) in zip(pairs.tolist(), edges.edges.tolist(), strict=True):
        law = rounding.pair_law(rows[a], rows[b]).ravel()
        total += _mean(law, graph.tables[shape.table_at[f] :][: len(law)])
    return total


def _mean(law: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> float:
    return float(law[law > 0.0] @ values[law > 0.0])
