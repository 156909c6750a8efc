"""Classes for torch layers: one score per class."""

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
from maxmargin.inference import classes as inference
from maxmargin.structures import multiclass_data


class Classes(LayerStructure):
    """One class of `n_classes` per example.

    Potentials: ``scores`` of shape (B, n_classes). Truths: (B,), numbers of classes.

    Examples
    --------
    >>> import torch
    >>> from maxmargin.deep import Classes, StructuredLoss
    >>> loss = StructuredLoss(Classes(3), "zero_one", reduction="none")
    >>> loss(torch.tensor([[2.0, 0.5, 0.0], [0.0, 0.0, 3.0]]), torch.tensor([0, 1]))
    tensor([0., 4.])
    """

    names = ("scores",)
    kind = "positions"

    def __init__(self, n_classes: int) -> None:
        self.n_classes = check_count("n_classes", n_classes)

    def __repr__(self) -> str:
        return f"Classes({self.n_classes})"

    @property
    def classes(self) -> Sequence[int]:
        """The numbers of the classes."""
        return range(self.n_classes)

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
        check_shape("scores", shapes["scores"], ("B", self.n_classes))
        n = shapes["scores"][0]
        labels = np.zeros(n, dtype=np.int32)
        if truths is not None:
            labels = check_truths(truths, (n,))
            check_range(labels, None, 0, self.n_classes - 1)
        data = multiclass_data(unit_rows(n), labels, self.n_classes, bias=False) if n else None
        return Encoded(data, {"scores": Slot(None, 0, self.n_classes)}, np.arange(n), n, n)

    def outputs(
        self, encoded: Encoded, shapes: dict[str, tuple[int, ...]], cells: list[np.ndarray]
    ) -> np.ndarray:
        """Return the classes."""
        return np.array([own[0] for own in cells], dtype=np.int64)

    def own_potentials(
        self, arrays: dict[str, np.ndarray], i: int, length: int | None
    ) -> dict[str, np.ndarray]:
        """Return the scores of example i."""
        return {"scores": arrays["scores"][i]}

    def k_best(self, own: dict[str, np.ndarray], k: int, edges: Any) -> list[tuple[Any, float]]:
        """Return the k classes of largest score."""
        return [(int(a.output), a.score) for a in inference.k_best(own["scores"], k)]

    def expected(
        self, own: dict[str, np.ndarray], edges: Any
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Return log sum exp, and the softmax."""
        found = inference.marginals(own["scores"])
        return found.log_partition, {"scores": found.node}

    def score(self, potentials: dict[str, Any], truths: Any, lengths: Any, edges: Any) -> Any:
        """Return the scores of classes."""
        return potentials["scores"].gather(1, truths.long()[:, None])[:, 0]
