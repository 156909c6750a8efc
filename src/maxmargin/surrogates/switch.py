"""The run-time switch between the built-in surrogates.

Kernels over numbers only, so that each is compiled once and then comes from the cache, whatever
pass, structure or search it is called from: compiled anew with each of them, all these branches
would cost half a second a function.
"""

from __future__ import annotations

from maxmargin.core.compile import kernel
from maxmargin.core.contract import conjugate, implements, order_value, psi, tilt
from maxmargin.surrogates import generalized, log, margin, micro_f1, prob, slack
from maxmargin.surrogates.base import BuiltinSurrogate

MARGIN, SLACK, GENERALIZED = margin.KIND, slack.KIND, generalized.KIND
LOG, PROB = log.KIND, prob.KIND


@implements(psi, BuiltinSurrogate)
def _psi(surrogate, h, g):
    return _builtin_psi(surrogate.kind, surrogate.p, surrogate.q, float(h), float(g))


@kernel
def _builtin_psi(kind, p, q, h, g):
    if kind == MARGIN:
        return margin.psi(p, q, h, g)
    if kind == SLACK:
        return slack.psi(p, q, h, g)
    if kind == GENERALIZED:
        return generalized.psi(p, q, h, g)
    if kind == LOG:
        return log.psi(p, q, h, g)
    if kind == PROB:
        return prob.psi(p, q, h, g)
    return micro_f1.psi(p, q, h, g)


@implements(conjugate, BuiltinSurrogate)
def _conjugate(surrogate, slope, g):
    return _builtin_conjugate(surrogate.kind, surrogate.p, surrogate.q, float(slope), float(g))


@kernel
def _builtin_conjugate(kind, p, q, slope, g):
    if kind == MARGIN:
        return margin.conjugate(p, q, slope, g)
    if kind == SLACK:
        return slack.conjugate(p, q, slope, g)
    if kind == GENERALIZED:
        return generalized.conjugate(p, q, slope, g)
    if kind == LOG:
        return log.conjugate(p, q, slope, g)
    if kind == PROB:
        return prob.conjugate(p, q, slope, g)
    return micro_f1.conjugate(p, q, slope, g)


@implements(tilt, BuiltinSurrogate)
def _tilt(surrogate, h, g):
    return _builtin_tilt(surrogate.kind, surrogate.p, surrogate.q, float(h), float(g))


@kernel
def _builtin_tilt(kind, p, q, h, g):
    if kind == MARGIN:
        return margin.tilt(p, q, h, g)
    if kind == SLACK:
        return slack.tilt(p, q, h, g)
    if kind == GENERALIZED:
        return generalized.tilt(p, q, h, g)
    if kind == LOG:
        return log.tilt(p, q, h, g)
    if kind == PROB:
        return prob.tilt(p, q, h, g)
    return micro_f1.tilt(p, q, h, g)


@implements(order_value, BuiltinSurrogate)
def _order_value(surrogate, h, g):
    return _builtin_order_value(surrogate.kind, surrogate.p, surrogate.q, float(h), float(g))


@kernel
def _builtin_order_value(kind, p, q, h, g):
    if kind == MARGIN:
        return margin.order_value(p, q, h, g)
    if kind == SLACK:
        return slack.order_value(p, q, h, g)
    if kind == GENERALIZED:
        return generalized.order_value(p, q, h, g)
    if kind == LOG:
        return log.order_value(p, q, h, g)
    if kind == PROB:
        return prob.order_value(p, q, h, g)
    return micro_f1.order_value(p, q, h, g)
