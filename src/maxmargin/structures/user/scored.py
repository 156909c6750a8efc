"""A structure in plain Python whose score is a sum over rows of its input, which a kernel may know.

Every row of an input has a score for each of ``n_columns`` columns, and the score of an output is
the sum of those at its parts, pairs (row, column). So phi(x, y) puts row t into column k for each
part (t, k), and weights are a matrix with a row per feature, or per training row of a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from maxmargin.core.contract import (
    add_difference,
    add_row,
    add_scores,
    belongs,
    capabilities,
    clear_difference,
    clear_row,
    difference_potentials,
    implements,
    kernel_use,
    margin_error,
    potentials,
    score_lengths,
    spare_size,
    weigh_columns,
    workspace,
)
from maxmargin.features.rows import as_features, kernel_rows, row_lengths
from maxmargin.structures.user.boxes import Box
from maxmargin.structures.user.data import UserData, _samples


class ScoredStructure(Protocol):
    """What a structure in plain Python offers if its scores are those of rows.

    `StructuredSVM` takes it with and without a kernel. Inputs x and outputs y are any objects, as
    in `maxmargin.structures.Structure`; methods are called with positional arguments.
    """

    #: Number of scores of a row.
    n_columns: int

    def rows(self, x: Any) -> Any:
        """Return the rows of x: a matrix, or a list of whatever the kernel compares."""
        ...

    def parts(self, y: Any) -> Any:
        """Return the pairs (row, column) that y is made of, of which none is named twice."""
        ...

    def maximize(
        self, x: Any, scores: np.ndarray, y_true: Any, score_scale: float, cost_scale: float
    ) -> Any:
        """Return a y of largest score_scale * (sum of scores at its parts) + cost_scale * cost.

        ``scores`` has a row per row of x and n_columns columns, and is read-only. Scales are >= 0.
        At prediction y_true is None and cost_scale is 0.
        """
        ...

    def cost(self, y: Any, y_true: Any) -> float:
        """Return how bad y is: finite, >= 0, and 0 where y is y_true."""
        ...


#: What such a structure must have.
NEEDED = ("n_columns", "rows", "parts", "maximize", "cost")


def is_scored(structure: Any) -> bool:
    """Tell whether a structure says the rows of its inputs, and is one in plain Python."""
    return callable(getattr(structure, "rows", None)) and not callable(
        getattr(structure, "data", None)
    )


def check_scored(structure: Any) -> None:
    """Refuse a structure that lacks something, or whose n_columns is no number of columns."""
    missing = [name for name in NEEDED if not hasattr(structure, name)]
    if missing:
        raise TypeError(
            f"A structure with rows must have {', '.join(NEEDED)}, but {type(structure).__name__} "
            f"has no {' and no '.join(missing)}."
        )
    count = structure.n_columns
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise ValueError(f"n_columns of the structure must be an integer >= 1, got {count!r}.")


def rows_of(structure: Any, X: Sequence[Any]) -> tuple[Any, np.ndarray]:
    """Return the rows of all inputs, one input after the other, and where those of each begin."""
    pieces = [structure.rows(x) for x in _samples(X)]
    if not pieces:
        raise ValueError("X is empty; there must be at least one sample.")
    for i, piece in enumerate(pieces):
        if not hasattr(piece, "__len__") and not sp.issparse(piece):
            raise TypeError(f"rows must return a matrix or a list, got {piece!r} for sample {i}.")
    counts = [piece.shape[0] if hasattr(piece, "shape") else len(piece) for piece in pieces]
    row_at = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if any(map(sp.issparse, pieces)):
        return sp.vstack(pieces, format="csr"), row_at
    if all(hasattr(piece, "shape") for piece in pieces):
        shapes = {piece.shape[1:] for piece in pieces}
        if len(shapes) > 1 or len(shapes.pop()) != 1:
            raise ValueError(
                "rows must return matrices with the same number of columns, got shapes "
                f"{sorted({piece.shape for piece in pieces})}."
            )
        return np.concatenate(pieces), row_at
    return [row for piece in pieces for row in piece], row_at


def checked_rows(rows: Any) -> Any:
    """Return rows as a matrix of finite numbers; refuse others."""
    return check_array(
        rows, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="rows",
        ensure_min_features=1,
    )  # fmt: skip


@belongs(UserData)
class ScoredData(UserData):
    """Such a structure with examples; w = a matrix (columns of the rows, n_columns).

    Parameters
    ----------
    structure : object with the methods of `ScoredStructure`
    X : sequence of inputs
    Y : sequence of true outputs, or None where there are none, to predict
    rows : matrix or `GramRows` of all rows
    row_at : (n_examples + 1,), where the rows of each input begin
    """

    structure: Any

    def __init__(
        self, structure: Any, X: Sequence[Any], Y: Sequence[Any] | None, rows: Any, row_at: Any
    ) -> None:
        check_scored(structure)
        if Y is not None and len(X) != len(Y):
            raise ValueError(f"X has {len(X)} samples but Y has {len(Y)}.")
        self.structure, self.X = structure, _samples(X)
        self.n_columns, self.width = int(rows.shape[1]), int(structure.n_columns)
        self.n_weights = self.n_columns * self.width
        self.features, self.row_at = as_features(rows), np.asarray(row_at)
        self.truths = np.array([Box(None) for _ in range(len(self.X))], dtype=object)
        for i, y in enumerate(() if Y is None else _samples(Y)):
            if y is None:
                raise ValueError(f"Y[{i}] is None; every sample needs a true output.")
            box = self.truths[i] = Box(y)
            self.parts(i, box)
            price = self.cost(i, box)
            if price != 0.0:
                raise ValueError(
                    f"cost(y_true, y_true) must be 0, but it returned {price:g} for sample {i}."
                )

    def identity(self) -> Any:
        """Return what tells these data from others, for hashes: not what is cached of a kernel."""
        truths = [box.value for box in self.truths]
        return type(self).__name__, self.structure, self.X, truths, self.features, self.row_at

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))

    def parts(self, i: int, box: Box) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows, as places among those of example i, and the columns of an output."""
        listed = list(self.structure.parts(box.value))
        pairs = np.array(listed if listed else np.zeros((0, 2), dtype=np.int64))
        n_rows = int(self.row_at[i + 1] - self.row_at[i])
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise TypeError(
                f"parts must return pairs of integers (row, column), but for sample {i} it "
                f"returned {listed!r}."
            )
        rows, columns = pairs.T
        if len(pairs) and not (
            pairs.min() >= 0 and rows.max() < n_rows and columns.max() < self.width
        ):
            raise ValueError(
                f"parts of sample {i} must be pairs of a row, 0 to {n_rows - 1}, and a column, 0 "
                f"to {self.width - 1}; got {listed!r}."
            )
        if len(set(map(tuple, pairs.tolist()))) < len(pairs):
            raise ValueError(f"parts of sample {i} must name no part twice, got {listed!r}.")
        return rows, columns


class _Scores:
    """The scores of the rows of an example."""

    __slots__ = ("scale", "w")

    def __init__(self) -> None:
        self.w = np.zeros((0, 1))  # named so because `maximize` takes it where others take weights
        self.scale = 1.0


@implements(kernel_use, ScoredData)
def _kernel_use(data):
    """Return the one matrix of coefficients, with n_columns columns."""
    return kernel_rows(data.features, ((0, data.width),), data.row_at)


@implements(capabilities, ScoredData)
def _capabilities(data, cost):
    """Return `maximize` alone, and whether a kernel knows the rows."""
    return frozenset({"weighted"} if kernel_use(data) is None else {"weighted", "kernel"})


@implements(weigh_columns, ScoredData)
def _weigh_columns(data, alpha):
    """Refuse: rows can be scaled where they are made."""
    raise ValueError(
        f"The regularizer weighs joint features, but {type(data.structure).__name__} has rows: "
        "scale these, or take regularizer='euclidean'."
    )


@implements(workspace, ScoredData)
def _workspace(data):
    """Return theta, the scores of the rows of one example; there is no room."""
    return _Scores(), ()


@implements(score_lengths, ScoredData)
def _score_lengths(data):
    """Bound phi by the sum of the rows of the example, each in every column."""
    lengths, terms = row_lengths(data.features)
    total = np.zeros((2, len(data.truths)))
    for i in range(len(data.truths)):
        own = slice(data.row_at[i], data.row_at[i + 1])
        total[:, i] = lengths[own].sum(), terms[own].sum()
    return data.width * total[0], data.width * total[1]


@implements(potentials, ScoredData)
def _potentials(data, i, w, scale, theta):
    """Score the rows of the example."""
    first, last = data.row_at[i], data.row_at[i + 1]
    theta.w, theta.scale = np.zeros((last - first, data.width)), 1.0
    W = w.reshape((data.n_columns, data.width))
    add_scores(data.features, first, last - first, scale, W, theta.w)


@implements(margin_error, ScoredData)
def _margin_error(data, i, theta, outputs, at):
    """Return the sum of scores at the parts of the output, less that of the truth."""
    truth = data.truths[i]
    if outputs[at] is truth:
        return 0.0
    own, right = data.parts(i, outputs[at]), data.parts(i, truth)
    return theta.scale * float(theta.w[own].sum() - theta.w[right].sum())


@implements(add_difference, ScoredData)
def _add_difference(data, i, outputs, at, scale, w):
    """Add the rows of the truth to their columns; subtract those of the output."""
    if outputs[at] is data.truths[i]:
        return
    W = w.reshape((data.n_columns, data.width))
    right, own = (
        set(zip(*data.parts(i, box), strict=True)) for box in (data.truths[i], outputs[at])
    )
    for sign, pairs in ((scale, right - own), (-scale, own - right)):
        for row, column in sorted(pairs):
            add_row(data.features, data.row_at[i] + row, column, sign, W)


@implements(clear_difference, ScoredData)
def _clear_difference(data, i, outputs, at, w):
    """Clear the rows in the columns that the truth and the output have."""
    W = w.reshape((data.n_columns, data.width))
    for box in (data.truths[i], outputs[at]):
        for row, column in zip(*data.parts(i, box), strict=True):
            clear_row(data.features, data.row_at[i] + row, column, W)


@implements(spare_size, ScoredData)
def _spare_size(data):
    """Return the number of weights: the difference is written out as weights."""
    return data.n_weights


@implements(difference_potentials, ScoredData)
def _difference_potentials(data, i, outputs, at, spare, theta):
    """Score the rows at Psi_i(y)."""
    add_difference(data, i, outputs, at, 1.0, spare)
    potentials(data, i, spare, 1.0, theta)
    clear_difference(data, i, outputs, at, spare)
