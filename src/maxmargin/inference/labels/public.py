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

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import (
    check_count,
    check_labels,
    check_potential,
    check_shape,
    check_temperature,
    no_output_left,
)
from maxmargin.inference.answer import Answer, CostProfile, Exactness, Marginals, exact
from maxmargin.inference.labels.constraints import LabelConstraints
from maxmargin.inference.labels.flips import best_labels_bounded, bounded_room, label_score
from maxmargin.inference.labels.graph import LabelGraph, label_graph
from maxmargin.inference.labels.independent import (
    best_k_labels,
    best_labels,
    flip_profile,
    sort_falling,
    write_flipped,
)
from maxmargin.inference.labels.listed import (
    MAX_LISTED,
    all_levels,
    all_scores,
    best_k_listed,
    fill_pairs,
    listed_profile,
)
from maxmargin.inference.labels.tree import (
    best_k_tree,
    best_tree,
    find_cycle,
    tree_marginals,
    tree_order,
    tree_profile,
    write_tree_level,
)
from maxmargin.inference.programs.labels import LabelProgram, ProgramRow

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
    problem = _check_problem(unary, edges, pair, constraints)
    bans = _check_banned(problem, banned)
    for answer in _best_first(problem, 1, bans, _check_time_limit(time_limit)):
        return answer
    raise _nothing_left(problem, len(bans))


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
    problem = _check_problem(unary, edges, pair, constraints)
    k = check_count("k", k)
    answers = list(_best_first(problem, k, [], _check_time_limit(time_limit)))
    if not answers:
        raise _nothing_left(problem, 0)
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
    problem = _check_problem(unary, edges, pair)
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
    problem = _check_problem(unary, edges, pair)
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
    problem = _check_problem(unary, edges, pair)
    truth = check_labels("reference", reference, problem.n_labels, 2, unknown=True)
    # If a true label has the unary -inf, the gain of its flip is infinite: closed forms then fail.
    if len(problem.pair) == 0 and (problem.unary[truth == 1] > -np.inf).all():
        return _profile_independent(problem, truth)
    if problem.is_forest:
        return _profile_tree(problem, truth)
    known = problem._replace(unary=np.where(truth >= 0, problem.unary, -np.inf))
    if problem.n_labels <= MAX_LISTED:
        return _profile_listed(known, truth)
    return _profile_program(known, truth)


class _Problem(NamedTuple):
    unary: npt.NDArray[np.float64]
    graph: LabelGraph
    pair: npt.NDArray[np.float64]
    constraints: LabelConstraints

    @property
    def n_labels(self) -> int:
        return len(self.unary)

    @property
    def is_forest(self) -> bool:
        return find_cycle(self.graph) < 0

    def score(self, y: npt.NDArray[np.int32]) -> float:
        return float(label_score(self.unary, self.graph, self.pair, y))


# --- Checks


def _check_problem(
    unary: Any, edges: Any, pair: Any, constraints: LabelConstraints | None = None
) -> _Problem:
    checked = check_potential("unary", unary, 1)
    m = len(checked)
    if m == 0:
        raise ValueError("unary has shape (0,); expected at least one label.")
    graph = label_graph(m, edges)
    n_edges = len(graph.edges)
    weights = check_potential("pair", pair, 1)
    check_shape("pair", weights, (n_edges,), f"as there are {n_edges} edge(s)")
    if np.isneginf(weights).any():
        e = int(np.argmax(np.isneginf(weights)))
        raise ValueError(
            f"pair[{e}] is -inf; expected finite numbers. Two labels that exclude each other are a "
            "group in `exclusive`."
        )
    largest = max(float(np.abs(w[w > -np.inf]).max(initial=0.0)) for w in (checked, weights))
    # Every partial sum has at most as many terms as there are weights.
    if largest > np.finfo(np.float64).max / (2 * (m + n_edges)):
        raise ValueError(f"weights as large as {largest:g} overflow with {m} labels.")
    constraints = LabelConstraints() if constraints is None else constraints
    constraints.check(m)
    return _Problem(checked, graph, weights, constraints)


def _check_banned(problem: _Problem, banned: Iterable[Any]) -> list[npt.NDArray[np.int32]]:
    """Return the banned label vectors, each once."""
    found = {}
    for i, label_set in enumerate(banned):
        y = check_labels(f"banned[{i}]", label_set, problem.n_labels, 2)
        found[y.tobytes()] = y
    return list(found.values())


def _check_time_limit(value: Any) -> float:
    if value is None:
        return np.inf
    try:
        limit = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"time_limit must be a number or None, got {value!r}.") from None
    if not limit > 0.0:
        raise ValueError(f"time_limit must be positive, got {limit}.")
    return limit


def _nothing_left(problem: _Problem, n_banned: int) -> ValueError:
    """Return the error for a problem without an answer: `at_least` too large, or all banned."""
    m, constraints = problem.n_labels, problem.constraints
    if constraints.at_least > 0:
        free = LabelConstraints(exclusive=constraints.exclusive, implies=constraints.implies)
        counted = np.where(problem.unary > -np.inf, 1.0, -np.inf)
        without = _Problem(counted, label_graph(m, ()), np.empty(0), free)
        most = round(next(_best_first(without, 1, [], np.inf)).score)
        if most < constraints.at_least:
            return constraints.unmet(most, int(np.isneginf(problem.unary).sum()))
    return no_output_left(n_banned)


# --- Best first


def _best_first(
    problem: _Problem, k: int, banned: list[npt.NDArray[np.int32]], seconds: float
) -> Iterator[Answer]:
    """Yield the k best answers that are not banned, by the fastest method that applies."""
    constraints = problem.constraints
    no_edges = len(problem.pair) == 0
    is_forest = problem.is_forest
    if is_forest and constraints.only_counts and k == 1 and not banned:
        yield from _best_by_count(problem) if no_edges else _best_tree_by_count(problem)
        return
    if constraints.is_empty and no_edges:
        found = _k_independent
    elif constraints.is_empty and is_forest:
        found = _k_tree
    elif problem.n_labels <= MAX_LISTED:
        found = _k_listed
    else:
        yield from _k_program(problem, k, banned, seconds)
        return
    # If b label sets are banned, the k best of the others are among the k + b best of all.
    out = {y.tobytes() for y in banned}
    left = k
    for y, value in found(problem, min(k + len(banned), 2 ** min(problem.n_labels, 62))):
        if left and y.tobytes() not in out:
            left -= 1
            yield exact(y, value)


_Found = Iterator[tuple[npt.NDArray[np.int32], float]]


def _best_by_count(problem: _Problem) -> Iterator[Answer]:
    """Yield the best set of independent labels if only the number of labels is constrained."""
    unary, constraints, m = problem.unary, problem.constraints, problem.n_labels
    y = np.empty(m, dtype=np.int32)
    if constraints.is_empty:
        best = best_labels(unary, y)
        yield exact(y, best)
        return
    order = np.arange(m, dtype=np.int32)
    sort_falling(unary, order, m, y)
    n_on = max(int((unary > 0.0).sum()), constraints.at_least)
    if constraints.at_most is not None:
        n_on = min(n_on, constraints.at_most)
    y[:] = 0
    y[order[:n_on]] = 1
    value = problem.score(y)
    if value > -np.inf:
        yield exact(y, value)


def _best_tree_by_count(problem: _Problem) -> Iterator[Answer]:
    """Yield the best label set of a forest if only the number of labels is constrained.

    It is read off a profile: if the truth is empty, the wrong labels are those that are on.
    """
    constraints, m = problem.constraints, problem.n_labels
    if constraints.is_empty:
        for y, best in _k_tree(problem, 1):
            yield exact(y, best)
        return
    found = _profile_tree(problem, np.zeros(m, dtype=np.int32))
    end = m if constraints.at_most is None else min(constraints.at_most, m)
    n_on = constraints.at_least + int(np.argmax(found.score[constraints.at_least : end + 1]))
    if found.score[n_on] > -np.inf:
        yield exact(found.outputs[n_on].copy(), found.score[n_on])


def _k_independent(problem: _Problem, k: int) -> _Found:
    m = problem.n_labels
    ys, scores = np.empty((k, m), dtype=np.int32), np.empty(k)
    order, spare = np.empty((2, m), dtype=np.int32)
    last, base = np.empty((2, 2 * k), dtype=np.int32)
    queue = np.empty(k, dtype=np.int32)
    price, loss = np.empty(m), np.empty(2 * k)
    count = best_k_labels(
        problem.unary, k, order, spare, price, loss, last, base, queue, ys, scores
    )
    for i in range(count):
        yield ys[i].copy(), scores[i]


def _k_tree(problem: _Problem, k: int) -> _Found:
    m, tree = problem.n_labels, tree_order(problem.graph)
    if k == 1:
        y = np.empty(m, dtype=np.int32)
        best = best_tree(problem.unary, problem.pair, tree, np.empty((m, 2)), y)
        yield y, best
        return
    ys, scores = np.empty((k, m), dtype=np.int32), np.empty(k)
    count = best_k_tree(
        problem.unary,
        problem.pair,
        tree,
        k,
        np.empty((m + 1, 2, k)),
        np.empty(k),
        np.empty(k),
        np.empty((3, k), dtype=np.int32),
        np.empty((m, 2, 3, k), dtype=np.int32),
        np.empty(m + 1, dtype=np.int32),
        ys,
        scores,
    )
    for i in range(count):
        yield ys[i].copy(), scores[i]


def _listed_scores(problem: _Problem) -> npt.NDArray[np.float64]:
    m = problem.n_labels
    matrix, scores = np.empty((m, m)), np.empty(2**m)
    fill_pairs(problem.graph.edges, problem.pair, matrix)
    all_scores(problem.unary, matrix, scores, np.empty(2 ** (m - 1)))
    return scores


def _k_listed(problem: _Problem, k: int) -> _Found:
    scores, m = _listed_scores(problem), problem.n_labels
    if not problem.constraints.is_empty:
        scores[~problem.constraints.admitted(_labels_of(np.arange(2**m), m))] = -np.inf
    masks, values = np.empty(k, dtype=np.int64), np.empty(k)
    count = best_k_listed(scores, np.zeros(len(scores)), len(scores), 1.0, 0.0, k, masks, values)
    outputs = _labels_of(masks[:count], m)
    for i in range(count):
        yield outputs[i].copy(), values[i]


def _labels_of(masks: npt.NDArray[np.int64], m: int) -> npt.NDArray[np.int32]:
    return ((masks[:, None] >> np.arange(m)) & 1).astype(np.int32)


def _k_program(
    problem: _Problem, k: int, banned: list[npt.NDArray[np.int32]], seconds: float
) -> Iterator[Answer]:
    deadline = time.monotonic() + seconds
    unary, pair, constraints = problem.unary, problem.pair, problem.constraints
    # Solve without constraints first. The bound holds with constraints too, and mostly the label
    # set satisfies them.
    start = np.empty(problem.n_labels, dtype=np.int32)
    room = bounded_room(problem.graph)
    value, bound = best_labels_bounded(unary, problem.graph, pair, room, start)
    is_alone = k == 1 and not banned
    fixed = None
    if not constraints.admits(start):
        start = _grow(problem)
    elif is_alone and value >= bound:
        yield exact(start, value)
        return
    if is_alone and constraints.is_empty:
        # Some best label set has all labels that the relaxation decides; the other best label sets
        # need not have them, so this is for k = 1 without bans only.
        fixed = np.where(room.node2 == 1, -1, room.node2 // 2)
    program = LabelProgram(problem.graph, integral=True)
    rows, out = constraints.rows(problem.n_labels), list(banned)
    for _ in range(k):
        # Leave at least a millisecond: the programme can then always answer with its start.
        left = max(deadline - time.monotonic(), 1e-3)
        limit = None if left == np.inf else left
        found = program.solve(unary, pair, rows, out, limit, fixed=fixed, start=start)
        if found.status == "infeasible":
            return
        if found.value == -np.inf:
            raise TimeoutError(
                f"no label set that is allowed was found within {seconds:g} s; "
                "give a larger time_limit."
            )
        y = found.node.astype(np.int32)
        value = problem.score(y)
        if found.status == "optimal":
            yield exact(y, value)
        else:
            yield Answer(y, value, max(value, min(found.bound, bound)), Exactness.RELAXED)
            return
        out.append(y)


def _grow(problem: _Problem) -> npt.NDArray[np.int32]:
    """Return a label set to start from, which satisfies all constraints but perhaps `at_least`.

    Adds labels one by one, each with all labels that it implies. The next label is always the one
    that gains most; it is added if it gains, or if fewer than `at_least` labels are on.
    """
    m, constraints = problem.n_labels, problem.constraints
    together = np.zeros((m, m))
    first, second = problem.graph.edges.T
    together[first, second] = together[second, first] = problem.pair
    reach = np.eye(m, dtype=bool)
    for _ in range(m if constraints.implies else 0):
        before = reach.copy()
        for a, b in constraints.implies:
            reach[:, b] |= reach[:, a]
        if (reach == before).all():
            break
    at_most = m if constraints.at_most is None else constraints.at_most
    free = LabelConstraints(0, at_most, constraints.exclusive, constraints.implies)
    y = np.zeros(m, dtype=np.int32)
    while True:
        larger = reach | (y == 1)
        added = (larger & (y == 0)).astype(float)
        own = np.where(problem.unary > -np.inf, problem.unary, 0.0) + together @ y
        gains = added @ own + 0.5 * ((added @ together) * added).sum(axis=1)
        is_barred = (added[:, np.isneginf(problem.unary)] > 0).any(axis=1)
        gains[~free.admitted(larger) | is_barred | (y == 1)] = -np.inf
        j = int(np.argmax(gains))
        if gains[j] == -np.inf or (gains[j] <= 0.0 and y.sum() >= constraints.at_least):
            return y
        y[larger[j]] = 1


# --- Profiles


def _profile_independent(problem: _Problem, truth: npt.NDArray[np.int32]) -> CostProfile:
    m = problem.n_labels
    order, spare = np.empty((2, m), dtype=np.int32)
    level, outputs = np.empty(m + 1), np.full((m + 1, m), -1, dtype=np.int32)
    flip_profile(problem.unary, truth, np.empty(m), order, spare, level)
    for d in np.flatnonzero(level > -np.inf):
        write_flipped(truth, order, d, outputs[d])
    return CostProfile(level + problem.unary[truth == 1].sum(), outputs)


def _profile_tree(problem: _Problem, truth: npt.NDArray[np.int32]) -> CostProfile:
    m, tree, pair = problem.n_labels, tree_order(problem.graph), problem.pair
    level, outputs = np.empty(m + 1), np.empty((m + 1, m), dtype=np.int32)
    size, left = np.empty((2, m + 1), dtype=np.int32), np.empty(m + 1, dtype=np.int32)
    table, before = np.empty((m + 1, 2, m + 1)), np.empty((m, 2, m + 1))
    tree_profile(problem.unary, pair, tree, truth, size, table, before, np.empty(m + 1), level)
    for d in range(m + 1):
        write_tree_level(pair, tree, m, d, size, table, before, left, outputs[d])
    return CostProfile(level, outputs)


def _profile_listed(problem: _Problem, truth: npt.NDArray[np.int32]) -> CostProfile:
    m = problem.n_labels
    scores, levels = _listed_scores(problem), np.empty(2**m, dtype=np.int8)
    best, masks = np.empty(m + 1), np.empty(m + 1, dtype=np.int64)
    all_levels(truth, m, levels)
    listed_profile(scores, levels, len(scores), m + 1, best, masks)
    outputs = np.where(masks[:, None] >= 0, _labels_of(masks, m), -1)
    return CostProfile(best, outputs.astype(np.int32))


def _profile_program(problem: _Problem, truth: npt.NDArray[np.int32]) -> CostProfile:
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
