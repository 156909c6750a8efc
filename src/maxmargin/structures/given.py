"""Which cells are an output: outputs that a file gives are held against their examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import are_outputs, implements
from maxmargin.structures.chain.data import ChainData
from maxmargin.structures.classes.data import MulticlassData
from maxmargin.structures.labels.data import RelaxedLabels
from maxmargin.structures.labels.program import ProgramLabels
from maxmargin.structures.labels.relaxed import WHOLE, side_size
from maxmargin.structures.labels.shared import INTEGRAL
from maxmargin.structures.ranking.data import RankingData


@implements(are_outputs, MulticlassData)
def _are_classes(data: Any, examples: np.ndarray, cells: np.ndarray) -> np.ndarray:
    return (cells >= 0) & (cells < data.n_labels)


@implements(are_outputs, ChainData)
def _are_labellings(data: Any, examples: np.ndarray, cells: np.ndarray) -> np.ndarray:
    sizes = np.diff(data.offsets)[examples]
    n_labels = data.layout.n_labels
    allowed = (cells >= 0) & (cells < n_labels)
    at = np.where(allowed, cells, 0)
    if len(data.node_barrier):
        rows = np.concatenate(
            [np.arange(data.offsets[i], data.offsets[i + 1]) for i in examples]
            or [np.zeros(0, dtype=np.int64)]
        )
        allowed &= np.isfinite(data.node_barrier[rows, at])
    ends = np.cumsum(sizes)
    begins = ends - sizes
    edges = np.isfinite(data.edge_barrier)
    follows = np.ones(len(cells), dtype=bool)
    follows[begins] = False
    inner = np.flatnonzero(follows)
    allowed[inner] &= edges[at[inner - 1], at[inner]]
    # A piece cut out of a longer sequence has no border where it was cut.
    borders = np.asarray(data.borders)[examples] != 0
    allowed[begins] &= edges[n_labels, at[begins]] | ~borders[:, 0]
    allowed[ends - 1] &= edges[n_labels + 1, at[ends - 1]] | ~borders[:, 1]
    if len(sizes) == 0:
        return np.zeros(0, dtype=bool)
    return np.asarray(np.logical_and.reduceat(allowed, begins))


def _are_sets(data: Any, examples: np.ndarray, cells: np.ndarray) -> np.ndarray:
    sets = cells.reshape(len(examples), data.n_labels)
    known = np.asarray(data.labels)[examples] >= 0
    # A label that is not known is no part of an output, whatever stands in its cell.
    good = np.where(known, (sets == 0) | (sets == 1), (sets >= -1) & (sets <= 1))
    return np.asarray(good.all(axis=1))


for _kind in (*INTEGRAL, ProgramLabels):
    implements(are_outputs, _kind)(_are_sets)


@implements(are_outputs, RelaxedLabels)
def _are_means(data: Any, examples: np.ndarray, cells: np.ndarray) -> np.ndarray:
    side, m = side_size(data), data.n_labels
    rows = cells.reshape(len(examples), 2 * side + 1)
    known = np.asarray(data.labels)[examples] >= 0
    good = (rows[:, 2 * side] >= 0) & (rows[:, 2 * side] <= WHOLE)
    for first in (0, side):
        twice = rows[:, first : first + m]
        good &= (np.where(known, twice >= 0, twice >= -1) & (twice <= 2)).all(axis=1)
        good &= (rows[:, first + m : first + side] >= 0).all(axis=1)
    return good


@implements(are_outputs, RankingData)
def _are_rankings(data: Any, examples: np.ndarray, cells: np.ndarray) -> np.ndarray:
    answers, at = np.zeros(len(examples), dtype=bool), 0
    for k, i in enumerate(examples):
        P, size = int(data.n_relevant[i]), int(data.sizes[i])
        relevant, others = cells[at : at + P], cells[at + P : at + size]
        at += size
        if ((others < 0) | (others > P)).any():
            continue
        # The two kinds tell the same interleaving.
        above = np.cumsum(np.bincount(others, minlength=P + 1))[:P]
        answers[k] = np.array_equal(np.sort(relevant), above)
    return answers
