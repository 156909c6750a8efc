"""Message passing, and branch and bound, as the oracles of graphs call them: through addresses.

Each of them takes seconds to compile. So it is compiled once, and not again for each oracle, cost
and type of features.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import connect, implements, workspace
from maxmargin.core.sealed import sealed, write_addresses
from maxmargin.inference.graph.branch import branch_and_bound
from maxmargin.inference.graph.srmp import srmp
from maxmargin.structures.graph.build import StackedGraphs, stacked_graphs
from maxmargin.structures.graph.messages import (
    CyclicRoom,
    branch_room_of,
    general_data,
    srmp_room_of,
)
from maxmargin.structures.graph.shapes import graph_of

__all__ = ["call_branch", "call_srmp", "one_edge"]

BOUND_AND_LABELS = "Tuple(float64, float64, int64)"


def one_edge() -> Any:
    """Return the smallest graph with an edge, as stacked graphs."""
    edges = np.array([[0, 1]])
    stack = StackedGraphs(np.zeros((2, 1)), np.array([0, 2]), edges, np.array([0, 1]))
    return stacked_graphs(stack, np.zeros(2, dtype=np.int32), 2)


def _srmp_arguments() -> tuple[Any, ...]:
    data = general_data(one_edge())
    theta, room = workspace(data)
    own = srmp_room_of(data, room, 0)
    shape, labels = graph_of(data.graphs.shapes, 0), room.labels
    return shape, room.augmented, theta.tables, room.messages, 1, 0.0, own, labels


def _branch_arguments() -> tuple[Any, ...]:
    data = general_data(one_edge())
    _, room = workspace(data)
    shape, unary, tables, messages, _, _, own, labels = _srmp_arguments()
    branch = branch_room_of(data, room, own, 0)
    return shape, unary, tables, messages, 1, 1, 1, 0.0, True, 0.0, branch, labels


_SRMP = sealed(srmp, 0, BOUND_AND_LABELS, _srmp_arguments)
_BRANCH = sealed(branch_and_bound, 1, BOUND_AND_LABELS, _branch_arguments)
call_srmp, call_branch = _SRMP.call, _BRANCH.call


@implements(connect, CyclicRoom)
def _connect(room: CyclicRoom) -> None:
    """Compile or load both, and write their addresses."""
    write_addresses(room.entries, _SRMP, _BRANCH)
