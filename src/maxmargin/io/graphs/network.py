"""Factor graphs from graphs of networkx, and back; networkx is an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.io.graphs.tables import dense_tables

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["graph_from_networkx", "graph_to_networkx"]


def graph_from_networkx(
    network: Any, unary: str = "unary", table: str | None = "table"
) -> FactorGraph:
    """A factor graph of the nodes and edges of a graph of networkx.

    Parameters
    ----------
    network : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        Node k of the result is the k-th of ``network.nodes``.
    unary : str, default "unary"
        The attribute of nodes that holds their scores, one per label.
    table : str or None, default "table"
        The attribute of edges that holds their tables, an array of shape (labels, labels), or that
        the whole graph has in ``network.graph``, for edges without one. The rows are labels of the
        first node of an arc; in a graph without directions, of the node that comes first in
        ``network.nodes``. None: edges score nothing.

    Returns
    -------
    FactorGraph

    Examples
    --------
    >>> import networkx as nx  # doctest: +SKIP
    >>> network = nx.Graph(table=[[1.0, 0.0], [0.0, 1.0]])  # doctest: +SKIP
    >>> network.add_node("a", unary=[0.0, 2.0])  # doctest: +SKIP
    >>> network.add_node("b", unary=[1.0, 0.5])  # doctest: +SKIP
    >>> network.add_edge("a", "b")  # doctest: +SKIP
    >>> graph_from_networkx(network).score([1, 1])  # doctest: +SKIP
    3.5
    """
    from maxmargin.inference import FactorGraph

    if not hasattr(network, "nodes") or not hasattr(network, "edges"):
        raise TypeError(f"expected a graph of networkx, got {type(network).__name__}.")
    place = {node: k for k, node in enumerate(network.nodes)}
    rows = []
    for node, attributes in network.nodes(data=True):
        if unary not in attributes:
            raise ValueError(
                f"node {node!r} has no attribute {unary!r}; its attributes are {list(attributes)}."
            )
        rows.append(attributes[unary])
    edges, tables = [], []
    common = getattr(network, "graph", {}).get(table)
    for a, b, attributes in network.edges(data=True) if table is not None else ():
        found = attributes.get(table, common)
        if found is None:
            raise ValueError(
                f"edge ({a!r}, {b!r}) has no attribute {table!r}; its attributes are "
                f"{list(attributes)}."
            )
        # networkx may report an edge without direction from either end.
        is_turned = not network.is_directed() and place[a] > place[b]
        edges.append((place[b], place[a]) if is_turned else (place[a], place[b]))
        tables.append(np.asarray(found))
    return FactorGraph(rows, edges, tables or None)


def graph_to_networkx(
    graph: FactorGraph, unary: str = "unary", table: str = "table", nodes: str = "nodes"
) -> Any:
    """A graph of networkx with the scores of a factor graph as attributes.

    Parameters
    ----------
    graph : FactorGraph
    unary, table : str
        Names of the attributes, as in :func:`graph_from_networkx`.
    nodes : str, default "nodes"
        A factor of three nodes and more becomes a node ("factor", number) with this attribute,
        which holds its nodes, and with its table; edges without a table join it to them.

    Returns
    -------
    networkx.DiGraph
        Arcs have the labels of their first nodes as rows.
    """
    try:
        import networkx
    except ImportError:
        raise ImportError(
            "networkx is not installed; pip install 'maxmargin[graphs]' installs it."
        ) from None

    network = networkx.DiGraph()
    starts = graph.shape.unary_at.tolist()
    for v in range(graph.n_nodes):
        network.add_node(v, **{unary: graph.unary[starts[v] : starts[v + 1]].copy()})
    for number, (scope, values) in enumerate(dense_tables(graph, "a graph of networkx")):
        if len(scope) == 2:
            network.add_edge(*scope, **{table: values.copy()})
        else:
            network.add_node(("factor", number), **{nodes: scope, table: values.copy()})
            network.add_edges_from((("factor", number), v) for v in scope)
    return network
