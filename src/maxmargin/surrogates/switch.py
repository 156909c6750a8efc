"""The run-time switch between the built-in surrogates, made from their registry.

The switches are kernels over numbers only. So each is compiled once and then comes from the cache,
whatever pass, structure or search calls it. If all these branches were compiled again for every
caller, that would cost half a second per function.
"""

from __future__ import annotations

from maxmargin.core.contract import conjugate, implements, order_value, psi, tilt
from maxmargin.core.switch import Switch
from maxmargin.surrogates import SURROGATES  # defined by now: the package imports this file last
from maxmargin.surrogates.base import BuiltinSurrogate

#: The functions that a module with a `KIND` implements. A class whose module has no `KIND`, such as
#: `BetaScaling`, compiles to the kind of another module.
SWITCH = Switch(
    module=__name__,
    file=__file__,
    arguments={
        "psi": ("p", "q", "h", "g"),
        "conjugate": ("p", "q", "slope", "g"),
        "tilt": ("p", "q", "h", "g"),
        "order_value": ("p", "q", "h", "g"),
    },
    kind=None,
    what="surrogate",
)
KINDS = SWITCH.kinds(SURROGATES.values(), may_lack=True)
_builtin_psi = SWITCH.between(KINDS, "psi")
_builtin_conjugate = SWITCH.between(KINDS, "conjugate")
_builtin_tilt = SWITCH.between(KINDS, "tilt")
_builtin_order_value = SWITCH.between(KINDS, "order_value")


@implements(psi, BuiltinSurrogate)
def _psi(surrogate, h, g):
    return _builtin_psi(surrogate.kind, surrogate.p, surrogate.q, float(h), float(g))


@implements(conjugate, BuiltinSurrogate)
def _conjugate(surrogate, slope, g):
    return _builtin_conjugate(surrogate.kind, surrogate.p, surrogate.q, float(slope), float(g))


@implements(tilt, BuiltinSurrogate)
def _tilt(surrogate, h, g):
    return _builtin_tilt(surrogate.kind, surrogate.p, surrogate.q, float(h), float(g))


@implements(order_value, BuiltinSurrogate)
def _order_value(surrogate, h, g):
    return _builtin_order_value(surrogate.kind, surrogate.p, surrogate.q, float(h), float(g))
