"""DIMACS files: networks with a source and a sink."""

from __future__ import annotations

import random

from fuzz import graphs, texts

MEMORY = graphs.MEMORY
TOKENS = (b"p max 4 6", b"n 1 s", b"n 4 t", b"a 1 2 5", b"c x\n", b"\na 2 3 1\n", b"p min")


def seeds() -> list[bytes]:
    return texts.variants(
        "c w\np max 4 6\nn 1 s\nn 4 t\na 1 2 5\na 1 3 2\na 2 3 2\na 3 2 1\na 2 4 3\na 3 4 4\n",
        "p max 2 1\nn 2 s\nn 1 t\na 2 1 0.5\n",
        "p max 3 3\nn 1 s\nn 3 t\na 1 3 5\na 2 2 7\na 3 1 2\n",
    )


def mutate(data: bytes, rng: random.Random) -> bytes:
    return texts.mutate(data, rng, TOKENS)


def run(data: bytes) -> None:
    graphs.use(data, "dimacs")
