"""Gappy words: p letters of a string in order, with gaps, within a window."""

from __future__ import annotations

from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np

from maxmargin.features.strings.words import WordFeatures, check_count, words_at


class GappyFeatures(WordFeatures):
    """Words of `p` letters that stand in this order within a window, less if far apart.

    Each choice of p places of a string within `window` neighbouring ones counts decay^(span - p)
    for its word, where the span goes from the first to the last place. Rows are the exact map of
    the kernel that sums products of these weights over equal words; with a window as long as the
    strings (and log and normalised False) that is :class:`SubsequenceKernel`.

    Parameters
    ----------
    p : int, default 4
        Letters of a word.
    window : int, default 6
        The largest span, at least p. There are binomial(window - 1, p - 1) words at every place.
    decay : float, default 0.5
        In (0, 1]: what one more letter in the gaps costs.
    alphabet, unknown, n_features, log, normalised
        As for :class:`SpectrumFeatures`.

    Examples
    --------
    >>> from maxmargin.features.strings import GappyFeatures
    >>> gappy = GappyFeatures(p=2, window=3, log=False, normalised=False)
    >>> gappy.fit_transform(["abc"]).toarray().tolist()
    [[1.0, 0.5, 1.0]]
    >>> gappy.get_feature_names_out().tolist()
    ['ab', 'ac', 'bc']
    """

    def __init__(
        self,
        p: int = 4,
        window: int = 6,
        decay: float = 0.5,
        *,
        alphabet: str | None = None,
        unknown: str = "error",
        n_features: int | None = None,
        log: bool = True,
        normalised: bool = True,
    ) -> None:
        self.p = p
        self.window = window
        self.decay = decay
        self.alphabet = alphabet
        self.unknown = unknown
        self.n_features = n_features
        self.log = log
        self.normalised = normalised

    def _check_own(self) -> int:
        check_count(self._owner, "p", self.p)
        check_count(self._owner, "window", self.window, least=int(self.p))
        check_decay(self._owner, self.decay)
        return int(self.p)

    def _words(self, digits: np.ndarray) -> list[tuple[np.ndarray, float]]:
        # A word of one letter has no gap: its window is the letter itself.
        window = self.window if self.p > 1 else 1
        return [
            (
                words_at(digits, (0, *rest), self._base),
                float(self.decay) ** (rest[-1] + 1 - self.p if rest else 0),
            )
            for rest in combinations(range(1, window), self.p - 1)
        ]


def check_decay(owner: str, decay: Any) -> None:
    """Refuse what is no number in (0, 1]."""
    if not isinstance(decay, Real) or not 0.0 < float(decay) <= 1.0:
        raise ValueError(f"{owner}: decay must be a number in (0, 1], got {decay!r}.")
