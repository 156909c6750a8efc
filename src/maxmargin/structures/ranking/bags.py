"""Rankings of bags: a sample is several windows, of which one, not known which, counts (latent AP).

    F = lam/2 |w|^2 + min_{h+} max_{R, h-} [ cost(R) + w.Psi(R, h) - w.Psi(R*, h) ]

A window h is chosen for every sample, the same on both sides. The bracket is the cost plus
2/(P N) times the sum of s_j - s_i over the pairs in the wrong order: it rises with every score of
an irrelevant sample and falls with every one of a relevant sample. So irrelevant samples take their
best windows inside the oracle, and relevant ones theirs when the truth is completed. Joint features
are those differences: the truth has 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.costs import COSTS, Cost, check_priced
from maxmargin.inference.ranking.public import most_violating_ranking

__all__ = ["BagRankings", "Interleaving"]


class Interleaving(NamedTuple):
    """A ranking: for each sample how many of the other kind stand above it, and what it costs."""

    relevant: Any
    above: Any
    cost: float


class BagRankings:
    """Queries whose samples are bags, for `LatentSVM`.

    An input is one query: a list of bags, each a matrix with one row per window. Its known output
    is which bags are relevant; the latent part is one window per bag. A prediction is the scores of
    the bags, each that of its best window, and these windows.

    Parameters
    ----------
    n_features : int
    cost : str or cost of rankings, default="ap"

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LatentSVM, StructuredSVM
    >>> from maxmargin.structures import BagRankings
    >>> rng = np.random.default_rng(0)
    >>> relevant = np.arange(30) < 10
    >>> bags = [rng.normal(size=(4, 2)) for _ in relevant]
    >>> for bag in bags[:10]:
    ...     bag[rng.integers(4)] += [3.0, 0.0]
    >>> model = LatentSVM(StructuredSVM(BagRankings(2), C=100.0), random_state=0)
    >>> scores = model.fit([bags], [relevant]).predict([bags])[0]
    >>> from maxmargin.metrics import average_precision
    >>> float(average_precision(relevant, scores)) > 0.8
    True
    """

    def __init__(self, n_features: int, cost: Any = "ap") -> None:
        self.n_features = int(n_features)
        if isinstance(cost, str):
            if cost not in COSTS:
                raise ValueError(f"cost={cost!r} is not known. There are: {', '.join(COSTS)}.")
            cost = COSTS[cost]()
        if not isinstance(cost, Cost):
            raise TypeError(f"cost must be a name or a cost of rankings, got {cost!r}.")
        check_priced(cost, "places")
        self.rule: Any = cost

    def parameters(self) -> dict[str, Any]:
        """Return what a model file keeps: the cost by its name."""
        names = [key for key, kind in COSTS.items() if type(self.rule) is kind]
        default = COSTS[names[0]]().parameters() if names else None
        if default is None or self.rule.parameters() != default:
            raise TypeError(f"cost={self.rule!r} of BagRankings cannot be stored: take a name.")
        return {"n_features": self.n_features, "cost": names[0]}

    def read_relevance(self, X: Any, y: Any) -> list[np.ndarray]:
        """Return for each query which of its bags are relevant."""
        return [_relevant(own, len(x)) for x, own in zip(X, y, strict=True)]

    def _best(self, x: Any, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the best window of each bag, the scores of all windows, and where bags begin."""
        sizes = np.array([len(bag) for bag in x])
        if sizes.min(initial=1) == 0 or len(sizes) == 0:
            raise ValueError("a bag has no window; each has at least one.")
        scores = np.concatenate([np.asarray(bag, dtype=np.float64) for bag in x]) @ w
        starts = np.cumsum(sizes) - sizes
        best = np.maximum.reduceat(scores, starts)
        hits = np.flatnonzero(scores == np.repeat(best, sizes))
        return hits[np.searchsorted(hits, starts)] - starts, scores, starts

    def complete(self, x: Any, w: np.ndarray, y: Any) -> np.ndarray:
        """Return the best windows of relevant bags; those of others do not count, and are 0."""
        windows, _, _ = self._best(x, w)
        return np.where(_relevant(y, len(x)), windows, 0)

    def averaged(self, x: Any) -> list[np.ndarray]:
        """Return the query with one window per bag, the mean of its windows."""
        return [np.mean(bag, axis=0, keepdims=True) for bag in x]

    def joint_feature(self, x: Any, pair: Any) -> np.ndarray:
        """Return 2/(P N) times the sum of x_j - x_i over the pairs in the wrong order."""
        y, windows = pair
        if not isinstance(y, Interleaving):
            return np.zeros(self.n_features)
        P = int(y.relevant.sum())
        N = len(y.relevant) - P
        wrong = np.where(y.relevant, -y.above, P - y.above)
        rows = np.array([bag[k] for bag, k in zip(x, windows, strict=True)], dtype=np.float64)
        return (2.0 / max(P, 1) / max(N, 1)) * (wrong @ rows)

    def cost(self, pair: Any, true: Any) -> float:
        """Return the cost of the ranking."""
        return float(pair[0].cost) if isinstance(pair[0], Interleaving) else 0.0

    def maximize(
        self, x: Any, w: np.ndarray, true: Any, score_scale: float, cost_scale: float
    ) -> Any:
        """Return the ranking that violates most; to predict, the scores of all bags."""
        windows, values, starts = self._best(x, w)
        if true is None:
            return values[starts + windows], windows
        relevant = _relevant(true[0], len(x))
        windows = np.where(relevant, true[1], windows)
        scores = values[starts + windows]
        found = most_violating_ranking(score_scale * scores, relevant, self.rule, cost_scale)
        if not found.above[relevant].any():  # all relevant samples on top: the truth
            return true
        return Interleaving(relevant, found.above, found.cost), windows


def _relevant(y: Any, n: int) -> np.ndarray:
    """Return which bags are relevant."""
    array = np.asarray(y)
    if array.shape != (n,) or not np.isin(array, (0, 1)).all():
        raise ValueError(f"y must say of each of the {n} bags whether it is relevant, 0 or 1.")
    return array.astype(bool)
