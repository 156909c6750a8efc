"""Expectation oracles: laws of the outputs of an example, and what they are worth.

A *law* is a probability distribution over the outputs of one example, kept as the probabilities of
cells: of classes, of labels, of nodes and edges. A structure chooses cells from which the expected
parts mu follow linearly, and which determine one law: of all laws with these probabilities that of
largest entropy, in which what is not joined by a cell is independent given what joins it. Then a
mean of two laws is the mean of their cells.

Solvers that need an expectation in the place of a maximum ask these functions. A structure offers
"marginals" if it implements those without a default; costs must be sums over parts (`add_prices`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.core.compile import jitable, overloads
from maxmargin.core.contract.product import product
from maxmargin.core.contract.structure import (
    MOST_CLEARED,
    add_parts,
    n_weights,
    potentials,
    workspace,
)
from maxmargin.core.dispatch import generic, generic_on_two, generic_with_default, has

#: Masses below this count as this much where their logarithm is taken: a law that has lost an
#: output to underflow can still find it again.
LEAST_MASS = 1e-300


@generic
def law_sizes(data):
    """Return how many cells a law of each example has, an int64 array. (Python only.)"""


@generic
def law_room(data):
    """Return the scratch of `marginals`, for any one example; an empty tuple for none. (Python.)"""


@generic
def marginals(data, i, theta, own, temperature, prior, prior_at, law, at):
    """Write to (law, at) the law p(y) ~ prior(y) exp(score(y) / temperature).

    The score is that under theta. ``prior`` has a law from cell ``prior_at`` on; if that is
    negative, all outputs have the same prior mass. Cells of an earlier law that are 0 count as
    `LEAST_MASS`. The law may not overlap the prior. ``own`` is what `law_room` made.
    """


@generic
def law_parts(data, i, law, at, scale, mu):
    """mu += scale * the expected parts of the law at (law, at)."""


@generic
def lean(data, i, scale, theta):
    """Add to theta potentials that prefer the true output, by ``scale`` per wrong position."""


@generic_on_two
def add_prices(data, cost, i, scale, theta):
    """Add scale * prices to theta: the cost is g(y) = <prices, mu(y)> + a constant.

    With a `shift`, scale * shift is added besides. Chosen by the types of data and cost.
    """


@generic_with_default
def has_laws(data):
    """Return whether these data offer laws, where their type alone does not tell. (Python only.)"""
    return True


@generic_with_default
def part_counts(data):
    """Return how many cells of each array of theta each example uses, from its first. (Python.)

    An int64 array of shape (n_examples, number of arrays). The default says that all examples use
    all cells.
    """
    sizes = [array.size for array in workspace(data)[0]]
    return np.tile(np.array(sizes, dtype=np.int64), (len(law_sizes(data)), 1))


@generic_with_default
def gather(data, i, theta, counts, scale, flat, at):
    """Add scale times the cells of theta that example i uses to flat[at:], one after the other.

    ``counts`` is what `part_counts` returned.
    """
    _gather_from(theta, counts, i, 0, scale, flat, at)


@generic_with_default
def spread(data, i, flat, at, counts, theta):
    """Overwrite the cells of theta that example i uses by flat[at:], as `gather` orders them."""
    _spread_from(flat, at, counts, i, 0, theta)


@generic_with_default
def parts_square(data, i, mu, spare, theta):
    """Return |phi(x_i, mu)|^2 in the norm of the data; mu is 0 where example i has no parts.

    Fills theta with what `potentials` would at the weights phi(x_i, mu): scores of the parts, by
    which scores of example i change if w does. Cells that are forbidden may have any number.
    ``spare`` has `square_size` cells that are 0 before and after.
    """
    add_parts(data, i, mu, 1.0, spare)
    potentials(data, i, spare, 1.0, theta)
    spare[:] = 0.0
    return product(theta, mu)


@generic_with_default
def square_size(data):
    """Return how many cells of ``spare`` `parts_square` needs. (Python only.)"""
    if has(parts_square, type(data)):
        return 0
    return default_square_size(data)


def default_square_size(data: Any) -> int:
    """Return how many cells the default of `parts_square` needs; refuse too many."""
    size = int(n_weights(data))
    if size > MOST_CLEARED:
        raise TypeError(
            f"{type(data).__name__} has {size} weights: with more than {MOST_CLEARED} it needs an "
            "implementation of parts_square (see maxmargin.core.contract)."
        )
    return size


@jitable
def log_mass(mass: float) -> float:
    """Return the logarithm of a probability, no less than that of LEAST_MASS."""
    return math.log(mass) if mass > LEAST_MASS else -690.7755278982137


# The arrays of theta have different types, so compiled code cannot loop over them: it recurses.


def _gather_from(theta, counts, i, field, scale, flat, at):
    if len(theta) > 0:
        _gather_array(theta[0], counts[i, field], scale, flat, at)
        _gather_from(theta[1:], counts, i, field + 1, scale, flat, at + counts[i, field])


def _spread_from(flat, at, counts, i, field, theta):
    if len(theta) > 0:
        _spread_array(flat, at, counts[i, field], theta[0])
        _spread_from(flat, at + counts[i, field], counts, i, field + 1, theta[1:])


@jitable
def _gather_array(array: Any, count: int, scale: float, flat: Any, at: int) -> None:
    cells = array.reshape(-1)  # not ravel, which may copy: then numba counts references
    for k in range(count):
        if cells[k] != 0.0:
            flat[at + k] += scale * cells[k]


@jitable
def _spread_array(flat: Any, at: int, count: int, array: Any) -> None:
    cells = array.reshape(-1)
    for k in range(count):
        cells[k] = flat[at + k]


@overloads(_gather_from)
def _compiled_gather(theta, counts, i, field, scale, flat, at):
    if len(theta) == 0:
        return lambda theta, counts, i, field, scale, flat, at: None

    def go_on(theta, counts, i, field, scale, flat, at):
        _gather_array(theta[0], counts[i, field], scale, flat, at)
        _gather_from(theta[1:], counts, i, field + 1, scale, flat, at + counts[i, field])

    return go_on


@overloads(_spread_from)
def _compiled_spread(flat, at, counts, i, field, theta):
    if len(theta) == 0:
        return lambda flat, at, counts, i, field, theta: None

    def go_on(flat, at, counts, i, field, theta):
        _spread_array(flat, at, counts[i, field], theta[0])
        _spread_from(flat, at + counts[i, field], counts, i, field + 1, theta[1:])

    return go_on
