"""Complete rounding: one number between 0 and 1 cuts the cumulative marginals of all nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.rounding.base import Rounding

__all__ = ["Complete"]


@dataclass(frozen=True)
class Complete(Rounding):
    """One r for all nodes: node v takes the label i with Y_v(i - 1) <= r < Y_v(i).

    Y_v(i) is the mass of the labels 0 to i. Labels that are near in number tend to be taken
    together, so it suits potentials that fall with the distance |i - j| of two labels.

    Examples
    --------
    >>> from maxmargin.rounding import Complete
    >>> Complete().pair_law([0.5, 0.5], [0.2, 0.8])
    array([[0.2, 0.3],
           [0. , 0.5]])
    """

    is_random: ClassVar[bool] = True

    def draw(
        self, graph: FactorGraph, mu: npt.NDArray[np.float64], rng: np.random.Generator
    ) -> npt.NDArray[np.int32]:
        """Return the labels that one random number cuts out."""
        labels = np.empty(graph.n_nodes, dtype=np.int32)
        complete_labels(graph.shape, mu, rng.random(), labels)
        return labels

    def pair_law(self, mu_a: npt.ArrayLike, mu_b: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the lengths of the intersections of [Y_a(i-1), Y_a(i)) and [Y_b(j-1), Y_b(j))."""
        return overlaps(limits(mu_a), limits(mu_b))


def limits(mu: Any) -> npt.NDArray[np.float64]:
    """Return 0 and the cumulative sums of marginals, of which the last is 1."""
    sums = np.concatenate([[0.0], np.cumsum(np.asarray(mu, dtype=np.float64))])
    sums[-1] = 1.0
    return np.minimum(sums, 1.0)


def overlaps(
    ends_a: npt.NDArray[np.float64], ends_b: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the lengths of all intersections of the intervals between two lists of limits."""
    low = np.maximum.outer(ends_a[:-1], ends_b[:-1])
    high = np.minimum.outer(ends_a[1:], ends_b[1:])
    lengths: npt.NDArray[np.float64] = np.maximum(high - low, 0.0)
    return lengths


@kernel
def complete_labels(shape: Any, mu: Any, r: float, labels: Any) -> None:
    """Fill labels by the number r, 0 <= r < 1."""
    for v in range(labels.shape[0]):
        at = shape.unary_at[v]
        last = 0
        total = 0.0
        chosen = -1
        for x in range(shape.n_labels[v]):
            if mu[at + x] > 0.0:
                total += mu[at + x]
                last = x
                if r < total:
                    chosen = x
                    break
        # The sum may have been rounded to less than 1: then r beyond it means the last label.
        labels[v] = chosen if chosen >= 0 else last
