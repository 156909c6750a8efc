"""Structures whose outputs can be listed: they are few, with orthogonal features of one length.

A solver that needs "listed" also calls these functions. Output k is one cell, the number k, with
k < n_listed.
"""

from __future__ import annotations

from maxmargin.core.dispatch import generic, generic_on_two


@generic
def n_listed(data):
    """Return how many outputs each example has. (Python only.)"""


@generic
def listed_norms(data):
    """Return |phi(x_i, y)|^2 of each example, which is the same for every y. (Python only.)"""


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
