"""What a structure must offer: the required functions first, then those that have a default.

Required are `n_weights`, `output_sizes`, `truths`, `workspace`, `output_size`, `potentials`,
`maximize` and, for each cost, `output_cost`; and one of two pairs that define the joint features:

- `parts` and `add_parts`. An output is made of parts, the score and phi are linear in them, and
  all other functions have a default; or
- `margin_error` and `add_difference`. Such a structure has no parts, and methods that need parts
  refuse it with an error.

A structure overrides a default where that is faster. Defaults are references: the contract tests
compare each override with the default.

Notation, as in docs/math.md: example i has the true output y_i, and Psi_i(y) = phi(x_i, y_i) -
phi(x_i, y). ``theta`` holds the potentials of one example, filled by `potentials` and read by the
rest; ``room`` is what its oracles overwrite. The output y given by ``(outputs, at)`` is the
`output_size(data, i)` cells of the array ``outputs`` from cell ``at`` on: int32 for compiled
structures, float64 if outputs are fractional (see fractional.py), one object for a structure in
plain Python. (An array and a place rather than a slice:
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
    """Return the true outputs of all examples, one after the other, as one array of cells.

    `truth_sizes` says how many cells each has there.
    """


@generic
def workspace(data):
    """Return new arrays (theta, room), large enough for any one example. (Python only.)

    ``theta`` is a NamedTuple of float arrays only. ``mu``, how often an output uses each cell of
    theta, has the same type. ``room`` holds all other scratch arrays of the oracles; it is an empty
    tuple if they need none.
    """


@generic_with_default
def connect(room, cost):
    """Write the addresses of kernels to a room, before compiled code uses it. (Python only.)

    Oracles will be asked for this cost; asked for another one, they are connected again.

    For structures whose oracles call kernels through addresses, see `maxmargin.core.sealed`.
    """


@generic
def output_size(data, i):
    """Return the number of cells of an output of example i; if outputs differ, the largest."""


@generic
def potentials(data, i, w, scale, theta):
    """Fill theta with the scores of the parts of example i at the weights scale * w, scale > 0."""


@generic
def parts(data, i, outputs, at, scale, mu):
    """mu += scale * the parts of y: how often y uses each cell of theta.

    Then score(y) = <theta, mu(y)>, which `product` computes. Means of outputs, expectations and
    differences of outputs have parts too: they are sums of these.
    """


@generic
def add_parts(data, i, mu, scale, w):
    """w += scale * phi(x_i, mu), the joint features of example i, which are linear in mu.

    Changes only those cells of w that belong to nonzero cells of mu.
    """


@generic_on_two
def maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Write to (outputs, at) an output maximising score_scale * score + cost_scale * cost.

    Scales are >= 0. Ties go to the lowest label. If the cost has a `shift`, it is added to the
    score. Chosen by the types of data and cost.
    """


@generic_with_default
def output_length(data, i, outputs, at):
    """Return how many cells the output at (outputs, at) uses, at most `output_size`.

    If outputs differ in length, the length must follow from their cells; the cells after it are
    never read. The default is for outputs that always use all their cells.
    """
    return output_size(data, i)


@generic_with_default
def truth_sizes(data):
    """Return how many cells each true output has in `truths`, an int64 array; by default all."""
    return output_sizes(data)


@jitable
def add_part_difference(data: Any, i: int, outputs: Any, at: int, mu: Any) -> None:
    """mu += the parts of y_i minus those of y."""
    parts(data, i, truths(data), truth_sizes(data)[:i].sum(), 1.0, mu)
    parts(data, i, outputs, at, -1.0, mu)


@generic_with_default
def margin_error(data, i, theta, outputs, at):
    """Return h = score(y) - score(y_i) under theta.

    The default adds up parts in a new workspace. It can be compiled only if `workspace` and
    `truths` can be.
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
def add_differences(data, i, outputs, places, scales, n_outputs, w):
    """Do as `add_difference` for n_outputs outputs: w += sum_k scales[k] * Psi_i(y_k).

    Output k begins at places[k]. Outputs of one example have much in common, and what a solver
    gives to one output it mostly takes from another: a structure may add up first what each part
    gets. The default adds one output after the other.
    """
    for k in range(n_outputs):
        add_difference(data, i, outputs, places[k], scales[k], w)


@generic_with_default
def clear_difference(data, i, outputs, at, w):
    """Set w to 0 wherever `add_difference` of y changes it. The default sets all of w to 0."""
    w[:] = 0.0


@generic_with_default
def difference_potentials(data, i, outputs, at, spare, theta):
    """Fill theta so that it scores the outputs of example i at the weights Psi_i(y).

    `margin_error` of z under these potentials is -<Psi_i(y), Psi_i(z)>. ``spare`` is a vector of
    `spare_size` cells that only this function uses; it is 0 before and after the call.
    """
    add_difference(data, i, outputs, at, 1.0, spare)
    potentials(data, i, spare, 1.0, theta)
    clear_difference(data, i, outputs, at, spare)


@generic_with_default
def difference_square(data, i, outputs, at, spare, theta):
    """Return |Psi_i(y)|^2, by which h falls if w moves by `add_difference` of y. Overwrites theta.

    ``spare`` is that of `difference_potentials`, which the default calls: to score all parts where
    those of y and y_i would do is slow if there are many.
    """
    difference_potentials(data, i, outputs, at, spare, theta)
    return -margin_error(data, i, theta, outputs, at)


@generic_with_default
def potentials_of(data, i, w, outputs, spans, first, count, theta):
    """Fill what `margin_error` of some known outputs reads of theta, at the weights w.

    These outputs begin at outputs[spans[row, 0]] for the rows first .. first + count - 1. The
    default fills all of theta; a structure with many parts, of which an output uses few, scores
    those alone.
    """
    potentials(data, i, w, 1.0, theta)


@generic_with_default
def difference_potentials_of(data, i, outputs, at, spans, first, count, spare, theta):
    """Do as `difference_potentials` of the output at ``at``, for some known outputs alone.

    Only margin errors of that output, and of those that `potentials_of` is told of by ``spans``,
    will be asked for.
    """
    difference_potentials(data, i, outputs, at, spare, theta)


#: The largest number of weights with which the default `clear_difference`, called for every plane,
#: is accepted: it clears all weights.
MOST_CLEARED = 1 << 20


@generic_with_default
def spare_size(data):
    """Return how many cells of ``spare`` `difference_potentials` needs. (Python only.)

    Refuses a structure with more than MOST_CLEARED weights if it would clear all of them for every
    plane.
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

    The first bounds sum_j |w_j phi_j(x_i, y)| / |w| over all y and w; a term that a score adds
    several times counts several times. Certificates use both to bound rounding. None, the default,
    means that the bounds are not known. (Python only.)
    """
    return None


@generic_with_default
def are_outputs(data, examples, cells, lengths):
    """Return a boolean array: whether each given output is an output of its example.

    (Python only.) ``examples`` has the example of each output, ``cells`` holds the outputs one
    after the other, each with so many cells as ``lengths`` says: `output_size` of them, unless the
    structure implements `output_length`. The outputs come from a file, and compiled code does not
    check bounds. The default tries each output in plain Python, where an index past the end is an
    error.
    """
    lowest = min(0, int(truths(data).min(initial=0)))
    spare, at = np.zeros(n_weights(data)), 0
    answers = np.zeros(len(examples), dtype=bool)
    for k, i in enumerate(examples):
        own = cells[at : at + lengths[k]]
        at += lengths[k]
        try:
            add_difference(data, i, own, 0, 1.0, spare)
            answers[k] = own.min(initial=0) >= lowest and np.isfinite(spare.sum())
        except IndexError:
            answers[k] = False
    return answers


@generic_on_two_with_default
def maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Do as `maximize`; return an upper bound of score_scale * h + cost_scale * g over all y.

    The default is for oracles that are exact. Chosen by the types of data and cost.
    """
    maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at)
    h = margin_error(data, i, theta, outputs, at) + shift(data, cost, i, outputs, at)
    return score_scale * h + cost_scale * output_cost(data, cost, i, outputs, at)


@generic_with_default
def oracle_memory(data):
    """Return the arrays, by name, that oracles remember from one call to the next. (Python only.)

    Filling them with zeros makes them forget everything. What is remembered of an example may be
    read and changed by calls for this example only: so results do not depend on threads.
    """
    return {}


@generic_with_default
def tell_gap(data, gap, loss):
    """Tell oracles the relative gap of the run so far, and what it is relative to. (Python only.)

    Oracles that can be more or less exact need not be much more exact than the run is. What they
    keep of it belongs to `oracle_memory`, so that a run which is taken up again goes on alike.
    """


@generic_with_default
def tell_haste(data, is_hasty):
    """Tell oracles whether from now on good outputs are asked for, and no bounds. (Python only.)

    A pass that adds planes is served by any output that is better than those it has; a certificate
    needs a bound that is close. Until told otherwise, oracles must not be hasty. Bounds hold in
    haste as well, but may be far above what is found.
    """


@generic_with_default
def mix(data, i, left, left_at, right, right_at, share, outputs, at):
    """Write to (outputs, at) the output (1 - share) * left + share * right; return if that worked.

    For structures whose outputs are those of a relaxation: every mean of two outputs is an output.
    The default writes nothing and returns False.
    """
    return False


@generic_with_default
def visit_work(data):
    """Return about how many operations a visit of an example takes; 0: not known. (Python only.)

    By it a compiled call visits so many examples that it can be interrupted soon after. Where it is
    not known, it is estimated from the sizes of arrays.
    """
    return 0.0
