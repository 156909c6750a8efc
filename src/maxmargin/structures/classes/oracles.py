"""Classes: costs and oracles, which try every class; the same code serves all costs.

What differs by cost is the price of one class, `class_price`.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

import numpy as np

from maxmargin.core.contract import (
    CostOfPositions,
    constrained,
    generic,
    implements,
    k_best,
    k_best_room,
    list_values,
    maximize,
    output_cost,
    profile,
    profile_levels,
    profile_output,
    profile_room,
)
from maxmargin.costs.tables import PartCost, WholeCost
from maxmargin.structures.classes.data import OneLabel


@generic
def class_price(cost, i, truth, label):
    """Return what example i costs if ``label`` is taken for its class ``truth``."""


@implements(class_price, PartCost)
def _price_of_pair(cost, i, truth, label):
    """Look up the price in the matrix."""
    return cost.scale[i] * cost.matrix[truth, label]


@implements(class_price, WholeCost)
def _price_of_mistake(cost, i, truth, label):
    """Return the one price of all wrong classes."""
    return cost.price[i] if label != truth else 0.0


@implements(output_cost, OneLabel, CostOfPositions)
def _output_cost(data, cost, i, outputs, at):
    """Return the price of the class."""
    return class_price(cost, i, data.labels[i], outputs[at])


@implements(list_values, OneLabel, CostOfPositions)
def _list_values(data, cost, i, theta, values, costs):
    """List the cost of every class, and h + g."""
    truth = data.labels[i]
    for k in range(data.n_labels):
        costs[k] = class_price(cost, i, truth, k)
        values[k] = costs[k] + theta.scores[0, k] - theta.scores[0, truth]


@implements(maximize, OneLabel, CostOfPositions)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Try every class; of equals the lowest stays."""
    truth = data.labels[i]
    best = -np.inf
    outputs[at] = 0
    for k in range(data.n_labels):
        price = class_price(cost, i, truth, k)
        value = score_scale * theta.scores[0, k] + cost_scale * price
        if value > best:
            best = value
            outputs[at] = k


@implements(profile_levels, OneLabel, CostOfPositions)
def _profile_levels(data, cost):
    """Return the number of classes: each class is a level of its own."""
    return data.n_labels


@implements(profile_room, OneLabel, CostOfPositions)
def _profile_room(data, cost):
    """Return one cell, in which `profile` asks for the cost of a class."""
    return np.zeros(1, dtype=np.int32)


@implements(profile, OneLabel, CostOfPositions)
def _profile(data, cost, i, theta, room, own, h, g):
    """List h and g of every class: level k is class k, whatever the costs are."""
    truth_score = theta.scores[0, data.labels[i]]
    for k in range(data.n_labels):
        own[0] = k
        h[k] = theta.scores[0, k] - truth_score
        g[k] = output_cost(data, cost, i, own, 0)
    return data.n_labels


@implements(profile_output, OneLabel, CostOfPositions)
def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Write the class of a level: its index is the level."""
    outputs[at] = level


@implements(k_best_room, OneLabel)
def _k_best_room(data, cost, k):
    """Return room for the values of the k best classes."""
    return np.zeros(k)


@implements(k_best, OneLabel, CostOfPositions)
def _k_best(data, cost, i, theta, room, score_scale, cost_scale, k, own, outputs, at):
    """Insert every class into a list of the k best, which stays sorted.

    Classes of equal value stay in the order of their indices.
    """
    count = 0
    for label in range(data.n_labels):
        last = min(count, k - 1)
        outputs_last = outputs[at + last]
        outputs[at + last] = label
        value = score_scale * theta.scores[0, label] + cost_scale * output_cost(
            data, cost, i, outputs, at + last
        )
        if count == k and not value > own[last]:
            outputs[at + last] = outputs_last
            continue
        count = min(count + 1, k)
        place = last
        while place > 0 and value > own[place - 1]:
            own[place] = own[place - 1]
            outputs[at + place] = outputs[at + place - 1]
            place -= 1
        own[place] = value
        outputs[at + place] = label
    return count


@implements(constrained, OneLabel, CostOfPositions)
def _constrained(
    data, cost, i, theta, room, tilt, low, high, is_closed, banned, n_banned, outputs, at
):
    """Try every class whose slope g / (1 + h) lies within the bounds."""
    truth_score = theta.scores[0, data.labels[i]]
    best, best_h = -np.inf, -np.inf
    found = -1
    for k in range(data.n_labels):
        h = 1.0 + (theta.scores[0, k] - truth_score)
        if h <= 0.0:
            continue
        outputs[at] = k
        g = output_cost(data, cost, i, outputs, at)
        # Compare the quotient itself, as the caller computed `high`. Comparing g with high * h
        # could let in, by rounding, the class that the caller found before.
        slope = g / h
        if not (low < slope and (slope < high or (is_closed and slope == high))):
            continue
        value = g if tilt == np.inf else h + tilt * g
        if value > best or (value == best and tilt == np.inf and h > best_h):
            best, best_h, found = value, h, k
    outputs[at] = max(found, 0)
    return found >= 0
