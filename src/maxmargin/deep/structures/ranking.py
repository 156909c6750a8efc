"""Rankings for torch layers: a score per sample of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.deep.structures.base import (
    Encoded,
    LayerStructure,
    Slot,
    check_lengths,
    check_range,
    check_shape,
    check_truths,
    no_edges,
    unit_rows,
    with_room,
)
from maxmargin.structures import ranking_data


class Rankings(LayerStructure):
    """The order of the samples of a query, of which some are relevant.

    Potentials: ``scores`` of shape (B, N), a row per query. Truths: (B, N), 1 for relevant samples
    and 0 for others. ``lengths``, of shape (B,), says how many samples each query has. Costs are
    those of rankings: "ap", "ndcg", "auc" and others.

    Examples
    --------
    >>> import torch
    >>> from maxmargin.deep import Rankings, StructuredLoss
    >>> loss = StructuredLoss(Rankings(), "ap")
    >>> scores = torch.tensor([[0.5, 2.0, -1.0]], requires_grad=True)
    >>> value = loss(scores, torch.tensor([[1, 0, 0]]))
    >>> value.backward()
    >>> scores.grad[0, 0] < 0 < scores.grad[0, 1]
    tensor(True)
    >>> loss.decode(scores)
    tensor([[1, 0, 2]])
    """

    names = ("scores",)
    kind = "places"

    def __repr__(self) -> str:
        return "Rankings()"

    @property
    def classes(self) -> Sequence[int]:
        """Irrelevant and relevant."""
        return range(2)

    def encode(
        self,
        shapes: dict[str, tuple[int, ...]],
        truths: np.ndarray | None,
        lengths: np.ndarray | None,
        edges: Any = None,
        relaxed: bool = True,
    ) -> Encoded:
        """Return a batch: the samples of each query stacked, the relevant ones first."""
        no_edges(edges, self)
        check_shape("scores", shapes["scores"], ("B", "N"))
        n, longest = shapes["scores"]
        sizes = check_lengths(lengths, n, longest)
        is_part = np.arange(longest) < sizes[:, None]
        relevance = np.zeros((n, longest), dtype=np.int8)
        if truths is not None:
            relevance = check_truths(truths, (n, longest)).astype(np.int8)
            check_range(relevance, is_part, 0, 1)
        # Sorted: relevant samples, then the others, then what is padded; rows of a query together.
        order = np.argsort(np.where(is_part, 1 - relevance, 2), axis=1, kind="stable")
        rows = (np.arange(n)[:, None] * longest + order)[is_part]
        kept = np.flatnonzero(sizes)
        counts = sizes[kept]
        relevant = np.where(is_part, relevance, 0).sum(axis=1, dtype=np.int64)[kept]
        first = np.cumsum(counts) - counts
        data = None
        if len(kept):
            data = ranking_data(unit_rows(with_room(len(rows))), first, counts, relevant)
        most = [int(array.max(initial=1)) for array in (counts, relevant, counts - relevant)]
        return Encoded(data, {"scores": Slot(rows, 0, 1)}, kept, n, len(rows), tuple(most))

    def best(self, scores: np.ndarray, lengths: np.ndarray | None) -> np.ndarray:
        """Return the samples of each query from the highest score down, padded by -1."""
        n, longest = scores.shape
        is_part = np.arange(longest) < check_lengths(lengths, n, longest)[:, None]
        order = np.argsort(np.where(is_part, -scores, np.inf), axis=1, kind="stable")
        return np.where(is_part, order, -1)
