"""What factors over switches share: each member is on, at one label of its node, or off.

A member is on if its node has the label shape.on of its slot, and off at any other label. So q(1)
of a member is its message at that label, and q(0) the best of the others: -inf if there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable
from maxmargin.inference.graph.factors.base import Factor, check_nodes


class SwitchFactor(Factor):
    """A factor that only asks which of its nodes are on.

    Parameters
    ----------
    nodes : sequence of int
    on : label, or list of one label per node, default=1
        The label that counts as on; a node with any other label is off. In a `FactorGraph` labels
        are numbers; estimators take them by their own names.
    """

    def __init__(self, nodes: Sequence[int], on: Any = 1) -> None:
        name = type(self).__name__
        self.nodes = check_nodes(name, nodes)
        given = on.tolist() if isinstance(on, np.ndarray) else on
        if not isinstance(given, (list, tuple)):
            given = [given] * len(self.nodes)
        if len(given) != len(self.nodes):
            raise ValueError(
                f"{name}: on has {len(given)} labels; expected one label, or {len(self.nodes)}, "
                "one per node."
            )
        self.on_labels = tuple(given)

    def check(self, n_labels: Sequence[int]) -> None:
        """Refuse a label that a node does not have."""
        for v, label, size in zip(self.nodes, self.on_labels, n_labels, strict=True):
            if isinstance(label, bool) or not isinstance(label, (int, np.integer)):
                raise TypeError(
                    f"{type(self).__name__}: on must be a label of the graph, a number, got "
                    f"{label!r} at node {v}."
                )
            if not 0 <= label < size:
                raise ValueError(
                    f"{type(self).__name__}: node {v} is on at label {label}, but has the labels "
                    f"0 to {size - 1}."
                )

    def on(self, n_labels: Sequence[int]) -> npt.NDArray[np.int32]:
        """Return the label that counts as on at each member."""
        return np.array(self.on_labels, dtype=np.int32)

    def count(self, labels: Sequence[int]) -> int:
        """Return how many of its nodes are on, given their labels."""
        return sum(x == on for x, on in zip(labels, self.on_labels, strict=True))


@jitable
def off_and_on(shape: Any, slot: int, incoming: Any) -> tuple[float, float]:
    """Return q(0) and q(1) of a member: its messages off and on."""
    at = shape.message_at[slot]
    on = shape.on[slot]
    off = -np.inf
    for x in range(shape.message_at[slot + 1] - at):
        if x != on:
            off = max(off, incoming[at + x])
    return off, incoming[at + on]


@jitable
def write_switch(shape: Any, slot: int, off: float, on: float, out: Any) -> None:
    """Fill out: `on` at the label that counts as on, `off` at all others."""
    for x in range(shape.message_at[slot + 1] - shape.message_at[slot]):
        out[x] = off
    out[shape.on[slot]] = on


@jitable
def others(shape: Any, factor: int, slot: int, incoming: Any) -> tuple[float, int, float, float]:
    """Return what messages of factors over switches are made of.

    With d = q(1) - q(0) of the other members, these are: the sum of q(0), or of q(1) where a member
    must be on because q(0) is -inf; how many must be on; the largest d of the rest, -inf if there
    is none; and the sum of the positive d. If a member can be neither, the first is -inf.
    """
    base = 0.0
    n_forced = 0
    largest = -np.inf
    gain = 0.0
    for s in range(shape.member_at[factor], shape.member_at[factor + 1]):
        if s == slot:
            continue
        off, on = off_and_on(shape, s, incoming)
        if off == -np.inf:
            base += on
            n_forced += 1
        else:
            base += off
            largest = max(largest, on - off)
            gain += max(0.0, on - off)
    return base, n_forced, largest, gain


@jitable
def n_on(shape: Any, factor: int, labels: Any) -> int:
    """Return how many members are on in a labelling of all nodes."""
    count = 0
    for s in range(shape.member_at[factor], shape.member_at[factor + 1]):
        if labels[shape.members[s]] == shape.on[s]:
            count += 1
    return count
