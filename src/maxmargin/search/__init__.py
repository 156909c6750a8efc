"""Searches: the output of largest psi(h, g), found by asking an oracle for h + tilt * g."""

from __future__ import annotations

from maxmargin.search.angular import Angular
from maxmargin.search.contract import Search
from maxmargin.search.direct import Direct
from maxmargin.search.hull.convex_hull import ConvexHull
from maxmargin.search.profile import Profile
from maxmargin.search.reference.binary import BinarySearch
from maxmargin.search.reference.bisecting import Bisecting
from maxmargin.search.reference.sarawagi import SarawagiGupta

#: Searches by name. A new one is a file of its own and a line here.
SEARCHES: dict[str, type] = {
    "profile": Profile,
    "hull": ConvexHull,
    "angular": Angular,
    "bisecting": Bisecting,
    "binary": BinarySearch,
    "sarawagi": SarawagiGupta,
}

__all__ = [
    "SEARCHES",
    "Angular",
    "BinarySearch",
    "Bisecting",
    "ConvexHull",
    "Direct",
    "Profile",
    "SarawagiGupta",
    "Search",
]
