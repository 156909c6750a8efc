"""What is printed, and where: results to stdout, everything else to stderr."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_SAID: dict[type[OSError], str] = {
    FileNotFoundError: "no such file: {}",
    IsADirectoryError: "{} is a folder, not a file",
    PermissionError: "no permission for {}",
}
#: What errors and warnings call parameters by, and the options that stand for them.
_OPTIONS = {
    "Constraints(..., strict=True)": "--strict",
    " (the parameter classes may name more than occur in y)": "",
    "a run with another eval_set": "a run with another --dev",
    "raise max_iter or time_budget": "raise --max-iter or --time-budget",
    "lower C": "lower --C",
    "a larger tol": "a larger --tol",
    "say most_cells": "say --most-cells",
    "gain='linear' takes": "--gain linear takes",
    "format= (--format on the command line)": "--format",
}
_LONGEST = 2000  # characters of a message: words from a file may be of any length
_PIPE_WIDTH = 240  # columns of a table that goes to a file: nothing is cut off


@dataclass
class Settings:
    """What the options before the command say."""

    traceback: bool = False


SETTINGS = Settings()


class _Closed(io.TextIOBase):
    """A stdout that was closed before we began: to write there is an error, not a loss."""

    def write(self, _: str) -> int:
        """Refuse."""
        raise OSError("stdout is closed, so that the result cannot be printed.")


class _Unheard:
    """A stderr whose reader may go: what we say there then goes nowhere, and the work goes on."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except BrokenPipeError:
            drop(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            drop(self._stream)


@contextlib.contextmanager
def guarded_streams() -> Iterator[None]:
    """See to it that closed streams neither break the work nor pass unnoticed.

    A number that a closed stream leaves free would be taken by the next file that is opened, and
    what is printed there would end up in that file: such numbers are taken first.
    """
    kept = sys.stdout, sys.stderr
    taken = os.open(os.devnull, os.O_RDWR)
    while taken <= 2:
        taken = os.open(os.devnull, os.O_RDWR)
    os.close(taken)
    if sys.stdout is None:
        sys.stdout = _Closed()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    sys.stderr = cast("IO[str]", _Unheard(sys.stderr))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = kept


def drop(stream: Any) -> None:
    """Let what is still to be written to a stream go nowhere, without an error at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def sentence(error: BaseException) -> str:
    """Return what is wrong, in words.

    Examples
    --------
    >>> sentence(FileNotFoundError(2, "No such file or directory", "a.mm"))
    'no such file: a.mm'
    """
    name = getattr(error, "filename", None)
    if name is not None and isinstance(error, OSError):
        for kind, said in _SAID.items():
            if isinstance(error, kind):
                return said.format(name)
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    return str(error) or type(error).__name__


def in_options(message: str) -> str:
    """Return a message that tells of options where it told of Python.

    Examples
    --------
    >>> in_options("... Constraints(..., strict=True) refuses such labels.")
    '... --strict refuses such labels.'
    """
    for said, option in _OPTIONS.items():
        message = message.replace(said, option)
    return message


def console(*, stderr: bool = False) -> Console:
    """Return the terminal of results, or that of everything else."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, emoji=False)


def result(*items: RenderableType) -> None:
    """Print results; text is printed as it is."""
    for item in items:
        if isinstance(item, str):
            sys.stdout.write(item + "\n")
        elif sys.stdout.isatty():
            console().print(item)
        else:
            terminal = console()
            with terminal.capture() as capture:
                terminal.print(item)
            lines = capture.get().splitlines()
            sys.stdout.write("".join(line.rstrip() + "\n" for line in lines))


def result_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object, on one line; what is no number (NaN, infinity) becomes null."""
    sys.stdout.write(json.dumps(plain(value), allow_nan=False, ensure_ascii=False) + "\n")


def note(message: str) -> None:
    """Say something about the run, on stderr."""
    sys.stderr.write(message + "\n")


def warning(message: str) -> None:
    """Print a warning, in one line."""
    _titled("Warning:", "yellow", message)


def error(message: str) -> None:
    """Print why the command failed, in one line."""
    _titled("Error:", "bold red", message)


def _titled(title: str, style: str, message: str) -> None:
    from rich.text import Text

    line = " ".join(message.split("\n"))
    if len(line) > _LONGEST:
        line = f"{line[:_LONGEST]} ..."
    console(stderr=True).print(Text.assemble((title, style), " ", line), soft_wrap=True)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"gap": float("nan"), "labels": np.array([1, 2]), 3: (np.float64(0.5), "a")})
    {'gap': None, 'labels': [1, 2], '3': [0.5, 'a']}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # numpy's arrays and scalars
        return plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int, bool)):
        return value
    return str(value)


def facts(title: str, rows: Mapping[str, Any]) -> Table:
    """Return a table of names and values; rows whose value is None are left out."""
    table = _table(title, show_header=False)
    table.add_column(style="dim")
    table.add_column()
    for name, value in rows.items():
        if value is not None:
            table.add_row(name, number(value))
    return table


def grid(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], n_text: int = 1) -> Table:
    """Return a table whose first columns are text and whose others are aligned to the right."""
    table = _table(title)
    for j, head in enumerate(heads):
        table.add_column(_text(head), justify="left" if j < n_text else "right")
    for row in rows:
        table.add_row(*[number(cell) for cell in row])
    return table


def _table(title: str, **options: Any) -> Table:
    from rich import box
    from rich.table import Table

    return Table(
        title=_text(title) if title else None,
        title_justify="left",
        title_style="bold",
        min_width=min(len(title), 78),  # else a title longer than its table is wrapped
        box=box.SIMPLE,
        **options,
    )


def number(value: Any) -> Any:
    """Return a cell of a table: numbers short, text as it is (brackets are no markup).

    Examples
    --------
    >>> str(number(0.123456)), str(number(float("nan"))), str(number("w[0]=a"))
    ('0.1235', '-', 'w[0]=a')
    """
    if isinstance(value, float):
        return _text("-" if math.isnan(value) else f"{value:.4g}")
    return value if hasattr(value, "__rich_console__") else _text(str(value))


def _text(value: str) -> Any:
    from rich.text import Text

    return Text(value)


def percent(share: float) -> str:
    """Return a share as text.

    Examples
    --------
    >>> percent(0.98765)
    '98.77%'
    """
    return f"{100 * share:.2f}%"
