"""Interval rounding: random windows of labels, and complete rounding inside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.rounding.base import Rounding
from maxmargin.rounding.complete import overlaps

__all__ = ["Interval"]


@dataclass(frozen=True)
class Interval(Rounding):
    """Repeat: a window of `width` labels and r at random, for all nodes that have no label yet.

    A node takes a label if r is less than its mass in the window, and then by complete rounding
    inside it. All windows that meet the labels are equally likely, also those that stick out at
    either end: so each label is in as many of them, and has its right probability. Width 1 is the
    rounding of Kleinberg and Tardos; the wider, the nearer to complete rounding. After Chekuri and
    others, who use it for truncated linear and quadratic distances.

    Parameters
    ----------
    width : int, default=3

    Examples
    --------
    >>> from maxmargin.rounding import Interval
    >>> Interval(2).pair_law([0.5, 0.5], [0.5, 0.5])
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    width: int = 3
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.width, (int, np.integer)) or self.width < 1:
            raise ValueError(f"width must be a whole number >= 1, got {self.width!r}.")

    def draw(
        self, graph: FactorGraph, mu: npt.NDArray[np.float64], rng: np.random.Generator
    ) -> npt.NDArray[np.int32]:
        """Return the labels that random windows gave."""
        labels = np.full(graph.n_nodes, -1, dtype=np.int32)
        n_labels = int(graph.shape.n_labels.max(initial=1))
        n_windows = n_labels + self.width - 1
        n_left = graph.n_nodes
        while n_left:
            count = 2 * n_windows
            first = rng.integers(0, n_windows, count) - (self.width - 1)
            n_left = window_labels(graph.shape, mu, self.width, first, rng.random(count), labels)
        return labels

    def pair_law(self, mu_a: npt.ArrayLike, mu_b: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the law of pairs.

        A window gives labels to both nodes (by complete rounding), to one of them, or to none. If
        to one, the other gets its own later, by its marginals alone.
        """
        a, b = np.asarray(mu_a, dtype=np.float64), np.asarray(mu_b, dtype=np.float64)
        both = np.zeros((len(a), len(b)))
        only_a, only_b = np.zeros(len(a)), np.zeros(len(b))
        total = 0.0
        for first in range(1 - self.width, max(len(a), len(b))):
            ends_a, ends_b = _window(a, first, self.width), _window(b, first, self.width)
            both += overlaps(ends_a, ends_b)
            only_a += np.maximum(ends_a[1:] - np.maximum(ends_a[:-1], ends_b[-1]), 0.0)
            only_b += np.maximum(ends_b[1:] - np.maximum(ends_b[:-1], ends_a[-1]), 0.0)
            total += max(ends_a[-1], ends_b[-1])
        return (both + np.outer(only_a, b) + np.outer(a, only_b)) / total


def _window(mu: npt.NDArray[np.float64], first: int, width: int) -> npt.NDArray[np.float64]:
    """Return 0 and the cumulative mass of the labels, those outside the window without mass."""
    labels = np.arange(len(mu))
    inside = (labels >= first) & (labels < first + width)
    return np.concatenate([[0.0], np.cumsum(np.where(inside, mu, 0.0))])


@kernel
def window_labels(shape: Any, mu: Any, width: int, first: Any, r: Any, labels: Any) -> int:
    """Give labels to nodes that have none (-1), by these windows and numbers; return how many left.

    Window t has the labels first[t] to first[t] + width - 1, of which some may not exist.
    """
    n_left = 0
    for v in range(labels.shape[0]):
        if labels[v] < 0:
            n_left += 1
    for t in range(first.shape[0]):
        if n_left == 0:
            break
        for v in range(labels.shape[0]):
            if labels[v] >= 0:
                continue
            total = 0.0
            last = min(first[t] + width, shape.n_labels[v])
            for x in range(max(0, first[t]), last):
                total += mu[shape.unary_at[v] + x]
                if r[t] < total:
                    labels[v] = x
                    n_left -= 1
                    break
    return n_left
