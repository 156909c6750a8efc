"""Rankings and graphs with cycles that are small enough for a list of all their outputs.

For surrogates other than margin rescaling one call of their oracles is not enough, and their hull
search ends with a bound. Where outputs are few, a profile with one level per output is exact: it
prices each of them. Types of their own say so; all else they take from the types they join.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    CostOfPlaces,
    belongs,
    generic,
    implements,
    margin_error,
    output_cost,
    output_size,
    output_sizes,
    profile,
    profile_levels,
    profile_output,
    profile_room,
    shift,
    truths,
)
from maxmargin.core.dispatch import families
from maxmargin.costs.edge_tables import EdgeCost
from maxmargin.costs.tables import SumOverPositions, WholeCost
from maxmargin.structures.graph.data import GeneralGraphs
from maxmargin.structures.ranking.data import RankingData

#: The most outputs of an example that are listed: those of 6 relevant samples among 12, or of 6
#: nodes with 3 labels. A list takes about a tenth of a millisecond then.
MOST_LISTED = 1024


@belongs(RankingData)
class FewRankings(NamedTuple):
    """The fields of `RankingData`, for queries whose interleavings are few."""

    features: Any
    first: Any
    sizes: Any
    n_relevant: Any
    n_columns: int


@belongs(GeneralGraphs, *families(GeneralGraphs))
class FewGraphs(NamedTuple):
    """The fields of `GeneralGraphs`, for graphs whose labellings are few."""

    graphs: Any
    passing: Any
    memory: Any
    effort: Any


def few(data: Any) -> Any:
    """Return data as a type that lists outputs, or as they are where they have too many."""
    kind = {RankingData: FewRankings, GeneralGraphs: FewGraphs}.get(type(data))
    if kind is None:
        return data
    given = kind(*data)
    return given if n_listed(given) <= MOST_LISTED else data


def n_listed(data: Any) -> int:
    """Return the most outputs that an example has."""
    if isinstance(data, FewRankings):
        pairs = zip(data.sizes.tolist(), data.n_relevant.tolist(), strict=True)
        return max(comb(size, P) for size, P in set(pairs))
    return int(data.graphs.layout.n_labels) ** int(np.max(output_sizes(data)))


@generic
def list_outputs(data, i, theta, cells):
    """Write all outputs of example i to cells, one after the other; return how many there are.

    Of outputs that cost the same, those of largest score are enough.
    """


@implements(list_outputs, FewGraphs)
def _list_labellings(data, i, theta, cells):
    """List all labellings: each is the one before plus 1, its labels read as digits."""
    n, n_labels = output_size(data, i), data.graphs.layout.n_labels
    cells[:n] = 0
    count = 1
    while True:
        at, v = count * n, 0
        while v < n and cells[at - n + v] == n_labels - 1:
            v += 1
        if v == n:
            return count
        cells[at : at + n] = cells[at - n : at]
        cells[at : at + v] = 0
        cells[at + v] += 1
        count += 1


@implements(list_outputs, FewRankings)
def _list_interleavings(data, i, theta, cells):
    """List all interleavings of relevant samples and others, each kind in the order of its scores.

    Another order of a kind costs the same, and its score is no larger. above[k] counts the others
    above the relevant sample of rank k. It never falls as k grows.
    """
    P, size = data.n_relevant[i], data.sizes[i]
    N = size - P
    # A stable sort: plain Python and compiled code then list ties alike.
    relevant = np.argsort(-theta.scores[:P], kind="mergesort")
    others = np.argsort(-theta.scores[P:size], kind="mergesort")
    above = np.zeros(P, dtype=np.int64)
    count = 0
    while True:
        _write_interleaving(above, relevant, others, cells[count * size : (count + 1) * size])
        count += 1
        k = P - 1
        while k >= 0 and above[k] == N:
            k -= 1
        if k < 0:
            return count
        above[k:] = above[k] + 1


@jitable
def _write_interleaving(above: Any, relevant: Any, others: Any, cells: Any) -> None:
    """Write how many samples of the other kind stand above each sample."""
    P, higher = len(relevant), 0
    for k in range(P):
        cells[relevant[k]] = above[k]
    for j in range(len(others)):
        while higher < P and above[higher] <= j:
            higher += 1
        cells[P + others[j]] = higher


class ListRoom(NamedTuple):
    """Room for all outputs of one example."""

    cells: Any


def _levels(data, cost):
    """Return the most outputs that an example has."""
    return n_listed(data)


def _room(data, cost):
    """Return room for all outputs of any one example."""
    sizes = np.asarray(output_sizes(data))
    return ListRoom(np.zeros(n_listed(data) * int(sizes.max()), dtype=truths(data).dtype))


def _profile(data, cost, i, theta, room, own, h, g):
    """Price every output."""
    size, count = output_size(data, i), list_outputs(data, i, theta, own.cells)
    for level in range(count):
        at = level * size
        h[level] = margin_error(data, i, theta, own.cells, at)
        h[level] += shift(data, cost, i, own.cells, at)
        g[level] = output_cost(data, cost, i, own.cells, at)
    return count


def _output(data, cost, i, theta, room, own, level, outputs, at):
    """Copy an output."""
    size = output_size(data, i)
    outputs[at : at + size] = own.cells[level * size : (level + 1) * size]


_COSTS = {
    FewRankings: (CostOfPlaces,),
    FewGraphs: (SumOverPositions, EdgeCost, WholeCost),
}
for _kind, _costs in _COSTS.items():
    for _cost in _costs:
        implements(profile_levels, _kind, _cost)(_levels)
        implements(profile_room, _kind, _cost)(_room)
        implements(profile, _kind, _cost)(_profile)
        implements(profile_output, _kind, _cost)(_output)
