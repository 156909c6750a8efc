"""What a run tells its callbacks after each pass, and the snapshot that it can go on from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.solvers.result import Record


@dataclass
class Snapshot:
    """A run at the end of a pass: numbers (JSON-able) and arrays. `run(snapshot=...)` goes on."""

    meta: dict[str, Any]
    arrays: dict[str, np.ndarray]
    #: The file that it comes from, named in errors.
    source: str = ""


@dataclass
class Iteration:
    """What a callback is told after each pass. A callback that returns True stops the run."""

    record: Record
    gap_estimate: float
    w: np.ndarray
    snapshot: Callable[[], Snapshot]
    #: Which measure record.validation_score is, and whether this pass has the best score so far.
    measure: str = ""
    is_best: bool = False


Callback = Callable[[Iteration], bool | None]
