"""What a surrogate must offer, and its compiled form."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Protocol


class BuiltinSurrogate(NamedTuple):
    """Which psi, with its two parameters: a few flops chosen at run time, not a type.

    So one compiled solver serves every built-in surrogate (see switch.py).
    """

    kind: int
    p: float
    q: float


class Surrogate(Protocol):
    """psi(h, g): what is minimised in the place of the cost.

    ``compiled()`` gives what solvers read: a `BuiltinSurrogate`, or any object for whose type the
    generic functions ``psi`` and ``conjugate`` are implemented (a NamedTuple runs compiled).
    ``tilt`` and ``order_value`` follow from ``psi``; implement them where its numbers underflow.

    Where ``in_domain`` holds, psi must be quasi-concave and must not fall in h or in g: that is
    what searches stand on. They look for the largest psi >= 0 (the true output has 0), so nothing
    is asked of psi where it is negative.

    ``direct_tilt``, ``criteria`` and ``in_domain`` may be left out: None, "cost" and "wherever
    psi >= 0" then.
    """

    #: Convex in h: there is a dual, and a certificate.
    is_convex: bool
    #: Affine in h: one output gives one plane, whatever w.
    is_linear: bool
    #: dpsi/dh is 1 wherever g > 0.
    has_unit_slope: bool
    #: t where psi = h + t g, so that one call of the oracle is the search; None elsewhere.
    direct_tilt: float | None
    #: What (h, g) are: "cost" (margin error, cost), or "micro_f1" (see `MicroF1`).
    criteria: str

    def compiled(self) -> Any:
        """Return the surrogate as solvers read it."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal surrogate."""
        ...

    def in_domain(self, h: float, g: float) -> bool:
        """Tell whether psi is quasi-concave and increasing around (h, g)."""
        ...


def check_is_number(owner: str, name: str, value: Any) -> None:
    """Refuse a parameter that is not a number."""
    if not isinstance(value, Real):
        raise TypeError(f"{owner}: {name} must be a number, got {value!r}.")
