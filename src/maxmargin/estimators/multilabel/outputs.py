"""Questions about label sets that go beyond the best one, row by row."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.core.workers import CHUNK, Workers, cut
from maxmargin.estimators.multilabel.edges import best_inference
from maxmargin.estimators.multilabel.scores import (
    conditional_differences,
    listed_differences,
    tree_differences,
)
from maxmargin.inference import Answer, Exactness, LabelConstraints
from maxmargin.inference.labels.listed import MAX_LISTED

# `label_sets` is imported where it is used: it loads HiGHS, which the best sets seldom need.
_NO_EDGES = np.zeros((0, 2), dtype=np.int32)


class PairwiseScores:
    """Scores of the label sets of some rows: sum_j unary[i, j] y_j + sum_e pair[e] y_a y_b.

    Parameters
    ----------
    unary : array of shape (n, m)
    edges : int array of shape (E, 2)
    pair : array of shape (E,)

    Examples
    --------
    >>> scores = PairwiseScores(np.array([[1.0, -2.0]]), np.array([[0, 1]]), np.array([3.0]))
    >>> scores.k_best(2)
    (array([[[1, 1],
            [1, 0]]], dtype=int32), array([[2., 1.]]))
    """

    def __init__(
        self, unary: np.ndarray, edges: np.ndarray = _NO_EDGES, pair: np.ndarray | None = None
    ) -> None:
        self.unary = unary
        self.edges = edges
        self.pair = np.zeros(0) if pair is None else pair
        self.inference = best_inference(edges, unary.shape[1])

    @property
    def is_hard(self) -> bool:
        """Whether only an integer programme is exact here."""
        return self.inference == "pairwise"

    def refuse_hard(self, method: str, *, forest_only: bool) -> None:
        """Raise if there is no exact inference for a method."""
        if self.is_hard or (forest_only and self.inference == "listed"):
            few = "" if forest_only else f", or at most {MAX_LISTED} labels"
            raise ValueError(
                f"{method} needs labels without pairs, or pairs that form a forest"
                f" (pairwise='none' or 'tree'){few}; here there are {self.unary.shape[1]} labels "
                f"and {len(self.edges)} pairs, which have a cycle."
            )

    def differences(self, cells: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of single labels, of shape (n, m).

        ``cells`` are the best label sets. They are needed only if `is_hard`: then the score of a
        label is what it adds to the other labels of that set.
        """
        if self.inference == "independent":
            return self.unary
        if self.inference == "tree":
            return tree_differences(self.unary, self.edges, self.pair)
        if self.inference == "listed":
            return listed_differences(self.unary, self.edges, self.pair)
        if cells is None:
            raise ValueError("cells must be given where the best label set is found by a search.")
        return conditional_differences(self.unary, self.edges, self.pair, cells)

    def best(
        self,
        constraints: LabelConstraints | None = None,
        time_limit: float | None = None,
        n_jobs: int = 1,
    ) -> np.ndarray:
        """Return the best label sets that satisfy the constraints, int32 of shape (n, m).

        If ``time_limit`` seconds per row are not enough, it is the best set found, with a warning.
        """
        limits = constraints or LabelConstraints()
        answers = self._for_each(lambda unary: self._best_of(unary, limits, time_limit), n_jobs)
        missed = [each.bound - each.score for each in answers if each.exactness != Exactness.EXACT]
        if missed:
            warnings.warn(
                f"{len(missed)} of {len(answers)} rows reached the time limit of {time_limit:g} s: "
                f"their label sets may fall short of the best, by at most {max(missed):.3g} in "
                "score.",
                UserWarning,
                stacklevel=4,
            )
        found = [each.output for each in answers]
        return np.array(found, dtype=np.int32).reshape(self.unary.shape)

    def _best_of(
        self, unary: np.ndarray, limits: LabelConstraints, time_limit: float | None
    ) -> Answer:
        """Return the best label set of one row."""
        from maxmargin.inference import labels as label_sets

        if len(self.edges) == 0 and not limits.only_counts:
            found = _best_in_groups(unary, limits, time_limit)
            if limits.admits(found.output):
                return found
        return label_sets.maximize(
            unary,
            self.edges,
            self.pair,
            at_least=limits.at_least,
            at_most=limits.at_most,
            exclusive=limits.exclusive,
            implies=limits.implies,
            time_limit=time_limit,
        )

    def k_best(self, k: int, n_jobs: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best label sets of each row, (n, k, m), and their scores, (n, k)."""
        from maxmargin.inference import labels as label_sets

        n, m = self.unary.shape
        k = min(k, 2 ** min(m, 62))
        found = self._for_each(
            lambda unary: label_sets.k_best(unary, self.edges, self.pair, k=k), n_jobs
        )
        cells = np.array([[a.output for a in row] for row in found], dtype=np.int32)
        scores = np.array([[a.score for a in row] for row in found], dtype=np.float64)
        return cells.reshape(n, k, m), scores.reshape(n, k)

    def marginals(self, temperature: float, n_jobs: int = 1) -> np.ndarray:
        """Return p(y_j = 1) of each row, (n, m), for edges that form a forest."""
        from maxmargin.inference import labels as label_sets

        found = self._for_each(
            lambda unary: label_sets.marginals(unary, self.edges, self.pair, temperature), n_jobs
        )
        on = [each.node[:, 1] for each in found]
        return np.array(on, dtype=np.float64).reshape(self.unary.shape)

    def _for_each(self, answer: Callable[[np.ndarray], Any], n_jobs: int) -> list[Any]:
        """Return answer(unary) of every row, in fixed chunks of rows."""
        pieces = cut(len(self.unary), CHUNK)

        def serve(piece: int, worker: int) -> list[Any]:
            found = []
            for i in range(*pieces[piece]):
                try:
                    found.append(answer(self.unary[i]))
                except (ValueError, TimeoutError) as error:
                    raise type(error)(f"X[{i}]: {error}") from None
            return found

        with Workers(n_jobs) as workers:
            found = workers.share(len(pieces), serve)
        return [each for some in found for each in some]


def _best_in_groups(
    unary: np.ndarray, limits: LabelConstraints, time_limit: float | None
) -> Answer:
    """Return the best label set without edges that satisfies all but the bounds on its size.

    Labels that are in no group are decided one by one. So the search is only over the few labels
    that are in groups.
    """
    from maxmargin.inference import labels as label_sets

    tied = sorted({label for group in (*limits.exclusive, *limits.implies) for label in group})
    place = {label: k for k, label in enumerate(tied)}
    small = label_sets.maximize(
        unary[tied],
        exclusive=[[place[label] for label in group] for group in limits.exclusive],
        implies=[(place[a], place[b]) for a, b in limits.implies],
        time_limit=time_limit,
    )
    output = (unary > 0.0).astype(np.int32)
    output[tied] = small.output
    score = float(unary[output == 1].sum())
    return Answer(output, score, score + (small.bound - small.score), small.exactness)
