"""Oracles of graphs with cycles under the zero-one cost: the best labelling other than the truth.

All labellings but the true one, y, cost the same, so the oracle needs the best of these. They are
covered by n sets, in each of which one node v has another label than y_v. Message passing in the
whole graph bounds all sets at once (`label_bounds`). Sets whose bound may beat the best labelling
met so far are searched one after the other, the highest bound first, with y_v forbidden at v;
mostly there are few of them. What is left open counts in the bound that is returned.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import implements, margin_error, maximize, maximize_bounded
from maxmargin.costs.tables import WholeCost
from maxmargin.inference.graph.score import dense_score
from maxmargin.structures.graph.costs import is_truth, write_truth
from maxmargin.structures.graph.data import Effort, GeneralGraphs
from maxmargin.structures.graph.messages import branch_room_of, srmp_room_of
from maxmargin.structures.graph.oracles import (
    LEAST_PROGRESS,
    ROUNDING,
    SMALLEST_LOSS,
    STRIDE,
    wanted_effort,
)
from maxmargin.structures.graph.sealed import call_bounds, call_branch, call_srmp
from maxmargin.structures.graph.shapes import graph_of


@jitable
def search_other(data, i, theta, room, truth, price, messages, effort, labels):
    """Write a good labelling other than the truth; return (its score, bound of all of them).

    Scores are those of theta, and ``truth`` is that of the true labelling. ``price`` is the cost,
    in the same unit: labellings that score less than the truth less the price are of no interest.
    If none was found the score is -inf and the labels mean nothing. ``messages`` is where to start;
    it receives messages of the whole graph.
    """
    graphs = data.graphs
    shape = graph_of(graphs.shapes, i)
    first, n, n_labels = graphs.shapes.node_at[i], shape.n_labels.shape[0], graphs.layout.n_labels
    unary = theta.unary[: n * n_labels]
    own = srmp_room_of(data, room, i)
    score, bound = _search(
        data, i, theta, room, own, messages, effort, truth, price, -np.inf, True, labels
    )
    if bound - max(score, truth - price) <= _wanted(effort, bound, truth, price):
        return score, bound
    # The bounds of all labels take the place of augmented potentials, which are not needed here.
    bounds = room.augmented[: n * n_labels]
    call_bounds(room.entries, shape, unary, theta.tables, messages, own.out, bounds)
    for v in range(n):
        bounds[v * n_labels + graphs.labels[first + v]] = -np.inf
    spare = room.spare[: messages.shape[0]]  # for one set: those of the whole graph are kept
    left = -np.inf  # what no labelling of the sets that were searched exceeds
    for _ in range(n):
        at = 0
        for cell in range(n * n_labels):
            if bounds[cell] > bounds[at]:
                at = cell
        top = min(bounds[at], bound)
        if top - max(score, truth - price) <= _wanted(effort, top, truth, price):
            return score, max(left, top)
        v = at // n_labels
        for k in range(n_labels):
            bounds[v * n_labels + k] = -np.inf
        for m in range(messages.shape[0]):
            spare[m] = messages[m]
        cell = v * n_labels + graphs.labels[first + v]
        kept = unary[cell]
        unary[cell] = -np.inf
        score, found = _search(
            data, i, theta, room, own, spare, effort, truth, price, score, False, labels
        )
        unary[cell] = kept
        left = max(left, min(top, found))
    return score, left


@jitable
def _wanted(effort, bound, truth, price):
    """Return how much may be left open, by the loss that the bound allows."""
    rounding = ROUNDING * (1.0 + abs(bound))
    if effort.precision == 0.0:
        return rounding
    return max(effort.precision * max(bound - truth + price, SMALLEST_LOSS * price), rounding)


@jitable
def _search(
    data, i, theta, room, own, messages, effort, truth, price, known, is_whole, labels
):  # fmt: skip
    """Search by message passing, then by branch and bound; return (score, bound).

    ``known`` is the score of a labelling found before: labels are written where a better one is
    found, and the better score is returned. If the graph is searched as a whole the truth competes
    too, but does not count as found; branch and bound is for the case that another one beats it.
    """
    graphs = data.graphs
    shape = graph_of(graphs.shapes, i)
    n = shape.n_labels.shape[0]
    unary = theta.unary[: n * graphs.layout.n_labels]
    trial = room.labels[:n]
    own.floor[0] = -np.inf if is_whole else max(known, truth - price)
    own.keeps[0] = own.keeps[1] = False
    score, bound, n_done = known, np.inf, 0
    left, wanted = np.inf, 0.0
    while True:
        last = bound
        found, value, n_more = call_srmp(
            room.entries, shape, unary, theta.tables, messages, STRIDE, ROUNDING, own, trial
        )
        own.keeps[0] = own.keeps[1] = True
        n_done += n_more
        bound = min(bound, found)
        if value > score and not (is_whole and is_truth(data, i, trial, 0)):
            score = value
            for v in range(n):
                labels[v] = trial[v]
        best = max(score, truth if is_whole else truth - price)
        left, wanted = bound - best, _wanted(effort, bound, truth, price)
        if left <= wanted or n_done >= effort.n_iterations or n_more < STRIDE:
            break
        if last - bound < LEAST_PROGRESS * left:
            break
    if left > wanted and effort.most_branches > 0 and (score > truth or not is_whole):
        found, value, _ = call_branch(
            room.entries,
            shape,
            unary,
            theta.tables,
            messages,
            effort.most_branches,
            1,
            STRIDE,
            wanted / (1.0 + abs(bound)),
            True,
            score,
            branch_room_of(data, room, own, i),
            trial,
        )
        bound = min(bound, found)
        if value > score:
            score = value
            for v in range(n):
                labels[v] = trial[v]
    if not (bound < np.inf and score < np.inf):  # scores overflow: nothing is proved
        return score, np.inf
    return score, max(bound, score)


@jitable
def _best_of_two(
    data, cost, i, theta, room, score_scale, cost_scale, messages, effort, outputs, at
):
    """Write the better of the truth, whose value is 0, and the best other; return the bound."""
    graphs = data.graphs
    shape = graph_of(graphs.shapes, i)
    first, n = graphs.shapes.node_at[i], shape.n_labels.shape[0]
    labels = outputs[at : at + n]
    unary = theta.unary[: n * graphs.layout.n_labels]
    truth = dense_score(shape, unary, theta.tables, graphs.labels[first : first + n])
    price = cost_scale * cost.price[i]
    # Where scores do not count, any other labelling will do, so one must be found.
    share = price / score_scale if score_scale > 0.0 else 1e300
    if score_scale == 0.0:
        effort = Effort(0.0, effort.n_iterations, effort.most_branches)
    score, bound = search_other(data, i, theta, room, truth, share, messages, effort, labels)
    if bound == np.inf:
        if score == -np.inf:
            write_truth(data, i, outputs, at)
        return np.inf
    excess = 0.0
    if bound > score + ROUNDING * (1.0 + abs(bound)):
        excess = bound - score if score > -np.inf else 0.0
    if score > -np.inf:
        value = score_scale * margin_error(data, i, theta, outputs, at) + price
        if value > 0.0:
            return value + score_scale * excess
    write_truth(data, i, outputs, at)
    if bound == -np.inf:
        return 0.0
    value = price + (score_scale * (bound - truth) if score_scale > 0.0 else 0.0)
    return value if value > score_scale * ROUNDING * (1.0 + abs(bound)) else 0.0


@implements(maximize, GeneralGraphs, WholeCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from nothing, to the end."""
    shapes = data.graphs.shapes
    n_messages = (shapes.slot_from[i + 1] - shapes.slot_from[i]) * data.graphs.layout.n_labels
    messages = room.messages[:n_messages]
    messages[:] = 0.0
    effort = Effort(0.0, data.effort.n_iterations, data.effort.most_branches)
    _best_of_two(data, cost, i, theta, room, score_scale, cost_scale, messages, effort, outputs, at)


@implements(maximize_bounded, GeneralGraphs, WholeCost)
def _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from the messages that are remembered, as far as the effort goes."""
    shapes, memory = data.graphs.shapes, data.memory
    n_messages = (shapes.slot_from[i + 1] - shapes.slot_from[i]) * data.graphs.layout.n_labels
    messages = memory.messages[memory.at[i] : memory.at[i + 1]]
    if messages.shape[0] < n_messages:
        messages = room.messages[:n_messages]
        messages[:] = 0.0
    return _best_of_two(
        data, cost, i, theta, room, score_scale, cost_scale, messages, wanted_effort(data),
        outputs, at,
    )  # fmt: skip
