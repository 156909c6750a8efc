"""The best label set at every number of wrong labels, by the method that the edges allow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maxmargin.inference.answer import CostProfile
from maxmargin.inference.labels.checked import LabelProblem
from maxmargin.inference.labels.independent import flip_profile, write_flipped
from maxmargin.inference.labels.listed import all_levels, all_scores, fill_pairs, listed_profile
from maxmargin.inference.labels.tree import tree_order, tree_profile, write_tree_level
from maxmargin.inference.programs.labels import LabelProgram, ProgramRow


def profile_independent(problem: LabelProblem, truth: npt.NDArray[np.int32]) -> CostProfile:
    """Return the profile of labels without edges."""
    m = problem.n_labels
    order, spare = np.empty((2, m), dtype=np.int32)
    level, outputs = np.empty(m + 1), np.full((m + 1, m), -1, dtype=np.int32)
    flip_profile(problem.unary, truth, np.empty(m), order, spare, level)
    for d in np.flatnonzero(level > -np.inf):
        write_flipped(truth, order, d, outputs[d])
    return CostProfile(level + problem.unary[truth == 1].sum(), outputs)


def profile_tree(problem: LabelProblem, truth: npt.NDArray[np.int32]) -> CostProfile:
    """Return the profile of a forest."""
    m, tree, pair = problem.n_labels, tree_order(problem.graph), problem.pair
    level, outputs = np.empty(m + 1), np.empty((m + 1, m), dtype=np.int32)
    size, left = np.empty((2, m + 1), dtype=np.int32), np.empty(m + 1, dtype=np.int32)
    table, before = np.empty((m + 1, 2, m + 1)), np.empty((m, 2, m + 1))
    tree_profile(problem.unary, pair, tree, truth, size, table, before, np.empty(m + 1), level)
    for d in range(m + 1):
        write_tree_level(pair, tree, m, d, size, table, before, left, outputs[d])
    return CostProfile(level, outputs)


def profile_listed(problem: LabelProblem, truth: npt.NDArray[np.int32]) -> CostProfile:
    """Return the profile of few labels, from the list of all label sets."""
    m = problem.n_labels
    scores, levels = listed_scores(problem), np.empty(2**m, dtype=np.int8)
    best, masks = np.empty(m + 1), np.empty(m + 1, dtype=np.int64)
    all_levels(truth, m, levels)
    listed_profile(scores, levels, len(scores), m + 1, best, masks)
    outputs = np.where(masks[:, None] >= 0, labels_of(masks, m), -1)
    return CostProfile(best, outputs.astype(np.int32))


def profile_program(problem: LabelProblem, truth: npt.NDArray[np.int32]) -> CostProfile:
    """Return the profile of any edges, by one integer programme per level."""
    m, program = problem.n_labels, LabelProgram(problem.graph, integral=True)
    best, outputs = np.full(m + 1, -np.inf), np.full((m + 1, m), -1, dtype=np.int32)
    signs = np.where(truth == 1, -1.0, 1.0)
    n_true = float((truth == 1).sum())
    for d in range(int((truth >= 0).sum()) + 1):
        row = ProgramRow(signs, None, d - n_true, d - n_true)
        found = program.solve(problem.unary, problem.pair, [row])
        if found.status == "optimal":
            outputs[d] = found.node
            best[d] = problem.score(outputs[d])
    return CostProfile(best, outputs)


def listed_scores(problem: LabelProblem) -> npt.NDArray[np.float64]:
    """Return the scores of all 2^m label sets, by mask."""
    m = problem.n_labels
    matrix, scores = np.empty((m, m)), np.empty(2**m)
    fill_pairs(problem.graph.edges, problem.pair, matrix)
    all_scores(problem.unary, matrix, scores, np.empty(2 ** (m - 1)))
    return scores


def labels_of(masks: npt.NDArray[np.int64], m: int) -> npt.NDArray[np.int32]:
    """Return the label sets of some masks, one per row."""
    return ((masks[:, None] >> np.arange(m)) & 1).astype(np.int32)
