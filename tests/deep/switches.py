"""A structure as a user would write one, with parts: three switches, and a bonus if two are on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import (
    add_parts,
    implements,
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


class SwitchData(NamedTuple):
    y: Any  # (n, 3) int32
    X: Any  # (n, 2)


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


@implements(n_weights, SwitchData)
def _n_weights(data):
    return 4


@implements(output_sizes, SwitchData)
def _output_sizes(data):
    return np.full(len(data.y), 3)


@implements(output_size, SwitchData)
def _output_size(data, i):
    return 3


@implements(truths, SwitchData)
def _truths(data):
    return data.y.reshape(-1)


@implements(workspace, SwitchData)
def _workspace(data):
    return SwitchScores(np.zeros(3), np.zeros((1, 1))), ()


@implements(potentials, SwitchData)
def _potentials(data, i, w, scale, theta):
    theta.on[:] = scale * w[:3]
    theta.bonus[0, 0] = scale * w[3]


@implements(parts, SwitchData)
def _parts(data, i, outputs, at, scale, mu):
    count = 0
    for k in range(3):
        mu.on[k] += scale * outputs[at + k]
        count += outputs[at + k]
    if count == 2:
        mu.bonus[0, 0] += scale


@implements(add_parts, SwitchData)
def _add_parts(data, i, mu, scale, w):
    w[:3] += scale * mu.on
    w[3] += scale * mu.bonus[0, 0]


@implements(output_cost, SwitchData, Wrong)
def _output_cost(data, cost, i, outputs, at):
    total = 0.0
    for k in range(3):
        total += cost.price[i] * (outputs[at + k] != data.y[i, k])
    return total


@implements(maximize, SwitchData, Wrong)
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
