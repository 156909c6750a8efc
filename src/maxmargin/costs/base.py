"""What a task loss must offer, and how it is asked for its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.core.contract import (
    GivenHierarchy,
    Links,
    PricedHierarchy,
    TrueParts,
    found_costs,
    largest_costs,
    true_parts,
)

#: The K classes or m labels of a structure.
Names = Sequence[Any] | np.ndarray

#: For each kind of parts: what outputs are made of it, and the methods of a cost that can price it.
#: The first of these methods that a cost has is called. A new kind of parts is one line here.
PRICED: dict[str, tuple[str, tuple[str, ...]]] = {
    "positions": ("classes and sequences", ("positions", "whole")),
    "vertices": ("graphs", ("vertices", "positions", "whole")),
    "switches": ("label sets", ("switches", "whole")),
    "places": ("rankings", ("places",)),
    "paths": ("places in a hierarchy", ("paths", "positions", "whole")),
    "arcs": ("parses", ("arcs",)),
    "nodes": ("sets of nodes of a hierarchy", ("nodes", "switches", "whole")),
}

#: The methods that have a third argument: the edges of graphs, or the hierarchy.
WITH_MORE = ("vertices", "paths", "nodes")


class Cost:
    """A task loss cost(y, y_true) >= 0, zero where y is y_true.

    A structure is made of parts of one kind, and `tabulate` gives the loss as compiled code reads
    it for that kind. A cost has a method for each kind that it can price, ``method(names, sizes)``,
    and is refused by name for the others:

    ============= ====================== ============================ ==============================
    method        parts                  sizes                        returns
    ============= ====================== ============================ ==============================
    `positions`   labels of a sequence,  (n,): known positions        `PartCost`, K x K prices
                  or of the nodes of a
                  graph
    `vertices`    nodes of a graph and   (n,): known nodes            `EdgeCost`, a price per edge
                  its edges
    `switches`    labels, on or off      (n, 2): off and on in truth  `SwitchCost`, m x 2 prices, or
                                                                      `F1Cost`
    `arcs`        words of a sentence,   (n,): counted words           `ArcCost`, a price per word
                  each with its head
    `places`      samples of a query     (n, 2): irrelevant, relevant a rule of inference/ranking
    `whole`       none: positions and    as above                     `WholeCost`
                  switches alike
    `paths`       one label of a         (n,): 1 each                 `PartCost`, K x K prices
                  hierarchy
    `nodes`       nodes of a hierarchy,  (n, 2): off and on in truth  `SwitchCost`, M x 2, or
                  on or off                                           `SetEdgeCost`, E prices
    ============= ====================== ============================ ==============================

    Methods of the last two kinds have a third argument, a `PricedHierarchy`. A cost without them is
    asked for `positions` and `switches` in their place: it looks at labels, not at their nodes.

    ``names`` are the K classes or m labels, and what does not fit them is a ValueError. A class is
    a sequence of one position. `vertices` has a third argument too: the edges, as `Links`.

    A cost is an immutable value: equal parameters, equal cost. `parameters` gives them back, for
    model files.
    """

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        raise NotImplementedError

    @classmethod
    def example(cls, names: Names) -> Cost:
        """Return a cost of this class that fits these names, for checks.

        To be written where a parameter has no default, or none that fits small cases.
        """
        return cls()

    @classmethod
    def prices(cls, kind: str) -> bool:
        """Tell whether the cost has tables for a kind of parts."""
        return any(callable(getattr(cls, name, None)) for name in PRICED[kind][1])

    def tabulate(
        self, kind: str, names: Names, sizes: Any, beside: Links | PricedHierarchy | None = None
    ) -> Any:
        """Return the loss as compiled code reads it, for examples made of parts of this kind.

        ``beside`` are the edges of graphs, or the hierarchy, for the methods that take them.
        """
        check_priced(self, kind)
        method = next(name for name in PRICED[kind][1] if callable(getattr(self, name, None)))
        more = (beside,) if method in WITH_MORE else ()
        return getattr(self, method)(names, np.asarray(sizes), *more)

    def tabulate_parts(self, parts: TrueParts, names: Names) -> Any:
        """Return the same for true outputs, of which the known parts count."""
        return self.tabulate(parts.kind, names, parts.sizes, parts.beside)

    def costs_of(
        self, parts: TrueParts, names: Names, found: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the cost of one output per example, and the largest that one could have.

        Examples
        --------
        >>> from maxmargin.core.contract import switches
        >>> from maxmargin.costs import Hamming
        >>> truth = np.array([[1, 0, -1], [1, 1, 0]])
        >>> Hamming().costs_of(switches(truth), ["a", "b", "c"], np.array([1, 1, 1, 1, 1, 0]))
        (array([1., 0.]), array([2., 3.]))
        """
        return both_costs(self.tabulate_parts(parts, names), parts, found)


def both_costs(tables: Any, parts: TrueParts, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cost of one output per example by tables, and the largest that one could have."""
    known = parts.lengths, parts.states
    return found_costs(tables, *known, np.reshape(found, -1)), largest_costs(tables, *known)


def tabulate(cost: Any, data: Any, names: Names, given: GivenHierarchy | None = None) -> Any:
    """Return a cost as compiled code reads it, for the examples of a structure.

    ``given`` is the hierarchy that the numbers in the cost go by, where the structure has others
    of its nodes.

    Examples
    --------
    >>> from maxmargin.costs import Hamming
    >>> from maxmargin.structures import labels_data
    >>> data = labels_data(np.eye(2), [[1, 0, 1], [0, 1, -1]])
    >>> tabulate(Hamming("mean"), data, ["a", "b", "c"]).scale
    array([0.33333333, 0.5       ])
    """
    parts = true_parts(data)
    if given is not None and parts.hierarchy is not None:
        parts = parts._replace(hierarchy=parts.hierarchy._replace(given=given))
    if parts.kind in ("switches", "nodes") and (parts.lengths != len(names)).any():
        raise ValueError(
            f"names has {len(names)} labels but the examples have {parts.lengths[0]} each."
        )
    return cost.tabulate_parts(parts, names)


def fitting_costs(kind: str) -> list[str]:
    """Return the names of the registered costs that price a kind of parts.

    Examples
    --------
    >>> fitting_costs("switches")
    ['hamming', 'zero_one', 'class_weighted', 'f1']
    """
    from maxmargin.costs import COSTS  # here, because that module imports this one

    return [name for name, cost in COSTS.items() if cost.prices(kind)]


def check_priced(cost: Any, kind: str) -> None:
    """Refuse a cost that has no prices for a kind of parts; name the costs that have."""
    if kind not in PRICED:
        raise ValueError(f"kind must be one of {', '.join(PRICED)}; got {kind!r}.")
    if not cost.prices(kind):
        name = cost.__name__ if isinstance(cost, type) else type(cost).__name__
        raise ValueError(
            f"{name} is no cost of {PRICED[kind][0]}: it does not price {kind}. Costs that fit: "
            f"{', '.join(fitting_costs(kind))}."
        )
