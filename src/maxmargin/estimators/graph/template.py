"""One graph that all examples have: every node and edge of it has weights of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from maxmargin.inputs.stored import Arrays
from maxmargin.structures import StackedGraphs


@dataclass(frozen=True)
class Template:
    """The graph that all examples share, where weights are not shared by nodes and edges.

    Attributes
    ----------
    n_nodes : int
    edges : int64 array of shape (n_edges, 2)
    hyper_members : int64 array
    hyper_orders : int64 array of shape (n_hyperedges,)
    """

    n_nodes: int
    edges: np.ndarray
    hyper_members: np.ndarray
    hyper_orders: np.ndarray

    @classmethod
    def of(cls, stack: StackedGraphs) -> Self:
        """Return the first graph, if all others have the same nodes, edges and hyperedges."""
        n_edges = int(stack.edge_at[1])
        orders, members = _hyperedges(stack)
        n_hyper = 0 if stack.hyper_at is None else int(stack.hyper_at[1])
        n_members = int(orders[:n_hyper].sum())
        found = cls(
            int(stack.node_at[1]), stack.edges[:n_edges], members[:n_members], orders[:n_hyper]
        )
        found.check(stack)
        return found

    def check(self, stack: StackedGraphs) -> None:
        """Refuse graphs that are not this one."""
        orders, members = _hyperedges(stack)
        hyper_at = np.zeros(stack.n_graphs + 1, int) if stack.hyper_at is None else stack.hyper_at
        member_at = np.concatenate([[0], np.cumsum(orders)])[hyper_at]
        wrong: list[tuple[np.ndarray, str]] = [
            (np.diff(stack.node_at) != self.n_nodes, f"{self.n_nodes} nodes"),
            (np.diff(stack.edge_at) != len(self.edges), f"{len(self.edges)} edges"),
            (np.diff(hyper_at) != len(self.hyper_orders), f"{len(self.hyper_orders)} hyperedges"),
        ]
        for bad, what in wrong:
            if bad.any():
                raise _other(int(np.argmax(bad)), what)
        for i in range(stack.n_graphs):
            same = np.array_equal(stack.edges[stack.edge_at[i] : stack.edge_at[i + 1]], self.edges)
            own = members[member_at[i] : member_at[i + 1]]
            if not same or not np.array_equal(own, self.hyper_members):
                raise _other(i, "the same edges in the same order")

    def typed(self, stack: StackedGraphs) -> StackedGraphs:
        """Return the graphs with a type of its own for every node, edge and hyperedge."""
        self.check(stack)
        n = stack.n_graphs
        return replace(
            stack,
            node_types=np.tile(np.arange(self.n_nodes), n),
            edge_types=np.tile(np.arange(len(self.edges)), n),
            hyper_types=np.tile(np.arange(len(self.hyper_orders)), n),
        )

    def n_types(self) -> tuple[int, int, tuple[int, ...]]:
        """Return how many types of nodes and edges there are, and the orders of hyperedges."""
        return self.n_nodes, max(len(self.edges), 1), tuple(self.hyper_orders.tolist())

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return (meta, arrays) for a model file."""
        arrays = {
            "template_edges": np.asarray(self.edges, dtype=np.int64),
            "template_members": np.asarray(self.hyper_members, dtype=np.int64),
            "template_orders": np.asarray(self.hyper_orders, dtype=np.int64),
        }
        return {"template": self.n_nodes}, {k: a for k, a in arrays.items() if a.size}

    @classmethod
    def from_state(cls, n_nodes: int, arrays: Arrays) -> Self:
        """Return what `to_state` was called on; refuse what it cannot have written."""

        def take(name: str, shape: tuple[Any, ...]) -> np.ndarray:
            if name not in arrays:
                return np.zeros([size or 0 for size in shape], dtype=np.int64)
            return arrays.take(name, shape, np.int64)

        edges = take("template_edges", (None, 2)).reshape(-1, 2)
        members, orders = take("template_members", (None,)), take("template_orders", (None,))
        nodes = np.concatenate([edges.reshape(-1), members])
        if nodes.size and (nodes.min() < 0 or nodes.max() >= n_nodes):
            raise ValueError(f"an edge of its graph names a node that is not among {n_nodes}")
        if (orders < 3).any() or orders.sum() != len(members):
            raise ValueError("the hyperedges of its graph are none")
        return cls(n_nodes, edges, members, orders)


def _hyperedges(stack: StackedGraphs) -> tuple[np.ndarray, np.ndarray]:
    none = np.zeros(0, dtype=np.int64)
    orders = none if stack.hyper_orders is None else stack.hyper_orders
    return orders, none if stack.hyper_members is None else stack.hyper_members


def _other(i: int, what: str) -> ValueError:
    return ValueError(
        f"X[{i}] is not the graph of X[0], which has {what}. With shared=False all examples must "
        "have one graph."
    )
