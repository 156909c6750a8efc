"""What `predict_topk` returns, of every estimator."""

from __future__ import annotations

from typing import Any, NamedTuple


class TopK(NamedTuple):
    """The k best outputs of every input, best first.

    Attributes
    ----------
    outputs : one entry per input, with its k best outputs, or as many as there are
        An array where all inputs have outputs of one shape, else a list.
    scores : one entry per input, with the scores of its outputs
    """

    outputs: Any
    scores: Any
