"""The rounding of Kleinberg and Tardos: random labels, taken by all nodes that have enough mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.model import FactorGraph
from maxmargin.rounding.base import Rounding
from maxmargin.rounding.interval import Interval

__all__ = ["KleinbergTardos"]


@dataclass(frozen=True)
class KleinbergTardos(Rounding):
    """Repeat: a label k and r at random; all nodes without a label and with r < mu_v(k) take k.

    Two nodes get different labels with probability at most |mu_a - mu_b|_1, so the Potts cost is at
    most twice that of the linear relaxation on average. The numbers of labels mean nothing to it.

    Examples
    --------
    >>> from maxmargin.rounding import KleinbergTardos
    >>> KleinbergTardos().pair_law([0.5, 0.5, 0.0], [0.0, 0.5, 0.5]).round(3)
    array([[0.   , 0.167, 0.333],
           [0.   , 0.333, 0.167],
           [0.   , 0.   , 0.   ]])
    """

    is_random: ClassVar[bool] = True

    def draw(
        self, graph: FactorGraph, mu: npt.NDArray[np.float64], rng: np.random.Generator
    ) -> npt.NDArray[np.int32]:
        """Return the labels drawn: windows of one label."""
        return Interval(width=1).draw(graph, mu, rng)

    def pair_law(self, mu_a: npt.ArrayLike, mu_b: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the law of pairs, in closed form.

        [ [i = j] min(a_i, b_i) + (a_i - b_i)^+ b_j + a_i (b_j - a_j)^+ ] / (2 - sum min(a_k, b_k))
        """
        n_a, n_b = np.size(mu_a), np.size(mu_b)
        most = max(n_a, n_b)
        a, b = np.zeros(most), np.zeros(most)
        a[:n_a], b[:n_b] = mu_a, mu_b
        common = np.minimum(a, b)
        law = np.diag(common) + np.outer(a - common, b) + np.outer(a, b - common)
        law /= 2.0 - common.sum()
        return law[:n_a, :n_b]
