"""Fractional outputs in, outputs out: node marginals of a graph become labels.

Where a relaxation is tight its point is a labelling, and every rounding returns it. Elsewhere
random roundings have guarantees, and a polish mostly does more than a hundred draws.
"""

from __future__ import annotations

from maxmargin.rounding.base import Rounding, check_marginals
from maxmargin.rounding.complete import Complete
from maxmargin.rounding.conditional import Conditional
from maxmargin.rounding.expected import expected_score
from maxmargin.rounding.interval import Interval
from maxmargin.rounding.kleinberg_tardos import KleinbergTardos
from maxmargin.rounding.largest import Max

#: Roundings by name. A new rounding is one file and one line here.
ROUNDINGS: dict[str, type[Rounding]] = {
    "max": Max,
    "complete": Complete,
    "interval": Interval,
    "kleinberg_tardos": KleinbergTardos,
    "conditional": Conditional,
}

# This import comes last, because `public` reads the registry.
from maxmargin.rounding.public import as_rounding, round_graph, solve_rounded  # noqa: E402

__all__ = [
    "ROUNDINGS",
    "Complete",
    "Conditional",
    "Interval",
    "KleinbergTardos",
    "Max",
    "Rounding",
    "as_rounding",
    "check_marginals",
    "expected_score",
    "round_graph",
    "solve_rounded",
]
