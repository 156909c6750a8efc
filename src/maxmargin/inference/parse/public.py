"""Parses: every word has a head, another word or the root, and the arcs form a tree.

Words are 1..n and the root is 0. ``scores`` has the shape (n + 1, n + 1): [h, m] scores the arc
from head h to word m; the diagonal and the first column are not read. With relations its shape is
(n + 1, n + 1, L), and an arc also has one of L relations. The score of a tree is the sum over its
words. Scores may be -inf (forbidden), never NaN or +inf. All answers are exact.

An output is an int32 array of n heads, the head of word m at place m - 1; with relations it is a
`Parse`. Exactly one word hangs on the root, unless ``one_root=False``. Trees are projective (no two
arcs cross), unless ``projective=False``.

``siblings``, of shape (n + 1, n + 1, n + 1), makes the model one of second order: [h, m, s] is
added where s and m are neighbouring children of h on one side, s nearer to h, and [h, m, h] where m
is the nearest. Projective trees without relations alone have it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import (
    check_count,
    check_feasible,
    check_potential,
    check_shape,
    check_temperature,
)
from maxmargin.inference.answer import Answer, CostProfile, exact
from maxmargin.inference.parse.projective import (
    best_k_projective,
    best_projective,
    chart_room,
    projective_profile,
    tree_levels_room,
    tree_lists_room,
    tree_marginals,
    tree_sums_room,
    write_projective_level,
)
from maxmargin.inference.parse.relations import (
    best_relations,
    share_relations,
    stepped_relations,
    sum_relations,
)
from maxmargin.inference.parse.spanning import (
    best_k_spanning_once,
    best_spanning_once,
    reduction_room,
    spanning_marginals,
    spread,
)

__all__ = ["ArcMarginals", "Parse", "k_best", "marginals", "maximize", "profile", "score"]

#: Differences of scores up to this size can be multiplied by the number of words.
LARGEST = 1e290
Arcs = Iterable[tuple[int, int]]


class Parse(NamedTuple):
    """A tree with relations: for each word its head and the relation to it."""

    heads: npt.NDArray[np.int32]
    relations: npt.NDArray[np.int32]


class ArcMarginals(NamedTuple):
    """Probabilities of arcs under p(tree) ~ exp(score(tree) / temperature).

    Attributes
    ----------
    arcs : float64 array of the shape of ``scores``
        The probability of each arc, with relations of each arc with each relation.
    siblings : float64 array of the shape of ``siblings``, or None
    log_partition : float
        log sum over trees of exp(score / temperature).
    """

    arcs: npt.NDArray[np.float64]
    siblings: npt.NDArray[np.float64] | None
    log_partition: float


class _Problem(NamedTuple):
    """A problem that was checked; ``plain`` has the scores of the best relations."""

    scores: npt.NDArray[np.float64]
    plain: npt.NDArray[np.float64]
    siblings: npt.NDArray[np.float64]
    relation: npt.NDArray[np.int32] | None
    many: int
    projective: bool

    @property
    def n_words(self) -> int:
        return len(self.plain) - 1

    def answer(self, heads: npt.NDArray[np.int32], total: float) -> Answer:
        if self.relation is None:
            return exact(heads, total)
        words = np.arange(1, self.n_words + 1)
        return exact(Parse(heads, self.relation[heads, words]), total)


def maximize(
    scores: npt.ArrayLike,
    siblings: npt.ArrayLike | None = None,
    *,
    projective: bool = True,
    one_root: bool = True,
    forbidden: Arcs = (),
    forced: Arcs = (),
) -> Answer:
    """Return the best tree.

    Parameters
    ----------
    scores : array-like of shape (n + 1, n + 1) or (n + 1, n + 1, L), n >= 1
    siblings : array-like of shape (n + 1, n + 1, n + 1), or None
    projective : bool
        Whether arcs must not cross. Projective trees take O(n^3), others O(n^2).
    one_root : bool
        Whether exactly one word hangs on the root; else one or more do.
    forbidden, forced : iterables of arcs (head, word)
        Arcs that no tree may have, and arcs that all trees must have.

    Examples
    --------
    >>> from maxmargin.inference import parse
    >>> scores = [[0, 2, 3, 0], [0, 0, 2, 1], [0, 4, 0, 4], [0, 0, 3, 0]]
    >>> answer = parse.maximize(scores)
    >>> answer.output, answer.score
    (array([2, 0, 2], dtype=int32), 11.0)
    >>> parse.maximize(scores, forced=[(0, 1)]).output
    array([0, 1, 2], dtype=int32)
    """
    problem = _check(scores, siblings, projective, one_root, forbidden, forced)
    heads = np.zeros(problem.n_words, dtype=np.int32)
    if projective:
        room = chart_room(problem.n_words)
        best = best_projective(problem.plain, problem.siblings, problem.many, room, heads)
    else:
        best = best_spanning_once(problem.plain, problem.many, heads)
    check_feasible(best)
    return problem.answer(heads, best)


def k_best(
    scores: npt.ArrayLike,
    siblings: npt.ArrayLike | None = None,
    *,
    k: int,
    projective: bool = True,
    one_root: bool = True,
    forbidden: Arcs = (),
    forced: Arcs = (),
) -> list[Answer]:
    """Return the k best trees, best first; fewer if fewer are allowed.

    Parameters are those of `maximize`, and `k`, at least 1. With relations these are the k best
    trees that differ in an arc, each with its best relations.

    Examples
    --------
    >>> from maxmargin.inference import parse
    >>> scores = [[0, 2, 3, 0], [0, 0, 2, 1], [0, 4, 0, 4], [0, 0, 3, 0]]
    >>> [(answer.output.tolist(), answer.score) for answer in parse.k_best(scores, k=2)]
    [([2, 0, 2], 11.0), ([0, 1, 2], 8.0)]
    """
    problem = _check(scores, siblings, projective, one_root, forbidden, forced)
    n, k = problem.n_words, check_count("k", k)
    heads, totals = np.zeros((k, n), dtype=np.int32), np.zeros(k)
    if projective:
        lists = tree_lists_room(n, k)
        count = best_k_projective(
            problem.plain, problem.siblings, problem.many, k, lists, heads, totals
        )
    else:
        count = best_k_spanning_once(problem.plain, problem.many, k, heads, totals)
    check_feasible(totals[0] if count else -np.inf)
    return [problem.answer(heads[rank], totals[rank]) for rank in range(count)]


def marginals(
    scores: npt.ArrayLike,
    siblings: npt.ArrayLike | None = None,
    *,
    projective: bool = True,
    one_root: bool = True,
    forbidden: Arcs = (),
    forced: Arcs = (),
    temperature: float = 1.0,
) -> ArcMarginals:
    """Return the probabilities of arcs under p(tree) ~ exp(score(tree) / temperature).

    Parameters are those of `maximize`, and `temperature`. If trees need not be projective, the
    temperature must be at least 1e-13 times the largest difference of two scores.

    Examples
    --------
    All seven trees over three words are equally likely:

    >>> import numpy as np
    >>> from maxmargin.inference import parse
    >>> found = parse.marginals(np.zeros((4, 4)))
    >>> (7 * found.arcs).round(6).tolist()[0]
    [0.0, 3.0, 1.0, 3.0]
    >>> round(float(np.exp(found.log_partition)), 6)
    7.0
    """
    problem = _check(scores, siblings, projective, one_root, forbidden, forced)
    n, temperature = problem.n_words, check_temperature(temperature)
    plain, labelled = problem.plain, None
    if problem.relation is not None:
        plain, labelled = np.empty_like(plain), np.empty_like(problem.scores)
        sum_relations(problem.scores, temperature, plain, labelled)
    arcs, pairs = np.zeros((n + 1, n + 1)), np.zeros_like(problem.siblings)
    if projective:
        room = tree_sums_room(n)
        log_partition = tree_marginals(
            plain, problem.siblings, problem.many, temperature, room, arcs, pairs
        )
    else:
        apart = spread(plain)
        if temperature < 1e-13 * apart:
            raise ValueError(
                f"temperature is {temperature:g}, but scores differ by {apart:g}: marginals of "
                f"trees that need not be projective are computed down to {1e-13 * apart:.3g}."
            )
        log_partition = spanning_marginals(
            plain, problem.many, temperature, reduction_room(n), arcs
        )
    check_feasible(log_partition)
    if labelled is not None:
        share_relations(arcs, labelled)
        return ArcMarginals(labelled, None, float(log_partition))
    return ArcMarginals(arcs, pairs if siblings is not None else None, float(log_partition))


def profile(
    scores: npt.ArrayLike,
    heads: npt.ArrayLike,
    relations: npt.ArrayLike | None = None,
    *,
    one_root: bool = True,
    counts: npt.ArrayLike | None = None,
    forbidden: Arcs = (),
    forced: Arcs = (),
) -> CostProfile:
    """Return the best projective tree for each number of wrong words.

    A word is wrong if its head is, or with relations its head or its relation. There is no such
    table for trees that need not be projective.

    Parameters
    ----------
    scores : as for `maximize`
    heads : array-like of shape (n,)
        The reference. It need not be a projective tree itself.
    relations : array-like of shape (n,), if scores has relations
    one_root, forbidden, forced : as for `maximize`
    counts : array-like of shape (n,) of bool, or None for all
        Which words are counted.

    Returns
    -------
    CostProfile
        Its `outputs` have the shape (n + 1, n), with relations (n + 1, 2, n): heads, relations.

    Examples
    --------
    >>> from maxmargin.inference import parse
    >>> scores = [[0, 2, 3, 0], [0, 0, 2, 1], [0, 4, 0, 4], [0, 0, 3, 0]]
    >>> found = parse.profile(scores, [2, 0, 2])
    >>> found.score
    array([ 11., -inf,   8.,   6.])
    >>> found.outputs[2]
    array([0, 1, 2], dtype=int32)
    """
    problem = _check(scores, None, True, one_root, forbidden, forced)
    n = problem.n_words
    truth = _check_heads("heads", heads, n)
    true_relations = np.zeros(n, dtype=np.int32)
    if problem.relation is not None:
        if relations is None:
            raise ValueError("relations must be given: scores has relations.")
        true_relations = _check_codes("relations", relations, n, problem.scores.shape[2])
    elif relations is not None:
        raise ValueError("relations are given, but scores has no relations: its shape is 2-D.")
    counted = np.ones(n, dtype=np.int8) if counts is None else np.asarray(counts, dtype=np.int8)
    check_shape("counts", counted, (n,), "one per word")
    labelled = problem.scores if problem.scores.ndim == 3 else problem.scores[:, :, None]
    right, wrong = np.full((2, n + 1, n + 1), -np.inf)
    right_at, wrong_at = np.zeros((2, n + 1, n + 1), dtype=np.int32)
    stepped_relations(
        np.ascontiguousarray(labelled), truth, true_relations, counted,
        right, wrong, right_at, wrong_at,
    )  # fmt: skip
    room, totals = tree_levels_room(n), np.full(n + 1, -np.inf)
    projective_profile(right, wrong, problem.many, n, room, totals)
    check_feasible(totals.max())
    found, steps = np.full((n + 1, n), -1, dtype=np.int32), np.zeros(n, dtype=np.int32)
    kinds = np.full((n + 1, n), -1, dtype=np.int32)
    words = np.arange(1, n + 1)
    for level in np.flatnonzero(totals > -np.inf):
        write_projective_level(
            right, wrong, problem.many, room, int(level), totals[level], found[level], steps
        )
        at = np.where(steps == 1, wrong_at[found[level], words], right_at[found[level], words])
        kinds[level] = at
    outputs = found if problem.relation is None else np.stack([found, kinds], axis=1)
    return CostProfile(totals, outputs)


def score(
    scores: npt.ArrayLike,
    heads: npt.ArrayLike,
    relations: npt.ArrayLike | None = None,
    siblings: npt.ArrayLike | None = None,
) -> float:
    """Return the score of a tree; -inf if it has a forbidden arc.

    Examples
    --------
    >>> from maxmargin.inference import parse
    >>> parse.score([[0, 2, 3], [0, 0, 1], [0, 4, 0]], [2, 0])
    7.0
    """
    problem = _check(scores, siblings, True, False, (), ())
    n = problem.n_words
    tree, words = _check_heads("heads", heads, n), np.arange(1, n + 1)
    if problem.relation is not None:
        if relations is None:
            raise ValueError("relations must be given: scores has relations.")
        codes = _check_codes("relations", relations, n, problem.scores.shape[2])
        return float(problem.scores[tree, words, codes].sum())
    total = problem.scores[tree, words].sum()
    if siblings is not None:
        total += problem.siblings[tree, words, siblings_of(tree)].sum()
    return float(total)


def siblings_of(heads: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return for each word the child of its head before it, counted from the head, or the head.

    Examples
    --------
    >>> from maxmargin.inference.parse import siblings_of
    >>> siblings_of([2, 0, 2, 2])
    array([2, 0, 2, 3], dtype=int32)
    """
    tree = np.asarray(heads)
    found = np.zeros(len(tree), dtype=np.int32)
    for m, head in enumerate(tree, start=1):
        between = range(m - 1, head, -1) if m > head else range(m + 1, head)
        found[m - 1] = next((s for s in between if tree[s - 1] == head), head)
    return found


def _check(
    scores: Any,
    siblings: Any,
    projective: bool,
    one_root: bool,
    forbidden: Arcs,
    forced: Arcs,
) -> _Problem:
    n_dimensions = np.ndim(scores)
    given = check_potential("scores", scores, 3 if n_dimensions == 3 else 2)
    size = len(given)
    if size < 2:
        raise ValueError(
            f"scores has shape {given.shape}; expected (n + 1, n + 1) with n >= 1 words: an empty "
            "sentence has no tree."
        )
    check_shape("scores", given, (size, size, *given.shape[2:]), "one row per head and per word")
    if given.ndim == 3 and given.shape[2] == 0:
        raise ValueError("scores has no relation: its last axis is empty.")
    forbidden, forced = list(forbidden), list(forced)
    own = np.array(given) if forbidden or forced else given
    for name, arcs in (("forbidden", forbidden), ("forced", forced)):
        for head, word in _check_arcs(name, arcs, size - 1):
            if name == "forbidden":
                own[head, word] = -np.inf
            else:
                others = np.arange(size) != head
                own[others, word] = -np.inf
    between = np.zeros((0, 0, 0))
    if siblings is not None:
        if not projective:
            raise ValueError(
                "siblings are for projective trees; with projective=False the model is of first "
                "order (the best tree with siblings is NP-hard)."
            )
        if given.ndim == 3:
            raise ValueError("siblings and relations cannot be combined: give scores of arcs.")
        between = check_potential("siblings", siblings, 3)
        check_shape("siblings", between, (size, size, size), "as scores has so many words")
    plain, relation = own, None
    if own.ndim == 3:
        plain = np.full((size, size), -np.inf)
        relation = np.zeros((size, size), dtype=np.int32)
        best_relations(own, plain, relation)
    if not projective and spread(plain) * size > LARGEST:
        raise ValueError(f"scores differ by more than {LARGEST / size:.3g}: scale them down.")
    return _Problem(own, plain, between, relation, 0 if one_root else 1, projective)


def _check_arcs(name: str, arcs: Arcs, n_words: int) -> list[tuple[int, int]]:
    checked = []
    for head, word in arcs:
        if not (0 <= head <= n_words and 1 <= word <= n_words and head != word):
            raise ValueError(
                f"{name} has the arc ({head}, {word}); expected (head, word) with a head in "
                f"0..{n_words} and another word in 1..{n_words}."
            )
        checked.append((int(head), int(word)))
    return checked


def _check_codes(name: str, value: Any, n: int, n_codes: int) -> npt.NDArray[np.int32]:
    codes = np.asarray(value)
    check_shape(name, codes, (n,), "one per word")
    if codes.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold whole numbers, got dtype {codes.dtype}.")
    if ((codes < 0) | (codes >= n_codes)).any():
        bad = codes[(codes < 0) | (codes >= n_codes)][0]
        raise ValueError(f"{name} has {bad}; expected 0 to {n_codes - 1}.")
    return np.ascontiguousarray(codes, dtype=np.int32)


def _check_heads(name: str, value: Any, n: int) -> npt.NDArray[np.int32]:
    heads = _check_codes(name, value, n, n + 1)
    if (heads == np.arange(1, n + 1)).any():
        word = int(np.argmax(heads == np.arange(1, n + 1))) + 1
        raise ValueError(f"{name} makes word {word} its own head.")
    return heads
