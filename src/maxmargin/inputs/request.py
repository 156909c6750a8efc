"""A request: what one call of a user hands over, in one object, made once at the boundary.

`fit`, `partial_fit`, `path`, `score`, `predict` and their kin all make one, so that they take the
same things. The hooks of an estimator read all that the user passed from this one object.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from sklearn.utils import _safe_indexing


@dataclass(frozen=True)
class Request:
    """Inputs, their true outputs, and other arguments of the call; None for what was not given.

    Attributes
    ----------
    X : inputs, one element one example (or rows, with `qid`)
    y : true outputs
    sample_weight : one weight per example
    qid : the query of each row of X, where rows belong to queries
    fixed : labels of sequences that are known
    allowed : labels that may stand at each position of a sequence

    Examples
    --------
    >>> request = Request.of(("qid",), [[1.0], [2.0], [3.0]], [0, 1, 0], qid=[7, 7, 8])
    >>> request.beside
    {'qid': [7, 7, 8]}
    >>> request.take(np.array([0, 2])).y
    [0, 0]
    >>> Request.of((), [[1.0]], qid=[7])
    Traceback (most recent call last):
    TypeError: qid= is not known here. Besides X and y there is: nothing.
    """

    X: Any
    y: Any = None
    sample_weight: Any = None
    qid: Any = None
    fixed: Any = None
    allowed: Any = None

    @classmethod
    def of(
        cls, takes: Iterable[str], X: Any, y: Any = None, sample_weight: Any = None, **beside: Any
    ) -> Self:
        """Return the request of a call; refuse arguments that the estimator does not take."""
        takes = tuple(takes)
        for name in beside:
            if name not in takes:
                known = ", ".join(takes) or "nothing"
                raise TypeError(f"{name}= is not known here. Besides X and y there is: {known}.")
        return cls(X, y, sample_weight, **beside)

    @classmethod
    def held_out(cls, takes: Iterable[str], eval_set: Any) -> Self | None:
        """Return the request that `eval_set` is: (X, y), and then what the estimator takes besides.

        Examples
        --------
        >>> Request.held_out(("qid",), [("X", "y", "qid")]).beside
        {'qid': 'qid'}
        """
        takes = tuple(takes)
        if eval_set is None:
            return None
        given = _only(eval_set)
        if not isinstance(given, tuple) or not 2 <= len(given) <= 2 + len(takes):
            more = f", or ({', '.join(('X', 'y', *takes))})" if takes else ""
            raise TypeError(
                f"eval_set must be a pair (X, y){more}, got {type(eval_set).__name__}"
                + (f" of {len(given)}." if isinstance(given, tuple) else ".")
            )
        X, y, *beside = given
        return cls(X, y, **dict(zip(takes, beside, strict=False)))

    @property
    def beside(self) -> dict[str, Any]:
        """The arguments other than X, y and weights that were given, by name."""
        names = [field.name for field in fields(self)][3:]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def take(self, which: np.ndarray, columns: np.ndarray | None = None) -> Request:
        """Return the request of some of the examples, or rows; of X perhaps some columns alone.

        Examples
        --------
        >>> Request(np.arange(9).reshape(3, 3)).take(np.array([2]), np.array([0, 1])).X.tolist()
        [[6, 7]]
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        some = {name: _some(value, which) for name, value in values.items()}
        if columns is not None:
            some["X"] = _safe_indexing(np.asarray(some["X"]), columns, axis=1)
        return Request(**some)


def _some(value: Any, which: np.ndarray) -> Any:
    return None if value is None else _safe_indexing(value, which)


def _only(eval_set: Any) -> Any:
    """Return the held-out examples of `eval_set`: itself, or the only element of a list."""
    if not isinstance(eval_set, list):
        return eval_set
    if len(eval_set) == 1 and isinstance(eval_set[0], (tuple, list)):
        return tuple(eval_set[0])
    if len(eval_set) > 1 and all(isinstance(pair, tuple) for pair in eval_set):
        raise ValueError(
            f"eval_set holds {len(eval_set)} pairs, but one is scored, which patience goes by: "
            "give that one, as (X, y) or [(X, y)]."
        )
    return eval_set
