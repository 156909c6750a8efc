"""The search of Sarawagi and Gupta: an output more violated than a known slack xi, if there is one.

For slack rescaling only. With H = 1 + h, an output violates by more than xi if and only if H - xi/g
is positive. The maximum of H - xi/g over the hull is the least value of the convex function
F(tilt) = max_y H + tilt * g - 2 sqrt(xi tilt), where y is any output but the true one, whose g is
0. Golden section over the logarithm of the tilt finds it. The search returns the best psi of the
outputs that it met, which need not be the largest of the hull.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

from maxmargin.core.contract import (
    find,
    implements,
    k_best,
    k_best_room,
    margin_error,
    memory,
    output_cost,
    output_size,
    psi,
    search_room,
)
from maxmargin.core.outputs import copy_output, is_same_output
from maxmargin.search.contract import check_at_least, check_tolerance
from maxmargin.search.recall import Recall, recall, remembered


@dataclass(frozen=True)
class SarawagiGupta:
    """Search for an output more violated than the slack, for the n-slack cutting plane only.

    For slack rescaling. It asks for the two best outputs, because one may be the true one. It is
    there for comparison: `ConvexHull` takes fewer calls and does not depend on the slack.

    Parameters
    ----------
    tol : float, default=1e-4
        Stop when the logarithm of the tilt is known to this accuracy.
    max_calls : int, default=100
        Stop after this many calls, with the bound known by then.

    Examples
    --------
    >>> from maxmargin.search import SarawagiGupta
    >>> from maxmargin.surrogates import SlackRescaling
    >>> from maxmargin.testing import cloud_problem
    >>> h, g = [[2.0, 1.8, -0.5]], [[0.5, 1.0, 3.0]]  # psi = (h + 1) g: 1.5, 2.8 and 1.5
    >>> problem = cloud_problem(h, g, SlackRescaling(), SarawagiGupta(), compile=False)
    >>> losses, bounds = problem.losses(problem.weights)
    >>> losses, bounds >= losses
    (array([2.8]), array([ True]))
    """

    tol: float = 1e-4
    max_calls: int = 100

    name: ClassVar[str] = "sarawagi"
    needs: ClassVar[frozenset[str]] = frozenset({"k_best"})
    surrogates: ClassVar[str] = "slack"
    needs_slack: ClassVar[bool] = True
    is_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_tolerance("SarawagiGupta", "tol", self.tol, least=0.0)
        check_at_least("SarawagiGupta", "max_calls", self.max_calls, 2)

    def bind(self, data: Any, cost: Any, surrogate: Any) -> SarawagiSearch:
        """Return the search over these examples."""
        return SarawagiSearch(recall(data, 0, True), float(self.tol), self.max_calls)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search."""
        return asdict(self)


class SarawagiSearch(NamedTuple):
    """The search of Sarawagi and Gupta as passes see it. Remembers the largest cost."""

    recall: Recall
    tol: float
    max_calls: int


class SarawagiRoom(NamedTuple):
    """Room for the two best outputs."""

    own: Any
    found: Any  # flat


@implements(search_room, SarawagiSearch)
def _search_room(search, problem):
    own = k_best_room(problem.view.data, problem.view.cost, 2)
    return SarawagiRoom(own, problem.empty_outputs(2 * int(problem.sizes.max(initial=1))))


@implements(memory, SarawagiSearch)
def _memory(search):
    return remembered(search.recall)


@implements(find, SarawagiSearch)
def _find(search, problem, i, desk, outputs, at):
    data, cost, surrogate, kept = problem.data, problem.cost, problem.surrogate, search.recall
    found = desk.search_room.found
    size, start = output_size(data, i), kept.truth_starts[i]
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    copy_output(data, i, kept.truths, start, outputs, at)
    best, best_slope, best_error = 0.0, 0.0, 0.0
    xi = desk.slack[0]
    bound = math.inf
    most = kept.numbers[i]
    low, width, known, at_known = 0.0, 0.0, 0.0, 0.0
    is_left = True
    # Stages of the calls: 0 asks for the largest cost if it is not remembered, 1 for the largest h;
    # 2 is the first point of the golden section, `known`, and 3 are its other points.
    stage = 0 if most == 0.0 else 1
    for _ in range(search.max_calls):
        score_scale, cost_scale = 1.0, 0.0
        new = known
        if stage == 0:
            score_scale, cost_scale = 0.0, 1.0
        elif stage == 2:
            cost_scale = math.exp(known)
        elif stage == 3:
            new = low + (golden if is_left else 1.0 - golden) * width
            cost_scale = math.exp(new)
        n_listed = k_best(
            data,
            cost,
            i,
            desk.theta,
            desk.room,
            score_scale,
            cost_scale,
            2,
            desk.search_room.own,
            found,
            0,
        )
        desk.calls[0] += 1
        place = size if is_same_output(data, i, found, 0, kept.truths, start) else 0
        if place > 0 and n_listed < 2:
            bound = 0.0
            break  # the true output is the only one
        error = margin_error(data, i, desk.theta, found, place)
        g = output_cost(data, cost, i, found, place)
        value, slope, _ = psi(surrogate, error, g)
        if value > best and g > 0.0:
            best, best_slope, best_error = value, slope, error
            copy_output(data, i, found, place, outputs, at)
        h = 1.0 + error
        if stage == 0:
            kept.numbers[i] = g
            most = g
            stage = 1
            continue
        if stage == 1:
            bound = max(h, 0.0) * most
            if bound <= best or most <= 0.0:
                break
            if xi <= 0.0:  # no slack is known: look for what is worse than the best output so far
                xi = max(best, 1e-3 * bound)
            least = max(g, 1e-3 * most)
            low = math.log(xi / (most * most))
            width = math.log(xi / (least * least)) - low
            known = low + (1.0 - golden) * width
            stage = 2
            continue
        line = h + cost_scale * g
        bound = min(bound, max(line, 0.0) ** 2 / (4.0 * cost_scale))
        reach = line - 2.0 * math.sqrt(xi * cost_scale)
        if stage == 2:
            at_known = reach
            stage = 3
        else:
            left_wins = is_left == (at_known <= reach)
            if not left_wins:
                low = known if is_left else new
            if reach < at_known:
                known = new
                at_known = reach
            width *= golden
            is_left = not left_wins
        if width <= search.tol or bound <= best:
            break
    return best, best_slope, best_error, max(bound, best)
