"""Parses: costs, the best tree and the k best."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    cost_step,
    implements,
    k_best,
    k_best_room,
    maximize,
    most_listed,
    output_cost,
)
from maxmargin.costs.attachment import ArcCost
from maxmargin.inference.parse.projective import best_k_projective, best_projective, tree_lists_room
from maxmargin.inference.parse.spanning import best_k_spanning, best_spanning, spanning_lists_room
from maxmargin.structures.parse.data import ParseData


@jitable
def price_arcs(data: Any, cost: Any, i: int, theta: Any, room: Any, factor: float) -> Any:
    """Return the best scores of arcs over their relations, ``factor`` added where a word is wrong.

    room.relation receives the relations.
    """
    first, n = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    n_relations = data.n_relations
    place = first * (2 if n_relations > 1 else 1)
    plain = room.plain[: (n + 1) * (n + 1)].reshape((n + 1, n + 1))
    relation = room.relation
    arcs, cells = theta.arcs, data.cells
    for h in range(n + 1):
        for m in range(1, n + 1):
            price = factor if data.counts[first + m - 1] != 0 else 0.0
            is_true = cells[place + m - 1] == h
            at = (h * (n + 1) + m) * n_relations
            if n_relations == 1:
                plain[h, m] = arcs[at] if is_true else arcs[at] + price
                continue
            right = cells[place + n + m - 1] if is_true and cost.is_labelled else -1
            top, best = -np.inf, 0
            for label in range(n_relations):
                score = arcs[at + label] + (0.0 if label == right else price)
                if is_true and not cost.is_labelled:
                    score = arcs[at + label]
                if score > top:
                    top, best = score, label
            plain[h, m] = top
            relation[h * (n + 1) + m] = best
    return plain


@implements(maximize, ParseData, ArcCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Find the best tree, with the cost added to the scores of arcs.

    The objective is divided by score_scale; if that is 0, 1e-9 takes its place, so that scores only
    break ties.
    """
    n = data.offsets[i + 1] - data.offsets[i]
    factor = cost_scale * cost.scale[i] / max(score_scale, 1e-9)
    plain = price_arcs(data, cost, i, theta, room, factor)
    heads = outputs[at : at + n]
    if data.is_projective:
        side = n + 1 if data.second else 0
        siblings = theta.siblings[: side**3].reshape((side, side, side))
        best_projective(plain, siblings, data.many, room.chart, heads)
    else:
        best_spanning(plain, data.many, room.contraction, heads)
    if data.n_relations > 1:
        for m in range(1, n + 1):
            outputs[at + n + m - 1] = room.relation[heads[m - 1] * (n + 1) + m]


@implements(output_cost, ParseData, ArcCost)
def _output_cost(data, cost, i, outputs, at):
    """Count the wrong words."""
    first, n = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    place = first * (2 if data.n_relations > 1 else 1)
    total = 0
    for m in range(n):
        if data.counts[first + m] == 0:
            continue
        is_wrong = outputs[at + m] != data.cells[place + m]
        if cost.is_labelled and data.n_relations > 1:
            is_wrong = is_wrong or outputs[at + n + m] != data.cells[place + n + m]
        total += 1 if is_wrong else 0
    return cost.scale[i] * total


@implements(cost_step, ParseData, ArcCost)
def _cost_step(data, cost):
    """Return the price of a word: costs are whole multiples of it."""
    return np.asarray(cost.scale)


#: Longest lists of trees, and bytes that the lists of one search may take.
LONGEST_LIST, LIST_ROOM = 4096, 1 << 26


@implements(most_listed, ParseData, ArcCost)
def _most_listed(data, cost):
    """Return 4096 for up to 10 words, 512 at 25, 128 at 50, and never less than 64.

    Below the hull of short sentences are hundreds of trees that may be better than its corners. A
    list of k projective trees of n words takes about 40 k bytes for each of 3 (n + 1)^2 items;
    others take less room, but more time.
    """
    side = int(np.diff(data.offsets).max(initial=1)) + 1
    k = LONGEST_LIST
    while k > 64 and 120 * side * side * k > LIST_ROOM:
        k //= 2
    return k


class KBestRoom(NamedTuple):
    """Room for the k best trees of one sentence; with relations also for their labellings.

    The best labellings of a tree are found word by word: ``partial`` has the best so far, each
    with its rank among those up to the word before and the relation of this word.
    """

    lists: Any  # TreeLists, of one word if trees need not be projective
    spanning: Any  # SpanningLists, of one word if they must
    heads: Any  # (k * longest,) int32
    totals: Any  # (k,)
    partial: Any  # (2, k)
    before: Any  # (longest, k) int32
    label: Any  # (longest, k) int32
    merged: Any  # (k,): the scores of the outputs written so far


@implements(k_best_room, ParseData)
def _k_best_room(data, cost, k):
    """Return room for k trees of the longest sentence."""
    longest = int(np.diff(data.offsets).max(initial=1))
    table = (longest if data.n_relations > 1 else 0, k)
    return KBestRoom(
        tree_lists_room(longest if data.is_projective else 1, k),
        spanning_lists_room(1 if data.is_projective else longest, k),
        np.zeros(k * longest, dtype=np.int32),
        np.zeros(k),
        np.zeros((2, k)),
        np.zeros(table, dtype=np.int32),
        np.zeros(table, dtype=np.int32),
        np.zeros(k),
    )


@implements(k_best, ParseData, ArcCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Find the k best trees; with relations, the k best among the k best labellings of each."""
    n = data.offsets[i + 1] - data.offsets[i]
    factor = cost_scale * cost.scale[i] / max(score_scale, 1e-9)
    plain = price_arcs(data, cost, i, theta, room, factor)
    heads = own.heads[: k * n].reshape((k, n))
    if data.is_projective:
        side = n + 1 if data.second else 0
        siblings = theta.siblings[: side**3].reshape((side, side, side))
        count = best_k_projective(plain, siblings, data.many, k, own.lists, heads, own.totals)
    else:
        count = best_k_spanning(plain, data.many, k, own.spanning, heads, own.totals)
    if data.n_relations == 1:
        for rank in range(count):
            for m in range(n):
                outputs[at + rank * n + m] = heads[rank, m]
        return count
    n_written = 0
    for rank in range(count):
        if n_written == k and own.totals[rank] <= own.merged[k - 1]:
            break
        n_own = _label_tree(data, cost, i, theta, factor, k, heads[rank], own)
        for place in range(n_own):
            total = own.totals[rank] + own.partial[n & 1, place]
            if n_written == k and not total > own.merged[k - 1]:
                break
            n_written = _insert(heads[rank], place, total, n, k, n_written, own, outputs, at)
    return n_written


@jitable
def _label_tree(
    data: Any, cost: Any, i: int, theta: Any, factor: float, k: int, heads: Any, own: Any
) -> int:
    """Find the k best relations of all arcs of a tree together; return how many there are.

    own.partial[n & 1] receives what each loses against the best.
    """
    first, n = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    n_relations, place = data.n_relations, 2 * data.offsets[i]
    own.partial[0, 0] = 0.0
    count = 1
    for m in range(1, n + 1):
        h = heads[m - 1]
        at = (h * (n + 1) + m) * n_relations
        price = factor if data.counts[first + m - 1] != 0 and cost.is_labelled else 0.0
        right = data.cells[place + n + m - 1] if data.cells[place + m - 1] == h else -1
        if right < 0:
            price = 0.0  # the head is wrong already
        top = -np.inf
        for label in range(n_relations):
            top = max(top, theta.arcs[at + label] + (0.0 if label == right else price))
        old, new = (m - 1) & 1, m & 1
        n_new = 0
        for rank in range(count):
            for label in range(n_relations):
                loss = theta.arcs[at + label] + (0.0 if label == right else price) - top
                total = own.partial[old, rank] + loss
                if n_new == k and not total > own.partial[new, k - 1]:
                    continue
                spot = n_new if n_new < k else k - 1
                n_new = min(n_new + 1, k)
                while spot > 0 and total > own.partial[new, spot - 1]:
                    own.partial[new, spot] = own.partial[new, spot - 1]
                    own.before[m - 1, spot] = own.before[m - 1, spot - 1]
                    own.label[m - 1, spot] = own.label[m - 1, spot - 1]
                    spot -= 1
                own.partial[new, spot] = total
                own.before[m - 1, spot], own.label[m - 1, spot] = rank, label
        count = n_new
    return count


@jitable
def _insert(
    heads: Any, rank: int, total: float, n: int, k: int, count: int, own: Any, outputs: Any, at: int
) -> int:
    """Insert a labelled tree among the outputs, best first; return their number."""
    spot = count if count < k else k - 1
    while spot > 0 and total > own.merged[spot - 1]:
        own.merged[spot] = own.merged[spot - 1]
        for c in range(2 * n):
            outputs[at + spot * 2 * n + c] = outputs[at + (spot - 1) * 2 * n + c]
        spot -= 1
    own.merged[spot] = total
    for m in range(n, 0, -1):
        outputs[at + spot * 2 * n + m - 1] = heads[m - 1]
        outputs[at + spot * 2 * n + n + m - 1] = own.label[m - 1, rank]
        rank = own.before[m - 1, rank]
    return min(count + 1, k)
