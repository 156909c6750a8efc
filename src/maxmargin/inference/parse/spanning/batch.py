"""Trees of any shape for a batch of sentences, in one call.

A call from Python takes .5 us and more, which is as long as a tree of ten words.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.inference._inline import inlined
from maxmargin.inference.parse.spanning.best import best_spanning, contraction_room
from maxmargin.inference.parse.spanning.marginal import spanning_marginals


@kernel
def best_spanning_batch(scores, lengths, many, heads, totals):
    """Find a best tree for each sentence of a batch.

    Parameters
    ----------
    scores, lengths, heads, totals : as for `best_projective_batch`
    many : int
        1 if several words may hang on the root, 0 if exactly one must.

    Trees and scores are those of `best_spanning` to the last bit.
    """
    largest = scores.shape[1]
    room, own = contraction_room(largest - 1), np.empty(largest * largest)
    for i in range(scores.shape[0]):
        sentence = _cut(scores[i], lengths[i], own)
        totals[i] = best_spanning(sentence, many, room, heads[i])


@kernel
def spanning_marginals_batch(scores, lengths, many, temperature, room, totals, arcs):
    """Fill the marginals of arcs for each sentence of a batch, and log sums over trees.

    Parameters
    ----------
    scores, lengths, totals, arcs : as for `projective_marginals_batch`
    many, temperature : as for `spanning_marginals`
    room : Reduction, overwritten
    """
    largest = scores.shape[1]
    rows, shares = np.empty(largest * largest), np.empty(largest * largest)
    for i in range(scores.shape[0]):
        size = lengths[i] + 1
        own = _cut(scores[i], lengths[i], rows)
        found = shares[: size * size].reshape((size, size))
        totals[i] = spanning_marginals(own, many, temperature, room, found)
        arcs[i, :size, :size] = found


@inlined
def _cut(scores, length, room):
    """Return the scores of a sentence without its padding, as one piece."""
    size = length + 1
    if size == scores.shape[0]:
        return scores
    own = room[: size * size].reshape((size, size))
    for h in range(size):
        for m in range(size):
            own[h, m] = scores[h, m]
    return own
