"""Graphs as users give them: every form reads alike, and what is wrong is named."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import Graph
from maxmargin.inputs.graph_edges import check_forests, merged_edges
from maxmargin.inputs.graph_rows import known_part, read_graphs
from maxmargin.inputs.graphs import as_graphs

NODES = np.arange(6.0).reshape(3, 2)
EDGES = [(0, 1), (2, 1)]
FEATURES = np.array([[1.0], [2.0]])


class Views(dict):
    """Nodes, or edges, as networkx shows them: iterable, and called with data=True."""

    def __call__(self, data):
        return [(*((key,) if isinstance(key, str) else key), own) for key, own in self.items()]


class Named:
    """What is read of a graph of networkx, which need not be installed."""

    def __init__(self, nodes, edges):
        self.nodes, self.edges = Views(nodes), Views(edges)

    def is_directed(self):
        return True

    def number_of_nodes(self):
        return len(self.nodes)


def networkx_graph(**changes):
    nodes = {name: {"features": NODES[v]} for v, name in enumerate("xyz")}
    edges = {("x", "y"): {"features": FEATURES[0]}, ("z", "y"): {"features": FEATURES[1]}}
    return Named(nodes | changes.get("nodes", {}), edges | changes.get("edges", {}))


@pytest.mark.parametrize(
    "form",
    [
        (NODES, EDGES, FEATURES),
        [NODES.tolist(), np.array(EDGES, dtype=np.uint8), FEATURES],
        Graph(NODES, EDGES, FEATURES),
        networkx_graph(),
    ],
    ids=["tuple", "list", "Graph", "networkx"],
)
def test_forms_read_alike(form):
    read, kinds = read_graphs([form])
    np.testing.assert_array_equal(read.stack.nodes, NODES)
    np.testing.assert_array_equal(read.stack.edges, EDGES)
    np.testing.assert_array_equal(read.stack.edge_features, FEATURES)
    assert (kinds.n_columns, kinds.n_edge_columns) == (2, 1)


def test_attributes_that_some_nodes_lack_are_refused():
    with pytest.raises(ValueError, match=r"X\[0\]: node 'y' has no attribute 'features'"):
        read_graphs([networkx_graph(nodes={"y": {}})])
    with pytest.raises(ValueError, match=r"X\[0\]: edge \('z', 'y'\) has no attribute 'feat"):
        read_graphs([networkx_graph(edges={("z", "y"): {}})])
    with pytest.raises(ValueError, match=r"X\[0\] has no nodes"):
        read_graphs([Named({}, {})])


def test_features_may_be_sparse_and_edges_missing():
    graphs = [(sp.csr_matrix(NODES), EDGES, sp.csr_matrix(FEATURES)), (sp.csr_matrix(NODES), [])]
    read, _ = read_graphs(graphs)
    assert sp.issparse(read.stack.nodes) and sp.issparse(read.stack.edge_features)
    assert read.stack.edge_at.tolist() == [0, 2, 2]


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.coo_matrix])
def test_features_of_networkx_may_be_sparse_rows(kind):
    nodes = {name: {"features": kind(NODES[v : v + 1])} for v, name in enumerate("xyz")}
    edges = {("x", "y"): {"features": kind(FEATURES[:1])}, ("z", "y"): {"features": kind([[2]])}}
    read, kinds = read_graphs([networkx_graph(nodes=nodes, edges=edges)])
    assert sp.issparse(read.stack.nodes) and sp.issparse(read.stack.edge_features)
    np.testing.assert_array_equal(read.stack.nodes.toarray(), NODES)
    np.testing.assert_array_equal(read.stack.edge_features.toarray(), FEATURES)
    assert (kinds.n_columns, kinds.n_edge_columns) == (2, 1)


def test_sparse_vectors_of_networkx_are_rows():
    row = sp.coo_array(NODES[1])  # of one dimension
    read, _ = read_graphs([Named({"x": {"features": row}, "y": {"features": row}}, {})])
    np.testing.assert_array_equal(read.stack.nodes.toarray(), NODES[[1, 1]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([sp.csr_matrix([[1.0, 2.0]]), [1.0, 2.0]], "sparse rows and others: number 1 is a list"),
        ([sp.csr_matrix([[1.0, 2.0]]), sp.csr_matrix([[1.0]])], "number 1 has 1 entries, number 0"),
        ([sp.csr_matrix(NODES)] * 2, r"number 0 has shape \(3, 2\); expected one row"),
        ([[1.0, 2.0], [1.0]], "are not vectors of one length"),
    ],
)
def test_features_of_networkx_that_do_not_stack_are_refused(rows, message):
    nodes = {name: {"features": row} for name, row in zip("xy", rows, strict=True)}
    with pytest.raises(ValueError, match=rf"X\[0\]: the attribute 'features' of nodes.*{message}"):
        read_graphs([Named(nodes, {})])


def test_types_and_hyperedges():
    graph = Graph(
        NODES, EDGES, node_types=["a", "b", "a"], edge_types=[1, 0], hyperedges=[(2, 0, 1)]
    )
    read, kinds = read_graphs([graph])
    assert read.stack.node_types.tolist() == [0, 1, 0]
    assert read.stack.edge_types.tolist() == [1, 0]
    assert read.stack.hyper_members.tolist() == [2, 0, 1]
    assert kinds.hyper_orders == (3,)
    other = Graph(NODES, EDGES, node_types=["a", "c", "a"], edge_types=[1, 0])
    with pytest.raises(ValueError, match=r"X\[0\]: node_types\[1\] is 'c'"):
        read_graphs([other], kinds)


def test_unknown_nodes_go_with_their_edges():
    graph = Graph(NODES, EDGES, FEATURES, hyperedges=[(0, 1, 2)])
    two = Graph(NODES, [(0, 2)], np.ones((1, 1)), hyperedges=[(0, 2, 1)])
    read, _ = read_graphs([graph, two])
    stack = known_part(read.stack, np.array([False, True, True, True, True, True]))
    assert stack.node_at.tolist() == [0, 2, 5]
    assert stack.edges.tolist() == [[1, 0], [0, 2]]
    assert stack.edge_at.tolist() == [0, 1, 2]
    assert stack.edge_features.tolist() == [[2.0], [1.0]]
    assert stack.hyper_members.tolist() == [0, 2, 1]
    assert stack.hyper_at.tolist() == [0, 0, 1]


def test_repeated_edges_are_merged():
    edges = [(0, 1), (1, 2), (1, 0), (0, 1)]
    read, _ = read_graphs([(NODES, edges, np.eye(4)), (NODES, [(0, 1)], np.ones((1, 4)))])
    assert read.stack.edges.tolist() == [[0, 1], [1, 2], [1, 0], [0, 1]]
    assert read.stack.edge_at.tolist() == [0, 3, 4]
    assert read.stack.edge_features[0].tolist() == [1.0, 0.0, 0.0, 1.0]
    read, _ = read_graphs([(NODES, edges, np.eye(4))], symmetric=-1)
    assert read.stack.edges.tolist() == [[0, 1], [1, 2]]
    assert read.stack.edge_features[0].tolist() == [1.0, 0.0, -1.0, 1.0]
    assert merged_edges(read.stack, 1) is read.stack


def test_repeated_hyperedges_are_merged():
    nodes = np.arange(8.0).reshape(4, 2)
    hyperedges = [(0, 1, 2), (1, 2, 3), (2, 1, 0), (0, 1, 2)]
    graph = Graph(nodes, hyperedges=hyperedges, hyperedge_features=np.eye(4))
    other = Graph(nodes, hyperedges=hyperedges[:1], hyperedge_features=np.ones((1, 4)))
    read, _ = read_graphs([graph, other])
    stack = read.stack
    assert stack.hyper_members.reshape(-1, 3).tolist() == [*map(list, hyperedges[:3]), [0, 1, 2]]
    assert stack.hyper_at.tolist() == [0, 3, 4] and stack.hyper_orders.tolist() == [3] * 4
    assert stack.hyper_features[0].tolist() == [1.0, 0.0, 0.0, 1.0]
    stack = read_graphs([graph, other], hyper_symmetric=True)[0].stack
    assert stack.hyper_at.tolist() == [0, 2, 3]
    assert stack.hyper_features[0].tolist() == [1.0, 0.0, 1.0, 1.0]
    typed = Graph(nodes, hyperedges=[(0, 1, 2)] * 3, hyperedge_types=["a", "b", "a"])
    stack = read_graphs([typed])[0].stack
    assert stack.hyper_types.tolist() == [0, 1] and stack.hyper_features is None


def test_parallel_edges_are_a_cycle_with_a_way_out():
    edges = [(0, 1), (1, 2), (1, 0)]
    both, _ = read_graphs([(NODES, EDGES), (NODES, edges)])
    match = r"X\[1\]: 2 edges join the nodes 0 and 1, one in each direction.*pairs='symmetric'"
    with pytest.raises(ValueError, match=match):
        check_forests(both.stack)
    check_forests(read_graphs([(NODES, edges)], symmetric=1)[0].stack)
    typed, _ = read_graphs([Graph(NODES, [(0, 1), (0, 1)], edge_types=["a", "b"])])
    match = r"X\[0\]: 2 edges join the nodes 0 and 1, of different types.*Make them one edge"
    with pytest.raises(ValueError, match=match):
        check_forests(typed.stack)


def test_a_cycle_is_named():
    read, _ = read_graphs([(NODES, EDGES), (NODES, [(2, 0), (0, 1), (1, 2)])])
    with pytest.raises(ValueError, match=r"X\[1\] has a cycle: the nodes 0 - 1 - 2 - 0\."):
        check_forests(read.stack)
    hyper, _ = read_graphs([Graph(NODES, hyperedges=[(0, 1, 2)])])
    with pytest.raises(ValueError, match=r"X\[0\] has hyperedges"):
        check_forests(hyper.stack)


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "X holds no graph"),
        ([(NODES, [(0, 3)])], r"X\[0\]: edges\[0\] is \(0, 3\); expected nodes from 0 to 2"),
        ([(NODES, EDGES), (NODES, [(1, 1)])], r"X\[1\]: edges\[0\] joins node 1 to itself"),
        ([(NODES, [0, 1])], r"X\[0\]: edges must have the shape \(n_edges, 2\)"),
        ([(NODES[:0], [])], r"X\[0\] has no nodes"),
        ([(NODES, EDGES), (NODES[:, :1], [])], r"X\[1\]: nodes has 1 columns but X\[0\] has 2"),
        (
            [(NODES, EDGES, FEATURES[:1])],
            r"X\[0\]: edge_features has 1 rows, but there are 2 edges",
        ),
        ([(NODES, EDGES, FEATURES), (NODES, EDGES)], r"X\[1\] has no edge_features, but X\[0\]"),
        ([(NODES * np.nan, EDGES)], r"node 0 of X\[0\]"),
        ([(NODES, EDGES, FEATURES * np.inf)], r"edge 0 of X\[0\]"),
        ([Graph(NODES, hyperedges=[(0, 1)])], r"hyperedges\[0\] joins 2 nodes; expected three"),
        ([Graph(NODES, hyperedges=[(0, 1, 1)])], r"hyperedges\[0\] is \[0, 1, 1\], which names"),
        (
            [(NODES, np.array([[0, 2**63 + 1]], dtype=np.uint64))],
            r"edges\[0\] is \(0, 9223372036854775809\); expected nodes from 0 to 2",
        ),
        ([Graph(NODES, hyperedges=[(0, 1, 7)])], r"hyperedges\[0\] is \[0, 1, 7\]; expected nodes"),
        ([Graph(NODES, node_weights=[1, 2])], r"node_weights has the shape \(2,\)"),
        ([Graph(NODES, node_weights=[1, 2, -1])], r"node_weights\[2\] must be finite and >= 0"),
        ([Graph(NODES, node_types="ab")], r"node_types has 2 entries; expected 3"),
        (
            [Graph(NODES, node_types="abc"), Graph(NODES)],
            r"X\[1\] has no node_types, but X\[0\] has them",
        ),
    ],
)
def test_what_is_wrong_is_named(graphs, message):
    with pytest.raises(ValueError, match=message):
        read_graphs(graphs)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (Graph(NODES), "Wrap a single one in a list"),
        (NODES, "X must be a list of graphs, got ndarray"),
        ([NODES], r"X\[0\] is a ndarray; expected \(node_features, edges\)"),
        ([(NODES,)], r"X\[0\] is a tuple of 1"),
    ],
)
def test_what_is_no_graph_is_refused(X, message):
    with pytest.raises(TypeError, match=message):
        as_graphs(X)


def test_edges_must_be_whole_numbers():
    with pytest.raises(TypeError, match=r"X\[0\]: edges must hold whole numbers"):
        read_graphs([(NODES, [(0.0, 1.0)])])


@pytest.mark.parametrize(
    "hyperedge", [(0.5, 1, 2), "012", (0.0, 1, np.inf), np.array([0.0, np.nan, 2.0]), 7, None]
)
def test_hyperedges_must_be_whole_numbers(hyperedge):
    with pytest.raises(TypeError, match=r"X\[0\]: hyperedges\[1\] must hold whole numbers"):
        read_graphs([Graph(NODES, hyperedges=[(0, 1, 2), hyperedge])])


def test_whole_numbers_of_hyperedges_may_be_floats():
    for hyperedges in (np.array([[0.0, 1.0, 2.0]]), [(np.float32(0.0), 1, 2.0)]):
        stack = read_graphs([Graph(NODES, hyperedges=hyperedges)])[0].stack
        assert stack.hyper_members.tolist() == [0, 1, 2]


def test_no_hyperedges_may_be_none():
    graph = Graph(NODES, EDGES, hyperedges=None)
    assert repr(graph) == "Graph(3 nodes, 2 edges)"
    read, kinds = read_graphs([graph])
    assert read.stack.hyper_at.tolist() == [0, 0] and kinds.hyper_orders == ()
    with pytest.raises(TypeError, match=r"X\[0\]: hyperedges must be a list of hyperedges, got 3"):
        read_graphs([Graph(NODES, hyperedges=3)])


def test_a_model_without_edge_features_takes_none():
    _, kinds = read_graphs([(NODES, EDGES)])
    with pytest.raises(ValueError, match=r"X\[0\] has edge_features, but the model was fitted"):
        read_graphs([(NODES, EDGES, FEATURES)], kinds)
    _, kinds = read_graphs([(NODES, EDGES, FEATURES)])
    with pytest.raises(ValueError, match=r"X\[0\] has no edge_features, but the model was fitted"):
        read_graphs([(NODES, EDGES)], kinds)
    with pytest.raises(ValueError, match=r"X\[0\]: edge_features has 2 columns but expected 1"):
        read_graphs([(NODES, EDGES, np.ones((2, 2)))], kinds)
