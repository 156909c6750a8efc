"""What a fitted parser says of sentences, one at a time: scores of arcs, k best, marginals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.core.contract import workspace
from maxmargin.core.predict import fill_potentials
from maxmargin.structures import ParseData


def for_each_sentence(
    data: ParseData, w: np.ndarray, answer: Callable[[np.ndarray, Any], Any]
) -> list[Any]:
    """Return answer(scores, siblings) for every sentence.

    scores has the shape (n + 1, n + 1), or (n + 1, n + 1, n_relations) if trees are learnt with
    relations; siblings is None unless they have weights.
    """
    theta, _ = workspace(data)
    found = []
    for i, n in enumerate(np.diff(data.offsets).tolist()):
        fill_potentials(data, i, w, theta)
        side = n + 1
        scores = theta.arcs[: side * side * data.n_relations].reshape(side, side, -1).copy()
        siblings = None
        if data.second:
            siblings = theta.siblings[: side**3].reshape(side, side, side).copy()
        plain = scores[:, :, 0] if data.n_relations == 1 else scores
        try:
            found.append(answer(plain, siblings))
        except ValueError as error:
            raise ValueError(f"X[{i}]: {error}") from None
    return found
