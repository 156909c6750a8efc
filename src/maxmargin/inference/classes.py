"""Classes: one label out of K, the chain of length one without its ends."""

from __future__ import annotations

from maxmargin._compile import kernel


@kernel
def best_class(scores):
    """Index of the highest score; the lowest index wins ties."""
    label = 0
    for k in range(1, scores.shape[0]):
        if scores[k] > scores[label]:
            label = k
    return label
