"""Label sets by HiGHS: their oracles, integer programmes or linear ones for the relaxation.

Beyond 16 labels these label sets alone have the oracle `constrained`. With a time limit an oracle
may miss the best output, but returns a bound.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.contract import (
    capabilities,
    constrained,
    implements,
    k_best,
    k_best_room,
    margin_error,
    maximize,
    maximize_bounded,
    output_cost,
    output_size,
    shift,
)
from maxmargin.costs.tables import SwitchCost, WholeCost
from maxmargin.structures.labels.costs import scales_with_ties
from maxmargin.structures.labels.program import (
    LabelPrograms,
    Part,
    ProgramLabels,
    gains,
)

#: `constrained` asks for slopes > low, but a linear programme knows only >=, and the truth has the
#: slope 0. So the relaxation is asked for at least this slope. An output below it is worth at most
#: LEAST_SLOPE * (1 + h)^2.
LEAST_SLOPE = 1e-7

#: If HiGHS finds a label set that meets a bound only up to rounding, `constrained` bans it and asks
#: again. After this many bans it raises an error.
MOST_BANS = 100


def _answer(data, cost, i, theta, score_scale, cost_scale, banned=()):
    """Solve the programme of `maximize`, without the label sets in ``banned``."""
    score_scale, cost_scale = scales_with_ties(data, cost, i, theta, score_scale, cost_scale)
    added, price = gains(data, cost, i)
    unary = score_scale * (theta.unary[0] + added) + cost_scale * price
    pair = score_scale * theta.pair
    answer = data.solve(i, unary, pair, banned=banned)
    # HiGHS may have no bound when its time is over. The sum of all positive weights is one.
    most = float(np.maximum(unary, 0.0).sum() + np.maximum(pair, 0.0).sum())
    return answer._replace(bound=min(answer.bound, most))


@implements(maximize_bounded, LabelPrograms, SwitchCost)
def _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write what HiGHS found; return the bound that it proved."""
    answer = _answer(data, cost, i, theta, score_scale, cost_scale)
    if np.isfinite(answer.value):
        part, excess = Part(answer.node, answer.edge), answer.bound - answer.value
    else:  # HiGHS found no output in its time: take the truth
        part = data.true_part(i)
        added, price = gains(data, cost, i)
        unary = score_scale * (theta.unary[0] + added) + cost_scale * price
        value = unary @ part.node + score_scale * (theta.pair @ part.edge)
        excess = answer.bound - float(value)
    data.write(i, part, outputs, at)
    h = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
    g = output_cost(data, cost, i, outputs, at)
    return score_scale * h + cost_scale * g + max(excess, 0.0)


@implements(maximize, LabelPrograms, SwitchCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write what HiGHS found."""
    _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)


@implements(maximize_bounded, ProgramLabels, WholeCost)
def _maximize_bounded_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Compare the best label set other than the truth with the truth, whose value is 0."""
    truth = data.true_part(i)
    price = cost_scale * float(cost.price[i])
    data.write(i, truth, outputs, at)
    if not (data.labels[i] >= 0).any():
        return 0.0
    answer = data.solve(i, theta.unary[0], theta.pair, banned=[truth.node])
    own = float(theta.unary[0] @ truth.node + theta.pair @ truth.edge)
    if np.isfinite(answer.value) and score_scale * (answer.value - own) + price >= 0.0:
        data.write(i, Part(answer.node, answer.edge), outputs, at)
    return max(0.0, score_scale * (answer.bound - own) + price)


@implements(maximize, ProgramLabels, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write what `_maximize_bounded_whole` finds."""
    _maximize_bounded_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)


@implements(capabilities, LabelPrograms)
def _capabilities(data, cost):
    """Name what the oracles offer, which is less where there is a time limit."""
    named = capabilities.__wrapped__(data, cost)
    # A programme that is stopped by its time limit may miss a better output, or find none although
    # there is one. Only `maximize_bounded` can report that.
    return named if data.time_limit is None else named - {"k_best", "constrained"}


@implements(k_best_room, ProgramLabels)
def _k_best_room(data, cost, k):
    """Return nothing to work in."""
    return np.zeros(0)


@implements(k_best, ProgramLabels, SwitchCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Solve k programmes, each without the label sets that were found before."""
    found = []
    for rank in range(k):
        answer = _answer(data, cost, i, theta, score_scale, cost_scale, found)
        if not np.isfinite(answer.value):
            return rank
        found.append(answer.node)
        part = Part(answer.node, answer.edge)
        data.write(i, part, outputs, at + rank * data.n_labels)
    return k


@implements(constrained, LabelPrograms, SwitchCost)
def _constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    """Solve a programme with the bounds of the slope as linear constraints."""
    # For a point of the polytope: h = its score - base, and g = price . node + start.
    added, price = gains(data, cost, i)
    score = theta.unary[0] + added
    truth = data.true_part(i)
    base = float(score @ truth.node + theta.pair @ truth.edge)
    start = float(cost.base[i]) - float(price @ truth.node)
    # The relaxation has points exactly on the bounds, with which a search would never get on: its
    # angle would not shrink. So the bounds 1 + h > 0 and slope > 0 are moved by edge_off.
    edge_off = 0.0 if data.is_integral else LEAST_SLOPE
    rows = [(score, theta.pair, base - 1.0 + edge_off, np.inf)]
    least = max(low, edge_off)
    for slope, is_low in ((least, True), (high, False)):
        if np.isfinite(slope):  # g >= slope (1 + h), or <=
            edge = slope * (1.0 - base) - start
            bounds = (edge, np.inf) if is_low else (-np.inf, edge)
            rows.append((price - slope * score, -slope * theta.pair, *bounds))
    weights = (score + tilt * price, theta.pair) if tilt < np.inf else (price, 0.0 * theta.pair)
    # A programme knows only <=, not <. If an integer programme finds a label set that lies on a
    # strict bound, the label set is banned and the programme is solved again.
    size = output_size(data, i)
    bans = []
    if data.is_integral:
        bans = [data.part(i, banned, b * size).node for b in range(n_banned)]
    for _ in range(MOST_BANS):
        answer = data.solve(i, *weights, rows=rows, banned=bans)
        if not np.isfinite(answer.value):
            return False
        part = Part(answer.node, answer.edge)
        data.write(i, part, outputs, at)
        if not data.is_integral:
            return True
        h = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
        if 1.0 + h > 0.0:
            slope = output_cost(data, cost, i, outputs, at) / (1.0 + h)
            if slope > low and (slope < high or (is_closed and slope == high)):
                return True
        bans.append(part.node)
    raise RuntimeError(
        f"More than {MOST_BANS} label sets of example {i} lie on the bounds of one angle: the "
        "angular search cannot tell them apart by programmes. Choose search='hull'."
    )
