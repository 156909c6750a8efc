"""Message passing, bounds, and branch and bound, as oracles of graphs call them: by address.

Each of them takes seconds to compile. So it is compiled once, and not again for each oracle, cost
and type of features.
"""

from __future__ import annotations

from typing import Any

from maxmargin.core.contract import connect, implements
from maxmargin.core.sealed import write_addresses
from maxmargin.costs.tables import WholeCost
from maxmargin.inference.graph.bound import LABEL_BOUNDS
from maxmargin.inference.graph.branch import BRANCH
from maxmargin.inference.graph.srmp import SRMP
from maxmargin.structures.graph.messages import CyclicRoom

__all__ = ["call_bounds", "call_branch", "call_srmp"]

call_srmp, call_branch, call_bounds = SRMP.call, BRANCH.call, LABEL_BOUNDS.call


@implements(connect, CyclicRoom)
def _connect(room: CyclicRoom, cost: Any) -> None:
    """Compile or load what effort and cost need, and write the addresses."""
    if len(room.branch.bound):
        write_addresses(room.entries[1:2], BRANCH)
    if isinstance(cost, WholeCost):
        write_addresses(room.entries[2:], LABEL_BOUNDS)
