"""Surrogates over a BiLSTM chunker once more, trained until margin rescaling gains no more.

`deep_surrogates.py` trains for a few epochs, in which margin rescaling alone still improves: what
learns faster then looks better. Here the second stage has SECOND epochs instead, for margin,
ProbLoss and its convex version; all else is the same. Needs torch: .venv-deep/bin/python
benchmarks/run.py --only deep_converged.
"""

from __future__ import annotations

from collections.abc import Iterator

import deep_surrogates
from harness import Line

SECOND = 15


def lines() -> Iterator[Line]:
    import torch

    torch.set_num_threads(1)
    deep_surrogates.SECOND = SECOND
    del deep_surrogates.SURROGATES["slack"]
    yield from deep_surrogates.chunker()
