"""News of compiling: what is compiled, how long that usually takes, and how long it took.

numba tells its listeners when it begins and ends to compile a function. Functions from the cache
are not compiled, so they are not reported. If a function is compiled while another one is being
compiled, it counts as part of that one.

The seconds of each function are kept in a file beside its compiled code, for the next time. They
are CPU seconds of the compiling thread, so a busy machine does not make them longer. What a run
waited for the compiler is another number: seconds by the clock, with those of loading it and of
reading and writing the cache, since none of these is training. For functions without known seconds,
`_COARSE` has what `maxmargin warmup --json` measured on one machine.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from maxmargin.core.compile import listen, loading_seconds, when_compiling

__all__ = ["Compilation", "CompileWatch", "compiling_shown", "compiling_watched"]

FILE = "compile_seconds.json"
#: By the module or package of a function: what it does, and about how many seconds it takes.
_COARSE: dict[str, tuple[str, float]] = {
    "solvers": ("the solver's passes", 8.0),
    "problem": ("the objective", 1.0),
    "prediction": ("prediction", 1.0),
    "search": ("the search", 2.0),
}
_OTHERS = ("inference", 1.0)
#: Seconds of a solver's passes by the data they are for; for other data those of _COARSE hold.
_PASSES = {"sequences": 10.0, "rankings": 14.0, "label sets": 6.0, "classes": 2.0}
#: From the name of a type of data to the word that users know; other types go by their own names.
_KINDS = {
    "ChainData": "sequences",
    "MulticlassData": "classes",
    "RankingData": "rankings",
    "Dense": "dense",
    "Csr": "sparse",
}


@dataclass(frozen=True)
class Compilation:
    """One function that is being compiled.

    Attributes
    ----------
    function : str
        Its name, with that of its module.
    what : str
        What it does, and for which data.
    usual : float
        Seconds that it usually takes.
    is_kept : bool
        Whether there is a cache, so that it is compiled the first time only.
    """

    function: str
    what: str
    usual: float
    is_kept: bool = True

    def __str__(self) -> str:
        when = "the first time only" if self.is_kept else "in every process, as nothing is cached"
        return f"Compiling {self.what}: usually {_seconds(self.usual)}, {when}."


@dataclass
class CompileWatch:
    """What was compiled so far, and how many seconds each function took.

    ``waited`` are the seconds by the clock that the compiler was at work, in whatever thread.
    """

    seconds: list[tuple[Compilation, float]] = field(default_factory=list)
    waited: float = 0.0

    @property
    def compiled(self) -> int:
        """How many functions were compiled."""
        return len(self.seconds)


@contextmanager
def compiling_watched(
    begin: Callable[[Compilation], None] | None = None, end: Callable[[], None] | None = None
) -> Iterator[CompileWatch]:
    """Call `begin` before a function is compiled and `end` after it, and keep the seconds.

    Examples
    --------
    >>> from maxmargin.core.compile import compiled
    >>> def triple(x):
    ...     return 3 * x
    >>> with compiling_watched() as watch:
    ...     answer = compiled(triple)(2)
    >>> answer, [compilation.function for compilation, _ in watch.seconds]
    (6, ['maxmargin.core.news.triple'])
    """
    watch = CompileWatch()
    follower = _Follower(watch, begin, end)
    # If nothing is compiled, no compiler is loaded.
    call_off = when_compiling(follower.listen)
    try:
        yield watch
    finally:
        call_off()
        follower.stop()
        follower.keep_seconds()


@contextmanager
def compiling_shown(is_shown: bool = True) -> Iterator[CompileWatch]:
    """Show what is compiled: on a terminal by a spinner that goes away, elsewhere by a line.

    Functions that usually take less than a second get no line.
    """
    if not is_shown:
        with compiling_watched() as watch:
            yield watch
        return
    display = _Spinner() if sys.stderr.isatty() else _Lines()
    with compiling_watched(display.begin, display.end) as watch:
        yield watch


class _Lines:
    def begin(self, compilation: Compilation) -> None:
        if compilation.usual >= 1.0:
            sys.stderr.write(f"{compilation}\n")
            sys.stderr.flush()

    def end(self) -> None:
        return


class _Spinner:
    """The spinner of rich, which runs in a thread of its own."""

    def __init__(self) -> None:
        self.status: Any = None

    def begin(self, compilation: Compilation) -> None:
        from rich.console import Console

        self.status = Console(stderr=True, highlight=False).status(str(compilation))
        self.status.start()

    def end(self) -> None:
        self.status.stop()


class _Follower:
    """Follows numba's events; an event within another one counts as part of that one."""

    def __init__(
        self,
        watch: CompileWatch,
        begin: Callable[[Compilation], None] | None,
        end: Callable[[], None] | None,
    ) -> None:
        self.watch, self.begin, self.end = watch, begin, end
        self.depth = 0
        self.started = 0.0
        self.loading_before = loading_seconds()
        self.lock, self.n_at_work, self.at_work_since = Lock(), 0, 0.0
        self.current: Compilation | None = None
        self.kept: dict[Path, dict[str, float]] = {}
        self.stop: Callable[[], None] = lambda: None

    def listen(self) -> None:
        """Let numba tell its news from now on, until `stop` is called."""
        self.watch.waited += loading_seconds() - self.loading_before
        stops = (
            listen(self.on_start, self.on_end),
            listen(self.on_work, self.on_rest, "numba:compiler_lock"),
        )

        def stop() -> None:
            for each in stops:
                each()

        self.stop = stop

    def on_work(self, news: Any) -> None:
        """Note that a thread has work for the compiler."""
        with self.lock:
            self.n_at_work += 1
            if self.n_at_work == 1:
                self.at_work_since = time.perf_counter()

    def on_rest(self, news: Any) -> None:
        """Note that this work is done; that of others may go on."""
        with self.lock:
            self.n_at_work -= 1
            if self.n_at_work == 0:
                self.watch.waited += time.perf_counter() - self.at_work_since

    def on_start(self, news: Any) -> None:
        """Note that numba begins to compile a function."""
        self.depth += 1
        if self.depth > 1:
            return
        self.current = _compilation(news.data)
        if self.begin is not None:
            self.begin(self.current)
        self.started = time.thread_time()

    def on_end(self, news: Any) -> None:
        """Note that numba has compiled a function, or has failed to."""
        self.depth -= 1
        if self.depth > 0 or self.current is None:
            return
        seconds = max(time.thread_time() - self.started, 0.0)
        self.watch.seconds.append((self.current, seconds))
        folder = _folder(news.data["dispatcher"])
        if folder is not None:
            self.kept.setdefault(folder, {})[_key(self.current)] = round(seconds, 2)
        self.current = None
        if self.end is not None:
            self.end()

    def keep_seconds(self) -> None:
        """Write the seconds beside the compiled code, for the next time."""
        for folder, seconds in self.kept.items():
            with suppress(OSError):  # a folder that cannot be written: then nothing is kept
                _write_seconds(folder, seconds)


# -- what a function is called -------------------------------------------------------------------


def _compilation(details: dict[str, Any]) -> Compilation:
    dispatcher = details["dispatcher"]
    function = dispatcher.py_func
    module = function.__module__
    parts = module.split(".")
    room = parts[1] if parts[0] == "maxmargin" and len(parts) > 1 else ""
    does, coarse = _COARSE.get(room, _OTHERS)
    kinds: list[str] = []
    for argument in details["args"]:
        _collect_kinds(argument, kinds)
    named = f"{module}.{function.__qualname__.rpartition('.')[2]}"
    what = f"{does} ({function.__name__})"
    if kinds:
        what += f" for {', '.join(dict.fromkeys(kinds))}"
    if room == "solvers":  # without data it is a helper of the passes, soon compiled
        coarse = _PASSES.get(kinds[0], coarse) if kinds else 1.0
    found, folder = Compilation(named, what, coarse), _folder(dispatcher)
    known = {} if folder is None else _read_seconds(folder)
    return Compilation(named, what, known.get(_key(found), coarse), folder is not None)


def _collect_kinds(argument: Any, kinds: list[str]) -> None:
    """Name the data and features among the types of arguments, however deep."""
    cls = getattr(argument, "instance_class", None)
    if cls is not None:
        name = cls.__name__
        if name in _KINDS:
            kinds.append(_KINDS[name])
        elif "Labels" in name:
            kinds.append("label sets")
        elif not cls.__module__.startswith("maxmargin."):
            kinds.append(name)
    for inner in (*getattr(argument, "types", ()), getattr(argument, "inner", None)):
        if inner is not None:
            _collect_kinds(inner, kinds)


def _key(compilation: Compilation) -> str:
    return f"{compilation.function}: {compilation.what}"


def _seconds(value: float) -> str:
    """Spell seconds as one would say them.

    Examples
    --------
    >>> _seconds(0.2), _seconds(1.4), _seconds(9.6)
    ('less than a second', 'about a second', 'about 10 s')
    """
    if value < 0.75:
        return "less than a second"
    return "about a second" if value < 1.5 else f"about {value:.0f} s"


# -- the file of seconds -------------------------------------------------------------------------


def _folder(dispatcher: Any) -> Path | None:
    """Return where a function's compiled code is kept, or None where it is not."""
    path = getattr(getattr(dispatcher, "stats", None), "cache_path", None)
    return None if path is None else Path(path)


def _read_seconds(folder: Path) -> dict[str, float]:
    """Return the seconds in the file of a folder; implausible entries are left out."""
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        key: float(value)
        for key, value in found.items()
        if type(value) in (int, float) and math.isfinite(value) and 0 <= value < 1e6
    }


def _write_seconds(folder: Path, seconds: dict[str, float]) -> None:
    """Add seconds to the file of a folder, which must exist; writes all of them or none."""
    text = json.dumps({**_read_seconds(folder), **seconds}, indent=0, sort_keys=True)
    handle, name = tempfile.mkstemp(prefix=FILE, suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(name, folder / FILE)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
