"""What a kind of factor must offer.

The module of a kind has a class derived from `Factor`, an int `KIND` that no other module has, and

    message(shape, tables, factor, slot, incoming, out)

    value(shape, tables, factor, labels)

marked `@jitable`. `value` returns T(x_f) of a labelling of all nodes. `message` fills out[:K], K
the number of labels of the node v of ``slot``, with

    r(x_v) = max over the labels of the other members of T(x_f) + sum_{u != v} incoming_u(x_u),

where incoming_u is the message of the slot of u, at shape.message_at of that slot. Numbers may be
-inf, never NaN or +inf. The value of a labelling follows from the message: let incoming_u be 0 at
x_u and -inf elsewhere; then r(x_v) = T(x_f). Algorithms call both by `factor_message` and
`factor_value` (switch.py).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import whole_number


class Factor:
    """A factor over some nodes of a graph; derived classes say what it scores.

    Attributes
    ----------
    nodes : tuple of int
        The nodes it joins, all different.
    """

    nodes: tuple[int, ...]

    @property
    def kind(self) -> int:
        """Return the `KIND` of its module, by which compiled code knows it."""
        kind: int = sys.modules[type(self).__module__].KIND
        return kind

    def check(self, n_labels: Sequence[int]) -> None:
        """Refuse nodes whose labels do not fit. ``n_labels`` has one number per member."""

    def on(self, n_labels: Sequence[int]) -> npt.NDArray[np.int32]:
        """Return the label that counts as "on" at each member; 0 for kinds that need none."""
        return np.zeros(len(self.nodes), dtype=np.int32)

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return what the kind keeps in `tables`: its table, or its parameters."""
        return np.zeros(0)

    def words(self) -> npt.NDArray[np.float64]:
        """Return `numbers`, and what else compiled code must know of this factor."""
        return self.numbers()

    def value(self, labels: Sequence[int]) -> float:
        """Return the score of these labels of its nodes; the definition, for checks."""
        raise TypeError(f"{type(self).__name__} has no value().")


def check_nodes(name: str, nodes: Any) -> tuple[int, ...]:
    """Return the nodes of a factor as ints; refuse none at all, and a node that comes twice."""
    try:
        given = tuple(whole_number(v) for v in nodes)
    except TypeError:
        raise TypeError(f"{name}: nodes must be whole numbers, got {nodes!r}.") from None
    if not given:
        raise ValueError(f"{name} needs at least one node, got none.")
    if len(set(given)) < len(given):
        twice = next(v for v in given if given.count(v) > 1)
        raise ValueError(f"{name} names node {twice} twice; expected different nodes.")
    return given
