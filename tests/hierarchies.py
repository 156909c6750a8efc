"""Random hierarchies for tests."""

from __future__ import annotations

import numpy as np

from maxmargin.inference.hierarchy.shape import hierarchy_shape


def random_shape(rng, most_nodes=7, is_dag=False):
    """Return a forest or a DAG of 1 to most_nodes nodes: single nodes and several roots as well."""
    n_nodes = int(rng.integers(1, most_nodes + 1))
    child, parent = [], []
    for n in range(n_nodes):
        n_parents = rng.integers(3) if is_dag else int(rng.random() < 0.75)
        for above in rng.permutation(n)[:n_parents]:
            child.append(n)
            parent.append(above)
    return hierarchy_shape(n_nodes, child, parent)


def random_scores(rng, n_nodes):
    """Return normal scores, or whole numbers (ties), sometimes with nodes that are kept out."""
    if rng.random() < 0.4:
        scores = rng.integers(-2, 3, size=n_nodes).astype(float)
    else:
        scores = rng.normal(size=n_nodes) * rng.choice([0.1, 1.0, 10.0])
    if rng.random() < 0.3:
        scores[rng.random(n_nodes) < 0.2] = -np.inf
    return scores


def values(sets, scores):
    """Return the scores of sets of nodes, rows of zeros and ones."""
    return np.where(sets == 1, scores, 0.0).sum(axis=1)
