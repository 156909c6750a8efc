"""Scores of held-out sequences: from labels as integer codes to the cost, or F1 of segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from maxmargin import metrics
from maxmargin.core import predict
from maxmargin.core.contract import TrueParts
from maxmargin.costs import Cost
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.labels import Labels
from maxmargin.inputs.request import Request
from maxmargin.inputs.sequence_labels import read_labels
from maxmargin.inputs.sequences import as_sequences
from maxmargin.tags import breaks_between, closest_scheme, is_chunk_like, is_tag
from maxmargin.tags.schemes import OUTSIDE, split

_Score = Callable[[np.ndarray], float]

#: What sequences can be scored by, by name; larger is better.
SEQUENCE_METRICS: dict[str, Callable[..., Any]] = {
    "chunk_f1": metrics.chunk_f1,
    "chunk_precision": metrics.chunk_precision,
    "chunk_recall": metrics.chunk_recall,
    "entity_f1": metrics.entity_f1,
    "token_accuracy": metrics.token_accuracy,
    "sequence_accuracy": metrics.sequence_accuracy,
}


def sequence_metric(name: str, y: Any, scheme: str | None) -> Callable[[Any, Any], float]:
    """Return a metric of sequences; strict segments are read by a scheme, or by that of y."""
    metric = SEQUENCE_METRICS[name]
    if name != "entity_f1":
        return metric
    if scheme is None:
        match = closest_scheme(y)
        scheme = "iob2" if match is None else match.scheme
    return partial(metric, scheme=scheme)


def cost_judge(cost: Cost, labels: Labels, request: Request, offsets: np.ndarray) -> _Score:
    """Return the function from predicted codes to 1 - the mean normalised cost."""
    codes = read_labels(request.y, None, offsets, labels).codes
    n_known = np.add.reduceat(codes >= 0, offsets[:-1], dtype=np.int64)
    weight = check_weights(request.sample_weight, len(n_known)) * (n_known > 0)
    if not weight.any():
        raise ValueError("y has no known label in a sequence of positive weight.")
    parts = TrueParts("positions", np.diff(offsets), codes)

    def judge(cells: np.ndarray) -> float:
        found, largest = cost.costs_of(parts, labels.classes, cells)
        return predict.mean_score(found, largest, weight)

    return judge


class Segments(NamedTuple):
    """Segments of stacked sequences: first positions, last positions, types."""

    first: np.ndarray
    last: np.ndarray
    kind: np.ndarray


class SegmentTable:
    """Where segments begin and end between any two of some labels, as conlleval has it.

    Parameters
    ----------
    labels : sequence of str
        A label that is no tag counts as O.

    Examples
    --------
    >>> table = SegmentTable(["O", "B-X", "I-X"])
    >>> table.read(np.array([0, 1, 2, 1, 2]), np.array([0, 4, 5])).first
    array([1, 3, 4])
    """

    def __init__(self, labels: Sequence[Any]) -> None:
        parts = [split(label) if is_tag(label) else OUTSIDE for label in labels]
        kinds = sorted({kind for _, kind in parts})
        self.kind = np.array([kinds.index(kind) for _, kind in parts])
        self.inside = np.array([letter != "O" for letter, _ in parts])
        self.breaks = np.array([[breaks_between(a, b) for b in parts] for a in parts])

    def read(self, codes: np.ndarray, offsets: np.ndarray) -> Segments:
        """Return the segments that labels spell out."""
        inside = self.inside[codes]
        parted = np.ones(len(codes) + 1, dtype=bool)  # whether no segment goes on from t - 1 to t
        before, after = codes[:-1], codes[1:]
        parted[1:-1] = ~inside[:-1] | ~inside[1:] | self.breaks[before, after]
        parted[offsets] = True
        first = np.flatnonzero(inside & parted[:-1])
        last = np.flatnonzero(inside & parted[1:])
        return Segments(first, last, self.kind[codes[first]])


def segment_f1(truth: Segments, guess: Segments, n_positions: int) -> float:
    """Return F1 of segments: type and both ends must be right; 0/0 is 0.

    Examples
    --------
    >>> table, offsets = SegmentTable(["O", "B-X", "I-X"]), np.array([0, 4])
    >>> truth, guess = (table.read(np.array(c), offsets) for c in ([1, 2, 0, 1], [1, 0, 0, 1]))
    >>> segment_f1(truth, guess, 4)
    0.5
    """
    total = len(truth.first) + len(guess.first)
    last, kind = np.full(n_positions, -1), np.full(n_positions, -1)
    last[truth.first], kind[truth.first] = truth.last, truth.kind
    right = (last[guess.first] == guess.last) & (kind[guess.first] == guess.kind)
    return 2.0 * int(np.count_nonzero(right)) / total if total else 0.0


def chunk_f1_of(classes: np.ndarray, truth: list[Any], offsets: np.ndarray) -> _Score:
    """Return the function from predicted codes to `maxmargin.metrics.chunk_f1`.

    Parameters
    ----------
    classes : array of shape (n_labels,)
        What the predicted codes stand for; the truth may have other labels too.
    truth : list of the true labels of all positions
    offsets : array of shape (n_sequences + 1,)
    """
    if not is_chunk_like(truth):
        strange = next(label for label in truth if not is_tag(label))
        raise ValueError(
            "scoring='chunk_f1' needs tags such as 'B-NP' and 'O', but the held-out labels have "
            f"{strange!r}."
        )
    names = classes.tolist()
    labels = names + sorted(set(truth) - set(names))
    code = {label: k for k, label in enumerate(labels)}
    table = SegmentTable(labels)
    found = table.read(np.array([code[label] for label in truth]), offsets)
    return lambda codes: segment_f1(found, table.read(codes, offsets), len(truth))


def default_measure(request: Request) -> str | None:
    """Return "chunk_f1" where labels are tags of segments; None: what `score` measures."""
    flat: list[Any] = []
    for labels in as_sequences("y", request.y):
        if isinstance(labels, (str, bytes, dict)) or not hasattr(labels, "__len__"):
            return None  # `cost_judge` raises the error about it
        flat.extend(labels)
    return "chunk_f1" if looks_like_chunks(flat) else None


def looks_like_chunks(labels: list[Any]) -> bool:
    """Tell whether labels are tags of segments: nearly all are written so, and not all are O.

    A letter without a type counts if it is B or I: "E" and "S" may be labels of any kind.

    Examples
    --------
    >>> looks_like_chunks(["O", "B-X"]), looks_like_chunks(["DT", "NN"]), looks_like_chunks(["O"])
    (True, False, False)
    """
    if not is_chunk_like(labels):
        return False
    parts = [split(label) for label in set(labels) if is_tag(label)]
    return any(kind or letter in "BI" for letter, kind in parts)
