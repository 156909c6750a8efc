"""Types erased at the boundary of a problem, so that no pass is compiled for a structure."""

from __future__ import annotations

from maxmargin.core.erase.boundary import Boundary, Priced, why_not_erased
from maxmargin.core.erase.passes import Pass

__all__ = ["Boundary", "Pass", "Priced", "why_not_erased"]
