"""Structures whose outputs can be listed: they are few, with known inner products of features.

A solver that needs "listed" also calls these functions. Output k is one cell, the number k, with
k < n_listed. With N_i of `listed_norms` and G of `listed_gram`,

    <phi(x_i, k), phi(x_i, l)> = N_i G[k, l],

where features are those that `add_listed` adds, and the product is that of the metric of the data.
If there is no `listed_gram`, G is the identity: features are orthogonal and equally long.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin.core.dispatch import generic, generic_on_two, generic_with_default


class ListedGram(NamedTuple):
    """The matrix G of listed outputs, as a table or by the parts that outputs are made of.

    Without a table, G[k, l] is the sum of ``weight`` over the parts of both k and l; the parts of k
    are parts[at[k] : at[k + 1]], in increasing order.
    """

    table: Any  # (n_listed, n_listed), or (0, 0) if that would be too large
    at: Any  # (n_listed + 1,) int64
    parts: Any  # int32
    weight: Any  # (n_parts,)


@generic
def n_listed(data):
    """Return how many outputs each example has. (Python only.)"""


@generic
def listed_norms(data):
    """Return N_i of each example; without a `listed_gram` it is |phi(x_i, y)|^2. (Python only.)"""


@generic_with_default
def listed_gram(data):
    """Return G as a `ListedGram`, at the present metric; None if it is 1. (Python only.)"""
    return None


@generic_on_two
def list_values(data, cost, i, theta, values, costs):
    """values[k] = h + g and costs[k] = g of every output k of example i."""


@generic
def few_scores(data, i, outputs, n_few, w, scores):
    """scores[a] = w . phi(x_i, k) for the outputs k = outputs[i, a], a < n_few."""


@generic
def add_few(data, i, outputs, n_few, mass, scale, w):
    """w += scale * sum_a mass[a] phi(x_i, outputs[i, a])."""


@generic
def add_listed(data, i, mass, scale, w):
    """w += scale * sum_k mass[k] phi(x_i, k)."""
