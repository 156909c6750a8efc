"""What a label set must satisfy: how many labels, which exclude and which imply others."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # not imported at run time: prediction by closed forms does not load HiGHS
    from maxmargin.inference.programs.labels import ProgramRow

__all__ = ["LabelConstraints"]


@dataclass(frozen=True)
class LabelConstraints:
    """Conditions on a label set.

    Parameters
    ----------
    at_least, at_most : int, and int or None for no limit
        Bounds on the number of labels that are on.
    exclusive : sequence of groups of labels
        At most one label of each group is on.
    implies : sequence of pairs (a, b) of labels
        If a is on, b is on.

    Examples
    --------
    >>> from maxmargin.inference import LabelConstraints
    >>> constraints = LabelConstraints(at_least=1, exclusive=[(0, 1)], implies=[(2, 0)])
    >>> constraints.admits([1, 0, 1]), constraints.admits([0, 1, 1])
    (True, False)
    """

    at_least: int = 0
    at_most: int | None = None
    exclusive: Sequence[Sequence[int]] = ()
    implies: Sequence[tuple[int, int]] = ()

    def __post_init__(self) -> None:
        """Check the constraints, as far as that needs no number of labels; make them tuples."""
        at_least = _count("at_least", self.at_least)
        at_most = None if self.at_most is None else _count("at_most", self.at_most)
        if at_most is not None and at_most < at_least:
            raise ValueError(f"at_most is {at_most}, less than at_least, which is {at_least}.")
        exclusive = _groups("exclusive", self.exclusive)
        for i, group in enumerate(exclusive):
            if len(group) < 2:
                raise ValueError(f"exclusive[{i}] is {group}; expected at least two labels.")
        implies = _groups("implies", self.implies)
        for i, pair in enumerate(implies):
            if len(pair) != 2:
                raise ValueError(f"implies[{i}] is {pair}; expected a pair of labels (a, b).")
        for name, value in (
            ("at_least", at_least),
            ("at_most", at_most),
            ("exclusive", exclusive),
            ("implies", implies),
        ):
            object.__setattr__(self, name, value)

    @property
    def is_empty(self) -> bool:
        """Whether every label set satisfies the constraints."""
        return self.only_counts and self.at_least == 0 and self.at_most is None

    @property
    def only_counts(self) -> bool:
        """Whether only the number of labels is constrained."""
        return not self.exclusive and not self.implies

    def check(self, n_labels: int) -> None:
        """Refuse labels outside 0 to n_labels - 1, and an `at_least` above n_labels."""
        if self.at_least > n_labels:
            raise ValueError(f"at_least is {self.at_least}, but there are {n_labels} label(s).")
        for name, groups in (("exclusive", self.exclusive), ("implies", self.implies)):
            for i, group in enumerate(groups):
                for label in group:
                    if label >= n_labels:
                        raise ValueError(
                            f"{name}[{i}] names label {label}; expected 0 to {n_labels - 1}."
                        )

    def admits(self, y: npt.ArrayLike) -> bool:
        """Whether a label vector of 0 and 1 satisfies the constraints."""
        return bool(self.admitted(np.asarray(y)[None])[0])

    def admitted(self, outputs: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        """Return, for each row of `outputs`, whether it satisfies the constraints."""
        on = outputs == 1
        n_on = on.sum(axis=1)
        good = n_on >= self.at_least
        if self.at_most is not None:
            good &= n_on <= self.at_most
        for group in self.exclusive:
            good &= on[:, list(group)].sum(axis=1) <= 1
        for a, b in self.implies:
            good &= ~on[:, a] | on[:, b]
        return good

    def rows(self, n_labels: int) -> list[ProgramRow]:
        """Return the constraints as rows of a `LabelProgram` over n_labels labels."""
        from maxmargin.inference.programs.labels import ProgramRow

        rows = []
        if self.at_least > 0 or self.at_most is not None:
            most = float(n_labels if self.at_most is None else self.at_most)
            rows.append(ProgramRow(np.ones(n_labels), None, float(self.at_least), most))
        for group in self.exclusive:
            coefs = np.zeros(n_labels)
            coefs[list(group)] = 1.0
            rows.append(ProgramRow(coefs, None, 0.0, 1.0))
        for a, b in self.implies:
            coefs = np.zeros(n_labels)
            coefs[a], coefs[b] = -1.0, 1.0
            rows.append(ProgramRow(coefs, None, 0.0, 1.0))
        return rows

    def unmet(self, most: int, n_absent: int) -> ValueError:
        """Return the error for constraints that no label set satisfies.

        The empty set satisfies all constraints but `at_least`, so the message names `at_least`. The
        others allow at most `most` labels; `n_absent` labels are scored -inf.
        """
        others = ["exclusive groups"] if self.exclusive else []
        others += ["implications"] if self.implies else []
        others += ["labels scored -inf"] if n_absent else []
        reasons = " and ".join(others)
        return ValueError(
            f"at_least is {self.at_least}, but {reasons} leave at most {most} label(s)."
        )


def _count(name: str, value: Any) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}.") from None
    if count < 0:
        raise ValueError(f"{name} must be at least 0, got {count}.")
    return count


def _groups(name: str, value: Any) -> tuple[tuple[int, ...], ...]:
    groups = []
    for i, given in enumerate(value):
        try:
            group = tuple(operator.index(label) for label in given)
        except TypeError:
            raise TypeError(f"{name}[{i}] must hold whole numbers, got {given!r}.") from None
        if any(label < 0 for label in group):
            raise ValueError(f"{name}[{i}] is {group}; expected labels from 0 on.")
        if len(set(group)) < len(group):
            raise ValueError(f"{name}[{i}] is {group}; expected different labels.")
        groups.append(group)
    return tuple(groups)
