"""The kernel of common subsequences with gaps, by compiled dynamic programming.

    K(s, t) = sum over words u of p letters  phi_u(s) phi_u(t),
    phi_u(s) = sum over places i_1 < ... < i_p of s that spell u  decay^(i_p - i_1 + 1 - p)

Level q of the recursion is, for prefixes of s and t of lengths i and j,

    D_q(i, j) = sum of the weights of pairs that spell the same q letters and end at most there,
                times decay for each letter after their ends, in s and in t.

A pair of equal letters s_i = t_j prolongs what D_{q-1}(i-1, j-1) counts; D_0 is 1. All terms are
positive: nothing cancels. It takes p |s| |t| steps. Several t are worked on at once, side by side
in the lanes of a vector, because one alone would wait at every letter for the letter before.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.compile import kernel
from maxmargin.core.workers import Workers, n_threads
from maxmargin.features.strings.gappy import check_decay
from maxmargin.features.strings.letters import check_strings, code_points
from maxmargin.features.strings.words import check_count

#: Strings that are worked on side by side.
LANES = 16
#: More strings than this are warned of: the time goes with the square of their number.
MANY = 500
#: What fills lanes up to the longest string: no letter.
NONE = -1


class SubsequenceKernel(TransformerMixin, BaseEstimator):
    """The gap-weighted subsequence kernel of strings: common words of p letters, with gaps.

    Call it for a Gram matrix, or put it into a pipeline before an estimator of
    ``kernel="precomputed"``: `transform` returns the products with the training strings. A pair of
    strings of 400 letters takes a fraction of a millisecond, so 500 strings are a minute's work;
    for more take :class:`GappyFeatures`, the same kernel within a window, as features.

    Parameters
    ----------
    p : int, default 4
        Letters of a word.
    decay : float, default 0.5
        In (0, 1]: a word counts decay for every letter in its gaps. (Where others also count
        its p letters, their kernel is ours times decay^(2p); normalised both are the same.)
    normalised : bool, default True
        Divide by sqrt(K(s, s) K(t, t)). A string shorter than p has products 0.
    n_jobs : int or None, default None
        Threads. They change no result.

    Attributes
    ----------
    strings_ : list of str, the training strings

    Examples
    --------
    >>> from maxmargin.features.strings import SubsequenceKernel
    >>> SubsequenceKernel(p=2, normalised=False)(["abc", "ac"]).tolist()
    [[2.25, 0.5], [0.5, 1.0]]

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> model = make_pipeline(SubsequenceKernel(p=2), SVC(kernel="precomputed", C=10.0))
    >>> model.fit(["abab", "abba", "cdcd", "ccdd"], [0, 0, 1, 1]).predict(["ba", "dc"]).tolist()
    [0, 1]
    """

    takes: ClassVar[str] = "strings"

    def __init__(
        self,
        p: int = 4,
        decay: float = 0.5,
        normalised: bool = True,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.p = p
        self.decay = decay
        self.normalised = normalised
        self.n_jobs = n_jobs

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the Gram matrix of the strings X with the strings Y; by default Y = X."""
        left = check_strings(X, "SubsequenceKernel")
        right = None if Y is None else check_strings(Y, "SubsequenceKernel")
        self._warn_of_many(len(left), None if right is None else len(right))
        return self.gram(left, right)

    def _warn_of_many(self, n_left: int, n_right: int | None) -> None:
        n = max(n_left, n_right or 0)
        if n > MANY:
            n_pairs = n * (n + 1) // 2 if n_right is None else n_left * n_right
            warnings.warn(
                f"SubsequenceKernel: {n} strings, {n_pairs} pairs; the time goes with the "
                f"square of their number. GappyFeatures(p={self.p}, decay={self.decay}) has the "
                "same words within a window as sparse rows, in time that goes with their number.",
                stacklevel=3,
            )

    def diagonal(self, X: Any) -> np.ndarray:
        """Return K(x, x) of every string."""
        self._check_parameters()
        strings = check_strings(X, "SubsequenceKernel")
        own = self._own_of_all(strings)
        return (own > 0.0).astype(np.float64) if self.normalised else own

    # -- as a kernel of estimators, see `maxmargin.features.kernels` ------------------------------

    def gram(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the products of the strings X with the strings Y, by default with themselves.

        It warns of nothing: of a large matrix some rows are asked for at a time.
        """
        self._check_parameters()
        left = check_strings(X, "SubsequenceKernel")
        return self._gram(left, None if Y is None else check_strings(Y, "SubsequenceKernel"))

    def bound(self, rows: Any) -> SubsequenceKernel:
        """Return the kernel itself; its parameters are checked."""
        self._check_parameters()
        return self

    def whole(self, rows: Any) -> None:
        """Return None: the Gram matrix is computed, of which many strings are warned here, once."""
        self._warn_of_many(len(rows), None)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal kernel."""
        return self.get_params()

    # -- as a step of a pipeline -----------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> SubsequenceKernel:
        """Keep the training strings X."""
        self._check_parameters()
        self.strings_ = check_strings(X, "SubsequenceKernel")
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the products of the strings X with the training strings."""
        check_is_fitted(self, "strings_")
        return self(X, self.strings_)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> np.ndarray:
        """Do `fit`, and return the Gram matrix of the training strings: half the pairs."""
        return self(self.fit(X).strings_)

    def _check_parameters(self) -> None:
        check_count("SubsequenceKernel", "p", self.p)
        check_decay("SubsequenceKernel", self.decay)
        n_threads(self.n_jobs)

    def _gram(self, left: list[str], right: list[str] | None) -> np.ndarray:
        raw = self._products(left, right)
        if not np.isfinite(raw).all():
            raise ValueError(
                f"SubsequenceKernel: a product of words of p={self.p} letters with decay="
                f"{self.decay} is too large for a double; take less of either."
            )
        if not self.normalised:
            return raw
        own = np.diag(raw) if right is None else self._own(left)
        other = own if right is None else self._own_of_all(right)
        # Roots before the product: that of two large numbers might be too large.
        roots = [np.sqrt(np.where(k > 0.0, k, 1.0)) for k in (own, other)]
        return raw / np.outer(roots[0], roots[1])

    def _own(self, strings: list[str]) -> np.ndarray:
        """Return K(x, x), not normalised: one string at a time, with the others' lanes empty."""
        return np.array([self._products([string], None)[0, 0] for string in strings])

    def _own_of_all(self, strings: list[str]) -> np.ndarray:
        """Do as `_own`, and remember it: each block of rows of a large matrix needs it of all."""
        known, own = getattr(self, "_remembered", (None, None))
        wanted = (self.p, self.decay, strings)
        if own is None or known != wanted:
            own = self._own(strings)
            self._remembered = (wanted, own)
        return own

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without what is remembered."""
        return {k: v for k, v in super().__getstate__().items() if k != "_remembered"}

    def _products(self, left: list[str], right: list[str] | None) -> np.ndarray:
        """Return K of all pairs, not normalised. Lanes hold strings of similar lengths."""
        rows = _Stacked(left)
        columns = rows if right is None else _Stacked(right)
        blocks = range(0, len(columns.order), LANES)
        gram = np.zeros((len(rows.order), len(columns.order)))

        def work(piece: int, worker: int) -> None:
            first = blocks[piece]
            last = min(first + LANES, len(columns.order))
            lanes = columns.lanes(first, last)
            # The matrix is symmetric: a block meets its own strings and those after them.
            begin = first if right is None else 0
            out = np.zeros((len(rows.order) - begin, LANES))
            room = np.zeros((self.p + 1, len(lanes) + 1, LANES))
            subsequence_products(
                rows.letters, rows.places[begin:], lanes, float(self.decay), room, out
            )
            gram[np.ix_(rows.order[begin:], columns.order[first:last])] = out[:, : last - first]
            if right is None:
                inside = out[: last - first, : last - first]
                both = np.tril(inside) + np.tril(inside, -1).T
                gram[np.ix_(rows.order[first:last], rows.order[first:last])] = both
                below = out[last - first :, : last - first]
                gram[np.ix_(rows.order[first:last], rows.order[last:])] = below.T

        with Workers(n_threads(self.n_jobs)) as workers:
            workers.share(len(blocks), work)
        return gram

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


class _Stacked:
    """Strings in the order of their lengths, one after the other."""

    def __init__(self, strings: list[str]) -> None:
        lengths = np.array([len(string) for string in strings])
        self.order = np.argsort(lengths, kind="stable")
        self.letters = np.concatenate([code_points(strings[i]) for i in self.order])
        self.places = np.concatenate([[0], np.cumsum(lengths[self.order])]).astype(np.int64)

    def lanes(self, first: int, last: int) -> np.ndarray:
        """Return strings first..last-1 as columns, filled up with NONE."""
        longest = int(self.places[last] - self.places[last - 1])
        lanes = np.full((longest, LANES), NONE, dtype=np.int32)
        for lane, k in enumerate(range(first, last)):
            own = self.letters[self.places[k] : self.places[k + 1]]
            lanes[: len(own), lane] = own
        return lanes


@kernel
def subsequence_products(letters, places, lanes, decay, room, out):
    """out[a, b] = K of string a and of the string in lane b.

    String a is letters[places[a] : places[a + 1]]; room[q, j + 1, b] holds D_q of the rows of a so
    far and the first j + 1 letters of lane b. Level p itself is not needed: its sum is K.
    """
    p = room.shape[0] - 1
    run = np.zeros(LANES)
    total = np.zeros(LANES)
    for a in range(places.shape[0] - 1):
        room[0] = 1.0
        room[1:] = 0.0
        total[:] = 0.0
        for i in range(places[a], places[a + 1]):
            letter = letters[i]
            # From the highest level down: level q reads level q - 1 as it was one letter before.
            for j in range(lanes.shape[0]):
                for b in range(LANES):
                    total[b] += room[p - 1, j, b] if lanes[j, b] == letter else 0.0
            for q in range(p - 1, 0, -1):
                run[:] = 0.0
                for j in range(lanes.shape[0]):
                    for b in range(LANES):
                        met = room[q - 1, j, b] if lanes[j, b] == letter else 0.0
                        run[b] = decay * run[b] + met
                        room[q, j + 1, b] = decay * room[q, j + 1, b] + run[b]
        for b in range(LANES):
            out[a, b] = total[b]
