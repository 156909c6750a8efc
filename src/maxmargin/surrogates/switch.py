"""The run-time switch between the built-in surrogates."""

from __future__ import annotations

from maxmargin.generic import conjugate, implements, psi
from maxmargin.surrogates import margin
from maxmargin.surrogates.base import BuiltinSurrogate


@implements(psi, BuiltinSurrogate)
def _psi(surrogate, h, g):
    return margin.psi(surrogate.p, surrogate.q, h, g)


@implements(conjugate, BuiltinSurrogate)
def _conjugate(surrogate, slope, g):
    return margin.conjugate(surrogate.p, surrogate.q, slope, g)
