"""Classes: costs and oracles. Classes are few, so all are gone through."""

from __future__ import annotations

import numpy as np

from maxmargin.core.contract import (
    constrained,
    implements,
    k_best,
    k_best_room,
    maximize,
    output_cost,
    profile,
    profile_levels,
    profile_output,
    profile_room,
)
from maxmargin.costs.tables import PartCost, WholeCost
from maxmargin.structures.classes.data import MulticlassData


@implements(maximize, MulticlassData, PartCost)
def _maximize_part(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Try every class; of equals the lowest stays."""
    truth = data.labels[i]
    best = -np.inf
    outputs[at] = 0
    for k in range(data.n_labels):
        price = cost.scale[i] * cost.matrix[truth, k]
        value = score_scale * theta.scores[0, k] + cost_scale * price
        if value > best:
            best = value
            outputs[at] = k


@implements(output_cost, MulticlassData, PartCost)
def _output_cost_part(data, cost, i, outputs, at):
    """Return the price of the mistake, by the matrix of the cost."""
    return cost.scale[i] * cost.matrix[data.labels[i], outputs[at]]


@implements(maximize, MulticlassData, WholeCost)
def _maximize_whole(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    """Try every class; of equals the lowest stays."""
    truth = data.labels[i]
    best = -np.inf
    outputs[at] = 0
    for k in range(data.n_labels):
        price = cost.price[i] if k != truth else 0.0
        value = score_scale * theta.scores[0, k] + cost_scale * price
        if value > best:
            best = value
            outputs[at] = k


@implements(output_cost, MulticlassData, WholeCost)
def _output_cost_whole(data, cost, i, outputs, at):
    """Return the price of the example where the class is wrong."""
    return cost.price[i] if outputs[at] != data.labels[i] else 0.0


def _profile_levels(data, cost):
    """Return the number of classes: each class is a level of its own."""
    return data.n_labels


def _profile_room(data, cost):
    """Return one cell, in which `profile` asks for the cost of a class."""
    return np.zeros(1, dtype=np.int32)


def _profile(data, cost, i, theta, room, own, h, g):
    """List h and g of every class: level k is class k, whatever the costs are."""
    truth_score = theta.scores[0, data.labels[i]]
    for k in range(data.n_labels):
        own[0] = k
        h[k] = theta.scores[0, k] - truth_score
        g[k] = output_cost(data, cost, i, own, 0)
    return data.n_labels


def _profile_output(data, cost, i, theta, room, own, level, outputs, at):
    """Write the class of a level: its index is the level."""
    outputs[at] = level


def _k_best_room(data, cost, k):
    """Return room for the values of the k best classes."""
    return np.zeros(k)


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


for _cost in (PartCost, WholeCost):
    implements(profile_levels, MulticlassData, _cost)(_profile_levels)
    implements(profile_room, MulticlassData, _cost)(_profile_room)
    implements(profile, MulticlassData, _cost)(_profile)
    implements(profile_output, MulticlassData, _cost)(_profile_output)
    implements(k_best_room, MulticlassData, _cost)(_k_best_room)
    implements(k_best, MulticlassData, _cost)(_k_best)
    implements(constrained, MulticlassData, _cost)(_constrained)
