"""Sequences as graphs: edges, hyperedges, features of transitions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import chain_graph


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_neighbours_are_joined(length, order):
    graph = chain_graph(np.zeros((length, 2)), order=order)
    assert np.asarray(graph.edges).tolist() == [[t, t + 1] for t in range(length - 1)]
    expected = [tuple(range(t, t + order + 1)) for t in range(length - order)] if order > 1 else []
    assert list(graph.hyperedges) == expected


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_transitions_have_the_features_of_their_ends(make):
    x = np.arange(6.0).reshape(3, 2)
    found = chain_graph(make(x), edge_features="ends").edge_features
    assert sp.issparse(found) == sp.issparse(make(x))
    dense = found.toarray() if sp.issparse(found) else found
    assert dense.tolist() == [[0, 1, 2, 3], [2, 3, 4, 5]]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"order": 0}, ValueError, "order must be an integer > 0"),
        ({"order": 1.5}, TypeError, "order must be an integer"),
        ({"edge_features": "both"}, ValueError, "edge_features='both' is not known"),
        (
            {"edge_features": np.ones((3, 1))},
            ValueError,
            "3 rows, but a chain of 3 positions",
        ),
        ({"x": np.ones(3)}, ValueError, "x must have one row of features per position"),
    ],
)
def test_wrong_chains_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        chain_graph(**{"x": np.ones((3, 2)), **options})
