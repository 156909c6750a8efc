"""Label sets: which of m labels are on, scored one by one and in pairs.

The score of a label set y in {0, 1}^m is

    sum_j unary[j] y_j + sum_e pair[e] y_a y_b,    e = (a, b) running over the edges.

A unary of -inf keeps its label off. The functions here check their arguments, and choose a method
by the edges: closed forms without edges, dynamic programmes on forests, enumeration of all outputs
up to 16 labels, otherwise roof duality and integer programmes, which HiGHS solves. Only integer
programmes may take long: under a time limit the answer is the best label set found, with a bound.
Ties leave labels off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import check_count, check_labels, check_temperature
from maxmargin.inference.answer import Answer, CostProfile, Marginals
from maxmargin.inference.labels.best_first import best_first, nothing_left
from maxmargin.inference.labels.checked import check_banned, check_problem, check_time_limit
from maxmargin.inference.labels.constraints import LabelConstraints
from maxmargin.inference.labels.flips import label_score
from maxmargin.inference.labels.listed import MAX_LISTED
from maxmargin.inference.labels.profiles import (
    profile_independent,
    profile_listed,
    profile_program,
    profile_tree,
)
from maxmargin.inference.labels.tree import tree_marginals, tree_order

__all__ = ["k_best", "marginals", "maximize", "profile", "score"]


def maximize(
    unary: npt.ArrayLike,
    edges: npt.ArrayLike = (),
    pair: npt.ArrayLike = (),
    banned: Iterable[npt.ArrayLike] = (),
    *,
    at_least: int = 0,
    at_most: int | None = None,
    exclusive: Sequence[Sequence[int]] = (),
    implies: Sequence[tuple[int, int]] = (),
    time_limit: float | None = None,
) -> Answer:
    """Return the best label set that satisfies the constraints and is not banned.

    Parameters
    ----------
    unary : array-like of shape (m,)
        Scores of the labels, -inf where a label must be off.
    edges : array-like of int of shape (E, 2)
        Pairs of different labels, each pair once.
    pair : array-like of shape (E,)
        Scores of having both labels of an edge, finite.
    banned : iterable of label vectors, each of m zeros and ones
        Label sets that may not be the answer.
    at_least, at_most : int, and int or None for no limit
        Bounds on the number of labels that are on.
    exclusive : sequence of groups of labels
        At most one label of each group is on.
    implies : sequence of pairs (a, b) of labels
        If a is on, b is on.
    time_limit : float or None
        Seconds that an integer programme may take; None for no limit. If they do not suffice, the
        answer is the best label set found, `relaxed`, with a bound.

    Returns
    -------
    Answer
        Its `output` is an int32 array of shape (m,).

    Examples
    --------
    >>> from maxmargin.inference import labels as label_sets
    >>> unary, edges, pair = [1.0, 2.0, -1.0], [(0, 1), (1, 2)], [-1.5, 0.5]
    >>> answer = label_sets.maximize(unary, edges, pair)
    >>> answer.output, answer.score, answer.exactness.value
    (array([0, 1, 0], dtype=int32), 2.0, 'exact')
    >>> label_sets.maximize(unary, edges, pair, at_least=2).output
    array([1, 1, 0], dtype=int32)
    >>> label_sets.maximize(unary, edges, pair, implies=[(1, 2)]).output
    array([0, 1, 1], dtype=int32)
    """
    constraints = LabelConstraints(at_least, at_most, exclusive, implies)
    problem = check_problem(unary, edges, pair, constraints)
    bans = check_banned(problem, banned)
    for answer in best_first(problem, 1, bans, check_time_limit(time_limit)):
        return answer
    raise nothing_left(problem, len(bans))


def k_best(
    unary: npt.ArrayLike,
    edges: npt.ArrayLike = (),
    pair: npt.ArrayLike = (),
    *,
    k: int,
    at_least: int = 0,
    at_most: int | None = None,
    exclusive: Sequence[Sequence[int]] = (),
    implies: Sequence[tuple[int, int]] = (),
    time_limit: float | None = None,
) -> list[Answer]:
    """Return the k best label sets, best first; fewer if fewer are allowed.

    Parameters are those of `maximize`, and `k`, at least 1. The `time_limit` is for all k answers
    together; if it is reached, the list ends with the first answer that is not exact.

    Examples
    --------
    >>> from maxmargin.inference import labels as label_sets
    >>> answers = label_sets.k_best([1.0, 2.0, -1.0], k=3)
    >>> [(answer.output.tolist(), answer.score) for answer in answers]
    [([1, 1, 0], 3.0), ([0, 1, 0], 2.0), ([1, 1, 1], 2.0)]
    """
    constraints = LabelConstraints(at_least, at_most, exclusive, implies)
    problem = check_problem(unary, edges, pair, constraints)
    k = check_count("k", k)
    answers = list(best_first(problem, k, [], check_time_limit(time_limit)))
    if not answers:
        raise nothing_left(problem, 0)
    return answers


def score(
    unary: npt.ArrayLike,
    edges: npt.ArrayLike = (),
    pair: npt.ArrayLike = (),
    *,
    output: npt.ArrayLike,
) -> float:
    """Return the score of a label set; -inf if a label is on that must be off.

    Examples
    --------
    >>> from maxmargin.inference import labels as label_sets
    >>> label_sets.score([1.0, 2.0], [(0, 1)], [-1.5], output=[1, 1])
    1.5
    """
    problem = check_problem(unary, edges, pair)
    y = check_labels("output", output, problem.n_labels, 2)
    return float(label_score(problem.unary, problem.graph, problem.pair, y))


def marginals(
    unary: npt.ArrayLike,
    edges: npt.ArrayLike = (),
    pair: npt.ArrayLike = (),
    temperature: float = 1.0,
) -> Marginals:
    """Return the marginals and the log-partition of p(y) ~ exp(score(y) / temperature).

    The edges must form a forest. `node` has the shape (m, 2), p(y_j = k) at [j, k]; `edge` the
    shape (E, 2, 2), p(y_a = k, y_b = l) at [e, k, l].

    Examples
    --------
    >>> from maxmargin.inference import labels as label_sets
    >>> found = label_sets.marginals([0.0, 0.0], [(0, 1)], [1.0])
    >>> found.node.round(3)
    array([[0.35, 0.65],
           [0.35, 0.65]])
    >>> found.edge[0].round(3)
    array([[0.175, 0.175],
           [0.175, 0.475]])
    """
    problem = check_problem(unary, edges, pair)
    temperature = check_temperature(temperature)
    try:
        tree = tree_order(problem.graph)
    except ValueError as error:
        raise ValueError(f"marginals need a forest: {error}") from None
    m, n_edges = problem.n_labels, len(problem.pair)
    node, edge = np.empty((m, 2)), np.empty((n_edges, 2, 2))
    top, log_sum, given = np.empty((m, 2)), np.empty((m, 2)), np.empty((m, 2, 2))
    log_partition = tree_marginals(
        problem.unary,
        problem.graph.edges,
        problem.pair,
        tree,
        temperature,
        top,
        log_sum,
        given,
        node,
        edge,
    )
    return Marginals(node, edge, float(log_partition))


def profile(
    unary: npt.ArrayLike,
    edges: npt.ArrayLike = (),
    pair: npt.ArrayLike = (),
    *,
    reference: npt.ArrayLike,
) -> CostProfile:
    """Return the best label set for every number of wrong labels, 0 to m.

    Parameters are those of `maximize`, and

    reference : array-like of shape (m,)
        Zeros and ones, or -1 where a label is unknown: such a label is off and never wrong.

    With more than 16 labels, and edges that form no forest, each level takes an integer programme.

    Examples
    --------
    >>> from maxmargin.inference import labels as label_sets
    >>> found = label_sets.profile([1.0, 2.0], [(0, 1)], [-1.5], reference=[1, 0])
    >>> found.score
    array([1. , 1.5, 2. ])
    >>> found.outputs.tolist()
    [[1, 0], [1, 1], [0, 1]]
    """
    problem = check_problem(unary, edges, pair)
    truth = check_labels("reference", reference, problem.n_labels, 2, unknown=True)
    # If a true label has the unary -inf, the gain of its flip is infinite: closed forms then fail.
    if len(problem.pair) == 0 and (problem.unary[truth == 1] > -np.inf).all():
        return profile_independent(problem, truth)
    if problem.is_forest:
        return profile_tree(problem, truth)
    known = problem._replace(unary=np.where(truth >= 0, problem.unary, -np.inf))
    if problem.n_labels <= MAX_LISTED:
        return profile_listed(known, truth)
    return profile_program(known, truth)
