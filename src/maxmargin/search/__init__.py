"""Searches: the output of largest psi(h, g), found by asking an oracle for h + tilt * g."""

from __future__ import annotations

from maxmargin.search.direct import Direct

__all__ = ["Direct"]
