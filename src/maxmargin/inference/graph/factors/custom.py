"""Factors of users: a class with one function, the message in closed form.

Algorithms are compiled once, for the kinds in `FACTORS`. A user's function is compiled for itself,
and called through its address, which the factor keeps as the first of its numbers. So nothing else
is compiled again, and every algorithm that asks for messages takes the factor.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import jitable, overloads
from maxmargin.inference.graph.factors.base import Factor

KIND = 7

#: The functions of users by the words that stand for them: addresses, where code is compiled.
_FUNCTIONS: dict[int, Callable[..., None]] = {}


class CustomFactor(Factor):
    """A factor whose messages a function of yours computes; derive from it.

    A derived class sets ``nodes``, returns its parameters from ``numbers()`` (none by default), and
    has a static method

        message(numbers, at, member, incoming, out)

    which fills out[:K], K = at[member + 1] - at[member], with

        r(x) = max over the labels of the other members of value + the sum of their messages.

    The message of member j is incoming[at[j] : at[j + 1]], with one number per label. Numbers may
    be -inf, never NaN or +inf: beware of -inf - -inf. It must not write to its arguments besides
    out. It is compiled by numba, so it can use what numba knows: numbers, arrays, loops.

    `check`, `value` and `on` may be overridden. A graph with such a factor cannot be pickled,
    because it holds an address.

    Examples
    --------
    The score of a pair of counts: -weight times their distance.

    >>> import numpy as np
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.graph.factors import CustomFactor
    >>> class Near(CustomFactor):
    ...     def __init__(self, nodes, weight):
    ...         self.nodes, self.weight = tuple(nodes), weight
    ...
    ...     def numbers(self):
    ...         return np.array([self.weight])
    ...
    ...     @staticmethod
    ...     def message(numbers, at, member, incoming, out):
    ...         other = 1 - member
    ...         for x in range(at[member + 1] - at[member]):
    ...             out[x] = -np.inf
    ...             for y in range(at[other + 1] - at[other]):
    ...                 value = incoming[at[other] + y] - numbers[0] * abs(x - y)
    ...                 out[x] = max(out[x], value)
    >>> graph = FactorGraph(np.zeros((2, 5)), factors=[Near((0, 1), 0.5)])
    >>> graph.score([4, 1])
    -1.5
    """

    #: The function of the class; see above.
    message: ClassVar[Callable[..., None]]
    kind = KIND

    def words(self) -> npt.NDArray[np.float64]:
        """Return the address of the function, the number of parameters, and the parameters."""
        function = getattr(type(self), "message", None)
        if function is None:
            raise TypeError(f"{type(self).__name__} has no message(); see CustomFactor.")
        given = np.asarray(self.numbers(), dtype=np.float64).reshape(-1)
        address = np.array([_address(function)], dtype=np.int64).view(np.float64)
        return np.concatenate([address, [float(len(given))], given])


@functools.cache
def _address(function: Callable[..., None]) -> int:
    """Return the address of a compiled function; where nothing is compiled, a number."""
    word = len(_FUNCTIONS) + 1
    if os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"):
        from numba import types
        from numba.core.errors import NumbaError

        from maxmargin.core.erase.entries import pass_entry

        try:
            word = pass_entry(function).address(types.Tuple(_kinds(None)))
        except NumbaError as error:
            raise TypeError(
                f"{function.__qualname__} cannot be compiled as message(numbers, at, member, "
                f"incoming, out): {error}"
            ) from error
    _FUNCTIONS[word] = function
    return word


def _kinds(cell: Any) -> list[Any]:
    """Return the numba types of the arguments of a user's function."""
    from numba import types

    read, at = types.Array(types.float64, 1, "C", True), types.Array(types.int64, 1, "C", True)
    return [read, at, types.int64, read, types.Array(types.float64, 1, "C")]


def _call(word: Any, numbers: Any, at: Any, member: int, incoming: Any, out: Any) -> None:
    """Call the function that `word`, an array of one number, stands for."""
    _FUNCTIONS[int(word.view(np.int64)[0])](numbers, at, member, incoming, out)


@functools.cache
def _caller() -> Any:
    from numba import types

    from maxmargin.core.erase.native import caller

    names = ("numbers", "at", "member", "incoming", "out")
    return caller("message", 0, names, _kinds, types.none)


@overloads(_call)
def _call_compiled(word, numbers, at, member, incoming, out):
    call = _caller()

    def run(word, numbers, at, member, incoming, out):
        call(word.ctypes.data, 0, (numbers, at, member, incoming, out))

    return run


@jitable
def message(shape: Any, tables: Any, factor: int, slot: int, incoming: Any, out: Any) -> None:
    """Fill out by the function of the factor; see base.py."""
    first, last = shape.member_at[factor], shape.member_at[factor + 1]
    table = shape.table_at[factor]
    n_numbers = int(tables[table + 1])
    _call(
        tables[table : table + 1],
        tables[table + 2 : table + 2 + n_numbers],
        shape.message_at[first : last + 1],
        slot - first,
        incoming,
        out,
    )


@jitable
def value(shape: Any, tables: Any, factor: int, labels: Any) -> float:
    """Return the value of a labelling: the message where the others may have no other labels."""
    first, last = shape.member_at[factor], shape.member_at[factor + 1]
    base = shape.message_at[first]
    incoming = np.full(shape.message_at[last] - base, -np.inf)
    at = np.empty(last - first + 1, dtype=np.int64)
    for s in range(first, last):
        at[s - first] = shape.message_at[s] - base
        incoming[at[s - first] + labels[shape.members[s]]] = 0.0
    at[last - first] = shape.message_at[last] - base
    out = np.empty(at[1])
    table = shape.table_at[factor]
    n_numbers = int(tables[table + 1])
    _call(
        tables[table : table + 1],
        tables[table + 2 : table + 2 + n_numbers],
        at,
        0,
        incoming,
        out,
    )
    score: float = out[labels[shape.members[first]]]
    return score
