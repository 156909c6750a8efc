"""The private parts of numba that erasing types needs, all in this module.

A packed value is a row of 8-byte words: a number is one word, an array the address of its first
element and its shape (and its strides, where it is not C-ordered), a tuple its items one after the
other. `Address(T)` is the numba type of the address of a packed T. Inside a packed value, an
`Address(T)` stands for the T that it leads to.

`fetch` rebuilds a packed value in registers. Its arrays own no memory, so they must not outlive the
packed value: whoever packs keeps the arrays alive.

An entry is compiled code that is called through its address. It takes one word, the address of its
packed arguments, and follows numba's own convention for results and exceptions: what a function
behind an address raises comes out of the caller as itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils, event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError, TypingError
from numba.core.registry import cpu_target
from numba.extending import intrinsic, models, register_model

from maxmargin.core.cache import attach_cache
from maxmargin.core.callee import compiling_entry
from maxmargin.core.compile import OPTIONS, jitable, load_compiler

__all__ = ["Address", "EntryCompiler", "caller", "fetch", "fetched", "word_at"]

# Entries are compiled by dispatchers of their own: numba must know all functions before the first.
load_compiler()

_WORD = ir.IntType(64)


class Address(types.Type):
    """The numba type of the address of a packed value of type `inner`."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        super().__init__(name=f"Address({inner})")

    @property
    def key(self) -> Any:
        """What tells two such types apart: classes of one name have different numba types."""
        return self.inner


@register_model(Address)
class _AddressModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _WORD)


def fetched(kind: Any) -> Any:
    """Return the type that `fetch` makes of a packed type: addresses are followed."""
    if isinstance(kind, Address):
        return fetched(kind.inner)
    if isinstance(kind, types.BaseTuple):
        own_class = getattr(kind, "instance_class", None)
        return types.BaseTuple.from_types([fetched(item) for item in kind.types], own_class)
    return kind


def is_packable(kind: Any) -> bool:
    """Tell whether values of a numba type can be packed, items of tuples aside."""
    if isinstance(kind, types.Array):
        return isinstance(kind.dtype, types.Number | types.Boolean)
    return isinstance(kind, Address | types.Integer | types.Float | types.Boolean)


def _load(context: Any, builder: Any, kind: Any, base: Any, place: int) -> tuple[Any, int]:
    """Return the value of type `kind` packed at word `place`, and the place after it."""

    def word(k: int) -> Any:
        return builder.load(builder.gep(base, [ir.Constant(_WORD, k)]))

    if isinstance(kind, Address):
        inner = builder.inttoptr(word(place), _WORD.as_pointer())
        return _load(context, builder, kind.inner, inner, 0)[0], place + 1
    if isinstance(kind, types.BaseTuple):
        values = []
        for item in kind.types:
            value, place = _load(context, builder, item, base, place)
            values.append(value)
        return context.make_tuple(builder, fetched(kind), values), place
    if isinstance(kind, types.Array):
        first = place + 1
        shape = [word(first + k) for k in range(kind.ndim)]
        first += kind.ndim
        strides = None
        if kind.layout != "C":
            strides = [word(first + k) for k in range(kind.ndim)]
            first += kind.ndim
        return _array(context, builder, kind, word(place), shape, strides), first
    if isinstance(kind, types.Float):
        value = builder.bitcast(word(place), ir.DoubleType())
        return context.cast(builder, value, types.float64, kind), place + 1
    if isinstance(kind, types.Boolean):
        return builder.icmp_signed("!=", word(place), ir.Constant(_WORD, 0)), place + 1
    if isinstance(kind, types.Integer):
        return context.cast(builder, word(place), types.int64, kind), place + 1
    raise TypingError(f"{kind} cannot be fetched from words.")


def _array(
    context: Any, builder: Any, kind: Any, address: Any, shape: list[Any], strides: Any
) -> Any:
    from numba.np.arrayobj import make_array, populate_array  # needed where something is compiled

    element = context.get_data_type(kind.dtype)
    itemsize = ir.Constant(_WORD, context.get_abi_sizeof(element))
    if strides is None:
        strides, step = [], itemsize
        for length in reversed(shape):
            strides.insert(0, step)
            step = builder.mul(step, length)
    array = make_array(kind)(context, builder)
    populate_array(
        array,
        data=builder.inttoptr(address, element.as_pointer()),
        shape=shape,
        strides=strides,
        itemsize=itemsize,
        meminfo=None,
    )
    return array._getvalue()


@intrinsic  # type: ignore[untyped-decorator]
def fetch(typingctx, address):
    """Return the packed value at an address."""
    if not isinstance(address, Address):
        return None

    def generate(context, builder, signature, arguments):
        base = builder.inttoptr(arguments[0], _WORD.as_pointer())
        return _load(context, builder, address.inner, base, 0)[0]

    return fetched(address.inner)(address), generate


@intrinsic  # type: ignore[untyped-decorator]
def word_at(typingctx, address, k):
    """Return word k at an address, as an int64."""
    if not all(isinstance(kind, types.Integer) for kind in (address, k)):
        return None

    def generate(context, builder, signature, arguments):
        base = builder.inttoptr(arguments[0], _WORD.as_pointer())
        return builder.load(builder.gep(base, [arguments[1]]))

    return types.int64(types.int64, types.int64), generate


# -- calls through an address ----------------------------------------------------------------------


def _store(
    context: Any, builder: Any, own: Any, kind: Any, value: Any, base: Any, place: int
) -> int:
    """Pack a value of type `own` as a `kind` at word `place`; return the place after it."""

    def put(word: Any, k: int) -> None:
        builder.store(word, builder.gep(base, [ir.Constant(_WORD, k)]))

    if isinstance(kind, types.BaseTuple):
        items = cgutils.unpack_tuple(builder, value)
        for each, inner, item in zip(own.types, kind.types, items, strict=True):
            place = _store(context, builder, each, inner, item, base, place)
        return place
    if isinstance(kind, types.Array):
        from numba.np.arrayobj import make_array

        array = make_array(own)(context, builder, value)
        put(builder.ptrtoint(array.data, _WORD), place)
        for k, length in enumerate(cgutils.unpack_tuple(builder, array.shape)):
            put(length, place + 1 + k)
        return place + 1 + kind.ndim
    if isinstance(kind, types.Float):
        number = context.cast(builder, value, own, types.float64)
        put(builder.bitcast(number, _WORD), place)
    else:
        put(context.cast(builder, value, own, types.int64), place)
    return place + 1


def _check_given(name: str, argument: str, own: Any, kind: Any) -> None:
    """Refuse an argument that is not what the entry behind the address was compiled for."""
    if isinstance(kind, types.BaseTuple):
        _check_tuple(name, argument, own, kind)
        return
    if isinstance(kind, types.Array):
        fits = (
            isinstance(own, types.Array)
            and (own.dtype, own.ndim, own.layout) == (kind.dtype, kind.ndim, "C")
            and (own.mutable or not kind.mutable)
        )
    elif isinstance(kind, types.Float):
        fits = isinstance(own, types.Float | types.Integer)
    elif isinstance(kind, types.Boolean):
        fits = isinstance(own, types.Boolean | types.Integer)
    else:  # an integer, or an address, which is one here
        fits = isinstance(own, types.Integer | types.Boolean)
    if not fits:
        raise TypingError(f"The entry {name!r} takes {kind} as {argument!r}, got {own}.")


def _check_tuple(name: str, argument: str, own: Any, kind: Any) -> None:
    """Refuse a tuple of another class or length, or with items that do not fit."""
    same = isinstance(own, types.BaseTuple) and len(own.types) == len(kind.types)
    classes = [getattr(each, "instance_class", None) for each in (own, kind)]
    if not same or classes[0] is not classes[1]:
        raise TypingError(f"The entry {name!r} takes {kind} as {argument!r}, got {own}.")
    fields = getattr(kind, "fields", range(len(kind.types)))
    for field, each, inner in zip(fields, own.types, kind.types, strict=True):
        _check_given(name, f"{argument}.{field}", each, inner)


def _n_words(kind: Any) -> int:
    """Return how many words a given value takes: arrays are C-ordered."""
    if isinstance(kind, types.BaseTuple):
        return sum(map(_n_words, kind.types))
    return 1 + getattr(kind, "ndim", 0)


def _call(context: Any, builder: Any, result: Any, entry: Any, words: Any) -> Any:
    """Emit the call of an entry; an exception of the entry ends the caller with that exception."""
    convention = context.call_conv
    kind = convention.get_function_type(result, (types.int64,))
    callee = builder.inttoptr(entry, kind.as_pointer())
    status, value = convention.call_function(builder, callee, result, (types.int64,), (words,))
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return value


def caller(
    name: str,
    place: int,
    arguments: Sequence[str],
    kinds_for: Callable[[Any], Sequence[Any]],
    result: Any,
) -> Any:
    """Return an intrinsic call(table, cell, given) that calls word `place` of a table of entries.

    The tuple `given` is checked, when the call is compiled, against kinds_for(dtype of a cell):
    addresses are given as integers, arrays must be C-ordered and of the type of the kind.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def call(typingctx, table, cell, given):
        if not isinstance(given, types.BaseTuple) or len(given.types) != len(arguments):
            raise TypingError(f"The entry {name!r} takes {len(arguments)} arguments, got {given}.")
        kinds = kinds_for(cell)
        for argument, own, kind in zip(arguments, given.types, kinds, strict=True):
            _check_given(name, argument, own, kind)
        n_words = sum(map(_n_words, kinds))

        def generate(context, builder, signature, values):
            room = cgutils.alloca_once(builder, ir.ArrayType(_WORD, max(n_words, 1)))
            base = builder.bitcast(room, _WORD.as_pointer())
            items = cgutils.unpack_tuple(builder, values[2])
            at = 0
            for own, kind, item in zip(given.types, kinds, items, strict=True):
                at = _store(context, builder, own, kind, item, base, at)
            entries = builder.inttoptr(values[0], _WORD.as_pointer())
            entry = builder.load(builder.gep(entries, [ir.Constant(_WORD, place)]))
            is_missing = builder.icmp_signed("==", entry, ir.Constant(_WORD, 0))
            with cgutils.if_unlikely(builder, is_missing):
                message = f"The entry {name!r} is not in the table of this problem."
                context.call_conv.return_user_exc(builder, RuntimeError, (message,))
            return _call(context, builder, result, entry, builder.ptrtoint(base, _WORD))

        return result(types.int64, cell, given), generate

    return call


# -- compiling entries -----------------------------------------------------------------------------

_OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
_LOCK = threading.RLock()
_ALLOCATING = ("NRT_MemInfo_alloc", "NRT_Allocate", "NRT_MemInfo_new")


class EntryCompiler:
    """Compiles a function of one packed argument for types, or takes its code from the cache.

    Fetched arrays own no memory, so counting references to them is wasted: it makes passes slower
    by some percent, and compiling by a fifth. Code that allocates must count. So an entry of ours
    is compiled without counting; if that fails, or if the code holds an allocation, then with
    counting. Kernels always count, whoever calls them, because one and the same compiled kernel
    serves all callers. Entries for users' types always count: what they call may be compiled with
    plain numba, and would else be compiled without counting for its other callers too.
    """

    def __init__(self, run: Callable[..., Any]) -> None:
        load_compiler()
        self._bare = numba.njit(_nrt=False, **_OPTIONS)(run)
        self._counted = numba.njit(_nrt=True, **_OPTIONS)(run)
        attach_cache(self._bare, "entry without counting")
        attach_cache(self._counted, "entry")

    def compile(self, arguments: Any, result: Any | None, counts: bool) -> Any:
        """Return the code for the address of packed `arguments`.

        `result` is the type that the code returns; None leaves that to the function.
        """
        kinds = (Address(arguments),)
        sig = kinds if result is None else result(*kinds)
        choices = [self._counted] if counts else [self._bare, self._counted]
        with _LOCK, global_compiler_lock:
            for dispatcher in choices:
                found = dispatcher._cache.load_overload(sig, dispatcher.targetctx)
                if found is not None:
                    return found
            if not counts:
                try:
                    found = _compile(self._bare, kinds, result, sig)
                except NumbaError:
                    found = None  # it allocates, or it cannot be compiled: see what comes next
            return found or _compile(self._counted, kinds, result, sig)


def _compile(dispatcher: Any, kinds: Any, result: Any, sig: Any) -> Any:
    data = {"dispatcher": dispatcher, "args": kinds, "return_type": result}
    with event.trigger_event("numba:compile", data=data), compiling_entry():
        found = dispatcher._compiler.compile(kinds, result)
    if not dispatcher.targetoptions["_nrt"]:
        text = found.library.get_llvm_str()
        if any(name in text for name in _ALLOCATING):
            return None  # a kernel that it calls allocates, and what it returns must be counted
    dispatcher._cache.save_overload(sig, found)
    return found


def address_of(code: Any) -> int:
    """Return the address of compiled code; it holds as long as `code` is kept."""
    return int(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))


def make_callable(function: Callable[..., Any]) -> None:
    """Let compiled code call a plain function, where nothing else has let it."""
    if function in OPTIONS:  # to ask numba would load all that it needs for compiling
        return
    try:
        cpu_target.typing_context.refresh()
        cpu_target.typing_context.resolve_value_type(function)
    except (NumbaError, ValueError):
        jitable(function)
