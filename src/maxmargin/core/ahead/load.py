"""The library of compiled code that comes with the package: where it is, and whether it is used.

It is one file for each level of x86-64 processors, in the folder `_library` of the package, with a
manifest beside it. The manifest has the stamp of the source of each entry; an entry whose source
has changed since is not used. If there is no library, or it does not fit, code is compiled or comes
from the cache, and `maxmargin info` says why.

A library is code that will run: as with the cache, it is loaded only if no other user can have
written it, and only if it is the file that the manifest describes, whole.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import platform
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from maxmargin.core.trust import UntrustedError, open_trusted

__all__ = ["FOLDER", "LEVELS", "Built", "Library", "library", "read_manifest"]

FOLDER = Path(__file__).resolve().parents[__name__.count(".") - 1] / "_library"

_V2 = frozenset({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"})
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
#: Levels of the x86-64 architecture, the best first, and what a processor must have for each.
LEVELS = {"x86-64-v3": _V3, "x86-64-v2": _V2}

#: Version of the manifest.
FORMAT = 1


class Built(NamedTuple):
    """An entry of a library."""

    address: int
    result: str  # name of the numba type of what it returns


class _UnfitError(Exception):
    """The library cannot be used, and why."""


class Library:
    """A library, or the reason why there is none.

    Parameters
    ----------
    folder : where libraries and their manifests are
    features : function that returns the features of the processor, as llvmlite names them

    Attributes
    ----------
    level : str, of `LEVELS`; "" if none is loaded
    reason : str, why none is loaded; "" if one is
    is_open : bool, whether it has code to offer, or is being built
    """

    def __init__(
        self, folder: Path = FOLDER, features: Callable[[], Mapping[str, bool]] | None = None
    ) -> None:
        self.level, self.reason = "", ""
        #: The files that the library was made from, and their hashes.
        self.files: dict[str, str] = {}
        self._entries: dict[str, list[str]] = {}
        self._names: set[str] = set()
        self._code: Any = None
        try:
            _check_settings()
            level = _choose_level(folder, features or _host_features)
            manifest = read_manifest(folder, level)
            self._code = _load(folder / f"{level}.so", manifest)
            self._entries, self.files = dict(manifest["entries"]), dict(manifest["files"])
            self.level = level
            self._names = {symbol.rpartition("_")[0] for symbol in self._entries}
        except _UnfitError as error:
            self.reason = str(error)
        except (KeyError, TypeError) as error:
            self.reason = f"its manifest is damaged: {error!r}"
        except UntrustedError as error:
            self.reason = f"others may have written it: {error}"
        self.is_open = bool(self.level)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, symbol: str) -> bool:
        return symbol in self._entries

    def has_name(self, name: str) -> bool:
        """Tell whether there is an entry of this function, for some types."""
        return name in self._names

    def find(self, symbol: str, stamp: str) -> Built | None:
        """Return the entry of this name, if it was made from the source with this stamp."""
        made_from, result = self._entries.get(symbol, ("", ""))
        if not made_from or made_from != stamp:
            return None
        return Built(ctypes.cast(self._code[symbol], ctypes.c_void_p).value or 0, result)


_LOCK = threading.Lock()
_LOADED: list[Library] = []


def library() -> Library:
    """Return the library of this package, loaded at the first call."""
    with _LOCK:
        if not _LOADED:
            _LOADED.append(Library())
        return _LOADED[0]


def convention() -> str:
    """Return what calls between a library and other compiled code rely on: numba x.y."""
    import numba

    return "numba " + ".".join(numba.__version__.split(".")[:2])


def _host_features() -> Mapping[str, bool]:
    from llvmlite.binding import get_host_cpu_features

    found: Mapping[str, bool] = get_host_cpu_features()
    return found


def _check_settings() -> None:
    """Refuse a library where other code is asked for than it has."""
    from numba import config

    if os.environ.get("MAXMARGIN_LIBRARY") == "0":
        raise _UnfitError("MAXMARGIN_LIBRARY is 0")
    for name, asked in (
        ("NUMBA_BOUNDSCHECK", config.BOUNDSCHECK),
        ("NUMBA_DEBUGINFO", config.DEBUGINFO_DEFAULT),
        ("NUMBA_DISABLE_JIT", config.DISABLE_JIT),
        ("NUMBA_OPT", int(config.OPT) != 3 or getattr(config.OPT, "is_opt_max", False)),
    ):
        if asked:
            raise _UnfitError(f"{name} asks for other code")


def _choose_level(folder: Path, features: Callable[[], Mapping[str, bool]]) -> str:
    from numba import config

    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        raise _UnfitError("there is none for this system: it is for Linux on x86-64")
    there = [level for level in LEVELS if (folder / f"{level}.json").exists()]
    if not there:
        raise _UnfitError("none was built")
    if config.CPU_NAME:
        fitting = [level for level in there if level == config.CPU_NAME]
    else:
        own = features()
        fitting = [level for level in there if all(own.get(name) for name in LEVELS[level])]
    if not fitting:
        raise _UnfitError(f"there is none for this processor, only for {' and '.join(there)}")
    return fitting[0]


def read_manifest(folder: Path, level: str) -> dict[str, Any]:
    """Return what is known of a library without loading it."""
    try:
        with open_trusted(str(folder / f"{level}.json")) as file:
            manifest: dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
        raise _UnfitError(f"its manifest cannot be read: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise _UnfitError("its manifest is of another version")
    if manifest["convention"] != convention():
        raise _UnfitError(f"it was built with {manifest['convention']}, this is {convention()}")
    return manifest


def _load(path: Path, manifest: dict[str, Any]) -> Any:
    try:
        with open_trusted(str(path)) as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        # A file that was cut off would end the process when it is loaded, or later.
        if digest != manifest["sha256"]:
            raise _UnfitError(f"{path.name} is not the file that its manifest describes")
        code = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise _UnfitError(f"{path.name} cannot be loaded: {error}") from None
    helpers = manifest["helpers"]
    table = (ctypes.c_void_p * max(len(helpers), 1)).in_dll(code, "mm_helpers")
    for k, name in enumerate(helpers):
        table[k] = _helper(name)
    return code


def _helper(name: str) -> int:
    """Return the address of a function of numba's runtime."""
    from numba import _helperlib
    from numba.core.runtime import _nrt_python

    prefix, _, rest = name.partition("_")
    known = {"NRT": _nrt_python.c_helpers, "numba": _helperlib.c_helpers}.get(prefix, {})
    with contextlib.suppress(KeyError):
        return int(known[rest])
    raise _UnfitError(f"this numba has no function {name}")
