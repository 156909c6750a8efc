"""Structures of one's own for torch layers: those that run compiled and have parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.core.contract import (
    add_parts,
    has,
    has_laws,
    k_best,
    k_best_room,
    law_parts,
    law_room,
    law_sizes,
    marginals,
    output_size,
    parts,
    truth_sizes,
    workspace,
)
from maxmargin.core.contract import truths as true_cells
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
        plain Python has no parts and is refused. With `k_best` the layer has the k best outputs,
        with the functions of `maxmargin.core.contract.laws` that make laws (`marginals`) marginals,
        and with a method ``log_partition(data, i, theta)`` besides, log sum_y exp(score(y)),
        likelihoods.
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

    # -- what a layer offers besides losses, where the structure does ------------------------------

    def beside(self, encoded: Encoded, edges: Any, cost: Any) -> list[Any]:
        """Return the data, a cost that chooses the oracles, and the number of each example."""
        data = encoded.data.inner
        tables = self.tables(cost, encoded.data).inner
        return [(data, tables, i) for i in range(encoded.n_examples)]

    def is_shared(self, name: str, array: np.ndarray) -> bool:
        """Tell that each example has potentials of its own."""
        return False

    def k_best(self, own: dict[str, np.ndarray], k: int, edges: Any) -> list[tuple[Any, float]]:
        """Return the k best outputs, as the structure decodes them."""
        data, cost, i = edges
        if not has(k_best, type(data), type(cost)):
            raise TypeError(
                f"{type(data).__name__} does not implement 'k_best' with {type(cost).__name__}: "
                "it has no k best outputs."
            )
        theta, room = _filled(data, own)
        size = int(output_size(data, i))
        cells = np.zeros(k * size, dtype=true_cells(data).dtype)
        count = k_best(
            data, cost, i, theta, room, 1.0, 0.0, k, k_best_room(data, cost, k), cells, 0
        )
        found = []
        for at in range(0, int(count) * size, size):
            mu = workspace(data)[0]
            parts(data, i, cells, at, 1.0, mu)
            output = self.structure.decode(data, i, cells[at : at + size])
            found.append((output, _score(theta, mu)))
        return found

    def expected(
        self, own: dict[str, np.ndarray], edges: Any
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Return the log partition, NaN if the structure does not know it, and expected parts."""
        data, _, i = edges
        missing = [each.__name__ for each in _LAWS if not has(each, type(data))]
        if missing:
            raise TypeError(
                f"{type(data).__name__} does not implement {missing[0]!r}: it has no marginals."
            )
        if not has_laws(data):
            raise TypeError(f"{type(data).__name__} says that it has no laws here, or marginals.")
        theta, _ = _filled(data, own)
        law, mu = np.zeros(int(law_sizes(data)[i])), workspace(data)[0]
        marginals(data, i, theta, law_room(data), 1.0, np.zeros(0), -1, law, 0)
        law_parts(data, i, law, 0, 1.0, mu)
        total = getattr(self.structure, "log_partition", None)
        log_partition = np.nan if total is None else float(total(data, i, _filled(data, own)[0]))
        return log_partition, dict(zip(own, mu, strict=True))

    def score(self, potentials: dict[str, Any], truths: Any, lengths: Any, edges: Any) -> Any:
        """Return the scores of true outputs."""
        from maxmargin.deep.needed import torch

        n = len(next(iter(potentials.values())))
        data = self.structure.data(range(n), self.read_truths(truths))
        cells, ends = true_cells(data), np.cumsum(truth_sizes(data))
        totals = []
        for i, at in enumerate((ends - truth_sizes(data)).tolist()):
            mu = workspace(data)[0]
            parts(data, i, cells, at, 1.0, mu)
            terms = []
            for tensor, counts in zip(potentials.values(), mu, strict=True):
                used = np.nonzero(counts)  # no -inf of a part that the output has not
                terms.append((tensor[i][used] * torch.from_numpy(counts[used])).sum())
            totals.append(sum(terms))
        return torch.stack(totals)


#: What marginals are made with.
_LAWS = (law_sizes, law_room, marginals, law_parts)


def _filled(data: Any, own: dict[str, np.ndarray]) -> tuple[Any, Any]:
    """Return theta with the potentials of one example, and the room of oracles."""
    theta, room = workspace(data)
    for array, given in zip(theta, own.values(), strict=True):
        array[...] = given
    return theta, room


def _score(theta: Any, mu: Any) -> float:
    """Return the score of the parts mu."""
    return float(sum((array * own)[own != 0.0].sum() for array, own in zip(theta, mu, strict=True)))
