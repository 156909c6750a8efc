"""Parses of many sentences at once: the best trees, and marginals, in one call.

A call from Python takes as long as a short tree, and charts of several sentences side by side fill
vector registers: of projective trees eight sentences take two to three times as long as one. Trees
and scores are those that `maximize` finds, ties broken alike; marginals are those of `marginals`
but for rounding. (Where sums of scores overflow, beyond 1e300, neither says anything.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import check_potential, check_temperature
from maxmargin.inference.parse.projective import (
    batch_chart_room,
    batch_sums_room,
    best_projective_batch,
    projective_marginals_batch,
    tree_marginals,
    tree_sums_room,
)
from maxmargin.inference.parse.public import LARGEST
from maxmargin.inference.parse.relations import best_relations, share_relations, sum_relations
from maxmargin.inference.parse.spanning import (
    best_spanning_batch,
    reduction_room,
    spanning_marginals_batch,
    spread,
)

__all__ = ["BatchMarginals", "BatchTrees", "marginals_batch", "maximize_batch"]

Floats = npt.NDArray[np.float64]
Lengths = npt.NDArray[np.int64]


class BatchTrees(NamedTuple):
    """The best trees of a batch of B sentences of up to N words.

    Attributes
    ----------
    heads : int32 array of shape (B, N)
        [i, m - 1] is the head of word m of sentence i; -1 beyond its end.
    relations : int32 array of the same shape, or None
        The relations to these heads, where arcs have relations.
    scores : float64 array of shape (B,)
    """

    heads: npt.NDArray[np.int32]
    relations: npt.NDArray[np.int32] | None
    scores: Floats


class BatchMarginals(NamedTuple):
    """Probabilities of arcs of a batch, see `ArcMarginals`.

    Attributes
    ----------
    arcs : float64 array of the shape of ``scores``, zeros beyond the end of a sentence
    log_partition : float64 array of shape (B,)
    """

    arcs: Floats
    log_partition: Floats


def maximize_batch(
    scores: npt.ArrayLike | Sequence[npt.ArrayLike],
    lengths: npt.ArrayLike | None = None,
    *,
    projective: bool = True,
    one_root: bool = True,
) -> BatchTrees:
    """Return the best tree of each sentence of a batch.

    Parameters
    ----------
    scores : array-like of shape (B, N + 1, N + 1) or (B, N + 1, N + 1, L), or list of arrays
        Of sentence i those of up to ``lengths[i]`` are read, as `maximize` reads them. In a list
        every sentence has an array of its own size.
    lengths : array-like of shape (B,) of integers, or None
        How many words each sentence has, at least 1. None: N, or as the arrays of a list say.
    projective, one_root : as for `maximize`

    Examples
    --------
    >>> from maxmargin.inference import parse
    >>> one = [[0, 2, 3, 0], [0, 0, 2, 1], [0, 4, 0, 4], [0, 0, 3, 0]]
    >>> found = parse.maximize_batch([one, [[0, 2, 1], [0, 0, 3], [0, 1, 0]]])
    >>> found.heads
    array([[ 2,  0,  2],
           [ 0,  1, -1]], dtype=int32)
    >>> found.scores
    array([11.,  5.])
    """
    given, words = _check(scores, lengths)
    found = trees_of_batch(given, words, projective, 0 if one_root else 1)
    _check_feasible(found.scores)
    return found


def marginals_batch(
    scores: npt.ArrayLike | Sequence[npt.ArrayLike],
    lengths: npt.ArrayLike | None = None,
    *,
    projective: bool = True,
    one_root: bool = True,
    temperature: float = 1.0,
) -> BatchMarginals:
    """Return the probabilities of arcs under p(tree) ~ exp(score(tree) / temperature).

    Parameters are those of `maximize_batch`, and the ``temperature`` of `marginals`.

    Examples
    --------
    All seven trees over three words are equally likely, and so are both over two:

    >>> import numpy as np
    >>> from maxmargin.inference import parse
    >>> found = parse.marginals_batch([np.zeros((4, 4)), np.zeros((3, 3))])
    >>> np.exp(found.log_partition).round(6)
    array([7., 2.])
    >>> found.arcs[1]
    array([[0. , 0.5, 0.5, 0. ],
           [0. , 0. , 0.5, 0. ],
           [0. , 0.5, 0. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """
    given, words = _check(scores, lengths)
    found = marginals_of_batch(
        given, words, projective, 0 if one_root else 1, check_temperature(temperature)
    )
    _check_feasible(found.log_partition)
    return found


def trees_of_batch(scores: Floats, lengths: Lengths, projective: bool, many: int) -> BatchTrees:
    """Do as `maximize_batch` with what was checked; scores of trees may be -inf."""
    plain, relation = scores, None
    if scores.ndim == 4:
        plain, relation = np.empty(scores.shape[:3]), np.zeros(scores.shape[:3], dtype=np.int32)
        plain[:, :, 0] = -np.inf
        for i in range(len(scores)):
            best_relations(scores[i], plain[i], relation[i])
    n, longest = len(scores), scores.shape[1] - 1
    heads, totals = np.full((n, longest), -1, dtype=np.int32), np.zeros(n)
    if projective:
        room = batch_chart_room(int(lengths.max(initial=1)))
        best_projective_batch(plain, lengths, _longest_first(lengths), many, room, heads, totals)
    else:
        _check_spread(plain, lengths, 0.0)
        best_spanning_batch(plain, lengths, many, heads, totals)
    if relation is None:
        return BatchTrees(heads, None, totals)
    chosen = relation[np.arange(n)[:, None], heads, np.arange(1, longest + 1)]
    return BatchTrees(heads, np.where(heads < 0, np.int32(-1), chosen), totals)


def marginals_of_batch(
    scores: Floats, lengths: Lengths, projective: bool, many: int, temperature: float
) -> BatchMarginals:
    """Do as `marginals_batch` with what was checked; log partitions may be -inf."""
    plain = scores
    if scores.ndim == 4:
        plain, shares = np.empty(scores.shape[:3]), np.empty(scores.shape)
        for i in range(len(scores)):
            sum_relations(scores[i], temperature, plain[i], shares[i])
    arcs, totals, longest = np.zeros(plain.shape), np.zeros(len(plain)), int(lengths.max(initial=1))
    if projective:
        room = batch_sums_room(longest)
        order = _longest_first(lengths)
        projective_marginals_batch(plain, lengths, order, many, temperature, room, totals, arcs)
        _do_one_by_one(plain, lengths, many, temperature, totals, arcs)
    else:
        _check_spread(plain, lengths, temperature)
        sums_room = reduction_room(longest)
        spanning_marginals_batch(plain, lengths, many, temperature, sums_room, totals, arcs)
    if scores.ndim == 3:
        return BatchMarginals(arcs, totals)
    for i in range(len(scores)):
        share_relations(arcs[i], shares[i])
    return BatchMarginals(shares, totals)


def _do_one_by_one(
    scores: Floats, lengths: Lengths, many: int, temperature: float, totals: Floats, arcs: Floats
) -> None:
    """Fill in the sentences that the batch has left out, whose exponentials could be lost."""
    for i in np.flatnonzero(np.isnan(totals)):
        size = lengths[i] + 1
        own, found = np.ascontiguousarray(scores[i, :size, :size]), np.zeros((size, size))
        room, none = tree_sums_room(int(lengths[i])), np.zeros((0, 0, 0))
        totals[i] = tree_marginals(own, none, many, temperature, room, found, none)
        arcs[i, :size, :size] = found


def _longest_first(lengths: Lengths) -> Lengths:
    return np.argsort(-lengths, kind="stable")


def _check(scores: Any, lengths: Any) -> tuple[Floats, Lengths]:
    """Return the scores of a batch as one array, and the lengths of its sentences."""
    if lengths is None and isinstance(scores, list | tuple):
        return _stacked([np.asarray(own) for own in scores])
    given = check_potential("scores", scores, 4 if np.ndim(scores) == 4 else 3)
    if given.shape[1] != given.shape[2] or given.shape[1] == 0:
        raise ValueError(
            f"scores has shape {given.shape}; expected (B, N + 1, N + 1), or with relations "
            "(B, N + 1, N + 1, L): one row per head and per word, the root being one of them."
        )
    _check_relations("scores", given.shape[3:])
    n, longest = len(given), given.shape[1] - 1
    words = np.full(n, longest, dtype=np.int64) if lengths is None else np.asarray(lengths)
    if lengths is None and longest > 0:
        return given, words
    if words.shape != (n,) or (n and words.dtype.kind not in "iu"):
        raise ValueError(
            f"lengths must be {n} integers, one per sentence; got {words.dtype} of shape "
            f"{words.shape}."
        )
    wrong = np.flatnonzero((words < 1) | (words > longest))
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"sentence {i} has {words[i]} words; expected 1 to {longest}, which scores has room "
            "for: an empty sentence has no tree."
        )
    return given, words.astype(np.int64)


def _stacked(scores: list[npt.NDArray[Any]]) -> tuple[Floats, Lengths]:
    """Return sentences of any lengths as one array, zeros beyond their ends."""
    n_dimensions = scores[0].ndim if scores else 2
    own: list[Floats] = []
    for i, each in enumerate(scores):
        array = check_potential(f"scores[{i}]", each, 3 if n_dimensions == 3 else 2)
        size = len(array)
        last = own[0].shape[2:] if own else array.shape[2:]
        if size < 2 or array.shape != (size, size, *last):
            wanted = ", ".join(map(str, ("n + 1", "n + 1", *last)))
            raise ValueError(
                f"scores[{i}] has shape {array.shape}; expected ({wanted}) with n >= 1 words."
            )
        _check_relations(f"scores[{i}]", last)
        own.append(array)
    sizes = np.array([len(array) for array in own], dtype=np.int64)
    largest = int(sizes.max(initial=1))
    stacked = np.zeros((len(own), largest, largest, *(own[0].shape[2:] if own else ())))
    for place, array in zip(stacked, own, strict=True):
        place[: len(array), : len(array)] = array
    return stacked, sizes - 1


def _check_relations(name: str, sizes: tuple[int, ...]) -> None:
    if 0 in sizes:
        raise ValueError(f"{name} has no relation: its last axis is empty.")


def _check_feasible(totals: Floats) -> None:
    wrong = np.flatnonzero(totals == -np.inf)
    if len(wrong):
        raise ValueError(
            f"the constraints allow no output for sentence {wrong[0]}: every tree scores -inf."
        )


def _check_spread(scores: Floats, lengths: Lengths, temperature: float) -> None:
    """Refuse scores that differ too much for trees of any shape; the best have temperature 0."""
    size = scores.shape[1]
    # Of all scores at once, mostly; else without those that are -inf, and then one by one.
    least, most = scores.min(initial=0.0), scores.max(initial=0.0)
    if least == -np.inf:
        least = scores.min(initial=0.0, where=scores > -np.inf)
    with np.errstate(over="ignore"):
        apart = most - least
        if apart * size <= LARGEST and not 0.0 < temperature < 1e-13 * apart:
            return
    for i, n in enumerate(lengths):
        apart = float(spread(np.ascontiguousarray(scores[i, : n + 1, : n + 1])))
        if apart * float(n + 1) > LARGEST:
            raise ValueError(
                f"scores of sentence {i} differ by more than {LARGEST / (n + 1):.3g}: scale them "
                "down."
            )
        if 0.0 < temperature < 1e-13 * apart:
            raise ValueError(
                f"temperature is {temperature:g}, but scores of sentence {i} differ by {apart:g}: "
                "marginals of trees that need not be projective are computed down to "
                f"{1e-13 * apart:.3g}."
            )
