"""The entries: generic functions behind one fixed signature, compiled once per types.

An entry is made from the declaration of its generic function. The name of each argument says what
it is: `KINDS` has one line per name, and a declaration with an unknown name is refused when this
module is imported. The same kinds are given to the compiler of an entry and to its callers, so the
two cannot disagree.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from numba import types

from maxmargin.core import contract
from maxmargin.core.ahead import Built, library, stamp_of
from maxmargin.core.compile import Kernel
from maxmargin.core.erase import native
from maxmargin.core.erase.native import Address, fetch

__all__ = ["ENTRIES", "Entry", "all_entries", "pass_entry"]

_VECTOR = types.Array(types.float64, 1, "C")
_MATRIX = types.Array(types.int32, 2, "C")


class Named(NamedTuple):
    """The kind of an argument whose type is that of one problem, such as "data"."""

    name: str


#: What an argument is, by its name in the declarations: a numba type, "cells" (an array of the
#: cells of outputs), or a packed value of a type that the problem has.
KINDS: dict[str, Any] = {
    **{name: Named(name) for name in ("data", "cost", "theta", "room", "own")},
    **{name: Named(name) for name in ("search", "problem", "desk")},
    "mu": Named("theta"),
    **dict.fromkeys(("i", "at", "left_at", "right_at", "k", "level"), types.int64),
    **dict.fromkeys(("n_few", "n_banned", "n_outputs", "prior_at"), types.int64),
    **dict.fromkeys(("first", "count"), types.int64),
    **dict.fromkeys(("scale", "score_scale", "cost_scale", "share"), types.float64),
    **dict.fromkeys(("limit", "tilt", "low", "high", "temperature"), types.float64),
    "is_closed": types.boolean,
    **dict.fromkeys(("w", "spare", "h", "g", "values", "costs", "scores", "mass"), _VECTOR),
    **dict.fromkeys(("prior", "law", "flat", "scales"), _VECTOR),
    "places": types.Array(types.int64, 1, "C"),
    **dict.fromkeys(("counts", "spans"), types.Array(types.int64, 2, "C")),
    **dict.fromkeys(("outputs", "left", "right", "banned"), "cells"),
}

#: Arguments that mean something else in one function: lists of outputs, one row per example.
_OWN_KINDS = {("few_scores", "outputs"): _MATRIX, ("add_few", "outputs"): _MATRIX}


class Entry:
    """A function that compiled code calls through an address.

    Attributes
    ----------
    name : str, the same in every process
    function : the generic function, or the pass
    """

    def __init__(self, function: Callable, result: Any = None) -> None:
        self.function, self.result = function, result
        self.name = f"{function.__module__}.{function.__qualname__}"
        #: For whoever calls it from Python, by the key of the arguments: see `Pass`.
        self.known: dict[Any, Any] = {}
        #: numba's results for what was compiled here, by the types of the packed arguments.
        self.codes: dict[Any, Any] = {}
        self._found: dict[Any, Built] = {}
        #: The function that is compiled.
        self.run = _runner(function)
        self._compiler: Any = None

    def symbol(self, arguments: Any) -> str:
        """Return the name of the code for packed arguments of these types, for use in a library."""
        digest = hashlib.sha256(described(arguments).encode()).hexdigest()[:24]
        return f"{self.symbol_name}_{digest}"

    @property
    def symbol_name(self) -> str:
        """What the symbols for all types begin with."""
        return f"mm_{self.name.replace('.', '_')}"

    def code(self, arguments: Any) -> Any:
        """Return the compiled code for packed arguments of these types."""
        if arguments not in self.codes:
            if self._compiler is None:
                self._compiler = native.EntryCompiler(self.run)
            # A kernel counts references whoever calls it, so a try without is wasted.
            counts = isinstance(self.function, Kernel) or not (
                is_ours(self.function) and all(map(is_ours, classes_in(arguments)))
            )
            self.codes[arguments] = self._compiler.compile(arguments, self.result, counts)
        return self.codes[arguments]

    def find(self, arguments: Any) -> Built:
        """Return the code for packed arguments of these types: its address and what it returns.

        It comes from the library that was built ahead, from the cache, or from the compiler.
        """
        if arguments not in self._found:
            found = self.find_built(arguments)
            if found is None:
                code = self.code(arguments)
                found = Built(native.address_of(code), str(code.signature.return_type))
            self._found[arguments] = found
        return self._found[arguments]

    def address(self, arguments: Any) -> int:
        """Return the address of the code for packed arguments of these types."""
        return self.find(arguments).address

    def find_built(self, arguments: Any) -> Built | None:
        """Return the code that was built ahead, if there is any that was made from this source."""
        if not all(map(is_ours, (self.function, *classes_in(arguments)))):
            return None
        symbol = self.symbol(arguments)
        if symbol not in library():
            return None
        return library().find(symbol, stamp_of(self.run, arguments))


class PassEntry(Entry):
    """The entry of a pass, which Python calls."""

    def code(self, arguments: Any) -> Any:
        """Return the compiled code for packed arguments of these types."""
        if self._compiler is None:
            native.make_callable(self.function)
        return super().code(arguments)


class OracleEntry(Entry):
    """The entry of a generic function.

    Attributes
    ----------
    arguments : names of its arguments
    place : its place in the tables
    call : intrinsic call(table, cell, given) for the implementations over erased types
    """

    def __init__(
        self, function: Callable, result: Any, written: tuple[str, ...], place: int
    ) -> None:
        super().__init__(function, result)
        self.arguments = tuple(inspect.signature(function).parameters)
        self.written = written
        self.place = place
        name = function.__name__
        unknown = [argument for argument in self.arguments if argument not in KINDS]
        unknown += [argument for argument in written if argument not in self.arguments]
        if unknown:
            raise TypeError(f"{name} has no such arguments: {', '.join(unknown)}.")
        self.call = native.caller(name, place, self.arguments, self._given_kinds, result)

    def kinds(self, cell: Any) -> list[Any]:
        """Return the kinds of its arguments, where a cell of an output has the type `cell`."""
        found = []
        for argument in self.arguments:
            kind = _OWN_KINDS.get((self.function.__name__, argument), KINDS[argument])
            found.append(types.Array(cell, 1, "C") if kind == "cells" else kind)
        return found

    def packed(self, cell: Any, known: dict[str, Any]) -> Any:
        """Return the type of its packed arguments, given the types that a problem has by name."""
        kinds = self.kinds(cell)
        return types.Tuple(
            [Address(known[kind.name]) if isinstance(kind, Named) else kind for kind in kinds]
        )

    def _given_kinds(self, cell: Any) -> list[Any]:
        """Return the types that callers give: integers for addresses, read-only arrays to read."""
        return [self._given(*each) for each in zip(self.arguments, self.kinds(cell), strict=True)]

    def _given(self, argument: str, kind: Any) -> Any:
        if isinstance(kind, types.Array) and argument not in self.written:
            return kind.copy(readonly=True)
        return types.int64 if isinstance(kind, Named) else kind


def _runner(function: Callable) -> Callable:
    """Return the function that is compiled: it takes the address of all arguments, packed."""

    def run(arguments):
        return function(*fetch(arguments))

    run.__name__, run.__qualname__ = function.__name__, function.__qualname__
    run.__module__ = function.__module__
    return run


def is_ours(thing: Any) -> bool:
    """Tell whether a class or function is defined in this package."""
    return thing.__module__.partition(".")[0] == __name__.partition(".")[0]


def classes_in(kind: Any) -> Iterator[type]:
    """Yield the classes of all NamedTuples in a numba type."""
    if isinstance(kind, Address):
        yield from classes_in(kind.inner)
    if isinstance(kind, types.BaseTuple):
        if isinstance(kind, types.BaseNamedTuple):
            yield kind.instance_class
        for item in kind.types:
            yield from classes_in(item)


def described(kind: Any) -> str:
    """Return a numba type as text that is the same in every process."""
    if isinstance(kind, Address):
        return f"address({described(kind.inner)})"
    if isinstance(kind, types.BaseTuple):
        cls = getattr(kind, "instance_class", None)
        name = "" if cls is None else f"{cls.__module__}:{cls.__qualname__}{cls._fields}"
        return f"{name}({', '.join(map(described, kind.types))},)"
    return str(kind)


_FOUND = types.UniTuple(types.float64, 4)  # what `find` returns

#: What the entry of a generic function returns, and which of its arrays it writes to. Other arrays
#: may be read-only.
_DECLARED: dict[Any, tuple[Any, tuple[str, ...]]] = {
    contract.potentials: (types.none, ()),
    contract.margin_error: (types.float64, ()),
    contract.add_difference: (types.none, ("w",)),
    contract.add_differences: (types.none, ("w",)),
    contract.difference_potentials: (types.none, ("spare",)),
    contract.difference_square: (types.float64, ("spare",)),
    contract.clear_difference: (types.none, ("w",)),
    contract.output_length: (types.int64, ()),
    contract.parts: (types.none, ()),
    contract.add_parts: (types.none, ("w",)),
    contract.mix: (types.boolean, ("outputs",)),
    contract.maximize: (types.none, ("outputs",)),
    contract.maximize_bounded: (types.float64, ("outputs",)),
    contract.output_cost: (types.float64, ()),
    contract.shift: (types.float64, ()),
    contract.profile: (types.int64, ("h", "g")),
    contract.profile_up_to: (types.int64, ("h", "g")),
    contract.profile_output: (types.none, ("outputs",)),
    contract.k_best: (types.int64, ("outputs",)),
    contract.constrained: (types.boolean, ("outputs",)),
    contract.list_values: (types.none, ("values", "costs")),
    contract.few_scores: (types.none, ("scores",)),
    contract.add_few: (types.none, ("w",)),
    contract.add_listed: (types.none, ("w",)),
    contract.find: (_FOUND, ("outputs",)),
    contract.marginals: (types.none, ("law",)),
    contract.law_parts: (types.none, ()),
    contract.lean: (types.none, ()),
    contract.add_prices: (types.none, ()),
    contract.gather: (types.none, ("flat",)),
    contract.spread: (types.none, ()),
    contract.parts_square: (types.float64, ("spare",)),
    contract.potentials_of: (types.none, ()),
    contract.difference_potentials_of: (types.none, ("spare",)),
}

#: The entry of each generic function that passes and searches call.
ENTRIES: dict[Callable, OracleEntry] = {
    function: OracleEntry(function, *declared, place)
    for place, (function, declared) in enumerate(_DECLARED.items())
}

_PASSES: dict[Callable, Entry] = {}


def all_entries() -> list[Entry]:
    """Return all entries that there are: of generic functions, and of passes that were called."""
    return [*ENTRIES.values(), *_PASSES.values()]


def pass_entry(function: Callable) -> Entry:
    """Return the entry of a pass, which Python calls; every call returns the same object."""
    if function not in _PASSES:
        _PASSES[function] = PassEntry(function)
    return _PASSES[function]
