"""Parses: the parts of a tree, and the joint features that follow from them."""

from __future__ import annotations

from typing import Any

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    add_parts,
    clear_difference,
    difference_potentials_of,
    difference_square,
    implements,
    margin_error,
    parts,
    potentials,
    potentials_of,
)
from maxmargin.structures.parse.arcs import (
    add_arc,
    add_sibling,
    clear_arc,
    clear_sibling,
    score_arc,
    score_sibling,
)
from maxmargin.structures.parse.data import ParseData


@jitable
def sibling_of(cells: Any, at: int, m: int) -> int:
    """Return the child of the head of m next to m, on its side and nearer to the head, or the head.

    The heads of the sentence begin at cells[at].
    """
    h = cells[at + m - 1]
    step = -1 if m > h else 1
    s = m + step
    while s != h and cells[at + s - 1] != h:
        s += step
    return s


@implements(parts, ParseData)
def _parts(data, i, outputs, at, scale, mu):
    """Add the arcs of a tree, and its neighbouring children."""
    n = data.offsets[i + 1] - data.offsets[i]
    for m in range(1, n + 1):
        h = outputs[at + m - 1]
        relation = outputs[at + n + m - 1] if data.n_relations > 1 else 0
        mu.arcs[(h * (n + 1) + m) * data.n_relations + relation] += scale
        if data.second:
            s = sibling_of(outputs, at, m)
            mu.siblings[(h * (n + 1) + m) * (n + 1) + s] += scale


@implements(add_parts, ParseData)
def _add_parts(data, i, mu, scale, w):
    """Add the features of all arcs, and siblings, that mu has."""
    first, n = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    for h in range(n + 1):
        for m in range(1, n + 1):
            for relation in range(data.n_relations):
                mass = mu.arcs[(h * (n + 1) + m) * data.n_relations + relation]
                if mass != 0.0:
                    add_arc(data.features, i, first, n, h, m, relation, scale * mass, w)
            if data.second:
                for s in range(n + 1):
                    mass = mu.siblings[(h * (n + 1) + m) * (n + 1) + s]
                    if mass != 0.0:
                        add_sibling(data.features, i, first, n, h, m, s, scale * mass, w)


@implements(margin_error, ParseData)
def _margin_error(data, i, theta, outputs, at):
    """Return the score of the tree less that of the true one, word by word."""
    first, n = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    place = first * (2 if data.n_relations > 1 else 1)
    error = 0.0
    for m in range(1, n + 1):
        h, truth = outputs[at + m - 1], data.cells[place + m - 1]
        relation = outputs[at + n + m - 1] if data.n_relations > 1 else 0
        right = data.cells[place + n + m - 1] if data.n_relations > 1 else 0
        if h != truth or relation != right:
            error += theta.arcs[(h * (n + 1) + m) * data.n_relations + relation]
            error -= theta.arcs[(truth * (n + 1) + m) * data.n_relations + right]
        if data.second:
            s, t = sibling_of(outputs, at, m), sibling_of(data.cells, place, m)
            if h != truth or s != t:
                error += theta.siblings[(h * (n + 1) + m) * (n + 1) + s]
                error -= theta.siblings[(truth * (n + 1) + m) * (n + 1) + t]
    return error


@implements(add_difference, ParseData)
def _add_difference(data, i, outputs, at, scale, w):
    """Add the features of the true arcs; subtract those of the output. Shared ones are left out."""
    first, n = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    place = first * (2 if data.n_relations > 1 else 1)
    for m in range(1, n + 1):
        h, truth = outputs[at + m - 1], data.cells[place + m - 1]
        relation = outputs[at + n + m - 1] if data.n_relations > 1 else 0
        right = data.cells[place + n + m - 1] if data.n_relations > 1 else 0
        if h != truth or relation != right:
            add_arc(data.features, i, first, n, truth, m, right, scale, w)
            add_arc(data.features, i, first, n, h, m, relation, -scale, w)
        if data.second:
            s, t = sibling_of(outputs, at, m), sibling_of(data.cells, place, m)
            if h != truth or s != t:
                add_sibling(data.features, i, first, n, truth, m, t, scale, w)
                add_sibling(data.features, i, first, n, h, m, s, -scale, w)


@implements(clear_difference, ParseData)
def _clear_difference(data, i, outputs, at, w):
    """Clear what `add_difference` touches."""
    first, n = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    place = first * (2 if data.n_relations > 1 else 1)
    for m in range(1, n + 1):
        h, truth = outputs[at + m - 1], data.cells[place + m - 1]
        relation = outputs[at + n + m - 1] if data.n_relations > 1 else 0
        right = data.cells[place + n + m - 1] if data.n_relations > 1 else 0
        if h != truth or relation != right:
            clear_arc(data.features, i, first, n, truth, m, right, w)
            clear_arc(data.features, i, first, n, h, m, relation, w)
        if data.second:
            s, t = sibling_of(outputs, at, m), sibling_of(data.cells, place, m)
            if h != truth or s != t:
                clear_sibling(data.features, i, first, n, truth, m, t, w)
                clear_sibling(data.features, i, first, n, h, m, s, w)


# -- known trees: of the arcs of a sentence they use few -------------------------------------------


@jitable
def _score_differences(data, i, w, outputs, at, theta):
    """Fill the cells of theta in which a tree differs from the true one."""
    first, n = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    place = first * (2 if data.n_relations > 1 else 1)
    out = theta.arcs[: data.n_relations]  # of the arc from the root to itself, which nobody reads
    for m in range(1, n + 1):
        h, truth = outputs[at + m - 1], data.cells[place + m - 1]
        relation = outputs[at + n + m - 1] if data.n_relations > 1 else 0
        right = data.cells[place + n + m - 1] if data.n_relations > 1 else 0
        if h != truth or relation != right:
            cell = (h * (n + 1) + m) * data.n_relations + relation
            theta.arcs[cell] = score_arc(data.features, i, first, n, h, m, relation, w, out)
            cell = (truth * (n + 1) + m) * data.n_relations + right
            theta.arcs[cell] = score_arc(data.features, i, first, n, truth, m, right, w, out)
        if data.second:
            s, t = sibling_of(outputs, at, m), sibling_of(data.cells, place, m)
            if h != truth or s != t:
                cell = (h * (n + 1) + m) * (n + 1) + s
                theta.siblings[cell] = score_sibling(data.features, i, first, n, h, m, s, w)
                cell = (truth * (n + 1) + m) * (n + 1) + t
                theta.siblings[cell] = score_sibling(data.features, i, first, n, truth, m, t, w)


@jitable
def _are_few(data, i, outputs, spans, first, count):
    """Tell whether known trees have fewer wrong arcs than a third of all arcs."""
    n = data.offsets[i + 1] - data.offsets[i]
    place = data.offsets[i] * (2 if data.n_relations > 1 else 1)
    n_wrong = 0
    for row in range(first, first + count):
        for m in range(n):
            if outputs[spans[row, 0] + m] != data.cells[place + m]:
                n_wrong += 1
    return 6 * n_wrong < n * n


@implements(potentials_of, ParseData)
def _potentials_of(data, i, w, outputs, spans, first, count, theta):
    """Score the arcs of known trees, where these are few."""
    if not _are_few(data, i, outputs, spans, first, count):
        potentials(data, i, w, 1.0, theta)
        return
    for row in range(first, first + count):
        _score_differences(data, i, w, outputs, spans[row, 0], theta)


@implements(difference_potentials_of, ParseData)
def _difference_potentials_of(data, i, outputs, at, spans, first, count, spare, theta):
    """Do so at the weights Psi, for the tree itself too."""
    add_difference(data, i, outputs, at, 1.0, spare)
    potentials_of(data, i, spare, outputs, spans, first, count, theta)
    _score_differences(data, i, spare, outputs, at, theta)
    clear_difference(data, i, outputs, at, spare)


@implements(difference_square, ParseData)
def _difference_square(data, i, outputs, at, spare, theta):
    """Score the arcs that differ at the weights Psi."""
    first, n = data.offsets[i], data.offsets[i + 1] - data.offsets[i]
    place = first * (2 if data.n_relations > 1 else 1)
    out = theta.arcs[: data.n_relations]
    add_difference(data, i, outputs, at, 1.0, spare)
    total = 0.0
    for m in range(1, n + 1):
        h, truth = outputs[at + m - 1], data.cells[place + m - 1]
        relation = outputs[at + n + m - 1] if data.n_relations > 1 else 0
        right = data.cells[place + n + m - 1] if data.n_relations > 1 else 0
        if h != truth or relation != right:
            total += score_arc(data.features, i, first, n, truth, m, right, spare, out)
            total -= score_arc(data.features, i, first, n, h, m, relation, spare, out)
        if data.second:
            s, t = sibling_of(outputs, at, m), sibling_of(data.cells, place, m)
            if h != truth or s != t:
                total += score_sibling(data.features, i, first, n, truth, m, t, spare)
                total -= score_sibling(data.features, i, first, n, h, m, s, spare)
    clear_difference(data, i, outputs, at, spare)
    return total
