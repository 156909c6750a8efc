"""The run-time switch between the built-in surrogates."""

from __future__ import annotations

from maxmargin.generic import conjugate, implements, order_value, psi, tilt
from maxmargin.surrogates import generalized, log, margin, micro_f1, prob, slack
from maxmargin.surrogates.base import BuiltinSurrogate

MARGIN, SLACK, GENERALIZED = margin.KIND, slack.KIND, generalized.KIND
LOG, PROB = log.KIND, prob.KIND


@implements(psi, BuiltinSurrogate)
def _psi(surrogate, h, g):
    kind, p, q = surrogate
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
    kind, p, q = surrogate
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
    kind, p, q = surrogate
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
    kind, p, q = surrogate
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
