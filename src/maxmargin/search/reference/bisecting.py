"""The bisecting search: move the tilt to where a line touches a hyperbola of psi on the hull.

For slack rescaling only. With H = 1 + h, psi = H g. If K is the largest H + tilt * g, no psi
exceeds K^2 / (4 tilt). The output found says which way the tilt must move to lower this bound: down
if tilt * g > H, else up. In the end the best corner of the hull is known, and a bound.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

from maxmargin.core.contract import (
    find,
    implements,
    margin_error,
    maximize_bounded,
    memory,
    output_cost,
    psi,
    search_room,
)
from maxmargin.core.outputs import copy_output
from maxmargin.search.contract import check_at_least, check_tolerance
from maxmargin.search.hull.points import ROUNDING
from maxmargin.search.recall import Recall, recall, remembered


@dataclass(frozen=True)
class Bisecting:
    """Search by bisection of the tilt, for slack rescaling; it needs the plain oracle only.

    Finds the best corner of the hull of all (h, g), with a bound. `ConvexHull` does so in fewer
    calls and for every surrogate: this search is there for comparison.

    Parameters
    ----------
    rtol : float, default=1e-9
        Stop when the tilt is known to this relative accuracy.
    warm : bool, default=True
        Start from the tilt of the last pass. This changes the number of calls, but no maximum.
    max_calls : int, default=100
        Stop after this many calls, with the bound known by then.

    Examples
    --------
    >>> from maxmargin.search import Bisecting
    >>> from maxmargin.surrogates import SlackRescaling
    >>> from maxmargin.testing import cloud_problem
    >>> h, g = [[2.0, 1.8, -0.5]], [[0.5, 1.0, 3.0]]  # psi = (h + 1) g: 1.5, 2.8 and 1.5
    >>> problem = cloud_problem(h, g, SlackRescaling(), Bisecting(), compile=False)
    >>> losses, bounds = problem.losses(problem.weights)
    >>> losses, bounds.round(2)
    (array([2.8]), array([3.39]))
    """

    rtol: float = 1e-9
    warm: bool = True
    max_calls: int = 100

    name: ClassVar[str] = "bisecting"
    needs: ClassVar[frozenset[str]] = frozenset({"weighted"})
    surrogates: ClassVar[str] = "slack"
    needs_slack: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_tolerance("Bisecting", "rtol", self.rtol, least=0.0)
        check_at_least("Bisecting", "max_calls", self.max_calls, 1)

    def bind(self, data: Any, cost: Any, surrogate: Any) -> BisectingSearch:
        """Return the search over these examples."""
        kept = recall(data, 0, self.warm)
        return BisectingSearch(kept, float(self.rtol), self.max_calls, 0, 1)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search."""
        return asdict(self)


class BisectingSearch(NamedTuple):
    """The bisecting search, or the binary one, as passes see them. Remembers the last tilt."""

    recall: Recall
    rtol: float
    max_calls: int
    is_geometric: int  # the middle of two tilts is the root of their product, not their mean
    stops_at_corner: int  # whether to stop when both ends of the range find the same output


@implements(search_room, BisectingSearch)
def _search_room(search, problem):
    return problem.empty_outputs(int(problem.sizes.max(initial=1)))


@implements(memory, BisectingSearch)
def _memory(search):
    return remembered(search.recall)


@implements(find, BisectingSearch)
def _find(search, problem, i, desk, outputs, at):
    data, cost, kept, found = problem.data, problem.cost, search.recall, desk.search_room
    copy_output(data, i, kept.truths, kept.truth_starts[i], outputs, at)
    best, best_slope, best_error = 0.0, 0.0, 0.0
    bound = math.inf
    is_bounded = False  # whether the oracle is not exact: its bound exceeds the output it found
    low, high = 0.0, math.inf
    low_h, low_g, high_h, high_g = math.nan, math.nan, math.nan, math.nan
    tilt = kept.numbers[i] if kept.is_warm and kept.numbers[i] > 0.0 else 1.0
    for _ in range(search.max_calls):
        top = 1.0 + maximize_bounded(data, cost, i, desk.theta, desk.room, 1.0, tilt, found, 0)
        desk.calls[0] += 1
        error = margin_error(data, i, desk.theta, found, 0)
        g = output_cost(data, cost, i, found, 0)
        value, slope, _ = psi(problem.surrogate, error, g)
        if value > best and g > 0.0:
            best, best_slope, best_error = value, slope, error
            copy_output(data, i, found, 0, outputs, at)
        h = 1.0 + error
        is_bounded = is_bounded or top > (h + tilt * g) * (1.0 + ROUNDING)
        top = max(top, h + tilt * g, 0.0)
        bound = min(bound, top * top / (4.0 * tilt))
        kept.numbers[i] = tilt
        if best >= bound or h == tilt * g:
            break
        if tilt * g < h:
            low, low_h, low_g = tilt, h, g
        else:
            high, high_h, high_g = tilt, h, g
        is_corner = low_h == high_h and low_g == high_g
        if is_corner and search.stops_at_corner:
            # Some line of a tilt between the two touches the hyperbola there: no output is better.
            bound = bound if is_bounded else min(bound, value)
            break
        if high < math.inf and high - low <= search.rtol * high:
            break
        if high == math.inf:
            tilt = 2.0 * low
        elif search.is_geometric:
            tilt = math.sqrt(low * high) if low > 0.0 else 0.5 * high
        else:
            tilt = 0.5 * (low + high)
    return best, best_slope, best_error, max(bound, best)
