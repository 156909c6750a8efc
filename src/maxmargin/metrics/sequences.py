"""Scores for sequences: position errors, whole sequences, and F1 of labelled segments.

`y_true` and `y_pred` are always sequences of sequences, one per sample. Positions whose true label
is unknown (None or -1) are left out of the position scores. Segment scores follow the CoNLL
evaluation: a segment is right if its type and both its ends are, and 0/0 counts as 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from maxmargin.tags import Span, tags_to_spans

__all__ = [
    "ChunkScore",
    "chunk_f1",
    "chunk_precision",
    "chunk_recall",
    "chunk_scores",
    "entity_f1",
    "hamming_error",
    "sequence_accuracy",
    "sequence_error",
    "token_accuracy",
]

Sequences: TypeAlias = Sequence[Sequence[Any]]
Average: TypeAlias = Literal["micro", "macro"] | None


def _check_pairs(y_true: Sequences, y_pred: Sequences) -> None:
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} sequences but y_pred has {len(y_pred)}.")
    if len(y_true) == 0:
        raise ValueError("y_true holds no sequence.")
    for i, (truth, guess) in enumerate(zip(y_true, y_pred, strict=True)):
        for name, sequence in (("y_true", truth), ("y_pred", guess)):
            if isinstance(sequence, str) or not hasattr(sequence, "__len__"):
                raise TypeError(
                    f"{name}[{i}] must be a sequence of labels, got {sequence!r}; one sample is "
                    "one sequence, so wrap a single one in a list."
                )
        if len(truth) != len(guess):
            raise ValueError(
                f"y_pred[{i}] has {len(guess)} labels but y_true[{i}] has {len(truth)}."
            )


def _is_known(label: Any) -> bool:
    # The string "-1" is a label like any other.
    return label is not None and not (isinstance(label, (int, np.integer)) and label == -1)


def _wrong_and_known(truth: Any, guess: Any) -> tuple[int, int]:
    if isinstance(truth, np.ndarray) and isinstance(guess, np.ndarray) and truth.dtype.kind == "i":
        is_known = truth != -1
        return int(np.count_nonzero((truth != guess) & is_known)), int(np.count_nonzero(is_known))
    pairs = [(a, b) for a, b in zip(truth, guess, strict=True) if _is_known(a)]
    return sum(bool(a != b) for a, b in pairs), len(pairs)


def hamming_error(y_true: Sequences, y_pred: Sequences) -> float:
    """Share of all positions with a known label that are wrong.

    Positions are pooled over the samples, so a long sequence weighs more than a short one.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of labels
        None or -1 in `y_true`: unknown, left out.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> hamming_error([[1, 2, None], [3]], [[1, 1, 1], [3]])
    0.3333333333333333
    """
    _check_pairs(y_true, y_pred)
    counts = [_wrong_and_known(a, b) for a, b in zip(y_true, y_pred, strict=True)]
    n = sum(known for _, known in counts)
    if n == 0:
        raise ValueError("y_true has no position with a known label.")
    return sum(wrong for wrong, _ in counts) / n


def token_accuracy(y_true: Sequences, y_pred: Sequences) -> float:
    """Share of all positions with a known label that are right: ``1 - hamming_error``.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of labels

    Examples
    --------
    >>> token_accuracy([["a", "b"], ["c", "d"]], [["a", "b"], ["c", "x"]])
    0.75
    """
    return 1.0 - hamming_error(y_true, y_pred)


def sequence_error(y_true: Sequences, y_pred: Sequences) -> float:
    """Share of sequences with a mistake at some position whose label is known (word error).

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of labels

    Examples
    --------
    >>> sequence_error([["a", "b"], ["c", "d"]], [["a", "b"], ["c", "x"]])
    0.5
    """
    _check_pairs(y_true, y_pred)
    pairs = zip(y_true, y_pred, strict=True)
    return sum(_wrong_and_known(a, b)[0] > 0 for a, b in pairs) / len(y_true)


def sequence_accuracy(y_true: Sequences, y_pred: Sequences) -> float:
    """Share of sequences that are right throughout: ``1 - sequence_error``.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of labels

    Examples
    --------
    >>> sequence_accuracy([["a", "b"], ["c", "d"]], [["a", "b"], ["c", "x"]])
    0.5
    """
    return 1.0 - sequence_error(y_true, y_pred)


@dataclass(frozen=True)
class ChunkScore:
    """Counts of segments, and the scores they give; 0/0 is 0.

    Attributes
    ----------
    n_true, n_pred, n_correct : int
        Segments in the truth, in the prediction, in both.
    """

    n_true: int
    n_pred: int
    n_correct: int

    @property
    def precision(self) -> float:
        """n_correct / n_pred."""
        return self.n_correct / self.n_pred if self.n_pred else 0.0

    @property
    def recall(self) -> float:
        """n_correct / n_true."""
        return self.n_correct / self.n_true if self.n_true else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 2 n_correct / (n_true + n_pred)."""
        total = self.n_true + self.n_pred
        return 2.0 * self.n_correct / total if total else 0.0


def _spans(y: Sequences, name: str, scheme: str, strict: bool) -> list[list[Span]]:
    found = []
    for i, tags in enumerate(y):
        try:
            found.append(tags_to_spans(tags, scheme, strict=strict))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}[{i}], {error}") from None
    return found


def chunk_scores(
    y_true: Sequences, y_pred: Sequences, *, scheme: str = "iob2", strict: bool = False
) -> dict[str, ChunkScore]:
    """Counts and scores of labelled segments for every type.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of str
        Tags such as "B-NP" and "O".
    scheme : {"io", "iob1", "iob2", "bioes"}, default "iob2"
    strict : bool, default False
        False: as conlleval, where a broken sequence such as ``O I-NP`` opens a segment. True: only
        segments that are written as the scheme wants them count, in truth and prediction alike.

    Returns
    -------
    dict of str to ChunkScore
        One entry for each type that occurs in either, in alphabetical order.

    Examples
    --------
    >>> scores = chunk_scores([["B-NP", "I-NP", "B-VP"]], [["B-NP", "I-NP", "B-NP"]])
    >>> scores["NP"]
    ChunkScore(n_true=1, n_pred=2, n_correct=1)
    >>> scores["NP"].precision
    0.5
    """
    _check_pairs(y_true, y_pred)
    n_true: Counter[str] = Counter()
    n_pred: Counter[str] = Counter()
    n_correct: Counter[str] = Counter()
    spans_true = _spans(y_true, "y_true", scheme, strict)
    spans_pred = _spans(y_pred, "y_pred", scheme, strict)
    for truth, guess in zip(spans_true, spans_pred, strict=True):
        n_true.update(span.type for span in truth)
        n_pred.update(span.type for span in guess)
        n_correct.update(span.type for span in set(truth) & set(guess))
    types = sorted(set(n_true) | set(n_pred))
    return {kind: ChunkScore(n_true[kind], n_pred[kind], n_correct[kind]) for kind in types}


def _total(scores: dict[str, ChunkScore]) -> ChunkScore:
    counts = [(s.n_true, s.n_pred, s.n_correct) for s in scores.values()]
    return ChunkScore(*(sum(column) for column in zip((0, 0, 0), *counts, strict=True)))


def _averaged(scores: dict[str, ChunkScore], what: str, average: Average) -> Any:
    if average == "micro":
        return getattr(_total(scores), what)
    if average == "macro":
        return sum(getattr(s, what) for s in scores.values()) / len(scores) if scores else 0.0
    return {kind: getattr(s, what) for kind, s in scores.items()}


def _check_average(average: Average) -> None:
    if average not in ("micro", "macro", None):
        raise ValueError(f"average={average!r} is unknown. There are: 'micro', 'macro', None.")


def chunk_f1(
    y_true: Sequences, y_pred: Sequences, *, scheme: str = "iob2", average: Average = "micro"
) -> Any:
    """F1 of labelled segments, as conlleval computes it.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of str
        Tags such as "B-NP" and "O".
    scheme : {"io", "iob1", "iob2", "bioes"}, default "iob2"
    average : {"micro", "macro"} or None, default "micro"
        "micro": over all segments. "macro": the mean over the types that occur in truth or
        prediction. None: one value for each type.

    Returns
    -------
    float, or dict of str to float

    Examples
    --------
    >>> truth = [["B-NP", "I-NP", "B-VP"], ["B-NP", "O"]]
    >>> guess = [["B-NP", "I-NP", "B-NP"], ["B-NP", "O"]]
    >>> round(chunk_f1(truth, guess), 3)
    0.667
    >>> chunk_f1(truth, guess, average=None)
    {'NP': 0.8, 'VP': 0.0}
    """
    _check_average(average)
    return _averaged(chunk_scores(y_true, y_pred, scheme=scheme), "f1", average)


def chunk_precision(
    y_true: Sequences, y_pred: Sequences, *, scheme: str = "iob2", average: Average = "micro"
) -> Any:
    """Share of predicted segments that are right; see :func:`chunk_f1` for the parameters.

    Examples
    --------
    >>> chunk_precision([["B-NP", "O"]], [["B-NP", "B-NP"]])
    0.5
    """
    _check_average(average)
    return _averaged(chunk_scores(y_true, y_pred, scheme=scheme), "precision", average)


def chunk_recall(
    y_true: Sequences, y_pred: Sequences, *, scheme: str = "iob2", average: Average = "micro"
) -> Any:
    """Share of true segments that were found; see :func:`chunk_f1` for the parameters.

    Examples
    --------
    >>> chunk_recall([["B-NP", "O"]], [["B-NP", "B-NP"]])
    1.0
    """
    _check_average(average)
    return _averaged(chunk_scores(y_true, y_pred, scheme=scheme), "recall", average)


def entity_f1(
    y_true: Sequences, y_pred: Sequences, *, scheme: str = "iob2", average: Average = "micro"
) -> Any:
    """F1 of labelled segments read strictly: a broken sequence of tags makes no segment.

    The same as :func:`chunk_f1` wherever both sides are valid in `scheme`.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of str
    scheme : {"io", "iob1", "iob2", "bioes"}, default "iob2"
    average : {"micro", "macro"} or None, default "micro"

    Returns
    -------
    float, or dict of str to float

    Examples
    --------
    >>> truth, guess = [["B-PER", "I-PER"]], [["I-PER", "I-PER"]]
    >>> chunk_f1(truth, guess), entity_f1(truth, guess)
    (1.0, 0.0)
    """
    _check_average(average)
    return _averaged(chunk_scores(y_true, y_pred, scheme=scheme, strict=True), "f1", average)
