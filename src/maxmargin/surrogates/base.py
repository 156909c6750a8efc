"""What a surrogate must offer, and its compiled form."""

from __future__ import annotations

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
    """

    #: Convex in h: there is a dual, and a certificate.
    is_convex: bool
    #: Affine in h: one output gives one plane, whatever w.
    is_linear: bool
    #: dpsi/dh is 1 wherever g > 0.
    has_unit_slope: bool

    def compiled(self) -> Any:
        """Return the surrogate as solvers read it."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal surrogate."""
        ...
