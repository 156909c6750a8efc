"""What a labelling may be: which label may begin, follow, end, or stand at a position.

Constraints reach the compiled code as barriers, added to the potentials: 0 where something is
allowed, -inf where it is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from maxmargin.inputs.labels import Labels
from maxmargin.inputs.sequence_labels import SequenceLabels
from maxmargin.inputs.sequences import as_sequences, place
from maxmargin.inputs.widening import NO_STEPS, check_known_strangers, widen, with_steps
from maxmargin.tags import SCHEMES, scheme_constraints


@dataclass(frozen=True)
class Constraints:
    """Which labellings of a chain are allowed, at fit and at prediction.

    Parameters
    ----------
    scheme : {"io", "iob1", "iob2", "bioes"} or None
        The labels are tags of this scheme; what it does not allow is forbidden.
    forbidden : iterable of (label, label)
        Pairs (a, b): b may not follow a.
    forbidden_start, forbidden_end : iterable of labels
        Labels that may not stand at the first, or last, position of a sequence.
    strict : bool, default False
        What happens if true labels of the training data break the constraints. False: the steps
        that they take are allowed, in training and prediction, and a warning names them. True: an
        error is raised.

    Examples
    --------
    >>> import numpy as np
    >>> Constraints("iob2").barrier(np.array(["B-X", "I-X", "O"]))
    array([[  0.,   0.,   0.],
           [  0.,   0.,   0.],
           [  0., -inf,   0.],
           [  0., -inf,   0.],
           [  0.,   0.,   0.]])
    """

    scheme: str | None = None
    forbidden: tuple[tuple[Any, Any], ...] = ()
    forbidden_start: tuple[Any, ...] = ()
    forbidden_end: tuple[Any, ...] = ()
    strict: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.strict, (bool, np.bool_)):
            raise TypeError(f"Constraints: strict must be True or False, got {self.strict!r}.")
        if self.scheme is not None:
            scheme_constraints([], self.scheme)  # raises an error if it is no scheme
        pairs = []
        for i, pair in enumerate(_items("forbidden", self.forbidden)):
            if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise ValueError(
                    f"Constraints: forbidden[{i}] must be a pair (from, to), got {pair!r}."
                )
            pairs.append(tuple(pair))
        object.__setattr__(self, "forbidden", tuple(pairs))
        for name in ("forbidden_start", "forbidden_end"):
            object.__setattr__(self, name, _items(name, getattr(self, name)))

    def barrier(self, classes: np.ndarray) -> np.ndarray:
        """Return 0 where allowed and -inf where not: transitions by rows, then start, then end.

        A class that is no tag of the scheme is refused if `strict`; otherwise it may stand nowhere.
        """
        n_labels = len(classes)
        allowed = np.ones((n_labels + 2, n_labels), dtype=bool)
        if self.scheme is not None:
            try:
                start, transitions, end = scheme_constraints(
                    classes.tolist(), self.scheme, strict=self.strict
                )
            except (TypeError, ValueError) as error:
                raise type(error)(
                    f"constraints: the classes are not tags of {self.scheme!r}: {error}"
                ) from None
            allowed = np.vstack([transitions, start, end])
        code = Labels(classes).index
        for i, (a, b) in enumerate(self.forbidden):
            allowed[_code(code, a, f"forbidden[{i}]"), _code(code, b, f"forbidden[{i}]")] = False
        for i, label in enumerate(self.forbidden_start):
            allowed[n_labels, _code(code, label, f"forbidden_start[{i}]")] = False
        for i, label in enumerate(self.forbidden_end):
            allowed[n_labels + 1, _code(code, label, f"forbidden_end[{i}]")] = False
        return np.where(allowed, 0.0, -np.inf)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make equal constraints."""
        return asdict(self)


def _items(name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"Constraints: {name} must be a list, got {value!r}.")
    return tuple(value)


def _code(code: dict[Any, int], label: Any, where: str) -> int:
    if label not in code:
        raise ValueError(
            f"Constraints: {where} names {label!r}, which is no class (classes= at fit may name "
            "labels that do not occur there)."
        )
    return code[label]


def resolve_constraints(value: Any) -> Constraints | None:
    """Return what the parameter `constraints` stands for: None, a scheme's name, or the object."""
    if value is None or isinstance(value, Constraints):
        return value
    if isinstance(value, str):
        return Constraints(scheme=value)
    raise TypeError(
        f"constraints must be None, the name of a tag scheme ({', '.join(map(repr, SCHEMES))}) or "
        f"a Constraints object, got {value!r}."
    )


class Barriers(NamedTuple):
    """Constraints as compiled code reads them; None where there are none."""

    edges: np.ndarray | None  # (n_labels + 2, n_labels)
    nodes: np.ndarray | None  # (n_positions, n_labels)


def training_barriers(
    constraints: Constraints | str | None,
    read: SequenceLabels,
    offsets: np.ndarray,
    allowed: Any,
    known: np.ndarray | None,
    stacklevel: int,
) -> tuple[Barriers, np.ndarray]:
    """Return barriers that allow what true labels do, and the steps that were opened for it.

    ``known`` are the steps opened at earlier batches, None at a fit. Refuses true labels that the
    barriers forbid; ``stacklevel`` says whom a warning of opened steps is for.
    """
    constraints = resolve_constraints(constraints)
    classes = read.labels.classes
    steps = NO_STEPS if known is None else known
    edges = None
    if constraints is not None:
        edges = constraints.barrier(classes)
        if not constraints.strict:
            edges, steps = widen(
                edges, read.codes, offsets, classes, constraints.scheme, known, stacklevel + 1
            )
    barriers = Barriers(edges, node_barrier(offsets, read.labels, allowed, read.fixed))
    breach = find_breach(read.codes, offsets, classes, *barriers)
    if breach is not None:
        raise ValueError(
            f"y[{breach.sequence}][{breach.position}]: the constraints forbid the true labels: "
            f"{breach.what}."
        )
    return barriers, steps


def edge_barrier(
    constraints: Constraints | str | None, classes: np.ndarray, steps: np.ndarray
) -> np.ndarray | None:
    """Return the barrier of steps at prediction, where these steps were opened at fit."""
    constraints = resolve_constraints(constraints)
    if constraints is None:
        return None
    check_known_strangers(constraints.scheme, classes, steps)
    return with_steps(constraints.barrier(classes), steps)


def node_barrier(
    offsets: np.ndarray, labels: Labels, allowed: Any = None, fixed: np.ndarray | None = None
) -> np.ndarray | None:
    """Return 0 where a label may stand and -inf where not, one row per position; None: no limits.

    Parameters
    ----------
    offsets : array of shape (n_sequences + 1,)
    labels : Labels
    allowed : list, or None
        One entry per sequence: None (anything), a boolean array of shape (L, n_labels) in the order
        of the classes, or a list of L entries, each None or a collection of the labels allowed.
    fixed : array of shape (n_positions,), or None
        The label that must stand at each position, -1 where free.

    Examples
    --------
    >>> node_barrier(np.array([0, 2]), Labels(["a", "b"]), fixed=np.array([1, -1]))
    array([[-inf,   0.],
           [  0.,   0.]])
    """
    if allowed is None and fixed is None:
        return None
    mask = np.ones((int(offsets[-1]), len(labels)), dtype=bool)
    if allowed is not None:
        sequences = as_sequences("allowed", allowed)
        if len(sequences) != len(offsets) - 1:
            raise ValueError(
                f"allowed has {len(sequences)} entries but X has {len(offsets) - 1} sequences."
            )
        for i, entry in enumerate(sequences):
            if entry is not None:
                mask[offsets[i] : offsets[i + 1]] = _allowed_mask(entry, i, offsets, labels.index)
    if fixed is not None:
        known = np.flatnonzero(fixed >= 0)
        keep = mask[known, fixed[known]]
        mask[known] = False
        mask[known, fixed[known]] = keep
    return np.where(mask, 0.0, -np.inf)


def _allowed_mask(entry: Any, i: int, offsets: np.ndarray, code: dict[Any, int]) -> np.ndarray:
    shape = (int(offsets[i + 1] - offsets[i]), len(code))
    if isinstance(entry, np.ndarray) and entry.dtype == bool:
        if entry.shape != shape:
            raise ValueError(f"allowed[{i}] has shape {entry.shape}; expected {shape}.")
        mask = entry
    else:
        if isinstance(entry, (str, dict)) or not hasattr(entry, "__len__"):
            raise TypeError(
                f"allowed[{i}] must be None, a boolean array or a list with one entry per "
                f"position, got {entry!r}."
            )
        if len(entry) != shape[0]:
            raise ValueError(
                f"allowed[{i}] has {len(entry)} entries but X[{i}] has {shape[0]} positions."
            )
        mask = np.zeros(shape, dtype=bool)
        for t, choice in enumerate(entry):
            if choice is None:
                mask[t] = True
                continue
            where = f"allowed[{i}][{t}]"
            if isinstance(choice, (str, bytes)) or not isinstance(choice, Collection):
                raise TypeError(f"{where} must be a collection of labels or None, got {choice!r}.")
            for label in choice:
                if label not in code:
                    raise ValueError(f"{where} names {label!r}, which is no class.")
                mask[t, code[label]] = True
    if not mask.any(axis=1).all():
        t = int(np.argmin(mask.any(axis=1)))
        raise ValueError(f"allowed[{i}][{t}] allows no label.")
    return mask


class Breach(NamedTuple):
    """Where a labelling breaks the constraints: sequence, position, and how."""

    sequence: int
    position: int
    what: str


def find_breach(
    codes: np.ndarray,
    offsets: np.ndarray,
    classes: np.ndarray,
    edges: np.ndarray | None,
    nodes: np.ndarray | None,
) -> Breach | None:
    """Return the first place where labellings do something forbidden, or None.

    Unknown labels (-1) break nothing, and neither does what is next to one.
    """
    found = []
    names = classes.tolist()
    known = codes >= 0
    at = np.maximum(codes, 0)
    if nodes is not None:
        bad = known & np.isneginf(nodes[np.arange(len(codes)), at])
        found += [(row, "is not allowed there") for row in np.flatnonzero(bad)[:1]]
    if edges is not None:
        n_labels = len(classes)
        firsts, lasts = offsets[:-1], offsets[1:] - 1
        bad = known[firsts] & np.isneginf(edges[n_labels, at[firsts]])
        found += [(row, "may not start a sequence") for row in firsts[bad][:1]]
        bad = known[lasts] & np.isneginf(edges[n_labels + 1, at[lasts]])
        found += [(row, "may not end a sequence") for row in lasts[bad][:1]]
        bad = np.zeros(len(codes), dtype=bool)
        bad[1:] = known[1:] & known[:-1] & np.isneginf(edges[at[:-1], at[1:]])
        bad[firsts] = False
        for row in np.flatnonzero(bad)[:1]:
            found.append((row, f"may not follow {names[at[row - 1]]!r}"))
    if not found:
        return None
    row, what = min(found)
    return Breach(*place(offsets, row), f"{names[at[row]]!r} {what}")
