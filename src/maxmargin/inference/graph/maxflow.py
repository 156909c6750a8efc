"""Maximum flow and minimum cut, by Dinic's blocking flows.

A network has no source and no sink of its own. Each node has an excess: what it supplies (> 0) or
can absorb (< 0), and the flow carries as much as possible from the former nodes to the latter. So
the two terminals of a cut problem need no arcs, and in a network with a source and a sink two nodes
have an excess.

The arcs are stored node by node. Those that leave v are start[v]..start[v + 1] - 1, each with the
node that it leads to (`head`), the arc back (`mate`) and what it can still carry (`residual`).

Capacities may be floating-point numbers. Each augmentation takes the residual of at least one arc
or the excess of at least one node to exactly 0, so a phase ends. The distance from the sources to
the nearest node that can absorb grows with each phase, whatever was rounded, so there are at most
as many phases as nodes.

A phase serves the nearest such nodes and those one step farther. To serve all that can be reached
takes fewer phases, but twice the time on a grid (expansion moves on 60 x 60 nodes).

We measured FIFO push-relabel once, on the doubled networks of roof duality (up to 318 nodes and
50 000 arcs): its first phase alone took between half and twice as long as this. It was faster on
the smaller networks, but gives a preflow, and `roof_duality` needs a flow to settle ties.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.core.compile import kernel

__all__ = ["Cut", "FlowNetwork", "FlowRoom", "flow_room", "max_flow", "min_cut"]


class FlowNetwork(NamedTuple):
    """The arcs of each node, and what each may carry; arrays may be longer than the network needs.

    Attributes
    ----------
    start : int64 array of shape (n + 1,)
    head, mate : int32 arrays of shape (n_arcs,)
    residual : float64 array of shape (n_arcs,)
        Finite and >= 0. Overwritten by `max_flow`.
    excess : float64 array of shape (n,)
        Finite. Overwritten by `max_flow`.
    """

    start: npt.NDArray[np.int64]
    head: npt.NDArray[np.int32]
    mate: npt.NDArray[np.int32]
    residual: npt.NDArray[np.float64]
    excess: npt.NDArray[np.float64]


class FlowRoom(NamedTuple):
    """Workspace of `max_flow`, one entry per node: `level` is an answer, the rest is scratch."""

    level: npt.NDArray[np.int32]
    queue: npt.NDArray[np.int32]
    current: npt.NDArray[np.int64]
    path: npt.NDArray[np.int32]


def flow_room(n_nodes: int) -> FlowRoom:
    """Return the workspace for networks of at most n_nodes nodes."""
    return FlowRoom(
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.int64),
        np.empty(n_nodes, dtype=np.int32),
    )


@kernel
def max_flow(n_nodes, network, room):
    """Send as much as possible from positive to negative excess; return how much that is.

    `network.residual` and `network.excess` are overwritten by what remains of them. Afterwards
    room.level[v] >= 0 marks the nodes that the remaining excess can still reach. They are the
    smallest source side of a minimum cut: every arc that leaves it is full, and every excess
    outside it is <= 0.
    """
    total = _send_to_neighbours(n_nodes, network)
    while True:
        n_seen = _set_levels(n_nodes, network, room)
        if n_seen == 0:
            return total
        for v in range(n_nodes):
            room.current[v] = network.start[v]
        # Nearest first.
        for k in range(n_seen):
            v = room.queue[k]
            if network.excess[v] < 0.0 and room.level[v] > 0:
                total += _fill_from_behind(v, network, room)


@kernel
def _send_to_neighbours(n_nodes, network):
    """Send what single arcs can carry from positive to negative excess; return how much."""
    start, head, mate, residual, excess = network
    total = 0.0
    for v in range(n_nodes):
        if excess[v] <= 0.0:
            continue
        for i in range(start[v], start[v + 1]):
            w = head[i]
            if excess[w] < 0.0 and residual[i] > 0.0:
                push = min(excess[v], -excess[w], residual[i])
                total += push
                excess[v] -= push
                excess[w] += push
                residual[i] -= push
                residual[mate[i]] += push
                if excess[v] == 0.0:
                    break
    return total


@kernel
def _set_levels(n_nodes, network, room):
    """Set level[v] to the distance from the nearest node of positive excess, or to -1.

    Breadth first, over arcs of positive residual. Returns how many nodes were reached, which stand
    in room.queue, or 0 if none of them has a negative excess: then level[v] is -1 for just those
    that cannot be reached. Otherwise the search ends one level behind the first node of negative
    excess: paths to farther ones would mostly be shorter after this phase than they are now.
    """
    start, head, residual, excess = (
        network.start,
        network.head,
        network.residual,
        network.excess,
    )
    level, queue = room.level, room.queue
    n_seen = 0
    for v in range(n_nodes):
        if excess[v] > 0.0:
            level[v] = 0
            queue[n_seen] = v
            n_seen += 1
        else:
            level[v] = -1
    reached = False
    farthest = n_nodes
    n_done = 0
    while n_done < n_seen and n_seen < n_nodes:
        v = queue[n_done]
        n_done += 1
        if level[v] >= farthest:
            break
        for i in range(start[v], start[v + 1]):
            w = head[i]
            if level[w] < 0 and residual[i] > 0.0:
                level[w] = level[v] + 1
                if excess[w] < 0.0 and not reached:
                    reached = True
                    farthest = level[w] + 1
                queue[n_seen] = w
                n_seen += 1
    return n_seen if reached else 0


@kernel
def _fill_from_behind(sink, network, room):
    """Send flow to `sink` along arcs that go up one level, until it is full or cut off.

    Returns how much was sent. The search goes depth first and against the arcs, from the sink to a
    node of level 0: path[d] is the arc from the node at depth d + 1 to the node at depth d. Nodes
    that cannot be supplied are left out of the rest of the phase: their level becomes -1.
    """
    start, head, mate, residual, excess = network
    level, current, path = room.level, room.current, room.path
    total = 0.0
    depth = 0
    v = sink
    while True:
        if level[v] == 0:
            push = min(-excess[sink], excess[v])
            for d in range(depth):
                push = min(push, residual[path[d]])
            total += push
            excess[sink] += push
            excess[v] -= push
            if excess[v] == 0.0:
                level[v] = -1
            full = depth - 1
            for d in range(depth - 1, -1, -1):
                arc = path[d]
                residual[arc] -= push
                residual[mate[arc]] += push
                if residual[arc] == 0.0:
                    full = d
            if excess[sink] == 0.0:
                return total
            # Continue from the node that the full arc nearest to the sink leads to; if no arc is
            # full, from the node after the source, which is then empty.
            depth = full
            v = head[path[depth]]
        i = current[v]
        end = start[v + 1]
        while i < end and not (level[head[i]] == level[v] - 1 and residual[mate[i]] > 0.0):
            i += 1
        current[v] = i
        if i < end:
            path[depth] = mate[i]
            depth += 1
            v = head[i]
        else:
            level[v] = -1
            if depth == 0:
                return total
            depth -= 1
            v = head[path[depth]]


class Cut(NamedTuple):
    """A minimum cut.

    Attributes
    ----------
    value : float
        Its capacity, which is the maximum flow.
    source_side : bool array of shape (n_nodes,)
        The nodes on the side of the source, of the minimum cut for which they are fewest.
    """

    value: float
    source_side: npt.NDArray[np.bool_]


def min_cut(
    n_nodes: int, arcs: npt.ArrayLike, capacity: npt.ArrayLike, source: int, sink: int
) -> Cut:
    """Return the minimum cut between two nodes of a directed network.

    Parameters
    ----------
    n_nodes : int
    arcs : array-like of int of shape (n_arcs, 2)
        From where, to where. Arcs may be parallel or opposite; loops carry nothing.
    capacity : array-like of shape (n_arcs,)
        Finite and >= 0.
    source, sink : int
        Two different nodes.

    Examples
    --------
    >>> from maxmargin.inference.graph.maxflow import min_cut
    >>> cut = min_cut(4, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], [3, 2, 2, 1, 9], 0, 3)
    >>> cut.value
    5.0
    >>> cut.source_side
    array([ True, False, False, False])
    """
    ends, limits = _check_arcs(n_nodes, arcs, capacity)
    for name, node in (("source", source), ("sink", sink)):
        if not 0 <= node < n_nodes:
            raise ValueError(f"{name} is {node}; expected a node from 0 to {n_nodes - 1}.")
    if source == sink:
        raise ValueError(f"source and sink are both {source}; expected two different nodes.")
    network = _network(n_nodes, ends, limits)
    # The excess of a terminal is the total capacity of its arcs: no more can pass it.
    network.excess[source] = limits[ends[:, 0] == source].sum()
    network.excess[sink] = -limits[ends[:, 1] == sink].sum()
    room = flow_room(n_nodes)
    value = max_flow(n_nodes, network, room)
    side = room.level >= 0
    side[source] = True  # also where nothing is left to send
    return Cut(float(value), side)


def _network(
    n_nodes: int, ends: npt.NDArray[np.int64], limits: npt.NDArray[np.float64]
) -> FlowNetwork:
    """Return the network with these arcs and, for each of them, an arc back of capacity 0."""
    n_arcs = len(ends)
    tails = ends.T.ravel()
    order = np.argsort(tails, kind="stable")
    place = np.empty(2 * n_arcs, dtype=np.int64)
    place[order] = np.arange(2 * n_arcs)
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(tails, minlength=n_nodes), out=start[1:])
    return FlowNetwork(
        start,
        ends[:, ::-1].T.ravel()[order].astype(np.int32),
        np.roll(place, n_arcs)[order].astype(np.int32),
        np.concatenate([limits, np.zeros(n_arcs)])[order],
        np.zeros(n_nodes),
    )


def _check_arcs(
    n_nodes: int, arcs: Any, capacity: Any
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the checked arcs and capacities, without loops."""
    ends = np.asarray(arcs)
    if ends.size == 0:
        ends = np.empty((0, 2), dtype=np.int64)
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise ValueError(f"arcs must have shape (n_arcs, 2), got {ends.shape}.")
    if ends.dtype.kind not in "iu":
        raise TypeError(f"arcs must hold integer nodes, got dtype {ends.dtype}.")
    bad = ((ends < 0) | (ends >= n_nodes)).any(axis=1)
    if bad.any():
        e = int(np.argmax(bad))
        raise ValueError(f"arcs[{e}] is {ends[e].tolist()}; expected nodes 0 to {n_nodes - 1}.")
    limits = np.asarray(capacity, dtype=np.float64)
    if limits.shape != (len(ends),):
        raise ValueError(
            f"capacity has shape {limits.shape}; expected ({len(ends)},), one per arc."
        )
    bad = ~((limits >= 0.0) & (limits < np.inf))
    if bad.any():
        e = int(np.argmax(bad))
        raise ValueError(f"capacity[{e}] is {limits[e]}; expected a finite number >= 0.")
    proper = ends[:, 0] != ends[:, 1]
    return ends[proper].astype(np.int64), limits[proper]
