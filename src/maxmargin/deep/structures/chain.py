"""Chains for torch layers: scores of labels at positions, and one table of transitions."""

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
    no_edges,
    unit_rows,
    with_room,
)
from maxmargin.inference import chain as inference
from maxmargin.inference.chain.scaled import scaled_batch
from maxmargin.structures import chain_data, chain_layout

#: How many shapes of batches are remembered, and how many batches' lengths.
MOST_KNOWN = 16


def rows_of_edges(n_labels: int) -> dict[str, Any]:
    """Return where the potentials that sequences share lie in one array of (K + 2, K)."""
    return {"transitions": slice(n_labels), "start": n_labels, "end": n_labels + 1}


class Chains(LayerStructure):
    """One label per position of a sequence.

    Potentials: ``unary`` of shape (B, T, n_labels), and, shared by all sequences, ``transitions``
    of shape (n_labels, n_labels), [a, b] for going from a to b, ``start`` and ``end`` of shape
    (n_labels,); the shared ones may be None. Truths: (B, T). ``lengths``, of shape (B,), says how
    many positions each sequence has; what comes after changes no result. -inf forbids.

    Examples
    --------
    >>> import torch
    >>> from maxmargin.deep import Chains, StructuredLoss
    >>> loss = StructuredLoss(Chains(2), "hamming", reduction="none")
    >>> unary, stay = torch.zeros(2, 3, 2), torch.tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> truths = torch.tensor([[0, 0, 1], [1, 0, 0]])
    >>> loss((unary, stay), truths, lengths=torch.tensor([3, 1]))
    tensor([4., 1.])
    >>> loss.decode((unary, stay), lengths=torch.tensor([3, 1]))
    tensor([[ 0,  0,  0],
            [ 0, -1, -1]])
    """

    names = ("unary", "transitions", "start", "end")
    kind = "positions"

    def __init__(self, n_labels: int) -> None:
        self.n_labels = check_count("n_labels", n_labels)
        self._known: dict[tuple[Any, ...], Any] = {}
        self._frames: dict[tuple[Any, ...], tuple[Encoded, np.ndarray | None]] = {}

    def __repr__(self) -> str:
        return f"Chains({self.n_labels})"

    @property
    def classes(self) -> Sequence[int]:
        """The numbers of the labels."""
        return range(self.n_labels)

    def encode(
        self,
        shapes: dict[str, tuple[int, ...]],
        truths: np.ndarray | None,
        lengths: np.ndarray | None,
        edges: Any = None,
        relaxed: bool = True,
    ) -> Encoded:
        """Return a batch: the positions of all sequences stacked, without the padding."""
        no_edges(edges, self)
        lengths = None if lengths is None else np.asarray(lengths)
        mark = None if lengths is None else (lengths.dtype, lengths.shape, lengths.tobytes())
        asked = (tuple(shapes.items()), mark)
        if asked not in self._frames:
            if len(self._frames) >= MOST_KNOWN:
                self._frames.pop(next(iter(self._frames)))
            self._frames[asked] = self._frame(shapes, lengths)
        encoded, is_part = self._frames[asked]
        if truths is None or encoded.data is None:
            return encoded
        rows, n_tokens = encoded.slots["unary"].rows, encoded.n_tokens
        given = check_truths(truths, shapes["unary"][:2])
        check_range(given, is_part, 0, self.n_labels - 1)
        labels = np.zeros(len(encoded.data.labels), dtype=np.int32)
        flat = given.reshape(-1)
        labels[:n_tokens] = flat if rows is None else flat[rows]
        labels.flags.writeable = False
        return encoded._replace(data=encoded.data._replace(labels=labels))

    def _frame(
        self, shapes: dict[str, tuple[int, ...]], lengths: np.ndarray | None
    ) -> tuple[Encoded, np.ndarray | None]:
        """Return a batch whose labels are all 0, and which positions are parts, None: all are."""
        K = self.n_labels
        check_shape("unary", shapes["unary"], ("B", "T", K))
        for name, shape in (("transitions", (K, K)), ("start", (K,)), ("end", (K,))):
            if name in shapes:
                check_shape(name, shapes[name], shape)
        n, longest = shapes["unary"][:2]
        steps = check_lengths(lengths, n, longest)
        rows, is_part = None, None
        if steps.min(initial=longest) < longest:
            is_part = np.arange(longest) < steps[:, None]
            rows = np.flatnonzero(is_part)
        n_tokens = int(steps.sum())
        n_rows = with_room(n_tokens + 1)
        kept = np.flatnonzero(steps)
        flags = tuple(name in shapes for name in self.names[1:])
        key = (n_rows, len(kept), *flags)
        labels = np.zeros(n_rows, dtype=np.int32)
        data = self._data(key, labels, steps[kept]) if len(kept) else None
        layout = self._layout(n_rows, flags)
        at = {"transitions": layout.transitions, "start": layout.start, "end": layout.end}
        slots = {"unary": Slot(rows, 0, K)}
        slots |= {name: Slot(None, at[name] * K, K) for name in at if name in shapes}
        frame = (int(steps.max(initial=0)),)
        encoded = Encoded(data, slots, kept, n, n_tokens, frame, key, steps.tobytes())
        return encoded, is_part

    def _layout(self, n_rows: int, flags: tuple[bool, ...]) -> Any:
        return chain_layout(n_rows, self.n_labels, False, *flags)

    def _data(self, key: tuple[Any, ...], labels: np.ndarray, steps: np.ndarray) -> Any:
        """Return sequences; what does not depend on their labels and lengths is kept.

        One more sequence, which is never looked at, has the rows that are left: so batches of about
        the same number of positions have arrays of the same shapes.
        """
        n_rows = key[0]
        offsets = np.concatenate([[0], np.cumsum(steps), [n_rows]])
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
            layout = self._layout(n_rows, key[2:])
            self._known[key] = chain_data(unit_rows(n_rows), offsets, labels, layout)
        labels.flags.writeable = offsets.flags.writeable = False
        return self._known[key]._replace(labels=labels, offsets=offsets)

    def outputs(
        self, encoded: Encoded, shapes: dict[str, tuple[int, ...]], cells: list[np.ndarray]
    ) -> np.ndarray:
        """Return the labellings, padded by -1."""
        found = np.full(shapes["unary"][:2], -1, dtype=np.int64)
        for i, own in zip(encoded.kept, cells, strict=True):
            found[i, : len(own)] = own
        return found

    def k_best(self, own: dict[str, np.ndarray], k: int, edges: Any) -> list[tuple[Any, float]]:
        """Return the k best labellings."""
        return [(a.output, a.score) for a in inference.k_best(*self._all(own), k=k)]

    def expected(
        self, own: dict[str, np.ndarray], edges: Any
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Return the log partition, and the expected labels and transitions."""
        found = inference.marginals(*self._all(own))
        sums = {"unary": found.node, "start": found.node[0], "end": found.node[-1]}
        sums["transitions"] = found.edge.sum(axis=0)
        return found.log_partition, {name: sums[name] for name in own}

    def expected_together(
        self, arrays: dict[str, np.ndarray], encoded: Encoded
    ) -> tuple[np.ndarray, dict[str, np.ndarray]] | None:
        """Return what `expected` does for all sequences, in one call unless scores are extreme."""
        if encoded.data is None:
            return None
        K, unary = self.n_labels, np.ascontiguousarray(arrays["unary"], dtype=np.float64)
        n, longest = unary.shape[:2]
        edges, rows = np.zeros((K + 2, K)), rows_of_edges(K)
        for name, row in rows.items():
            if name in arrays:
                edges[row] = arrays[name]
        totals, node, shared = np.zeros(n), np.zeros(unary.shape), np.zeros((n, K + 2, K))
        if not scaled_batch(
            unary, edges, encoded.kept, encoded.data.offsets, np.empty((2, K, K)),
            np.empty((4, longest, K)), totals, node, shared,
        ):  # fmt: skip
            return None
        parts = {name: node if name == "unary" else shared[:, rows[name]] for name in arrays}
        return totals, parts

    def _all(self, own: dict[str, np.ndarray]) -> list[Any]:
        """Return all potentials of one sequence, zeros where there are none."""
        none = {"transitions": np.zeros((self.n_labels, self.n_labels))}
        return [own.get(name, none.get(name)) for name in self.names]

    def score(self, potentials: dict[str, Any], truths: Any, lengths: Any, edges: Any) -> Any:
        """Return the scores of labellings."""
        from maxmargin.deep.needed import torch

        unary = potentials["unary"]
        n, longest = unary.shape[:2]
        steps = torch.full((n,), longest) if lengths is None else lengths
        is_part = torch.arange(longest) < steps[:, None]
        labels = torch.where(is_part, truths.long(), 0)
        total = unary.gather(2, labels[:, :, None])[:, :, 0].masked_fill(~is_part, 0.0).sum(1)
        if "transitions" in potentials and longest > 1:
            moves = potentials["transitions"][labels[:, :-1], labels[:, 1:]]
            total = total + moves.masked_fill(~is_part[:, 1:], 0.0).sum(1)
        ends = labels.gather(1, (steps[:, None].long() - 1).clamp(min=0))[:, 0] if longest else None
        for name, own in (("start", labels[:, 0] if longest else None), ("end", ends)):
            if name in potentials and own is not None:
                total = total + potentials[name][own].masked_fill(steps == 0, 0.0)
        return total
