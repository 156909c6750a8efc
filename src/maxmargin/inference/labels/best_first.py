"""The best label sets, best first, by the fastest method that the edges and constraints allow."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import no_output_left
from maxmargin.inference.answer import Answer, Exactness, exact
from maxmargin.inference.labels.checked import LabelProblem
from maxmargin.inference.labels.constraints import LabelConstraints
from maxmargin.inference.labels.flips import best_labels_bounded, bounded_room
from maxmargin.inference.labels.graph import label_graph
from maxmargin.inference.labels.independent import best_k_labels, best_labels, sort_falling
from maxmargin.inference.labels.listed import MAX_LISTED, best_k_listed
from maxmargin.inference.labels.profiles import labels_of, listed_scores, profile_tree
from maxmargin.inference.labels.tree import best_k_tree, best_tree, tree_order
from maxmargin.inference.programs.labels import LabelProgram


def best_first(
    problem: LabelProblem, k: int, banned: list[npt.NDArray[np.int32]], seconds: float
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


def _best_by_count(problem: LabelProblem) -> Iterator[Answer]:
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


def _best_tree_by_count(problem: LabelProblem) -> Iterator[Answer]:
    """Yield the best label set of a forest if only the number of labels is constrained.

    It is read off a profile: if the truth is empty, the wrong labels are those that are on.
    """
    constraints, m = problem.constraints, problem.n_labels
    if constraints.is_empty:
        for y, best in _k_tree(problem, 1):
            yield exact(y, best)
        return
    found = profile_tree(problem, np.zeros(m, dtype=np.int32))
    end = m if constraints.at_most is None else min(constraints.at_most, m)
    n_on = constraints.at_least + int(np.argmax(found.score[constraints.at_least : end + 1]))
    if found.score[n_on] > -np.inf:
        yield exact(found.outputs[n_on].copy(), found.score[n_on])


def _k_independent(problem: LabelProblem, k: int) -> _Found:
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


def _k_tree(problem: LabelProblem, k: int) -> _Found:
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


def _k_listed(problem: LabelProblem, k: int) -> _Found:
    scores, m = listed_scores(problem), problem.n_labels
    if not problem.constraints.is_empty:
        scores[~problem.constraints.admitted(labels_of(np.arange(2**m), m))] = -np.inf
    masks, values = np.empty(k, dtype=np.int64), np.empty(k)
    count = best_k_listed(scores, np.zeros(len(scores)), len(scores), 1.0, 0.0, k, masks, values)
    outputs = labels_of(masks[:count], m)
    for i in range(count):
        yield outputs[i].copy(), values[i]


def _k_program(
    problem: LabelProblem, k: int, banned: list[npt.NDArray[np.int32]], seconds: float
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


def _grow(problem: LabelProblem) -> npt.NDArray[np.int32]:
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


def nothing_left(problem: LabelProblem, n_banned: int) -> ValueError:
    """Return the error for a problem without an answer: `at_least` too large, or all banned."""
    m, constraints = problem.n_labels, problem.constraints
    if constraints.at_least > 0:
        free = LabelConstraints(exclusive=constraints.exclusive, implies=constraints.implies)
        counted = np.where(problem.unary > -np.inf, 1.0, -np.inf)
        without = LabelProblem(counted, label_graph(m, ()), np.empty(0), free)
        most = round(next(best_first(without, 1, [], np.inf)).score)
        if most < constraints.at_least:
            return constraints.unmet(most, int(np.isneginf(problem.unary).sum()))
    return no_output_left(n_banned)
