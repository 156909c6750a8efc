"""What a structure must offer: the required functions first, then those that have a default.

Notation, as in docs/math.md: example i has the true output y_i, and Psi_i(y) = phi(x_i, y_i) -
phi(x_i, y). ``theta`` holds the potentials of one example, filled by `potentials` and read by the
rest. The output y given by ``(outputs, at)`` is the `output_size(data, i)` cells of the array
``outputs`` from cell ``at`` on: int32 for compiled structures, one object for a structure in plain
Python. (An array and a place rather than a slice: slices cost compile time.)
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.contract.cost import output_cost, shift
from maxmargin.core.dispatch import (
    generic,
    generic_on_two,
    generic_on_two_with_default,
    generic_with_default,
    has,
)


@generic
def n_weights(data):
    """Return the length of w."""


@generic
def output_sizes(data):
    """Return the number of cells of an output of each example, an int64 array."""


@generic
def truths(data):
    """Return the true outputs of all examples, one after the other, as one array of cells."""


@generic
def workspace(data):
    """Return room for the potentials of any one example: a new ``theta``."""


@generic
def output_size(data, i):
    """Return the number of cells of an output of example i."""


@generic
def potentials(data, i, w, scale, theta):
    """Fill theta: the scores of the outputs of example i at the weights scale * w (scale > 0)."""


@generic
def margin_error(data, i, theta, outputs, at):
    """Return h = score(y) - score(y_i) under theta."""


@generic
def add_difference(data, i, outputs, at, scale, w):
    """w += scale * Psi_i(y) = scale * (phi(x_i, y_i) - phi(x_i, y))."""


@generic_on_two
def maximize(data, cost, i, theta, score_scale, cost_scale, outputs, at):
    """Write to (outputs, at) an output maximising score_scale * score + cost_scale * cost.

    Scales are >= 0. Ties: lowest label first. By the types of data and cost. A cost with a `shift`
    adds it to the score.
    """


@generic_with_default
def difference_potentials(data, i, outputs, at, spare, theta):
    """Fill theta so that it scores the outputs of example i at the weights Psi_i(y).

    `margin_error` of z under these potentials is -<Psi_i(y), Psi_i(z)>. ``spare`` is a vector of
    `spare_size` cells that nobody else looks at.
    """
    spare[:] = 0.0
    add_difference(data, i, outputs, at, 1.0, spare)
    potentials(data, i, spare, 1.0, theta)


@generic_with_default
def spare_size(data):
    """Return how many cells `difference_potentials` wants beside theta. (Python only.)"""
    return 0 if has(difference_potentials, type(data)) else n_weights(data)


@generic_with_default
def score_lengths(data):
    """Return two arrays: how long phi of each example can be, and the number of terms of a score.

    The first bounds sum_j |w_j phi_j(x_i, y)| / |w| over all y and w, what a score adds several
    times being counted so. Certificates learn from it how far rounding can move them. None, the
    default, where a type does not say. (Python only.)
    """
    return None


@generic_with_default
def are_outputs(data, examples, cells):
    """Tell of each of some outputs whether its example has it: a boolean array.

    (Python only.) ``examples`` says whose outputs they are, ``cells`` has them one after the other.
    They come from a file, and compiled code does not check what it reads: a structure that says
    nothing here has them tried as Python, where an index past the end is an error.
    """
    lowest = min(0, int(truths(data).min(initial=0)))
    spare, at = np.zeros(n_weights(data)), 0
    answers = np.zeros(len(examples), dtype=bool)
    for k, i in enumerate(examples):
        size = output_size(data, i)
        own = cells[at : at + size]
        at += size
        try:
            add_difference(data, i, own, 0, 1.0, spare)
            answers[k] = own.min(initial=0) >= lowest and np.isfinite(spare.sum())
        except IndexError:
            answers[k] = False
    return answers


@generic_on_two_with_default
def maximize_bounded(data, cost, i, theta, score_scale, cost_scale, outputs, at):
    """Do as `maximize`; return a number that score_scale * h + cost_scale * g of no y exceeds.

    The default is for oracles that are exact. By the types of data and cost.
    """
    maximize(data, cost, i, theta, score_scale, cost_scale, outputs, at)
    h = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
    return score_scale * h + cost_scale * output_cost(data, cost, i, outputs, at)


@generic_with_default
def mix(data, i, left, left_at, right, right_at, share, outputs, at):
    """Write to (outputs, at) the output (1 - share) * left + share * right; return if it can.

    For structures whose outputs are those of a relaxation: any mean of two is one too.
    """
    return False


def is_relaxed(kind: type) -> bool:
    """Tell whether the outputs of a type of data are those of a relaxation."""
    return has(mix, kind)
