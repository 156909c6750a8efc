"""Potts potentials of any order: a bonus if all members have the same label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable
from maxmargin.inference._checks import check_potential
from maxmargin.inference.graph.factors.base import Factor, check_nodes

KIND = 6


class Potts(Factor):
    """same[l] if all nodes have label l, else ``different``, which is no larger.

    Parameters
    ----------
    nodes : sequence of int
        They have the same number of labels.
    same : array-like of shape (K,)
    different : float, default=0.0
        At most min(same); -inf if the nodes must agree. A table is the way to say the opposite.

    Examples
    --------
    >>> from maxmargin.inference.graph.factors import Potts
    >>> rule = Potts((0, 1, 2), [1.0, 2.0])
    >>> rule.value((1, 1, 1)), rule.value((1, 0, 1))
    (2.0, 0.0)
    """

    def __init__(self, nodes: Sequence[int], same: Any, different: float = 0.0) -> None:
        self.nodes = check_nodes("Potts", nodes)
        self.same = check_potential("same of a Potts", same, 1)
        if not isinstance(different, (int, float, np.integer, np.floating)):
            raise TypeError(f"Potts: different must be a number, got {different!r}.")
        self.different = float(different)
        if len(self.same) == 0:
            raise ValueError("Potts: same is empty; expected one number per label.")
        if not self.different <= self.same.min():
            raise ValueError(
                f"Potts: different is {self.different}, but same has {self.same.min()}; expected "
                "different <= min(same). Use a Table for other scores."
            )

    def check(self, n_labels: Sequence[int]) -> None:
        """Refuse nodes that have not one label per number of `same`."""
        for v, size in zip(self.nodes, n_labels, strict=True):
            if size != len(self.same):
                raise ValueError(
                    f"Potts: node {v} has {size} labels, but same has {len(self.same)} numbers."
                )

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return `different`, then `same`."""
        return np.concatenate([[self.different], self.same])

    def value(self, labels: Sequence[int]) -> float:
        """Return the bonus of the label if all are the same, else `different`."""
        return float(self.same[labels[0]]) if len(set(labels)) == 1 else self.different


@jitable
def message(shape: Any, tables: Any, factor: int, slot: int, incoming: Any, out: Any) -> None:
    """Fill out; see base.py. The best labels of the others, or all as `slot`."""
    first, last = shape.member_at[factor], shape.member_at[factor + 1]
    table = shape.table_at[factor]
    n_own = shape.message_at[slot + 1] - shape.message_at[slot]
    free = tables[table]
    for x in range(n_own):
        out[x] = tables[table + 1 + x]
    for s in range(first, last):
        if s == slot:
            continue
        at = shape.message_at[s]
        best = -np.inf
        for x in range(n_own):
            best = max(best, incoming[at + x])
            out[x] += incoming[at + x]
        free += best
    if last - first > 1:
        for x in range(n_own):
            out[x] = max(out[x], free)


@jitable
def value(shape: Any, tables: Any, factor: int, labels: Any) -> float:
    """Return the bonus of the label if all members have the same, else `different`."""
    first = shape.member_at[factor]
    label = labels[shape.members[first]]
    cell = label + 1
    for s in range(first + 1, shape.member_at[factor + 1]):
        if labels[shape.members[s]] != label:
            cell = 0
    score: float = tables[shape.table_at[factor] + cell]
    return score
