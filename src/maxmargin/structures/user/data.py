"""A user's structure in plain Python, as the solvers see it.

An output is one cell that holds a `Box` around the user's object. The potentials of an example are
not computed: ``theta`` remembers the weights, and the user's methods are called with them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from numbers import Integral
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from maxmargin.core.contract import (
    add_difference,
    difference_potentials,
    implements,
    margin_error,
    maximize,
    n_weights,
    output_cost,
    output_size,
    output_sizes,
    potentials,
    score_lengths,
    spare_size,
    truths,
    workspace,
)

#: The most bytes of joint features that are kept, so as not to ask for them again.
CACHE_BYTES = 128 * 2**20

#: Bytes of one entry besides its numbers: the place in the table, the tuples, box and arrays.
ENTRY_BYTES = 600

#: Joint features: a dense vector, or indices and values.
Features: TypeAlias = "np.ndarray | tuple[np.ndarray, np.ndarray]"


class Structure(Protocol):
    """What a structure in plain Python offers.

    Inputs x and outputs y are any objects. Outputs are compared by value (arrays, lists, dicts and
    plain objects too) and must not be changed once they were returned. Methods are called with
    positional arguments and must be functions of these alone.

    Optional: ``outputs(x)``, the list of all outputs, which `maxmargin.testing.check_structure`
    asks for; ``is_exact = False``, where `maximize` may miss the best output, so that a fit has no
    certificate; and the oracles of oracles.py, for searches that need them: the methods
    ``k_best``, ``constrained`` and ``profile``, or the arguments ``forbid`` and ``require`` of
    `maximize` with the method ``parts``.
    """

    #: Number of weights: an attribute or a method without arguments.
    n_features: Any

    def joint_feature(self, x: Any, y: Any) -> Any:
        """Return phi(x, y): a vector of n_features numbers, or a tuple (indices, values)."""
        ...

    def maximize(
        self, x: Any, w: np.ndarray, y_true: Any, score_scale: float, cost_scale: float
    ) -> Any:
        """Return a y of largest score_scale * w.phi(x, y) + cost_scale * cost(y, y_true).

        Scales are >= 0. At prediction y_true is None and cost_scale is 0. w is read-only.
        """
        ...

    def cost(self, y: Any, y_true: Any) -> float:
        """Return how bad y is: finite, >= 0, and 0 where y is y_true."""
        ...


class OwnCost:
    """Stands for the cost that a user's structure brings along."""


class Box:
    """One output of any type. Two boxes are equal if their outputs are (see `same`)."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and same(self.value, other.value)

    def __repr__(self) -> str:
        return f"Box({self.value!r})"


def same(a: Any, b: Any) -> bool:
    """Tell whether two outputs are equal: True or False also for arrays, and for what holds arrays.

    Examples
    --------
    >>> import numpy as np
    >>> same({"tags": np.array([1, 2])}, {"tags": np.array([1, 2])}), same([1, 2], [1, 3])
    (True, False)
    """
    if a is b:
        return True
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _same_arrays(a, b)
    if sp.issparse(a) or sp.issparse(b):
        return type(a) is type(b) and a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, dict):
        return type(a) is type(b) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if is_dataclass(a) and not isinstance(a, type):
        # The == of a dataclass raises an error if a field is an array.
        return type(a) is type(b) and all(
            same(getattr(a, field.name), getattr(b, field.name))
            for field in fields(a)
            if field.compare
        )
    kind: Any = type(a)
    if kind.__eq__ is object.__eq__ and hasattr(a, "__dict__"):
        return type(a) is type(b) and same(vars(a), vars(b))
    return bool(a == b)


def _same_arrays(a: Any, b: Any) -> bool:
    """Compare arrays, or an array with a list: Y may have lists where `maximize` returns arrays."""
    if not isinstance(a, np.ndarray | list | tuple) or not isinstance(b, np.ndarray | list | tuple):
        return False
    flat = [isinstance(x, np.ndarray) and x.ndim == 0 for x in (a, b)]
    if any(flat):
        return all(flat) and bool(a == b)
    if len(a) != len(b):
        return False
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and object not in (a.dtype, b.dtype):
        return a.shape == b.shape and bool(np.all(a == b))
    return all(map(same, a, b))


class UserData:
    """A user's structure with the examples to learn from.

    Asks for the joint features and the cost of every true output at once, so that a mistake in the
    structure is found before training.

    Parameters
    ----------
    structure : object with the methods of `Structure`
    X : sequence of inputs
    Y : sequence of true outputs, or None where there are none, to predict
    """

    def __init__(self, structure: Structure, X: Sequence[Any], Y: Sequence[Any] | None) -> None:
        self.n_weights = count_features(structure)
        if Y is not None and len(X) != len(Y):
            raise ValueError(f"X has {len(X)} samples but Y has {len(Y)}.")
        self.structure = structure
        self.X = _samples(X)
        self.truths = np.array([Box(None) for _ in range(len(X))], dtype=object)
        self._cache: OrderedDict[int, tuple[Box, Features, int]] = OrderedDict()
        self._cached_bytes = 0
        self.lengths = np.zeros(len(X))
        for i, y in enumerate(() if Y is None else _samples(Y)):
            if y is None:
                raise ValueError(f"Y[{i}] is None; every sample needs a true output.")
            box = self.truths[i] = Box(y)
            features = self.joint_feature(i, box)
            values = features[1] if isinstance(features, tuple) else features
            with np.errstate(over="ignore"):
                self.lengths[i] = np.linalg.norm(values)
            price = self.cost(i, box)
            if price != 0.0:
                raise ValueError(
                    f"cost(y_true, y_true) must be 0, but it returned {price:g} for sample {i}."
                )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the cache, so that equal data have equal hashes (see training/warm.py)."""
        return {**vars(self), "_cache": OrderedDict(), "_cached_bytes": 0}

    def joint_feature(self, i: int, box: Box) -> Features:
        """Return phi(x_i, y), from the cache if it is there."""
        known = self._cache.get(id(box))
        if known is not None:
            self._cache.move_to_end(id(box))
            return known[1]
        returned = self.structure.joint_feature(self.X[i], box.value)
        features = checked_features(returned, self.n_weights, i)
        parts = features if isinstance(features, tuple) else (features,)
        size = ENTRY_BYTES + sum(part.nbytes for part in parts)
        # Keep the box: as long as it lives, no other object has its id.
        self._cache[id(box)] = (box, features, size)
        self._cached_bytes += size
        while self._cached_bytes > CACHE_BYTES:
            _, (_, _, size) = self._cache.popitem(last=False)
            self._cached_bytes -= size
        return features

    def cost(self, i: int, box: Box) -> float:
        """Return cost(y, y_i)."""
        price = np.asarray(self.structure.cost(box.value, self.truths[i].value))
        if price.ndim != 0 or price.dtype.kind not in "biuf":
            raise TypeError(
                f"cost must return a number, but for sample {i} it returned {price.tolist()!r}."
            )
        number = float(price)
        if not (np.isfinite(number) and number >= 0.0):
            raise ValueError(
                f"cost must return a finite number >= 0, but for sample {i} it returned {number!r}."
            )
        return number


def _samples(values: Any) -> list[Any]:
    """Return samples by their place; of pandas objects too, whose [] takes labels."""
    rows = values.iloc if hasattr(values, "iloc") else values
    return [rows[i] for i in range(len(values))]


def count_features(structure: Any) -> int:
    """Return the number of weights of a structure; refuse one that lacks a method."""
    missing = [
        name for name in ("joint_feature", "maximize", "cost") if not _has_method(structure, name)
    ]
    if not hasattr(structure, "n_features"):
        missing.insert(0, "n_features")
    if missing:
        raise TypeError(
            f"structure must have n_features, joint_feature, maximize and cost, but "
            f"{type(structure).__name__} has no {' and no '.join(missing)}."
        )
    count = structure.n_features() if callable(structure.n_features) else structure.n_features
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise ValueError(f"n_features of the structure must be an integer >= 1, got {count!r}.")
    return int(count)


def predict_one(structure: Structure, x: Any, w: np.ndarray, i: int) -> Any:
    """Return an output of largest score for x, which is sample i."""
    return ask_maximize(structure, i, x, w, None, 1.0, 0.0)


def ask_maximize(
    structure: Structure,
    i: int,
    x: Any,
    w: np.ndarray,
    y_true: Any,
    score_scale: float,
    cost_scale: float,
    **limits: frozenset[Any],
) -> Any:
    """Return what `maximize` of a structure returns for x, which is sample i.

    ``limits`` are the arguments forbid and require. None is returned only if they leave no output.
    """
    y = structure.maximize(x, read_only(w), y_true, float(score_scale), float(cost_scale), **limits)
    if y is None and not limits:
        raise ValueError(f"maximize must return an output, but for sample {i} it returned None.")
    return y


def checked_features(returned: Any, n_features: int, i: int) -> Features:
    """Return joint features as float64, with distinct sorted indices if they are sparse."""
    where = f"joint_feature of sample {i}"
    if isinstance(returned, tuple):
        return _checked_sparse(returned, n_features, where)
    values = _numbers(returned, f"{where} must be a vector or a tuple (indices, values)")
    if values.shape != (n_features,):
        raise ValueError(
            f"{where} must have shape ({n_features},), as n_features says, got {values.shape}."
        )
    # Keep indices and values instead, if these take less memory.
    indices = np.flatnonzero(values)
    if 2 * len(indices) < n_features:
        return indices, values[indices]
    return values.copy()


def _checked_sparse(returned: tuple[Any, ...], n_features: int, where: str) -> Features:
    """Return sparse features with distinct, sorted indices; values of equal indices are added."""
    if len(returned) != 2:
        raise ValueError(
            f"{where} is a tuple of {len(returned)}; expected (indices, values), or a dense vector "
            "as an array or list."
        )
    indices = np.asarray(returned[0])
    values = _numbers(returned[1], f"the values of {where} must be numbers")
    if indices.size == 0:
        indices = indices.astype(np.int64)
    if indices.ndim != 1 or values.shape != indices.shape:
        raise ValueError(
            f"{where}: indices and values must be vectors of one length, got shapes "
            f"{indices.shape} and {values.shape}."
        )
    if indices.dtype.kind not in "iu":
        raise TypeError(f"{where}: indices must be integers, got {indices.dtype}.")
    outside = indices[(indices < 0) | (indices >= n_features)]
    if len(outside):
        raise ValueError(f"{where}: index {outside[0]} is not in 0..{n_features - 1}.")
    distinct, place = np.unique(indices.astype(np.int64), return_inverse=True)
    return distinct, np.bincount(place, weights=values, minlength=len(distinct))


def _numbers(returned: Any, complaint: str) -> np.ndarray:
    """Return finite numbers as float64, or raise an error that begins with ``complaint``."""
    try:
        if returned is None:  # numpy would convert it to NaN
            raise TypeError
        values = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{complaint}, got {type(returned).__name__}.") from None
    if not np.isfinite(values).all():
        raise ValueError(f"{complaint} without NaN or infinity.")
    return values


def _has_method(structure: Any, name: str) -> bool:
    """Tell whether a structure has a method of this name."""
    return callable(getattr(structure, name, None))


def read_only(w: np.ndarray) -> np.ndarray:
    """Return a view of an array that cannot be written to."""
    view = w.view()
    view.flags.writeable = False
    return view


def _dot(features: Features, w: np.ndarray) -> float:
    """Return features . w."""
    if isinstance(features, tuple):
        return float(features[1] @ w[features[0]])
    return float(features @ w)


def _add(features: Features, scale: float, w: np.ndarray) -> None:
    """w += scale * features."""
    if isinstance(features, tuple):
        w[features[0]] += scale * features[1]
    else:
        w += scale * features


class _Weights:
    """The potentials of an example: the weights themselves, times a scale."""

    __slots__ = ("scale", "touched", "w")

    def __init__(self) -> None:
        self.w = np.zeros(0)
        self.scale = 1.0
        #: Where `difference_potentials` has written: arrays, and the places in them.
        self.touched: list[tuple[np.ndarray, Any]] = []

    def clear(self) -> None:
        """Write 0 wherever the last `difference_potentials` has written."""
        for array, places in self.touched:
            array[places] = 0.0
        self.touched.clear()


@implements(n_weights, UserData)
def _n_weights(data):
    """Return n_features of the structure."""
    return data.n_weights


@implements(output_sizes, UserData)
def _output_sizes(data):
    """Return 1 for every example: a `Box`."""
    return np.ones(len(data.truths), dtype=np.int64)


@implements(truths, UserData)
def _truths(data):
    """Return the true outputs, each in a `Box`."""
    return data.truths


@implements(workspace, UserData)
def _workspace(data):
    """Return theta, which remembers weights; there is no room."""
    return _Weights(), ()


@implements(score_lengths, UserData)
def _score_lengths(data):
    """Bound phi by the longest joint feature of a true output.

    Those of other outputs are not known, and are taken to be no longer.
    """
    n = len(data.truths)
    return np.full(n, data.lengths.max(initial=0.0)), np.full(n, float(data.n_weights))


@implements(output_size, UserData)
def _output_size(data, i):
    """Return 1: a `Box`."""
    return 1


@implements(potentials, UserData)
def _potentials(data, i, w, scale, theta):
    """Remember the weights, which the user's methods take."""
    theta.w = w
    theta.scale = scale


@implements(spare_size, UserData)
def _spare_size(data):
    """Return the number of weights: the difference is written out as weights."""
    return data.n_weights


@implements(difference_potentials, UserData)
def _difference_potentials(data, i, outputs, at, spare, theta):
    """Write Psi_i(y) into ``spare`` and remember that as the weights."""
    # theta.w is ``spare`` itself and is read after this call, so only the next call can clear it.
    theta.clear()
    for box in (data.truths[i], outputs[at]):
        features = data.joint_feature(i, box)
        theta.touched.append((spare, features[0] if isinstance(features, tuple) else slice(None)))
    add_difference(data, i, outputs, at, 1.0, spare)
    potentials(data, i, spare, 1.0, theta)


@implements(margin_error, UserData)
def _margin_error(data, i, theta, outputs, at):
    """Return the score of the output less that of the truth."""
    truth = data.truths[i]
    if outputs[at] is truth:
        return 0.0
    score = _dot(data.joint_feature(i, outputs[at]), theta.w)
    return theta.scale * (score - _dot(data.joint_feature(i, truth), theta.w))


@implements(add_difference, UserData)
def _add_difference(data, i, outputs, at, scale, w):
    """Add phi of the truth; subtract that of the output."""
    _add(data.joint_feature(i, data.truths[i]), scale, w)
    _add(data.joint_feature(i, outputs[at]), -scale, w)


@implements(maximize, UserData, OwnCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Ask `maximize` of the structure."""
    x, truth, scale = data.X[i], data.truths[i].value, score_scale * theta.scale
    outputs[at] = Box(ask_maximize(data.structure, i, x, theta.w, truth, scale, cost_scale))


@implements(output_cost, UserData, OwnCost)
def _output_cost(data, cost, i, outputs, at):
    """Ask `cost` of the structure."""
    return data.cost(i, outputs[at])
