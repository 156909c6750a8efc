"""What compiled code is made of: files, frozen values, and the implementations that are chosen.

numba compiles a function together with all that it calls, and freezes the globals that it reads.
`sources` finds them by walking from the function over the names that its code mentions: functions
and kernels are walked in turn, values are noted, and of a generic function those implementations
are walked whose types are among the classes that the code can meet. These are the classes of the
signature and those that the walked code mentions; a NamedTuple comes from nowhere else.

The walk looks at the functions and registrations of this process, not at text, so it takes about a
millisecond and is made whenever an entry of the cache is read or written. It may find more than is
compiled (a name counts that only an attribute has), never less; `Compiled` holds it against the
functions that numba says it compiles.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from inspect import isbuiltin, isclass, isfunction, ismethod
from types import ModuleType
from typing import Any

import numpy as np

from maxmargin.core.compile import CHOOSERS, OPTIONS, Kernel
from maxmargin.core.dispatch import families
from maxmargin.core.files import (
    UntraceableError,
    files_around,
    hash_file,
    is_external,
    is_ours,
    machinery,
    short_name,
)
from maxmargin.core.names import closed_over, names_in, read_globals

__all__ = ["Compiled", "Sources", "UntraceableError", "sources"]

#: What was noted in this process: facts, implementations, and the types that each function has met
#: together.
_KNOWN: dict[str, str] = {}
_CHOSEN: dict[tuple[Any, tuple[type, ...]], Any] = {}
_MET: dict[Any, set[frozenset[type]]] = {}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic, np.dtype)


class Sources:
    """The result of a walk.

    Attributes
    ----------
    files : real paths
    facts : pairs of a name and what it stands for: frozen values, classes, implementations chosen
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.facts: set[tuple[str, str]] = set()

    def stamp(self) -> str:
        """Return a hash of all files and facts; raise if a file was edited as this process ran.

        It covers the names of files without their folders, so an installation can be moved together
        with its cache.
        """
        lines = [f"{short_name(file)} {hash_file(file)}" for file in self.files]
        lines += [f"{name}: {fact}" for name, fact in self.facts]
        text = "\n".join(sorted(lines))
        return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()


def sources(function: Callable[..., Any], classes: Iterable[type]) -> Sources:
    """Return what the code of a function is made of, compiled for NamedTuples of these classes.

    Raises UntraceableError if that cannot be told.
    """
    walk = _Walk()
    walk.function(function)
    for cls in classes:
        walk.named_tuple(cls)
    walk.choose()
    return walk.found


class _Walk:
    def __init__(self) -> None:
        self.found = Sources()
        self.found.files.update(machinery())
        self.found.facts.add(("numpy", np.__version__))
        self.functions: set[Any] = set()
        self.generics: set[Any] = set()
        self.classes: set[type] = set()
        self.modules: set[tuple[str, Any]] = set()

    def function(self, function: Any, is_compiled: bool = True) -> None:
        """Walk a function; is_compiled is False if it runs as code is compiled, and chooses it."""
        if (function, is_compiled) in self.functions:
            return
        self.functions.add((function, is_compiled))
        code, label = function.__code__, _label(function)
        self.note(f"{label}:<options>", str(sorted(OPTIONS.get(function, {}).items())))
        if not os.path.exists(code.co_filename):
            raise UntraceableError(f"{label} was entered at a prompt")
        self.file(code.co_filename, function.__module__)
        for name, value in (function.__kwdefaults__ or {}).items():
            self.value(f"{label}({name})", value, (), is_compiled)
        for k, value in enumerate(function.__defaults__ or ()):
            self.value(f"{label}({k})", value, (), is_compiled)
        names = names_in(code)
        for name, value in closed_over(function).items():
            self.value(f"{label}:<{name}>", value, names, is_compiled)
        if function.__globals__ is not vars(sys.modules.get(function.__module__, enum)):
            # Its text was made as this process ran, and is in no file. It may be kept with the
            # function; its code is not the same in all versions of Python.
            constants = [c for c in code.co_consts if not hasattr(c, "co_code")]
            text = getattr(function, "text", None) or repr((code.co_code, constants))
            self.note(f"{label}:<code>", hashlib.sha256(text.encode()).hexdigest())
        for name, value in read_globals(function).items():
            self.value(f"{function.__module__}.{name}", value, names, is_compiled)

    def note(self, where: str, fact: str) -> None:
        """Note a fact; if it has changed since, code may have been compiled with either."""
        # Functions and classes within functions are made anew at each call, under the same name.
        if "<" not in where and _KNOWN.setdefault(where, fact) != fact:
            raise UntraceableError(f"{where} has changed since this process started")
        self.found.facts.add((where, fact))

    def value(self, where: str, value: Any, names: tuple[str, ...], is_compiled: bool) -> None:
        """Note or walk a value that code mentions, together with all of `names`."""
        if isinstance(value, _PLAIN):
            self.note(where, f"{value!r} {type(value).__name__}")
        elif isinstance(value, np.ndarray):
            self.array(where, value)
        elif isinstance(value, tuple):
            if hasattr(value, "_fields"):
                self.named_tuple(type(value))
            for k, item in enumerate(value):
                self.value(f"{where}[{k}]", item, names, is_compiled)
        elif isinstance(value, ModuleType):
            self.module(value, names, is_compiled)
        elif isclass(value):
            self.cls(where, value)
        elif isinstance(value, enum.Enum):
            self.note(where, repr(value))
            self.cls(where, type(value))
        elif callable(value):
            self.callable(where, value, is_compiled)
        elif is_compiled and type(value) not in (dict, list, set):  # which numba never takes
            self.other(where, value)

    def callable(self, where: str, value: Any, is_compiled: bool) -> None:
        """Walk what compiled code may call."""
        self.note(where, _label(value))
        if isinstance(value, Kernel):  # first: whoever asks for its attributes loads the compiler
            self.note(f"{_label(value)}:<fastmath>", str(value.fastmath))
            self.function(value.py_func)
        elif hasattr(value, "implementations"):
            self.generics.add(value)
        elif is_external(getattr(value, "__module__", None)) or isbuiltin(value):
            return
        elif isfunction(getattr(value, "py_func", None)):  # numba's dispatcher
            self.function(value.py_func)
        elif isfunction(value) and value in CHOOSERS:
            self.function(CHOOSERS[value], is_compiled=False)
        elif isfunction(value):
            self.function(value, is_compiled)
        elif isfunction(getattr(value, "_defn", None)):  # numba's intrinsic
            self.function(value._defn, is_compiled=False)
        elif isfunction(getattr(value, "__wrapped__", None)):  # functools.cache and the like
            self.function(value.__wrapped__, is_compiled)
        elif ismethod(value):
            self.function(value.__func__, is_compiled)
        elif is_compiled:
            self.other(where, value)

    def other(self, where: str, value: Any) -> None:
        """Refuse a value of which it is not known what numba makes of it; types are named."""
        if not is_external(type(value).__module__):
            raise UntraceableError(f"{where} is {type(value).__name__}, which is not followed")
        text = str(value)
        if " at 0x" in text:  # an address is another one in every process
            raise UntraceableError(f"{where} is {text}, which is not followed")
        self.note(where, text)

    def module(self, module: ModuleType, names: tuple[str, ...], is_compiled: bool) -> None:
        """Walk the attributes of a module that code may read: those whose names it mentions."""
        if is_external(module.__name__) or (module.__name__, names) in self.modules:
            return
        self.modules.add((module.__name__, names))
        for name in names:
            if name in vars(module):
                where = f"{module.__name__}.{name}"
                self.value(where, vars(module)[name], names, is_compiled)

    def array(self, where: str, array: np.ndarray) -> None:
        """Note an array; compiled code keeps its content."""
        if array.dtype.hasobject:
            raise UntraceableError(f"{where} is an array of objects")
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        self.note(where, f"{array.dtype.descr}{array.shape} {digest}")

    def cls(self, where: str, cls: type) -> None:
        """Note a class that code mentions."""
        self.note(where, _label(cls))
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            self.named_tuple(cls)
        elif not is_external(cls.__module__):
            self.class_file(cls)

    def named_tuple(self, cls: type) -> None:
        """Note a class whose instances compiled code may meet."""
        if cls in self.classes:
            return
        self.classes.add(cls)
        if not is_external(cls.__module__):
            self.class_file(cls)
        own: Any = cls
        kinds = [_label(family) for family in families(cls)]
        self.note(f"class {_label(cls)}", f"{own._fields} {kinds}")
        for name, value in own._field_defaults.items():
            self.value(f"{_label(cls)}({name})", value, (), True)

    def class_file(self, cls: type) -> None:
        """Add the file of a class."""
        file = getattr(sys.modules.get(cls.__module__), "__file__", None)
        if file is None:
            raise UntraceableError(f"module {cls.__module__} has no file")
        self.file(file, cls.__module__)

    def choose(self) -> None:
        """Walk the implementations that the classes choose, until there are no more of either."""
        known = (-1, -1)
        while known != (len(self.generics), len(self.classes)):
            known = (len(self.generics), len(self.classes))
            kinds = self.classes.union(*map(families, self.classes))
            for function in list(self.generics):
                if function.default is not None:
                    self.function(function.default)
                for key, implementation in list(function.implementations.items()):
                    if kinds.issuperset(key):
                        self.implementation(function, key, implementation)
        for function in self.generics:
            _MET.setdefault(function, set()).add(frozenset(kinds))

    def implementation(self, function: Any, key: tuple[type, ...], implementation: Any) -> None:
        """Walk the implementation of a generic function for types that the code can meet."""
        where = f"{_label(function)}({', '.join(map(_label, key))})"
        is_known = (function, key) in _CHOSEN
        is_late = not is_known and any(met.issuperset(key) for met in _MET.get(function, ()))
        if is_late or _CHOSEN.setdefault((function, key), implementation) is not implementation:
            # numba goes on with what was chosen before.
            raise UntraceableError(f"{where} was implemented after it had been compiled")
        self.value(where, implementation, (), True)

    def file(self, file: str, module: str) -> None:
        """Add a file; of a package that is not ours, all its loaded modules as well."""
        path = _real_path(file)
        if path in self.found.files:
            return
        self.found.files.add(path)
        if not is_ours(path):
            self.found.files.update(map(os.path.realpath, files_around(module, file)))


class Compiled:
    """Which files numba really compiles: a listener of its events.

    `last` are the files of the functions within the last compilation that ended.
    """

    def __init__(self) -> None:
        self._open: list[set[str]] = []
        self.last: set[str] = set()

    def on_start(self, news: Any) -> None:
        """Note that a function begins to be compiled."""
        function = getattr(news.data["dispatcher"], "py_func", None)
        files = set()
        if isfunction(function) and not is_external(function.__module__):
            files.add(function.__code__.co_filename)
        self._open.append(files)

    def on_end(self, news: Any) -> None:
        """Note that it was compiled; what was compiled within it belongs to it."""
        self.last = self._open.pop() if self._open else set()
        if self._open:
            self._open[-1] |= self.last

    def beside(self, found: Sources) -> list[str]:
        """Return the files of what was compiled though the walk has not found it."""
        return [file for file in self.last if os.path.realpath(file) not in found.files]


@functools.cache
def _real_path(file: str) -> str:
    return os.path.realpath(file)


def _label(value: Any) -> str:
    module = getattr(value, "__module__", "")
    name = getattr(value, "__qualname__", getattr(value, "__name__", type(value).__qualname__))
    return f"{module}.{name}"
