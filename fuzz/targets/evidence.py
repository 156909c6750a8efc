"""Evidence files of UAI: known labels, with and without a number of samples."""

from __future__ import annotations

import random

from fuzz import texts
from fuzz.kit import reading
from maxmargin.io import read_evidence

TOKENS = (b"1", b"0", b"2 0 1 5 0", b"\n1 3 2\n")


def seeds() -> list[bytes]:
    return texts.variants("2 0 1 5 0\n", "1\n2 0 1 5 0\n", "0\n", "1 0\n", "3\n0 1\n1 0\n2 1\n")


def mutate(data: bytes, rng: random.Random) -> bytes:
    return texts.mutate(data, rng, TOKENS)


def run(data: bytes) -> None:
    with reading(data, ".evid") as path:
        found = read_evidence(path)
    assert all(type(v) is int and v >= 0 and label >= 0 for v, label in found.items())
