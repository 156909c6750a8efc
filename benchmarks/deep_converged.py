"""Surrogates over nets once more, on all sentences and for longer than `deep_surrogates.py` does.

There the nets see a tenth of the sentences and margin rescaling alone still improves in the second
stage, so what learns faster looks better. Here a chunker learns from all of conll2000 and a parser
from all of EWT (projective trees of at most 40 words), eight and ten epochs in each stage, the
source's ten in the first; all else is the same. Test scores of shorter runs on fewer sentences had
been read before; numbers of epochs were set before any at this size was. Needs torch:
.venv-deep/bin/python benchmarks/run.py --only deep_converged.
"""

from __future__ import annotations

from collections.abc import Iterator

import deep_surrogates
from harness import Line


def lines() -> Iterator[Line]:
    import torch

    torch.set_num_threads(1)
    deep_surrogates.N_CHUNKS = deep_surrogates.N_TREES = 10**6  # all there are
    deep_surrogates.FIRST = deep_surrogates.SECOND = 8
    yield from deep_surrogates.chunker()
    deep_surrogates.FIRST = deep_surrogates.SECOND = 10
    yield from deep_surrogates.parser()
