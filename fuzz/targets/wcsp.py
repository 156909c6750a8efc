"""WCSP files: default costs, tuples, shared functions, rules."""

from __future__ import annotations

import random

from fuzz import graphs, texts

MEMORY = graphs.MEMORY
TOKENS = (
    b"-1 >= 0 1",
    b"-1 = 1 2",
    b"disj",
    b"sdisj",
    b"-2 0 1 0 1",
    b"2 0 1 0 -1",
    b"0 4 0",
    b"salldiff",
    b"1 0 0 1\n1 5\n",
    b"100",
)


def seeds() -> list[bytes]:
    return texts.variants(
        "a 3 3 4 100\n2 3 2\n1 1 2 1\n0 5\n2 0 1 1 2\n0 2 100\n1 0 3\n2 2 0 -1 >= 0 1\n0 4 0\n",
        "b 3 2 3 9\n2 2 2\n-2 0 1 0 1\n1 1 7\n2 2 0 0 -1\n3 2 0 1 3 1\n0 1 1 -2\n",
        "c 1 1 0 1\n1\n",
    )


def mutate(data: bytes, rng: random.Random) -> bytes:
    return texts.mutate(data, rng, TOKENS)


def run(data: bytes) -> None:
    graphs.use(data, "wcsp")
