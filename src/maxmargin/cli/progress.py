"""Progress on stderr: a live table on a terminal, plain lines elsewhere; and news of compiling."""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from maxmargin.cli import console
from maxmargin.core.news import Compilation, compiling_shown, compiling_watched

if TYPE_CHECKING:
    from rich.console import RenderableType

    from maxmargin.solvers import Iteration

_SHOWN = 8  # passes that the live table holds


@contextmanager
def progress(quiet: bool, every_pass: bool = False) -> Iterator[list[Callable[[Any], None]]]:
    """Give the callbacks that show a run, while it runs.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    every_pass : bool
        Show also the passes at which no primal value was computed, on plain lines.
    """
    if quiet:
        yield []
        return
    if not sys.stderr.isatty():
        from maxmargin.training.progress import ProgressLine

        with compiling_shown():
            yield [ProgressLine(every_pass=every_pass)]
        return
    from rich.live import Live

    table = LiveTable()
    with (
        Live(console=console.console(stderr=True), get_renderable=table.render),
        compiling_watched(table.begin_compiling, table.end_compiling),
    ):
        yield [table]


class LiveTable:
    """A callback that keeps the last passes, for a display that is drawn by another thread."""

    def __init__(self) -> None:
        self.known: deque[Any] = deque(maxlen=_SHOWN)  # passes that brought news
        self.last: Any = None
        self.measure = ""
        self.spinner: Any = None  # while something is compiled

    def begin_compiling(self, compilation: Compilation) -> None:
        """Show what is compiled, below the passes."""
        from rich.spinner import Spinner

        self.spinner = Spinner("dots", str(compilation))

    def end_compiling(self) -> None:
        """Show it no more."""
        self.spinner = None

    def __call__(self, event: Iteration) -> None:
        """Take in a pass."""
        from maxmargin.training.progress import is_news

        if is_news(event):
            self.known.append(event.record)
        self.last, self.measure = event.record, event.measure

    def render(self) -> RenderableType:
        """Return the table as it stands, and what is being compiled."""
        spinner = self.spinner
        if self.last is None:
            return spinner or "Preparing."
        if spinner is None:
            return self._table()
        from rich.console import Group

        return Group(self._table(), spinner)

    def _table(self) -> RenderableType:
        """Return the last passes that brought news, and the last pass."""
        from maxmargin.training.scoring import measure_title

        last, records = self.last, list(self.known)
        if last not in records:
            records.append(last)
        heads = ["pass", "primal", "dual", "rel. gap", "oracle calls", "seconds"]
        has_score = not math.isnan(records[-1].validation_score)
        rows = [_row(record, has_score) for record in records]
        title = measure_title(self.measure) or "score"
        return console.grid("", [*heads, title] if has_score else heads, rows)


def _row(record: Any, has_score: bool) -> list[Any]:
    gap = record.gap / abs(record.primal) if record.primal else record.gap
    row = [str(record.pass_), record.primal, record.dual, gap, str(record.oracle_calls)]
    row.append(f"{record.seconds:.2f}")
    return [*row, record.validation_score] if has_score else row
