"""Costs of graphs that price edges, and nodes besides, as compiled code sees them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from maxmargin.core.contract import Links, belongs, found_costs, implements, largest_costs
from maxmargin.costs.levels import step_of, steps_of
from maxmargin.costs.tables import SumInSteps, SumOverParts


@belongs(SumOverParts, SumInSteps)
class EdgeCost(NamedTuple):
    """A sum over the nodes, edges and hyperedges of a graph: scale[i] times the sum of

        node[v] where the label of node v is wrong,
        last[f] where the last node of link f is wrong and its others are right,
        whole[f] where any node of link f is wrong.

    Nodes and links are counted through all graphs, the edges of a graph before its hyperedges.
    """

    scale: Any  # (n_examples,) float64
    node: Any  # (n_nodes,) float64, >= 0
    last: Any  # (n_links,) float64, >= 0
    whole: Any  # (n_links,) float64, >= 0
    part_at: Any  # (n_examples + 1,) int64: where nodes begin, and the links, see `Links`
    link_at: Any  # (n_examples + 1,) int64
    member_at: Any  # (n_links + 1,) int64
    members: Any  # (sum of orders,) int64


def edge_cost(links: Links, node: Any, last: Any, whole: Any, average: str = "sum") -> EdgeCost:
    """Return a cost with these prices, which are checked; "mean" divides by their sum."""
    n_links = len(links.member_at) - 1
    arrays = []
    for name, prices, length in (
        ("node", node, len(links.is_known)),
        ("last", last, n_links),
        ("whole", whole, n_links),
    ):
        array = np.array(prices, dtype=np.float64)
        if array.shape != (length,):
            raise ValueError(f"{name} must hold {length} prices, got the shape {array.shape}.")
        if not (np.isfinite(array) & (array >= 0.0)).all():
            raise ValueError(f"{name} must hold finite numbers >= 0.")
        arrays.append(array)
    where = (np.array(array, dtype=np.int64) for array in links[1:])
    cost = EdgeCost(np.ones(len(links.part_at) - 1), *arrays, *where)
    if average == "mean":
        most = largest_costs(cost, None, None)
        cost = cost._replace(scale=1.0 / np.where(most > 0.0, most, 1.0))
    return cost


def roots_of(links: Links) -> np.ndarray:
    """Return which nodes are roots, as flags: no chain of links leads to all nodes without them.

    A link leads to its last node from all its others. A node that is no link's last node is a root.
    Where links run in a circle that nothing else leads to, its lowest node is one as well. So if
    all roots are right and some node is wrong, there is a link whose last node is wrong and whose
    others are right.

    Examples
    --------
    >>> ends = np.array([0, 1, 3, 4, 4, 3, 4, 5])
    >>> known = np.ones(6, dtype=bool)
    >>> edges = Links(known, np.array([0, 6]), np.array([0, 4]), np.arange(0, 9, 2), ends)
    >>> np.flatnonzero(roots_of(edges)).tolist()
    [0, 2, 3]
    """
    n_nodes = len(links.is_known)
    ends, members = np.asarray(links.member_at), np.asarray(links.members)
    last = members[ends[1:] - 1]
    link = np.repeat(np.arange(len(last)), np.diff(ends))
    is_first = np.ones(len(members), dtype=bool)
    is_first[ends[1:] - 1] = False
    source, link = members[is_first], link[is_first]
    is_root = np.array(links.is_known, dtype=bool)
    is_root[last] = False
    is_led = is_root | ~np.asarray(links.is_known)
    while True:
        while True:  # follow all links whose other nodes are led to
            waits = np.bincount(link[~is_led[source]], minlength=len(last)) > 0
            fresh = last[~waits & ~is_led[last]]
            if len(fresh) == 0:
                break
            is_led[fresh] = True
        left = np.flatnonzero(~is_led)
        if len(left) == 0:
            return is_root
        # Of what is left, take one node of each circle that no other node which is left leads to.
        place = np.full(n_nodes, -1)
        place[left] = np.arange(len(left))
        inner = (place[source] >= 0) & (place[last[link]] >= 0)
        ways = place[source[inner]], place[last[link[inner]]]
        graph = sparse.coo_matrix((np.ones(len(ways[0])), ways), shape=(len(left),) * 2)
        n_groups, group = connected_components(graph, directed=True, connection="strong")
        is_source = np.ones(n_groups, dtype=bool)
        crosses = group[ways[0]] != group[ways[1]]
        is_source[group[ways[1][crosses]]] = False
        lowest = left[np.unique(group, return_index=True)[1][is_source]]
        is_root[lowest] = is_led[lowest] = True


# -- of all examples at once ---------------------------------------------------------------------


def _sums(at: Any, numbers: np.ndarray) -> np.ndarray:
    n = len(at) - 1
    return np.bincount(np.repeat(np.arange(n), np.diff(at)), weights=numbers, minlength=n)


@implements(largest_costs, EdgeCost)
def _largest_of_edges(cost, lengths, states):
    """Return the sum of all prices: a bound, which not every graph has a labelling for."""
    return cost.scale * (
        _sums(cost.part_at, cost.node) + _sums(cost.link_at, cost.last + cost.whole)
    )


@implements(found_costs, EdgeCost)
def _found_of_edges(cost, lengths, states, found):
    is_wrong = (states >= 0) & (found != states)
    last = is_wrong[cost.members[cost.member_at[1:] - 1]]
    link = np.repeat(np.arange(len(last)), np.diff(cost.member_at))
    n_wrong = np.bincount(link, weights=is_wrong[cost.members], minlength=len(last))
    prices = cost.last * (last & (n_wrong == 1)) + cost.whole * (n_wrong > 0)
    return cost.scale * (_sums(cost.part_at, cost.node * is_wrong) + _sums(cost.link_at, prices))


@implements(step_of, EdgeCost)
def _step_of_edges(cost):
    try:
        return cost.scale * steps_of(all_prices(cost))[1]
    except ValueError:
        return None


def all_prices(cost: EdgeCost) -> np.ndarray:
    """Return the prices of nodes, of last nodes and of links, one after the other."""
    return np.concatenate([cost.node, cost.last, cost.whole])
