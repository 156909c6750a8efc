"""QPBO files: coefficients of a quadratic function."""

from __future__ import annotations

import random

from fuzz import graphs, texts

MEMORY = graphs.MEMORY
TOKENS = (b"1 1 -3", b"1 2 1.5", b"-3 -4", b"3 4\n", b"1e308")


def seeds() -> list[bytes]:
    return texts.variants(
        "3 4\n1 1 -3\n1 2 1.5\n2 3 -2\n3 3 1\n",
        "-2 -1\n1 2 0.5\n",
        "1 0\n",
    )


def mutate(data: bytes, rng: random.Random) -> bytes:
    return texts.mutate(data, rng, TOKENS)


def run(data: bytes) -> None:
    graphs.use(data, "qpbo")
