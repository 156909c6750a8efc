"""What a structure must offer: the required functions first, then those that have a default.

Required are `n_weights`, `output_sizes`, `truths`, `workspace`, `output_size`, `potentials`,
`maximize` and, of a cost, `output_cost`; and one of two pairs that tell of the joint features:

- `parts` and `add_parts`. An output is made of parts, the score and phi are linear in them, and
  there is a default for all the rest; or
- `margin_error` and `add_difference`. Such a structure has no parts, and what works on parts
  refuses it by name.

What has a default is overridden where speed asks for it: defaults are references, and the contract
tests hold the two against each other.

Notation, as in docs/math.md: example i has the true output y_i, and Psi_i(y) = phi(x_i, y_i) -
phi(x_i, y). ``theta`` holds the potentials of one example, filled by `potentials` and read by the
rest; ``room`` is what its oracles overwrite. The output y given by ``(outputs, at)`` is the
`output_size(data, i)` cells of the array ``outputs`` from cell ``at`` on: int32 for compiled
structures, one object for a structure in plain Python. (An array and a place rather than a slice:
slices cost compile time.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract.cost import output_cost, shift
from maxmargin.core.contract.product import product
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
    """Return (theta, room) for any one example, new. (Python only.)

    ``theta`` is a NamedTuple of float arrays and nothing else; how often an output uses each of its
    cells, ``mu``, is one of the same type. ``room`` is all else that oracles work in; an empty
    tuple where they need nothing.
    """


@generic
def output_size(data, i):
    """Return the number of cells of an output of example i, the most where they differ."""


@generic
def potentials(data, i, w, scale, theta):
    """Fill theta: the scores of the outputs of example i at the weights scale * w (scale > 0)."""


@generic
def parts(data, i, outputs, at, scale, mu):
    """mu += scale * the parts of y: how often y uses each cell of theta.

    Then score(y) = <theta, mu(y)>, which `product` computes. Means of outputs, expectations and
    differences of outputs have parts too: they are sums of these.
    """


@generic
def add_parts(data, i, mu, scale, w):
    """w += scale * phi of mu, the joint features of example i that are linear in the parts.

    No cell of w is touched that no cell of mu other than 0 speaks of.
    """


@generic_on_two
def maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write to (outputs, at) an output maximising score_scale * score + cost_scale * cost.

    Scales are >= 0. Ties: lowest label first. By the types of data and cost. A cost with a `shift`
    adds it to the score.
    """


@generic_with_default
def output_length(data, i, outputs, at):
    """Return how many cells the output at (outputs, at) has in use, `output_size` at the most.

    Where outputs differ in length, their cells must tell it, and nobody looks at the cells behind
    them. The default is for outputs that always fill their cells.
    """
    return output_size(data, i)


@jitable
def add_part_difference(data: Any, i: int, outputs: Any, at: int, mu: Any) -> None:
    """mu += the parts of y_i less those of y."""
    place = 0
    for k in range(i):
        place += output_size(data, k)
    parts(data, i, truths(data), place, 1.0, mu)
    parts(data, i, outputs, at, -1.0, mu)


@generic_with_default
def margin_error(data, i, theta, outputs, at):
    """Return h = score(y) - score(y_i) under theta.

    The default adds up parts, in a new workspace: to be compiled, `workspace` and `truths` must be.
    """
    mu = workspace(data)[0]
    add_part_difference(data, i, outputs, at, mu)
    return -product(theta, mu)


@generic_with_default
def add_difference(data, i, outputs, at, scale, w):
    """w += scale * Psi_i(y) = scale * (phi(x_i, y_i) - phi(x_i, y)).

    The default adds up parts, as that of `margin_error` does.
    """
    mu = workspace(data)[0]
    add_part_difference(data, i, outputs, at, mu)
    add_parts(data, i, mu, scale, w)


@generic_with_default
def clear_difference(data, i, outputs, at, w):
    """w = 0 wherever `add_difference` of y adds something. The default clears all of w."""
    w[:] = 0.0


@generic_with_default
def difference_potentials(data, i, outputs, at, spare, theta):
    """Fill theta so that it scores the outputs of example i at the weights Psi_i(y).

    `margin_error` of z under these potentials is -<Psi_i(y), Psi_i(z)>. ``spare`` is a vector of
    `spare_size` cells that nobody else looks at; it is 0 before and after.
    """
    add_difference(data, i, outputs, at, 1.0, spare)
    potentials(data, i, spare, 1.0, theta)
    clear_difference(data, i, outputs, at, spare)


#: Weights up to which `clear_difference` may clear all of them, for every plane.
MOST_CLEARED = 1 << 20


@generic_with_default
def spare_size(data):
    """Return how many cells `difference_potentials` wants beside theta. (Python only.)

    Refuses to touch every one of very many weights for every plane.
    """
    kind, size = type(data), int(n_weights(data))
    if has(difference_potentials, kind):
        return 0
    if size > MOST_CLEARED and not has(clear_difference, kind):
        raise TypeError(
            f"{kind.__name__} has {size} weights: with more than {MOST_CLEARED} it needs an "
            "implementation of clear_difference, which clears the weights that add_difference "
            "has touched, or of difference_potentials (see maxmargin.core.contract)."
        )
    return size


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
def maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Do as `maximize`; return a number that score_scale * h + cost_scale * g of no y exceeds.

    The default is for oracles that are exact. By the types of data and cost.
    """
    maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)
    h = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
    return score_scale * h + cost_scale * output_cost(data, cost, i, outputs, at)


@generic_with_default
def mix(data, i, left, left_at, right, right_at, share, outputs, at):
    """Write to (outputs, at) the output (1 - share) * left + share * right; return if it can.

    For structures whose outputs are those of a relaxation: any mean of two is one too.
    """
    return False
