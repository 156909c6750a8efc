"""Tags: their scheme, what they spell out, and other schemes. One sequence a line."""

from __future__ import annotations

TOKENS = (b"B-NP", b"I-NP", b"E-NP", b"S-NP", b"L-X", b"U-X", b"O", b"B", b"I", b"-", b"B-", b"o",
          b"B-a-b", b"\n", b" ")  # fmt: skip


def seeds() -> list[bytes]:
    return [
        b"B-NP I-NP O B-VP\nO O B-NP",
        b"I-NP I-NP O I-VP B-VP",
        b"B-NP E-NP S-VP O\nS-NP",
        b"B I O B",
        b"I-A I-B O",
    ]


def run(data: bytes) -> None:
    from maxmargin.io import (
        SCHEMES,
        check_tags,
        convert_tags,
        detect_scheme,
        spans_to_tags,
        tags_to_spans,
    )

    lines = data.decode("utf-8", "replace").split("\n")
    sequences = [line.split() for line in lines if line.split()]
    scheme = detect_scheme(sequences)
    assert scheme in SCHEMES
    for tags in sequences[:20]:
        spans = tags_to_spans(tags, scheme)
        assert all(0 <= span.start < span.stop <= len(tags) for span in spans)
        if scheme != "io":
            written = spans_to_tags(spans, len(tags), "iob2")
            check_tags(written, "iob2")
            assert tags_to_spans(written, "iob2") == spans
        assert len(convert_tags(tags, scheme, "io")) == len(tags)
