"""Answers about graphs that say how they were got: a list, one entry per graph, and more."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from maxmargin.inference.graph.answer import GraphAnswer, KBest
from maxmargin.inference.graph.marginals import GraphMarginals, LabelScores

NOTHING_ALLOWED = "`fixed`, `allowed` and the constraints together allow no labelling."


class Found(NamedTuple):
    """The answer about one graph, before those of all graphs are put together."""

    value: Any
    method: str
    is_exact: bool
    is_converged: bool = True
    gap: float = np.nan


class Answers(list[Any]):
    """One entry per graph.

    Attributes
    ----------
    methods : list of str
        How the entry of each graph was got.
    is_exact : bool array
        Whether it is proved to be what was asked for.
    gaps : float array
        Of labellings: how much higher the best one can score, at most; 0 where `is_exact`. NaN
        where the entries are no labellings.

    Examples
    --------
    >>> found = Answers([Found("a", "junction", True), Found("b", "loopy", False)])
    >>> found, found.methods, found.is_exact
    (['a', 'b'], ['junction', 'loopy'], array([ True, False]))
    """

    def __init__(self, found: Iterable[Found]) -> None:
        each = list(found)
        super().__init__([own.value for own in each])
        self.methods = [own.method for own in each]
        self.is_exact = np.array([own.is_exact for own in each], dtype=bool)
        self.gaps = np.array([own.gap for own in each], dtype=float)


def check_marginals_exist(found: GraphMarginals) -> Found:
    """Return the node marginals of one graph; refuse constraints that allow nothing."""
    if found.log_partition == -np.inf:
        raise ValueError(NOTHING_ALLOWED)
    return Found(np.array(found.node), found.method, found.is_exact, found.is_converged)


def check_scores_exist(found: LabelScores) -> Found:
    """Return the max-marginals of one graph; refuse constraints that allow nothing."""
    rows = np.array(found)
    if len(rows) and rows.max(axis=1).min() == -np.inf:
        raise ValueError(NOTHING_ALLOWED)
    return Found(rows, found.method, found.is_exact)


def check_labels_exist(answer: GraphAnswer, classes: np.ndarray) -> Found:
    """Return the labelling of one graph; refuse constraints that allow none, or where none came."""
    if answer.labels is None:
        if answer.bound == -np.inf:
            raise ValueError(NOTHING_ALLOWED)
        raise ValueError(
            f"{answer.method} found no labelling that the constraints allow, nor a proof that "
            "there is none. method='auto' and method='ilp' search on; a rounding may need "
            "polish_by=, and all of them a larger time_limit=."
        )
    gap = 0.0 if answer.is_exact else answer.bound - answer.score
    return Found(classes[answer.labels], answer.method, answer.is_exact, gap=gap)


def check_any_labels(answers: KBest) -> None:
    """Refuse an empty list of the k best: nothing is allowed, or nothing was found in time."""
    if not answers:
        raise ValueError(
            NOTHING_ALLOWED
            if answers.bound == -np.inf
            else "no labelling was found that the constraints allow, nor a proof that there is "
            "none. A larger time_limit= lets the search go on."
        )


def warn_of_approximations(found: list[Found], what: str, instead: str) -> None:
    """Warn of graphs whose answers are approximate although exact ones were wanted if possible."""
    rough = [i for i, own in enumerate(found) if not own.is_exact]
    if rough:
        methods = sorted({found[i].method for i in rough})
        warnings.warn(
            f"{what} of {len(rough)} of {len(found)} graphs ({_named(rough)}) are not exact, "
            f"because their junction trees are too large: they come from {', '.join(methods)}"
            f"{instead}. method='exact' refuses such graphs.",
            stacklevel=3,
        )


def warn_of_no_proof(found: list[Found], what: str, unknown: str) -> None:
    """Warn of graphs for which it is not proved that the labellings are the best."""
    open_ = [i for i, own in enumerate(found) if not own.is_exact]
    if open_:
        warnings.warn(
            f"{what} of {len(open_)} of {len(found)} graphs ({_named(open_)}) are the best that "
            f"were found; it is not proved that {unknown}. `is_exact` of the answer says of which "
            "graphs it is; a larger time_limit= (seconds per graph) may prove more.",
            stacklevel=3,
        )


def warn_of_open_searches(gaps: np.ndarray, max_branches: int) -> None:
    """Warn of graphs whose search ended, at its limits, before its labelling was proved best."""
    open_ = np.flatnonzero(gaps).tolist()
    if open_:
        warnings.warn(
            f"the labellings of {len(open_)} of {len(gaps)} graphs ({_named(open_)}) are the best "
            f"that were found; others may score higher, by {gaps.max():.3g} at most. A larger "
            f"max_branches of the estimator (now {max_branches}), or method='auto' here, searches "
            "on; `is_exact` and `gaps` of what `predict` returns say of which graphs it is.",
            stacklevel=4,
        )


def warn_of_no_convergence(found: list[Found]) -> None:
    """Warn of graphs in which belief propagation did not come to rest."""
    restless = [i for i, own in enumerate(found) if not own.is_converged]
    if restless:
        warnings.warn(
            f"the marginals of {len(restless)} of {len(found)} graphs ({_named(restless)}) have "
            "not converged. method='smoothed' always does; a higher temperature may help.",
            stacklevel=3,
        )


def _named(which: list[int], most: int = 5) -> str:
    names = ", ".join(f"X[{i}]" for i in which[:most])
    return names + (", ..." if len(which) > most else "")
