"""Labels of any type, to and from the integers 0, 1, ... that everything inside works with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets


def _named(i: int) -> str:
    return f"y[{i}]"


class Labels:
    """The classes in order, and the way to their places and back.

    Labels that are equal in Python are one label (1, 1.0 and True are).

    Parameters
    ----------
    classes : iterable of hashable labels, all distinct, kept in this order

    Examples
    --------
    >>> labels = Labels.learn(["b", "a", "b"])
    >>> labels.classes, labels.encode(["b", "a"])
    (array(['a', 'b'], dtype='<U1'), array([1, 0], dtype=int32))
    >>> labels.encode(["b", "c"])
    Traceback (most recent call last):
    ...
    ValueError: y[1] is 'c', a label never seen at fit. Known are: 'a', 'b'.
    """

    def __init__(self, classes: Iterable[Any]) -> None:
        values = _items(classes)
        self.index: dict[Any, int] = {}
        for place, label in enumerate(values):
            _check_label(label, f"classes[{place}]")
            if label in self.index:
                raise ValueError(f"classes names {label!r} twice.")
            self.index[label] = place
        self.classes = label_array(values)

    @classmethod
    def learn(
        cls,
        values: Iterable[Any],
        classes: Iterable[Any] | None = None,
        name: Callable[[int], str] = _named,
    ) -> Labels:
        """Return the labels that occur, sorted; or `classes`, in its order, where it is given."""
        if classes is not None:
            return cls(classes)
        items = _items(values)
        try:
            distinct = set(items)
        except TypeError:
            distinct = set()
        if not distinct or None in distinct or any(label != label for label in distinct):
            for i, label in enumerate(items):  # find the label that is wrong, for the error
                _check_label(label, name(i))
        return cls(_sorted(distinct))

    def encode(self, values: Iterable[Any], name: Callable[[int], str] = _named) -> np.ndarray:
        """Return the places of labels, int32. An unknown one is an error that calls it name(i)."""
        items = _items(values)
        try:
            codes = [self.index.get(label, -1) for label in items]
        except TypeError:
            for i, label in enumerate(items):
                _check_label(label, name(i))
            raise
        if -1 in codes:
            i = codes.index(-1)
            _check_label(items[i], name(i))
            raise ValueError(
                f"{name(i)} is {items[i]!r}, a label never seen at fit. "
                f"Known are: {_some(self.classes)}."
            )
        return np.array(codes, dtype=np.int32)

    def some(self, most: int = 10) -> str:
        """Return the first classes, for an error."""
        return _some(self.classes, most)

    def __len__(self) -> int:
        return len(self.classes)


def label_array(values: list[Any]) -> np.ndarray:
    """Return labels as an array: of numbers, text or bools if all are such, else of objects."""
    kinds = {np.asarray(value).dtype.kind if np.isscalar(value) else "O" for value in values}
    if kinds in ({"i"}, {"u"}, {"f"}, {"i", "f"}, {"i", "u"}, {"b"}, {"U"}):
        array = np.array(values)
        if array.dtype != object:
            return array
    objects = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # one by one: np.array would make an axis of tuples
        objects[i] = value
    return objects


def label_vector(y: Any, n_examples: int) -> np.ndarray:
    """Return y as a vector of labels, one per example."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    is_array = hasattr(y, "__array__")
    if isinstance(y, (str, bytes)) or not (is_array or hasattr(y, "__len__")):
        raise TypeError(f"y must be a sequence of labels, got {type(y).__name__}.")
    values = np.asarray(y) if is_array else label_array(list(y))
    if values.ndim == 2 and values.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected."
        warnings.warn(message, DataConversionWarning, stacklevel=5)
        values = values.ravel()
    if values.ndim != 1:
        raise ValueError(f"y must have one label per sample, got an array of shape {values.shape}.")
    if len(values) != n_examples:
        raise ValueError(f"X has {n_examples} samples but y has {len(values)} labels.")
    if values.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ValueError(f"y[{bad[0]}] is {values[bad[0]]}, which is no label.")
        check_classification_targets(values)
    return values


def class_weights(class_weight: Any, labels: Labels, codes: np.ndarray, weight: Any) -> np.ndarray:
    """Return the weight of each class.

    Parameters
    ----------
    class_weight : None, "balanced", or a mapping from label to weight (1 where not named)
        "balanced": n / (number of classes that occur * n_k), with n and n_k the sums of the
        weights of all examples and of those of class k; 1 for classes that do not occur.
    codes, weight : encoded labels and their sample weights (None: all 1)
    """
    check_class_weight(class_weight)
    factors = np.ones(len(labels))
    if class_weight is None:
        return factors
    if isinstance(class_weight, str):
        count = np.bincount(codes, weights=weight, minlength=len(labels)).astype(np.float64)
        occurs = count > 0
        factors[occurs] = count.sum() / (occurs.sum() * count[occurs])
        return factors
    for label, factor in class_weight.items():
        if label not in labels.index:
            raise ValueError(
                f"class_weight names {label!r}, which is no class. "
                f"Known are: {_some(labels.classes)}."
            )
        factors[labels.index[label]] = factor
    return factors


def check_classes(classes: Any) -> None:
    """Refuse a wrong parameter `classes`; an iterator is not read here, only by `fit`."""
    if classes is not None and not isinstance(classes, Iterator):
        Labels(classes)


def check_class_weight(class_weight: Any) -> None:
    """Refuse a `class_weight` that is wrong for any classes."""
    if class_weight is None:
        return
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight must be a dict or 'balanced', got {class_weight!r}.")
        return
    if not isinstance(class_weight, Mapping):
        raise TypeError(
            f"class_weight must be a dict, 'balanced' or None, got {type(class_weight).__name__}."
        )
    for label, factor in class_weight.items():
        if not isinstance(factor, Real) or not 0.0 <= float(factor) < np.inf:
            raise ValueError(f"class_weight[{label!r}] must be finite and >= 0, got {factor!r}.")


def _items(values: Iterable[Any]) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _check_label(label: Any, name: str) -> None:
    try:
        hash(label)
    except TypeError:
        raise TypeError(f"{name} is a {type(label).__name__}: a label must be hashable.") from None
    if label is None or label != label:
        raise ValueError(f"{name} is {label!r}, which is no label.")


def _sorted(distinct: set[Any]) -> list[Any]:
    try:
        return sorted(distinct)
    except TypeError:  # labels that have no common order
        # Numbers by value: 0 and False are one label, whichever of the two came first.
        values = [label for label in distinct if isinstance(label, (Real, np.bool_))]
        others = [label for label in distinct if not isinstance(label, (Real, np.bool_))]
        others.sort(key=lambda label: (type(label).__name__, repr(label)))
        return sorted(values) + others


def _some(classes: np.ndarray, most: int = 10) -> str:
    names = [repr(label) for label in classes.tolist()]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if names[most:] else "")
