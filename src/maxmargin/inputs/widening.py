"""Constraints meet true labels that break them: what is opened, and how it is told.

A step is a start, a transition or an end. A barrier of steps has one row per label before, one for
the start and one for the end; see `Constraints.barrier`. If true labels take a step that is
forbidden, the step is opened (allowed): otherwise training would ask for what it forbids.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from maxmargin.tags import is_tag

#: The largest share of labels that may be no tags of the scheme of the constraints.
_STRANGERS = 0.05
_MOST_NAMED = 10  # steps that a warning names
NO_STEPS = np.zeros((0, 3), dtype=np.int64)


def widen(
    barrier: np.ndarray,
    codes: np.ndarray,
    offsets: np.ndarray,
    classes: np.ndarray,
    scheme: str | None,
    known: np.ndarray | None,
    stacklevel: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return a barrier that allows what true labels do, and all steps that were opened.

    ``known`` are the steps of earlier batches; None at a fit, which also refuses a scheme to which
    many labels do not belong.
    """
    if known is None:
        check_strangers(scheme, classes, codes)
        known = NO_STEPS
    barrier = with_steps(barrier, known)
    steps = forbidden_steps(barrier, codes, offsets)
    if len(steps):
        warn_of_steps(steps, classes, stacklevel + 1)
    return with_steps(barrier, steps), joined(known, steps)


def forbidden_steps(barrier: np.ndarray, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the steps that labels take although a barrier forbids them.

    Unknown labels (-1) take no step.

    Parameters
    ----------
    barrier : array of shape (n_labels + 2, n_labels), -inf where forbidden
    codes : labels of all sequences
    offsets : array of shape (n_sequences + 1,)

    Returns
    -------
    int64 array of shape (n_steps, 3): row and column of the barrier, and how often

    Examples
    --------
    >>> barrier = np.zeros((4, 2))
    >>> barrier[0, 1] = barrier[2, 1] = -np.inf  # 1 may not follow 0, nor begin
    >>> forbidden_steps(barrier, np.array([1, 0, 1, 0, 1]), np.array([0, 3, 5]))
    array([[0, 1, 2],
           [2, 1, 1]])
    """
    n_labels = barrier.shape[1]
    firsts, lasts = offsets[:-1], offsets[1:] - 1
    inner = np.ones(len(codes), dtype=bool)
    inner[firsts] = False
    after = np.flatnonzero(inner)
    from_row = np.concatenate(
        [
            codes[after - 1],
            np.full(len(firsts), n_labels),
            np.full(len(lasts), n_labels + 1),
        ]
    )
    to_label = np.concatenate([codes[after], codes[firsts], codes[lasts]])
    known = (from_row >= 0) & (to_label >= 0)
    from_row, to_label = from_row[known], to_label[known]
    broken = np.isneginf(barrier[from_row, to_label])
    cells, counts = np.unique(from_row[broken] * n_labels + to_label[broken], return_counts=True)
    return np.stack([cells // n_labels, cells % n_labels, counts], axis=1).astype(np.int64)


def with_steps(barrier: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return a barrier in which these steps are open."""
    opened = barrier.copy()
    opened[steps[:, 0], steps[:, 1]] = 0.0
    return opened


def joined(steps: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return the steps of both lists, each once, with the sum of its counts."""
    both = np.concatenate([steps, more])
    cells, place = np.unique(both[:, :2], axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=both[:, 2], minlength=len(cells))
    return np.column_stack([cells, counts]).astype(np.int64)


def named_steps(steps: np.ndarray, classes: np.ndarray) -> list[tuple[Any, Any, int]]:
    """Return steps as (label before, label, count), with None for the start and for the end.

    Examples
    --------
    >>> named_steps(np.array([[0, 1, 2], [2, 1, 1], [3, 0, 1]]), np.array(["O", "I"]))
    [('O', 'I', 2), (None, 'I', 1), ('O', None, 1)]
    """
    names = classes.tolist()
    n_labels = len(names)
    found = []
    for row, column, count in steps.tolist():
        before = names[row] if row < n_labels else None
        pair = (names[column], None) if row == n_labels + 1 else (before, names[column])
        found.append((*pair, count))
    return found


def warn_of_steps(steps: np.ndarray, classes: np.ndarray, stacklevel: int) -> None:
    """Say which constraints were opened, and how often true labels had broken them."""
    named = sorted(named_steps(steps, classes), key=lambda step: -step[2])
    said = []
    for before, label, count in named[:_MOST_NAMED]:
        times = "once" if count == 1 else f"{count} times"
        if label is None:
            said.append(f"{before!r} at the end ({times})")
        else:
            place = "at the start" if before is None else f"after {before!r}"
            said.append(f"{label!r} {place} ({times})")
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    warnings.warn(
        "The constraints forbid what true labels do, so they were widened, for training and for "
        f"prediction: {', '.join(said)}{more}. Constraints(..., strict=True) refuses such labels.",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def check_strangers(scheme: str | None, classes: np.ndarray, codes: np.ndarray) -> None:
    """Refuse a scheme to which many labels do not belong, or a class that is never true.

    A few true labels that are no tags of the scheme are widened instead.
    """
    strange = _strangers(scheme, classes)
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    never = strange & (counts == 0)
    n_strange = int(counts[strange].sum())
    if never.any():
        _refuse(scheme, classes[never])
    if n_strange > _STRANGERS * counts.sum():
        _refuse(scheme, classes[strange], f" ({n_strange} of {counts.sum()} labels)")


def check_known_strangers(scheme: str | None, classes: np.ndarray, steps: np.ndarray) -> None:
    """Refuse a scheme to which classes do not belong that were not widened at fit."""
    strange = _strangers(scheme, classes)
    met = steps[:, :2].ravel()
    strange[met[met < len(classes)]] = False
    if strange.any():
        _refuse(scheme, classes[strange])


def _strangers(scheme: str | None, classes: np.ndarray) -> np.ndarray:
    names = classes.tolist()
    return np.array([scheme is not None and not is_tag(name, scheme) for name in names])


def _refuse(scheme: str | None, strange: np.ndarray, share: str = "") -> None:
    names = strange.tolist()
    said = ", ".join(map(repr, names[:_MOST_NAMED])) + (", ..." if names[_MOST_NAMED:] else "")
    kind = ValueError if isinstance(names[0], str) else TypeError
    raise kind(f"constraints: these classes are not tags of {scheme!r}: {said}{share}.")


def checked_steps(steps: Any, n_labels: int) -> np.ndarray:
    """Return the steps of a model file; refuse what are no steps."""
    if steps is None:
        return NO_STEPS
    steps = np.asarray(steps)
    is_table = steps.ndim == 2 and steps.shape[1] == 3 and steps.dtype.kind == "i"
    if (
        not is_table
        or (steps < [0, 0, 1]).any()
        or (steps[:, :2] >= [n_labels + 2, n_labels]).any()
    ):
        raise ValueError(
            f"widened: the model's list of widened constraints does not fit {n_labels} labels: it "
            "is damaged."
        )
    return steps.astype(np.int64)
