"""Every output of an example, as the cells that the generic functions read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from maxmargin.core.contract import output_size
from maxmargin.structures import (
    ChainData,
    CutSets,
    ForestGraphs,
    GeneralGraphs,
    HierarchyPaths,
    IndependentLabels,
    ListedLabels,
    MulticlassData,
    PairwiseLabels,
    ParseData,
    PathFields,
    PathSetsByProgram,
    ProgramLabels,
    RankingData,
    RelaxedGraphs,
    RelaxedLabels,
    RelaxedPathSets,
    RelaxedProgramLabels,
    ScoredData,
    TreeLabels,
    TreeSets,
    UserData,
)
from maxmargin.structures.graph.data import breaks_edge
from maxmargin.structures.graph.points import write_labelling
from maxmargin.structures.hierarchy.data import is_allowed
from maxmargin.structures.hierarchy.program import write_point as write_node_point
from maxmargin.structures.hierarchy.sets import write_difference
from maxmargin.structures.labels.relaxed import write_point
from maxmargin.structures.user.boxes import Box
from maxmargin.testing.enumerate import labellings, node_sets, trees

#: Where the outputs come from: example number -> outputs, or one sequence of outputs per example.
OutputSource = Callable[[int], Sequence[Any]] | Sequence[Sequence[Any]]


def _of_multiclass(data: MulticlassData | HierarchyPaths, i: int) -> np.ndarray:
    return labellings(1, data.n_labels)


def _of_chain(data: ChainData, i: int) -> np.ndarray:
    first, last = int(data.offsets[i]), int(data.offsets[i + 1])
    n_labels = data.layout.n_labels
    rows = labellings(last - first, n_labels)
    barrier = data.edge_barrier[rows[:, :-1], rows[:, 1:]].sum(axis=1)
    if data.borders[i, 0]:
        barrier += data.edge_barrier[n_labels, rows[:, 0]]
    if data.borders[i, 1]:
        barrier += data.edge_barrier[n_labels + 1, rows[:, -1]]
    if len(data.node_barrier):
        barrier += data.node_barrier[np.arange(first, last), rows].sum(axis=1)
    return rows[barrier == 0.0]


def _of_graphs(data: Any, i: int) -> np.ndarray:
    graphs = data.graphs
    first, last = int(graphs.shapes.node_at[i]), int(graphs.shapes.node_at[i + 1])
    rows = labellings(last - first, graphs.layout.n_labels)
    if len(graphs.barrier):
        rows = rows[graphs.barrier[np.arange(first, last), rows].sum(axis=1) == 0.0]
    if len(graphs.edge_barrier):
        rows = rows[[not breaks_edge(graphs, i, row) for row in rows]]
    return rows


def _of_relaxed_graphs(data: RelaxedGraphs, i: int) -> np.ndarray:
    """List the labellings only: without cycles no other output is better than all of them."""
    rows = _of_graphs(data, i)
    cells = np.zeros((len(rows), int(output_size(data, i))))
    for own, row in zip(cells, rows, strict=True):
        write_labelling(data, i, row, own, 0)
    return cells


def _of_node_sets(data: TreeSets | CutSets | PathSetsByProgram, i: int) -> np.ndarray:
    sets = [y for y in labellings(data.n_nodes, 2) if is_allowed(data, y)]
    cells = np.zeros((len(sets), int(output_size(data, i))), dtype=np.int32)
    for own, y in zip(cells, sets, strict=True):
        write_difference(data, i, y, own, 0)
    return cells


def _of_relaxed_paths(data: RelaxedPathSets, i: int) -> np.ndarray:
    """List the sets only: where the relaxation is tight no other output is better than all."""
    sets = node_sets(data.shape, "paths")
    cells = np.zeros((len(sets), int(output_size(data, i))))
    for own, y in zip(cells, sets, strict=True):
        write_node_point(data, i, y.astype(np.float64), own, 0)
    return cells


def _of_labels(data: Any, i: int) -> np.ndarray:
    known = np.flatnonzero(data.labels[i] >= 0)
    rows = np.full((2 ** len(known), data.n_labels), -1, dtype=np.int32)
    if len(known):
        rows[:, known] = labellings(len(known), 2)
    return rows


def _of_relaxed_labels(data: RelaxedLabels | RelaxedProgramLabels, i: int) -> np.ndarray:
    """List the integral outputs only: on a forest of edges no other is better than all of them."""
    rows = _of_labels(data, i)
    cells = np.zeros((len(rows), int(output_size(data, i))))
    for own, row in zip(cells, rows, strict=True):
        node = (row == 1).astype(np.float64)
        write_point(data, i, node, node[data.graph.edges].prod(axis=1), own, 0)
    return cells


def _of_ranking(data: RankingData, i: int) -> np.ndarray:
    """List all interleavings of relevant and other samples."""
    size, n_relevant = int(data.sizes[i]), int(data.n_relevant[i])
    is_relevant = np.arange(size) < n_relevant
    rows = set()
    for order in itertools.permutations(range(size)):
        above = [0, 0]  # others, relevant ones
        cells = [0] * size
        for sample in order:
            kind = int(is_relevant[sample])
            cells[sample] = above[1 - kind]
            above[kind] += 1
        rows.add(tuple(cells))
    return np.array(sorted(rows), dtype=np.int32).reshape(-1, size)


def _of_parses(data: ParseData, i: int) -> np.ndarray:
    n = int(data.offsets[i + 1] - data.offsets[i])
    heads = trees(n, bool(data.is_projective), not data.many)
    if data.n_relations == 1:
        return heads
    codes = labellings(n, data.n_relations)
    both = [np.repeat(heads, len(codes), axis=0), np.tile(codes, (len(heads), 1))]
    return np.concatenate(both, axis=1)


def _of_user(data: UserData, i: int) -> np.ndarray:
    lister = getattr(data.structure, "outputs", None)
    if not callable(lister):
        kind = type(data.structure).__name__
        raise TypeError(
            f"The check compares with the list of all outputs, but {kind} has no method "
            "outputs(x) that lists those of an input. Give it one (training does not need it), or "
            "pass outputs=: a function of the example's number, or one list of outputs for each "
            "example."
        )
    listed = list(lister(data.X[i]))
    if not listed:
        raise ValueError(f"outputs(x) of the structure lists nothing for example {i}.")
    return _boxed(listed)


def _boxed(listed: Sequence[Any]) -> np.ndarray:
    rows = np.empty((len(listed), 1), dtype=object)
    rows[:, 0] = [Box(y) for y in listed]
    return rows


def _unlisted(structure: Any) -> ValueError:
    return ValueError(
        f"outputs must say what the outputs of {type(structure).__name__} are: a function of the "
        "example's number, or one list of outputs for each example."
    )


#: How the outputs of a structure are listed. Each of our own structures has one line here.
ENUMERATORS: dict[type, Callable[[Any, int], np.ndarray]] = {
    MulticlassData: _of_multiclass,
    ChainData: _of_chain,
    ForestGraphs: _of_graphs,
    GeneralGraphs: _of_graphs,
    PathFields: _of_graphs,
    RelaxedGraphs: _of_relaxed_graphs,
    HierarchyPaths: _of_multiclass,
    TreeSets: _of_node_sets,
    CutSets: _of_node_sets,
    PathSetsByProgram: _of_node_sets,
    RelaxedPathSets: _of_relaxed_paths,
    IndependentLabels: _of_labels,
    TreeLabels: _of_labels,
    ListedLabels: _of_labels,
    PairwiseLabels: _of_labels,
    RelaxedLabels: _of_relaxed_labels,
    ProgramLabels: _of_labels,
    RelaxedProgramLabels: _of_relaxed_labels,
    RankingData: _of_ranking,
    ParseData: _of_parses,
    UserData: _of_user,
    ScoredData: _of_user,
}


def all_outputs(data: Any, i: int, outputs: OutputSource | None = None) -> np.ndarray:
    """Return all outputs of example i, one per row.

    Parameters
    ----------
    data : what the structure functions of `maxmargin.core.contract` take
    i : int
    outputs : callable, sequence or None
        Where the outputs come from, for structures other than ours: ``outputs(i)`` or
        ``outputs[i]`` lists them. None lists those of a class or of a chain, and asks a structure
        in plain Python for its method ``outputs(x)``.

    Returns
    -------
    rows : array of shape (n_outputs, n_cells), int32, or object for a structure in plain Python

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.structures import multiclass_data
    >>> all_outputs(multiclass_data(np.ones((1, 2)), [0], 3), 0).tolist()
    [[0], [1], [2]]
    """
    if outputs is None:
        if type(data) not in ENUMERATORS:
            raise _unlisted(data)
        return ENUMERATORS[type(data)](data, i)
    listed = outputs(i) if callable(outputs) else outputs[i]
    if len(listed) == 0:
        raise ValueError(f"outputs lists nothing for example {i}.")
    if isinstance(data, UserData):
        return _boxed(listed)
    return np.array([np.atleast_1d(y) for y in listed], dtype=np.int32)
