"""Surrogates over nets once more, trained for longer than `deep_surrogates.py` does.

There margin rescaling alone still improves in the second stage, so what learns faster looks better.
Here a chunker has more epochs in the second stage, and a parser more in both, for margin, slack,
ProbLoss and its convex version; all else is the same. Needs torch: .venv-deep/bin/python
benchmarks/run.py --only deep_converged.
"""

from __future__ import annotations

from collections.abc import Iterator

import deep_surrogates
from harness import Line


def lines() -> Iterator[Line]:
    import torch

    torch.set_num_threads(1)
    deep_surrogates.FIRST, deep_surrogates.SECOND = 5, 10
    yield from deep_surrogates.chunker()
    deep_surrogates.FIRST, deep_surrogates.SECOND = 15, 6
    yield from deep_surrogates.parser()
