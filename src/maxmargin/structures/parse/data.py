"""Parses: every word of a sentence has a head, another word or the root, and arcs form a tree.

The score of a tree is the sum of the scores of its arcs, with relations of arcs and their
relations, and of neighbouring children of one head if siblings have weights. An output is one
cell per word, its head (0 is the root), followed by one cell per word for its relation, if there
are any.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    TrueParts,
    are_outputs,
    implements,
    kernel_use,
    n_weights,
    output_size,
    output_sizes,
    potentials,
    score_lengths,
    true_parts,
    truths,
    visit_work,
    workspace,
)
from maxmargin.features.rows import as_features, frozen, kernel_rows, row_lengths
from maxmargin.inference.parse.projective import Chart, chart_room
from maxmargin.inference.parse.spanning import Contraction, contraction_room
from maxmargin.structures.parse.arcs import ArcRows, fill_arcs, fill_siblings
from maxmargin.structures.parse.templates import TokenTemplates


class ParseData(NamedTuple):
    """Sentences and their trees. Sentence i has the words offsets[i] to offsets[i + 1] - 1.

    ``cells`` has the true outputs. ``counts`` says which words a cost counts.
    """

    features: Any
    offsets: Any  # (n_examples + 1,) int64
    cells: Any  # (n_words or 2 n_words,) int32
    counts: Any  # (n_words,) int8
    n_relations: int  # 1: none
    n_weights: int
    is_projective: int
    many: int  # 1: several words may hang on the root
    second: int  # 1: siblings have weights


class ParsePotentials(NamedTuple):
    """Scores of the arcs of one sentence, flat, or how often each is used."""

    arcs: Any  # ((n + 1) * (n + 1) * n_relations,) for the longest sentence
    siblings: Any  # ((n + 1)^3 or 0,): [h, m, s]


class ParseRoom(NamedTuple):
    """Room for the search of the best tree of one sentence."""

    plain: Any  # ((n + 1)^2,): the best score of each arc, the cost added
    relation: Any  # ((n + 1)^2,) int32: its relation
    chart: Chart  # of one word if trees need not be projective
    contraction: Contraction  # of one word if they must


def parse_data(
    features: Any,
    offsets: Any,
    heads: Any,
    relations: Any = None,
    *,
    n_relations: int = 1,
    counts: Any = None,
    projective: bool = True,
    one_root: bool = True,
    siblings: bool = False,
) -> ParseData:
    """Return sentences with their true trees, as solvers take them.

    Parameters
    ----------
    features : TokenTemplates; or a dense or CSR matrix of finite numbers, one row per arc
        The arc h -> m of a sentence of n words is row h (n + 1) + m of its (n + 1)^2 rows; those
        that are no arcs are not read.
    offsets : int array of shape (n_examples + 1,)
        A sentence has at least one word.
    heads : int array of shape (n_words,), or None to predict
        Heads as numbers of words in the sentence from 1 on; 0 is the root. None: some tree, in
        which all words hang on the first.
    relations : int array of shape (n_words,), or None for none
    n_relations : int
    counts : array of shape (n_words,) of bool, or None
        Which words costs count. None: all.
    projective, one_root : bool
        Which trees are outputs. The true trees must be.
    siblings : bool
        Whether neighbouring children have weights; for TokenTemplates and projective trees only.
    """
    offsets = frozen(offsets, np.int64)
    sizes = np.diff(offsets)
    if len(offsets) < 1 or offsets[0] != 0 or (sizes < 1).any():
        raise ValueError("offsets must rise from 0; a sentence has at least one word.")
    n_words = int(offsets[-1])
    is_given = heads is not None
    if not is_given:
        heads = np.ones(n_words, dtype=np.int32)
        heads[offsets[:-1]] = 0
    heads = np.asarray(heads)
    if heads.shape != (n_words,):
        raise ValueError(f"There must be {n_words} heads, got {heads.shape}.")
    if relations is None:
        relations = np.zeros(n_words, dtype=np.int32)
    relations = np.asarray(relations)
    if relations.shape != (n_words,) or not (
        (relations >= 0).all() and (relations < n_relations).all()
    ):
        raise ValueError(f"relations must be {n_words} numbers in 0..{n_relations - 1}.")
    for i, (a, b) in enumerate(pairwise(offsets) if is_given else ()):
        fault = tree_fault(heads[a:b], projective, one_root)
        if fault:
            raise ValueError(f"The true tree of sentence {i} is no output: {fault}.")
    if siblings and not projective:
        raise ValueError("siblings are for projective trees: take projective=True.")
    if not isinstance(features, TokenTemplates):
        if siblings:
            raise ValueError("siblings are for templates over tokens, not for rows of arcs.")
        row_at = np.concatenate([[0], np.cumsum((sizes + 1) ** 2)])
        if features.shape[0] != row_at[-1]:
            raise ValueError(
                f"features has {features.shape[0]} rows; expected {row_at[-1]}, (n + 1)^2 for each "
                "sentence of n words."
            )
        rows = as_features(features)
        features = ArcRows(rows, frozen(row_at, np.int64), features.shape[1], n_relations)
        size = features.n_columns * n_relations
    else:
        size = features.mask + 1
        if n_relations > 1:
            size += (features.relation_mask + 1) * n_relations
    counted = np.ones(n_words, dtype=np.int8) if counts is None else counts
    cells = heads
    if n_relations > 1:
        pieces = [part[a:b] for a, b in pairwise(offsets) for part in (heads, relations)]
        cells = np.concatenate(pieces) if pieces else heads
    return ParseData(
        features, offsets, frozen(cells, np.int32), frozen(counted, np.int8), int(n_relations),
        int(size), int(projective), int(not one_root), int(siblings),
    )  # fmt: skip


def tree_fault(heads: Any, projective: bool = True, one_root: bool = True) -> str:
    """Return why heads are no output: no tree, several roots, or arcs that cross; "" if they are.

    Examples
    --------
    >>> tree_fault([2, 0, 2])
    ''
    >>> tree_fault([2, 1]), tree_fault([0, 0]), tree_fault([3, 0, 2, 1])
    ('word 1 is below itself', '2 words hang on the root', 'arcs cross at word 2')
    """
    heads = np.asarray(heads)
    n = len(heads)
    words = np.arange(1, n + 1)
    wrong = (heads < 0) | (heads > n)
    if wrong.any():
        m = int(np.argmax(wrong)) + 1
        return f"word {m} has the head {heads[m - 1]}, which is no word"
    above = np.concatenate([[0], heads])
    at, seen = np.arange(n + 1), np.zeros((n + 1, n + 1), dtype=bool)  # seen[word, ancestor]
    for _ in range(n + 1):
        seen[np.arange(n + 1), at] = True
        if not at.any():
            break
        at = above[at]
    if at.any():
        return f"word {int(np.flatnonzero(at)[0])} is below itself"
    if one_root and (heads == 0).sum() != 1:
        return f"{int((heads == 0).sum())} words hang on the root"
    if projective:
        low, high = np.minimum(heads, words), np.maximum(heads, words)
        between = (low[:, None] < words) & (words < high[:, None])
        loose = between & ~seen[words[None, :], heads[:, None]]
        if loose.any():
            return f"arcs cross at word {int(np.flatnonzero(loose.any(axis=0))[0]) + 1}"
    return ""


@implements(n_weights, ParseData)
def _n_weights(data):
    """Return the length of w."""
    return data.n_weights


@implements(output_sizes, ParseData)
def _output_sizes(data):
    """Return the number of words of every sentence, twice with relations."""
    return np.diff(data.offsets) * (2 if data.n_relations > 1 else 1)


@implements(output_size, ParseData)
def _output_size(data, i):
    """Return the number of words of sentence i, twice with relations."""
    n = data.offsets[i + 1] - data.offsets[i]
    return 2 * n if data.n_relations > 1 else n


@implements(truths, ParseData)
def _truths(data):
    """Return the true heads, and relations, of all sentences."""
    return data.cells


@implements(true_parts, ParseData)
def _true_parts(data):
    """Return one part per word; its state is head * n_relations + relation, -1 if not counted."""
    heads, relations = split_cells(data, data.cells)
    states = heads.astype(np.int64) * data.n_relations + relations
    return TrueParts("arcs", np.diff(data.offsets), np.where(data.counts != 0, states, -1))


def split_cells(data: ParseData, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return heads and relations of all words, from the cells of one output per sentence."""
    if data.n_relations == 1:
        return cells, np.zeros(len(cells), dtype=np.int32)
    sizes = np.repeat(np.diff(data.offsets), np.diff(data.offsets))
    place = np.arange(int(data.offsets[-1])) + np.repeat(data.offsets[:-1], np.diff(data.offsets))
    return cells[place], cells[place + sizes]


@implements(are_outputs, ParseData)
def _are_trees(data, examples, cells, lengths):
    """Tell which cells are trees that may be."""
    answers, at = np.zeros(len(examples), dtype=bool), 0
    for k, length in enumerate(lengths):
        own = cells[at : at + length]
        at += length
        n = length // 2 if data.n_relations > 1 else length
        relations = own[n:]
        answers[k] = (
            not tree_fault(own[:n], bool(data.is_projective), not data.many)
            and ((relations >= 0) & (relations < data.n_relations)).all()
        )
    return answers


@implements(workspace, ParseData)
def _workspace(data):
    """Return theta and room for the longest sentence."""
    longest = int(np.diff(data.offsets).max(initial=1))
    square = (longest + 1) ** 2
    theta = ParsePotentials(
        np.zeros(square * data.n_relations), np.zeros(square * (longest + 1) * data.second)
    )
    room = ParseRoom(
        np.zeros(square),
        np.zeros(square, dtype=np.int32),
        chart_room(longest if data.is_projective else 1),
        contraction_room(1 if data.is_projective else longest),
    )
    return theta, room


@implements(kernel_use, ParseData)
def _kernel_use(data):
    """Return where rows of arcs known by a kernel are read: w has one column per relation."""
    if not isinstance(data.features, ArcRows):
        return None
    return kernel_rows(data.features.rows, ((0, data.n_relations),), data.features.row_at)


@implements(visit_work, ParseData)
def _visit_work(data):
    """Return the number of scores of arcs, and of steps of Eisner's algorithm."""
    sizes = np.diff(data.offsets).astype(np.float64)
    return float((100.0 * sizes**2 * (1 + data.n_relations / 8) + sizes**3).mean())


@implements(score_lengths, ParseData)
def _score_lengths(data):
    """Bound phi by the sum over words: each adds the features of its arc."""
    sizes = np.diff(data.offsets).astype(np.float64)
    if isinstance(data.features, ArcRows):
        lengths, terms = row_lengths(data.features.rows)
        at = data.features.row_at[:-1]
        longest = np.maximum.reduceat(lengths, at) if len(at) else lengths
        most = np.maximum.reduceat(terms, at) if len(at) else terms
        return sizes * longest, most + sizes
    # Templates plain and with their distance, tags between, relations, siblings; each has value 1,
    # and in the worst case all fall into one cell.
    n_terms = 3.0 * data.features.heads.shape[1] + len(data.features.tag_keys) + 8.0
    return sizes * n_terms, sizes + n_terms


@implements(potentials, ParseData)
def _potentials(data, i, w, scale, theta):
    """Fill theta: the scores of all arcs, and of siblings."""
    first, n = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    size = (n + 1) * (n + 1) * data.n_relations
    arcs = theta.arcs[:size].reshape((n + 1, n + 1, data.n_relations))
    fill_arcs(data.features, i, first, n, scale, w, arcs)
    if data.second:
        siblings = theta.siblings[: (n + 1) ** 3].reshape((n + 1, n + 1, n + 1))
        fill_siblings(data.features, i, first, n, scale, w, siblings)
