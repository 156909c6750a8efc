"""Label sets for torch layers: scores of labels, and one score per pair of labels."""

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
from maxmargin.estimators.multilabel.edges import check_cost_fits
from maxmargin.inference import labels as inference
from maxmargin.inference.labels.graph import label_graph
from maxmargin.inference.labels.listed import MAX_LISTED
from maxmargin.inference.labels.tree import tree_order
from maxmargin.structures import labels_data

#: Which way of inference finds the best outputs themselves, where training takes a relaxation.
INTEGRAL = {"relaxed": "pairwise", "relaxed_program": "program"}


class LabelSets(LayerStructure):
    """Any number of `n_labels` labels per example, on or off.

    Potentials: ``unary`` of shape (B, n_labels), the score of a label that is on; and, shared by
    all examples, ``pairs`` of shape (E,), the score of both labels of an edge being on. Truths:
    (B, n_labels), 1 for on, 0 for off, -1 for not known: such labels count nowhere.

    Parameters
    ----------
    n_labels : int
    edges : array-like of int of shape (E, 2), or "all"
        The pairs of labels that have a score. "all" takes all pairs.
    inference : str
        As for `maxmargin.structures.labels_data`: "tree", "listed", "pairwise", "relaxed",
        "program" or "relaxed_program". "auto" takes closed forms without edges, "tree" if the edges
        form a forest, "listed" for few labels, else "pairwise", a search with a bound.

    Examples
    --------
    >>> import torch
    >>> from maxmargin.deep import LabelSets, StructuredLoss
    >>> loss = StructuredLoss(LabelSets(3, edges=[(0, 1)]), "hamming")
    >>> unary = torch.tensor([[1.0, -1.0, 0.0]], requires_grad=True)
    >>> value = loss((unary, torch.tensor([0.5])), torch.tensor([[1, 0, 1]]))
    >>> value.backward()
    >>> value.item(), unary.grad
    (1.5, tensor([[ 0.,  1., -1.]]))
    """

    names = ("unary", "pairs")
    kind = "switches"

    def __init__(self, n_labels: int, edges: Any = (), inference: str = "auto") -> None:
        self.n_labels = check_count("n_labels", n_labels)
        if isinstance(edges, str):
            if edges != "all":
                raise ValueError(f"edges must be pairs of labels or 'all', got {edges!r}.")
            edges = np.stack(np.triu_indices(self.n_labels, 1), axis=1)
        self._graph = label_graph(self.n_labels, edges)
        self.edges = np.asarray(self._graph.edges)
        self.inference = self._chosen() if inference == "auto" else inference
        self._known: dict[tuple[int, str], Any] = {}
        self._data(1, self.inference)  # refuses what does not fit together

    def __repr__(self) -> str:
        return f"LabelSets({self.n_labels}, {len(self.edges)} edges, {self.inference!r})"

    def _chosen(self) -> str:
        """Return the way of inference that is exact, if there is one."""
        if len(self.edges) == 0:
            return "independent"
        try:
            tree_order(self._graph)
        except ValueError:
            return "listed" if self.n_labels <= MAX_LISTED else "pairwise"
        return "tree"

    @property
    def classes(self) -> Sequence[int]:
        """The numbers of the labels."""
        return range(self.n_labels)

    def resolve_cost(self, cost: Any) -> Any:
        """Return the cost; refuse one that this way of inference has no oracle for."""
        found = super().resolve_cost(cost)
        # An example with all labels on: F1 warns of truths without any.
        data = self._labelled(1, self.inference, np.ones((1, self.n_labels), dtype=np.int32))
        check_cost_fits(self.inference, found, self.tables(found, data))
        return found

    def _data(self, n: int, inference: str) -> Any:
        """Return n examples without any label on."""
        if (n, inference) not in self._known:
            if len(self._known) > 8:
                self._known.clear()
            Y = np.zeros((n, self.n_labels), dtype=np.int32)
            self._known[n, inference] = labels_data(
                unit_rows(n), Y, self.edges, bias=False, inference=inference
            )
        return self._known[n, inference]

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
        m = self.n_labels
        check_shape("unary", shapes["unary"], ("B", m))
        n = shapes["unary"][0]
        if ("pairs" in shapes) != (len(self.edges) > 0):
            raise ValueError(f"pairs must have a score for each of the {len(self.edges)} edges.")
        slots = {"unary": Slot(None, 0, m)}
        if "pairs" in shapes:
            check_shape("pairs", shapes["pairs"], (len(self.edges),))
            slots["pairs"] = Slot(None, n * m, len(self.edges))
        labels = np.zeros((n, m), dtype=np.int32)
        if truths is not None:
            labels = check_truths(truths, (n, m)).astype(np.int32)
            check_range(labels, None, -1, 1)
        data = None
        if n:
            inference = self.inference if relaxed else INTEGRAL.get(self.inference, self.inference)
            data = self._labelled(n, inference, labels)
        return Encoded(data, slots, np.arange(n), n, n * m)

    def _labelled(self, n: int, inference: str, labels: np.ndarray) -> Any:
        """Return n examples with these labels."""
        data = self._data(n, inference)
        if not isinstance(data, tuple):  # a programme, which keeps its labels to itself
            return labels_data(unit_rows(n), labels, self.edges, bias=False, inference=inference)
        labels = np.ascontiguousarray(labels)
        labels.flags.writeable = False
        return data._replace(labels=labels)  # type: ignore[attr-defined]

    def outputs(
        self, encoded: Encoded, shapes: dict[str, tuple[int, ...]], cells: list[np.ndarray]
    ) -> np.ndarray:
        """Return the label sets."""
        return np.array(cells, dtype=np.int64).reshape(-1, self.n_labels)

    def own_potentials(
        self, arrays: dict[str, np.ndarray], i: int, length: int | None
    ) -> dict[str, np.ndarray]:
        """Return the potentials of example i."""
        return {**arrays, "unary": arrays["unary"][i]}

    def k_best(self, own: dict[str, np.ndarray], k: int, edges: Any) -> list[tuple[Any, float]]:
        """Return the k best label sets."""
        pairs = own.get("pairs", ())
        found = inference.k_best(own["unary"], self.edges, pairs, k=k)
        return [(answer.output, answer.score) for answer in found]

    def expected(
        self, own: dict[str, np.ndarray], edges: Any
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Return the log partition, and how likely labels and pairs are on; for forests."""
        found = inference.marginals(own["unary"], self.edges, own.get("pairs", ()))
        sums = {"unary": found.node[:, 1], "pairs": found.edge[:, 1, 1]}
        return found.log_partition, {name: sums[name] for name in own}

    def score(self, potentials: dict[str, Any], truths: Any, lengths: Any, edges: Any) -> Any:
        """Return the scores of label sets."""
        if bool((truths < 0).any()):
            raise ValueError("truths has labels that are not known: they have no likelihood.")
        is_on = truths.to(potentials["unary"].dtype)
        total = (potentials["unary"] * is_on).sum(1)
        if "pairs" in potentials:
            a, b = self.edges.T.tolist()
            total = total + (is_on[:, a] * is_on[:, b]) @ potentials["pairs"].to(is_on.dtype)
        return total
