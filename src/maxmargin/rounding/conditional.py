"""Conditional rounding: node by node, the best label given what the others are expected to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.multilinear import conditional_labels, multilinear_room
from maxmargin.rounding.base import Rounding

__all__ = ["Conditional"]


@dataclass(frozen=True)
class Conditional(Rounding):
    """Each node in turn takes the label of the best expected score, and counts as decided then.

    The score of the labelling is at least what independent draws from mu would score on average
    (see `maxmargin.inference.graph.multilinear`). It looks at the potentials, so there is no law of
    pairs, and nothing is drawn.

    Parameters
    ----------
    shuffle : bool, default=False
        Visit the nodes in a random order. So several draws give several labellings.

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.rounding import round_graph
    >>> graph = FactorGraph([[0.0, 0.1], [0.0, 0.0]], [(0, 1)], [[0.0, 1.0], [1.0, 0.0]])
    >>> round_graph(graph, [[0.5, 0.5], [0.5, 0.5]], "conditional")
    array([1, 0], dtype=int32)
    """

    shuffle: bool = False

    def draw(
        self, graph: FactorGraph, mu: npt.NDArray[np.float64], rng: np.random.Generator
    ) -> npt.NDArray[np.int32]:
        """Return the labelling; `rng` gives the order of the nodes if `shuffle`."""
        n_nodes = graph.n_nodes
        labels = np.empty(n_nodes, dtype=np.int32)
        order = rng.permutation(n_nodes) if self.shuffle else np.arange(n_nodes)
        room = multilinear_room(graph.shape)
        conditional_labels(graph.shape, graph.unary, graph.tables, mu, order, room, labels)
        return labels
