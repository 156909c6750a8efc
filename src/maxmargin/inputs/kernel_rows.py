"""Inputs that are rows of features, or what a kernel compares in their place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.features.kernels import as_kernel
from maxmargin.inputs.columns import Columns
from maxmargin.inputs.kernels import FittedKernel, check_kernel, support
from maxmargin.inputs.request import Request
from maxmargin.inputs.rows import RowInputs
from maxmargin.inputs.stored import Arrays, Fields


class KernelSupport:
    """The part of an estimator that keeps the rows of a kernel which have a coefficient."""

    kernel_: FittedKernel | None = None

    def _kept(self, result: Any, problem: Any) -> Any:
        """Return a result with the coefficients of the support alone, and keep its rows."""
        if self.kernel_ is None:
            return result
        is_used, w = support(result.w, problem.kernel)
        self.kernel_ = self.kernel_.kept(is_used)
        return replace(result, w=w)

    @property
    def support_(self) -> np.ndarray:
        """The training rows that have a coefficient, by their places; the columns of `coef_`."""
        if self.kernel_ is None:
            raise AttributeError("support_ is there after a fit with a kernel.")
        return self.kernel_.support

    def _kernel_layout(self) -> Any:
        """Return what tells the columns of this model from others, for warm starts."""
        return None if self.kernel_ is None else self.kernel_.mark()


class KernelInputs(KernelSupport, RowInputs):
    """The part of an estimator that reads rows of features, or compares rows by a kernel.

    It has the parameters `kernel` and `cache_size`. With a kernel, the columns that weights belong
    to are the training rows; after a fit those of them that have a coefficient, the support.
    """

    kernel: Any
    cache_size: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        # Then folds of cross-validation take columns as well as rows.
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _take(self, request: Request, which: np.ndarray, train: np.ndarray) -> Request:
        """Return the request of some examples; of products those with the rows of `train`."""
        is_gram = self.kernel is not None and as_kernel(self.kernel).takes == "gram"
        return request.take(which, train if is_gram else None)

    def _inputs(self, X: Any, reset: bool) -> Any:
        """Return X as weights see it: rows of features, or products with the training rows."""
        if self.kernel is None:
            if reset:
                self.kernel_ = None
            return self._plain_rows(X, reset)
        if not reset and self.kernel_ is not None:
            return self.kernel_.features(X, lambda rows: self._kernel_rows(rows, reset=False))
        self._forget_names(1)
        self.columns_ = Columns.learn(np.zeros((1, 1)), "error")
        self.kernel_ = FittedKernel.learn(
            self.kernel, X, lambda rows: self._kernel_rows(rows, reset=True)
        )
        return self.kernel_.train(float(self.cache_size))

    def _plain_rows(self, X: Any, reset: bool) -> Any:
        """Return X as rows of features."""
        return self._columned(self._rows(X, reset), reset)

    def _kernel_rows(self, X: Any, reset: bool) -> Any:
        if as_kernel(self.kernel).takes != "gram":
            return self._plain_rows(X, reset)
        rows = self._rows(X, reset)  # products, whose gaps nothing fills
        if reset:
            self.columns_ = Columns.learn(np.zeros((1, rows.shape[1])), "error")
        return rows

    def _n_columns(self) -> int:
        """Return how many columns the weights of features have: features, or training rows."""
        return len(self.kernel_) if self.kernel_ is not None else self.columns_.n_columns

    def _kernel_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a model file must hold of a kernel; nothing without one."""
        if self.kernel_ is None:
            return {}, {}
        meta, arrays = self.kernel_.to_state()
        return {"kernel": meta}, arrays

    def _restore_kernel(self, fields: Fields, arrays: Arrays, n_columns: int) -> None:
        """Take back what `_kernel_state` gave; rows of the kernel have n_columns columns."""
        self.kernel_ = None
        if self.kernel is not None:
            self.kernel_ = FittedKernel.from_state(fields.fields("kernel"), arrays, n_columns)

    def _check_kernel(self) -> None:
        check_kernel(self.kernel, self.cache_size)
