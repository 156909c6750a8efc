"""The convex hull search, and what it rests on."""

from __future__ import annotations

from maxmargin.search.hull.convex_hull import ConvexHull

__all__ = ["ConvexHull"]
