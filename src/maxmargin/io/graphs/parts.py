"""What files of models have in common: numbers of labels, tables, a constant; and their limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["MOST_CELLS", "GraphFile", "Parts"]

#: The most scores of a model, unless more are asked for: 240 MB.
MOST_CELLS = 30_000_000
#: The most axes of a table, which are those of numpy's arrays.
_MOST_AXES = 32


class GraphFile(NamedTuple):
    """A model that was read from a file.

    Attributes
    ----------
    graph : FactorGraph
        Its scores are the negative costs where the file holds costs, and logarithms where it holds
        probabilities. A constant is part of the scores of the first node.
    is_cost : bool
        Whether the file holds costs, so that the cost of a labelling is minus its score.
    names : list of str, or None
        Names of the variables, where the file has them.
    values : list, or None
        Names of the labels of each variable, a list of str, or None where these have none; None
        where the file has none at all.
    """

    graph: FactorGraph
    is_cost: bool
    names: list[str] | None = None
    values: list[list[str] | None] | None = None


class Parts:
    """The parts of a model while they are read.

    Parameters
    ----------
    name : str
        How errors call the file.
    most_cells : int
        The most scores that the model may have, of nodes and tables together.
    """

    def __init__(self, name: str, most_cells: int) -> None:
        self.name = name
        self._left = self._most = most_cells
        self.n_labels: list[int] = []
        self.unary: NDArray[np.float64] = np.zeros(0)
        self._starts: list[int] = [0]
        self.constant = 0.0
        self._tables: list[tuple[tuple[int, ...], NDArray[np.float64]]] = []

    def take(self, n_cells: int, where: str) -> None:
        """Count scores that are to be made; refuse more than there may be."""
        self._left -= n_cells
        if self._left < 0:
            raise ValueError(
                f"{where}: the model has more than {self._most} scores; if that is meant, say "
                "most_cells."
            )

    def set_labels(self, n_labels: Iterable[int], where: str) -> None:
        """Take the numbers of labels of all variables, each at least 1."""
        self.n_labels = [int(n) for n in n_labels]
        self.take(sum(self.n_labels), where)
        self._starts = [0, *np.cumsum(self.n_labels, dtype=np.int64).tolist()]
        self.unary = np.zeros(self._starts[-1])

    def check_scope(self, nodes: Sequence[int], where: str) -> tuple[int, ...]:
        """Return the variables of a table; refuse one that is not there, or comes twice."""
        for v in nodes:
            if not 0 <= v < len(self.n_labels):
                raise ValueError(
                    f"{where}: names the variable {v}; expected variables from 0 to "
                    f"{len(self.n_labels) - 1}."
                )
        if len(set(nodes)) < len(nodes):
            twice = next(v for v in nodes if list(nodes).count(v) > 1)
            raise ValueError(f"{where}: names the variable {twice} twice in one table.")
        if len(nodes) > _MOST_AXES:
            raise ValueError(
                f"{where}: a table of {len(nodes)} variables; expected {_MOST_AXES} at most."
            )
        return tuple(nodes)

    def shape(self, nodes: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of labels of these variables."""
        return tuple(self.n_labels[v] for v in nodes)

    def n_cells(self, nodes: Sequence[int]) -> int:
        """Return the number of cells of a table over these variables."""
        return math.prod(self.shape(nodes))

    def add(self, nodes: tuple[int, ...], scores: NDArray[np.float64]) -> None:
        """Add a table of scores in C order over variables that were checked."""
        if not nodes:
            self.constant += float(scores.reshape(-1)[0])
        elif len(nodes) == 1:
            # Sums beyond all numbers are refused when the graph is made, with their node.
            with np.errstate(over="ignore", invalid="ignore"):
                row = self.unary[self._starts[nodes[0]] : self._starts[nodes[0] + 1]]
                row += scores.reshape(-1)
        else:
            self._tables.append((nodes, scores.reshape(self.shape(nodes))))

    def graph(self) -> FactorGraph:
        """Return the model; the constant becomes part of the scores of the first node."""
        sizes = set(self.n_labels)
        rows: Any
        if len(sizes) == 1:  # one array, which is checked at once
            rows = self.unary.reshape(len(self.n_labels), sizes.pop())
        else:
            rows = [self.unary[a:b] for a, b in pairwise(self._starts)]
        if self.constant != 0.0:
            if not self.n_labels:
                raise ValueError(
                    f"{self.name}: it has the constant {self.constant:g} but no variable that "
                    "could hold it."
                )
            self.unary[: self.n_labels[0]] += self.constant
        return as_graph(self.name, rows, self._tables)


def as_graph(
    name: str, rows: Any, tables: list[tuple[tuple[int, ...], NDArray[np.float64]]]
) -> FactorGraph:
    """Return a graph of the scores of nodes, and of tables over two nodes or more."""
    # The kernels of graphs are loaded here only: those who read other files need none.
    from maxmargin.inference import FactorGraph
    from maxmargin.inference.graph.factors import Table

    pairs = [(nodes, table) for nodes, table in tables if len(nodes) == 2]
    edges: Any = np.array([nodes for nodes, _ in pairs], dtype=np.int64).reshape(-1, 2)
    values: Any = [table for _, table in pairs]
    if len({table.shape for table in values}) == 1:
        values = np.stack(values)
    try:
        larger = [Table(nodes, table) for nodes, table in tables if len(nodes) > 2]
        return FactorGraph(rows, edges, values if len(edges) else None, larger)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None
