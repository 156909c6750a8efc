"""Passes that Python calls through their addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from maxmargin.core.erase.callbacks import CallbackError
from maxmargin.core.erase.entries import pass_entry
from maxmargin.core.erase.invoke import invoker
from maxmargin.core.erase.words import Lately, flatten, words_at

__all__ = ["Pass"]


def _nothing(value: Any) -> None:
    """Return None: every argument is given as it is."""


class Pass:
    """A pass that Python calls: it packs the arguments, and calls the pass through its address.

    Parameters
    ----------
    function : the pass, a function of NamedTuples, arrays and numbers
    stand_in : function of an argument; returns (value, words, key) of what stands for it, or None
    raised : list of what callbacks have raised, see `maxmargin.core.erase.callbacks`
    keeps : what must live as long as the pass
    """

    def __init__(
        self,
        function: Callable,
        stand_in: Callable[[Any], Any] = _nothing,
        raised: list[BaseException] | None = None,
        keeps: Any = (),
    ) -> None:
        self._raised, self._keeps = raised, keeps
        self._entry, self._stand_in = pass_entry(function), stand_in
        self._lately = Lately()

    def __call__(self, *arguments: Any) -> Any:
        """Run the pass."""
        words: list[int] = []
        keys = []
        for value in arguments:
            if not isinstance(value, tuple):
                keys.append(flatten(value, words))
                continue
            other = self._stand_in(value)
            if other is None:
                keys.append(self._lately.flatten(value, words))
            else:
                words += other[1]
                keys.append(other[2])
        key = tuple(keys)
        known = self._entry.known
        if key not in known:
            known[key] = self._find(arguments)
        packed = np.array(words, dtype=np.int64)
        try:
            return known[key](words_at(packed))
        except CallbackError:
            if not self._raised:
                raise
        raise self._raised.pop()

    def _find(self, arguments: tuple[Any, ...]) -> Callable[[int], Any]:
        given = [self._stand_in(value) if isinstance(value, tuple) else None for value in arguments]
        pairs = zip(arguments, given, strict=True)
        kind = numba.typeof(tuple(own if other is None else other[0] for own, other in pairs))
        return invoker(*self._entry.find(kind))
