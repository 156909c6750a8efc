"""What a structure in plain Python must offer, and how its `maximize` is asked."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Protocol

import numpy as np


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


def _has_method(structure: Any, name: str) -> bool:
    """Tell whether a structure has a method of this name."""
    return callable(getattr(structure, name, None))


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


def read_only(w: np.ndarray) -> np.ndarray:
    """Return a view of an array that cannot be written to."""
    view = w.view()
    view.flags.writeable = False
    return view
