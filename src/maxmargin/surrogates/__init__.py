"""Surrogates: what is minimised in the place of the cost."""

from __future__ import annotations

from maxmargin.surrogates import switch as _switch  # noqa: F401  (registers the implementations)
from maxmargin.surrogates.base import BuiltinSurrogate, Surrogate
from maxmargin.surrogates.margin import MarginRescaling

#: Surrogates by name. A new one is a file of its own, a line here and a line in switch.py.
SURROGATES: dict[str, type] = {"margin": MarginRescaling}

__all__ = ["SURROGATES", "BuiltinSurrogate", "MarginRescaling", "Surrogate"]
