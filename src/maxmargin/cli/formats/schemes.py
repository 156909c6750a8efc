"""The scheme of a file's tags: found out, named, and the tags that break it told by their lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from maxmargin.cli import console
from maxmargin.cli.formats.base import Batch


def find_scheme(tags: Any) -> str | None:
    """Return the scheme that tags come nearest to; None if they are no tags of segments.

    Examples
    --------
    >>> find_scheme([["B-NP", "O"]]), find_scheme([["DT", "NN"]])
    ('iob2', None)
    """
    from maxmargin.tags import closest_scheme

    match = closest_scheme(tags)
    return None if match is None else match.scheme


def check_scheme(batch: Batch, scheme: str | None, strict: bool) -> list[Any]:
    """Warn of the tags of a file that break a scheme, or refuse them if `strict`.

    Returns the violations; there are none to be found without a scheme.
    """
    if scheme is None:
        if strict:
            raise ValueError(
                f"--strict: the labels of {batch.path} are no tags such as 'B-NP' and 'O', so that "
                "there is no scheme to hold them to."
            )
        return []
    return check_tags_of(batch.path, batch.y, scheme, strict, place_in(batch.source))


def check_tags_of(
    path: Path,
    tags: Any,
    scheme: str,
    strict: bool,
    place: Callable[[Any], str],
    mends: bool = False,
) -> list[Any]:
    """Warn of tags that break a scheme, or refuse them if `strict`; return the violations.

    `mends`: they are about to be written anew, so that nobody need be told how.
    """
    from maxmargin.tags import describe_violations, find_violations

    broken = find_violations(tags, scheme)
    if not broken:
        return []
    if strict:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        raise ValueError(f"{path}, {place(broken[0])}: {broken[0].reason}{more}.")
    n_tags = sum(map(len, tags))
    said = describe_violations(broken, n_tags, scheme, place)
    said = f"{path}: {said} Segments are read as conlleval reads them; --strict refuses such a file"
    if not mends:
        said += f", and `maxmargin convert {path} OUTPUT --to {scheme}` mends it"
    console.warning(f"{said}.{_better(tags, len(broken))}")
    return broken


def convert_file_tags(
    path: Path, data: Any, source: str | None, target: str, strict: bool | None
) -> tuple[str, list[list[str]], int]:
    """Return the scheme of a file's tags, the tags in another, and how many broke the first.

    Broken tags are told of; what is no tag at all is refused, since it would be lost.
    """
    from maxmargin.tags import find_violations, is_tag, spans_to_tags, tags_to_spans

    spans_to_tags([], 0, target)  # refuses what is no scheme
    tags, place = data.tags or [], place_in(data)
    source = source or find_scheme(tags) or "iob2"
    for violation in find_violations(tags, source):
        if not is_tag(tags[violation.sequence][violation.position]):
            raise ValueError(f"{path}, {place(violation)}: {violation.reason}.")
    broken = check_tags_of(path, tags, source, bool(strict), place, mends=True)
    spans = [tags_to_spans(sequence, source) for sequence in tags]
    converted = [spans_to_tags(s, len(t), target) for s, t in zip(spans, tags, strict=True)]
    return source, converted, len(broken)


def _better(tags: Any, n_broken: int) -> str:
    """Say which scheme the tags follow instead, if one is broken far less often."""
    from maxmargin.tags import closest_scheme

    match = closest_scheme(tags)
    if match is None or 10 * len(match.violations) > n_broken:
        return ""
    return f" The tags rather follow {match.scheme}."


def place_in(source: Any) -> Callable[[Any], str]:
    """Return how places are called: by line where the file has lines, else by sequence."""
    first_lines = getattr(source, "first_lines", None)

    def place(violation: Any) -> str:
        if first_lines:
            return f"line {first_lines[violation.sequence] + violation.position}"
        return f"sequence {violation.sequence}, position {violation.position}"

    return place


def readable(tags: Any) -> list[list[str]]:
    """Return tags with O in place of what is no tag at all.

    Examples
    --------
    >>> readable([["B-X", "I_X"]])
    [['B-X', 'O']]
    """
    from maxmargin.tags import is_tag

    return [[tag if is_tag(tag) else "O" for tag in sequence] for sequence in tags]
