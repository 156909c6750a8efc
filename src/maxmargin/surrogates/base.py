"""What a surrogate must offer, and its compiled form."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Protocol


class BuiltinSurrogate(NamedTuple):
    """A built-in surrogate as compiled code reads it: which psi, and its two parameters.

    `kind` is a number, and psi is chosen by it at run time. So one compiled solver serves every
    built-in surrogate (see switch.py).
    """

    kind: int
    p: float
    q: float


class Surrogate(Protocol):
    """psi(h, g): what is minimised in the place of the cost.

    ``compiled()`` gives what solvers read: a `BuiltinSurrogate`, or any object for whose type the
    generic functions ``psi`` and ``conjugate`` are implemented (a NamedTuple runs compiled).
    ``tilt`` and ``order_value`` have defaults that use ``psi``; implement them if psi or its
    derivatives can underflow.

    Where ``in_domain`` holds, psi must be quasi-concave, and must not fall as h or g grows:
    searches rely on this. They look for the largest psi >= 0 (the true output has psi = 0), so
    nothing is required of psi where it is negative.

    ``direct_tilt``, ``criteria``, ``is_increasing`` and ``in_domain`` may be left out. They are
    then None, "cost", True and psi >= 0.
    """

    #: Whether psi is convex in h; only then there is a dual, and a certificate.
    is_convex: bool
    #: Whether psi is affine in h: one output then gives one plane, the same for all w.
    is_linear: bool
    #: Whether dpsi/dh is 1 wherever g > 0.
    has_unit_slope: bool
    #: Whether psi does not fall in g wherever psi >= 0 and g >= 0. If it does, only searches that
    #: look at every cost find its maximum.
    is_increasing: bool
    #: t if psi = h + t g: one call of the oracle then finds the largest psi. None for other psi.
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
