"""npz files of factor graphs, and of labelled graphs: arrays that must fit together."""

from __future__ import annotations

import io
import random

import numpy as np

from fuzz import graphs
from fuzz.kit import reading
from fuzz.targets import npz
from maxmargin.io import read_graphs

MEMORY = graphs.MEMORY


def seeds() -> list[bytes]:
    model = {
        "n_labels": np.array([2, 3, 1]),
        "unary": np.arange(6.0),
        "orders": np.array([2, 1, 3]),
        "members": np.array([1, 0, 2, 0, 1, 2], dtype=np.uint16),
        "tables": np.array([0.0, 1, 2, -np.inf, 4, 5, 1, 0, 1, 2, 3, 4, 5]),
    }
    samples = {
        "X": np.arange(8.0).reshape(4, 2),
        "n_nodes": np.array([3, 1]),
        "edges": np.array([[0, 1], [2, 1]], dtype=np.int8),
        "n_edges": np.array([2, 0], dtype=np.uint8),
        "E": np.ones((2, 1), dtype=np.float16),
        "y": np.array([0, -1, 2, 1]),
    }
    found = []
    for arrays in (model, samples):
        for save in (np.savez, np.savez_compressed):
            out = io.BytesIO()
            save(out, **arrays)
            found.append(out.getvalue())
    return found


def mutate(data: bytes, rng: random.Random) -> bytes:
    return npz.mutate(data, rng)


def run(data: bytes) -> None:
    if b"n_labels" in data[:2000]:
        graphs.use(data, "npz")
        return
    with reading(data, ".npz") as path:
        X, y = read_graphs(path)
    assert y is None or len(y) == len(X)
    for i, (features, edges, *rest) in enumerate(X):
        assert features.ndim == 2 and edges.shape == (len(edges), 2)
        assert len(edges) == 0 or 0 <= edges.min() <= edges.max() < len(features)
        assert all(len(extra) == len(edges) for extra in rest)
        assert y is None or len(y[i]) == len(features)
