"""Clouds as a structure: outputs are listed, and every oracle looks at all of them."""

# Implementations of generic functions have no annotations: numba compares their signatures.
# mypy: allow-untyped-defs

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    capabilities,
    constrained,
    cost_step,
    implements,
    k_best,
    k_best_room,
    margin_error,
    maximize,
    n_weights,
    output_cost,
    output_size,
    output_sizes,
    potentials,
    profile,
    profile_levels,
    profile_output,
    profile_room,
    truths,
    workspace,
)

#: Clouds with more different costs than this have no profile.
MAX_LEVELS = 64


class CloudData(NamedTuple):
    """Examples with listed outputs, one after the other; output 0 of each is the true one."""

    starts: Any  # (n_examples + 1,) int64
    truths: Any  # (n_examples,) int32: zeros


class CloudPotentials(NamedTuple):
    """Scores of the outputs of one example."""

    scores: Any  # (most outputs of an example,)


class CloudCost(NamedTuple):
    """The cost of every output."""

    g: Any  # (n_outputs,)
    levels: Any  # (n_examples, n_levels): different costs, then inf; no column where they are many
    steps: Any  # (n_examples,): what costs are multiples of, or 0
    hides: Any  # one flag per oracle, see HIDDEN


#: Oracles that a cloud can do without.
HIDDEN = ("k_best", "constrained", "profile")


@implements(n_weights, CloudData)
def _n_weights(data):
    return int(data.starts[-1])


@implements(output_sizes, CloudData)
def _output_sizes(data):
    return np.ones(len(data.truths), dtype=np.int64)


@implements(truths, CloudData)
def _truths(data):
    return data.truths


@implements(workspace, CloudData)
def _workspace(data):
    return CloudPotentials(np.zeros(int(np.diff(data.starts).max()))), ()


@implements(output_size, CloudData)
def _output_size(data, i):
    return 1


@implements(potentials, CloudData)
def _potentials(data, i, w, scale, theta):
    first = data.starts[i]
    for y in range(data.starts[i + 1] - first):
        theta.scores[y] = scale * w[first + y]


@implements(margin_error, CloudData)
def _margin_error(data, i, theta, outputs, at):
    return theta.scores[outputs[at]] - theta.scores[0]


@implements(add_difference, CloudData)
def _add_difference(data, i, outputs, at, scale, w):
    w[data.starts[i]] += scale
    w[data.starts[i] + outputs[at]] -= scale


# -- the oracles --------------------------------------------------------------------------------


@implements(capabilities, CloudData)
def _capabilities(data, cost):
    if not isinstance(cost, CloudCost):  # a cost of the user, which has only the oracle `maximize`
        return frozenset({"weighted"})
    found = {name for name, hidden in zip(HIDDEN, cost.hides, strict=True) if not hidden}
    return frozenset(found - ({"profile"} if cost.levels.shape[1] == 0 else set()) | {"weighted"})


@implements(output_cost, CloudData, CloudCost)
def _output_cost(data, cost, i, outputs, at):
    return cost.g[data.starts[i] + outputs[at]]


@jitable
def _is_better(
    value: float, h: float, g: float, best_value: float, best_h: float, best_g: float, tilt: float
) -> bool:
    """Order outputs; ties at a tilt of 0 by g and else by h."""
    if value != best_value:
        return value > best_value
    return g > best_g if tilt == 0.0 else h > best_h


@implements(maximize, CloudData, CloudCost)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    first = data.starts[i]
    best = 0
    for y in range(1, data.starts[i + 1] - first):
        value = score_scale * theta.scores[y] + cost_scale * cost.g[first + y]
        best_value = score_scale * theta.scores[best] + cost_scale * cost.g[first + best]
        h, g = theta.scores[y], cost.g[first + y]
        if _is_better(
            value, h, g, best_value, theta.scores[best], cost.g[first + best], cost_scale
        ):
            best = y
    outputs[at] = best


@implements(k_best_room, CloudData)
def _k_best_room(data, cost, k):
    return np.zeros(int(np.diff(data.starts).max()), dtype=np.int8)


@implements(k_best, CloudData, CloudCost)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    first = data.starts[i]
    n_outputs = data.starts[i + 1] - first
    own[:] = 0
    for place in range(min(k, n_outputs)):
        best = -1
        for y in range(n_outputs):
            if own[y] == 0:
                h, g = theta.scores[y], cost.g[first + y]
                value = score_scale * h + cost_scale * g
                if best < 0:
                    best = y
                best_value = score_scale * theta.scores[best] + cost_scale * cost.g[first + best]
                best_g = cost.g[first + best]
                if _is_better(value, h, g, best_value, theta.scores[best], best_g, cost_scale):
                    best = y
        outputs[at + place] = best
        own[best] = 1
    return min(k, n_outputs)


@implements(constrained, CloudData, CloudCost)
def _constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    # The slope is the same quotient that made the bound, so < excludes what was found before, and
    # ``banned`` need not be read.
    first = data.starts[i]
    best = -1
    for y in range(data.starts[i + 1] - first):
        h, g = 1.0 + (theta.scores[y] - theta.scores[0]), cost.g[first + y]
        if h <= 0.0:
            continue
        slope = g / h
        if slope > low and (slope < high or (is_closed and slope == high)):
            value = g if tilt == math.inf else h + tilt * g
            if best < 0:
                best = y
            best_h, best_g = 1.0 + (theta.scores[best] - theta.scores[0]), cost.g[first + best]
            best_value = best_g if tilt == math.inf else best_h + tilt * best_g
            if _is_better(value, h, g, best_value, best_h, best_g, tilt):
                best = y
    outputs[at] = max(best, 0)
    return best >= 0


@implements(cost_step, CloudData, CloudCost)
def _cost_step(data, cost):
    return cost.steps if (cost.steps > 0.0).all() else None


@implements(profile_levels, CloudData, CloudCost)
def _profile_levels(data, cost):
    if cost.levels.shape[1] == 0:
        raise ValueError(f"Clouds have a profile up to {MAX_LEVELS} different costs.")
    return cost.levels.shape[1]


@implements(profile_room, CloudData, CloudCost)
def _profile_room(data, cost):
    return np.zeros(max(1, cost.levels.shape[1]), dtype=np.int32)


@implements(profile, CloudData, CloudCost)
def _profile(data, cost, i, theta, room, own, h, g):
    first = data.starts[i]
    n_levels = cost.levels.shape[1]
    for level in range(n_levels):
        h[level] = -np.inf
        g[level] = cost.levels[i, level]
    for y in range(data.starts[i + 1] - first):
        for level in range(n_levels):
            if g[level] == cost.g[first + y] and theta.scores[y] - theta.scores[0] > h[level]:
                h[level] = theta.scores[y] - theta.scores[0]
                own[level] = y
    return n_levels


@implements(profile_output, CloudData, CloudCost)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    outputs[at] = own[level]
