"""Tags of labelled segments: their schemes, what they spell out, and where files break them.

A tag is ``"O"`` or a letter and a type, ``"B-NP"`` (the type may be missing: ``"B"``).
"""

from __future__ import annotations

from maxmargin.tags.faults import (
    SchemeMatch,
    Violation,
    check_tags,
    closest_scheme,
    describe_violations,
    detect_scheme,
    find_violations,
    is_chunk_like,
)
from maxmargin.tags.schemes import SCHEMES, is_tag, scheme_constraints
from maxmargin.tags.spans import Span, breaks_between, convert_tags, spans_to_tags, tags_to_spans

__all__ = [
    "SCHEMES",
    "SchemeMatch",
    "Span",
    "Violation",
    "breaks_between",
    "check_tags",
    "closest_scheme",
    "convert_tags",
    "describe_violations",
    "detect_scheme",
    "find_violations",
    "is_chunk_like",
    "is_tag",
    "scheme_constraints",
    "spans_to_tags",
    "tags_to_spans",
]
