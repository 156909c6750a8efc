"""Listed label sets: the costs of all sets of an example, and how costs group them into levels.

What differs by cost stands here, one function per type of cost; listed.py has the oracles.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from maxmargin.core.compile import jitable, kernel
from maxmargin.core.contract import generic, implements
from maxmargin.costs.tables import F1Cost, SwitchCost, WholeCost
from maxmargin.inference.labels.listed import all_costs, all_levels, labels_to_mask
from maxmargin.structures.labels.costs import label_gains
from maxmargin.structures.labels.levels import has_levels, most_counts, write_level_costs


@generic
def list_costs(cost, data, i, room):
    """Fill room.costs for all label sets, and add to room.augmented the `shift` of each label."""


@implements(list_costs, SwitchCost)
def _list_costs(cost, data, i, room):
    """List the sums of the prices of wrong labels."""
    prices = room.cross[: data.n_labels]  # `cross` is free until `all_scores`; 2^(m - 1) >= m
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        prices[j] = cost.scale[i] * cost.price[j, truth] if truth >= 0 else 0.0
    all_costs(prices, data.labels[i], room.costs)
    # A loop: to add to all of an array at once allocates in compiled code, and takes seconds to
    # compile.
    if cost.base[i] != 0.0:
        for mask in range(room.costs.shape[0]):
            room.costs[mask] += cost.base[i]
    for j in range(cost.shift.shape[0]):
        if data.labels[i, j] >= 0:
            room.augmented[j] += label_gains(cost, i, j, data.labels[i, j])[0]


@implements(list_costs, WholeCost)
def _list_costs_whole(cost, data, i, room):
    """Give all label sets the same price, and the truth 0."""
    room.costs[:] = cost.price[i]
    room.costs[labels_to_mask(data.labels[i], data.n_labels)] = 0.0


@jitable
def _count_all(data, i, room):
    """Count the wrong labels (room.levels[0]) and those on (room.levels[1]) of all label sets.

    Returns how many labels are on in the truth.
    """
    all_levels(data.labels[i], data.n_labels, room.levels[0])
    all_levels(room.off, data.n_labels, room.levels[1])
    n_true = 0
    for j in range(data.n_labels):
        n_true += 1 if data.labels[i, j] == 1 else 0
    return n_true


@implements(list_costs, F1Cost)
def _list_costs_f1(cost, data, i, room):
    """List the wrong labels over |y| + |y_i|, times the price of the example."""
    n_true = _count_all(data, i, room)
    for mask in range(room.costs.shape[0]):
        wrong = room.levels[0, mask]
        on = n_true + room.levels[1, mask]
        room.costs[mask] = cost.price[i] * wrong / on if wrong > 0 else 0.0


# -- what the list of an example was made for ----------------------------------------------------


@jitable
def put(key, place, value):
    """Write a number into key[place]; tell whether it was there already."""
    is_old = key[place] == value
    key[place] = value
    return is_old


@generic
def put_cost(cost, data, i, key):
    """Write what `list_costs` depends on to key[1 : 3 + 2 n_labels]; tell if nothing changed."""


@implements(put_cost, SwitchCost)
def _put_switches(cost, data, i, key):
    """Write 0, the cost of the truth, and what each label adds to `shift` and cost."""
    is_old = put(key, 1, 0.0)
    is_old = put(key, 2, cost.base[i]) and is_old
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        added, price = label_gains(cost, i, j, truth) if truth >= 0 else (0.0, 0.0)
        is_old = put(key, 3 + 2 * j, added) and is_old
        is_old = put(key, 4 + 2 * j, price) and is_old
    return is_old


@implements(put_cost, WholeCost)
def _put_whole(cost, data, i, key):
    """Write 1 and the price of the example."""
    is_old = put(key, 1, 1.0)
    return put(key, 2, cost.price[i]) and is_old


@implements(put_cost, F1Cost)
def _put_f1(cost, data, i, key):
    """Write 2 and the price of the example."""
    is_old = put(key, 1, 2.0)
    return put(key, 2, cost.price[i]) and is_old


# -- levels --------------------------------------------------------------------------------------


@generic
def count_groups(cost, data):
    """Return the most groups that `group_sets` makes of the sets of any example. (Python only.)

    If the costs of label sets are not equally spaced, this is the number of label sets.
    """


@implements(count_groups, SwitchCost)
def _count_groups(cost, data):
    """Return one group per number of labels that differ."""
    return data.n_labels + 1 if has_levels(data, cost) else 2**data.n_labels


@implements(count_groups, WholeCost)
def _count_groups_whole(cost, data):
    """Return 2: the truth, and all others."""
    return 2


@implements(count_groups, F1Cost)
def _count_groups_f1(cost, data):
    """Return the largest number of pairs (true labels on, false labels on)."""
    return most_counts(data)


@generic
def group_sets(cost, data, i, room, from_empty, levels, g):
    """Fill levels[mask] for all label sets and g[level] for all levels; return how many levels."""


@implements(group_sets, SwitchCost)
def _group_sets(cost, data, i, room, from_empty, levels, g):
    """A level counts the labels that are on (from_empty), or those that are wrong."""
    if from_empty:
        all_levels(room.off, data.n_labels, levels)
    else:
        all_levels(data.labels[i], data.n_labels, levels)
    write_level_costs(data, cost, i, from_empty, data.n_labels + 1, g)
    return data.n_labels + 1


@implements(group_sets, WholeCost)
def _group_sets_whole(cost, data, i, room, from_empty, levels, g):
    """Level 0 is the truth, level 1 all others."""
    levels[:] = 1
    levels[labels_to_mask(data.labels[i], data.n_labels)] = 0
    g[0], g[1] = 0.0, cost.price[i]
    return 2


@kernel
def raise_levels(levels, size, step):
    """levels[size:2 size] = levels[:size] + step."""
    first = levels[:size]
    second = levels[size : 2 * size]
    for mask in range(size):
        second[mask] = first[mask] + step


@implements(group_sets, F1Cost)
def _group_sets_f1(cost, data, i, room, from_empty, levels, g):
    """Level a * (n_false + 1) + b has a true labels on and b false ones."""
    n_true = n_false = 0
    for j in range(data.n_labels):
        n_true += 1 if data.labels[i, j] == 1 else 0
        n_false += 1 if data.labels[i, j] == 0 else 0
    levels[0] = 0
    for j in range(data.n_labels):
        truth = data.labels[i, j]
        raise_levels(levels, 1 << j, n_false + 1 if truth == 1 else (1 if truth == 0 else 0))
    for a in range(n_true + 1):
        for b in range(n_false + 1):
            wrong = n_true - a + b
            price = cost.price[i] * wrong / (n_true + a + b) if wrong > 0 else 0.0
            g[a * (n_false + 1) + b] = price
    return (n_true + 1) * (n_false + 1)
