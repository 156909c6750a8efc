"""The schemes IO, IOB1, IOB2 and BIOES: which letters exist, and which tag may follow which.

That one relation, :func:`may_follow`, gives the validation, the detection and the transition
constraints alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCHEMES: dict[str, str] = {"io": "IO", "iob1": "BIO", "iob2": "BIO", "bioes": "BIOES"}
"""The schemes by name, with their letters."""

_ALIASES = {"bio": "iob2", "iob": "iob1", "iobes": "bioes"}

Part = tuple[str, str]
OUTSIDE: Part = ("O", "")


def scheme_called(name: str) -> str:
    """Return the key of `SCHEMES` that a name stands for; case does not matter."""
    if not isinstance(name, str):
        raise TypeError(f"scheme must be a string, got {type(name).__name__}.")
    key = name.lower()
    key = _ALIASES.get(key, key)
    if key not in SCHEMES:
        raise ValueError(f"scheme={name!r} is unknown. There are: {', '.join(SCHEMES)}.")
    return key


@lru_cache(maxsize=4096)
def split(tag: str) -> Part:
    """Return letter and type of a tag, of whatever scheme."""
    if not isinstance(tag, str):
        raise TypeError(f"a tag must be a string such as 'B-NP' or 'O', got {tag!r}.")
    letter, dash, kind = tag.partition("-")
    if letter == "O" and not dash:
        return OUTSIDE
    if letter in ("B", "I", "E", "S") and (kind or not dash):
        return letter, kind
    raise ValueError(f"{str(tag)!r} is not a tag: expected 'O', or one of B, I, E, S with '-type'.")


def split_all(tags: Sequence[str], scheme: str | None = None) -> list[Part]:
    """Return letter and type of every tag; refused, with its position, if not of the scheme."""
    parts = []
    for t, tag in enumerate(tags):
        try:
            part = split(tag)
        except (TypeError, ValueError) as error:
            raise type(error)(f"position {t}: {error}") from None
        if scheme is not None and part[0] not in SCHEMES[scheme]:
            raise ValueError(f"position {t}: {foreign(tag, scheme)}.")
        parts.append(part)
    return parts


def foreign(tag: str, scheme: str) -> str:
    """Say that the letter of a tag is none of the scheme's."""
    return f"{str(tag)!r} is not a tag of {scheme}, whose letters are {SCHEMES[scheme]}"


def is_tag(label: Any, scheme: str | None = None) -> bool:
    """Tell whether a label is written as tags are, with a letter of the scheme if one is named.

    Examples
    --------
    >>> is_tag("B-NP"), is_tag("NN"), is_tag("E-NP", "iob2"), is_tag(None)
    (True, False, False, False)
    """
    try:
        letter, _ = split(label)
    except (TypeError, ValueError):
        return False
    return scheme is None or letter in SCHEMES[scheme_called(scheme)]


def may_follow(scheme: str, before: Part, after: Part) -> bool:
    """Tell whether `after` may follow `before`; both ends of a sequence count as O."""
    letter, kind = after
    if scheme == "iob2":
        return letter != "I" or (before[0] != "O" and before[1] == kind)
    if scheme == "iob1":
        # In IOB1, B stands only between two touching segments of one type.
        return letter != "B" or (before[0] != "O" and before[1] == kind)
    if scheme == "bioes":
        is_open = before[0] in "BI"
        if is_open:
            return letter in "IE" and before[1] == kind
        return letter in "OBS"
    return True


def scheme_constraints(
    labels: Sequence[str], scheme: str, *, strict: bool = True
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which labels may start, follow one another and end, in a scheme.

    Parameters
    ----------
    labels : sequence of str
        The tags, in the order of the model's labels.
    scheme : {"io", "iob1", "iob2", "bioes"}
    strict : bool, default True
        True refuses labels that are no tags of the scheme. False allows them nowhere.

    Returns
    -------
    allowed_start : ndarray of bool, shape (n_labels,)
    allowed_transitions : ndarray of bool, shape (n_labels, n_labels)
        ``[a, b]``: label b may follow label a.
    allowed_end : ndarray of bool, shape (n_labels,)

    Examples
    --------
    >>> start, transitions, end = scheme_constraints(["B-NP", "I-NP", "O"], "iob2")
    >>> start
    array([ True, False,  True])
    >>> transitions
    array([[ True,  True,  True],
           [ True,  True,  True],
           [ True, False,  True]])
    """
    scheme = scheme_called(scheme)
    own = np.array([is_tag(label, scheme) for label in labels], dtype=bool)
    if strict or own.all():
        try:
            parts = split_all(labels, scheme)
        except (TypeError, ValueError) as error:
            raise type(error)(f"labels, {error}") from None
    else:
        parts = [split(a) if is_own else OUTSIDE for a, is_own in zip(labels, own, strict=True)]
    start = np.array([may_follow(scheme, OUTSIDE, b) for b in parts], dtype=bool)
    end = np.array([may_follow(scheme, a, OUTSIDE) for a in parts], dtype=bool)
    pairs = np.array([[may_follow(scheme, a, b) for b in parts] for a in parts], dtype=bool)
    pairs = pairs.reshape(len(parts), len(parts))
    return start & own, pairs & own & own[:, None], end & own
