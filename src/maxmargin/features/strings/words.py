"""Counts of words as sparse rows: what the maps of strings share.

A map says which words a string has, and with which weight. A word is a number: its letters are
digits from 1 on, so that words of different lengths differ. Columns are the words of the training
strings (a dictionary), or the words are hashed to a number of columns given beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.features.strings.letters import as_digits, check_strings, letters_of

#: A sorted row of words, and how often (or with which weight) each occurs.
Counted = tuple[np.ndarray, np.ndarray]


class WordFeatures(TransformerMixin, BaseEstimator):
    """Base of the maps of strings. A map has its own parameters, and `_words`."""

    alphabet: str | None
    unknown: str
    n_features: int | None
    log: bool
    normalised: bool

    def _check_own(self) -> int:
        """Check the parameters of this map; return the length of its longest words."""
        raise NotImplementedError

    def _words(self, digits: np.ndarray) -> list[tuple[np.ndarray, float]]:
        """Return arrays of words, each with the weight that all its words have."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn the letters and, unless words are hashed, the words of the strings X."""
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> sp.csr_matrix:
        """Do `fit`, and return the rows of the same strings; words are counted once."""
        return self._rows(self._learn(X))

    def transform(self, X: Any) -> sp.csr_matrix:
        """Return one sparse row per string."""
        check_is_fitted(self, "letters_")
        return self._rows(self._count(check_strings(X, self._owner)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the word of every column; hashed columns are called ``hash0``, ``hash1``, ..."""
        check_is_fitted(self, "letters_")
        if self.n_features is not None:
            return np.array([f"hash{c}" for c in range(self.n_features)], dtype=object)
        return np.array([self._spell(int(word)) for word in self.words_], dtype=object)

    @property
    def _owner(self) -> str:
        return type(self).__name__

    @property
    def _base(self) -> int:
        return len(self.letters_) + 1

    def _learn(self, X: Any) -> list[Counted]:
        strings = check_strings(X, self._owner)
        longest = self._check_own()
        self._check_shared()
        self.letters_ = (
            letters_of(strings) if self.alphabet is None else "".join(sorted(self.alphabet))
        )
        if self._base**longest >= 2**63:
            raise ValueError(
                f"{self._owner}: words of {longest} letters out of {len(self.letters_)} are too "
                "many to number in 63 bits; take shorter words."
            )
        counted = self._count(strings)
        if self.n_features is None:
            self.words_ = np.unique(np.concatenate([words for words, _ in counted]))
        return counted

    def _check_shared(self) -> None:
        name = self._owner
        if self.alphabet is not None and not (
            isinstance(self.alphabet, str) and len(set(self.alphabet)) == len(self.alphabet) > 0
        ):
            raise ValueError(
                f"{name}: alphabet must be None or a str of different letters, got "
                f"{self.alphabet!r}."
            )
        if self.unknown not in ("error", "skip"):
            raise ValueError(f"{name}: unknown must be 'error' or 'skip', got {self.unknown!r}.")
        if self.n_features is not None:
            check_count(name, "n_features", self.n_features)

    def _count(self, strings: Sequence[str]) -> list[Counted]:
        skip = self.unknown == "skip"
        rows = as_digits(strings, self.letters_, skip, self._owner)
        return [_summed(self._words(row)) for row in rows]

    def _rows(self, counted: list[Counted]) -> sp.csr_matrix:
        columns, values = [], []
        for words, counts in counted:
            if self.n_features is not None:
                columns.append((hashed(words) % np.uint64(self.n_features)).astype(np.int64))
                values.append(counts)
            else:
                place = np.searchsorted(self.words_, words)
                place = np.minimum(place, len(self.words_) - 1)
                is_known = self.words_[place] == words if len(self.words_) else words < 0
                columns.append(place[is_known])
                values.append(counts[is_known])
        ends = np.cumsum([0] + [len(row) for row in columns])
        width = len(self.words_) if self.n_features is None else int(self.n_features)
        matrix = sp.csr_matrix(
            (np.concatenate(values), np.concatenate(columns), ends), shape=(len(counted), width)
        )
        matrix.sum_duplicates()  # several words in one column of the hash
        if self.log:
            matrix.data = np.log1p(matrix.data)
        if self.normalised:
            lengths = np.sqrt(matrix.multiply(matrix).sum(axis=1).A1)
            matrix.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(matrix.indptr))
        return matrix

    def _spell(self, word: int) -> str:
        letters = []
        while word:
            word, digit = divmod(word, self._base)
            letters.append(self.letters_[digit - 1])
        return "".join(reversed(letters))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def words_at(digits: np.ndarray, offsets: Sequence[int], base: int) -> np.ndarray:
    """Return the words of the letters at i + offsets for every i; none that has an unknown letter.

    Examples
    --------
    >>> words_at(np.array([1, 2, 0, 2]), (0, 1), 3).tolist()
    [5]
    >>> words_at(np.array([1, 2, 0, 2]), (0, 2), 3).tolist()
    [8]
    """
    n = len(digits) - offsets[-1]
    if n <= 0:
        return np.zeros(0, dtype=np.int64)
    words, is_known = np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool)
    for offset in offsets:
        own = digits[offset : offset + n]
        words = words * base + own
        is_known &= own > 0
    return words[is_known]


def hashed(words: np.ndarray) -> np.ndarray:
    """Return a number of 64 bits for every word, the same on every machine: the mix of SplitMix."""
    x = words.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def check_count(owner: str, name: str, value: Any, least: int = 1) -> None:
    """Refuse what is no integer >= least."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"{owner}: {name} must be an integer >= {least}, got {value!r}.")


def _summed(weighted: list[tuple[np.ndarray, float]]) -> Counted:
    words = np.concatenate([own for own, _ in weighted])
    weights = np.repeat([weight for _, weight in weighted], [len(own) for own, _ in weighted])
    found, place = np.unique(words, return_inverse=True)
    return found, np.bincount(place.ravel(), weights=weights, minlength=len(found))
