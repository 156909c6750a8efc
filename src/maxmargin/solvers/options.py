"""Options of solvers, refused by name where they are of another kind than was declared."""

from __future__ import annotations

from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np

#: By annotation: what a value must be, and how to say so. Annotations that are not here, as a
#: user's solver may have, are not looked at.
_KINDS: dict[str, tuple[Any, str]] = {
    "bool": ((bool, np.bool_), "True or False"),
    "int": (Integral, "an integer"),
    "float": (Real, "a number"),
    "str": (str, "a name"),
    "None": (type(None), "None"),
}


def check_kinds(solver: Any) -> None:
    """Refuse an option of a dataclass that is of none of the types in its annotation.

    Examples
    --------
    >>> from maxmargin.solvers import PartialLinearization
    >>> PartialLinearization(tau="0.1")
    Traceback (most recent call last):
    TypeError: PartialLinearization: tau must be a number, got '0.1'.
    """
    for field in fields(solver):
        kinds = str(getattr(field.type, "__name__", field.type)).split(" | ")
        value = getattr(solver, field.name)
        if not set(kinds) <= _KINDS.keys() or any(_is(value, kind) for kind in kinds):
            continue
        wanted = " or ".join(_KINDS[kind][1] for kind in kinds)
        # A number that is not whole is of the right type, and no right value.
        refusal = ValueError if "int" in kinds and _is(value, "float") else TypeError
        raise refusal(f"{type(solver).__name__}: {field.name} must be {wanted}, got {value!r}.")


def _is(value: Any, kind: str) -> bool:
    """Tell whether a value is of a kind; True and False are no numbers."""
    is_bool = isinstance(value, (bool, np.bool_))
    return isinstance(value, _KINDS[kind][0]) and (kind == "bool" or not is_bool)
