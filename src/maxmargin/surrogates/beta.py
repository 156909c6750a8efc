"""Beta scaling: psi = h g^beta + g."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.surrogates import generalized
from maxmargin.surrogates.base import BuiltinSurrogate, check_is_number


@dataclass(frozen=True)
class BetaScaling:
    """psi(h, g) = h g^beta + g: margin rescaling at beta = 0, slack rescaling at beta = 1.

    This is `GeneralizedScaling` with alpha = 1, and is compiled as such. It bounds the cost from
    above. For 0 <= beta <= 1, psi is quasi-concave and increasing where g >= 0 and
    h >= -g^(1 - beta), that is where psi >= 0. Other values of beta are refused.

    Parameters
    ----------
    beta : float, default=0.5
        Power of the cost that violations are multiplied with.

    Examples
    --------
    >>> from maxmargin.core.contract import psi
    >>> psi(BetaScaling(0.5).compiled(), 0.5, 4.0)  # and its slopes in h and in g
    (5.0, 2.0, 1.125)
    >>> BetaScaling(2.0)
    Traceback (most recent call last):
    ValueError: BetaScaling: psi is quasi-concave and increasing only for 0 <= beta <= 1, got ...
    """

    beta: float = 0.5

    is_convex: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True
    criteria: ClassVar[str] = "cost"

    def __post_init__(self) -> None:
        check_is_number("BetaScaling", "beta", self.beta)
        if not 0.0 <= self.beta <= 1.0:
            raise ValueError(
                "BetaScaling: psi is quasi-concave and increasing only for 0 <= beta <= 1, "
                f"got beta={self.beta!r}."
            )

    @property
    def has_unit_slope(self) -> bool:
        """Whether dpsi/dh is 1 wherever g > 0."""
        return self.beta == 0.0

    @property
    def direct_tilt(self) -> float | None:
        """1 for margin rescaling, beta = 0: one call of the oracle maximises it; or None."""
        return 1.0 if self.beta == 0.0 else None

    def compiled(self) -> BuiltinSurrogate:
        """Return the surrogate as solvers read it."""
        return BuiltinSurrogate(generalized.KIND, 1.0, float(self.beta))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal surrogate."""
        return {"beta": float(self.beta)}

    def in_domain(self, h: float, g: float) -> bool:
        """Tell whether psi is quasi-concave and increasing around (h, g)."""
        return g >= 0.0 and generalized.psi(1.0, self.beta, h, g)[0] >= 0.0
