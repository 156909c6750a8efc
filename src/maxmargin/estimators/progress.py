"""The progress line: one line to stderr a pass."""

from __future__ import annotations

import math
import sys
from typing import TextIO

from maxmargin.solvers import Iteration

_HEAD = (
    f"{'pass':>6} {'primal':>12} {'dual':>12} {'rel. gap':>9} {'oracle calls':>13} {'seconds':>9}"
)


class ProgressLine:
    """A callback that writes pass, primal, dual, relative gap, oracle calls and seconds.

    Parameters
    ----------
    every_pass : bool
        False writes only the passes at which the gap was computed.
    stream : text stream, None for stderr
    """

    def __init__(self, every_pass: bool = False, stream: TextIO | None = None) -> None:
        self.every_pass = every_pass
        self.stream = stream
        self._began = False

    def __call__(self, event: Iteration) -> None:
        """Write one line, under a heading the first time."""
        record = event.record
        if (
            math.isnan(record.primal)
            and math.isnan(record.validation_score)
            and not self.every_pass
        ):
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
            line += f"  score {record.validation_score:.4f}"
        stream.write(line + "\n")


def _number(value: float, width: int) -> str:
    return f"{'-':>{width}}" if math.isnan(value) else f"{value:>{width}.4g}"
