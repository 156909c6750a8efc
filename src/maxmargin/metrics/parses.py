"""Attachment scores of parses, as the script of the CoNLL 2018 shared task counts them.

All words count, punctuation too, unless told otherwise; where tokens are given, as here, the F1 of
that script is this accuracy. Its LAS compares relations without their subtypes (``nsubj`` for
``nsubj:pass``); here that is ``subtypes=False``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["attachment", "las", "parse_scores", "uas"]


def attachment(
    true_heads: Any,
    heads: Any,
    counts: Any = None,
    true_relations: Any = None,
    relations: Any = None,
) -> float:
    """Return the share of words whose head, and relation where given, is right.

    Parameters are arrays over all words; ``counts`` weighs them, None: all count alike.

    Examples
    --------
    >>> attachment([2, 0, 2], [2, 0, 1])
    0.6666666666666666
    """
    right = np.asarray(true_heads) == np.asarray(heads)
    if true_relations is not None:
        right &= np.asarray(true_relations) == np.asarray(relations)
    weight = np.ones(len(right)) if counts is None else np.asarray(counts, dtype=np.float64)
    return float(right @ weight / weight.sum()) if weight.sum() else 1.0


def uas(y_true: Sequence[Any], y_pred: Sequence[Any], counts: Any = None) -> float:
    """Return the unlabelled attachment score: the share of words with the right head.

    Parameters
    ----------
    y_true, y_pred : lists of trees, each a list of heads or of pairs (head, relation)
    counts : list of lists of bool, or None
        Which words count.

    Examples
    --------
    >>> uas([[2, 0], [0, 1, 1]], [[2, 0], [0, 1, 2]])
    0.8
    """
    return parse_scores(y_true, y_pred, counts)["uas"]


def las(
    y_true: Sequence[Any], y_pred: Sequence[Any], counts: Any = None, subtypes: bool = True
) -> float:
    """Return the labelled attachment score: words with the right head and the right relation.

    Parameters
    ----------
    y_true, y_pred, counts : as for `uas`; trees are lists of pairs (head, relation)
    subtypes : bool
        Whether "nsubj:pass" differs from "nsubj".

    Examples
    --------
    >>> truth, found = [[(2, "nsubj:pass"), (0, "root")]], [[(2, "nsubj"), (0, "root")]]
    >>> las(truth, found), las(truth, found, subtypes=False)
    (0.5, 1.0)
    """
    return parse_scores(y_true, y_pred, counts, subtypes)["las"]


def parse_scores(
    y_true: Sequence[Any], y_pred: Sequence[Any], counts: Any = None, subtypes: bool = True
) -> dict[str, float]:
    """Return "uas" and, if both have relations, "las" by name.

    Examples
    --------
    >>> parse_scores([[(2, "nsubj"), (0, "root")]], [[(2, "obj"), (0, "root")]])
    {'uas': 1.0, 'las': 0.5}
    """
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} trees but y_pred has {len(y_pred)}.")
    words: list[list[Any]] = [[], []]
    for i, pair in enumerate(zip(y_true, y_pred, strict=True)):
        if len(pair[0]) != len(pair[1]):
            raise ValueError(
                f"y_true[{i}] has {len(pair[0])} words but y_pred[{i}] has {len(pair[1])}."
            )
        for own, tree, name in zip(words, pair, ("y_true", "y_pred"), strict=True):
            own.extend(read_arc(arc, f"{name}[{i}][{t}]") for t, arc in enumerate(tree))
    weight = None
    if counts is not None:
        weight = np.array([bool(flag) for tree in counts for flag in tree])
        if len(weight) != len(words[0]):
            raise ValueError(f"counts has {len(weight)} flags for {len(words[0])} words.")
    heads = [np.array([head for head, _ in own]) for own in words]
    found = {"uas": attachment(heads[0], heads[1], weight)}
    names = [[_plain(name, subtypes) for _, name in own] for own in words]
    if all(name is not None for own in names for name in own):
        right = np.array([a == b for a, b in zip(*names, strict=True)], dtype=bool)
        found["las"] = attachment(heads[0], heads[1], weight, np.ones(len(right), bool), right)
    return found


def _plain(name: Any, subtypes: bool) -> Any:
    return name if name is None or subtypes else str(name).split(":")[0]


def read_arc(arc: Any, where: str) -> tuple[int, Any]:
    """Return the head and the relation, or None, of one word.

    Examples
    --------
    >>> read_arc(2, "arcs[0]"), read_arc([2, "nsubj"], "arcs[0]")
    ((2, None), (2, 'nsubj'))
    """
    pair = arc if isinstance(arc, (tuple, list)) else (arc, None)
    if len(pair) != 2:
        raise ValueError(f"{where} is {arc!r}; expected a head, or a pair (head, relation).")
    return read_head(pair[0], where), pair[1]


def read_head(value: Any, where: str) -> int:
    """Return a head as an int; refuse what is none."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(
            f"{where} has the head {value!r}; expected the number of a word from 1 on, or 0 "
            "for the root."
        )
    return int(value)
