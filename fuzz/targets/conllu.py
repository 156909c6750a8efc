"""CoNLL-U files: read, written and read again, and given other trees."""

from __future__ import annotations

import random

from fuzz import texts
from fuzz.kit import reading
from maxmargin.io import format_conllu, parse_conllu, read_conllu

TOKENS = (b"# text = a\n", b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n", b"1-2", b"2.1", b"_", b"\t",
          b"\n\n", b"\x0b", b"\xe2\x80\xa8", b"\xc2\xb2")  # fmt: skip
TEXT = """# text = Don't go
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\t_\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\t_
2.1\tyou\tyou\tPRON\t_\t_\t_\t_\t3:nsubj\t_
3\tgo\tgo\tVERB\t_\tMood=Imp\t0\troot\t_\tSpaceAfter=No

"""


def seeds() -> list[bytes]:
    return texts.variants(TEXT, "1\tcaf\u00e9\t_\tX\t_\t_\t_\t_\t_\t_\n")


def mutate(data: bytes, rng: random.Random) -> bytes:
    return texts.mutate(data, rng, TOKENS)


def run(data: bytes) -> None:
    with reading(data, ".conllu") as path:
        found = read_conllu(path)
    assert parse_conllu(format_conllu(found)) == found
    for sentence in found:
        heads = list(range(len(sentence)))
        again = sentence.with_arcs([(head, "r") for head in heads])
        assert again.heads == heads and len(again) == len(sentence)
