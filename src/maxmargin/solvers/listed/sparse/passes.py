"""Passes over examples whose coefficients are short lists of (label, mass).

A visit gathers the labels of an example that matter: those that have mass, and a few whose planes
are above the mean of the block, found among all labels or by a beam from the roots down. It brings
their planes together as sdca_gram.py does, and changes the weights of the nodes on their paths.

Any labels give a feasible dual point, so a beam may miss the best one. A list that is full gives
its least mass back to the truth, which is feasible too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import output_cost, psi
from maxmargin.solvers.listed.sdca_gram import gram_steps, product_of
from maxmargin.solvers.listed.sparse.rows import Touched, add_to_row, has_room
from maxmargin.solvers.listed.sparse.scores import (
    keep_best,
    score_all,
    score_node,
    score_path,
    score_sparse,
)

#: The most labels that a visit adds to those that have mass.
MOST_NEW = 4

#: What a visit looks at besides the labels that have mass: nothing, or all labels; a larger number
#: is the width of a beam.
LISTED_ALONE, ALL_LABELS = -1, 0


class MassLists(NamedTuple):
    """Coefficients of all examples; the truth has what is missing to 1."""

    label: Any  # (n_examples, most) int32
    mass: Any  # (n_examples, most)
    count: Any  # (n_examples,) int64
    linear: Any  # (n_examples,): the sum of mass times offset
    gap: Any  # (n_examples,): last known gap of each block, times n
    given_back: Any  # (1,): the mass that full lists have given back to truths
    truths: Any  # (n_examples,) int32
    norms: Any  # (n_examples,): |x|^2, with the constant


class Few(NamedTuple):
    """The labels of one visit, the truth first, as `gram_steps` reads them."""

    active: Any  # (1, most) int32
    n_active: Any  # (1,) int64


class Visit(NamedTuple):
    """Scratch of visits."""

    few: Few
    sheet: Any  # a `Sheet`, see sdca_planes.py
    scores: Any
    touched: Touched
    new: Any  # (MOST_NEW,) int32: labels found, by falling value
    new_value: Any  # (MOST_NEW,)
    n_new: Any  # (1,) int64
    lacking: Any  # (2,) int64: the room that is lacking
    upto: Any  # (1,) int64: the first visit that was not made for lack of room


@jitable
def _value(problem: Any, i: int, label: int, h: float, y: Any) -> float:
    """Return psi of a label, which is affine in h."""
    y[0] = label
    value, _, _ = psi(problem.surrogate, h, output_cost(problem.data, problem.cost, i, y, 0))
    return value


@jitable
def _note(lists: Any, i: int, label: int, value: float, least: float, visit: Any) -> None:
    """Keep a label among the new ones if it is above ``least``, not listed, and one of the best."""
    count = visit.n_new[0]
    most = visit.new.shape[0]
    if value <= least or (count == most and value <= visit.new_value[most - 1]):
        return
    if label == lists.truths[i]:
        return
    for a in range(lists.count[i]):
        if lists.label[i, a] == label:
            return
    place = min(count, most - 1)
    while place > 0 and visit.new_value[place - 1] < value:
        visit.new[place] = visit.new[place - 1]
        visit.new_value[place] = visit.new_value[place - 1]
        place -= 1
    visit.new[place], visit.new_value[place] = label, value
    visit.n_new[0] = min(count + 1, most)


@jitable
def _follow_beam(
    problem: Any, i: int, paths: Any, tree: Any, rows: Any, lists: Any, n_dense: int, least: float,
    true_score: float, visit: Any, y: Any,
) -> None:  # fmt: skip
    """Go down from the roots, at each level by the best inner nodes alone; note all labels met."""
    scores = visit.scores
    n_nodes = paths.parent.shape[0]
    scores.n_front[0] = 1
    scores.front[0, 0] = n_nodes  # above all roots
    here = 0
    while scores.n_front[here] > 0:
        after = 1 - here
        scores.n_front[after] = 0
        for k in range(scores.n_front[here]):
            top = scores.front[here, k]
            for place in range(tree.child_at[top], tree.child_at[top + 1]):
                n = tree.children[place]
                total = score_node(paths, rows, n, n_dense, scores)
                if tree.label_of[n] >= 0:
                    value = _value(problem, i, tree.label_of[n], total - true_score, y)
                    _note(lists, i, tree.label_of[n], value, least, visit)
                if tree.child_at[n] < tree.child_at[n + 1]:
                    count = scores.n_front[after]
                    scores.n_front[after] = keep_best(scores.front[after], count, n, scores.total)
        here = after


@jitable
def _gather(
    problem: Any, i: int, paths: Any, tree: Any, rows: Any, lists: Any, width: int, visit: Any,
    y: Any,
) -> tuple[float, float]:  # fmt: skip
    """Write the planes of a visit to the sheet; return the largest value and the mean.

    The planes are those of the truth, of the labels that have mass, and of the new ones.
    """
    sheet, few = visit.sheet, visit.few
    n_dense = score_sparse(paths, rows, i, visit.scores)
    if width == ALL_LABELS:
        score_all(paths, rows, n_dense, visit.scores)
    truth = lists.truths[i]
    true_score = score_path(paths, rows, truth, n_dense, visit.scores)
    few.active[0, 0] = truth
    sheet.alpha[0] = 1.0
    sheet.slope[0] = sheet.offset[0] = sheet.value[0] = sheet.mass[0] = 0.0
    mean = top = 0.0
    count = 1
    for a in range(lists.count[i]):
        label = lists.label[i, a]
        h = score_path(paths, rows, label, n_dense, visit.scores) - true_score
        _write_plane(problem, i, label, h, lists.mass[i, a], count, visit, y)
        mean += lists.mass[i, a] * sheet.value[count]
        sheet.alpha[0] -= lists.mass[i, a]
        top = max(top, sheet.value[count])
        count += 1
    if sheet.alpha[0] < 1e-14:
        # A rounding error left here would be the lowest plane, and the first to give its mass.
        sheet.alpha[0] = 0.0
    visit.n_new[0] = 0
    if width == ALL_LABELS:
        for label in range(paths.node_at.shape[0] - 1):
            h = visit.scores.total[paths.nodes[paths.node_at[label + 1] - 1]] - true_score
            _note(lists, i, label, _value(problem, i, label, h, y), mean, visit)
    elif width > ALL_LABELS:
        _follow_beam(
            problem, i, paths, tree, rows, lists, n_dense, mean, true_score, visit, y
        )  # fmt: skip
    for k in range(visit.n_new[0]):
        label = visit.new[k]
        h = visit.scores.total[paths.nodes[paths.node_at[label + 1] - 1]] - true_score
        _write_plane(problem, i, label, h, 0.0, count, visit, y)
        top = max(top, sheet.value[count])
        count += 1
    few.n_active[0] = count
    return top, mean


@jitable
def _write_plane(
    problem: Any, i: int, label: int, h: float, mass: float, place: int, visit: Any, y: Any
) -> None:
    """Write the plane offset + slope h of a label to the sheet."""
    sheet = visit.sheet
    y[0] = label
    g = output_cost(problem.data, problem.cost, i, y, 0)
    offset, slope, _ = psi(problem.surrogate, 0.0, g)
    visit.few.active[0, place] = label
    sheet.alpha[place] = mass
    sheet.slope[place] = slope
    sheet.offset[place] = offset
    sheet.value[place] = offset + slope * h
    sheet.mass[place] = mass * slope


@jitable
def _shorten(most: int, visit: Any) -> float:
    """Give the least masses back to the truth until no more than ``most`` are left; return them."""
    sheet, count = visit.sheet, visit.few.n_active[0]
    n_left, given = 0, 0.0
    for a in range(1, count):
        n_left += 1 if sheet.alpha[a] > 0.0 else 0
    while n_left > most:
        least = -1
        for a in range(1, count):
            if sheet.alpha[a] > 0.0 and (least < 0 or sheet.alpha[a] < sheet.alpha[least]):
                least = a
        given += sheet.alpha[least]
        sheet.alpha[0] += sheet.alpha[least]
        sheet.alpha[least] = 0.0
        n_left -= 1
    return given


@jitable
def _touch(paths: Any, factor: float, visit: Any) -> int:
    """Write what the visit adds to the weights of each node; return the number of nodes.

    factor * (mass before - mass after) at the nodes of a label, and the same less at the truth.
    """
    sheet, few, touched = visit.sheet, visit.few, visit.touched
    sheet.mass[0] = 0.0
    for a in range(1, few.n_active[0]):
        sheet.mass[a] -= sheet.alpha[a] * sheet.slope[a]
        sheet.mass[0] -= sheet.mass[a]
    n_touched, moved = 0, 0.0
    for a in range(few.n_active[0]):
        moved += factor * abs(sheet.mass[a])
        if sheet.mass[a] == 0.0:
            continue
        label = few.active[0, a]
        for place in range(paths.node_at[label], paths.node_at[label + 1]):
            n = paths.nodes[place]
            if paths.alpha[n] == 0.0:
                continue
            if touched.slot[n] < 0:
                touched.slot[n] = n_touched
                touched.nodes[n_touched] = n
                touched.change[n_touched] = 0.0
                n_touched += 1
            touched.change[touched.slot[n]] += factor * sheet.mass[a] * paths.alpha[n]
    # Nodes that labels share with the truth change by nothing, up to rounding.
    n_kept = 0
    for t in range(n_touched):
        n = touched.nodes[t]
        touched.slot[n] = -1
        if abs(touched.change[t]) > 1e-15 * moved * paths.alpha[n]:
            touched.nodes[n_kept], touched.change[n_kept] = n, touched.change[t]
            n_kept += 1
    for t in range(n_kept):
        touched.slot[touched.nodes[t]] = t
    return n_kept


@jitable
def _change_rows(paths: Any, rows: Any, i: int, n_touched: int, visit: Any) -> None:
    """Add example i to the weights of the touched nodes."""
    for entry in range(paths.indptr[i], paths.indptr[i + 1]):
        visit.scores.mark[0] += 1
        x = np.float64(paths.values[entry])
        add_to_row(rows, paths.indices[entry], x, visit.touched, n_touched, visit.scores.mark[0])


@jitable
def _forget_touched(n_touched: int, visit: Any) -> None:
    for t in range(n_touched):
        visit.touched.slot[visit.touched.nodes[t]] = -1


@jitable
def _store(lists: Any, i: int, visit: Any) -> None:
    """Write the labels that have mass, and the linear part of the dual, to the lists."""
    sheet, count = visit.sheet, 0
    lists.linear[i] = 0.0
    for a in range(1, visit.few.n_active[0]):
        if sheet.alpha[a] > 0.0:
            lists.label[i, count] = visit.few.active[0, a]
            lists.mass[i, count] = sheet.alpha[a]
            lists.linear[i] += sheet.alpha[a] * sheet.offset[a]
            count += 1
    lists.count[i] = count


@jitable
def sparse_pass(
    problem: Any,
    order: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    width: int,
    paths: Any,
    tree: Any,
    rows: Any,
    lists: Any,
    gram: Any,
    visit: Any,
    y: Any,
    total: float,
) -> float:
    """Improve the blocks order[first:last], one after the other; add their gaps to ``total``.

    Stops before a visit for which there is no room; visit.upto says where.
    """
    sheet, few = visit.sheet, visit.few
    own, row = sheet.all_h, sheet.all_values
    for at in range(first, last):
        i = order[at]
        visit.upto[0] = at
        factor = problem.weight[i] * inv_lam_n
        top, mean = _gather(problem, i, paths, tree, rows, lists, width, visit, y)
        gap = max(problem.weight[i] * (top - mean), 0.0)
        if gap > 1e-14 * top:
            for a in range(few.n_active[0]):
                own[a] = product_of(gram, few.active[0, a], lists.truths[i])
            gram_steps(gram, 0, factor * lists.norms[i], few, sheet, own, row)
            given = _shorten(lists.label.shape[1], visit)
            n_touched = _touch(paths, factor, visit)
            end = paths.indptr[i + 1]
            if not has_room(rows, paths.indices, paths.indptr[i], end, n_touched, visit.lacking):
                _forget_touched(n_touched, visit)
                return total
            _change_rows(paths, rows, i, n_touched, visit)
            _forget_touched(n_touched, visit)
            _store(lists, i, visit)
            lists.given_back[0] += given
        lists.gap[i] = gap
        total += gap
    visit.upto[0] = last
    return total


@jitable
def sum_pass(
    problem: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    paths: Any,
    rows: Any,
    lists: Any,
    visit: Any,
    y: Any,
) -> None:
    """Add the examples first..last-1 to the weights, by their coefficients, as far as room is."""
    sheet, few = visit.sheet, visit.few
    for i in range(first, last):
        visit.upto[0] = i
        few.active[0, 0] = lists.truths[i]
        few.n_active[0] = 1 + lists.count[i]
        lists.linear[i] = 0.0
        for a in range(lists.count[i]):
            _write_plane(problem, i, lists.label[i, a], 0.0, lists.mass[i, a], 1 + a, visit, y)
            lists.linear[i] += lists.mass[i, a] * sheet.offset[1 + a]
            sheet.mass[1 + a] = 0.0  # before, there was nothing
        n_touched = _touch(paths, problem.weight[i] * inv_lam_n, visit)
        end = paths.indptr[i + 1]
        if not has_room(rows, paths.indices, paths.indptr[i], end, n_touched, visit.lacking):
            _forget_touched(n_touched, visit)
            return
        _change_rows(paths, rows, i, n_touched, visit)
        _forget_touched(n_touched, visit)
    visit.upto[0] = last


@jitable
def sparse_losses(
    problem: Any,
    first: int,
    last: int,
    paths: Any,
    rows: Any,
    truths: Any,
    scores: Any,
    y: Any,
    losses: Any,
) -> None:
    """Write the largest psi of all labels of the examples first..last-1."""
    for i in range(first, last):
        score_all(paths, rows, score_sparse(paths, rows, i, scores), scores)
        true_score = scores.total[paths.nodes[paths.node_at[truths[i] + 1] - 1]]
        losses[i] = 0.0
        for label in range(paths.node_at.shape[0] - 1):
            h = scores.total[paths.nodes[paths.node_at[label + 1] - 1]] - true_score
            losses[i] = max(losses[i], _value(problem, i, label, h, y))
