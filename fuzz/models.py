"""Model files: what loads must predict; the seeds are tiny models of one estimator."""

from __future__ import annotations

import os
import random
import tempfile
from typing import Any

from fuzz import container
from fuzz.kit import reading

#: Words that stand in model files, so that one may take another's place.
WORDS = ("margin", "slack", "hamming", "zero_one", "sdca", "bcfw", "one_slack", "sgd", "auto",
         "converged", "max_iter", "listed", "tree", "dense", "lists", "full", "none", "ndcg", "ap",
         "MulticlassSVM", "MultilabelSVM", "ChainSVM", "RankingSVM", "csr_array", "a", "b",
         "minmax", "direct", "hull", "balanced")  # fmt: skip


def saved(*estimators: Any) -> list[bytes]:
    """Return the model files of fitted estimators."""
    files = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "seed.mm")
        for estimator in estimators:
            estimator.save(path)
            with open(path, "rb") as file:
                files.append(file.read())
    return files


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return a changed model file."""
    return container.mutate(data, rng, WORDS)


def run(data: bytes, inputs: Any) -> None:
    """Load a model, and predict with what `inputs` makes for it; only loading may be refused."""
    import maxmargin

    with reading(data, ".mm") as path:
        model = maxmargin.load(path)
    X = inputs(model)
    try:
        model.predict(X)
        model.get_params()
        repr(model)
    except ValueError as error:
        raise AssertionError(f"a model that was loaded does not predict: {error!r}") from error
