"""svmlight files: classes, label sets, rankings; indices from 0 or from 1."""

from __future__ import annotations

import random
from typing import Any

from fuzz import texts
from fuzz.kit import reading

TOKENS = (b"qid:3", b"1:1", b"0:1", b"2:nan", b"3:-1e9", b"1,2", b"qid:", b"# x", b"\n1 1:1\n",
          b"134217729:1", b"99999999999:1", b"1:inf")  # fmt: skip
#: Which reader, and with which options: by the length of the input.
MODES: tuple[dict[str, Any], ...] = (
    {},
    {"multilabel": True},
    {"zero_based": True},
    {"n_features": 4},
    {"queries": True},
    {"queries": True, "n_features": 3, "zero_based": False},
)


def seeds() -> list[bytes]:
    return texts.variants(
        "1 1:0.5 3:2 # words\n-1 2:1e-3\n\n0 4:7\n",
        "2 qid:1 1:0.5 2:0\n0 qid:1 2:1\n1 qid:7 1:3 3:nan\n",
        "0.5 0:1 2:-3\n2 1:1\n",
        "0,2 1:1\n 2:1\n1 3:4 4:5\n",
        "1 1:1\n" * 40,
    )


def mutate(data: bytes, rng: random.Random) -> bytes:
    return texts.mutate(data, rng, TOKENS)


def run(data: bytes) -> None:
    import numpy as np

    from maxmargin.io import read_rankings, read_svmlight

    options = dict(MODES[len(data) % len(MODES)])
    queries = options.pop("queries", False)
    with reading(data, ".svm") as path:
        X, y, *rest = (read_rankings if queries else read_svmlight)(path, **options)
    # What is read can be computed with.
    X.check_format(full_check=True)
    n = X.shape[0]
    assert n and len(y) == n and not np.isinf(X.data).any()
    assert X.shape[1] <= 1 << 31 and X.has_canonical_format
    if options.get("multilabel"):
        assert all(type(label) is int and -(2**63) <= label < 2**63 for s in y for label in s)
    else:
        assert y.dtype in (np.int64, np.float64) and np.isfinite(y).all()
    if queries:
        assert rest[0].dtype == np.int64 and len(rest[0]) == n and (y >= 0).all()
