"""A structure as a user would write one, with parts: three switches, and a bonus if two are on."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    add_parts,
    belongs,
    implements,
    k_best,
    k_best_room,
    law_parts,
    law_room,
    law_sizes,
    marginals,
    maximize,
    n_weights,
    output_cost,
    output_size,
    output_sizes,
    parts,
    potentials,
    truths,
    workspace,
)


class AnySwitches:
    """Family of the two kinds of data."""


@belongs(AnySwitches)
class SwitchData(NamedTuple):
    y: Any  # (n, 3) int32
    X: Any  # (n, 2)


@belongs(AnySwitches)
class ListedSwitchData(NamedTuple):
    """The same, with the k best outputs and laws besides."""

    y: Any
    X: Any


class Wrong(NamedTuple):
    price: Any  # (n,)


class SwitchScores(NamedTuple):
    on: Any  # (3,)
    bonus: Any  # (1, 1)


class Switches:
    def data(self, X, Y):
        y = np.zeros((len(X), 3)) if Y is None else Y
        return SwitchData(np.array(y, dtype=np.int32), np.ones((len(X), 2)))

    def decode(self, data, i, cells):
        return cells.tolist()

    def cost(self, data):
        return Wrong(np.ones(len(data.y)))


class ListedSwitches(Switches):
    def data(self, X, Y):
        return ListedSwitchData(*super().data(X, Y))


class SummedSwitches(ListedSwitches):
    def log_partition(self, data, i, theta):
        return np.logaddexp.reduce(_scores(theta))


@implements(n_weights, AnySwitches)
def _n_weights(data):
    return 4


@implements(output_sizes, AnySwitches)
def _output_sizes(data):
    return np.full(len(data.y), 3)


@implements(output_size, AnySwitches)
def _output_size(data, i):
    return 3


@implements(truths, AnySwitches)
def _truths(data):
    return data.y.reshape(-1)


@implements(workspace, AnySwitches)
def _workspace(data):
    return SwitchScores(np.zeros(3), np.zeros((1, 1))), ()


@implements(potentials, AnySwitches)
def _potentials(data, i, w, scale, theta):
    theta.on[:] = scale * w[:3]
    theta.bonus[0, 0] = scale * w[3]


@implements(parts, AnySwitches)
def _parts(data, i, outputs, at, scale, mu):
    count = 0
    for k in range(3):
        mu.on[k] += scale * outputs[at + k]
        count += outputs[at + k]
    if count == 2:
        mu.bonus[0, 0] += scale


@implements(add_parts, AnySwitches)
def _add_parts(data, i, mu, scale, w):
    w[:3] += scale * mu.on
    w[3] += scale * mu.bonus[0, 0]


@implements(output_cost, AnySwitches, Wrong)
def _output_cost(data, cost, i, outputs, at):
    total = 0.0
    for k in range(3):
        total += cost.price[i] * (outputs[at + k] != data.y[i, k])
    return total


@implements(maximize, AnySwitches, Wrong)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    best, found = -np.inf, 0
    for code in range(8):
        value, count = 0.0, 0
        for k in range(3):
            bit = (code >> k) & 1
            count += bit
            value += score_scale * theta.on[k] * bit
            value += cost_scale * cost.price[i] * (bit != data.y[i, k])
        if count == 2:
            value += score_scale * theta.bonus[0, 0]
        if value > best:
            best, found = value, code
    for k in range(3):
        outputs[at + k] = (found >> k) & 1


ALL = np.array(list(itertools.product((0, 1), repeat=3)), dtype=np.int32)


def _scores(theta):
    return ALL @ theta.on + theta.bonus[0, 0] * (ALL.sum(axis=1) == 2)


@implements(k_best_room, ListedSwitchData)
def _k_best_room(data, cost, k):
    return ()


@implements(k_best, ListedSwitchData, Wrong)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    prices = cost.price[i] * (data.y[i] != ALL).sum(axis=1)
    order = np.argsort(-(score_scale * _scores(theta) + cost_scale * prices))[:k]
    outputs[at : at + 3 * len(order)] = ALL[order].reshape(-1)
    return len(order)


@implements(law_sizes, ListedSwitchData)
def _law_sizes(data):
    return np.full(len(data.y), 8)


@implements(law_room, ListedSwitchData)
def _law_room(data):
    return ()


@implements(marginals, ListedSwitchData)
def _marginals(data, i, theta, own, temperature, prior, prior_at, law, at):
    scores = _scores(theta) / temperature
    if prior_at >= 0:
        scores += np.log(prior[prior_at : prior_at + 8])
    law[at : at + 8] = np.exp(scores - np.logaddexp.reduce(scores))


@implements(law_parts, ListedSwitchData)
def _law_parts(data, i, law, at, scale, mu):
    masses = scale * law[at : at + 8]
    mu.on[:] += masses @ ALL
    mu.bonus[0, 0] += masses[ALL.sum(axis=1) == 2].sum()
