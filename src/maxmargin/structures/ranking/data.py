"""Rankings: phi(x, y) adds up the samples of a query, those above others with a positive weight.

A query has P relevant samples and N others. Of an ordering y only the interleaving of the two kinds
matters; within a kind samples stand in the order of their scores. With +1 for a pair whose relevant
sample stands above, and -1 for the others,

    phi(x, y) = 1/(P N) sum over pairs of +-(x_relevant - x_other).

An output has one cell per sample: how many samples of the other kind stand above it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    TrueParts,
    add_combination,
    add_difference,
    add_parts,
    are_outputs,
    implements,
    margin_error,
    n_weights,
    output_size,
    output_sizes,
    parts,
    potentials,
    score_lengths,
    score_rows,
    true_parts,
    truths,
    workspace,
)
from maxmargin.features.rows import as_features, frozen, row_lengths
from maxmargin.inference.ranking.interleave import (
    RankingRoom,
    ranking_room,
)


class RankingData(NamedTuple):
    """Queries with two kinds of samples. w has one weight per feature.

    The rows of a query lie together, its relevant ones first. Several examples may share rows: a
    query with several grades is one example for every grade from which samples count as relevant.
    """

    features: Any
    first: Any  # (n_examples,) int64: the first row of each
    sizes: Any  # (n_examples,) int64: samples of each
    n_relevant: Any  # (n_examples,) int64
    n_columns: int  # features, and a bias where w has one


class RankingPotentials(NamedTuple):
    """Scores of the samples of one query, or the signed weight of each in a ranking."""

    scores: Any  # (largest,)


class OracleRoom(NamedTuple):
    """Room for the search of the best ranking of one query."""

    scaled: Any  # (largest,)
    interleaving: RankingRoom


def ranking_data(
    X: Any, first: Any, sizes: Any, n_relevant: Any, *, bias: bool = False
) -> RankingData:
    """Return queries as solvers take them, from a matrix of finite numbers.

    Parameters
    ----------
    X : dense or CSR matrix
    first, sizes, n_relevant : arrays of int, one entry per example
        Example i has the rows first[i] .. first[i] + sizes[i] - 1 of X, of which the first
        n_relevant[i] are relevant.
    bias : bool
        Whether w has one more cell, which scores of rankings do not use: see `HardRows`.
    """
    first, sizes, n_relevant = (np.asarray(array) for array in (first, sizes, n_relevant))
    if not len(first) == len(sizes) == len(n_relevant):
        raise ValueError("first, sizes and n_relevant must have one entry per example.")
    if len(first) and not ((first >= 0).all() and (first + sizes <= X.shape[0]).all()):
        raise ValueError(f"Examples must be made of the {X.shape[0]} rows of X.")
    if not ((sizes >= 1).all() and (n_relevant >= 0).all() and (n_relevant <= sizes).all()):
        raise ValueError(
            "Examples must have at least one sample, and no more relevant samples than samples."
        )
    return RankingData(
        as_features(X),
        frozen(first, np.int64),
        frozen(sizes, np.int64),
        frozen(n_relevant, np.int64),
        int(X.shape[1]) + int(bias),
    )


@implements(n_weights, RankingData)
def _n_weights(data):
    """Return the number of features, plus one if w has a bias."""
    return data.n_columns


@implements(output_sizes, RankingData)
def _output_sizes(data):
    """Return the number of samples of every example."""
    return data.sizes


@implements(truths, RankingData)
def _truths(data):
    """Return the rankings with all relevant samples on top, as cells."""
    # Above a relevant sample stand 0 others; above another sample stand all P relevant ones.
    ends = np.cumsum(data.sizes)
    cells = np.repeat(data.n_relevant, data.sizes)
    for start, relevant in zip(ends - data.sizes, data.n_relevant, strict=True):
        cells[start : start + relevant] = 0
    return cells.astype(np.int32)


@implements(are_outputs, RankingData)
def _are_rankings(
    data: Any, examples: np.ndarray, cells: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Tell which cells describe an interleaving of relevant and other samples."""
    answers, at = np.zeros(len(examples), dtype=bool), 0
    for k, i in enumerate(examples):
        P, size = int(data.n_relevant[i]), int(data.sizes[i])
        relevant, others = cells[at : at + P], cells[at + P : at + size]
        at += size
        if ((others < 0) | (others > P)).any():
            continue
        # The cells of relevant samples must follow from those of the others.
        above = np.cumsum(np.bincount(others, minlength=P + 1))[:P]
        answers[k] = np.array_equal(np.sort(relevant), above)
    return answers


@implements(true_parts, RankingData)
def _true_parts(data):
    """Return which samples are relevant, for costs that price places."""
    n_each = np.stack([data.n_relevant, data.sizes - data.n_relevant], axis=1).reshape(-1)
    return TrueParts("places", data.sizes, np.repeat(np.tile([1, 0], len(data.sizes)), n_each))


@implements(workspace, RankingData)
def _workspace(data):
    """Return theta and room for the largest query."""
    largest = int(data.sizes.max(initial=1))
    relevant = int(data.n_relevant.max(initial=1))
    others = int((data.sizes - data.n_relevant).max(initial=1))
    room = OracleRoom(np.zeros(largest), ranking_room(relevant, others))
    return RankingPotentials(np.zeros(largest)), room


@implements(score_lengths, RankingData)
def _score_lengths(data):
    """Bound phi by the mean row length of relevant samples plus that of the others.

    h is 2/P times a sum of relevant scores less 2/N times a sum of other scores, each score with
    a factor from 0 to 1.
    """
    lengths, terms = row_lengths(data.features)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.concatenate([[0.0], np.cumsum(lengths)])
        middle, end = data.first + data.n_relevant, data.first + data.sizes
        relevant = (sums[middle] - sums[data.first]) / np.maximum(data.n_relevant, 1)
        others = (sums[end] - sums[middle]) / np.maximum(data.sizes - data.n_relevant, 1)
    return relevant + others, terms.max(initial=0.0) + data.sizes


@implements(output_size, RankingData)
def _output_size(data, i):
    """Return the number of samples of example i."""
    return data.sizes[i]


@implements(potentials, RankingData)
def _potentials(data, i, w, scale, theta):
    """Fill theta with the scores of the samples."""
    score_rows(data.features, data.first[i], data.sizes[i], scale, w, theta.scores)


@implements(parts, RankingData)
def _parts(data, i, outputs, at, scale, mu):
    """Add the signed weight of every sample.

    A sample gets 1/(P N) for every sample of the other kind that stands below it, and -1/(P N) for
    every one above it.
    """
    P, size = data.n_relevant[i], data.sizes[i]
    if P == 0 or size == P:
        return
    unit = scale / (float(P) * float(size - P))
    for k in range(P):
        mu.scores[k] += unit * (size - P - 2 * outputs[at + k])
    for k in range(P, size):
        mu.scores[k] += unit * (P - 2 * outputs[at + k])


@implements(add_parts, RankingData)
def _add_parts(data, i, mu, scale, w):
    """Add the rows of the query, times their weights in mu."""
    add_combination(data.features, data.first[i], scale * mu.scores[: data.sizes[i]], w)


@implements(margin_error, RankingData)
def _margin_error(data, i, theta, outputs, at):
    """Return 2/(P N) times the sum of score differences over pairs in the wrong order."""
    P, size = data.n_relevant[i], data.sizes[i]
    if P == 0 or size == P:
        return 0.0
    total = 0.0
    for k in range(P):
        total -= outputs[at + k] * theta.scores[k]
    for k in range(P, size):
        total += (P - outputs[at + k]) * theta.scores[k]
    return 2.0 * total / (float(P) * float(size - P))


@implements(add_difference, RankingData)
def _add_difference(data, i, outputs, at, scale, w):
    """Add the rows of the query, each times its weight in the truth less that in the output."""
    P, size = data.n_relevant[i], data.sizes[i]
    if P == 0 or size == P:
        return
    unit = 2.0 * scale / (float(P) * float(size - P))
    weights = np.empty(size)
    for k in range(P):
        weights[k] = unit * outputs[at + k]
    for k in range(P, size):
        weights[k] = unit * (outputs[at + k] - P)
    add_combination(data.features, data.first[i], weights, w)
