"""Searches: the output of largest psi(h, g), found by asking an oracle for h + tilt * g."""

from __future__ import annotations

from maxmargin.search.base import Search
from maxmargin.search.direct import Direct
from maxmargin.search.hull import ConvexHull
from maxmargin.search.profile import Profile

#: Searches by name. A new one is a file of its own and a line here.
SEARCHES: dict[str, type] = {
    "profile": Profile,
    "hull": ConvexHull,
}

__all__ = ["SEARCHES", "ConvexHull", "Direct", "Profile", "Search"]
