"""Max rounding: the label of most mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.primal import best_labels
from maxmargin.rounding.base import Rounding

__all__ = ["Max"]


@dataclass(frozen=True)
class Max(Rounding):
    """Each node takes the label of most mass, the lowest of equal ones. Nothing is drawn.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.rounding import round_graph
    >>> graph = FactorGraph([[0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> round_graph(graph, [[0.4, 0.6], [0.4, 0.2, 0.4]], "max")
    array([1, 0], dtype=int32)
    """

    def draw(
        self, graph: FactorGraph, mu: npt.NDArray[np.float64], rng: np.random.Generator
    ) -> npt.NDArray[np.int32]:
        """Return the labels of most mass."""
        return best_labels(graph, mu)

    def pair_law(self, mu_a: npt.ArrayLike, mu_b: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return 1 at the two labels of most mass, 0 elsewhere."""
        law = np.zeros((np.size(mu_a), np.size(mu_b)))
        law[np.argmax(mu_a), np.argmax(mu_b)] = 1.0
        return law
