"""Words with mistakes: each word of a string counts for all words that are nearly the same."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from maxmargin.features.strings.words import WordFeatures, check_count


class MismatchFeatures(WordFeatures):
    """Counts of words of `k` letters, up to `mismatches` letters that may be others.

    Each word of k letters in a row counts 1 for every word that differs from it in at most
    `mismatches` places. With 20 letters, k = 4 and one mismatch that are 77 words each: for short
    words.

    Parameters
    ----------
    k : int, default 3
        Letters of a word.
    mismatches : int, default 1
        How many letters may differ, less than k.
    alphabet, unknown, n_features, log, normalised
        As for :class:`SpectrumFeatures`. The letters that may stand for others are the known ones,
        so `alphabet` changes the features.

    Examples
    --------
    >>> from maxmargin.features.strings import MismatchFeatures
    >>> near = MismatchFeatures(k=2, log=False, normalised=False)
    >>> near.fit_transform(["ab"]).toarray().tolist()
    [[1.0, 1.0, 1.0]]
    >>> near.get_feature_names_out().tolist()
    ['aa', 'ab', 'bb']
    """

    def __init__(
        self,
        k: int = 3,
        mismatches: int = 1,
        *,
        alphabet: str | None = None,
        unknown: str = "error",
        n_features: int | None = None,
        log: bool = True,
        normalised: bool = True,
    ) -> None:
        self.k = k
        self.mismatches = mismatches
        self.alphabet = alphabet
        self.unknown = unknown
        self.n_features = n_features
        self.log = log
        self.normalised = normalised

    def _check_own(self) -> int:
        check_count(self._owner, "k", self.k)
        check_count(self._owner, "mismatches", self.mismatches, least=0)
        if self.mismatches >= self.k:
            raise ValueError(
                f"{self._owner}: mismatches={self.mismatches} must be less than k={self.k}."
            )
        return int(self.k)

    def _words(self, digits: np.ndarray) -> list[tuple[np.ndarray, float]]:
        if len(digits) < self.k:
            return [(np.zeros(0, dtype=np.int64), 1.0)]
        windows = np.lib.stride_tricks.sliding_window_view(digits, self.k)
        windows = windows[(windows > 0).all(axis=1)]
        powers = self._base ** np.arange(self.k - 1, -1, -1, dtype=np.int64)
        words, letters = windows @ powers, range(1, self._base)
        found = [words]
        for size in range(1, self.mismatches + 1):
            for places in map(list, combinations(range(self.k), size)):
                rest = words - windows[:, places] @ powers[places]
                for others in product(letters, repeat=size):
                    differs = (windows[:, places] != others).all(axis=1)
                    found.append((rest + np.dot(others, powers[places]))[differs])
        return [(np.concatenate(found), 1.0)]
