"""Mulan's lists of labels: encodings, entities, nesting."""

from __future__ import annotations

import random

from fuzz import texts
from fuzz.kit import reading

TOKENS = (b"<label", b"</label>", b'name="', b"<labels>", b"</labels>", b"/>", b"<!DOCTYPE a [",
          b'<!ENTITY x "y">', b"&x;", b"&#0;", b"&#55296;", b"&amp;", b"<![CDATA[", b"]]>", b"<!--",
          b"-->", b'encoding="latin-1"', b'encoding="utf-16"', b'encoding="punycode"', b"<?xml ",
          b'encoding="hex"', b"xmlns:a=", b"a:label")  # fmt: skip


def seeds() -> list[bytes]:
    head = '<?xml version="1.0" encoding="{}"?>\n'
    body = '<labels xmlns="http://mulan.sourceforge.net/labels">\n<label name="a&amp;b"></label>\n'
    nested = '<label name="c"><label name="\u00e9"/></label></labels>\n'
    whole = body + nested
    other = [(head.format(name) + whole).encode(name) for name in ("latin-1", "utf-16", "cp1252")]
    return texts.variants(head.format("utf-8") + whole, whole) + other


def mutate(data: bytes, rng: random.Random) -> bytes:
    return texts.mutate(data, rng, TOKENS)


def run(data: bytes) -> None:
    from maxmargin.io import read_label_list

    with reading(data, ".xml") as path:
        names = read_label_list(path)
    assert names and all(names) and len(set(names)) == len(names)
    str(names).encode()
