"""Examples of any structure that has parts, with potentials given in the place of weights.

The weights of these data are the cells of theta of all examples, one example after the other. All
else is asked of the structure behind them.
"""

# Functions with overloads have no annotations: numba compares the signatures of both.

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin.core.compile import jitable, overloads
from maxmargin.core.contract import (
    add_parts,
    capabilities,
    implements,
    k_best,
    k_best_room,
    margin_error,
    maximize,
    maximize_bounded,
    n_weights,
    output_cost,
    output_length,
    output_size,
    output_sizes,
    parts,
    potentials,
    profile,
    profile_levels,
    profile_output,
    profile_room,
    shift,
    truth_sizes,
    truths,
    workspace,
)


class Scored(NamedTuple):
    """Examples with potentials of their own."""

    inner: Any  # the data of the structure
    n_examples: int
    n_cells: int  # cells of theta


class Priced(NamedTuple):
    """The cost of the data behind `Scored`."""

    inner: Any


def scored(data: Any) -> Scored:
    """Return the examples of a structure, to be scored by potentials."""
    n_cells = sum(array.size for array in workspace(data)[0])
    return Scored(data, len(output_sizes(data)), int(n_cells))


# The arrays of theta have different types, so compiled code cannot loop over them: it recurses.


def _copy_to(theta, w, at, scale):
    if len(theta) > 0:
        _copy_array(theta[0], w, at, scale)
        _copy_to(theta[1:], w, at + theta[0].size, scale)


@jitable
def _copy_array(array: Any, w: Any, at: int, scale: float) -> None:
    cells = array.reshape(-1)
    for k in range(cells.shape[0]):
        cells[k] = scale * w[at + k]


@overloads(_copy_to)
def _compiled_copy(theta, w, at, scale):
    if len(theta) == 0:
        return lambda theta, w, at, scale: None

    def go_on(theta, w, at, scale):
        _copy_array(theta[0], w, at, scale)
        _copy_to(theta[1:], w, at + theta[0].size, scale)

    return go_on


def _add_from(mu, w, at, scale):
    if len(mu) > 0:
        _add_array(mu[0], w, at, scale)
        _add_from(mu[1:], w, at + mu[0].size, scale)


@jitable
def _add_array(array: Any, w: Any, at: int, scale: float) -> None:
    cells = array.reshape(-1)
    for k in range(cells.shape[0]):
        if cells[k] != 0.0:
            w[at + k] += scale * cells[k]


@overloads(_add_from)
def _compiled_add(mu, w, at, scale):
    if len(mu) == 0:
        return lambda mu, w, at, scale: None

    def go_on(mu, w, at, scale):
        _add_array(mu[0], w, at, scale)
        _add_from(mu[1:], w, at + mu[0].size, scale)

    return go_on


@implements(n_weights, Scored)
def _n_weights(data):
    return data.n_examples * data.n_cells


@implements(potentials, Scored)
def _potentials(data, i, w, scale, theta):
    """Copy the cells of example i."""
    _copy_to(theta, w, i * data.n_cells, scale)


@implements(add_parts, Scored)
def _add_parts(data, i, mu, scale, w):
    """Add mu to the cells of example i."""
    _add_from(mu, w, i * data.n_cells, scale)


# -- asked of the structure ------------------------------------------------------------------------


@implements(output_sizes, Scored)
def _output_sizes(data):
    return output_sizes(data.inner)


@implements(output_size, Scored)
def _output_size(data, i):
    return output_size(data.inner, i)


@implements(output_length, Scored)
def _output_length(data, i, outputs, at):
    return output_length(data.inner, i, outputs, at)


@implements(truths, Scored)
def _truths(data):
    return truths(data.inner)


@implements(truth_sizes, Scored)
def _truth_sizes(data):
    return truth_sizes(data.inner)


@implements(workspace, Scored)
def _workspace(data):
    return workspace(data.inner)


@implements(parts, Scored)
def _parts(data, i, outputs, at, scale, mu):
    parts(data.inner, i, outputs, at, scale, mu)


@implements(margin_error, Scored)
def _margin_error(data, i, theta, outputs, at):
    return margin_error(data.inner, i, theta, outputs, at)


@implements(capabilities, Scored)
def _capabilities(data: Any, cost: Any) -> frozenset[str]:
    """Return those of the structure that are passed on here."""
    passed = {"weighted", "parts", "k_best", "profile"}
    return frozenset(capabilities(data.inner, cost.inner) & passed)


@implements(maximize, Scored, Priced)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    maximize(data.inner, cost.inner, i, theta, room, score_scale, cost_scale, outputs, at)


@implements(maximize_bounded, Scored, Priced)
def _maximize_bounded(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    return maximize_bounded(
        data.inner, cost.inner, i, theta, room, score_scale, cost_scale, outputs, at
    )


@implements(output_cost, Scored, Priced)
def _output_cost(data, cost, i, outputs, at):
    return output_cost(data.inner, cost.inner, i, outputs, at)


@implements(shift, Scored, Priced)
def _shift(data, cost, i, outputs, at):
    return shift(data.inner, cost.inner, i, outputs, at)


@implements(k_best_room, Scored)
def _k_best_room(data, cost, k):
    return k_best_room(data.inner, cost.inner, k)


@implements(k_best, Scored, Priced)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    return k_best(
        data.inner, cost.inner, i, theta, room, score_scale, cost_scale, k, own, outputs, at
    )


@implements(profile_levels, Scored, Priced)
def _profile_levels(data, cost):
    if "profile" not in capabilities(data.inner, cost.inner):
        raise ValueError(f"{type(data.inner).__name__} has no profile")
    return profile_levels(data.inner, cost.inner)


@implements(profile_room, Scored, Priced)
def _profile_room(data, cost):
    return profile_room(data.inner, cost.inner)


@implements(profile, Scored, Priced)
def _profile(data, cost, i, theta, room, own, h, g):
    return profile(data.inner, cost.inner, i, theta, room, own, h, g)


@implements(profile_output, Scored, Priced)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    profile_output(data.inner, cost.inner, i, theta, room, own, level, outputs, at)
