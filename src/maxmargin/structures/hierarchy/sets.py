"""Sets of nodes of a hierarchy: what all ways of inference share.

An output is kept as what it differs by from the true set, in int32 cells:

    count, cell_1, ..., cell_count

A cell n >= 0 says that node n is in the output but not in the truth, and -1 - n that it is in the
truth but not in the output; nodes rise. Near the optimum an output differs from the truth in few
nodes, so most outputs are short. The true output is the one cell 0.
"""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    PricedHierarchy,
    TrueParts,
    add_columns,
    add_difference,
    add_parts,
    are_outputs,
    difference_potentials,
    implements,
    margin_error,
    output_length,
    output_size,
    output_sizes,
    parts,
    potentials,
    row_product,
    score_lengths,
    true_parts,
    truth_sizes,
    truths,
)
from maxmargin.features.rows import row_lengths
from maxmargin.structures.hierarchy.data import (
    NodeSets,
    add_node,
    is_allowed,
    leaves,
    parent_lists,
    score_nodes,
)


class NodePotentials(NamedTuple):
    """Scores of the nodes of one example; as mu, how much of each is in an output."""

    nodes: Any  # (1, n_nodes)


@jitable
def node_of(cell):
    """Return the node of a cell."""
    return cell if cell >= 0 else -1 - cell


@jitable
def write_difference(data, i, y, outputs, at):
    """Write the set y, flags of all nodes, as an output of example i."""
    count = 0
    place, end = data.node_at[i], data.node_at[i + 1]
    for n in range(data.n_nodes):
        is_true = place < end and data.nodes[place] == n
        if is_true:
            place += 1
        if y[n] == 1 and not is_true:
            count += 1
            outputs[at + count] = n
        elif y[n] == 0 and is_true:
            count += 1
            outputs[at + count] = -1 - n
    outputs[at] = count


def read_set(data: Any, i: int, outputs: np.ndarray, at: int) -> np.ndarray:
    """Return the flags of all nodes of an output. (Python only.)"""
    y = np.zeros(data.n_nodes, dtype=np.int8)
    y[data.nodes[data.node_at[i] : data.node_at[i + 1]]] = 1
    cells = outputs[at + 1 : at + 1 + int(outputs[at])]
    y[cells[cells >= 0]] = 1
    y[-1 - cells[cells < 0]] = 0
    return y


@implements(output_sizes, NodeSets)
def _output_sizes(data):
    """Return the cells of an output that differs in all nodes."""
    return np.full(len(data.node_at) - 1, data.n_nodes + 1, dtype=np.int64)


@implements(output_size, NodeSets)
def _output_size(data, i):
    """Return the cells of an output that differs in all nodes."""
    return data.n_nodes + 1


@implements(output_length, NodeSets)
def _output_length(data, i, outputs, at):
    """Return the cells of this output."""
    return 1 + outputs[at]


@implements(truths, NodeSets)
def _truths(data):
    """Return the true outputs, which differ in nothing."""
    return np.zeros(data.node_at.shape[0] - 1, dtype=np.int32)


@implements(truth_sizes, NodeSets)
def _truth_sizes(data):
    """Return one cell per example."""
    return np.ones(data.node_at.shape[0] - 1, dtype=np.int64)


@implements(true_parts, NodeSets)
def node_states(data: Any) -> TrueParts:
    """Return which nodes are in the true sets, for costs that price nodes."""
    n_examples = len(data.node_at) - 1
    states = np.zeros((n_examples, data.n_nodes), dtype=np.int8)
    states[np.repeat(np.arange(n_examples), np.diff(data.node_at)), data.nodes] = 1
    none = np.zeros(0, dtype=np.int32)
    return TrueParts(
        "nodes",
        np.full(n_examples, data.n_nodes, dtype=np.int64),
        states.reshape(-1),
        hierarchy=PricedHierarchy(data.alpha, leaves(data), none, none, *parent_lists(data)),
    )


@implements(are_outputs, NodeSets)
def _are_sets(
    data: Any, examples: np.ndarray, cells: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Tell which cells are differences from the true set that lead to a set of the space."""
    answers = np.zeros(len(examples), dtype=bool)
    ends = np.cumsum(lengths)
    for k, i in enumerate(examples):
        own = cells[ends[k] - lengths[k] : ends[k]]
        if len(own) == 0 or own[0] != len(own) - 1:
            continue
        nodes = np.where(own[1:] >= 0, own[1:], -1 - own[1:])
        if (np.diff(nodes) <= 0).any() or (nodes >= data.n_nodes).any():
            continue
        truth = data.nodes[data.node_at[i] : data.node_at[i + 1]]
        if (np.isin(nodes, truth) == (own[1:] < 0)).all():
            answers[k] = len(nodes) == 0 or is_allowed(data, read_set(data, i, own, 0))
    return answers


@implements(score_lengths, NodeSets)
def bound_scores(data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Bound phi by its nodes: each adds the row of the example and a bias."""
    lengths, terms = row_lengths(data.features)
    root = max(data.missed, 1.0) * np.sqrt(data.alpha.sum())  # in the norm of the data
    return root * (lengths + data.has_bias), terms + 1.0 + data.n_nodes


@implements(potentials, NodeSets)
def _potentials(data, i, w, scale, theta):
    """Score every node; those of the true set count more often where `missed` is not 1."""
    score_nodes(data, i, w, scale, theta.nodes)
    if data.missed != 1.0:
        for place in range(data.node_at[i], data.node_at[i + 1]):
            theta.nodes[0, data.nodes[place]] *= data.missed


@implements(difference_potentials, NodeSets)
def _difference_potentials(data, i, outputs, at, spare, theta):
    """Score nodes at Psi_i(y): |x|^2 alpha_n, plus where the truth alone has n, else minus."""
    square = row_product(data.features, i, i) + data.has_bias
    missed = square * data.missed * data.missed
    for n in range(data.n_nodes):
        theta.nodes[0, n] = 0.0
    for place in range(at + 1, at + 1 + outputs[at]):
        cell = outputs[place]
        n = node_of(cell)
        theta.nodes[0, n] = -square * data.alpha[n] if cell >= 0 else missed * data.alpha[n]


@implements(parts, NodeSets)
def _parts(data, i, outputs, at, scale, mu):
    """Add the nodes of the true set, then what the output differs by."""
    for place in range(data.node_at[i], data.node_at[i + 1]):
        mu.nodes[0, data.nodes[place]] += scale
    for place in range(at + 1, at + 1 + outputs[at]):
        cell = outputs[place]
        mu.nodes[0, node_of(cell)] += scale if cell >= 0 else -scale


@implements(add_parts, NodeSets)
def _add_parts(data, i, mu, scale, w):
    """Add the features of every node, times its share in mu."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_nodes))
    for n in range(data.n_nodes):
        if mu.nodes[0, n] != 0.0:
            add_node(data, i, n, scale * mu.nodes[0, n], W)
    if data.missed != 1.0:
        for place in range(data.node_at[i], data.node_at[i + 1]):
            n = data.nodes[place]
            add_node(data, i, n, (data.missed - 1.0) * scale * mu.nodes[0, n], W)


@implements(margin_error, NodeSets)
def _margin_error(data, i, theta, outputs, at):
    """Return the scores of nodes that the output alone has, less those that the truth alone has."""
    error = 0.0
    for place in range(at + 1, at + 1 + outputs[at]):
        cell = outputs[place]
        error += theta.nodes[0, cell] if cell >= 0 else -theta.nodes[0, -1 - cell]
    return error


@implements(add_difference, NodeSets)
def _add_difference(data, i, outputs, at, scale, w):
    """Add the features of nodes that the truth alone has; subtract those of the output alone."""
    W = w.reshape((data.n_columns + data.has_bias, data.n_nodes))
    add_columns(data.features, i, outputs, at + 1, outputs[at], -scale, data.alpha, W)
    if data.has_bias:
        for place in range(at + 1, at + 1 + outputs[at]):
            cell = outputs[place]
            n = node_of(cell)
            W[data.n_columns, n] += (-scale if cell >= 0 else scale) * data.alpha[n]
    if data.missed != 1.0:
        for place in range(at + 1, at + 1 + outputs[at]):
            if outputs[place] < 0:
                add_node(data, i, node_of(outputs[place]), (data.missed - 1.0) * scale, W)
