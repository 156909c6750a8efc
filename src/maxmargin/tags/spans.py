"""Segments of tags, and tags of segments.

Reading segments off tags comes in two ways. The lenient one is that of the CoNLL shared tasks:
every non-O token belongs to some segment, and a broken sequence such as ``O I-NP`` opens one. The
strict one keeps only the segments that the scheme itself spells out. On valid tags both agree.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from maxmargin.tags.faults import check_tags, describe_violations, find_violations
from maxmargin.tags.schemes import OUTSIDE, SCHEMES, Part, may_follow, scheme_called, split_all


class Span(NamedTuple):
    """A labelled segment: positions ``start`` to ``stop - 1`` carry `type`."""

    start: int
    stop: int
    type: str


def tags_to_spans(tags: Sequence[str], scheme: str = "iob2", *, strict: bool = False) -> list[Span]:
    """Segments that a sequence of tags spells out, from left to right.

    Parameters
    ----------
    tags : sequence of str
        One sequence of tags; it need not be valid in the scheme, and may have letters of another.
    scheme : {"io", "iob1", "iob2", "bioes"}, default "iob2"
        Used only with `strict`.
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
    scheme = scheme_called(scheme)
    parts = split_all(tags)
    spans = []
    start = -1
    before = OUTSIDE
    for t, part in enumerate([*parts, OUTSIDE]):
        if before[0] != "O" and breaks_between(before, part):
            spans.append(Span(start, t, before[1]))
            start = -1
        if part[0] != "O" and start < 0:
            start = t
        before = part
    if strict:
        spans = [span for span in spans if _is_well_formed(parts, span, scheme)]
    return spans


def breaks_between(before: Part, after: Part) -> bool:
    """Tell whether a segment ends between two tags, the first not O (conlleval's rule)."""
    return after[0] in "OBS" or before[0] in "ES" or before[1] != after[1]


def _is_well_formed(parts: list[Part], span: Span, scheme: str) -> bool:
    """Whether a lenient span is one that the scheme writes so.

    The tag before the span matters only in IOB1, whose B must touch a segment of its type. The tag
    after it never matters: a B-NP before a stray I-VP is still a segment.
    """
    letters = [letter for letter, _ in parts[span.start : span.stop]]
    if not set(letters) <= set(SCHEMES[scheme]):
        return False
    if scheme == "iob2":
        return letters[0] == "B"
    if scheme == "bioes":
        return letters == ["S"] or (letters[0] == "B" and letters[-1] == "E" and len(letters) > 1)
    if scheme == "iob1" and letters[0] == "B":
        return span.start > 0 and may_follow(scheme, parts[span.start - 1], parts[span.start])
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
    scheme = scheme_called(scheme)
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


def convert_tags(
    tags: Sequence[str], source: str, target: str, *, strict: bool = False
) -> list[str]:
    """The same segments written in another scheme.

    Parameters
    ----------
    tags : sequence of str
        One sequence of tags.
    source, target : {"io", "iob1", "iob2", "bioes"}
        Converting to IO joins touching segments of one type.
    strict : bool, default False
        What to do with tags that break `source`. False: a warning names them, and they are read as
        in `tags_to_spans`. True: they are refused. A label that is no tag at all always is.

    Returns
    -------
    list of str

    Examples
    --------
    >>> convert_tags(["I-NP", "B-NP", "I-NP", "O"], "iob1", "bioes")
    ['S-NP', 'B-NP', 'E-NP', 'O']
    """
    if strict:
        check_tags(tags, source)
    spans = tags_to_spans(tags, source)
    broken = find_violations([tags], source)
    if broken:
        said = describe_violations(broken, len(tags), source, lambda v: f"position {v.position}")
        warnings.warn(
            f"{said} Segments are read as conlleval reads them.", UserWarning, stacklevel=2
        )
    return spans_to_tags(spans, len(tags), target)
