"""Feature templates."""

from __future__ import annotations

TOKENS = (b"w[0]", b"pos[-1]", b"lower(", b"shape(", b"short_shape(", b"prefix3(", b"suffix2(",
          b")", b"|", b"bias", b"ner", b"chunking", b"c2[1]", b"# x\n", b"[", b"]",
          b"prefix0(")  # fmt: skip
SENTENCE = [("The", "DT", "x"), ("cat", "NN", "y"), ("1,200", "CD", "")]


def seeds() -> list[bytes]:
    return [
        b"w[0] pos[-1]|pos[0], suffix2(lower(w[0])) ; bias # words\nshape(w[1])",
        b"chunking w[7]",
        b"ner c2[0]",
        b"prefix3(short_shape(w[-2]))|c1[+1]|w[0]",
    ]


def run(data: bytes) -> None:
    from maxmargin.io import FeatureTemplate

    text = data.decode("utf-8", "replace")
    try:
        template = FeatureTemplate.parse(text)
    except ValueError as error:
        if "template" not in str(error) or len(str(error)) > 1000:
            raise AssertionError(str(error)[:200]) from error
        raise
    assert FeatureTemplate.parse(template.to_list()) == template
    found = template.features(SENTENCE)
    assert len(found) == 3 and all(len(row) <= len(template.templates) for row in found)
