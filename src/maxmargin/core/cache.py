"""The cache of compiled code on disk, which is never stale.

numba's own cache compares only the file of the cached function. Our functions are compiled
together with what they call: other kernels, and the implementations that a NamedTuple type
selects, ours or a user's. So every entry here carries a stamp of the files of all these functions,
of the values they froze and of the implementations chosen (see sources.py), and is ignored when
the stamp differs. An edit in one structure leaves the entries of the others as they are.

There is no index file. An entry is one file whose name holds a hash of the signature and of the
compiler's settings, and whose first line is the stamp. Hence nothing of a user's package is read
unless one of its types is in the signature, two processes that save at once cannot mix up their
entries, and a changed source overwrites its old entry.

An entry is code that will run, so it is read only if no other user can have written it, see
trust.py. If the folder beside the source cannot be written to, what is there is still read, and
what is compiled is written to the user's own folder for caches. If others can write to a folder, or
own it, nothing is read from it.

What cannot be traced is compiled without the cache: functions and types entered at a prompt, types
defined in a script's ``__main__`` or within a function, arguments other than numbers, strings,
arrays, random generators and tuples of them, and what was edited, or set to something else, since
this process started.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import types

from maxmargin.core.compile import listen
from maxmargin.core.sources import Compiled, Sources, UntraceableError, sources
from maxmargin.core.trust import (
    UntrustedError,
    open_trusted,
    user_folder,
    why_untrusted,
    write_trusted,
)

# These names are private to numba. If they move, `attach_cache` warns and nothing is cached.
try:
    from llvmlite.binding import address_of_symbol
    from numba.core import caching
    from numba.core.caching import CompileResultCacheImpl, FunctionCache
    from numba.core.runtime import rtsys
    from numba.core.serialize import dumps
    from numba.core.sigutils import normalize_signature

    InTreeCacheLocator: Any = getattr(caching, "InTreeCacheLocator", None)
    if InTreeCacheLocator is None:  # numba 0.61
        InTreeCacheLocator = caching._InTreeCacheLocator
except (ImportError, AttributeError):
    CompileResultCacheImpl = FunctionCache = InTreeCacheLocator = object

__all__ = ["attach_cache"]

_BESIDE = "__pycache__"
_WARNED = threading.Event()


class _Locator(InTreeCacheLocator):  # type: ignore[misc]
    """Chooses the folders of a function's entries: only root and the current user can write there.

    NUMBA_CACHE_DIR if it is set, else __pycache__ beside the source and the user's own folder.
    Entries are read from any of them, so that what an administrator has compiled serves all users,
    and written to the first that can be written to.
    """

    #: Where entries are read.
    folders: list[str]
    #: Whether one of the folders can be written to.
    can_write = False

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        locator = cls(py_func, py_file)
        subfolder = cls.get_suitable_cache_subpath(py_file)
        own = user_folder()
        folders = [] if own is None else [os.path.join(own, "maxmargin", subfolder)]
        if numba.config.CACHE_DIR:
            folders = [os.path.join(numba.config.CACHE_DIR, subfolder)]
        else:
            folders.insert(0, os.path.join(os.path.dirname(os.path.abspath(py_file)), _BESIDE))
        untrusted = [why_untrusted(folder) for folder in folders]
        locator.folders = [f for f, why in zip(folders, untrusted, strict=True) if why is None]
        for folder in locator.folders:
            locator._cache_path = folder
            with contextlib.suppress(OSError):
                os.makedirs(folder, mode=0o755, exist_ok=True)
                locator.ensure_cache_path()  # tries to write there
                locator.can_write = True
                return locator
        if any(map(os.path.isdir, locator.folders)):
            return locator
        reasons = [] if own is not None else ["the user has no folder for caches"]
        reasons += filter(None, untrusted)
        if reasons:
            raise UntrustedError("; ".join(reasons))
        return None


class _Parts(CompileResultCacheImpl):  # type: ignore[misc, valid-type]
    _locator_classes = [_Locator]


class _StampedCache(FunctionCache):  # type: ignore[misc, valid-type]
    """numba's cache of one function, with entries keyed by signature and stamped by source.

    The base class converts a compile result into an object that can be pickled, and back.
    """

    _impl_class = _Parts

    def __init__(self, function: Callable[..., Any], options: str) -> None:
        super().__init__(function)
        self._options = options

    @property
    def cache_path(self) -> str | None:
        """The folder that new entries go to, if there is one."""
        return self._cache_path if self._impl.locator.can_write else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            name, found = self._entry(sig, target_context.codegen())
            content = self._read(name, _first_line(found))
            if content is None:
                return None
            symbols, payload = content
            _prepare(target_context, symbols)
            result = self._impl.rebuild(target_context, payload)
        except UntraceableError:
            return None
        except UntrustedError as error:
            return _warn_once("trusted", error)
        except Exception as error:
            return _warn_once("read", error)
        return result if tuple(result.signature.args) == _arguments(sig)[0] else None

    def _read(self, name: str, stamp: bytes) -> tuple[list[str], Any] | None:
        """Return what the entry holds, from the first folder that has a good one of this stamp."""
        wrong = None
        for folder in self._impl.locator.folders:
            try:
                with open_trusted(os.path.join(folder, name)) as file:
                    if file.readline() == stamp:
                        # Only root and the current user can have written the file.
                        return pickle.load(file)  # type: ignore[no-any-return]  # noqa: S301
            except OSError:  # not there, or not to be read
                continue
            except Exception as error:  # damaged, or others can write to it
                wrong = error
        if wrong is not None:
            raise wrong
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            if self._impl.locator.can_write and self._impl.check_cachable(data):
                name, found = self._entry(sig, data.codegen)
                unseen = _COMPILED.beside(found)
                if unseen:
                    raise LookupError(f"code of {unseen[0]} was compiled, but named nowhere")
                content = _symbols(data.library), _reduced(self._impl.reduce(data), data.library)
                path = os.path.join(self._cache_path, name)
                write_trusted(path, _first_line(found) + dumps(content))
        except (UntraceableError, OSError):  # OSError: a full disk, a folder made read-only
            pass
        except UntrustedError as error:
            _warn_once("trusted", error)
        except Exception as error:
            _warn_once("written", error)

    def flush(self) -> None:
        base = os.path.join(self._cache_path, self._impl.filename_base)
        if self._impl.locator.can_write:
            for path in glob.glob(glob.escape(base) + ".*.nbc"):
                Path(path).unlink(missing_ok=True)

    def _entry(self, sig: Any, codegen: Any) -> tuple[str, Sources]:
        """Return the name of a signature's file, and what its code is made of."""
        arguments, return_type = _arguments(sig)
        classes: set[type] = set()
        described = [_describe(t, classes) for t in arguments]
        if return_type is not None:
            described.append(_describe(return_type, classes))
        config = numba.config
        settings = (bool(config.BOUNDSCHECK), str(config.OPT), bool(config.DEBUGINFO_DEFAULT))
        # machine is the rest of numba's key: the processor, the function's bytecode and closure.
        machine = self._index_key(None, codegen)[1:]
        key = _digest(repr((described, settings, self._options, machine)))[:24]
        return f"{self._impl.filename_base}.{key}.nbc", sources(self._py_func, classes)


_COMPILED = Compiled()
listen(_COMPILED.on_start, _COMPILED.on_end)


def attach_cache(dispatcher: Any, options: str) -> None:
    """Make a compiled function read its code from disk, and write it there once compiled.

    `options` describes the settings it is compiled with; it becomes part of the key.
    """
    function = dispatcher.py_func
    if not os.path.exists(function.__code__.co_filename):
        return  # entered at a prompt
    try:
        cache = _StampedCache(function, options)
        if not hasattr(dispatcher, "_cache"):
            raise AttributeError("numba's dispatcher has no _cache")
        dispatcher._cache = cache
    except (RuntimeError, OSError):
        pass  # no folder to write to: numba's own cache=True would fail here
    except UntrustedError as error:
        _warn_once("trusted", error)
    except Exception as error:
        _warn_once("opened", error)


def _reduced(payload: Any, library: Any) -> Any:
    """Return what numba pickles of compiled code, with the environments that the code still uses.

    Most functions have lost the use of theirs when they were inlined, and to read an environment
    imports the module of its function.
    """
    text = str(library._final_module)
    *parts, environments = payload
    used = tuple(env for env in environments if text.count(env.env_name) > 1)
    return *parts, used


def _symbols(library: Any) -> list[str]:
    """Return the names of what compiled code takes from elsewhere."""
    module = library._final_module
    names = (
        item.name for item in (*module.functions, *module.global_variables) if item.is_declaration
    )
    return [name for name in names if not name.startswith("llvm.")]


def _prepare(target_context: Any, symbols: list[str]) -> None:
    """Make the symbols known that code from the cache needs: to miss one ends the process.

    To load all that numba knows takes half as long as importing numba, and is needed to compile.
    The code itself mostly needs no more than the functions that count references.
    """
    for load in (lambda: rtsys.initialize(target_context), target_context.refresh):
        if all(map(address_of_symbol, symbols)):
            return
        load()


def _warn_once(verb: str, error: Exception) -> None:
    if not _WARNED.is_set():
        _WARNED.set()
        message = f"The cache of compiled code could not be {verb}; compiling anew ({error!r})."
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _arguments(sig: Any) -> tuple[tuple[Any, ...], Any]:
    arguments, return_type = normalize_signature(sig)
    return tuple(arguments), return_type


_SCALARS = (types.Number, types.Boolean, types.NoneType, types.UnicodeType, types.StringLiteral)
_LEAVES = (*_SCALARS, types.NumPyRandomGeneratorType)


def _describe(t: Any, classes: set[type]) -> str:
    """Return a text that identifies a numba type; add all NamedTuple classes in it to `classes`."""
    if isinstance(t, types.BaseTuple):
        inner = ", ".join(_describe(item, classes) for item in t.types)
        if not isinstance(t, types.BaseNamedTuple):
            return f"({inner},)"
        cls = t.instance_class
        if cls.__module__ == "__main__" or _lookup(cls) is not cls:
            raise UntraceableError(f"{cls!r} cannot be imported by its name")
        classes.add(cls)
        return f"{cls.__module__}:{cls.__qualname__}{cls._fields}({inner})"
    if isinstance(t, types.Optional):
        return f"optional({_describe(t.type, classes)})"
    if isinstance(getattr(t, "inner", None), types.Type):  # an address, see core/erase
        return f"{type(t).__name__}({_describe(t.inner, classes)})"
    if type(t) is types.Array:
        _describe(t.dtype, classes)  # raises for records and the like
        return str(t.name)
    if isinstance(t, types.Omitted) and isinstance(t.value, (int, float, str, type(None))):
        return f"omitted({t.value!r})"
    if isinstance(t, _LEAVES):
        return str(t.name)
    raise UntraceableError(f"{t} is not followed")


def _lookup(cls: type) -> Any:
    found: Any = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found


def _first_line(found: Sources) -> bytes:
    return f"{_digest(numba.__version__ + found.stamp())}\n".encode()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
