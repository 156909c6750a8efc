"""UAI files: Markov and Bayes networks."""

from __future__ import annotations

import random

from fuzz import graphs, texts

MEMORY = graphs.MEMORY
TOKENS = (
    b"MARKOV",
    b"BAYES",
    b"2 0 1",
    b"1 0",
    b"0",
    b"4\n1 0 .5 2\n",
    b"2\n.5 .5\n",
    b"3 2 1 0",
    b"0.0",
    b"1e-320",
)


def seeds() -> list[bytes]:
    return texts.variants(
        "MARKOV\n3\n2 3 2\n3\n1 0\n2 0 1\n3 2 1 0\n\n2\n.5 2\n6\n 1 0 .25\n 1 2 3\n12\n"
        + "1 " * 12
        + "\n",
        "BAYES 2 2 2 2 1 0 2 0 1 2 .25 .75 4 1 0 0.5 0.5",
        "MARKOV\n0\n\n0\n",
        "MARKOV\n2\n1 2\n1\n0\n\n1\n3\n",
    )


def mutate(data: bytes, rng: random.Random) -> bytes:
    return texts.mutate(data, rng, TOKENS)


def run(data: bytes) -> None:
    graphs.use(data, "uai")
