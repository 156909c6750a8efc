"""Label sets of any form, to and from the cells 1, 0 and -1 that everything inside works with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.inputs.labels import Labels
from maxmargin.inputs.list_reading import read_lists
from maxmargin.persistence.values import DTYPES

DENSE, CSR, SETS = "dense", "csr", "sets"


@dataclass(frozen=True)
class SetForm:
    """The form of label sets: what `predict` returns is of the form that `fit` was given.

    Attributes
    ----------
    kind : {"dense", "csr", "sets"}
        An indicator matrix, dense or sparse, or one collection of labels per sample.
    dtype : str
        The type of the cells of a matrix; not used for "sets".
    """

    kind: str
    dtype: str = "int64"

    @classmethod
    def from_state(cls, state: Any) -> SetForm:
        """Return the form that a model file holds as [kind, dtype]."""
        if not isinstance(state, list) or len(state) != 2 or state[0] not in (DENSE, CSR, SETS):
            raise ValueError(f"form must be a kind of label sets and a dtype, got {state!r:.80}")
        if not isinstance(state[1], str) or state[1] not in DTYPES:
            raise ValueError(f"form has the dtype {state[1]!r:.80}, which no label sets have")
        return cls(*state)

    def write(self, cells: np.ndarray, classes: np.ndarray) -> Any:
        """Return label sets, from a matrix of 0 and 1.

        Examples
        --------
        >>> import numpy as np
        >>> SetForm("sets").write(np.array([[0, 1], [1, 1]]), np.array(["a", "b"]))
        [('b',), ('a', 'b')]
        """
        if self.kind == DENSE:
            return cells.astype(self.dtype)
        if self.kind == CSR:
            return sp.csr_matrix(cells, dtype=self.dtype)
        names = classes.tolist()
        return [tuple(names[j] for j in np.flatnonzero(row)) for row in cells]


@dataclass(frozen=True)
class LabelMatrix:
    """Label sets as cells.

    Attributes
    ----------
    cells : int32 array of shape (n, m): 1 on, 0 off, -1 unknown
    labels : Labels, of the columns
    form : SetForm, of what was given
    """

    cells: np.ndarray
    labels: Labels
    form: SetForm

    def never(self, value: int) -> list[Any]:
        """Return the labels that are nowhere on (1), or nowhere off (0)."""
        return self.labels.classes[~(self.cells == value).any(axis=0)].tolist()


def label_matrix(
    y: Any,
    n_examples: int,
    labels: Labels | None = None,
    classes: Iterable[Any] | None = None,
    form: SetForm | None = None,
) -> LabelMatrix:
    """Return label sets as cells.

    Parameters
    ----------
    y : array, data frame or sparse matrix of shape (n_examples, n_labels), or a sequence
        An indicator matrix of 1 (on), 0 (off) and -1 (not known); or one collection of labels for
        each sample. A list of lists is read as the one of these that it can be. If it can be both,
        as [[0, 1], [1, 0]] can, it is refused (see list_reading.py).
    n_examples : int
    labels : Labels or None
        The known ones, in the order of the columns; None learns them.
    classes : labels by name, or None
        The names of all labels, if they are learnt. None: the labels that occur, sorted; for a
        matrix the names of its columns if it has names, else 0, 1, ...
    form : SetForm or None
        The form of earlier label sets of the same model: a list that can be both is read so.

    Examples
    --------
    >>> label_matrix([["b"], ["a", "c"], []], 3).cells
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 0, 0]], dtype=int32)
    >>> import numpy as np
    >>> label_matrix(np.array([[True, False]]), 1, classes=["a", "b"]).labels.classes
    array(['a', 'b'], dtype='<U1')
    >>> label_matrix([["b"], ["a", "x"]], 2, classes=["a", "b"])
    Traceback (most recent call last):
    ValueError: y[1] has the label 'x', which is none of the classes: 'a', 'b'.
    """
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if not _is_indicator(y):
        given = list(classes) if classes is not None else None
        known = given if labels is None else labels.classes.tolist()
        if read_lists(y, known, None if form is None else form.kind == SETS) == "sets":
            return _from_sets(y, n_examples, labels, given)
        y, classes = np.array([list(row) for row in y]), given
    names = classes if classes is not None else _column_names(y)
    form, matrix = _indicator(y)
    n_rows, n_columns = matrix.shape
    if n_rows != n_examples:
        raise ValueError(f"X has {n_examples} samples but y has {n_rows} rows.")
    if labels is None:
        if n_columns == 0:
            raise ValueError("y has no columns; there must be at least one label.")
        labels = Labels(np.arange(n_columns) if names is None else names)
    if len(labels) != n_columns:
        raise ValueError(f"y has {n_columns} columns but there are {len(labels)} classes.")
    return LabelMatrix(_cells(matrix), labels, form)


def _is_indicator(y: Any) -> bool:
    if sp.issparse(y) or hasattr(y, "columns"):
        return True
    return hasattr(y, "__array__") and np.asarray(y).dtype != object


def _column_names(y: Any) -> list[Any] | None:
    return list(y.columns) if hasattr(y, "columns") else None


def _indicator(y: Any) -> tuple[SetForm, Any]:
    """Return the form of an indicator matrix, and it as an array or a CSR matrix."""
    matrix = sp.csr_matrix(y) if sp.issparse(y) else np.asarray(y)
    if matrix.ndim != 2:
        raise ValueError(
            "y must be an indicator matrix of shape (n_samples, n_labels) or a list of label sets, "
            f"got an array of shape {matrix.shape}."
        )
    if matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"y must hold the numbers 1, 0 and -1 in an indicator matrix, got dtype {matrix.dtype}."
        )
    return SetForm(CSR if sp.issparse(matrix) else DENSE, matrix.dtype.name), matrix


def _cells(matrix: Any) -> np.ndarray:
    """Return an indicator matrix as int32 cells; refuse values other than 1, 0 and -1."""
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    wrong = ~((dense == 0) | (dense == 1) | (dense == -1))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"y[{i}, {j}] is {dense[i, j]}; expected 1 (on), 0 (off) or -1 (not known)."
        )
    return np.ascontiguousarray(dense, dtype=np.int32)


def _from_sets(
    y: Any, n_examples: int, labels: Labels | None, classes: Iterable[Any] | None
) -> LabelMatrix:
    sets = _checked_sets(y, n_examples)
    if labels is None:
        owner = [i for i, labels_of in enumerate(sets) for _ in labels_of]
        flat = [label for labels_of in sets for label in labels_of]
        labels = Labels.learn(flat, classes, lambda place: f"A label of y[{owner[place]}]")
        if len(labels) == 0:
            raise ValueError(
                "y has no label in any of its sets, so there is nothing to learn (the parameter "
                "classes may name labels that do not occur)."
            )
    cells = np.zeros((n_examples, len(labels)), dtype=np.int32)
    for i, labels_of in enumerate(sets):
        for label in labels_of:
            place = labels.index.get(label, -1)
            if place < 0:
                raise ValueError(
                    f"y[{i}] has the label {label!r}, which is none of the classes: "
                    f"{labels.some()}."
                )
            if cells[i, place]:
                raise ValueError(f"y[{i}] has the label {label!r} twice.")
            cells[i, place] = 1
    return LabelMatrix(cells, labels, SetForm(SETS))


def _checked_sets(y: Any, n_examples: int) -> list[Sequence[Any]]:
    if isinstance(y, (str, bytes, dict)) or not hasattr(y, "__len__"):
        raise TypeError(
            f"y must be an indicator matrix or a list of label sets, got {type(y).__name__}."
        )
    if len(y) != n_examples:
        raise ValueError(f"X has {n_examples} samples but y has {len(y)} label sets.")
    sets = []
    for i, labels_of in enumerate(y):
        if isinstance(labels_of, (str, bytes)) or not hasattr(labels_of, "__iter__"):
            raise TypeError(f"y[{i}] must be a collection of labels, got {labels_of!r}.")
        items = labels_of.tolist() if isinstance(labels_of, np.ndarray) else list(labels_of)
        for label in items:
            try:
                hash(label)
            except TypeError:
                raise TypeError(
                    f"y[{i}] has a {type(label).__name__} as a label: a label must be hashable."
                ) from None
        sets.append(items)
    return sets
