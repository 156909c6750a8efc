"""1 - F1 of one label set against the true one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.contract import TrueParts
from maxmargin.costs.base import Cost, Names, both_costs
from maxmargin.costs.tables import F1Cost


@dataclass(frozen=True)
class ExampleF1(Cost):
    """1 - F1 of each label set: 1 - 2 |y and y_i| / (|y| + |y_i|). For label sets only.

    Sets of nodes of a hierarchy have no oracle for it. It is no sum over labels: its oracle is
    exact for independent labels, and where all label sets can be listed. With edges between more
    labels the surrogate `MicroF1` stands for it.

    Examples
    --------
    >>> ExampleF1().tabulate("switches", ["a", "b"], [[1, 1], [0, 2]]).price
    array([1., 1.])
    """

    @classmethod
    def prices(cls, kind: str) -> bool:
        """Tell whether the cost has tables for a kind of parts.

        Nodes of a hierarchy are switches too, but no search of theirs finds the worst F1.
        """
        return kind != "nodes" and super().prices(kind)

    def switches(self, names: Names, sizes: np.ndarray) -> F1Cost:
        """Return the loss as compiled code reads it; refuse empty truths, which teach nothing."""
        empty = np.flatnonzero(sizes[:, 1] == 0)
        if len(empty):
            raise ValueError(
                f"ExampleF1: sample {empty[0]} has an empty truth under F1: it has no label, so "
                f"every output but the empty set costs the same ({len(empty)} such samples). Leave "
                "them out, or choose another cost."
            )
        return F1Cost(np.ones(len(sizes)))

    def costs_of(
        self, parts: TrueParts, names: Names, found: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return costs and largest costs; of an empty truth the empty set costs 0, any other 1."""
        return both_costs(F1Cost(np.ones(len(parts.lengths))), parts, found)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost (there are none)."""
        return {}
