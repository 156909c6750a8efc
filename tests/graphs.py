"""Random small factor graphs, and the list of all their labellings."""

from __future__ import annotations

import itertools

import numba
import numpy as np

from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.factors import (
    AtLeastOne,
    AtMostOne,
    Cardinality,
    ExactlyOne,
    Implies,
    Potts,
    Table,
)

RULES = ("exactly_one", "at_most_one", "at_least_one", "implies", "cardinality", "potts")


def random_graph(
    rng,
    n_nodes=None,
    *,
    most_nodes=6,
    most_labels=4,
    n_factors=None,
    most_order=3,
    forbidden=0.0,
    is_whole=False,
    rules=(),
    is_forest=False,
    scale=1.0,
) -> FactorGraph:
    """Return a random factor graph; with the defaults tables only, all finite, without ties.

    Parameters
    ----------
    rng : numpy Generator
    n_nodes, n_factors : int, or None for a random number (0 included)
    most_nodes, most_labels, most_order : int
    forbidden : float
        Share of entries that are -inf.
    is_whole : bool
        Whole numbers, so that there are ties.
    rules : sequence of names out of RULES
        Besides tables.
    is_forest : bool
        The bipartite graph of nodes and factors has no cycle.
    """
    n = int(rng.integers(0, most_nodes + 1)) if n_nodes is None else n_nodes
    if n_factors is None:
        n_factors = int(rng.integers(0, 2 * n + 1))

    def draw(*shape):
        values = rng.integers(-3, 4, shape).astype(float) if is_whole else rng.normal(size=shape)
        values *= scale
        values[rng.random(shape) < forbidden] = -np.inf
        return values

    # Now and then all nodes have as many labels, as Potts factors need.
    n_labels = rng.integers(1, most_labels + 1, n)
    if rng.random() < 0.3:
        n_labels[:] = rng.integers(2, most_labels + 1)
    unary = [draw(k) for k in n_labels]
    group = np.arange(n)  # for forests: which nodes are joined
    factors = []
    for _ in range(n_factors if n else 0):
        order = int(rng.integers(1, min(most_order, n) + 1))
        nodes = rng.permutation(n)[:order]
        if is_forest:
            _, first = np.unique(group[nodes], return_index=True)
            nodes = nodes[np.sort(first)]
            group[np.isin(group, group[nodes])] = group[nodes[0]]
        sizes = n_labels[nodes]
        on = rng.integers(0, sizes)
        kind = rng.choice(["table", *rules]) if rules else "table"
        if kind == "implies" and len(nodes) != 2:
            kind = "exactly_one"
        if kind == "potts" and len(set(sizes)) > 1:
            kind = "table"
        if kind == "table":
            factors.append(Table(nodes, draw(*sizes)))
        elif kind == "cardinality":
            factors.append(Cardinality(nodes, draw(len(nodes) + 1), on))
        elif kind == "potts":
            same = draw(sizes[0])
            factors.append(Potts(nodes, same, same.min() - rng.integers(0, 2)))
        else:
            rule = {
                "exactly_one": ExactlyOne,
                "at_most_one": AtMostOne,
                "at_least_one": AtLeastOne,
                "implies": Implies,
            }[kind]
            factors.append(rule(nodes, on))
    return FactorGraph(unary, factors=factors)


def all_labellings(graph) -> np.ndarray:
    """Return all labellings of a graph, in lexicographic order."""
    sizes = graph.shape.n_labels.tolist()
    listed = list(itertools.product(*(range(size) for size in sizes)))
    return np.array(listed, dtype=np.int32).reshape(len(listed), len(sizes))


def all_scores(graph) -> np.ndarray:
    """Return the scores of all labellings of a graph, in the order of `all_labellings`."""
    return np.array([graph.score(labels) for labels in all_labellings(graph)])


def run_times(compiled, python):
    """Return how many graphs to draw: fewer where NUMBA_DISABLE_JIT lets kernels run as Python."""
    return python if numba.config.DISABLE_JIT else compiled
