"""Oracles of graphs with cycles: message passing with a bound, then branch and bound.

`maximize_bounded`, which training asks, starts from the messages of the last search in the graph
and tries as hard as `Effort` says. `maximize`, which predicts, starts from nothing, so that its
answer depends on the example and the weights alone.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    implements,
    margin_error,
    maximize,
    maximize_bounded,
    output_cost,
)
from maxmargin.core.dispatch import generic
from maxmargin.costs.edge_tables import EdgeCost
from maxmargin.costs.tables import SumOverPositions
from maxmargin.inference.graph.score import dense_score
from maxmargin.structures.graph.costs import SMALL_SCALE, augment, largest_prices, price_sum
from maxmargin.structures.graph.data import CyclicGraphs, Effort, GeneralGraphs
from maxmargin.structures.graph.messages import branch_room_of, srmp_room_of
from maxmargin.structures.graph.sealed import call_branch, call_srmp
from maxmargin.structures.graph.shapes import graph_of

#: Iterations of message passing between two looks at what is left, and in a node of branch and
#: bound.
STRIDE = 5
#: Message passing goes on while it lowers the bound by this share of what is left, per stride.
LEAST_PROGRESS = 0.1
#: The share of the gap of a run that the oracle may leave open.
SHARE_OF_GAP = 0.1
#: The same in haste, and the most iterations and nodes of branch and bound then. Without branch and
#: bound labellings are too poor to close the last tenth of a gap.
HASTY_SHARE, HASTY_ITERATIONS, HASTY_BRANCHES = 0.3, 10, 20
#: How far rounding may move a bound and a score, as a share of them.
ROUNDING = 1e-11
#: A loss is taken to be no less than this share of the largest cost, and no less than the mean of
#: the run, where precision is a share of it: the losses of most examples come near 0.
SMALLEST_LOSS = 1e-2


@jitable
def wanted_effort(data):
    """Return the effort that the gap of the run asks for, and haste allows."""
    effort, gap = data.effort, data.memory.gap[0]
    if effort.precision == 0.0:
        return effort
    gap = gap if gap > 0.0 else 1.0
    if data.memory.haste[0] > 0.0:
        return Effort(
            max(effort.precision, HASTY_SHARE * gap),
            min(effort.n_iterations, HASTY_ITERATIONS),
            min(effort.most_branches, HASTY_BRANCHES),
        )
    precision = max(effort.precision, SHARE_OF_GAP * gap)
    return Effort(precision, effort.n_iterations, effort.most_branches)


@jitable
def search_graph(data, cost, i, theta, room, score_scale, cost_scale, messages, effort, labels):
    """Write a good labelling; return how much better the best one can be, and what was wanted.

    What is maximised is the score plus cost_scale / score_scale times the cost, see `augment`.
    ``messages`` is where to start, and receives where the search ended.
    """
    graphs = data.graphs
    shape = graph_of(graphs.shapes, i)
    first, n = graphs.shapes.node_at[i], shape.n_labels.shape[0]
    n_unary = n * graphs.layout.n_labels
    priced = augment(cost, data, i, theta, score_scale, cost_scale, room)
    unary, tables = priced.unary[:n_unary], priced.tables
    own = srmp_room_of(data, room, i)
    own.floor[0], own.keeps[0], own.keeps[1] = -np.inf, False, False
    truth = dense_score(shape, unary, tables, graphs.labels[first : first + n])
    largest = 0.0
    if effort.precision > 0.0:
        largest = price_sum(cost, data, i, theta, room.labels)
        largest = max(SMALLEST_LOSS * largest, data.memory.loss[0]) * cost_scale / score_scale
    bound, score, n_done = np.inf, truth, 0
    for v in range(n):
        labels[v] = graphs.labels[first + v]
    trial = room.labels[:n]
    left = 0.0
    while True:
        last = bound
        found, value, n_more = call_srmp(
            room.entries, shape, unary, tables, messages, STRIDE, ROUNDING, own, trial
        )
        own.keeps[0] = own.keeps[1] = True
        n_done += n_more
        bound = min(bound, found)
        # The truth is only where the search begins: in a tie the labelling that was found wins.
        if value > score or (value == score and n_done == n_more):
            score = value
            for v in range(n):
                labels[v] = trial[v]
        left = bound - score
        rounding = ROUNDING * (1.0 + abs(bound))
        wanted = rounding
        if effort.precision > 0.0:
            wanted = max(effort.precision * max(bound - truth, largest), rounding)
        if left <= wanted or n_done >= effort.n_iterations or n_more < STRIDE:
            break
        if last - bound < LEAST_PROGRESS * left:
            break
    if left > wanted and effort.most_branches > 0:
        tolerance = wanted / (1.0 + abs(bound))
        found, value, n_more = call_branch(
            room.entries,
            shape,
            unary,
            tables,
            messages,
            effort.most_branches,
            1,
            STRIDE,
            tolerance,
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
        left = bound - score
    # Where scores overflow nothing is proved. Without a labelling both are -inf.
    if not (bound < np.inf and score < np.inf) or (bound == -np.inf and score > bound):
        return np.inf, wanted
    return (left if left > ROUNDING * (1.0 + abs(bound)) else 0.0), wanted


@jitable
def _n_messages(data, i):
    shapes = data.graphs.shapes
    return (shapes.slot_from[i + 1] - shapes.slot_from[i]) * data.graphs.layout.n_labels


@jitable
def _n_nodes(data, i):
    return data.graphs.shapes.node_at[i + 1] - data.graphs.shapes.node_at[i]


@generic
def search(data, cost, i, theta, room, score_scale, cost_scale, is_warm, outputs, at):
    """Search; return how much better the best output can be.

    If warm from the messages that are remembered, as far as the effort goes; else from nothing, to
    the end.
    """


@implements(search, GeneralGraphs)
def _search(data, cost, i, theta, room, score_scale, cost_scale, is_warm, outputs, at):
    """Write a labelling."""
    memory, n_messages = data.memory, _n_messages(data, i)
    messages = memory.messages[memory.at[i] : memory.at[i + 1]]
    effort = wanted_effort(data)
    if not is_warm or messages.shape[0] < n_messages:
        messages = room.messages[:n_messages]
        messages[:] = 0.0
    if not is_warm:
        effort = Effort(0.0, data.effort.n_iterations, data.effort.most_branches)
    labels = outputs[at : at + _n_nodes(data, i)]
    left, _ = search_graph(
        data, cost, i, theta, room, score_scale, cost_scale, messages, effort, labels
    )
    memory.left[i] = left
    return left


@jitable
def search_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from the messages that are remembered, as far as the effort goes; return a bound.

    Without scores the largest cost is searched from nothing, for its bound; then once more with
    scores that break ties. `search` stands here once, because it is compiled wherever it stands.
    """
    bound, is_largest = 0.0, score_scale == 0.0
    for attempt in range(2 if is_largest else 1):
        scale = score_scale if attempt == 0 else SMALL_SCALE
        left = search(data, cost, i, theta, room, scale, cost_scale, not is_largest, outputs, at)
        if attempt > 0:
            break
        bound = cost_scale * output_cost(data, cost, i, outputs, at)
        if is_largest:
            bound += left
        else:
            bound += score_scale * (margin_error(data, i, theta, outputs, at) + left)
    return bound


@implements(maximize, GeneralGraphs, SumOverPositions)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from nothing, to the end."""
    if score_scale == 0.0 and data.graphs.edge_barrier.shape[0] == 0:
        largest_prices(data, cost, i, theta, outputs, at)
        return
    scale = max(score_scale, SMALL_SCALE)
    search(data, cost, i, theta, room, scale, cost_scale, False, outputs, at)


@implements(maximize_bounded, GeneralGraphs, SumOverPositions)
def _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from the messages that are remembered, as far as the effort goes."""
    if score_scale == 0.0 and data.graphs.edge_barrier.shape[0] == 0:
        return cost_scale * largest_prices(data, cost, i, theta, outputs, at)
    return search_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)


@implements(maximize, CyclicGraphs, EdgeCost)
def _maximize_edges(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from nothing, to the end; scores break the ties of largest costs."""
    scale = max(score_scale, SMALL_SCALE)
    search(data, cost, i, theta, room, scale, cost_scale, False, outputs, at)


@implements(maximize_bounded, CyclicGraphs, EdgeCost)
def _maximize_bounded_edges(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Search from the messages that are remembered, as far as the effort goes."""
    return search_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)
