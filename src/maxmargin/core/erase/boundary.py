"""The boundary of a problem: its structure, cost and search behind addresses.

A `Boundary` packs what compiled code reads through addresses, and keeps it alive. It belongs to one
`Problem` (or to one prediction) and ends with it; nothing else keeps what it packs. Compiled code
is kept for the process, as numba keeps it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np

from maxmargin.core.contract import (
    find,
    has,
    implements,
    k_best_room,
    maximize_bounded,
    mix,
    output_length,
    profile,
    profile_output,
    profile_room,
    profile_up_to,
    search_room,
    shift,
)
from maxmargin.core.erase.anything import AnyCost, AnyData, AnyRoom, AnySearch, AnyTheta
from maxmargin.core.erase.entries import ENTRIES
from maxmargin.core.erase.passes import Pass
from maxmargin.core.erase.uses import used_entries
from maxmargin.core.erase.words import Packed, flatten, why_not_packable, words_at

__all__ = ["Boundary", "Priced", "why_not_erased"]

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


class Boundary:
    """A problem as passes see it, with all that is behind its addresses.

    Parameters
    ----------
    problem : Problem, whose view consists of NamedTuples
    """

    def __init__(self, problem: Any) -> None:
        view = problem.view
        self._typed_view, self._search = view, view.search
        desk = problem.desk()
        self._priced = priced = Priced(
            view.data, view.cost, problem.sizes, desk.theta, desk.room, problem.truths.dtype
        )
        self._maker = _Maker(priced)
        # Searches ask for the rooms of oracles through these two.
        front = SimpleNamespace(data=self._maker, cost=self._maker)
        self._front = SimpleNamespace(
            view=front, sizes=problem.sizes, empty_outputs=problem.empty_outputs
        )
        self._seen = Packed(view._replace(data=priced.data, cost=priced.cost, search=()))
        self._searched = Packed(view.search)
        self._table = np.zeros(len(ENTRIES), dtype=np.int64)
        searched = AnySearch(self._searched.address, words_at(self._table), self._seen.address)
        self._view = self._flat(self._seen.value._replace(search=searched))
        self._desks: dict[int, Any] = {}
        self._kept: list[Any] = []
        self._bound: dict[Callable, Callable] = {}
        self._lock = threading.Lock()
        self._desk_class = type(desk)
        self._twin(desk)

    def bind(self, function: Callable) -> Callable:
        """Return a pass that is given this problem's own view and desks, and sees them erased."""
        if function not in self._bound:
            used = used_entries(function)
            if find in used:
                used |= self._put_find()
            self._priced.put(used)
            self._bound[function] = Pass(function, self._stand_in)
        return self._bound[function]

    def _put_find(self) -> frozenset[Callable]:
        """Put the search into its table; return the functions that it calls."""
        kind = type(self._search)
        used = used_entries(find.implementations[kind,], kind)  # type: ignore[attr-defined]
        entry = ENTRIES[find]
        if not self._table[entry.place]:
            known = {"search": self._searched, "problem": self._seen, "desk": self._kept[0]}
            inner = {name: packed.kind.inner for name, packed in known.items()}
            self._table[entry.place] = entry.address(entry.packed(self._priced.cell, inner))
        return used

    def _stand_in(self, value: Any) -> Any:
        """Return the words and the key of what stands for a view or desk; None for other values."""
        if value is self._typed_view:
            return self._view
        return self._twin(value) if isinstance(value, self._desk_class) else None

    def _twin(self, desk: Any) -> Any:
        """Return the desk that passes see in the place of a desk, with the same arrays."""
        with self._lock:
            if id(desk) in self._desks:
                return self._desks[id(desk)]
            theta, room, difference = map(Packed, (desk.theta, desk.room, desk.theta_difference))
            seen = desk._replace(
                theta=AnyTheta(theta.address),
                room=AnyRoom(room.address),
                theta_difference=AnyTheta(difference.address),
                search_room=search_room(self._search, self._front),
            )
            packed = Packed(seen)
            self._kept += [packed, theta, room, difference, desk]
            erased = self._flat(seen._replace(search_room=AnyRoom(packed.address)))
            self._desks[id(desk)] = erased
            return erased

    @staticmethod
    def _flat(value: Any) -> tuple[Any, list[int], Any]:
        words: list[int] = []
        key = flatten(value, words)
        return value, words, key


class _Maker:
    """Stands for data and cost where a search asks for the rooms of oracles."""

    def __init__(self, priced: Priced) -> None:
        self.priced = priced
        self.kept: list[Packed] = []

    def keep(self, make: Callable, *arguments: Any) -> AnyRoom:
        packed = Packed(make(*self.priced.raw, *arguments))
        self.priced.own[make] = packed.kind.inner
        self.kept.append(packed)
        return AnyRoom(packed.address)


@implements(profile_room, _Maker, _Maker)
def _profile_room(data: Any, cost: Any) -> AnyRoom:
    return data.keep(profile_room)


@implements(k_best_room, _Maker, _Maker)
def _k_best_room(data: Any, cost: Any, k: Any) -> AnyRoom:
    return data.keep(k_best_room, k)
