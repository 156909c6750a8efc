"""Message passing, and branch and bound, as the oracles of graphs call them: through addresses.

Each of them takes seconds to compile. So it is compiled once, and not again for each oracle, cost
and type of features.
"""

from __future__ import annotations

from maxmargin.core.contract import connect, implements
from maxmargin.core.sealed import write_addresses
from maxmargin.inference.graph.branch import BRANCH
from maxmargin.inference.graph.srmp import SRMP
from maxmargin.structures.graph.messages import CyclicRoom

__all__ = ["call_branch", "call_srmp"]

call_srmp, call_branch = SRMP.call, BRANCH.call


@implements(connect, CyclicRoom)
def _connect(room: CyclicRoom) -> None:
    """Compile or load both, and write their addresses."""
    write_addresses(room.entries, SRMP, BRANCH)
