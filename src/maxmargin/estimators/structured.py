"""`StructuredSVM`: an estimator for a structure of one's own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar, Unpack

import numpy as np

from maxmargin.core.contract import n_weights, output_sizes, true_parts
from maxmargin.costs import tabulate
from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.face import Common
from maxmargin.features.gram import GramRows
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.kernel_rows import KernelSupport
from maxmargin.inputs.kernels import FittedKernel, check_kernel
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.persistence import register
from maxmargin.solvers import Result
from maxmargin.structures import OwnCost, UserData
from maxmargin.structures.user.compiled import check_cost_fits, check_data, check_labels
from maxmargin.structures.user.scored import (
    ScoredData,
    check_scored,
    checked_rows,
    is_scored,
    rows_of,
)
from maxmargin.training.settings import resolve_cost
from maxmargin.training.storage import named_object
from maxmargin.training.task import Task

__all__ = ["StructuredSVM", "register_structure"]

S = TypeVar("S", bound=type)

#: Structures that a model file may name. Filled by `register_structure`.
STORED: dict[str, Any] = {}


def register_structure(cls: S) -> S:
    """Let model files name this structure; use it as a decorator.

    A file holds the name and what the structure's method ``parameters()`` returns, never code: the
    process that loads it must have imported the class before.

    Examples
    --------
    >>> from maxmargin.estimators.structured import STORED, register_structure
    >>> @register_structure
    ... class Colours:
    ...     def __init__(self, n_colours): self.n_colours = n_colours
    ...     def parameters(self): return {"n_colours": self.n_colours}
    >>> STORED.pop("Colours") is Colours
    True
    """
    if not callable(getattr(cls, "parameters", None)):
        raise TypeError(f"{cls.__name__} cannot be registered: it has no method parameters.")
    STORED[cls.__name__] = cls
    return cls


@register
class StructuredSVM(KernelSupport, BaseSVM):
    """Max-margin learning with a structure of your own.

    Minimises lam/2 |w|^2 + 1/n sum_i s_i max_y psi(h_i(y), g_i(y)) with lam = 1/(C n), where
    h_i(y) = w.phi(x_i, y) - w.phi(x_i, y_i) and g_i(y) = cost(y, y_i).

    Parameters
    ----------
    structure : object
        In plain Python: ``n_features``, ``joint_feature(x, y)``, ``maximize(x, w, y_true,
        score_scale, cost_scale)`` and ``cost(y, y_true)``, see `maxmargin.structures.Structure`,
        which also names what is optional (``forbid=`` makes surrogates other than "margin" exact;
        ``outputs(x)`` is for `maxmargin.testing.check_structure`). Or
        compiled: ``data(X, Y)`` and ``decode(data, i, cells)``, see
        `maxmargin.structures.CompiledStructure`. With
        ``is_exact = False`` it says that its `maximize` may miss the best output: `result_` then
        has no gap, its `primal` is a lower estimate, and "converged" is by that estimate.
        A structure whose scores are those of rows of its inputs has a method ``rows``, see
        `maxmargin.structures.ScoredStructure`, and takes kernels.
    kernel : None, str, kernel or callable
        For a structure with ``rows``: None learns weights of their features; "linear", "rbf",
        "poly", "precomputed", "subsequence", an object of `maxmargin.features.kernels` or a
        callable (X, Y) -> products compares rows in their place, and weights are coefficients of
        training rows.
    cache_size : float
        MB that columns of the Gram matrix of the training rows may take.
    cost : None, str or object
        None is the structure's own cost, the only choice for a structure in plain Python.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights.
    support_ : ndarray
        With a kernel: the training rows that have coefficients.
    result_ : Result
        Weights, primal, dual, gap, status, history.

    Examples
    --------
    A sign and a size, chosen together:

    >>> import numpy as np
    >>> from maxmargin import StructuredSVM
    >>> class Interval:
    ...     n_features = 2
    ...     def joint_feature(self, x, y):
    ...         return [x * y, -0.5 * y * y]
    ...     def cost(self, y, y_true):
    ...         return abs(y - y_true)
    ...     def maximize(self, x, w, y_true, score_scale, cost_scale):
    ...         def value(y):
    ...             price = 0 if y_true is None else self.cost(y, y_true)
    ...             return score_scale * (w @ self.joint_feature(x, y)) + cost_scale * price
    ...         return max(range(-2, 3), key=value)
    >>> model = StructuredSVM(Interval(), C=10, random_state=0).fit([-2, -1, 1, 2], [-2, -1, 1, 2])
    >>> model.predict([-1.8, 0.1, 1.1])
    [-2, 0, 1]
    >>> model.result_.status
    'converged'
    """

    coef_: np.ndarray
    n_weights_: int
    #: `partial_fit` need not be told of classes: the structure knows its outputs.
    classes = ()

    defaults: ClassVar[Common] = {"cost": None}

    def __init__(
        self,
        structure: Any = None,
        *,
        kernel: Any = None,
        cache_size: float = 1000.0,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(**common)
        self.structure = structure
        self.kernel = kernel
        self.cache_size = cache_size

    # -- hooks -----------------------------------------------------------------------------------

    def _encode(
        self,
        request: Request,
        *,
        reset: bool,
        classes: Iterable[Any] | None = None,
        weighted: bool = True,
    ) -> Task:
        self._check_parameters()
        X, y = request.X, request.y
        n = _length("X", X)
        if n == 0:
            raise ValueError("X is empty; there must be at least one sample.")
        if _length("y", y) != n:
            raise ValueError(f"X has {n} samples but y has {len(y)}.")
        weight = check_weights(request.sample_weight, n)
        data = self._data(X, y, reset)
        if reset:
            self.n_weights_ = int(n_weights(data))
        self._check_size(data)
        return Task(data, self._cost_of(data), n, weight)

    def _encode_inputs(self, request: Request) -> Any:
        _length("X", request.X)
        data = self._data(request.X, None, reset=False)
        self._check_size(data)
        return data

    def _check_size(self, data: Any) -> None:
        size = int(n_weights(data))
        if size != self.n_weights_:
            raise ValueError(
                f"The structure now has {size} features, but the model was fitted with "
                f"{self.n_weights_}."
            )

    def _decode(self, cells: np.ndarray, data: Any) -> list[Any]:
        # One output per input, in a list: they may be of any type.
        if isinstance(data, UserData):
            return [box.value for box in cells]
        ends = np.cumsum(output_sizes(data))[:-1]
        pieces = np.split(cells, ends) if len(cells) else []
        return [self.structure.decode(data, i, piece) for i, piece in enumerate(pieces)]

    def _unpack(self, w: np.ndarray) -> None:
        self.coef_ = w
        self.n_weights_ = len(w)

    def _adopt(self, result: Result) -> Self:
        if getattr(self.structure, "is_exact", True):
            return super()._adopt(result)
        # If the oracle misses the best output, the primal is too low; the dual stays right.
        history = [replace(record, gap=math.nan) for record in result.history]
        return super()._adopt(replace(result, gap=math.nan, history=history))

    def _prediction_cost(self, data: Any) -> Any:
        return self._cost_of(data)

    def _n_weighed(self) -> int:
        return self.n_weights_

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._fitted_state()
        if self.kernel_ is None:
            return meta, arrays
        own, rows = self.kernel_.to_state()
        n_columns = self.kernel_.rows.shape[1] if "kernel.rows" in rows else 0
        return {**meta, "kernel": own, "n_row_columns": n_columns}, {**arrays, **rows}

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        # The structure reads X itself; what a kernel compares is kept here.
        self.kernel_ = None
        if self.kernel is not None:
            n_columns = fields.count("n_row_columns")
            self.kernel_ = FittedKernel.from_state(fields.fields("kernel"), arrays, n_columns)

    def _n_weights(self) -> int | None:
        if is_scored(self.structure):
            return None if self.kernel_ is None else len(self.kernel_) * self.structure.n_columns
        size = None if self._is_compiled() else getattr(self.structure, "n_features", None)
        return None if size is None else int(size)

    def _layout(self) -> Any:
        return [type(self.structure).__qualname__, self.n_weights_, self._kernel_layout()]

    def _param_to_state(self, name: str, value: Any) -> Any:
        if name != "structure" or value is None:
            return super()._param_to_state(name, value)
        kind = type(value).__name__
        if STORED.get(kind) is not type(value):
            raise TypeError(
                f"structure={value!r} cannot be stored, since a file holds no code: register its "
                "class with maxmargin.estimators.register_structure, here and where it is loaded."
            )
        return {"name": kind, "parameters": value.parameters()}

    def _param_from_state(self, name: str, value: Any) -> Any:
        if name != "structure" or value is None:
            return super()._param_from_state(name, value)
        key, options = named_object(name, value)
        if key not in STORED:
            raise ValueError(
                f"The model's structure {key!r} is not known here: import the module "
                "that registers it (maxmargin.estimators.register_structure) before loading."
            )
        return STORED[key](**options)

    # -- the structure ---------------------------------------------------------------------------

    def _structure(self) -> Any:
        if self.structure is None or isinstance(self.structure, type):
            raise TypeError(
                f"structure must be an object with the methods of a structure, got "
                f"{self.structure!r}."
            )
        return self.structure

    def _is_compiled(self) -> bool:
        return callable(getattr(self.structure, "data", None))

    def _check_parameters(self) -> None:
        """Refuse what does not go together, before any work."""
        structure = self._structure()
        check_kernel(self.kernel, self.cache_size)
        if is_scored(structure):
            check_scored(structure)
        if self.kernel is not None and not callable(getattr(structure, "rows", None)):
            raise ValueError(
                f"kernel={self.kernel!r} compares rows, but {type(structure).__name__} has no "
                "method rows that says those of its inputs: give it one and parts, see "
                "maxmargin.structures.ScoredStructure, or take kernel=None."
            )
        if self.cost is not None and not self._is_compiled():
            raise ValueError(
                "cost must be None for a structure in plain Python, which has its own method cost; "
                f"got {self.cost!r}."
            )

    def _data(self, X: Any, y: Any, reset: bool) -> Any:
        if reset:
            self.kernel_ = None
        if is_scored(self.structure):
            rows, row_at = rows_of(self.structure, X)
            return ScoredData(self.structure, X, y, self._rows(rows, reset), row_at)
        if not self._is_compiled():
            return UserData(self.structure, X, y)
        if callable(getattr(self.structure, "rows", None)):
            data = self.structure.data(X, y, self._rows(self.structure.rows(X), reset))
        else:
            data = self.structure.data(X, y)
        check_data(data, len(X))
        return data

    def _rows(self, rows: Any, reset: bool) -> np.ndarray | GramRows:
        """Return rows of features as a matrix, or their products with the training rows."""
        if self.kernel is None:
            return checked_rows(rows)
        if not reset and self.kernel_ is not None:
            return self.kernel_.features(rows, checked_rows)
        self.kernel_ = FittedKernel.learn(self.kernel, rows, checked_rows)
        return self.kernel_.train(float(self.cache_size))

    def _cost_of(self, data: Any) -> Any:
        """Return the cost as the oracle reads it, for these examples."""
        if isinstance(data, UserData):
            return OwnCost()
        if self.cost is not None:
            if getattr(self.structure, "classes", None) is None:
                raise ValueError(
                    f"cost={self.cost!r} needs to know the labels, but the structure has no "
                    "attribute classes; give it one, or a method cost(data) and cost=None."
                )
            check_labels(data, len(self.structure.classes))
            cost = resolve_cost(self.cost, true_parts(data).kind)
            tables = tabulate(cost, data, np.asarray(self.structure.classes))
        elif callable(getattr(self.structure, "cost", None)):
            tables = self.structure.cost(data)
        else:
            raise ValueError("cost is None, but the structure has no method cost(data) of its own.")
        check_cost_fits(data, tables)
        return tables


def _length(name: str, value: Any) -> int:
    """Return the number of samples of a sequence."""
    if not hasattr(value, "__len__") or not hasattr(value, "__getitem__"):
        raise TypeError(f"{name} must be a sequence of samples, got {type(value).__name__}.")
    try:
        return len(value)
    except TypeError:  # a sparse matrix, an array of no dimension
        raise TypeError(
            f"{name} must be a sequence of samples, got {type(value).__name__}."
        ) from None
