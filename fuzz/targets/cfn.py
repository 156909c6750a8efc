"""CFN files: names, dense and sparse costs, sharing, rules, missing quotes."""

from __future__ import annotations

import random

from fuzz import graphs, texts

MEMORY = graphs.MEMORY
TOKENS = (
    b"scope",
    b"costs",
    b"defaultcost",
    b"type",
    b"params",
    b"mustbe",
    b"<10",
    b">-3",
    b"inf",
    b"-inf",
    b"{",
    b"}",
    b"[",
    b"]",
    b"# x\n",
    b'"',
    b"functions",
    b"[0, 1]",
    b'"f"',
)


def seeds() -> list[bytes]:
    return texts.variants(
        '{"problem": {"name": "p", "mustbe": "<10.0"},\n"variables": {"a": ["no", "yes"], '
        '"b": 2},\n'
        '"functions": {"f": {"scope": ["a"], "costs": [0.5, -1]},\n"g": {"scope": ["a", "b"], '
        '"defaultcost": 0, "costs": ["no", 0, 11]}}}',
        "{p <100}\n[[no yes] 3 2]\n[[[1] [1 2 inf]] {[0 2] 0.5 [yes 1 7 no 0 2]}]".join("{}"),
        "{problem {name p mustbe >-5} variables {a 2 b 2} functions {f {scope [a b] costs g} "
        "g {scope [b a] costs [1 2 3 4]} h {scope [a b] type < params [0 1]} "
        "n {scope [] costs [1]}}}",
    )


def mutate(data: bytes, rng: random.Random) -> bytes:
    return texts.mutate(data, rng, TOKENS)


def run(data: bytes) -> None:
    graphs.use(data, "cfn")
