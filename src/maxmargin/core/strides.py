"""How many examples one compiled call may visit.

Interrupts and the clock are looked at only between two calls, so a call must end soon.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import visit_work

__all__ = ["STRIDE", "visits_per_call"]

#: One compiled call takes about STRIDE_WORK operations at most, and visits at most STRIDE examples.
STRIDE_WORK = 1 << 26
STRIDE = 4096
#: How much scratch there is for each potential, where it is no list, and how often an oracle goes
#: through lists, about.
FEW = 4


def visits_per_call(data: Any, sizes: np.ndarray, theta: Any, room: Any) -> int:
    """Return how many examples one call may visit, at least one.

    Parameters
    ----------
    data : data of a structure, which may say what a visit costs (`visit_work`)
    sizes : cells of the output of each example
    theta, room : the workspace of the data
    """
    work = visit_work(data) or _estimated_work(data, sizes, theta, room)
    return int(min(max(STRIDE_WORK // max(work, 1.0), 1), STRIDE))


def _estimated_work(data: Any, sizes: np.ndarray, theta: Any, room: Any) -> float:
    """Return about how many operations a visit takes, by the sizes of arrays alone.

    The work per position is the number of its scores times the number of its features (to compute
    the scores), plus the square of the number of scores (to compare labels with labels). Scratch
    counts as scores up to a few times the potentials; what is beyond that are lists, such as one of
    all outputs, which are gone through a few times.
    """
    cells = max(int(sizes.max(initial=1)), 1)
    n_scores, n_scratch = _n_numbers(theta), _n_numbers(room)
    n_listed = max(n_scratch - FEW * n_scores, 0)
    scores = (n_scores + n_scratch - n_listed) / cells
    inputs = _n_numbers(data) / max(int(sizes.sum()), 1)
    mean = max(float(sizes.mean()), 1.0)
    return mean * (scores + inputs) * scores + FEW * n_listed


def _n_numbers(value: Any) -> int:
    """Return how many numbers the arrays in `value` hold, a tuple of arrays or of such tuples."""
    if isinstance(value, tuple):
        return sum(_n_numbers(item) for item in value)
    return int(np.size(value)) if isinstance(value, np.ndarray) else 0
