"""The factors of a graph as dense tables, for files that hold nothing else."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["dense_tables"]

#: The most cells of a table that stands for a rule.
_MOST_OF_A_RULE = 1 << 16


def dense_tables(
    graph: FactorGraph, where: str
) -> list[tuple[tuple[int, ...], NDArray[np.float64]]]:
    """Return (nodes, table) of each factor; refuse a rule whose table would be large.

    Parameters
    ----------
    graph : FactorGraph
    where : str
        What errors call the file.
    """
    from maxmargin.inference.graph.factors import factor_value
    from maxmargin.inference.graph.shape import DENSE, nodes_of

    labels = np.zeros(graph.n_nodes, dtype=np.int32)
    found = []
    for factor, kind in enumerate(graph.shape.kinds.tolist()):
        nodes = tuple(nodes_of(graph.shape, factor))
        sizes = [int(graph.shape.n_labels[v]) for v in nodes]
        n_cells = math.prod(sizes)
        if kind != DENSE:
            if n_cells > _MOST_OF_A_RULE:
                raise ValueError(
                    f"factor {factor} is a rule over {len(nodes)} nodes, {nodes[:5]} and so on: "
                    f"{where} holds tables, and its table would have {n_cells} cells; expected "
                    f"{_MOST_OF_A_RULE} at most."
                )
            table = np.empty(sizes)
            for cell in np.ndindex(*sizes):
                labels[list(nodes)] = cell
                table[cell] = factor_value(graph.shape, graph.tables, factor, labels)
            found.append((nodes, table))
            continue
        start = int(graph.shape.table_at[factor])
        found.append((nodes, graph.tables[start : start + n_cells].reshape(sizes)))
    return found
