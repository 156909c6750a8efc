"""The convex hull search as users choose it, and which of its kinds fits a structure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin.core.contract import (
    capabilities,
    cost_step,
    most_listed,
    profile_levels,
    profile_price,
)
from maxmargin.search.contract import check_at_least
from maxmargin.search.hull import climb  # noqa: F401 - implements `find` of the kinds below
from maxmargin.search.hull.rooms import (
    N_REMEMBERED,
    HullCore,
    HullSearch,
    HullThenBranch,
    HullThenList,
    HullThenProfile,
)
from maxmargin.search.recall import recall

#: A profile that takes longer than this many calls of the oracle is too slow as a fallback, though
#: it never fails, as the k best may do.
DEAREST_PROFILE = 200.0

#: The oracles that can find the best output after the hull search, the most reliable first.
FALLBACKS = ("profile", "forbid", "k_best")


@dataclass(frozen=True)
class ConvexHull:
    """Search on the convex hull, for every surrogate; it needs the plain oracle only.

    In few calls it finds the best corner of the hull of all (h, g), and a bound: the largest psi on
    the hull. If an output below the hull may be better than that corner, ``integral=True`` goes on
    to the best output of all. For `MicroF1` the best corner is the best output.

    Parameters
    ----------
    integral : bool, default=True
        Go on to the best output. False stops at the best corner. Over a relaxation the search finds
        the best fractional output, a mean of two corners, in either case.
    fallback : {"auto", "profile", "forbid", "k_best"}, default="auto"
        How to go on to the best output: by the best output of each cost level ("profile"), by
        branches that forbid and require parts of outputs ("forbid"), or by the k best outputs at
        the tilts where the bound is ("k_best"). "auto" takes the profile if the structure has one
        that is not too slow, else the first of the others that it has; if it has none, the search
        stops at the bound.
    warm : bool, default=True
        Start from outputs found in the last pass. This changes the number of calls, but no maximum.
    max_calls : int, default=100
        Stop after this many calls, with the bound known by then.
    max_k : int or None, default=None
        Longest list of best outputs to ask for. The first list has 4, each next one twice as many.
        None: 64, and for parses more, up to 4096 where sentences are short.
        With lists of max_k the search goes on, at one tilt after the other, as long as each list
        shortens the distance from the best output to the bound by a tenth.
    max_branches : int, default=1000
        Stop after this many branches, with the bound known by then.

    Examples
    --------
    >>> from maxmargin.search import ConvexHull
    >>> from maxmargin.surrogates import SlackRescaling
    >>> from maxmargin.testing import cloud_problem
    >>> h, g = [[2.0, 1.8, -0.5]], [[0.5, 1.0, 3.0]]  # psi = (h + 1) g: 1.5, 2.8 and 1.5
    >>> problem = cloud_problem(h, g, SlackRescaling(), ConvexHull(), compile=False)
    >>> problem.losses(problem.weights)  # and the bounds
    (array([2.8]), array([2.8]))
    """

    integral: bool = True
    fallback: str = "auto"
    warm: bool = True
    max_calls: int = 100
    max_k: int | None = None
    max_branches: int = 1000

    name: ClassVar[str] = "hull"
    surrogates: ClassVar[str] = "any"
    needs_slack: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.fallback not in ("auto", *FALLBACKS):
            raise ValueError(
                "ConvexHull: fallback must be 'auto', 'profile', 'forbid' or 'k_best', "
                f"got {self.fallback!r}."
            )
        check_at_least("ConvexHull", "max_calls", self.max_calls, 2)
        if self.max_k is not None:
            check_at_least("ConvexHull", "max_k", self.max_k, 1)
        check_at_least("ConvexHull", "max_branches", self.max_branches, 1)

    @property
    def needs(self) -> frozenset[str]:
        """The oracles that it calls in any case."""
        is_named = self.integral and self.fallback != "auto"
        return frozenset({"weighted", self.fallback} if is_named else {"weighted"})

    @property
    def is_exact(self) -> bool:
        """Whether it finds the maximum, where the structure has what the fallback needs."""
        return self.integral

    def bind(self, data: Any, cost: Any, surrogate: Any) -> Any:
        """Return the search over these examples."""
        kept = recall(data, N_REMEMBERED, self.warm)
        is_ratio = getattr(surrogate, "criteria", "cost") == "micro_f1"
        offered = capabilities(data, cost)
        is_relaxed = "relaxed" in offered
        steps = None if is_ratio or is_relaxed else cost_step(data, cost)
        steps = np.zeros(len(kept.starts)) if steps is None else np.array(steps, dtype=np.float64)
        luck = np.zeros((len(kept.starts), 2), dtype=np.int64)
        core = HullCore(kept, self.max_calls, int(is_ratio), steps, luck)
        if not self.integral or is_relaxed:
            return HullSearch(core)
        fallback = self.fallback
        if fallback == "auto":
            found = [name for name in FALLBACKS if name in offered]
            is_dear = len(found) > 1 and profile_price(data, cost) > DEAREST_PROFILE
            fallback = found[is_dear and found[0] == "profile"] if found else ""
        if fallback == "profile":
            return HullThenProfile(core, profile_levels(data, cost))
        if fallback == "forbid":
            return HullThenBranch(core, self.max_branches)
        if fallback == "k_best":
            most = most_listed(data, cost) if self.max_k is None else int(self.max_k)
            return HullThenList(core, most)
        return HullSearch(core)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal search."""
        return asdict(self)
