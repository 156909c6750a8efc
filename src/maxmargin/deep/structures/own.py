"""Structures of one's own for torch layers: those that run compiled and have parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.core.contract import add_parts, has, parts, workspace
from maxmargin.costs import tabulate
from maxmargin.deep.structures.base import (
    Encoded,
    LayerStructure,
    Slot,
    check_shape,
    no_edges,
    no_lengths,
)
from maxmargin.deep.structures.scored import Priced, scored
from maxmargin.structures.user.compiled import check_cost_fits, check_data
from maxmargin.training.settings import resolve_cost


class OwnStructure(LayerStructure):
    """A structure of yours, as `StructuredSVM` takes one that runs compiled.

    Potentials: one tensor for each array of theta, as `workspace` of the structure makes it, with
    an axis for examples in front: theta is copied from it. The net has read the inputs, so
    ``structure.data(X, Y)`` is called with ``range(B)`` for X. Truths are what it takes for Y, a
    list, or a tensor, which becomes an array. `decode` returns a list.

    Parameters
    ----------
    structure : object with ``data``, ``decode`` and, for ``cost=None``, ``cost``
        Its data must implement `parts` and `add_parts` of `maxmargin.core.contract`; a structure in
        plain Python has no parts and is refused.
    """

    #: Numbered, because only a batch tells what theta is.
    names = tuple(f"theta[{k}]" for k in range(16))
    kind = "positions"

    def __init__(self, structure: Any) -> None:
        for name in ("data", "decode"):
            if not callable(getattr(structure, name, None)):
                raise TypeError(
                    f"{type(structure).__name__} has no method {name!r}: layers take structures "
                    "that run compiled and have parts (docs/structures.md)."
                )
        self.structure = structure

    def __repr__(self) -> str:
        return f"OwnStructure({type(self.structure).__name__}())"

    @property
    def classes(self) -> Sequence[Any]:
        """The labels of the structure, where it names them."""
        return getattr(self.structure, "classes", ())

    def read_truths(self, truths: Any) -> Any:
        """Return truths as the structure takes them."""
        return truths.detach().numpy() if hasattr(truths, "detach") else truths

    def resolve_cost(self, cost: Any) -> Any:
        """Return the cost, None for the structure's own."""
        if cost is None and not callable(getattr(self.structure, "cost", None)):
            raise TypeError(
                f"cost is None, but {type(self.structure).__name__} has no method 'cost'."
            )
        return None if cost is None else resolve_cost(cost, self.kind)

    def tables(self, cost: Any, data: Any) -> Any:
        """Return the cost of a batch."""
        inner = data.inner
        found = self.structure.cost(inner) if cost is None else tabulate(cost, inner, self.classes)
        check_cost_fits(inner, found)
        return Priced(found)

    def encode(
        self,
        shapes: dict[str, tuple[int, ...]],
        truths: Any,
        lengths: np.ndarray | None,
        edges: Any = None,
        relaxed: bool = True,
    ) -> Encoded:
        """Return a batch."""
        no_lengths(lengths, self)
        no_edges(edges, self)
        n = next(iter(shapes.values()))[0]
        if n == 0:
            raise ValueError("a batch of a structure of one's own has at least one example.")
        data = self.structure.data(range(n), truths)
        check_data(data, n)
        for function in (parts, add_parts):
            if not has(function, type(data)):
                raise TypeError(
                    f"{type(data).__name__} does not implement {function.__name__!r}: a structure "
                    "without parts has no torch layer."
                )
        theta = workspace(data)[0]
        if len(shapes) != len(theta):
            raise ValueError(
                f"potentials must be {len(theta)} tensors, one for each array of theta; got "
                f"{len(shapes)}."
            )
        given = scored(data)
        slots, at = {}, 0
        for (name, shape), array in zip(shapes.items(), theta, strict=True):
            check_shape(name, shape, (n, *array.shape))
            slots[name] = Slot(None, at, array.size, given.n_cells)
            at += array.size
        return Encoded(given, slots, np.arange(n), n, n)

    def outputs(
        self, encoded: Encoded, shapes: dict[str, tuple[int, ...]], cells: list[np.ndarray]
    ) -> Any:
        """Return the outputs as the structure decodes them."""
        data = encoded.data.inner
        return [self.structure.decode(data, i, own) for i, own in enumerate(cells)]
