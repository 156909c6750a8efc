"""The desk on which passes work with laws of outputs, and where laws lie in one array."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    law_room,
    law_sizes,
    part_counts,
    square_size,
    workspace,
)


class LawDesk(NamedTuple):
    """Scratch for the law of one example, besides that of `Desk`.

    Vectors that are called flat hold the cells of theta that an example uses, see `gather`.
    """

    mu: Any  # parts, of the type of theta
    theta: Any  # scratch of `parts_square`
    own: Any  # what `law_room` made
    spare: Any  # cells for `parts_square`
    law: Any  # cells of a law
    scores: Any  # flat: scores with prices added
    prices: Any  # flat
    change: Any  # flat: expected parts, or the change of them
    trial: Any  # flat


class Places(NamedTuple):
    """Where the laws and the flat parts of all examples are."""

    law_at: Any  # (n + 1,) int64
    flat_at: Any  # (n + 1,) int64
    counts: Any  # (n, number of arrays of theta) int64, see `part_counts`


def places_of(data: Any) -> Places:
    """Return where laws and flat parts begin, if those of all examples lie one after the other."""
    counts = np.ascontiguousarray(part_counts(data), dtype=np.int64)
    return Places(_starts(law_sizes(data)), _starts(counts.sum(axis=1)), counts)


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def law_desk(data: Any, places: Places) -> LawDesk:
    """Return a desk that is large enough for any one example."""
    most_cells = int(np.diff(places.law_at).max(initial=1))
    most_parts = int(np.diff(places.flat_at).max(initial=1))
    flat = (np.zeros(most_parts) for _ in range(4))
    return LawDesk(
        workspace(data)[0],
        workspace(data)[0],
        law_room(data),
        np.zeros(square_size(data)),
        np.zeros(most_cells),
        *flat,
    )
