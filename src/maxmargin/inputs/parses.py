"""True trees as users pass them: checked, and brought into the space of outputs or left out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from maxmargin.metrics.parses import read_head
from maxmargin.structures.parse.data import tree_fault

OUTSIDE = ("drop", "repair")


class Arcs(NamedTuple):
    """Heads of all words, one sentence after the other, and relations where they are given."""

    heads: np.ndarray  # (n_words,) int32
    relations: list[Any] | None  # n_words names


def read_arcs(y: Any, offsets: np.ndarray) -> Arcs:
    """Return the trees of sentences: for each word a head, or a pair (head, relation).

    Heads that are no words, and heads that form a cycle, are refused with the number of the
    sentence. Several roots and crossing arcs are not: see `bring_inside`.
    """
    n = len(offsets) - 1
    if y is None or isinstance(y, (str, bytes)) or not hasattr(y, "__len__"):
        raise TypeError(f"y must be a list of trees, one per sentence, got {type(y).__name__}.")
    if len(y) != n:
        raise ValueError(f"X has {n} sentences but y has {len(y)} trees.")
    heads: list[int] = []
    relations: list[Any] = []
    for i, tree in enumerate(y):
        size = int(offsets[i + 1] - offsets[i])
        arcs = list(tree.arcs if hasattr(tree, "arcs") else tree)
        if len(arcs) != size:
            raise ValueError(f"X[{i}] has {size} words but y[{i}] has {len(arcs)} heads.")
        pairs = [arc if isinstance(arc, (tuple, list)) else (arc,) for arc in arcs]
        if len({len(pair) for pair in pairs}) > 1 or len(pairs[0]) > 2:
            raise ValueError(
                f"y[{i}] must have a head for each word, or a pair (head, relation) for each."
            )
        own = [read_head(pair[0], f"y[{i}][{t}]") for t, pair in enumerate(pairs)]
        fault = tree_fault(own, projective=False, one_root=False)
        if fault:
            raise ValueError(f"y[{i}] is no tree: {fault}.")
        heads.extend(own)
        relations.extend(pair[1] for pair in pairs if len(pair) == 2)
    if relations and len(relations) != len(heads):
        raise ValueError("y has relations for some sentences and none for others.")
    return Arcs(np.array(heads, dtype=np.int32), relations or None)


class Inside(NamedTuple):
    """Which sentences can be learnt from, their trees, and how many were outside."""

    keep: np.ndarray  # numbers of sentences
    heads: np.ndarray  # of all words; of the sentences that are kept they are outputs
    n_outside: int


def bring_inside(
    heads: np.ndarray, offsets: np.ndarray, projective: bool, one_root: bool, outside: str
) -> Inside:
    """Leave out trees that are no outputs (``outside="drop"``), or repair them ("repair").

    Repaired trees hang all roots but the first on the first; then, while arcs cross, the shortest
    arc that does is lifted to the head of its head.

    Examples
    --------
    >>> import numpy as np
    >>> offsets = np.array([0, 4])
    >>> bring_inside(np.array([3, 0, 2, 1]), offsets, True, True, "repair").heads.tolist()
    [2, 0, 2, 2]
    """
    found, keep, n_outside = heads.copy(), [], 0
    for i, (a, b) in enumerate(pairwise(offsets)):
        own = found[a:b]
        if tree_fault(own, projective, one_root):
            n_outside += 1
            if outside == "drop":
                continue
            _repair(own, projective, one_root)
        keep.append(i)
    return Inside(np.array(keep, dtype=np.int64), found, n_outside)


def _repair(heads: np.ndarray, projective: bool, one_root: bool) -> None:
    if one_root:
        roots = np.flatnonzero(heads == 0)
        heads[roots[1:]] = roots[0] + 1
    while projective and tree_fault(heads, one_root=one_root):
        crossing = [m for m in range(1, len(heads) + 1) if _crosses(heads, m)]
        m = min(crossing, key=lambda word: abs(word - heads[word - 1]))
        heads[m - 1] = heads[heads[m - 1] - 1]


def _crosses(heads: np.ndarray, m: int) -> bool:
    """Tell whether a word between m and its head is not below that head, and m can be lifted."""
    h = int(heads[m - 1])
    if h == 0:
        return False
    for word in range(min(h, m) + 1, max(h, m)):
        at = word
        while at not in (0, h):
            at = int(heads[at - 1])
        if at != h:
            return True
    return False
