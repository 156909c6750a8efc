"""Graphs for torch layers: scores of labels at nodes, and tables of pairs of labels at edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.deep.structures.base import (
    Encoded,
    LayerStructure,
    Slot,
    check_count,
    check_lengths,
    check_range,
    check_shape,
    check_truths,
    unit_rows,
)
from maxmargin.inference import FactorGraph, graph_marginals, k_best_graph
from maxmargin.structures import (
    StackedGraphs,
    forest_data,
    general_data,
    relaxed_data,
    stacked_graphs,
)
from maxmargin.structures.graph.forest import are_forests

INFERENCES = ("auto", "forest", "general", "relaxed")

#: How many batches' shapes are remembered: finding the order of a graph takes longer than a loss.
MOST_KNOWN = 16


class Graphs(LayerStructure):
    """One label per node of a graph, or of a tree.

    Potentials: ``unary`` of shape (B, N, n_labels), and ``tables``, of shape (n_labels, n_labels)
    if all edges of all graphs share one table, or (B, E, n_labels, n_labels). The table of edge
    (a, b) has the labels of a as rows. Truths: (B, N). ``lengths``, of shape (B,), says how many
    nodes each graph has.

    Parameters
    ----------
    n_labels : int
    edges : array-like of int of shape (E, 2), or None
        The edges of all graphs, such as those of a grid. None: each batch comes with its own,
        ``edges=``, a list with one array-like per graph; tables are then padded to the graph with
        the most edges.
    inference : {"auto", "forest", "general", "relaxed"}
        "forest" is exact, for graphs without cycles. "general" passes messages, then branches: it
        knows a bound (`StructuredLoss.evaluate`). "relaxed" takes the loss of the linear
        relaxation. "auto" takes "forest" where no graph has a cycle, else "general".
    precision : float >= 0
        For graphs with cycles: the part of a loss that may be left open between what is found and
        the bound.

    Examples
    --------
    >>> import torch
    >>> from maxmargin.deep import Graphs, StructuredLoss
    >>> loss = StructuredLoss(Graphs(2, edges=[(0, 1), (1, 2), (2, 0)]), "hamming")
    >>> unary, same = torch.tensor([[[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]]]), torch.eye(2)
    >>> loss.decode((unary, same))
    tensor([[0, 0, 0]])
    >>> found = loss.evaluate((unary, same), torch.tensor([[0, 1, 1]]))
    >>> found.values, found.bounds
    (tensor([3.5000], dtype=torch.float64), tensor([3.5000], dtype=torch.float64))
    """

    names = ("unary", "tables")
    kind = "vertices"

    def __init__(
        self, n_labels: int, edges: Any = None, inference: str = "auto", precision: float = 0.0
    ) -> None:
        self.n_labels = check_count("n_labels", n_labels)
        if inference not in INFERENCES:
            raise ValueError(
                f"inference must be one of {', '.join(INFERENCES)}; got {inference!r}."
            )
        if not 0.0 <= float(precision) < np.inf:
            raise ValueError(f"precision must be a number >= 0, got {precision!r}.")
        self.inference, self.precision = inference, float(precision)
        self.edges = None if edges is None else _edges("edges", edges)
        self._known: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"Graphs({self.n_labels}, {self.inference!r})"

    @property
    def classes(self) -> Sequence[int]:
        """The numbers of the labels."""
        return range(self.n_labels)

    def is_shared(self, name: str, array: np.ndarray) -> bool:
        """Tell whether potentials are a table that all edges share."""
        return name == "tables" and array.ndim == 2

    def beside(self, encoded: Encoded, edges: Any, cost: Any) -> list[np.ndarray]:
        """Return the edges of each graph."""
        return self.own_edges(edges, encoded.n_examples)

    def own_edges(self, edges: Any, n: int) -> list[np.ndarray]:
        """Return the edges of each graph of a batch."""
        if (edges is None) == (self.edges is None):
            raise ValueError(
                "edges must be given once: either to Graphs(...), for all graphs, or with a batch."
            )
        if self.edges is not None:
            return [self.edges] * n
        if len(edges) != n:
            raise ValueError(f"edges must have one list per graph, {n}; got {len(edges)}.")
        return [_edges(f"edges[{i}]", own) for i, own in enumerate(edges)]

    def encode(
        self,
        shapes: dict[str, tuple[int, ...]],
        truths: np.ndarray | None,
        lengths: np.ndarray | None,
        edges: Any = None,
        relaxed: bool = True,
    ) -> Encoded:
        """Return a batch: the nodes and edges of all graphs stacked, without the padding."""
        K = self.n_labels
        check_shape("unary", shapes["unary"], ("B", "N", K))
        n, most = shapes["unary"][:2]
        sizes = check_lengths(lengths, n, most)
        own = self.own_edges(edges, n)
        counts = np.array([len(each) for each in own], dtype=np.int64)
        tables = shapes.get("tables")
        if tables is None and counts.any():
            raise ValueError("tables must be given where there are edges.")
        is_shared = tables is not None and len(tables) == 2
        if tables is not None and is_shared:
            check_shape("tables", tables, (K, K))
        elif tables is not None:
            check_shape("tables", tables, (n, "E", K, K))
            if counts.max(initial=0) > tables[1]:
                i = int(np.argmax(counts))
                raise ValueError(f"graph {i} has {counts[i]} edges, but tables {tables[1]} places.")
        is_node = np.arange(most) < sizes[:, None]
        rows, kept = np.flatnonzero(is_node), np.flatnonzero(sizes)
        empty = np.flatnonzero((sizes == 0) & (counts > 0))
        if len(empty):
            raise ValueError(f"graph {empty[0]} has edges but no nodes.")
        labels = np.zeros(len(rows), dtype=np.int32)
        if truths is not None:
            given = check_truths(truths, (n, most))
            check_range(given, is_node, 0, K - 1)
            labels = given.reshape(-1)[rows].astype(np.int32)
        slots = {"unary": Slot(rows if len(rows) < n * most else None, 0, K)}
        if is_shared:
            slots["tables"] = Slot(None, len(rows) * K, K * K)
        elif tables is not None:
            is_edge = np.arange(tables[1]) < counts[:, None]
            slots["tables"] = Slot(np.flatnonzero(is_edge), len(rows) * K, K * K)
        data = None
        if len(kept):
            chosen = [own[i] for i in kept]
            data = self._data(sizes[kept], chosen, is_shared, relaxed, labels)
        return Encoded(data, slots, kept, n, len(rows))

    def _data(
        self,
        sizes: np.ndarray,
        edges: list[np.ndarray],
        is_shared: bool,
        relaxed: bool,
        labels: np.ndarray,
    ) -> Any:
        """Return graphs with these labels; the shapes of the last batches are remembered."""
        key = (sizes.tobytes(), *(each.tobytes() for each in edges), is_shared, relaxed)
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
            n_edges = [len(each) for each in edges]
            stack = StackedGraphs(
                unit_rows(int(sizes.sum())),
                np.concatenate([[0], np.cumsum(sizes)]),
                np.concatenate([np.zeros((0, 2), dtype=np.int64), *edges]),
                np.concatenate([[0], np.cumsum(n_edges)]),
                None if is_shared else unit_rows(sum(n_edges)),
            )
            graphs = stacked_graphs(
                stack, np.zeros(len(labels)), self.n_labels, bias=False, edge_bias=is_shared
            )
            self._known[key] = self._inferred(graphs, relaxed)
        data = self._known[key]
        labels.flags.writeable = False
        data = data._replace(graphs=data.graphs._replace(labels=labels))
        if "memory" in data._fields:  # each batch has messages of its own
            memory = data.memory
            fresh = [np.zeros_like(memory[k]) for k in range(4)]
            data = data._replace(memory=type(memory)(*fresh, *memory[4:]))
        return data

    def _inferred(self, graphs: Any, relaxed: bool) -> Any:
        """Return the data of the way of inference."""
        if self.inference == "forest" or (self.inference == "auto" and are_forests(graphs)):
            return forest_data(graphs)
        if self.inference == "relaxed" and relaxed:
            return relaxed_data(graphs, self.precision)
        return general_data(graphs, self.precision)

    def outputs(
        self, encoded: Encoded, shapes: dict[str, tuple[int, ...]], cells: list[np.ndarray]
    ) -> np.ndarray:
        """Return the labellings, padded by -1."""
        found = np.full(shapes["unary"][:2], -1, dtype=np.int64)
        for i, own in zip(encoded.kept, cells, strict=True):
            found[i, : len(own)] = own
        return found

    def own_potentials(
        self, arrays: dict[str, np.ndarray], i: int, length: int | None
    ) -> dict[str, np.ndarray]:
        """Return the potentials of graph i; tables are cut where its edges are known."""
        own = {"unary": arrays["unary"][i, :length]}
        if "tables" in arrays:
            tables = arrays["tables"]
            own["tables"] = tables if self.is_shared("tables", tables) else tables[i]
        return own

    def _graph(self, own: dict[str, np.ndarray], edges: np.ndarray) -> FactorGraph:
        tables = own.get("tables")
        if tables is None or len(edges) == 0:
            return FactorGraph(own["unary"])
        return FactorGraph(
            own["unary"], edges, tables if tables.ndim == 2 else tables[: len(edges)]
        )

    def k_best(self, own: dict[str, np.ndarray], k: int, edges: Any) -> list[tuple[Any, float]]:
        """Return the k best labellings."""
        found = k_best_graph(self._graph(own, edges), k)
        return [(np.asarray(answer.labels), answer.score) for answer in found]

    def expected(
        self, own: dict[str, np.ndarray], edges: Any
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Return the log partition, and the expected labels and pairs of labels, where exact."""
        found = graph_marginals(self._graph(own, edges))
        if not found.is_exact:
            raise TypeError(
                "the marginals of these graphs are not known exactly: their junction trees are too "
                "large."
            )
        sums = {"unary": np.array(found.node)}
        if "tables" in own:
            sums["tables"] = np.zeros_like(own["tables"])
            # Edges that join the same nodes, in either direction, are one factor there.
            of = dict(zip(found.members, found.factor, strict=True))
            for e, (a, b) in enumerate(edges.tolist()):
                table = of[a, b] if (a, b) in of else of[b, a].T
                if own["tables"].ndim == 2:
                    sums["tables"] += table
                else:
                    sums["tables"][e] = table
        return found.log_partition, sums

    def score(self, potentials: dict[str, Any], truths: Any, lengths: Any, edges: Any) -> Any:
        """Return the scores of labellings."""
        from maxmargin.deep.needed import torch

        unary: Any = potentials["unary"]
        tables: Any = potentials.get("tables")
        n, most = unary.shape[:2]
        sizes = check_lengths(None if lengths is None else lengths.numpy(), n, most)
        totals = []
        for i, own in enumerate(self.own_edges(edges, n)):
            size = int(sizes[i])
            labels = truths[i, :size].long()
            total = unary[i, :size].gather(1, labels[:, None]).sum()
            if len(own):
                a, b = labels[own[:, 0].tolist()], labels[own[:, 1].tolist()]
                if tables.ndim == 2:
                    total = total + tables[a, b].sum()
                else:
                    total = total + tables[i, torch.arange(len(own)), a, b].sum()
            totals.append(total)
        return torch.stack(totals) if totals else unary.sum((1, 2))


def _edges(name: str, edges: Any) -> np.ndarray:
    """Return edges as pairs of int64."""
    array = np.asarray(edges)
    if array.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be pairs of nodes, integers of shape (E, 2); got {array.dtype} of shape "
            f"{array.shape}."
        )
    return np.ascontiguousarray(array, dtype=np.int64)
