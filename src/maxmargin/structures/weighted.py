"""Weights of columns in the norm: structures that read rows of features scale their columns."""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse as sp

from maxmargin.core.contract import (
    ColumnWeights,
    Identity,
    implements,
    metric,
    n_weights,
    row_factors,
    scaled_columns,
    weigh_columns,
)
from maxmargin.structures.chain.data import ChainData
from maxmargin.structures.classes.data import MulticlassData
from maxmargin.structures.graph.data import AnyGraphs
from maxmargin.structures.hierarchy.data import HierarchyData
from maxmargin.structures.hierarchy.program import PathPrograms
from maxmargin.structures.labels.data import LabelData
from maxmargin.structures.labels.program import LabelPrograms
from maxmargin.structures.ranking.data import RankingData
from maxmargin.structures.user.data import UserData


@implements(weigh_columns, MulticlassData)
def _weigh_classes(data, alpha):
    """Scale the columns: w has one row of weights per feature, then the biases."""
    shape = data.n_columns + data.has_bias, data.n_labels
    factors = row_factors(alpha, data.n_columns, shape)
    return data._replace(features=scaled_columns(data.features, np.sqrt(alpha))), factors.ravel()


@implements(weigh_columns, ChainData)
def _weigh_chains(data, alpha):
    """Scale the columns: w has one row of weights per feature, then those of transitions."""
    layout = data.layout
    factors = row_factors(alpha, layout.n_columns, (layout.n_rows, layout.n_labels))
    return data._replace(features=scaled_columns(data.features, np.sqrt(alpha))), factors.ravel()


@implements(weigh_columns, HierarchyData)
def _weigh_nodes(data, alpha):
    """Scale the columns: w has one row of weights per feature, then the biases."""
    shape = data.n_columns + data.has_bias, data.n_nodes
    factors = row_factors(alpha, data.n_columns, shape)
    return data._replace(features=scaled_columns(data.features, np.sqrt(alpha))), factors.ravel()


@implements(weigh_columns, LabelData)
def _weigh_labels(data, alpha):
    """Scale the columns: w has one row of weights per feature, then biases and edges."""
    factors = _label_factors(data, alpha)
    return data._replace(features=scaled_columns(data.features, np.sqrt(alpha))), factors


@implements(weigh_columns, LabelPrograms)
def _weigh_programs(data, alpha):
    """Scale the columns of X."""
    factors = _label_factors(data, alpha)
    other = copy.copy(data)
    other.X = _scaled(data.X, alpha)
    return other, factors


@implements(weigh_columns, PathPrograms)
def _weigh_path_programs(data, alpha):
    """Scale the columns of X, and of the features that are made of it."""
    shape = data.n_columns + data.has_bias, data.n_nodes
    factors = row_factors(alpha, data.n_columns, shape)
    other = copy.copy(data)
    other.X = _scaled(data.X, alpha)
    other.features = scaled_columns(data.features, np.sqrt(alpha))
    return other, factors.ravel()


def _scaled(X, alpha):
    roots = np.sqrt(alpha)
    return X.multiply(roots).tocsr() if sp.issparse(X) else X * roots


def _label_factors(data, alpha):
    shape = data.n_columns + data.has_bias, data.n_labels
    factors = row_factors(alpha, data.n_columns, shape).ravel()
    return np.append(factors, np.ones(len(data.graph.edges)))


@implements(weigh_columns, AnyGraphs)
def _weigh_graphs(data, alpha):
    """Scale the columns of nodes: w has their weights first, one block per type of node."""
    layout = data.graphs.layout
    block = row_factors(
        alpha, layout.n_columns, (layout.n_columns + layout.has_bias, layout.n_labels)
    )
    factors = np.ones(layout.n_weights)
    factors[: layout.edge_first] = np.tile(block.ravel(), layout.n_node_types)
    nodes = scaled_columns(data.graphs.nodes, np.sqrt(alpha))
    return data._replace(graphs=data.graphs._replace(nodes=nodes)), factors


@implements(weigh_columns, RankingData)
def _weigh_documents(data, alpha):
    """Scale the columns: w has one weight per feature."""
    factors = row_factors(alpha, data.n_columns, (data.n_columns,))
    return data._replace(features=scaled_columns(data.features, np.sqrt(alpha))), factors


@implements(weigh_columns, UserData)
def _weigh_joint_features(data, alpha):
    """Give every joint feature its weight: the structure is asked at w, which stays as it is."""
    row_factors(alpha, int(n_weights(data)), (len(alpha),))  # their number is checked
    other = copy.copy(data)
    other.alpha = alpha
    return other, None


@implements(metric, UserData)
def _metric(data):
    """Return the norm of joint features that have weights of their own."""
    return Identity() if data.alpha is None else ColumnWeights(data.alpha)
