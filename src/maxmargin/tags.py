"""Tag schemes for labelled segments: IO, IOB1, IOB2 and BIOES.

A tag is ``"O"`` or a letter and a type, ``"B-NP"`` (the type may be missing: ``"B"``). A scheme
says which letters exist and which tag may follow which; that one relation, :func:`_may_follow`,
gives the validation, the detection and the transition constraints alike.

Reading segments off tags comes in two ways. The lenient one is that of the CoNLL shared tasks:
every non-O token belongs to some segment, and a broken sequence such as ``O I-NP`` opens one. The
strict one keeps only the segments that the scheme itself spells out. On valid tags both agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "SCHEMES",
    "Span",
    "check_tags",
    "convert_tags",
    "detect_scheme",
    "scheme_constraints",
    "spans_to_tags",
    "tags_to_spans",
]

SCHEMES: dict[str, str] = {"io": "IO", "iob1": "BIO", "iob2": "BIO", "bioes": "BIOES"}
"""The schemes by name, with their letters."""

_ALIASES = {"bio": "iob2", "iob": "iob1", "iobes": "bioes"}
_OUTSIDE = ("O", "")


class Span(NamedTuple):
    """A labelled segment: positions ``start`` to ``stop - 1`` carry `type`."""

    start: int
    stop: int
    type: str


def _scheme(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"scheme must be a string, got {type(name).__name__}.")
    key = name.lower()
    key = _ALIASES.get(key, key)
    if key not in SCHEMES:
        raise ValueError(f"scheme={name!r} is unknown. There are: {', '.join(SCHEMES)}.")
    return key


@lru_cache(maxsize=4096)
def _split(tag: str) -> tuple[str, str]:
    """Letter and type of a tag, of whatever scheme."""
    if not isinstance(tag, str):
        raise TypeError(f"a tag must be a string such as 'B-NP' or 'O', got {tag!r}.")
    letter, dash, kind = tag.partition("-")
    if letter == "O" and not dash:
        return _OUTSIDE
    if letter in ("B", "I", "E", "S") and (kind or not dash):
        return letter, kind
    raise ValueError(f"{tag!r} is not a tag: expected 'O', or one of B, I, E, S with '-type'.")


def _split_all(tags: Sequence[str], scheme: str) -> list[tuple[str, str]]:
    letters = SCHEMES[scheme]
    parts = []
    for t, tag in enumerate(tags):
        try:
            part = _split(tag)
        except (TypeError, ValueError) as error:
            raise type(error)(f"position {t}: {error}") from None
        if part[0] not in letters:
            raise ValueError(
                f"position {t}: {tag!r} is not a tag of {scheme}, whose letters are {letters}."
            )
        parts.append(part)
    return parts


def _may_follow(scheme: str, before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether `after` may follow `before`; both ends of a sequence count as O."""
    letter, kind = after
    if scheme == "iob2":
        return letter != "I" or (before[0] != "O" and before[1] == kind)
    if scheme == "iob1":
        # B only parts two touching segments of one type.
        return letter != "B" or (before[0] != "O" and before[1] == kind)
    if scheme == "bioes":
        is_open = before[0] in "BI"
        if is_open:
            return letter in "IE" and before[1] == kind
        return letter in "OBS"
    return True


def _first_break(parts: list[tuple[str, str]], scheme: str) -> int | None:
    """Position of the first tag that may not follow the one before; len(parts): a bad end."""
    before = _OUTSIDE
    for t, part in enumerate(parts):
        if not _may_follow(scheme, before, part):
            return t
        before = part
    return None if _may_follow(scheme, before, _OUTSIDE) else len(parts)


def check_tags(tags: Sequence[str], scheme: str) -> None:
    """Raise ValueError, naming the position, unless `tags` is valid in `scheme`.

    Parameters
    ----------
    tags : sequence of str
        One sequence of tags.
    scheme : {"io", "iob1", "iob2", "bioes"}
        Case does not matter; "bio" is IOB2 and "iobes" is BIOES.

    Examples
    --------
    >>> check_tags(["B-NP", "I-NP", "O"], "iob2")
    >>> check_tags(["O", "I-NP"], "iob2")
    Traceback (most recent call last):
        ...
    ValueError: position 1: 'I-NP' may not follow 'O' in iob2.
    """
    scheme = _scheme(scheme)
    t = _first_break(_split_all(tags, scheme), scheme)
    if t is None:
        return
    before = repr(tags[t - 1]) if t else "the start"
    if t == len(tags):
        raise ValueError(f"position {t - 1}: {before} may not end a sequence in {scheme}.")
    raise ValueError(f"position {t}: {str(tags[t])!r} may not follow {before} in {scheme}.")


def detect_scheme(sequences: Iterable[Sequence[str]]) -> str:
    """Name the scheme in which every one of `sequences` is valid.

    Where several fit, the one that says most about boundaries is taken: with E or S it is BIOES,
    with B it is IOB2 where that fits and else IOB1, with only I it is IO, with only O it is IOB2.

    Parameters
    ----------
    sequences : iterable of sequences of str
        All the tags of a file, a sequence each.

    Returns
    -------
    str
        A key of `SCHEMES`.

    Examples
    --------
    >>> detect_scheme([["B-NP", "I-NP"], ["O", "B-VP"]])
    'iob2'
    >>> detect_scheme([["I-NP", "B-NP"], ["O", "I-VP"]])
    'iob1'
    """
    sequences = list(sequences)
    parts = []
    for i, tags in enumerate(sequences):
        try:
            parts.append(_split_all(tags, "bioes"))
        except (TypeError, ValueError) as error:
            raise type(error)(f"sequence {i}, {error}") from None
    letters = {letter for sequence in parts for letter, _ in sequence}
    if letters <= {"I", "O"} and "I" in letters:
        return "io"
    candidates = ["bioes"] if letters & {"E", "S"} else ["iob2", "iob1"]
    reasons = []
    for scheme in candidates:
        bad = next((i for i, p in enumerate(parts) if _first_break(p, scheme) is not None), None)
        if bad is None:
            return scheme
        try:
            check_tags(sequences[bad], scheme)
        except ValueError as error:
            reasons.append(f"sequence {bad}, {error}")
    raise ValueError("the tags fit no scheme: " + " ".join(reasons))


def tags_to_spans(tags: Sequence[str], scheme: str = "iob2", *, strict: bool = False) -> list[Span]:
    """Segments that a sequence of tags spells out, from left to right.

    Parameters
    ----------
    tags : sequence of str
        One sequence of tags; it need not be valid.
    scheme : {"io", "iob1", "iob2", "bioes"}, default "iob2"
    strict : bool, default False
        False: the convention of the CoNLL evaluation, in which every token other than O lies in a
        segment, however broken the sequence. True: only segments written as the scheme wants them.

    Returns
    -------
    list of Span
        ``(start, stop, type)``, stop excluded.

    Examples
    --------
    >>> tags_to_spans(["B-NP", "I-NP", "O", "I-VP"])
    [Span(start=0, stop=2, type='NP'), Span(start=3, stop=4, type='VP')]
    >>> tags_to_spans(["B-NP", "I-NP", "O", "I-VP"], strict=True)
    [Span(start=0, stop=2, type='NP')]
    """
    scheme = _scheme(scheme)
    parts = _split_all(tags, scheme)
    spans = []
    start = -1
    before = _OUTSIDE
    for t, part in enumerate([*parts, _OUTSIDE]):
        if before[0] != "O" and _breaks_between(before, part):
            spans.append(Span(start, t, before[1]))
            start = -1
        if part[0] != "O" and start < 0:
            start = t
        before = part
    if strict:
        spans = [span for span in spans if _is_well_formed(parts, span, scheme)]
    return spans


def _breaks_between(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether a segment ends between two tags, the first of which is not O (conlleval's rule)."""
    return after[0] in "OBS" or before[0] in "ES" or before[1] != after[1]


def _is_well_formed(parts: list[tuple[str, str]], span: Span, scheme: str) -> bool:
    """Whether a lenient span is one that the scheme writes so.

    What stands before the span matters only to IOB1, whose B must touch a segment of its type.
    What stands after never does: a B-NP before a stray I-VP is still a segment.
    """
    letters = [letter for letter, _ in parts[span.start : span.stop]]
    if scheme == "iob2":
        return letters[0] == "B"
    if scheme == "bioes":
        return letters == ["S"] or (letters[0] == "B" and letters[-1] == "E" and len(letters) > 1)
    if scheme == "iob1" and letters[0] == "B":
        return span.start > 0 and _may_follow(scheme, parts[span.start - 1], parts[span.start])
    return True


def spans_to_tags(spans: Iterable[Span | tuple[int, int, str]], n: int, scheme: str) -> list[str]:
    """Tags of `n` positions that spell out `spans`.

    Parameters
    ----------
    spans : iterable of (start, stop, type)
        In any order; they must not overlap. In IO two touching spans of one type become one, since
        that scheme cannot write them apart.
    n : int
        Number of positions.
    scheme : {"io", "iob1", "iob2", "bioes"}

    Returns
    -------
    list of str

    Examples
    --------
    >>> spans_to_tags([(0, 2, "NP"), (2, 3, "NP")], 4, "bioes")
    ['B-NP', 'E-NP', 'S-NP', 'O']
    >>> spans_to_tags([(0, 2, "NP"), (2, 3, "NP")], 4, "iob1")
    ['I-NP', 'I-NP', 'B-NP', 'O']
    """
    scheme = _scheme(scheme)
    tags = ["O"] * n
    end, end_type = 0, None
    for start, stop, kind in sorted(spans):
        if not 0 <= start < stop <= n:
            raise ValueError(f"span ({start}, {stop}, {kind!r}) does not lie within {n} positions.")
        if start < end:
            raise ValueError(
                f"span ({start}, {stop}, {kind!r}) overlaps the one that ends at {end}."
            )
        touches = start == end and kind == end_type
        letters = _letters(scheme, stop - start, touches)
        tags[start:stop] = [f"{letter}-{kind}" if kind else letter for letter in letters]
        end, end_type = stop, kind
    return tags


def _letters(scheme: str, length: int, touches: bool) -> str:
    """Letters of one segment; `touches`: one of the same type ends where it starts."""
    if scheme == "bioes":
        return "S" if length == 1 else "B" + "I" * (length - 2) + "E"
    first = "B" if scheme == "iob2" or (scheme == "iob1" and touches) else "I"
    return first + "I" * (length - 1)


def convert_tags(tags: Sequence[str], source: str, target: str) -> list[str]:
    """The same segments written in another scheme.

    Parameters
    ----------
    tags : sequence of str
        Valid in `source`; anything else is refused, with its position.
    source, target : {"io", "iob1", "iob2", "bioes"}
        Converting to IO joins touching segments of one type.

    Returns
    -------
    list of str

    Examples
    --------
    >>> convert_tags(["I-NP", "B-NP", "I-NP", "O"], "iob1", "bioes")
    ['S-NP', 'B-NP', 'E-NP', 'O']
    """
    check_tags(tags, source)
    return spans_to_tags(tags_to_spans(tags, source), len(tags), target)


def scheme_constraints(
    labels: Sequence[str], scheme: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which labels may start, follow one another and end, in a scheme.

    Parameters
    ----------
    labels : sequence of str
        The tags, in the order of the model's labels.
    scheme : {"io", "iob1", "iob2", "bioes"}

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
    scheme = _scheme(scheme)
    try:
        parts = _split_all(labels, scheme)
    except (TypeError, ValueError) as error:
        raise type(error)(f"labels, {error}") from None
    start = np.array([_may_follow(scheme, _OUTSIDE, b) for b in parts], dtype=bool)
    end = np.array([_may_follow(scheme, a, _OUTSIDE) for a in parts], dtype=bool)
    pairs = [[_may_follow(scheme, a, b) for b in parts] for a in parts]
    return start, np.array(pairs, dtype=bool).reshape(len(parts), len(parts)), end
