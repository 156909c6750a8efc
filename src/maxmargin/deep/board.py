"""Boards: problems that take one batch after the other.

Making a `Problem` takes longer than the losses of a batch: types are looked up, addresses packed.
So the arrays of a new batch are copied over those of an old one where all of them have the same
shapes, and the workspaces were made for sizes that are no smaller. Searches that remember outputs
by example start afresh: what they keep is made for each batch, and copied over too.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np

from maxmargin.core.contract import output_sizes
from maxmargin.core.problem import Problem
from maxmargin.costs import CRITERIA
from maxmargin.deep.passes import Sheet
from maxmargin.deep.structures.base import Encoded
from maxmargin.search.choose import bind_search
from maxmargin.search.direct import Direct
from maxmargin.search.hull.rooms import HullThenProfile
from maxmargin.search.profile import ProfileSearch
from maxmargin.training.task import Task

#: How many boards a layer keeps.
MOST_BOARDS = 8

#: A board whose search has more scratch than this is not kept.
MOST_BYTES = 1 << 24

#: Searches whose rooms grow with the frame of a batch and with `n_levels` alone.
KNOWN_SEARCHES = (Direct, ProfileSearch, HullThenProfile)


class Board:
    """A problem, and which batch it holds.

    Parameters
    ----------
    encoded : Encoded
    tables : its cost, as compiled code reads it
    make, bind : functions of data and cost; they return the problem, and its search alone
    """

    def __init__(self, encoded: Encoded, tables: Any, make: Any, bind: Any) -> None:
        given = encoded.data, tables
        self._own = _copied(given)
        self._poured = given
        self.problem: Problem = make(*_like(given, self._own))
        self._bind = bind
        self._next: tuple[Any, Any] = (None, None)  # a batch that will be poured, and its search
        self.frame, self.held = encoded.frame, encoded
        self.signature = described(encoded, tables)
        self.lock = threading.Lock()
        self.w = np.zeros(self.problem.n_weights)
        self.sheet = self._new_sheet(len(encoded.kept))

    @property
    def can_be_used_again(self) -> bool:
        """Whether another batch may be poured into this problem."""
        data, cost, _, search, _ = self.problem.view
        # Rooms of profiles grow with the square of lengths: large ones go with their batch.
        if not isinstance(search, Direct) and _n_bytes(self.problem.desk()) > MOST_BYTES:
            return False
        are_arrays = isinstance(data, tuple) and isinstance(cost, tuple)
        return isinstance(search, KNOWN_SEARCHES) and are_arrays

    def takes(self, encoded: Encoded, found: Any, search_of: Any) -> bool:
        """Tell whether a batch of this signature fits into the arrays and workspaces.

        ``search_of()`` returns a search made for the batch, the same at every call.
        """
        is_like = found == self.signature and all(
            new <= old for new, old in zip(encoded.frame, self.frame, strict=True)
        )
        search = self.problem.view.search
        if not is_like or isinstance(search, Direct):
            return is_like
        self._next = encoded, search_of()
        return _search_fits(search, self._next[1])

    def _new_sheet(self, n: int) -> Sheet:
        """Return arrays to read the n examples that are looked at from, and to write to."""
        sizes = self.problem.sizes[:n]
        ends = np.cumsum(sizes)
        outputs = self.problem.empty_outputs(int(ends[-1]))
        return Sheet(self.w, outputs, ends - sizes, np.zeros((3, n)), np.zeros_like(self.w))

    def pour(self, encoded: Encoded, tables: Any) -> None:
        """Take another batch."""
        if self.held is encoded:
            return
        given = encoded.data, tables
        _copy_over(self._own, given, self._poured)
        self._poured = given
        search = self.problem.view.search
        if not isinstance(search, Direct):
            held, new = self._next
            _start_afresh(search, new if held is encoded else self._bind(*given))
        if encoded.sizes is None or encoded.sizes != self.held.sizes:
            if self.problem.sizes.flags.writeable:  # else it is one of the arrays above
                self.problem.sizes[:] = output_sizes(self.problem.view.data)
            self.sheet = self._new_sheet(len(encoded.kept))
        self.held = encoded


def described(encoded: Encoded, tables: Any) -> tuple[Any, ...]:
    """Return what must be equal for two batches to have arrays of the same shapes."""
    found: list[Any] = []
    _describe(encoded.key if encoded.key is not None else encoded.data, found)
    _describe(tables, found)
    return tuple(found)


def _describe(value: Any, found: list[Any]) -> None:
    if isinstance(value, tuple):
        found.append(type(value))
        for item in value:
            _describe(item, found)
    elif isinstance(value, np.ndarray):
        found.append((value.shape, value.dtype.char))
    else:
        found.append(value)


def _copied(value: Any) -> Any:
    """Return tuples of writeable copies of all arrays of a value."""
    if isinstance(value, tuple):
        return tuple([_copied(item) for item in value])
    return value.copy() if isinstance(value, np.ndarray) else value


def _like(value: Any, own: Any) -> Any:
    """Return a value with the arrays of ``own``, each as writeable or not as it was."""
    if isinstance(value, tuple):
        items = [_like(*pair) for pair in zip(value, own, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if not isinstance(value, np.ndarray):
        return value
    view = own.view()
    view.flags.writeable = value.flags.writeable
    return view


def _copy_over(own: Any, new: Any, old: Any) -> None:
    """Copy the arrays of a new batch to ``own``, but for those that are the old batch's too.

    What oracles write to is never the same in two batches: structures make it anew.
    """
    if new is old:
        return
    if isinstance(new, tuple):
        for triple in zip(own, new, old, strict=True):
            _copy_over(*triple)
    elif isinstance(new, np.ndarray):
        np.copyto(own, new)


def _n_bytes(value: Any) -> int:
    """Return how many bytes the arrays of tuples have."""
    if isinstance(value, tuple):
        return sum(map(_n_bytes, value))
    return value.nbytes if isinstance(value, np.ndarray) else 0


def _search_fits(old: Any, new: Any, name: str = "") -> bool:
    """Tell whether a search has arrays and numbers like those of another, and no more levels."""
    if isinstance(old, tuple):
        return type(old) is type(new) and all(
            _search_fits(a, b, field)
            for field, a, b in zip(old._fields, old, new, strict=True)  # type: ignore[attr-defined]
        )
    if isinstance(old, np.ndarray):
        return bool(old.shape == new.shape and old.dtype == new.dtype)
    return bool(new <= old if name == "n_levels" else new == old)


def _start_afresh(old: Any, new: Any) -> None:
    """Copy the arrays of a new search to those of an old one.

    What is not writeable belongs to the data, and has been copied with them.
    """
    if isinstance(old, tuple):
        for pair in zip(old, new, strict=True):
            _start_afresh(*pair)
    elif isinstance(old, np.ndarray) and old.flags.writeable:
        np.copyto(old, new)


class Boards:
    """The boards of a layer: the few that were used last.

    Parameters
    ----------
    structure, cost, surrogate, search, n_jobs : as the layer has them
    """

    def __init__(self, structure: Any, cost: Any, surrogate: Any, search: Any, n_jobs: int) -> None:
        self._structure, self._cost, self._surrogate = structure, cost, surrogate
        self._search, self._n_jobs = search, n_jobs
        self._kept: list[Board] = []
        self._tables: Any = None
        self._sizes: bytes | None = None

    def tables(self, encoded: Encoded) -> Any:
        """Return the cost of a batch as compiled code reads it; that of the last one is kept."""
        if encoded.sizes is None or encoded.sizes != self._sizes:
            self._tables = self._structure.tables(self._cost, encoded.data)
            self._sizes = encoded.sizes
        return self._tables

    def of(self, encoded: Encoded, tables: Any) -> Board:
        """Return a board that holds a batch, or can be made to hold it by `Board.pour`."""
        found = described(encoded, tables)
        search_of = cache(lambda: self._bind(encoded.data, tables))
        for board in self._kept:
            if board.takes(encoded, found, search_of):
                self._keep(board)
                return board
        board = Board(encoded, tables, self._make, self._bind)
        # Criteria of a surrogate's own stand in the place of the cost, which alone is poured.
        has_own = CRITERIA.get(getattr(self._surrogate, "criteria", "cost")) is not None
        if board.can_be_used_again and not has_own:
            self._keep(board)
        return board

    def _keep(self, board: Board) -> None:
        """Put a board first; the one that has not been used for longest may have to go."""
        if not self._kept or self._kept[0] is not board:
            others = [other for other in self._kept if other is not board]
            self._kept = [board, *others[: MOST_BOARDS - 1]]

    def _make(self, data: Any, cost: Any) -> Problem:
        n = len(output_sizes(data))
        task = Task(data, cost, n, np.ones(n))
        return task.problem(self._surrogate, 1.0, self._n_jobs, self._search)

    def _bind(self, data: Any, cost: Any) -> Any:
        return bind_search(self._search, self._surrogate, data, cost)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": []}  # boards belong to this process
