"""Progress of inference on stderr: bound and score as a solver goes on."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from maxmargin.cli import console
from maxmargin.core.news import Compilation, compiling_shown, compiling_watched

if TYPE_CHECKING:
    from rich.console import RenderableType

_SHOWN = 8  # lines that the live table holds
_EVERY = 0.5  # seconds between two lines that bring little news
_HEAD = f"{'iteration':>9} {'bound':>14} {'score':>14} {'gap':>10} {'seconds':>9}"

Report = Callable[[int, float, float], None]


@contextmanager
def solving(quiet: bool) -> Iterator[Report | None]:
    """Give the callback that shows how a solver goes on, while it runs; None if nothing is shown.

    A terminal has a live table; elsewhere lines are written, at most two per second.
    """
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        with compiling_shown():
            yield SolvingLines()
        return
    from rich.live import Live

    table = SolvingTable()
    with (
        Live(console=console.console(stderr=True), get_renderable=table.render),
        compiling_watched(table.begin_compiling, table.end_compiling),
    ):
        yield table


class _Best:
    """The least bound and the highest score of the whole run, whatever stages it has."""

    def __init__(self) -> None:
        self.bound, self.score = math.inf, -math.inf
        self.started = time.perf_counter()

    def take(self, iteration: int, bound: float, score: float) -> tuple[int, float, float, float]:
        """Return the line of one report: iteration, bound, score, seconds."""
        self.bound, self.score = min(self.bound, bound), max(self.score, score)
        return iteration, self.bound, self.score, time.perf_counter() - self.started


class SolvingLines:
    """A callback that writes a line when there is news, but not too often."""

    def __init__(self) -> None:
        self._best = _Best()
        self._written = -math.inf
        self._began = False

    def __call__(self, iteration: int, bound: float, score: float) -> None:
        """Take in a report."""
        before = self._best.bound, self._best.score
        line = self._best.take(iteration, bound, score)
        is_news = (self._best.bound, self._best.score) != before
        if not is_news or line[3] - self._written < _EVERY:
            return
        if not self._began:
            console.note(_HEAD)
            self._began = True
        self._written = line[3]
        console.note(
            f"{iteration:>9} {_number(line[1]):>14} {_number(line[2]):>14} "
            f"{_number(line[1] - line[2]):>10} {line[3]:>9.2f}"
        )


class SolvingTable:
    """A callback that keeps the last reports, for a display that is drawn by another thread."""

    def __init__(self) -> None:
        self._best = _Best()
        self._lines: deque[tuple[int, float, float, float]] = deque(maxlen=_SHOWN)
        self._spinner: RenderableType | None = None  # while something is compiled

    def begin_compiling(self, compilation: Compilation) -> None:
        """Show what is compiled, below the lines."""
        from rich.spinner import Spinner

        self._spinner = Spinner("dots", str(compilation))

    def end_compiling(self) -> None:
        """Show it no more."""
        self._spinner = None

    def __call__(self, iteration: int, bound: float, score: float) -> None:
        """Take in a report; it takes the place of the last one if that is younger than a while."""
        line = self._best.take(iteration, bound, score)
        if len(self._lines) > 1 and line[3] - self._lines[-2][3] < _EVERY:
            self._lines.pop()
        self._lines.append(line)

    def render(self) -> RenderableType:
        """Return the table as it stands, and what is being compiled."""
        from rich.console import Group

        parts: list[RenderableType] = []
        if self._lines:
            heads = ["iteration", "bound", "score", "gap", "seconds"]
            rows = [
                [str(k), _number(bound), _number(score), _number(bound - score), f"{seconds:.2f}"]
                for k, bound, score, seconds in list(self._lines)
            ]
            parts.append(console.grid("", heads, rows, n_text=0))
        if self._spinner is not None:
            parts.append(self._spinner)
        return Group(*parts) if parts else "Solving."


def _number(value: float) -> str:
    return f"{value:.8g}" if math.isfinite(value) else "-"
