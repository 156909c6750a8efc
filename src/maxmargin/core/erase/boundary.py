"""The boundary of a problem: its structure, cost and search behind addresses.

A `Boundary` packs what compiled code reads through addresses, and keeps it alive. It belongs to one
`Problem` (or to one prediction) and ends with it; nothing else keeps what it packs. Compiled code
is kept for the process, as numba keeps it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from maxmargin.core.contract import (
    find,
    implements,
    k_best_room,
    output_cost,
    profile_room,
    search_room,
)
from maxmargin.core.dispatch import implementation
from maxmargin.core.erase.anything import AnyRoom, AnySearch, AnyTheta
from maxmargin.core.erase.entries import ENTRIES
from maxmargin.core.erase.passes import Pass
from maxmargin.core.erase.priced import Priced
from maxmargin.core.erase.uses import used_entries
from maxmargin.core.erase.words import Handle, Packed, flatten, words_at
from maxmargin.core.laws import LawDesk

__all__ = ["Boundary", "bind_prediction"]


class Boundary:
    """A problem as passes see it, with all that is behind its addresses.

    Parameters
    ----------
    problem : Problem for which `why_not_erased` finds no reason
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
        # They get no method of the problem, which refers to this boundary: see `Problem.bind`.
        empty_outputs = partial(np.zeros, dtype=problem.truths.dtype)
        self._front = SimpleNamespace(view=front, sizes=problem.sizes, empty_outputs=empty_outputs)
        self._seen = Packed(view._replace(data=priced.data, cost=priced.cost, search=()))
        self._searched = Packed(view.search)
        self._table = np.zeros(len(ENTRIES), dtype=np.int64)
        searched = AnySearch(self._searched.address, words_at(self._table), self._seen.address)
        self._view = self._flat(self._seen.value._replace(search=searched))
        self._desks: dict[int, Any] = {}
        self._kept: list[Any] = []
        self._lock = threading.Lock()
        self._desk_class = type(desk)
        self._twin(desk)

    def bind(self, function: Callable) -> Callable:
        """Return a pass that is given this problem's own view and desks, and sees them erased."""
        used = used_entries(function)
        if find in used:
            used |= self._put_find()
        self._priced.put(used)
        return Pass(function, self._stand_in, self._priced.raised)

    def _put_find(self) -> frozenset[Callable]:
        """Put the search into its table; return the functions that it calls."""
        kind = type(self._search)
        used = used_entries(cast(Callable, implementation(find, kind)), kind)
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
        if isinstance(value, LawDesk):
            return self._law_twin(value)
        return self._twin(value) if isinstance(value, self._desk_class) else None

    def _twin(self, desk: Any) -> Any:
        """Return the desk that passes see in the place of a desk, with the same arrays."""
        with self._lock:
            if id(desk) in self._desks:
                return self._desks[id(desk)]
            keep = self._priced.keep
            theta, room = keep("theta", desk.theta), keep("room", desk.room)
            difference = keep("theta", desk.theta_difference)
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

    def _law_twin(self, desk: LawDesk) -> Any:
        """Return what passes see in the place of a desk for laws, with the same arrays."""
        with self._lock:
            if id(desk) not in self._desks:
                keep = self._priced.keep
                kept = keep("theta", desk.mu), keep("theta", desk.theta), keep("room", desk.own)
                self._kept += [*kept, desk]
                mu, theta, own = (each.address for each in kept)
                seen = desk._replace(mu=AnyTheta(mu), theta=AnyTheta(theta), own=AnyRoom(own))
                self._desks[id(desk)] = self._flat(seen)
            return self._desks[id(desk)]

    @staticmethod
    def _flat(value: Any) -> tuple[Any, list[int], Any]:
        words: list[int] = []
        key = flatten(value, words)
        return value, words, key


class _Maker:
    """Stands for data and cost where a search asks for the rooms of oracles."""

    def __init__(self, priced: Priced) -> None:
        self.priced = priced
        self.kept: list[Packed | Handle] = []

    def keep(self, make: Callable, *arguments: Any) -> AnyRoom:
        packed = self.priced.keep("room", make(*self.priced.raw, *arguments))
        self.priced.own[make] = packed.kind.inner
        self.kept.append(packed)
        return AnyRoom(packed.address)


@implements(profile_room, _Maker, _Maker)
def _profile_room(data: Any, cost: Any) -> AnyRoom:
    return data.keep(profile_room)


@implements(k_best_room, _Maker)
def _k_best_room(data: Any, cost: Any, k: Any) -> AnyRoom:
    return data.keep(k_best_room, k)


def bind_prediction(
    function: Callable,
    data: Any,
    free: Any,
    cost: Any,
    sizes: np.ndarray,
    rooms: list[Any],
    cells: np.dtype,
) -> tuple[Callable, Any, list[Any]]:
    """Return `predict_examples` as a pass, with what it is given in the place of data and rooms.

    ``rooms`` has (theta, room, y) of each thread. The pass keeps alive what is packed.
    """
    theta, room, _ = rooms[0]
    priced = Priced(data, free, sizes, theta, room, cells)
    judge = priced if cost is None else Priced(data, cost, sizes, theta, room, cells)
    used = used_entries(function)
    priced.put(used - {output_cost})
    if cost is not None:
        judge.put(used & {output_cost})
    kept = [(priced.keep("theta", theta), priced.keep("room", room), y) for theta, room, y in rooms]
    erased = [(AnyTheta(theta.address), AnyRoom(room.address), y) for theta, room, y in kept]
    run = Pass(function, raised=priced.raised, keeps=(priced, judge, kept))
    return run, (priced.data, priced.cost, judge.cost), erased
