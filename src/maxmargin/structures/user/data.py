"""A user's structure in plain Python with its examples, as the solvers see them.

An output is one cell that holds a `Box` around the user's object. The potentials of an example are
not computed: ``theta`` remembers the weights, and the user's methods are called with them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.core.contract import (
    add_difference,
    difference_potentials,
    implements,
    margin_error,
    n_weights,
    output_size,
    output_sizes,
    potentials,
    score_lengths,
    spare_size,
    truths,
    workspace,
)
from maxmargin.structures.user.boxes import Box
from maxmargin.structures.user.joint_features import Features, add, checked_features, dot
from maxmargin.structures.user.structure import Structure, count_features

#: The most bytes of joint features that are kept, so as not to ask for them again.
CACHE_BYTES = 128 * 2**20

#: Bytes of one entry besides its numbers: the place in the table, the tuples, box and arrays.
ENTRY_BYTES = 600


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

    #: Weights of the joint features in the norm; None for 1 each.
    alpha: np.ndarray | None = None

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
    by_place = values.iloc if hasattr(values, "iloc") else values
    return [by_place[i] for i in range(len(values))]


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
    stretch = 1.0 if data.alpha is None else np.sqrt(data.alpha.max(initial=0.0))
    return np.full(n, stretch * data.lengths.max(initial=0.0)), np.full(n, float(data.n_weights))


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
    score = dot(data.joint_feature(i, outputs[at]), theta.w)
    return theta.scale * (score - dot(data.joint_feature(i, truth), theta.w))


@implements(add_difference, UserData)
def _add_difference(data, i, outputs, at, scale, w):
    """Add phi of the truth; subtract that of the output; each feature times its alpha."""
    add(data.joint_feature(i, data.truths[i]), scale, w, data.alpha)
    add(data.joint_feature(i, outputs[at]), -scale, w, data.alpha)
