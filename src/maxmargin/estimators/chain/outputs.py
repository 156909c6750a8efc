"""What a fitted chain says of sequences, one at a time: k best, marginals, max-marginals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import as_matrix
from maxmargin.core.workers import CHUNK, Workers, cut
from maxmargin.structures import ChainData


class ChainWeights(NamedTuple):
    """The blocks of w; zeros where a block is switched off."""

    coef: np.ndarray  # (n_labels, n_features)
    intercept: np.ndarray  # (n_labels,)
    transitions: np.ndarray  # (n_labels, n_labels)
    start: np.ndarray  # (n_labels,)
    end: np.ndarray  # (n_labels,)


def split_weights(w: np.ndarray, layout: Any) -> ChainWeights:
    """Return the blocks of w, as views."""
    n_labels = layout.n_labels
    W = w.reshape(layout.n_rows, n_labels)
    zeros = np.zeros((n_labels, n_labels))

    def row(first: int, last: int) -> np.ndarray:
        return W[first] if last > first else zeros[0]

    has_transitions = layout.start > layout.transitions
    return ChainWeights(
        coef=W[: layout.n_columns].T,
        intercept=row(layout.bias, layout.transitions),
        transitions=W[layout.transitions : layout.start] if has_transitions else zeros,
        start=row(layout.start, layout.end),
        end=row(layout.end, layout.n_rows),
    )


def for_each_sequence(
    data: ChainData, weights: ChainWeights, answer: Callable[..., Any], n_jobs: int = 1
) -> list[Any]:
    """Return answer(unary, transitions, start, end) for every sequence, under its constraints.

    Sequences are served in fixed chunks, so that results do not depend on the number of threads.
    """
    n_labels = data.layout.n_labels
    barrier = data.edge_barrier
    edges = (
        weights.transitions + barrier[:n_labels],
        weights.start + barrier[n_labels],
        weights.end + barrier[n_labels + 1],
    )
    rows = as_matrix(data.features, data.layout.n_columns)
    pieces = cut(len(data.offsets) - 1, CHUNK)

    def serve(piece: int, worker: int) -> list[Any]:
        first, last = pieces[piece]
        begin, stop = int(data.offsets[first]), int(data.offsets[last])
        own = rows[begin:stop].astype(np.float64, copy=False)
        unary = own @ weights.coef.T + weights.intercept
        if len(data.node_barrier):
            unary += data.node_barrier[begin:stop]
        found = []
        for i in range(first, last):
            try:
                mine = unary[data.offsets[i] - begin : data.offsets[i + 1] - begin]
                found.append(answer(mine, *edges))
            except ValueError as error:
                raise ValueError(f"X[{i}]: {error}") from None
        return found

    with Workers(n_jobs) as workers:
        found = workers.share(len(pieces), serve)
    return [each for some in found for each in some]
