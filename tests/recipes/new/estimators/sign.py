"""SignSVM: the sign of each row of X."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np
from sklearn.utils.validation import validate_data

from maxmargin.costs import tabulate
from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.face import Common
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.persistence import register
from maxmargin.structures.classes.data import MulticlassData, multiclass_data
from maxmargin.training.settings import check_flags, resolve_cost
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

    def _data(self, X: Any, y: Any = None, reset: bool = False) -> MulticlassData:
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        signs = np.ones(rows.shape[0]) if y is None else np.asarray(y)
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
        data = self._data(request.X, request.y, reset)
        n = len(data.labels)
        if reset:
            self.classes_ = np.array([-1, 1])
        cost = tabulate(resolve_cost(self.cost, "positions"), data, self.classes_)
        return Task(data, cost, n, check_weights(request.sample_weight, n))

    def _encode_inputs(self, request: Request) -> MulticlassData:
        return self._data(request.X)

    def _decode(self, cells: np.ndarray, data: MulticlassData) -> np.ndarray:
        return self.classes_[cells]

    def _unpack(self, w: np.ndarray) -> None:
        blocks = w.reshape(-1, 2)
        self.coef_ = blocks[: self.n_features_in_].T
        self.intercept_ = blocks[-1] if self.bias else np.zeros(2)

    def _n_weights(self) -> int:
        return 2 * (self.n_features_in_ + self.bias)

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        self.classes_ = fields.labels("classes_", least=2).classes

    def _check_parameters(self) -> None:
        check_flags(self, "bias")
        resolve_cost(self.cost, "positions")
