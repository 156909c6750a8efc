"""The binary search on the bound of slack rescaling: K(mu)^2 / (4 mu) is convex in the tilt mu.

It is the bisecting search with another range and another end: it halves the range of the tilt's
logarithm, down to a width that is set in advance.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from maxmargin.search.contract import check_at_least, check_tolerance
from maxmargin.search.recall import recall
from maxmargin.search.reference.bisecting import BisectingSearch


@dataclass(frozen=True)
class BinarySearch:
    """Search by bisection of the tilt's logarithm, for slack rescaling; needs the plain oracle.

    Finds the least bound K(mu)^2 / (4 mu), and the best of the corners of the hull that its queries
    return. `ConvexHull` does so in fewer calls and for every surrogate: this search is there for
    comparison.

    Parameters
    ----------
    tol : float, default=1e-4
        Stop when the tilt is known to this relative accuracy.
    warm : bool, default=True
        Start from the tilt of the last pass.
    max_calls : int, default=100
        Stop after this many calls, with the bound known by then.

    Examples
    --------
    >>> from maxmargin.search import BinarySearch
    >>> from maxmargin.surrogates import SlackRescaling
    >>> from maxmargin.testing import cloud_problem
    >>> h, g = [[2.0, 1.8, -0.5]], [[0.5, 1.0, 3.0]]  # psi = (h + 1) g: 1.5, 2.8 and 1.5
    >>> problem = cloud_problem(h, g, SlackRescaling(), BinarySearch(), compile=False)
    >>> losses, bounds = problem.losses(problem.weights)
    >>> losses, bounds.round(2)
    (array([2.8]), array([3.39]))
    """

    tol: float = 1e-4
    warm: bool = True
    max_calls: int = 100

    name: ClassVar[str] = "binary"
    needs: ClassVar[frozenset[str]] = frozenset({"weighted"})
    surrogates: ClassVar[str] = "slack"
    needs_slack: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_tolerance("BinarySearch", "tol", self.tol, least=0.0)
        check_at_least("BinarySearch", "max_calls", self.max_calls, 1)

    def bind(self, data: Any, cost: Any, surrogate: Any) -> BisectingSearch:
        """Return the search over these examples."""
        kept = recall(data, 0, self.warm)
        return BisectingSearch(kept, float(self.tol), self.max_calls, 1, 0)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search."""
        return asdict(self)
