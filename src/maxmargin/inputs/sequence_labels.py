"""Label sequences of any type as integer codes, and the pieces between unknown labels."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from maxmargin.inputs.labels import Labels
from maxmargin.inputs.sequences import as_sequences, naming, place

UNKNOWN = -1


class SequenceLabels(NamedTuple):
    """Labels of all positions, as places in the classes; -1 where unknown, or not fixed."""

    labels: Labels
    codes: np.ndarray
    fixed: np.ndarray | None  # None where no sequence has fixed labels


def read_labels(
    y: Any,
    fixed: Any,
    offsets: np.ndarray,
    labels: Labels | None = None,
    classes: Any = None,
    part: str = "positions",
) -> SequenceLabels:
    """Return true labels and fixed ones, which must not differ where both are known.

    Where ``labels`` are None they are learnt: `classes` by name, or those of y, sorted. ``part`` is
    what errors call that which has a label.

    Examples
    --------
    >>> read_labels([["b", None, "a"]], [[None, "b", None]], np.array([0, 3]))[1:]
    (array([ 1, -1,  0], dtype=int32), array([-1,  1, -1], dtype=int32))
    """
    flat = flatten_labels(y, offsets, part=part)
    if labels is None:
        labels = learn_labels(flat, offsets, classes)
    codes = encode(flat, offsets, labels)
    known = read_fixed(fixed, offsets, labels, part)
    if known is not None:
        bad = np.flatnonzero((known >= 0) & (codes >= 0) & (known != codes))
        if len(bad):
            i, t = place(offsets, bad[0])
            names = labels.classes.tolist()
            raise ValueError(
                f"fixed[{i}][{t}] is {names[known[bad[0]]]!r}, but y[{i}][{t}] is "
                f"{names[codes[bad[0]]]!r}."
            )
    return SequenceLabels(labels, codes, known)


def read_fixed(
    fixed: Any, offsets: np.ndarray, labels: Labels, part: str = "positions"
) -> np.ndarray | None:
    """Return fixed labels as places in the classes, -1 where free; None: no sequence has any."""
    if fixed is None:
        return None
    flat = flatten_labels(fixed, offsets, "fixed", optional=True, part=part)
    return encode(flat, offsets, labels, "fixed")


def flatten_labels(
    y: Any,
    offsets: np.ndarray,
    name: str = "y",
    other: str = "X",
    optional: bool = False,
    part: str = "positions",
) -> list[Any]:
    """Return the labels of all sequences in one list.

    Refuses a sequence that does not have one label per position. With `optional`, a sequence may be
    None, which means that all its labels are unknown.
    """
    sequences = as_sequences(name, y)
    if len(sequences) != len(offsets) - 1:
        raise ValueError(
            f"{name} has {len(sequences)} sequences but {other} has {len(offsets) - 1}."
        )
    flat: list[Any] = []
    for i, (sequence, length) in enumerate(zip(sequences, np.diff(offsets).tolist(), strict=True)):
        if sequence is None and optional:
            flat.extend([None] * length)
            continue
        if isinstance(sequence, (str, bytes, dict)) or not hasattr(sequence, "__len__"):
            raise TypeError(f"{name}[{i}] must be a sequence of labels, got {sequence!r}.")
        if len(sequence) != length:
            raise ValueError(
                f"{name}[{i}] has {len(sequence)} labels but {other}[{i}] has {length} {part}."
            )
        flat.extend(sequence.tolist() if isinstance(sequence, np.ndarray) else sequence)
    return flat


def learn_labels(flat: list[Any], offsets: np.ndarray, classes: Any = None) -> Labels:
    """Return the labels there are: those named by `classes`, or the known ones of y, sorted.

    Examples
    --------
    >>> learn_labels(["b", None, "a", "b"], np.array([0, 4])).classes
    array(['a', 'b'], dtype='<U1')
    """
    known = _known_positions(flat, {})
    if classes is None and not known:
        raise ValueError("y has no known label.")
    name = naming("y", offsets)
    labels = Labels.learn([flat[k] for k in known], classes, lambda i: name(known[i]))
    if len(labels) < 2:
        raise ValueError(
            f"There is one label only, {labels.classes.tolist()[0]!r}; at least two are needed "
            "(None and -1 mean unknown; the parameter classes may name labels that do not occur)."
        )
    return labels


def encode(flat: list[Any], offsets: np.ndarray, labels: Labels, name: str = "y") -> np.ndarray:
    """Return labels as places in the classes, -1 where unknown (None, or -1 if that is no class).

    Examples
    --------
    >>> encode(["b", None, "a"], np.array([0, 3]), Labels(["a", "b"]))
    array([ 1, -1,  0], dtype=int32)
    """
    known = _known_positions(flat, labels.index)
    says = naming(name, offsets)
    codes = np.full(len(flat), UNKNOWN, dtype=np.int32)
    codes[known] = labels.encode([flat[k] for k in known], lambda i: says(known[i]))
    return codes


def _known_positions(flat: list[Any], index: Mapping[Any, int]) -> list[int]:
    # The string "-1" is a label like any other, and so is -1 where the classes name it.
    if UNKNOWN in index:
        return [k for k, label in enumerate(flat) if label is not None]
    return [
        k
        for k, label in enumerate(flat)
        if isinstance(label, str)  # first, since most labels are
        or not (label is None or (isinstance(label, Real) and label == UNKNOWN))
    ]


class Pieces(NamedTuple):
    """The runs of known labels.

    ``positions`` are those of all pieces, counted through all sequences. Piece p has
    positions[offsets[p]:offsets[p + 1]] and comes from sequence sample[p]; borders[p] tells whether
    it begins where that sequence begins, and ends where it ends.
    """

    positions: np.ndarray
    offsets: np.ndarray
    sample: np.ndarray
    borders: np.ndarray


def cut(codes: np.ndarray, offsets: np.ndarray) -> Pieces:
    """Cut sequences at their unknown labels. A sequence without a known label leaves no piece.

    Examples
    --------
    >>> pieces = cut(np.array([0, 1, -1, 1, -1]), np.array([0, 4, 5]))
    >>> pieces.offsets, pieces.sample
    (array([0, 2, 3]), array([0, 0]))
    >>> pieces.borders
    array([[1, 0],
           [0, 1]], dtype=int8)
    """
    n = len(codes)
    known = codes >= 0
    begins, ends = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    begins[offsets[:-1]] = True
    ends[offsets[1:] - 1] = True
    firsts = np.flatnonzero(known & (begins | ~np.roll(known, 1)))
    lasts = np.flatnonzero(known & (ends | ~np.roll(known, -1)))
    return Pieces(
        positions=np.flatnonzero(known),
        offsets=np.concatenate([[0], np.cumsum(lasts - firsts + 1)]).astype(np.int64),
        sample=np.searchsorted(offsets, firsts, side="right") - 1,
        borders=np.stack([begins[firsts], ends[lasts]], axis=1).astype(np.int8),
    )
