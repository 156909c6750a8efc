"""The two criteria of the surrogate `MicroF1`, as tables of prices and shifts."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import GivenHierarchy, TrueParts, has, maximize, true_parts
from maxmargin.costs.tables import F1Cost, PartCost, ShiftedPartCost, SwitchCost, WeightedPartCost


def micro_f1_cost(data: Any) -> SwitchCost:
    """Return the criteria of the surrogate `MicroF1` for label sets.

    g = -(|y| + |y_i|): -2 |y_i| at the truth, 1 more for a label that is missing, 1 less for one
    too many. The shift, which h has besides the margin error, is the number of wrong labels.

    Examples
    --------
    >>> from maxmargin.structures import labels_data
    >>> cost = micro_f1_cost(labels_data(np.eye(2), [[1, 0], [1, 1]]))
    >>> cost.base, cost.price[0]
    (array([-2., -4.]), array([-1.,  1.]))
    """
    return _of_switches(true_parts(data))


def micro_f1_of_positions(parts: TrueParts, outside: np.ndarray) -> ShiftedPartCost:
    """Return the criteria for sequences, which stand for sets: of their positions that are inside.

    A position with its label is an element, unless the label is outside. So a missed element is one
    mistake, an element too many is one, and an element with a wrong label is both.

    Parameters
    ----------
    parts : TrueParts
    outside : bool array of shape (n_labels,)
        Which labels stand for no element.

    Examples
    --------
    >>> truth = TrueParts("positions", np.array([3]), np.array([0, 1, 2]))
    >>> cost = micro_f1_of_positions(truth, np.array([True, False, False]))
    >>> cost.base, cost.matrix[1], cost.shift[1]
    (array([-4.]), array([1., 0., 0.]), array([1., 0., 2.]))
    """
    inside = np.where(outside, 0.0, 1.0)
    ends = np.cumsum(np.append(0.0, inside[parts.states]))[np.cumsum(np.append(0, parts.lengths))]
    matrix, shift = inside[:, None] - inside, inside[:, None] + inside
    np.fill_diagonal(shift, 0.0)
    return ShiftedPartCost(matrix, shift, -2.0 * np.diff(ends), np.ones(len(parts.lengths)))


def _of_switches(parts: TrueParts, counts: np.ndarray | None = None) -> SwitchCost:
    """Return the criteria; ``counts`` is 0 for stops of hierarchies, which are no elements."""
    n, m = len(parts.lengths), int(parts.lengths[0])
    own = np.ones(m) if counts is None else counts
    size = (np.reshape(parts.states, (n, m)) == 1) @ own
    return SwitchCost(
        np.outer(own, [-1.0, 1.0]), np.outer(own, [1.0, 1.0]), -2.0 * size, np.ones(n)
    )


def micro_f1_criteria(
    surrogate: Any,
    data: Any,
    tables: Any,
    names: Any = None,
    given: GivenHierarchy | None = None,
) -> SwitchCost | ShiftedPartCost:
    """Return the same, in place of tables that it stands for; refuse others.

    The criteria count wrong labels by themselves and do not read the cost. So only costs that they
    can stand for are accepted: 1 for each wrong label, or 1 - F1.

    ``names`` are the labels of positions; None: 0, 1, ... ``given`` tells which nodes of a
    hierarchy are stops: where these are free they are no elements.
    """
    parts = true_parts(data)
    is_set = parts.kind in ("switches", "nodes")
    is_sequence = parts.kind == "positions" and has(maximize, type(data), ShiftedPartCost)
    if not is_set and not is_sequence:
        raise ValueError(
            f"surrogate={surrogate!r} is for label sets (MultilabelSVM), sets of nodes "
            "(HierarchySVM with model='nodes' and space='closed' or 'paths') and sequences "
            f"(ChainSVM) only, not for {type(data).__name__}."
        )
    is_counted = np.ones(1)
    if parts.kind == "nodes" and isinstance(tables, SwitchCost) and given is not None:
        is_free = np.asarray(given.is_stop) & (tables.price == 0.0).all(axis=1)
        is_counted = np.where(is_free, 0.0, 1.0)[:, None]
    counts = (
        isinstance(tables, SwitchCost)
        and (tables.price == is_counted).all()
        and (tables.scale == 1.0).all()
    ) or (
        isinstance(tables, PartCost)
        and (tables.scale == 1.0).all()
        and np.array_equal(tables.matrix, 1.0 - np.eye(len(tables.matrix)))
    )
    if isinstance(tables, WeightedPartCost):
        raise ValueError(
            f"surrogate={surrogate!r} counts all positions, but some of them have weights of their "
            "own or unknown labels, as latent ones are: choose another surrogate."
        )
    if not (counts or isinstance(tables, F1Cost)):
        raise ValueError(
            f"surrogate={surrogate!r} has a cost of its own, 1 - F1, so that another would be "
            "passed over: leave cost at 'hamming' and labels without weights, or choose another "
            "surrogate."
        )
    if is_set:
        return _of_switches(parts, is_counted[:, 0] if len(is_counted) > 1 else None)
    labels = list(range(len(tables.matrix)) if names is None else names)
    outside = np.array([label == surrogate.outside for label in labels])
    if not outside.any():
        shown = ", ".join(map(repr, labels[:10])) + (", ..." if len(labels) > 10 else "")
        raise ValueError(
            f"surrogate={surrogate!r}: outside={surrogate.outside!r} is none of the labels "
            f"{shown}. Name the label of positions that do not count: "
            "surrogate=MicroF1(outside=...)."
        )
    return micro_f1_of_positions(parts, outside)
