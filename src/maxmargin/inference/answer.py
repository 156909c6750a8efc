"""What inference returns: an output, its score, and how sure one may be that it is the best."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class Exactness(Enum):
    """How an answer was got."""

    EXACT = "exact"
    RELAXED = "relaxed"
    HEURISTIC = "heuristic"


class Answer(NamedTuple):
    """An output with its score, an upper bound on the best score, and how it was got."""

    output: Any
    score: float
    bound: float
    exactness: Exactness
