"""Graphs: the parts of a labelling, and the joint features that follow from them."""

# ruff: noqa: ANN201 - numba compares the signatures of overloads, annotations included

from __future__ import annotations

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_difference,
    add_differences,
    add_parts,
    add_row,
    clear_difference,
    clear_row,
    implements,
    margin_error,
    parts,
)
from maxmargin.structures.graph.data import AnyGraphs, GeneralGraphs, IntegralGraphs
from maxmargin.structures.graph.potentials import edge_weights, hyper_weights, node_weights


@jitable
def cell_of(graphs, i, factor, labels, at):
    """Return the cell of the table of a factor of graph i that a labelling at (labels, at) uses."""
    shapes = graphs.shapes
    first = shapes.factor_at[i] + i
    slots = shapes.slot_from[i]
    cell = 0
    for s in range(shapes.member_at[first + factor], shapes.member_at[first + factor + 1]):
        cell = cell * graphs.layout.n_labels + labels[at + shapes.members[slots + s]]
    return cell


@jitable
def add_node(graphs, node, label, scale, w):
    """Add the features of a node to the weights of a label."""
    W = node_weights(graphs, node, w).W
    if graphs.layout.n_columns > 0:
        add_row(graphs.nodes, node, label, scale, W)
    if graphs.layout.has_bias:
        W[graphs.layout.n_columns, label] += scale


@jitable
def add_cell(graphs, i, factor, cell, scale, w):
    """Add the features of an edge or hyperedge to the weights of a cell of its table."""
    layout = graphs.layout
    n_edges = graphs.edge_at[i + 1] - graphs.edge_at[i]
    if factor < n_edges:
        edge = graphs.edge_at[i] + factor
        mass, column = scale * graphs.pair.sign[cell], graphs.pair.column[cell]
        if mass != 0.0:
            W = edge_weights(graphs, edge, w).W
            if layout.n_edge_columns > 0:
                add_row(graphs.edges, edge, column, mass, W)
            if layout.has_edge_bias:
                W[layout.n_edge_columns, column] += mass
    else:
        hyper = graphs.hyper_at[i] + factor - n_edges
        place = graphs.hyper_cells_at[graphs.hyper_type[hyper]] + cell
        mass, column = scale * graphs.hyper_cells.sign[place], graphs.hyper_cells.column[place]
        if mass != 0.0:
            W = hyper_weights(graphs, hyper, w).W
            if layout.n_hyper_columns > 0:
                add_row(graphs.hyper, hyper, column, mass, W)
            if layout.has_hyper_bias:
                W[layout.n_hyper_columns, column] += mass


@jitable
def _clear_node(graphs, node, label, w):
    W = node_weights(graphs, node, w).W
    if graphs.layout.n_columns > 0:
        clear_row(graphs.nodes, node, label, W)
    if graphs.layout.has_bias:
        W[graphs.layout.n_columns, label] = 0.0


@jitable
def _clear_cell(graphs, i, factor, cell, w):
    layout = graphs.layout
    n_edges = graphs.edge_at[i + 1] - graphs.edge_at[i]
    if factor < n_edges:
        edge = graphs.edge_at[i] + factor
        column = graphs.pair.column[cell]
        if graphs.pair.sign[cell] != 0.0:
            W = edge_weights(graphs, edge, w).W
            if layout.n_edge_columns > 0:
                clear_row(graphs.edges, edge, column, W)
            if layout.has_edge_bias:
                W[layout.n_edge_columns, column] = 0.0
    else:
        hyper = graphs.hyper_at[i] + factor - n_edges
        place = graphs.hyper_cells_at[graphs.hyper_type[hyper]] + cell
        column = graphs.hyper_cells.column[place]
        if graphs.hyper_cells.sign[place] != 0.0:
            W = hyper_weights(graphs, hyper, w).W
            if layout.n_hyper_columns > 0:
                clear_row(graphs.hyper, hyper, column, W)
            if layout.has_hyper_bias:
                W[layout.n_hyper_columns, column] = 0.0


@implements(parts, IntegralGraphs)
@jitable
def labelling_parts(data, i, outputs, at, scale, mu):
    """Add the label of every node, and the cell of every factor."""
    graphs = data.graphs
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    for v in range(shapes.node_at[i + 1] - shapes.node_at[i]):
        mu.unary[v * n_labels + outputs[at + v]] += scale
    for f in range(shapes.factor_at[i + 1] - shapes.factor_at[i]):
        place = shapes.table_at[shapes.factor_at[i] + f]
        mu.tables[place + cell_of(graphs, i, f, outputs, at)] += scale


@implements(add_parts, AnyGraphs)
def _add_parts(data, i, mu, scale, w):
    """Add the features of nodes and factors to the weights of their labels, times mu."""
    graphs = data.graphs
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    first = shapes.node_at[i]
    for v in range(shapes.node_at[i + 1] - first):
        for k in range(n_labels):
            mass = mu.unary[v * n_labels + k]
            if mass != 0.0:
                add_node(graphs, first + v, k, scale * mass, w)
    n_factors = shapes.factor_at[i + 1] - shapes.factor_at[i]
    for f in range(n_factors):
        begin = shapes.table_at[shapes.factor_at[i] + f]
        end = shapes.n_cells[i]
        if f + 1 < n_factors:
            end = shapes.table_at[shapes.factor_at[i] + f + 1]
        for cell in range(end - begin):
            mass = mu.tables[begin + cell]
            if mass != 0.0:
                add_cell(graphs, i, f, cell, scale * mass, w)


@implements(margin_error, IntegralGraphs)
@jitable
def labelling_error(data, i, theta, outputs, at):
    """Return the score of the labelling less that of the true one."""
    graphs = data.graphs
    shapes, n_labels = graphs.shapes, graphs.layout.n_labels
    first = shapes.node_at[i]
    error = 0.0
    for v in range(shapes.node_at[i + 1] - first):
        label, truth = outputs[at + v], graphs.labels[first + v]
        if label != truth:
            error += theta.unary[v * n_labels + label] - theta.unary[v * n_labels + truth]
    for f in range(shapes.factor_at[i + 1] - shapes.factor_at[i]):
        found = cell_of(graphs, i, f, outputs, at)
        true = cell_of(graphs, i, f, graphs.labels, first)
        if found != true:
            place = shapes.table_at[shapes.factor_at[i] + f]
            error += theta.tables[place + found] - theta.tables[place + true]
    return error


@implements(add_difference, IntegralGraphs)
def _add_difference(data, i, outputs, at, scale, w):
    """Add the features of the true labels and cells; subtract those of the output."""
    graphs = data.graphs
    shapes = graphs.shapes
    first = shapes.node_at[i]
    for v in range(shapes.node_at[i + 1] - first):
        label, truth = outputs[at + v], graphs.labels[first + v]
        if label != truth:
            add_node(graphs, first + v, truth, scale, w)
            add_node(graphs, first + v, label, -scale, w)
    for f in range(shapes.factor_at[i + 1] - shapes.factor_at[i]):
        found = cell_of(graphs, i, f, outputs, at)
        true = cell_of(graphs, i, f, graphs.labels, first)
        if found != true:
            add_cell(graphs, i, f, true, scale, w)
            add_cell(graphs, i, f, found, -scale, w)


#: A sum of masses below this share of their sizes is the rounding of masses that cancel.
_CANCELLED = 1e-15


@implements(add_differences, GeneralGraphs)
def _add_differences(data, i, outputs, places, scales, n_outputs, w):
    """Add up what each label and each cell gets, and add its features once.

    A step moves mass between labellings that are mostly alike: what they share cancels.
    """
    graphs = data.graphs
    shapes = graphs.shapes
    first = shapes.node_at[i]
    least = 0.0
    for k in range(n_outputs):
        least += _CANCELLED * abs(scales[k])
    for v in range(shapes.node_at[i + 1] - first):
        truth, total = graphs.labels[first + v], 0.0
        for k in range(n_outputs):
            label = outputs[places[k] + v]
            if label == truth:
                continue
            total += scales[k]
            mass = 0.0
            for other in range(n_outputs):
                if outputs[places[other] + v] == label:
                    if other < k:  # this label has been dealt with
                        mass = 0.0
                        break
                    mass += scales[other]
            if abs(mass) > least:
                add_node(graphs, first + v, label, -mass, w)
        if abs(total) > least:
            add_node(graphs, first + v, truth, total, w)
    for f in range(shapes.factor_at[i + 1] - shapes.factor_at[i]):
        true, total = cell_of(graphs, i, f, graphs.labels, first), 0.0
        for k in range(n_outputs):
            cell = cell_of(graphs, i, f, outputs, places[k])
            if cell == true:
                continue
            total += scales[k]
            mass = 0.0
            for other in range(n_outputs):
                if cell_of(graphs, i, f, outputs, places[other]) == cell:
                    if other < k:
                        mass = 0.0
                        break
                    mass += scales[other]
            if abs(mass) > least:
                add_cell(graphs, i, f, cell, -mass, w)
        if abs(total) > least:
            add_cell(graphs, i, f, true, total, w)


@implements(clear_difference, IntegralGraphs)
def _clear_difference(data, i, outputs, at, w):
    """Clear the weights of labels and cells in which output and truth differ."""
    graphs = data.graphs
    shapes = graphs.shapes
    first = shapes.node_at[i]
    for v in range(shapes.node_at[i + 1] - first):
        label, truth = outputs[at + v], graphs.labels[first + v]
        if label != truth:
            _clear_node(graphs, first + v, truth, w)
            _clear_node(graphs, first + v, label, w)
    for f in range(shapes.factor_at[i + 1] - shapes.factor_at[i]):
        found = cell_of(graphs, i, f, outputs, at)
        true = cell_of(graphs, i, f, graphs.labels, first)
        if found != true:
            _clear_cell(graphs, i, f, true, w)
            _clear_cell(graphs, i, f, found, w)
