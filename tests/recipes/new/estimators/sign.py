"""SignSVM: the sign of each row of X."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np

from maxmargin.costs import ZeroOne, tabulate
from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.face import Common
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.persistence import register
from maxmargin.structures.classes.data import MulticlassData, multiclass_data
from maxmargin.training.task import Task


@register
class SignSVM(BaseSVM):
    """Two classes, -1 and 1.

    Parameters
    ----------
    bias : bool
        Whether there is a constant feature.
    """

    def __init__(self, *, bias: bool = True, **common: Unpack[Common]) -> None:
        super().__init__(**common)
        self.bias = bias

    def _data(self, X: Any, y: Any = None) -> MulticlassData:
        rows = np.asarray(X, dtype=np.float64)
        signs = np.ones(len(rows)) if y is None else np.asarray(y)
        if not np.isin(signs, (-1, 1)).all():
            raise ValueError(f"y must be -1 or 1, got {sorted(set(signs.tolist()))}.")
        return multiclass_data(rows, (signs > 0).astype(int), 2, self.bias)

    def _encode(
        self,
        request: Request,
        *,
        reset: bool,
        classes: Iterable[Any] | None = None,
        weighted: bool = True,
    ) -> Task:
        data = self._data(request.X, request.y)
        n = len(data.labels)
        cost = tabulate(ZeroOne(), data, (-1, 1))
        if reset:
            self.classes_, self.n_features_in_ = np.array([-1, 1]), data.n_columns
        return Task(data, cost, n, check_weights(request.sample_weight, n))

    def _encode_inputs(self, request: Request) -> MulticlassData:
        return self._data(request.X)

    def _decode(self, cells: np.ndarray, data: MulticlassData) -> np.ndarray:
        return self.classes_[cells]

    def _unpack(self, w: np.ndarray) -> None:
        self.coef_ = w.reshape(-1, 2)[: self.n_features_in_].T

    def _n_weights(self) -> int:
        return 2 * (self.n_features_in_ + self.bias)

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        self.classes_ = fields.labels("classes_", least=2).classes
