"""Rows that are known by a kernel: rows of the Gram matrix, computed on demand and cached.

Row i is K[i, :], its products with all training rows, and the weights of a column are coefficients
over these (see `maxmargin.core.contract.kernel`). Where the whole matrix fits into the limit of
memory it is computed once. Otherwise rows that have not been read for longest make room.
"""

from __future__ import annotations

import itertools
import warnings
import weakref
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    add_combination,
    add_outer,
    add_row,
    add_scores,
    as_matrix,
    clear_row,
    implements,
    make_ready,
    most_ready,
    row_product,
    row_sizes,
    scaled_columns,
    score_few,
    score_rows,
    share_of_rounding,
    squared_norms,
    times_gram,
)
from maxmargin.features.dense import Dense
from maxmargin.features.kernels.checks import (
    allowed,
    check_diagonal,
    check_finite_block,
    check_products,
)
from maxmargin.features.rows import frozen

#: Numbers of one block of the matrix that is computed at once.
BLOCK = 1 << 22
#: So many products K B are remembered: that of an iterate is asked for several times.
MEMORY = 3

_sources: dict[int, GramRows] = {}
_numbers = itertools.count()


class GramRows:
    """The Gram matrix of training rows under a kernel, as structures take a matrix.

    Parameters
    ----------
    rows : what the kernel takes: a matrix, or a list
    kernel : Kernel, bound to these rows (see `maxmargin.features.kernels`)
    limit : float
        Bytes that rows of the matrix may take.

    Examples
    --------
    >>> from maxmargin.features.kernels import Linear
    >>> GramRows(np.eye(3), Linear(), 1e6).shape
    (3, 3)
    >>> GramRows(np.eye(3), Linear(), 20)
    Traceback (most recent call last):
    ValueError: cache_size of 2e-05 MB is too small for one column of the Gram matrix of 3 rows, ...
    """

    def __init__(self, rows: Any, kernel: Any, limit: float) -> None:
        n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        self.rows, self.kernel = rows, kernel
        self.shape, self.dtype = (n, n), np.dtype(np.float64)
        self.diagonal = np.asarray(kernel.diagonal(rows), dtype=np.float64)
        check_diagonal(self.diagonal, f"kernel={kernel!r}: K(x, x)")
        n_slots = int(min(n, limit // (8 * n)))
        if n_slots < 1:
            raise ValueError(
                f"cache_size of {limit / 1e6:g} MB is too small for one column of the Gram matrix "
                f"of {n} rows, {8 * n} bytes."
            )
        self.is_whole = n_slots == n
        given = kernel.whole(rows)
        #: What share of a product rounding may make wrong, by the dtype of the products so far.
        self.rounding = allowed(getattr(rows if given is not None else self, "dtype", np.float64))
        if given is None and not self.is_whole:
            warnings.warn(
                f"The Gram matrix of {n} rows takes {8e-6 * n * n:.3g} MB; cache_size="
                f"{limit / 1e6:g} MB holds {n_slots} of its columns, and the others are computed "
                "again in every pass. For many rows take features of their own, such as "
                "scikit-learn's Nystroem.",
                stacklevel=2,
            )
        self._is_filled = given is not None
        self.is_whole |= self._is_filled
        self._values = np.empty((n_slots, n)) if given is None else given
        self._place = np.arange(n) if self.is_whole else np.full(n, -1, dtype=np.int64)
        self._row_in = np.full(n_slots, -1, dtype=np.int64)
        self._read = np.zeros(n_slots, dtype=np.int64)
        self._time = 0
        self._products: list[tuple[np.ndarray, np.ndarray]] = []

    def __len__(self) -> int:
        return self.shape[0]

    def toarray(self) -> np.ndarray:
        """Return the whole matrix."""
        return self._block(np.arange(len(self)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.toarray(), dtype=dtype)

    def features(self) -> Gram:
        """Return the rows as compiled code reads them."""
        number = next(_numbers)
        values, place = (frozen(array, array.dtype) for array in (self._values, self._place))
        _sources[number] = self
        weakref.finalize(place, _sources.pop, number, None)
        return Gram(Dense(values), place, frozen(self.diagonal, np.float64), number)

    def make_ready(self, rows: np.ndarray) -> None:
        """Compute the rows that are not there."""
        if self.is_whole:
            if not self._is_filled:
                self._values[...] = self._checked(self.kernel.gram(self.rows), np.arange(len(self)))
                self._is_filled = True
            return
        if len(rows) > len(self._values):
            raise ValueError(
                f"cache_size holds {len(self._values)} columns of the Gram matrix, but one example "
                f"reads {len(rows)}, which take {8 * len(rows) * len(self)} bytes."
            )
        self._time += 1
        is_there = self._place[rows] >= 0
        self._read[self._place[rows[is_there]]] = self._time
        missing = rows[~is_there]
        if not len(missing):
            return
        slots = np.argsort(self._read, kind="stable")[: len(missing)]
        given_up = self._row_in[slots]
        self._place[given_up[given_up >= 0]] = -1
        self._row_in[slots] = -1
        for first in range(0, len(missing), self._step):
            part = slice(first, first + self._step)
            self._values[slots[part]] = self._block(missing[part])
        self._place[missing], self._row_in[slots] = slots, missing
        self._read[slots] = self._time

    def times(self, B: np.ndarray) -> np.ndarray:
        """Return K B; the last few are remembered."""
        for known, product in self._products:
            if np.array_equal(known, B):
                return product
        if self.is_whole:
            self.make_ready(np.arange(len(self)))
            product = self._values @ B
        else:
            product = np.empty_like(B)
            for first in range(0, len(B), self._step):
                rows = np.arange(first, min(first + self._step, len(B)))
                product[rows] = self._block(rows) @ B
        self._products = [(B.copy(), product), *self._products[: MEMORY - 1]]
        return product

    @property
    def most(self) -> int:
        """How many rows can be there at the same time; 0 for all."""
        return 0 if self.is_whole else len(self._values)

    @property
    def _step(self) -> int:
        return max(BLOCK // len(self), 1)

    def _block(self, rows: np.ndarray) -> np.ndarray:
        """Return some rows of the matrix, from the cache or computed."""
        if self.is_whole:
            self.make_ready(rows)
            return self._values[rows]
        block = np.empty((len(rows), len(self)))
        place = self._place[rows]
        block[place >= 0] = self._values[place[place >= 0]]
        missing = rows[place < 0]
        if len(missing):
            found = self.kernel.gram(take_rows(self.rows, missing), self.rows)
            block[place < 0] = self._checked(found, missing)
        return block

    def _checked(self, block: Any, rows: np.ndarray) -> np.ndarray:
        block = np.asarray(block)  # its dtype tells how much rounding there may be
        if block.shape != (len(rows), len(self)):
            raise ValueError(
                f"kernel={self.kernel!r} must return {len(rows)} x {len(self)} numbers, got shape "
                f"{block.shape}."
            )
        check_finite_block(block, rows, f"kernel={self.kernel!r}")
        check_products(block, rows, self.diagonal, f"kernel={self.kernel!r}")
        self.rounding = max(self.rounding, allowed(block.dtype))
        return np.asarray(block, dtype=np.float64)

    def identity(self) -> Any:
        """Return what tells this matrix from others, for hashes of data."""
        return type(self.kernel).__name__, repr(self.kernel.parameters()), self.rows

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the products that are remembered."""
        return {**self.__dict__, "_products": []}


class Gram(NamedTuple):
    """Rows of a Gram matrix. Row i is rows.values[place[i]] once it is ready."""

    rows: Dense
    place: Any  # (n,) int64; -1 where a row is not ready
    diagonal: Any  # (n,) float64
    source: int  # number of the `GramRows` that computes rows

    @classmethod
    def takes(cls, X: Any) -> bool:
        """Tell whether X is such a matrix."""
        return isinstance(X, GramRows)

    @classmethod
    def of(cls, X: GramRows) -> Gram:
        """Return its rows, which are computed when they are needed."""
        return X.features()

    def identity(self) -> Any:
        """Return what tells these features from others, for hashes of data."""
        return _sources[self.source].identity()

    def __reduce__(self) -> Any:
        return Gram.of, (_sources[self.source],)


def take_rows(rows: Any, places: np.ndarray) -> Any:
    """Return some rows of a matrix or a list."""
    return rows[places] if hasattr(rows, "shape") else [rows[i] for i in places]


@implements(make_ready, Gram)
def _make_ready(features, rows):
    _sources[features.source].make_ready(np.asarray(rows))


@implements(most_ready, Gram)
def _most_ready(features):
    return _sources[features.source].most


@implements(share_of_rounding, Gram)
def _share_of_rounding(features):
    return _sources[features.source].rounding


@implements(times_gram, Gram)
def _times_gram(features, B):
    return _sources[features.source].times(B)


@implements(add_scores, Gram)
def _add_scores_gram(features, first, n_rows, scale, W, out):
    for t in range(n_rows):
        add_scores(features.rows, features.place[first + t], 1, scale, W, out[t : t + 1])


@implements(add_row, Gram)
def _add_row_gram(features, row, label, scale, W):
    W[row, label] += scale


@implements(clear_row, Gram)
def _clear_row_gram(features, row, label, W):
    W[row, label] = 0.0


@implements(add_outer, Gram)
def _add_outer_gram(features, row, mass, scale, W):
    for k in range(mass.shape[0]):
        W[row, k] += scale * mass[k]


@implements(score_few, Gram)
def _score_few_gram(features, row, labels, place, n_few, W, out):
    score_few(features.rows, features.place[row], labels, place, n_few, W, out)


@implements(score_rows, Gram)
def _score_rows_gram(features, first, n_rows, scale, w, out):
    for t in range(n_rows):
        score_rows(features.rows, features.place[first + t], 1, scale, w, out[t : t + 1])


@implements(add_combination, Gram)
def _add_combination_gram(features, first, weights, w):
    for t in range(weights.shape[0]):
        w[first + t] += weights[t]


@implements(row_product, Gram)
def _row_product_gram(features, row, other):
    # The diagonal is known of every row, whether it is ready or not.
    if row == other:
        return features.diagonal[row]
    return features.rows.values[features.place[row], other]


@implements(as_matrix, Gram)
def _as_matrix_gram(features, n_columns):
    return _sources[features.source].toarray()


@implements(squared_norms, Gram)
def _squared_norms_gram(features):
    return features.diagonal


@implements(row_sizes, Gram)
def _row_sizes_gram(features):
    return np.full(len(features.diagonal), float(len(features.diagonal)))


@implements(scaled_columns, Gram)
def _scaled_columns_gram(features, factors):
    raise ValueError(
        "A kernel has no columns that a regularizer could weigh: take regularizer='euclidean'."
    )
