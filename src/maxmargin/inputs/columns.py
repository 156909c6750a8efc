"""From features as they come to the columns that weights belong to: gaps filled, columns added.

Missing values are NaN. What fills them is learnt from the training rows. A feature that had some at
fit gets, with missing="indicator", a column that is 1 where its value is missing. With
zeros="indicator" a feature that is often zero gets a column that is 1 where it is not: in rows of
counts and matches a zero means that there was nothing to measure, which a weight on the value
cannot tell from a small value. With steps a feature also gets columns that are 1 where its value
lies beyond some of its quantiles: with weights they make a staircase, as a sum of stumps does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.inputs.stored import Arrays, Fields

#: What may be done about missing values, and about zeros.
MISSING = ("indicator", "mean", "zero", "error")
ZEROS = ("indicator", "value")
#: A column for zeros or a step is added only if both its values have at least this share of rows.
LEAST_SHARE = 0.05
#: More steps than this for one feature would have less than that share of the rows between them.
MOST_STEPS = 20
_ARRAYS = ("n_missing", "fill", "gaps", "presence", "stepped", "edges")


def check_columns(missing: Any, zeros: Any = "value", steps: Any = 0) -> None:
    """Refuse unknown ways to treat missing values or zeros, and wrong numbers of steps."""
    for name, value, known in (("missing", missing, MISSING), ("zeros", zeros, ZEROS)):
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}.")
    is_whole = isinstance(steps, (int, np.integer)) and not isinstance(steps, bool)
    if not is_whole or not 0 <= steps <= MOST_STEPS:
        raise ValueError(f"steps must be a whole number from 0 to {MOST_STEPS}, got {steps!r}.")


@dataclass(frozen=True)
class Columns:
    """What was learnt about the features of the training rows.

    Attributes
    ----------
    missing : {"indicator", "mean", "zero", "error"}
        What is done about NaN.
    n_features : int
    n_missing : int64 array of shape (n_features,)
        How many training rows had no value, by feature.
    fill : float64 array of shape (n_features,)
        What replaces NaN: zero, or the mean over the training rows that have a value (zero if none
        has one).
    gaps, presence : int64 arrays
        The features that have one more column: for ``gaps`` it is 1 where the feature is missing,
        for ``presence`` where it is not zero. These columns follow the features, in this order.
    stepped : int64 array of shape (n_steps,)
    edges : float64 array of shape (n_steps,)
        The features that have steps, and where: a column, behind all others, is 1 where the value
        of feature ``stepped[s]`` is above ``edges[s]``, or for a negative edge not above it. So it
        is 0 where the value is 0, and sparse rows stay sparse.
    """

    missing: str
    n_features: int
    n_missing: np.ndarray
    fill: np.ndarray
    gaps: np.ndarray
    presence: np.ndarray
    stepped: np.ndarray
    edges: np.ndarray

    @classmethod
    def learn(cls, rows: Any, missing: str, zeros: str = "value", steps: int = 0) -> Self:
        """Look at training rows, dense or CSR, whose values are finite or NaN."""
        n_missing = _count_nan(rows)
        has_means = missing in ("indicator", "mean")
        fill = _means(rows, n_missing) if has_means else np.zeros(rows.shape[1])
        gaps = np.flatnonzero(n_missing) if missing == "indicator" else _NONE
        presence = _often_zero(rows, n_missing) if zeros == "indicator" else _NONE
        stepped, edges = _steps(rows, int(steps))
        return cls(missing, int(rows.shape[1]), n_missing, fill, gaps, presence, stepped, edges)

    @property
    def n_columns(self) -> int:
        """How many columns rows have in the end."""
        return self.n_features + len(self.gaps) + len(self.presence) + len(self.stepped)

    def features(self) -> np.ndarray:
        """Return the feature that each column belongs to."""
        own = np.arange(self.n_features)
        return np.concatenate([own, self.gaps, self.presence, self.stepped]).astype(np.int64)

    def transform(self, rows: Any) -> Any:
        """Return rows with gaps filled and columns added; the same rows where nothing is to do."""
        filled = self._filled(rows)
        if self.n_columns == self.n_features:
            return filled
        # NaN is not zero, but a missing value must not count as one that was seen.
        added = [_is_nan(rows, self.gaps), _is_present(rows, self.presence)]
        added.append(_is_beyond(rows, self.stepped, self.edges))
        if sp.issparse(rows):
            return sp.hstack([filled, *added], format="csr", dtype=rows.dtype)
        return np.hstack([filled, *added], dtype=rows.dtype)

    def _filled(self, rows: Any) -> Any:
        if sp.issparse(rows):
            gaps = np.flatnonzero(np.isnan(rows.data))
            if len(gaps) == 0:
                return rows
            filled = rows.copy()
            filled.data[gaps] = self.fill[rows.indices[gaps]]
            return filled
        # If the sum is not NaN, no value is. The sum needs no second array of the size of X.
        with np.errstate(all="ignore"):
            if np.isfinite(rows.sum(dtype=np.float64)):
                return rows
        is_nan = np.isnan(rows)
        return np.where(is_nan, self.fill.astype(rows.dtype), rows) if is_nan.any() else rows

    def names(self, features: Any = None) -> list[str]:
        """Return the names of the columns: those of the features, or x0, x1, ..., come first.

        Examples
        --------
        >>> rows = np.array([[1.0, np.nan], [3.0, 5.0]])
        >>> Columns.learn(rows, "indicator").names(["size", "age"])
        ['size', 'age', 'age is missing']
        """
        given = [f"x{j}" for j in range(self.n_features)] if features is None else list(features)
        given = [str(name) for name in given]
        return [
            *given,
            *(f"{given[j]} is missing" for j in self.gaps),
            *(f"{given[j]} is not zero" for j in self.presence),
            *(
                f"{given[j]} is {'above' if edge >= 0.0 else 'at most'} {edge:g}"
                for j, edge in zip(self.stepped, self.edges, strict=True)
            ),
        ]

    def layout(self) -> list[list[Any]]:
        """Return which columns were added, as a value that can be compared."""
        which = (self.gaps, self.presence, self.stepped, self.edges)
        return [array.tolist() for array in which]

    def __str__(self) -> str:
        total, features = int(self.n_missing.sum()), np.flatnonzero(self.n_missing)
        if total == 0:
            return "no value was missing"
        listed = ", ".join(map(str, features[:5])) + (", ..." if len(features) > 5 else "")
        done = {
            "indicator": "filled by means, with a column each that says where",
            "mean": "filled by means",
            "zero": "filled by zeros",
        }[self.missing]
        values = "1 value" if total == 1 else f"{total} values"
        return f"{values} missing in {len(features)} of {self.n_features} features ({listed}): " + (
            done
        )

    def to_state(self) -> tuple[str, dict[str, np.ndarray]]:
        """Return what a model file holds: the value of `missing`, and arrays."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return self.missing, {f"columns_{name}": array for name, array in arrays.items()}

    @classmethod
    def from_state(cls, fields: Fields, n_features: int, arrays: Arrays) -> Self:
        """Return what `to_state` was called on; refuse what it cannot have written."""
        missing = fields.text("columns", MISSING)
        n_missing = arrays.take("columns_n_missing", (n_features,), np.int64, 0)
        fill = arrays.take("columns_fill", (n_features,))
        added = []
        for name in ("gaps", "presence"):
            which = arrays.take(f"columns_{name}", (None,), np.int64, 0, n_features)
            if not (np.diff(which) > 0).all():
                raise ValueError(f"array 'columns_{name}' must list distinct features in order")
            added.append(which)
        if missing == "error" and n_missing.any():
            raise ValueError("array 'columns_n_missing' counts values that none may miss")
        if missing != "indicator" and len(added[0]):
            raise ValueError("array 'columns_gaps' lists columns that only \"indicator\" adds")
        stepped = arrays.take("columns_stepped", (None,), np.int64, 0, n_features)
        edges = arrays.take("columns_edges", (len(stepped),))
        if len(stepped) > MOST_STEPS * n_features or not _are_in_order(stepped, edges):
            raise ValueError(
                "arrays 'columns_stepped' and 'columns_edges' must list steps in order"
            )
        gaps, presence = added
        return cls(missing, n_features, n_missing, fill, gaps, presence, stepped, edges)


_NONE = np.zeros(0, dtype=np.int64)
#: Rows that are looked at together, so that no array of the size of X is made.
_CHUNK = 4096


def _chunks(rows: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK]


def _count_nan(rows: Any) -> np.ndarray:
    if sp.issparse(rows):
        return np.bincount(rows.indices[np.isnan(rows.data)], minlength=rows.shape[1])
    counts = np.zeros(rows.shape[1], dtype=np.int64)
    for chunk in _chunks(rows):
        counts += np.isnan(chunk).sum(axis=0)
    return counts


def _means(rows: Any, n_missing: np.ndarray) -> np.ndarray:
    """Return the mean of the values of each feature, zero where there is none.

    Zeros that a CSR matrix does not store are values too. Values are divided before they are added
    up, since the sum of large values may overflow.
    """
    n_values = np.maximum(rows.shape[0] - n_missing, 1).astype(np.float64)
    if sp.issparse(rows):
        shares = np.where(np.isnan(rows.data), 0.0, rows.data) / n_values[rows.indices]
        return np.bincount(rows.indices, weights=shares, minlength=rows.shape[1])
    total = np.zeros(rows.shape[1])
    for chunk in _chunks(rows):
        total += (np.where(np.isnan(chunk), 0.0, chunk) / n_values).sum(axis=0)
    return total


def _often_zero(rows: Any, n_missing: np.ndarray) -> np.ndarray:
    """Return features that are often zero and often not, where they have more than one value."""
    n_features = rows.shape[1]
    n_present = np.zeros(n_features, dtype=np.int64)
    high, low = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    if sp.issparse(rows):
        is_present = (rows.data != 0) & ~np.isnan(rows.data)
        features, values = rows.indices[is_present], rows.data[is_present]
        n_present += np.bincount(features, minlength=n_features)
        np.maximum.at(high, features, values)
        np.minimum.at(low, features, values)
    else:
        for chunk in _chunks(rows):
            is_present = (chunk != 0) & ~np.isnan(chunk)
            n_present += is_present.sum(axis=0)
            high = np.maximum(high, np.where(is_present, chunk, -np.inf).max(axis=0))
            low = np.minimum(low, np.where(is_present, chunk, np.inf).min(axis=0))
    n_zero = rows.shape[0] - n_present - n_missing
    least = max(LEAST_SHARE * rows.shape[0], 1.0)
    return np.flatnonzero((n_zero >= least) & (n_present >= least) & (high > low))


def _is_nan(rows: Any, features: np.ndarray) -> Any:
    own = rows[:, features]
    if not sp.issparse(rows):
        return np.isnan(own)
    own = own.copy()
    own.data = np.isnan(own.data).astype(rows.dtype)
    own.eliminate_zeros()
    return own


def _is_present(rows: Any, features: np.ndarray) -> Any:
    own = rows[:, features]
    if not sp.issparse(rows):
        return (own != 0) & ~np.isnan(own)
    own = own.copy()
    own.data = ((own.data != 0) & ~np.isnan(own.data)).astype(rows.dtype)
    own.eliminate_zeros()
    return own


def _steps(rows: Any, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features that have steps, and the edges: quantiles of their nonzero values.

    Five steps are at the quantiles .1, .3, .5, .7 and .9: the middles of five equal shares. An edge
    lies half way to the next value, so that rounding to float32 moves no value across it.
    """
    stepped: list[int] = []
    edges: list[float] = []
    if n_steps and rows.shape[0]:
        by_column = rows.tocsc() if sp.issparse(rows) else rows
        levels = (np.arange(n_steps) + 0.5) / n_steps
        least = max(LEAST_SHARE * rows.shape[0], 1.0)
        for j in range(rows.shape[1]):
            values = np.sort(_values(by_column, j))
            if len(values) < least:
                continue
            last = np.floor(levels * (len(values) - 1)).astype(np.int64)
            following = np.searchsorted(values, values[last], side="right")
            last, following = last[following < len(values)], following[following < len(values)]
            for edge in np.unique(0.5 * values[last] + 0.5 * values[following]):
                n_beyond = np.count_nonzero(values > edge if edge >= 0.0 else values <= edge)
                if least <= n_beyond <= rows.shape[0] - least:
                    stepped.append(j)
                    edges.append(float(edge))
    return np.array(stepped, dtype=np.int64), np.array(edges, dtype=np.float64)


def _values(rows: Any, j: int) -> np.ndarray:
    """Return the values of a feature that are neither zero nor missing."""
    if sp.issparse(rows):
        own = rows.data[rows.indptr[j] : rows.indptr[j + 1]]
    else:
        own = rows[:, j]
    return own[(own != 0) & ~np.isnan(own)].astype(np.float64)


def _are_in_order(stepped: np.ndarray, edges: np.ndarray) -> bool:
    """Tell whether features rise, and the edges of each feature."""
    rise, same = np.diff(stepped), np.diff(edges) > 0.0
    return bool(((rise > 0) | ((rise == 0) & same)).all())


def _is_beyond(rows: Any, features: np.ndarray, edges: np.ndarray) -> Any:
    """Return columns that are 1 where values are above edges, or not above negative ones."""
    own = rows[:, features]
    if not sp.issparse(rows):
        return np.where(edges >= 0.0, own > edges, own <= edges)
    own = own.copy()
    limits = edges[own.indices]
    is_beyond = np.where(limits >= 0.0, own.data > limits, own.data <= limits)
    own.data = is_beyond.astype(rows.dtype)
    own.eliminate_zeros()
    return own
