"""Types erased at the boundary of a problem, so that no pass is compiled for a structure."""

from __future__ import annotations

from maxmargin.core.erase.boundary import Boundary, bind_prediction
from maxmargin.core.erase.passes import Pass
from maxmargin.core.erase.priced import Priced, entries_of, why_not_erased

__all__ = ["Boundary", "Pass", "Priced", "bind_prediction", "entries_of", "why_not_erased"]
