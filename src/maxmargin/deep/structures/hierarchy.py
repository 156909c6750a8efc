"""Hierarchies for torch layers: a score per node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.deep.structures.base import (
    Encoded,
    LayerStructure,
    Slot,
    check_count,
    check_range,
    check_shape,
    check_truths,
    no_edges,
    no_lengths,
    unit_rows,
)
from maxmargin.inference import hierarchy as inference
from maxmargin.inference.hierarchy.shape import hierarchy_shape, is_forest
from maxmargin.structures import node_sets_data, paths_data
from maxmargin.structures.hierarchy.sets import read_set

SPACES = ("labels", "closed", "paths")


class Hierarchies(LayerStructure):
    """A label of a hierarchy, or a set of its nodes; the score is the sum over nodes.

    Potentials: ``nodes`` of shape (B, n_nodes). Truths: (B,), numbers of labels, for
    ``space="labels"``; else (B, n_nodes), 1 for the nodes of the set and 0 for others.

    Parameters
    ----------
    parents : sequence
        For each node the number of its parent, None or -1 for a root, or a list of parents (a DAG).
        Parents come before their children.
    space : {"labels", "closed", "paths"}
        An output is one label, which stands for its node and all nodes above; or a set of nodes
        that holds the parents of its nodes; or a union of paths from a root to a leaf.
    labels : sequence of int, or None
        The nodes that are labels, for ``space="labels"``; None takes the leaves.

    Examples
    --------
    >>> import torch
    >>> from maxmargin.deep import Hierarchies, StructuredLoss
    >>> loss = StructuredLoss(Hierarchies([None, 0, 0, 1, 1]), "tree_distance", reduction="none")
    >>> loss(torch.zeros(1, 5), torch.tensor([1]))  # labels: 2, 3, 4; scaled to 1
    tensor([1.])
    >>> loss.decode(torch.tensor([[0.0, 1.0, 0.0, 0.0, 0.5]]))
    tensor([2])
    """

    names = ("nodes",)

    def __init__(self, parents: Any, space: str = "labels", labels: Any = None) -> None:
        if space not in SPACES:
            raise ValueError(f"space must be one of {', '.join(SPACES)}; got {space!r}.")
        self.space = space
        self.n_nodes = check_count("the number of nodes", len(parents))
        lists = [
            [] if own is None or (np.ndim(own) == 0 and own < 0) else np.atleast_1d(own).tolist()
            for own in parents
        ]
        child = [node for node, own in enumerate(lists) for _ in own]
        self.shape = hierarchy_shape(self.n_nodes, child, [above for own in lists for above in own])
        leaves = np.flatnonzero(np.diff(self.shape.child_at) == 0)
        if space != "labels" and labels is not None:
            raise ValueError(f"labels is given, but with space={space!r} outputs are sets.")
        self.labels = leaves if labels is None else np.asarray(labels)
        self._above: Any = None
        if space == "labels":
            data = paths_data(unit_rows(1), [0], self.shape, self.labels, bias=False)
            self._above = np.zeros((len(self.labels), self.n_nodes))
            for k in range(len(self.labels)):
                self._above[k, data.nodes[data.node_at[k] : data.node_at[k + 1]]] = 1.0

    def __repr__(self) -> str:
        return f"Hierarchies({self.n_nodes} nodes, {self.space!r})"

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Labels are priced as paths, sets of nodes as nodes."""
        return "paths" if self.space == "labels" else "nodes"

    @property
    def classes(self) -> Sequence[int]:
        """The numbers of the labels, or of the nodes."""
        return range(len(self.labels) if self.space == "labels" else self.n_nodes)

    def encode(
        self,
        shapes: dict[str, tuple[int, ...]],
        truths: np.ndarray | None,
        lengths: np.ndarray | None,
        edges: Any = None,
        relaxed: bool = True,
    ) -> Encoded:
        """Return a batch."""
        no_lengths(lengths, self)
        no_edges(edges, self)
        check_shape("nodes", shapes["nodes"], ("B", self.n_nodes))
        n = shapes["nodes"][0]
        slots, kept = {"nodes": Slot(None, 0, self.n_nodes)}, np.arange(n)
        if n == 0:
            return Encoded(None, slots, kept, 0, 0)
        X: Any = unit_rows(n)
        if self.space == "labels":
            labels = np.zeros(n, dtype=np.int32)
            if truths is not None:
                labels = check_truths(truths, (n,))
                check_range(labels, None, 0, len(self.labels) - 1)
            data = paths_data(X, labels, self.shape, self.labels, bias=False)
        else:
            sets = None
            if truths is not None:
                sets = check_truths(truths, (n, self.n_nodes)).astype(np.int64)
                check_range(sets, None, 0, 1)
            data = node_sets_data(
                X, sets, self.shape, space=self.space, bias=False, relaxed=relaxed
            )
        return Encoded(data, slots, kept, n, n)

    def outputs(
        self, encoded: Encoded, shapes: dict[str, tuple[int, ...]], cells: list[np.ndarray]
    ) -> np.ndarray:
        """Return the labels, or flags of nodes."""
        if self.space == "labels":
            return np.array([own[0] for own in cells], dtype=np.int64)
        sets = [read_set(encoded.data, i, own, 0) for i, own in enumerate(cells)]
        return np.array(sets, dtype=np.int64).reshape(-1, self.n_nodes)

    def own_potentials(
        self, arrays: dict[str, np.ndarray], i: int, length: int | None
    ) -> dict[str, np.ndarray]:
        """Return the scores of the nodes of example i."""
        return {"nodes": arrays["nodes"][i]}

    def k_best(self, own: dict[str, np.ndarray], k: int, edges: Any) -> list[tuple[Any, float]]:
        """Return the k best labels or sets."""
        if self.space == "labels":
            scores = self._above @ own["nodes"]
            best = np.argsort(-scores, kind="stable")[:k]
            return [(int(label), float(scores[label])) for label in best]
        found = inference.k_best(own["nodes"], self.shape, self.space, k=k)
        return [(answer.output, answer.score) for answer in found]

    def expected(
        self, own: dict[str, np.ndarray], edges: Any
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Return the log partition, and how likely each node is part of the output."""
        if self.space == "labels":
            scores = self._above @ own["nodes"]
            top = scores.max()
            mass = np.exp(scores - top)
            total = mass.sum()
            return float(top + np.log(total)), {"nodes": (mass / total) @ self._above}
        if not is_forest(self.shape):
            raise TypeError("Hierarchies of sets have marginals only if they are forests.")
        found = inference.marginals(own["nodes"], self.shape, self.space)
        return found.log_partition, {"nodes": found.node}

    def score(self, potentials: dict[str, Any], truths: Any, lengths: Any, edges: Any) -> Any:
        """Return the scores of labels or sets."""
        from maxmargin.deep.needed import torch

        nodes = potentials["nodes"]
        if self.space == "labels":
            above = torch.from_numpy(self._above).to(nodes.dtype)
            return (nodes * above[truths.long()]).sum(1)
        return (nodes * truths.to(nodes.dtype)).sum(1)
