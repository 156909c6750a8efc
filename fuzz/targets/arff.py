"""ARFF files: headers, dense and sparse rows, labels by number and by name."""

from __future__ import annotations

import random
from typing import Any

from fuzz import texts
from fuzz.kit import reading

TOKENS = (b"@attribute", b"@data", b"@relation", b"{0,1}", b"{1,0}", b"{0}", b"numeric", b"real",
          b"date", b"string", b"?", b"'a b'", b'"c"', b"\\'", b"% x", b"{0 1, 2 ?}", b"{}", b"{1 1",
          b"\n@attribute d {0,1}\n", b"1,?,0,1")  # fmt: skip
MODES: tuple[dict[str, Any], ...] = (
    {},
    {"labels": 1},
    {"labels": -1, "sparse": False},
    {"labels": ["a b"], "sparse": True},
)
HEADER = "% words\n@relation r\n@attribute x numeric\n@attribute 'a b' {0,1}\n@attribute c real\n"


def seeds() -> list[bytes]:
    return texts.variants(
        HEADER.replace("c real", "c {0,1}") + "@data\n0.5,1,0\n% more\n?,0,1 % end\n'2',?,1\n",
        "@attribute x {0,1}\n@attribute 'a b' {0,1}\n@attribute c {0,1}\n@data\n{0 1, 2 1}\n{}\n",
        "@ATTRIBUTE x {1, 0}\n@attribute 'a b' INTEGER\n@attribute 'it\\'s' {0,1}\n@DATA\n1,0,1\n",
        '@attribute x {0,1}\n@attribute "a b" {0,1}\n@data\n{0 ?}\n{0 1,1 1}\n{}\n',
    )


def mutate(data: bytes, rng: random.Random) -> bytes:
    return texts.mutate(data, rng, TOKENS)


def run(data: bytes) -> None:
    import numpy as np

    from maxmargin.io import read_arff

    with reading(data, ".arff") as path:
        X, Y, label_names, feature_names = read_arff(path, **MODES[len(data) % len(MODES)])
    assert X.shape[1] == len(feature_names) == len(set(feature_names)) and X.shape[0]
    assert not np.isinf(X.data if hasattr(X, "indptr") else X).any()
    if Y is not None:
        cells = Y.toarray() if hasattr(Y, "indptr") else Y
        assert cells.shape == (X.shape[0], len(label_names)) and np.isin(cells, (-1, 0, 1)).all()
