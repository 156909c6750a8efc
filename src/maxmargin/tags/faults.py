"""How well tags keep to a scheme: where they break it, and which scheme they break least.

Files that people made are rarely perfect: two tags of 200 000 break the scheme that the others
follow. So a scheme is found by the fewest faults, and the faults are told rather than refused.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from maxmargin.tags.schemes import (
    OUTSIDE,
    SCHEMES,
    foreign,
    is_tag,
    may_follow,
    scheme_called,
    split,
)

#: The share of labels that must be written as tags for a file to be one of segments.
CHUNK_LIKE = 0.95
#: The largest share of the tags other than O that may break the scheme that `detect_scheme` names.
FEW = 0.05
_MOST_REASONS, _MOST_PLACES = 3, 5  # how many of them a message names


class Violation(NamedTuple):
    """A tag that breaks a scheme: where it stands, and why."""

    sequence: int
    position: int
    reason: str


def _fault(scheme: str, before: str | None, tag: str | None) -> str | None:
    """Say what is wrong with a tag after another; None at both ends of a sequence."""
    if tag is not None:
        try:
            part = split(tag)
        except ValueError as error:
            return str(error).removesuffix(".")
        if part[0] not in SCHEMES[scheme]:
            return foreign(tag, scheme)
    parts = [split(each) if is_tag(each) else OUTSIDE for each in (before or "O", tag or "O")]
    if may_follow(scheme, *parts):
        return None
    if tag is None:
        return f"{str(before)!r} may not end a sequence in {scheme}"
    place = "the start" if before is None else repr(str(before))
    return f"{str(tag)!r} may not follow {place} in {scheme}"


def find_violations(sequences: Iterable[Sequence[Any]], scheme: str) -> list[Violation]:
    """Find every tag that breaks a scheme, in the order in which they stand.

    A label that is no tag at all breaks the scheme too; its neighbours see it as O.

    Parameters
    ----------
    sequences : iterable of sequences of str
    scheme : {"io", "iob1", "iob2", "bioes"}

    Returns
    -------
    list of Violation
        ``(sequence, position, reason)``, at most one for each tag.

    Examples
    --------
    >>> find_violations([["O", "B-X"], ["I-X", "B-X"]], "iob1")
    [Violation(sequence=0, position=1, reason="'B-X' may not follow 'O' in iob1")]
    """
    scheme = scheme_called(scheme)
    found = []
    seen: dict[tuple[str | None, str], str | None] = {}
    for i, tags in enumerate(sequences):
        before, reason = None, None
        for t, tag in enumerate(tags):
            if not isinstance(tag, str):
                what = f"a tag must be a string such as 'B-NP' or 'O', got {tag!r}."
                raise TypeError(f"sequence {i}, position {t}: {what}")
            step = before, tag
            if step not in seen:
                seen[step] = _fault(scheme, before, tag)
            reason = seen[step]
            if reason is not None:
                found.append(Violation(i, t, reason))
            before = tag
        if before is not None and reason is None:
            reason = _fault(scheme, before, None)
            if reason is not None:
                found.append(Violation(i, len(tags) - 1, reason))
    return found


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
    for violation in find_violations([tags], scheme):
        raise ValueError(f"position {violation.position}: {violation.reason}.")


class SchemeMatch(NamedTuple):
    """The scheme that tags come nearest to, and where they break it.

    Attributes
    ----------
    scheme : str
    violations : list of Violation
    n_tags, n_inside : int
        How many tags there are, and how many of them are not O.
    """

    scheme: str
    violations: list[Violation]
    n_tags: int
    n_inside: int


def is_chunk_like(labels: Iterable[Any]) -> bool:
    """Tell whether labels are tags of segments: at least 95 % of them are written as tags are.

    Examples
    --------
    >>> is_chunk_like(["O", "B-NP", "I-NP"]), is_chunk_like(["DT", "NN"]), is_chunk_like([1, 2])
    (True, False, False)
    """
    labels = list(labels)
    if not all(isinstance(label, str) for label in labels):
        return False
    counts = Counter(labels)
    n_tags = sum(n for label, n in counts.items() if is_tag(label))
    return n_tags >= CHUNK_LIKE * sum(counts.values())


def closest_scheme(sequences: Iterable[Sequence[str]]) -> SchemeMatch | None:
    """Find the scheme that tags break least often; None if they are not tags of segments.

    They are if at least 95 % of them are "O" or one of B, I, E, S with or without a type. Where
    schemes tie, the one that says most about boundaries is taken: with E or S it is BIOES, with B
    it is IOB2, with only I it is IO, with only O it is IOB2.

    Parameters
    ----------
    sequences : iterable of sequences of str
        All the tags of a file, a sequence each.

    Examples
    --------
    >>> match = closest_scheme([["I-NP", "B-NP"], ["O", "I-VP", "O", "B-VP"]])
    >>> match.scheme, match.violations[0].reason
    ('iob1', "'B-VP' may not follow 'O' in iob1")
    >>> closest_scheme([["DT", "NN"]]) is None
    True
    """
    sequences = list(sequences)
    everything = [tag for tags in sequences for tag in tags]
    if not is_chunk_like(everything):
        return None
    counts = Counter(everything)
    letters = {split(tag)[0] for tag in counts if is_tag(tag)}
    candidates = ["iob2", "iob1"]
    if letters <= {"I", "O"} and "I" in letters:
        candidates = ["io"]
    elif letters & {"E", "S"}:
        candidates = ["bioes", *candidates]
    n_tags = sum(counts.values())
    n_inside = n_tags - counts["O"]
    matches = [
        SchemeMatch(scheme, find_violations(sequences, scheme), n_tags, n_inside)
        for scheme in candidates
    ]
    return min(matches, key=lambda match: len(match.violations))  # of equals the first


def detect_scheme(sequences: Iterable[Sequence[str]], *, strict: bool = False) -> str:
    """Name the scheme that tags follow, but for a few that a warning names.

    Where several fit, the one that says most about boundaries is taken, see `closest_scheme`.

    Parameters
    ----------
    sequences : iterable of sequences of str
        All the tags of a file, one sequence of tags per sentence.
    strict : bool, default False
        False: up to 5 % of the tags other than O may break the scheme. True: none may.

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
    match = closest_scheme(sequences)
    if match is None:
        violation = next(v for v in find_violations(sequences, "bioes") if "not a tag" in v.reason)
        raise ValueError(f"{_place(violation)}: {violation.reason}.")
    broken = match.violations
    if not broken:
        return match.scheme
    if strict or len(broken) > FEW * match.n_inside:
        candidates = [match.scheme] if match.scheme in ("bioes", "io") else ["iob2", "iob1"]
        firsts = [find_violations(sequences, scheme)[0] for scheme in candidates]
        reasons = " ".join(f"{_place(first)}: {first.reason}." for first in firsts)
        raise ValueError(f"the tags fit no scheme: {reasons}")
    said = describe_violations(broken, match.n_tags, match.scheme)
    warnings.warn(f"{said} The others follow it.", UserWarning, stacklevel=2)
    return match.scheme


def _place(violation: Violation) -> str:
    return f"sequence {violation.sequence}, position {violation.position}"


def describe_violations(
    violations: Sequence[Violation],
    n_tags: int,
    scheme: str,
    place: Callable[[Violation], str] = _place,
) -> str:
    """Say in one sentence how many tags break a scheme, how, and where the first stand.

    Parameters
    ----------
    violations : sequence of Violation, at least one
    n_tags : int
        How many tags there are in all.
    scheme : str
    place : callable
        Returns how a place is called, such as "line 12".

    Examples
    --------
    >>> broken = find_violations([["O", "B-X"], ["I-X", "B-X"]], "iob1")
    >>> describe_violations(broken, 4, "iob1")
    "1 of 4 tags breaks iob1: 'B-X' may not follow 'O' in iob1 (sequence 0, position 1)."
    """
    by_reason: dict[str, list[Violation]] = {}
    for violation in violations:
        by_reason.setdefault(violation.reason, []).append(violation)
    groups = sorted(by_reason.items(), key=lambda group: -len(group[1]))
    said = []
    for reason, group in groups[:_MOST_REASONS]:
        places = ", ".join(place(violation) for violation in group[:_MOST_PLACES])
        more = f" and {len(group) - _MOST_PLACES} more" if len(group) > _MOST_PLACES else ""
        said.append(f"{reason} ({places}{more})")
    if len(groups) > _MOST_REASONS:
        n_more = sum(len(group) for _, group in groups[_MOST_REASONS:])
        said.append(f"{n_more} more of {len(groups) - _MOST_REASONS} other kinds")
    verb = "breaks" if len(violations) == 1 else "break"
    return f"{len(violations)} of {n_tags} tags {verb} {scheme}: {'; '.join(said)}."
