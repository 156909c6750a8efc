"""Rows that a kernel compares: products with the training rows in the place of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

from maxmargin.core.contract import KernelUse
from maxmargin.features.gram import GramRows, take_rows
from maxmargin.features.kernels import KERNELS, Kernel, as_kernel
from maxmargin.features.kernels.checks import check_finite_block
from maxmargin.features.strings.letters import check_strings
from maxmargin.inputs.checks import check_number
from maxmargin.inputs.stored import Arrays, Fields, check_options

__all__ = ["FittedKernel", "check_kernel", "support"]


def check_kernel(kernel: Any, cache_size: Any) -> None:
    """Refuse a kernel or a limit that no rows could make right."""
    check_number("cache_size", cache_size)
    if kernel is not None:
        as_kernel(kernel)


def support(w: np.ndarray, use: KernelUse) -> tuple[np.ndarray, np.ndarray]:
    """Return which training rows have a coefficient, and w without the cells of the others."""
    n_rows = len(use.features.diagonal)
    blocks = [slice(first, first + n_rows * width) for first, width in use.blocks]
    is_used = np.zeros(n_rows, dtype=bool)
    is_used[0] = True  # no model is without columns
    for block in blocks:
        is_used |= (w[block].reshape(n_rows, -1) != 0.0).any(axis=1)
    is_kept = np.ones(len(w), dtype=bool)
    for block in blocks:
        is_kept[block].reshape(n_rows, -1)[~is_used] = False
    return is_used, w[is_kept]


@dataclass(frozen=True)
class FittedKernel:
    """A kernel with the training rows that weights are coefficients of.

    Attributes
    ----------
    kernel : Kernel, with all its numbers fixed
    rows : the training rows that are kept; None if products are given
    support : int64 array, the places of these rows among all training rows
    n_train : int, how many training rows there were
    """

    kernel: Kernel
    rows: Any
    support: np.ndarray
    n_train: int

    @classmethod
    def learn(cls, kernel: Any, X: Any, read: Callable[[Any], Any]) -> FittedKernel:
        """Return the kernel of training rows X; ``read`` returns a matrix as rows of numbers."""
        chosen = as_kernel(kernel)
        rows = _read(chosen, X, read)
        n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        return cls(chosen.bound(rows), rows, np.arange(n), n)

    def train(self, cache_size: float) -> GramRows:
        """Return the Gram matrix of the training rows, of which so many MB may be held."""
        return GramRows(self.rows, self.kernel, 1e6 * cache_size)

    def features(self, X: Any, read: Callable[[Any], Any]) -> np.ndarray:
        """Return the products of rows X with the training rows that are kept."""
        if self.kernel.takes == "gram" and np.shape(X)[1:] != (self.n_train,):
            raise ValueError(
                f"kernel='precomputed': X must have {self.n_train} columns, the products with the "
                f"training rows; got shape {np.shape(X)}."
            )
        rows = _read(self.kernel, X, read)
        if self.kernel.takes == "gram":
            products = np.asarray(rows, dtype=np.float64)[:, self.support]
        else:
            self._check_width(rows)
            products = np.asarray(self.kernel.gram(rows, self.rows), dtype=np.float64)
        check_finite_block(products, np.arange(len(products)), f"kernel={self.kernel!r}")
        return np.ascontiguousarray(products)

    def _check_width(self, rows: Any) -> None:
        """Refuse a matrix whose rows have other features than the training rows."""
        widths = [getattr(each, "shape", (0, 0))[1:] for each in (rows, self.rows)]
        if widths[0] != widths[1] and hasattr(self.rows, "shape") and hasattr(rows, "shape"):
            raise ValueError(
                f"Rows that a kernel compares have {widths[1][0]} features, as at fit; got rows of "
                f"shape {rows.shape}."
            )

    def __len__(self) -> int:
        return len(self.support)

    def kept(self, is_used: np.ndarray) -> FittedKernel:
        """Return the kernel with some of the rows alone."""
        places = np.flatnonzero(is_used)
        rows = None if self.kernel.takes == "gram" else take_rows(self.rows, places)
        return replace(self, rows=rows, support=self.support[places])

    def mark(self) -> str:
        """Return what tells the columns of this model from those of others, for warm starts."""
        return str(joblib.hash((repr(self.kernel.parameters()), self.rows)))

    # -- files -----------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays) for a model file."""
        name = next((name for name, kind in KERNELS.items() if type(self.kernel) is kind), None)
        if name is None:
            raise TypeError(
                f"kernel={self.kernel!r} cannot be stored: a model file holds no code. Kernels by "
                f"name are: {', '.join(map(repr, KERNELS))}."
            )
        meta = {"name": name, "parameters": self.kernel.parameters(), "n_train": self.n_train}
        arrays = {"kernel.support": self.support}
        if self.kernel.takes == "strings":
            meta["strings"] = list(self.rows)
        elif self.kernel.takes == "rows":
            arrays["kernel.rows"] = self.rows
        return meta, arrays

    @classmethod
    def from_state(cls, fields: Fields, arrays: Arrays, n_columns: int) -> FittedKernel:
        """Return what `to_state` was called on; refuse what it cannot have written."""
        name = fields.text("name", tuple(KERNELS))
        options = fields.take("parameters")
        if not isinstance(options, dict):
            raise fields.refuse("parameters", "a mapping", options)
        kernel = KERNELS[name](**check_options(KERNELS[name], options, f"kernel {name!r}"))
        if isinstance(getattr(kernel, "gamma", None), str):
            raise fields.refuse("parameters", "numbers, gamma too", options)
        n_train = fields.count("n_train", least=1)
        support = arrays.take("kernel.support", (None,), np.int64, 0, n_train)
        rows: Any = None
        if kernel.takes == "strings":
            rows = fields.take("strings")
            if not isinstance(rows, list) or len(rows) != len(support):
                raise fields.refuse("strings", f"{len(support)} strings", rows)
            rows = check_strings(rows, "strings") if rows else rows
            kernel.bound(rows)
        elif kernel.takes == "rows":
            rows = _stored_rows(arrays, len(support), n_columns)
        fields.close()
        return cls(kernel, rows, support, n_train)


def _stored_rows(arrays: Arrays, n_rows: int, n_columns: int) -> Any:
    value = arrays.matrix("kernel.rows")
    numbers = value.data if sp.issparse(value) else value
    is_good = value.shape == (n_rows, n_columns) and value.dtype.kind == "f"
    if not is_good or not np.isfinite(numbers).all():
        raise ValueError(
            f"array 'kernel.rows' must be finite numbers of shape {(n_rows, n_columns)}"
        )
    return value


def _read(kernel: Kernel, X: Any, read: Callable[[Any], Any]) -> Any:
    """Return rows as a kernel takes them."""
    if kernel.takes == "strings":
        return check_strings(X, type(kernel).__name__)
    if kernel.takes == "anything" and not hasattr(X, "shape"):
        try:
            return list(X)
        except TypeError:
            raise TypeError(f"X must be a sequence of rows, got {type(X).__name__}.") from None
    rows = read(X)
    if kernel.takes == "gram" and sp.issparse(rows):
        raise TypeError("kernel='precomputed': X must be a dense array, got a sparse matrix.")
    return rows
