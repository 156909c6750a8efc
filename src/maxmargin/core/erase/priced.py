"""Data and a cost behind addresses: the table of their entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np

from maxmargin.core.contract import (
    add_difference,
    add_differences,
    add_few,
    add_listed,
    add_parts,
    add_prices,
    can_require,
    capabilities,
    clear_difference,
    difference_potentials,
    difference_potentials_of,
    difference_square,
    few_scores,
    find,
    gather,
    has,
    k_best_room,
    law_parts,
    law_room,
    lean,
    margin_error,
    marginals,
    maximize,
    maximize_bounded,
    maximize_within,
    output_cost,
    output_parts,
    output_sizes,
    parts_square,
    potentials,
    potentials_of,
    profile,
    profile_output,
    profile_room,
    profile_up_to,
    shift,
    spread,
    truths,
    workspace,
)
from maxmargin.core.dispatch import implementation
from maxmargin.core.erase.anything import AnyCost, AnyData
from maxmargin.core.erase.callbacks import Callbacks
from maxmargin.core.erase.entries import ENTRIES, OracleEntry, is_ours
from maxmargin.core.erase.uses import used_functions
from maxmargin.core.erase.words import (
    Handle,
    Packed,
    pack,
    why_not_packable,
    without_features,
    words_at,
)

__all__ = ["Priced", "entries_of", "why_not_erased"]

#: `mix`, `output_length`, `shift`, `clear_difference` and these have a default that needs no entry:
#: the table holds 0, and their callers do the rest, by what is named here.
_INSTEAD: dict[Callable, tuple[Callable, ...]] = {
    maximize_bounded: (maximize, margin_error, shift, output_cost),
    profile_up_to: (profile,),
    add_differences: (add_difference,),
    difference_potentials: (add_difference, potentials, clear_difference),
    difference_square: (difference_potentials, margin_error),
    potentials_of: (potentials,),
    difference_potentials_of: (difference_potentials,),
}


#: These have a default that is an entry like any other. All other functions must be implemented.
_DEFAULTED = (margin_error, add_difference, gather, spread, parts_square)
#: Capabilities by value: where they are missing, these functions cannot be called.
_NEEDED = dict.fromkeys((profile, profile_up_to, profile_output), "profile") | dict.fromkeys(
    (marginals, law_parts, lean, add_prices, gather, spread, parts_square), "marginals"
)
#: These read the features of examples. What else our structures implement sees potentials, so its
#: code is the same for all features.
_SEEING = frozenset(
    {
        potentials,
        add_difference,
        add_differences,
        difference_potentials,
        difference_square,
        potentials_of,
        difference_potentials_of,
        clear_difference,
        add_parts,
        few_scores,
        add_few,
        add_listed,
        parts_square,
    }
)
#: What may be an object whose functions compiled code calls back.
CALLED_BACK = ("data", "cost", "free")
#: These functions of the contract have no entry. A search that calls them runs as Python.
PYTHON_ONLY = frozenset({maximize_within, output_parts, can_require})


def why_not_erased(parts: dict[str, Any], cells: np.dtype) -> str:
    """Return why a problem cannot be behind addresses; "" if it can.

    ``parts`` are its data, cost, surrogate and search by name. Data and cost may be objects: then
    their entries are callbacks into Python.
    """
    if numba.config.DISABLE_JIT:
        return "nothing is compiled under NUMBA_DISABLE_JIT"
    if cells not in (np.dtype(np.int32), np.dtype(np.float64)):
        return f"the cells of outputs are {cells}, not int32 or float64"
    for name, part in parts.items():
        if isinstance(part, tuple):
            reason = why_not_packable(name, part)
        elif name in CALLED_BACK:
            reason = ""
        else:
            reason = f"{name} is an object, not a NamedTuple of arrays"
        if reason:
            return reason
    kind = type(parts.get("search"))
    found = implementation(find, kind)
    if found is not None and not used_functions(found, kind).isdisjoint(PYTHON_ONLY):
        return f"{kind.__name__} cuts outputs into branches, as Python"
    return ""


class Priced:
    """Data and one cost behind addresses.

    Parameters
    ----------
    data, cost : NamedTuples, or objects whose functions are called back
    sizes : int64 array of the output sizes
    theta, room : what `workspace` makes for the data
    cells : dtype of the cells of outputs
    """

    def __init__(
        self, data: Any, cost: Any, sizes: np.ndarray, theta: Any, room: Any, cells: np.dtype
    ) -> None:
        self.raw = data, cost
        self.cell = numba.typeof(cells.type(0))
        self._callbacks = None if _are_tuples(data, cost) else Callbacks(self.cell)
        self._packed = self.keep("data", data), self.keep("cost", cost)
        self._table, self._sizes = np.zeros(len(ENTRIES), dtype=np.int64), sizes
        kept, priced = self._packed
        table = words_at(self._table)
        self.data = AnyData(kept.address, table, words_at(sizes), cells.type(0))
        self.cost = AnyCost(priced.address, table)
        self.types = {
            "data": kept.kind.inner,
            "cost": priced.kind.inner,
            "theta": pack("theta", theta).kind.inner,
            "room": pack("room", room).kind.inner,
        }
        #: Types of the scratch of oracles that have their own, by the function that makes it.
        self.own: dict[Callable, Any] = {}

    @property
    def raised(self) -> list[BaseException]:
        """What callbacks have raised, the newest last."""
        return [] if self._callbacks is None else self._callbacks.raised

    def keep(self, name: str, value: Any) -> Packed | Handle:
        """Return a value packed, so that callbacks know it; the caller keeps it alive."""
        packed = pack(name, value)
        if self._callbacks is not None:
            self._callbacks.objects[packed.address] = value
        return packed

    def put(self, functions: frozenset[Callable]) -> None:
        """Put the entries of these functions into the table, those with a trivial default aside."""
        left = list(functions)
        while left:
            function = left.pop()
            entry = ENTRIES[function]
            if function is find or self._table[entry.place]:
                continue
            if not self.is_entry(function):
                left += _INSTEAD.get(function, ())
                continue
            if _are_tuples(*self._given(function)):
                self._table[entry.place] = entry.address(self.packed_types(function))
            else:
                self._table[entry.place] = cast(Callbacks, self._callbacks).address(entry)

    def is_entry(self, function: Callable) -> bool:
        """Tell whether data and cost have an entry for a function of the contract."""
        return has(function, *map(type, self._given(function))) or function in _DEFAULTED

    def packed_types(self, function: Callable) -> Any:
        """Return the type of the packed arguments of the entry of a function."""
        return ENTRIES[function].packed(self.cell, self._known(function))

    def _given(self, function: Callable) -> tuple[Any, ...]:
        """Return what a function is chosen by: data, or data and cost."""
        return self.raw if "cost" in ENTRIES[function].arguments else self.raw[:1]

    def _known(self, function: Callable) -> dict[str, Any]:
        """Return the types of a function's arguments by name."""
        known = self.types
        if not self._sees_features(function):
            known = known | {"data": without_features(known["data"])}
        if "own" not in ENTRIES[function].arguments:
            return known
        make = k_best_room
        if function in (profile, profile_up_to, profile_output):
            make = profile_room
        elif function is marginals:
            make = law_room
        if make not in self.own:
            given = {profile_room: self.raw, law_room: self.raw[:1]}.get(make, (*self.raw, 1))
            self.own[make] = pack("room", make(*given)).kind.inner
        return known | {"own": self.own[make]}

    def _sees_features(self, function: Callable) -> bool:
        """Tell whether the code of a function may read features; others' code always may."""
        given = self._given(function)
        chosen = implementation(function, *map(type, given)) or function
        return function in _SEEING or not all(map(is_ours, (chosen, *map(type, given))))


def _are_tuples(*parts: Any) -> bool:
    return all(isinstance(part, tuple) for part in parts)


def entries_of(data: Any, cost: Any) -> list[tuple[OracleEntry, Any]]:
    """Return all entries that data with this cost have, each with the type of its arguments.

    It compiles nothing. `Entry.symbol` names the code of an entry for such a type, and `Entry.code`
    compiles it.

    Examples
    --------
    >>> from maxmargin.testing import tiny_problem
    >>> view = tiny_problem("chain").view
    >>> found = entries_of(view.data, view.cost)
    >>> [entry.function.__name__ for entry, _ in found][:3]
    ['potentials', 'margin_error', 'add_difference']
    """
    sizes = np.asarray(output_sizes(data), dtype=np.int64)
    theta, room = workspace(data)
    priced = Priced(data, cost, sizes, theta, room, truths(data).dtype)
    own = capabilities(data, cost)
    found = []
    for function, entry in ENTRIES.items():
        needs = _NEEDED.get(function)
        if function is not find and priced.is_entry(function) and (needs is None or needs in own):
            found.append((entry, priced.packed_types(function)))
    return found
