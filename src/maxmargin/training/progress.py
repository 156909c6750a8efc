"""The progress line: one line to stderr when a pass brought news."""

from __future__ import annotations

import math
import sys
from typing import TextIO

from maxmargin.solvers import Iteration
from maxmargin.training.scoring import measure_title

_HEAD = (
    f"{'pass':>6} {'primal':>12} {'dual':>12} {'rel. gap':>9} {'oracle calls':>13} {'seconds':>9}"
)


def is_news(event: Iteration) -> bool:
    """Tell whether a pass found the gap, or a better score on held-out examples than all before."""
    return not math.isnan(event.record.primal) or event.is_best


class ProgressLine:
    """A callback that writes pass, primal, dual, relative gap, oracle calls and seconds.

    With held-out examples also their score, by the name of its measure.

    Parameters
    ----------
    every_pass : bool
        False writes only the passes that bring news: the gap was computed, or the score on held-out
        examples is the best so far.
    stream : text stream, None for stderr
    """

    def __init__(self, every_pass: bool = False, stream: TextIO | None = None) -> None:
        self.every_pass = every_pass
        self.stream = stream
        self._began = False

    def __call__(self, event: Iteration) -> None:
        """Write one line, under a heading the first time."""
        record = event.record
        if not self.every_pass and not is_news(event):
            return
        stream = self.stream or sys.stderr
        if not self._began:
            stream.write(_HEAD + "\n")
            self._began = True
        gap = record.gap / abs(record.primal) if record.primal else record.gap
        line = (
            f"{record.pass_:>6} {_number(record.primal, 12)} {_number(record.dual, 12)} "
            f"{_number(gap, 9)} {record.oracle_calls:>13} {record.seconds:>9.2f}"
        )
        if not math.isnan(record.validation_score):
            line += f"  {measure_title(event.measure)} {record.validation_score:.4f}"
            line += " (best)" if event.is_best else ""
        stream.write(line + "\n")


def _number(value: float, width: int) -> str:
    return f"{'-':>{width}}" if math.isnan(value) else f"{value:>{width}.4g}"
