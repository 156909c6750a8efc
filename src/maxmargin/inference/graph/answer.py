"""What the methods for factor graphs take and return."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["GraphAnswer", "KBest", "Options"]


class GraphAnswer(NamedTuple):
    """A labelling of a factor graph, with a bound that no labelling exceeds.

    Attributes
    ----------
    labels : int32 array of shape (n,), or None
        None if no labelling was found that the constraints allow.
    score : float
        Its score; -inf if there are no labels.
    bound : float
        No labelling scores higher; +inf if nothing is known, -inf if it is proved that the
        constraints allow no labelling.
    is_exact : bool
        Whether it is proved that no labelling scores higher (up to the tolerance), or that there is
        none.
    method : str
        The method that found it.
    n_iterations : int
        How many iterations, or nodes of a search, that took; 0 for direct methods.
    """

    labels: npt.NDArray[np.int32] | None
    score: float
    bound: float
    is_exact: bool
    method: str
    n_iterations: int


class KBest(list[GraphAnswer]):
    """The k best labellings that were found, best first.

    Attributes
    ----------
    bound : float
        No labelling that is not listed scores higher; -inf if it is proved that there is none.
    """

    def __init__(self, answers: Iterable[GraphAnswer], bound: float) -> None:
        super().__init__(answers)
        self.bound = bound


class Options(NamedTuple):
    """What a method may be told; each uses what concerns it.

    Attributes
    ----------
    time_limit : float or None
        Seconds; None for no limit.
    max_iter : int or None
        Iterations of message passing; None for the limit of the method.
    tol : float
        An answer counts as exact if bound - score is at most tol * (1 + |score|).
    most_cells : int
        The most table cells of a junction tree.
    most_nodes : int
        The most nodes of branch and bound.
    seed : int
    callback : callable or None
        Called as callback(iteration, bound, score).
    """

    time_limit: float | None = None
    max_iter: int | None = None
    tol: float = 1e-9
    most_cells: int = 30_000_000
    most_nodes: int = 1000
    seed: int = 0
    callback: Any = None
