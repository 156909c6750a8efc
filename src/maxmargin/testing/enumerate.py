"""Brute force: every output with its score, and the answers read off the list.

Each public function of `maxmargin.inference` has its partner here, written without the dynamic
programmes: what an oracle claims can be compared with what is true, on small cases. An
`Enumeration` lists outputs in the order of the oracles' ties (first position fastest), so that the
first best output is the one they promise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from maxmargin.inference.hierarchy.shape import HierarchyShape, ancestors

MAX_OUTPUTS = 1_000_000


class Enumeration(NamedTuple):
    """All outputs with their scores.

    Attributes
    ----------
    outputs : int32 array of shape (n_outputs, L)
    scores : float64 array of shape (n_outputs,)
    n_labels : int
    """

    outputs: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float64]
    n_labels: int


def labellings(length: int, n_labels: int) -> npt.NDArray[np.int32]:
    """Return all labellings as rows, the first position changing fastest.

    Examples
    --------
    >>> from maxmargin.testing.enumerate import labellings
    >>> labellings(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    if length < 1 or n_labels < 1:
        raise ValueError(
            f"expected at least one position and one label, got {length} and {n_labels}."
        )
    n_outputs = n_labels**length
    if n_outputs > MAX_OUTPUTS:
        raise ValueError(
            f"{n_labels} labels at {length} positions make {n_outputs} outputs; "
            f"at most {MAX_OUTPUTS} are enumerated."
        )
    number = np.arange(n_outputs)[:, None]
    return (number // n_labels ** np.arange(length) % n_labels).astype(np.int32)


def trees(n_words: int, projective: bool = True, one_root: bool = True) -> npt.NDArray[np.int32]:
    """Return all trees over words 1..n as rows of heads; the root is 0.

    A tree is projective if all words between a head and its child are below the head.

    Examples
    --------
    >>> from maxmargin.testing.enumerate import trees
    >>> trees(2).tolist()
    [[2, 0], [0, 1]]
    >>> [len(trees(n)) for n in range(1, 6)], len(trees(5, projective=False))
    ([1, 2, 7, 30, 143], 625)
    """
    heads = labellings(n_words, n_words + 1)
    # Climb n times from every word: who hangs on the root is there by then.
    words = np.arange(1, n_words + 1)
    above = np.concatenate([np.zeros((len(heads), 1), dtype=np.int32), heads], axis=1)
    rows = np.arange(len(heads))[:, None]
    is_below = np.zeros((len(heads), n_words + 1, n_words + 1), dtype=bool)  # [., head, word]
    at = np.tile(np.arange(n_words + 1), (len(heads), 1))
    for _ in range(n_words + 1):
        is_below[rows, at, np.arange(n_words + 1)] = True
        at = above[rows, at]
    keep = (at == 0).all(axis=1)
    if one_root:
        keep &= (heads == 0).sum(axis=1) == 1
    if projective:
        low, high = np.minimum(heads, words), np.maximum(heads, words)
        for word in words:
            inside = (low < word) & (word < high)
            keep &= (is_below[rows, heads, word] | ~inside).all(axis=1)
    return heads[keep]


def chain(
    unary: npt.ArrayLike,
    transitions: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    end: npt.ArrayLike | None = None,
) -> Enumeration:
    """Return all labellings of a chain with their scores.

    Scores are summed from left to right, as the oracles do. Rounding preserves order, so the best
    score that an oracle finds is equal to the best of these to the last bit.

    Examples
    --------
    >>> from maxmargin.testing import enumerate
    >>> enumerate.chain([[1.0, 0.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]]).scores
    array([3., 0., 1., 2.])
    """
    unary = np.asarray(unary, dtype=np.float64)
    transitions = np.asarray(transitions, dtype=np.float64)
    length, n_labels = unary.shape
    outputs = labellings(length, n_labels)
    scores = np.zeros(len(outputs))
    if start is not None:
        scores += np.asarray(start, dtype=np.float64)[outputs[:, 0]]
    for t in range(length):
        if t > 0:
            scores += transitions[outputs[:, t - 1], outputs[:, t]]
        scores += unary[t, outputs[:, t]]
    if end is not None:
        scores += np.asarray(end, dtype=np.float64)[outputs[:, -1]]
    return Enumeration(outputs, scores, n_labels)


def classes(scores: npt.ArrayLike) -> Enumeration:
    """Return all classes with their scores: outputs of length one.

    Examples
    --------
    >>> from maxmargin.testing import enumerate
    >>> enumerate.classes([1.0, 3.0]).outputs.tolist()
    [[0], [1]]
    """
    checked = np.asarray(scores, dtype=np.float64)
    return Enumeration(labellings(1, len(checked)), checked, len(checked))


def node_sets(shape: HierarchyShape, space: str) -> npt.NDArray[np.int32]:
    """Return all outputs of a hierarchy as rows of M zeros and ones, node 0 changing fastest.

    ``space`` is "leaf", "path", "paths" or "closed", as `maxmargin.inference.hierarchy` has them.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> from maxmargin.testing import enumerate
    >>> enumerate.node_sets(hierarchy_shape(3, [1, 2], [0, 0]), "paths").tolist()
    [[1, 1, 0], [1, 0, 1], [1, 1, 1]]
    """
    n_nodes = len(shape.parent_at) - 1
    is_leaf = np.diff(shape.child_at) == 0
    if space in ("leaf", "path"):
        ends = np.flatnonzero(is_leaf) if space == "leaf" else np.arange(n_nodes)
        return np.array([ancestors(shape, [n]) for n in ends], dtype=np.int32)
    sets = labellings(n_nodes, 2)
    child = np.repeat(np.arange(n_nodes), np.diff(shape.parent_at))
    allowed = (sets[:, child] <= sets[:, shape.parents]).all(axis=1)
    if space == "paths":
        allowed &= sets.any(axis=1)
        for n in np.flatnonzero(~is_leaf):
            below = shape.children[shape.child_at[n] : shape.child_at[n + 1]]
            allowed &= sets[:, n] <= sets[:, below].any(axis=1)
    return sets[allowed]


def k_best(
    enumeration: Enumeration, k: int, banned: Iterable[Any] = ()
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Return the k best outputs that are neither banned nor scored -inf, and their scores.

    Examples
    --------
    >>> from maxmargin.testing import enumerate
    >>> outputs, scores = enumerate.k_best(enumerate.classes([1.0, 3.0, 2.0]), 2, banned=[[1]])
    >>> outputs.tolist(), scores.tolist()
    ([[2], [0]], [2.0, 1.0])
    """
    out = {tuple(int(label) for label in np.atleast_1d(output)) for output in banned}
    order = np.argsort(-enumeration.scores, kind="stable")
    kept = [
        i
        for i in order
        if enumeration.scores[i] > -np.inf and tuple(enumeration.outputs[i].tolist()) not in out
    ][:k]
    return enumeration.outputs[kept], enumeration.scores[kept]


def marginals(
    enumeration: Enumeration, temperature: float = 1.0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
    """Return node marginals (L, K), edge marginals (L - 1, K, K) and the log-partition.

    Examples
    --------
    >>> from maxmargin.testing import enumerate
    >>> node, edge, log_partition = enumerate.marginals(enumerate.classes([0.0, 0.0]))
    >>> node.tolist(), edge.shape, round(log_partition, 3)
    ([[0.5, 0.5]], (0, 2, 2), 0.693)
    """
    outputs, scores, n_labels = enumeration
    best = scores.max()
    excess = logsumexp((scores - best) / temperature)
    p = np.exp((scores - best) / temperature - excess)
    length = outputs.shape[1]
    node = np.zeros((length, n_labels))
    edge = np.zeros((length - 1, n_labels, n_labels))
    for t in range(length):
        np.add.at(node[t], outputs[:, t], p)
        if t > 0:
            np.add.at(edge[t - 1], (outputs[:, t - 1], outputs[:, t]), p)
    return node, edge, float(best / temperature + excess)


def max_marginals(enumeration: Enumeration) -> npt.NDArray[np.float64]:
    """Return, at [t, k], the best score of an output with label k at position t.

    Examples
    --------
    >>> from maxmargin.testing import enumerate
    >>> enumerate.max_marginals(enumerate.classes([1.0, 3.0]))
    array([[1., 3.]])
    """
    outputs, scores, n_labels = enumeration
    result = np.full((outputs.shape[1], n_labels), -np.inf)
    for t in range(outputs.shape[1]):
        np.maximum.at(result[t], outputs[:, t], scores)
    return result


def profile(
    enumeration: Enumeration, reference: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Return the best score for every number of mismatches, 0 to L, and the first such output.

    A negative label of the reference is unknown and never a mismatch. A level that no output has
    gets -inf, and -1 throughout its output.

    Examples
    --------
    >>> from maxmargin.testing import enumerate
    >>> scores, outputs = enumerate.profile(enumerate.classes([1.0, 3.0, 2.0]), [1])
    >>> scores.tolist(), outputs.tolist()
    ([3.0, 2.0], [[1], [2]])
    """
    outputs, scores, _ = enumeration
    labels = np.asarray(reference)
    length = outputs.shape[1]
    level = np.sum((outputs != labels) & (labels >= 0), axis=1)
    best = np.full(length + 1, -np.inf)
    found = np.full((length + 1, length), -1, dtype=np.int32)
    for c in range(length + 1):
        at_level = np.flatnonzero(level == c)
        if len(at_level) and scores[at_level].max() > -np.inf:
            first = at_level[np.argmax(scores[at_level])]
            best[c], found[c] = scores[first], outputs[first]
    return best, found
