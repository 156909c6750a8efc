"""Data and a cost behind addresses: the table of their entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from maxmargin.core.contract import (
    find,
    has,
    k_best_room,
    maximize_bounded,
    mix,
    output_length,
    profile,
    profile_output,
    profile_room,
    profile_up_to,
    shift,
)
from maxmargin.core.erase.anything import AnyCost, AnyData
from maxmargin.core.erase.entries import ENTRIES
from maxmargin.core.erase.words import Packed, why_not_packable, words_at

__all__ = ["Priced", "why_not_erased"]

#: These have a default that needs no entry: the table holds 0, and their callers do the rest.
_TRIVIAL = (mix, output_length, shift, maximize_bounded, profile_up_to)
#: What a default calls instead.
_INSTEAD = {
    maximize_bounded: ("maximize", "margin_error", "shift", "output_cost"),
    profile_up_to: ("profile",),
}


def why_not_erased(parts: dict[str, Any], cells: np.dtype) -> str:
    """Return why NamedTuples, given by name, cannot be behind addresses; "" if they can."""
    if numba.config.DISABLE_JIT:
        return "nothing is compiled under NUMBA_DISABLE_JIT"
    if cells not in (np.dtype(np.int32), np.dtype(np.float64)):
        return f"the cells of outputs are {cells}, not int32 or float64"
    return next(filter(None, (why_not_packable(*part) for part in parts.items())), "")


class Priced:
    """Data and one cost behind addresses.

    Parameters
    ----------
    data, cost : NamedTuples
    sizes : int64 array of the output sizes
    theta, room : what `workspace` makes for the data
    cells : dtype of the cells of outputs
    """

    def __init__(
        self, data: Any, cost: Any, sizes: np.ndarray, theta: Any, room: Any, cells: np.dtype
    ) -> None:
        self.raw = data, cost
        self.cell = numba.typeof(cells.type(0))
        self._packed = Packed(data), Packed(cost)
        self._table, self._sizes = np.zeros(len(ENTRIES), dtype=np.int64), sizes
        kept, priced = self._packed
        table = words_at(self._table)
        self.data = AnyData(kept.address, table, words_at(sizes), cells.type(0))
        self.cost = AnyCost(priced.address, table)
        self.types = {
            "data": kept.kind.inner,
            "cost": priced.kind.inner,
            "theta": numba.typeof(theta),
            "room": numba.typeof(room),
        }
        #: Types of the scratch of oracles that have their own, by the function that makes it.
        self.own: dict[Callable, Any] = {}

    def put(self, functions: frozenset[Callable]) -> None:
        """Put the entries of these functions into the table, those with a trivial default aside."""
        left = list(functions)
        while left:
            function = left.pop()
            entry = ENTRIES[function]
            if function is find or self._table[entry.place]:
                continue
            if function in _TRIVIAL and not has(function, *self._kinds(function)):
                names = _INSTEAD.get(function, ())
                left += [each for each in ENTRIES if each.__name__ in names]
                continue
            self._table[entry.place] = entry.address(entry.packed(self.cell, self._known(function)))

    def _kinds(self, function: Callable) -> tuple[type, ...]:
        kinds = tuple(map(type, self.raw))
        return kinds if "cost" in ENTRIES[function].arguments else kinds[:1]

    def _known(self, function: Callable) -> dict[str, Any]:
        """Return the types of a function's arguments by name."""
        if "own" not in ENTRIES[function].arguments:
            return self.types
        is_profile = function in (profile, profile_up_to, profile_output)
        make = profile_room if is_profile else k_best_room
        if make not in self.own:
            self.own[make] = numba.typeof(make(*self.raw) if is_profile else make(*self.raw, 1))
        return {**self.types, "own": self.own[make]}
