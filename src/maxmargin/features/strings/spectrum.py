"""The spectrum of a string: how often each word of k letters in a row occurs."""

from __future__ import annotations

import numpy as np

from maxmargin.features.strings.words import WordFeatures, check_count, words_at


class SpectrumFeatures(WordFeatures):
    """Counts of the words of `min_k` to `k` letters in a row, as sparse rows.

    Parameters
    ----------
    k : int, default 3
        Letters of the longest words.
    min_k : int or None, default None
        Letters of the shortest words; None for k.
    alphabet : str or None, default None
        All letters that may occur; None for those of the training strings.
    unknown : {"error", "skip"}, default "error"
        What happens to other letters: they are refused, or words that have one are not counted.
    n_features : int or None, default None
        Columns of the rows. None: one column per word of the training strings, and no others.
        Otherwise each word has the column that a fixed hash says, and two may share one.
    log : bool, default True
        True for log(1 + count), which serves better than counts where words repeat.
    normalised : bool, default True
        True for rows of length 1. A string without words has a row of zeros.

    Attributes
    ----------
    letters_ : str, the letters that are known
    words_ : the words of the columns, as numbers; `get_feature_names_out` spells them

    Examples
    --------
    >>> from maxmargin.features.strings import SpectrumFeatures
    >>> counts = SpectrumFeatures(k=2, log=False, normalised=False)
    >>> counts.fit_transform(["abab", "b"]).toarray().tolist()
    [[2.0, 1.0], [0.0, 0.0]]
    >>> counts.get_feature_names_out().tolist()
    ['ab', 'ba']
    """

    def __init__(
        self,
        k: int = 3,
        min_k: int | None = None,
        *,
        alphabet: str | None = None,
        unknown: str = "error",
        n_features: int | None = None,
        log: bool = True,
        normalised: bool = True,
    ) -> None:
        self.k = k
        self.min_k = min_k
        self.alphabet = alphabet
        self.unknown = unknown
        self.n_features = n_features
        self.log = log
        self.normalised = normalised

    def _check_own(self) -> int:
        check_count(self._owner, "k", self.k)
        if self.min_k is not None:
            check_count(self._owner, "min_k", self.min_k)
            if self.min_k > self.k:
                raise ValueError(f"{self._owner}: min_k={self.min_k} is more than k={self.k}.")
        return int(self.k)

    def _words(self, digits: np.ndarray) -> list[tuple[np.ndarray, float]]:
        shortest = self.k if self.min_k is None else self.min_k
        return [
            (words_at(digits, range(length), self._base), 1.0)
            for length in range(shortest, self.k + 1)
        ]
