"""Checkpoints: one that is taken up must go on, and prove nothing that is not so."""

from __future__ import annotations

import math
import os
import random
import tempfile
from typing import Any

from fuzz import container
from fuzz.kit import reading

#: Words that stand in checkpoints.
WORDS = ("bcfw", "sdca", "one_slack", "n_slack", "sgd", "perceptron", "converged", "max_iter", "",
         "patience", "oracle_bound", "PCG64", "margin", "auto", "interrupted")  # fmt: skip


class Case:
    """An estimator, its examples, and the optimum that no dual may be above.

    Parameters
    ----------
    make : function of keyword arguments, which returns an estimator
    X, Y : its examples
    n_passes : passes before the checkpoints; the runs that are taken up make two more
    """

    def __init__(self, make: Any, X: Any, Y: Any, n_passes: int = 3) -> None:
        self.make, self.X, self.Y, self.n_passes = make, X, Y, n_passes
        self.optimum = math.inf

    def seeds(self) -> list[bytes]:
        """Return checkpoints after the first and the last pass."""
        from maxmargin import Checkpoint

        best = self.make(tol=1e-9, max_iter=2000).fit(self.X, self.Y).result_
        self.optimum = best.primal if math.isfinite(best.primal) else math.inf
        files = []
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "seed.mm")
            for n in (1, self.n_passes):
                callbacks = [Checkpoint(path, every=n)]
                self.make(tol=1e-3, max_iter=n).fit(self.X, self.Y, callbacks=callbacks)
                with open(path, "rb") as file:
                    files.append(file.read())
        return files

    def run(self, data: bytes) -> None:
        """Take up a run; its bounds must hold."""
        with reading(data, ".mm") as path:
            estimator = self.make(tol=1e-3, max_iter=self.n_passes + 2)
            result = estimator.fit(self.X, self.Y, resume=path).result_
        estimator.predict(self.X)
        room = 1e-5 * (1.0 + abs(self.optimum))
        if result.dual > self.optimum + room or result.primal < result.dual - room:
            raise AssertionError(
                f"primal {result.primal}, dual {result.dual}, but the optimum is {self.optimum}"
            )


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return a changed checkpoint."""
    return container.mutate(data, rng, WORDS)
