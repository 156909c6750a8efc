"""Parses for torch layers: scores of arcs, with relations or without."""

from __future__ import annotations

import heapq
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
from maxmargin.features.rows import as_features, frozen
from maxmargin.inference import parse as inference
from maxmargin.inference.parse.batch import marginals_of_batch, trees_of_batch
from maxmargin.structures.parse.arcs import ArcRows
from maxmargin.structures.parse.data import ParseData, tree_fault

#: How many trees are remembered that were found to be outputs.
MOST_KNOWN = 1 << 17


class Parses(LayerStructure):
    """A head for every word of a sentence, the root or another word, so that arcs form a tree.

    Potentials: ``arcs`` of shape (B, T + 1, T + 1), [h, m] for the arc from head h to word m, 0 the
    root and words from 1 on; with relations (B, T + 1, T + 1, n_relations). Arcs into the root and
    those from a word to itself are not read. Truths: (B, T), the heads of the words 1 to T; with
    relations (B, T, 2), head and relation. ``lengths``, of shape (B,), says how many words each
    sentence has. Costs are "uas" and "las".

    Parameters
    ----------
    n_relations : int or None
        None: arcs have no relations.
    projective : bool
        Whether arcs must not cross. A true tree whose arcs do is refused then: leave it out.
    one_root : bool
        Whether exactly one word hangs on the root.

    Examples
    --------
    >>> import torch
    >>> from maxmargin.deep import Parses, StructuredLoss
    >>> loss = StructuredLoss(Parses(), "uas", reduction="none")
    >>> arcs = torch.zeros(1, 4, 4)
    >>> arcs[0, 0, 2] = arcs[0, 2, 1] = arcs[0, 2, 3] = 2.0
    >>> loss.decode(arcs)
    tensor([[2, 0, 2]])
    >>> loss(arcs, torch.tensor([[2, 0, 2]]))
    tensor([0.])
    """

    names = ("arcs",)
    kind = "arcs"

    def __init__(
        self, n_relations: int | None = None, projective: bool = True, one_root: bool = True
    ) -> None:
        self.n_relations = None if n_relations is None else check_count("n_relations", n_relations)
        self.projective, self.one_root = bool(projective), bool(one_root)
        self._trees: set[bytes] = set()

    def __repr__(self) -> str:
        return f"Parses({self.n_relations}, projective={self.projective})"

    @property
    def classes(self) -> Sequence[int]:
        """The numbers of the relations."""
        return range(self.n_relations or 1)

    def encode(
        self,
        shapes: dict[str, tuple[int, ...]],
        truths: np.ndarray | None,
        lengths: np.ndarray | None,
        edges: Any = None,
        relaxed: bool = True,
    ) -> Encoded:
        """Return a batch: a row per arc, those of a sentence together, without the padding."""
        no_edges(edges, self)
        L, wide = self.n_relations or 1, self.n_relations is not None
        n = shapes["arcs"][0]
        side = shapes["arcs"][1] if len(shapes["arcs"]) > 1 else 0
        check_shape(
            "arcs", shapes["arcs"], ("B", max(side, 1), max(side, 1), *([L] if wide else []))
        )
        steps = check_lengths(lengths, n, side - 1)
        kept = np.flatnonzero(steps)
        words = steps[kept]
        n_words, n_arcs = int(words.sum()), int(((words + 1) ** 2).sum())
        # One more sentence, which is never looked at, has the words and rows that are left: so
        # batches of about the same size have arrays of the same shapes.
        all_words, n_rows = with_room(n_words + 1), with_room(n_arcs + 1)
        offsets = np.concatenate([[0], np.cumsum(words), [all_words]])
        row_at = np.concatenate([[0], np.cumsum((words + 1) ** 2), [n_rows]])
        cells = np.zeros(all_words * (2 if L > 1 else 1), dtype=np.int32)
        if truths is not None:
            self._write_trees(truths, steps, side - 1, cells)
        data = None
        if len(kept):
            rows_of = ArcRows(as_features(unit_rows(n_rows)), frozen(row_at, np.int64), n_rows, L)
            data = ParseData(
                rows_of, frozen(offsets, np.int64), frozen(cells, np.int32),
                frozen(np.ones(all_words), np.int8), L, n_rows * L, int(self.projective),
                int(not self.one_root), 0,
            )  # fmt: skip
        node = np.arange(side)
        is_node = node <= steps[:, None]
        is_arc = is_node[:, :, None] & is_node[:, None, :] & (steps > 0)[:, None, None]
        slots = {"arcs": Slot(np.flatnonzero(is_arc), 0, L)}
        return Encoded(data, slots, kept, n, n_words, (int(steps.max(initial=0)),))

    def _write_trees(
        self, truths: np.ndarray, steps: np.ndarray, longest: int, cells: np.ndarray
    ) -> None:
        """Write heads, and relations, of all sentences; refuse what is no output."""
        n, L = len(steps), self.n_relations or 1
        wide = self.n_relations is not None
        given = check_truths(truths, (n, longest, 2) if wide else (n, longest))
        heads = given[..., 0] if wide else given
        is_word = np.arange(longest) < steps[:, None]
        check_range(heads, is_word, 0, longest)
        if wide:
            check_range(given[..., 1], is_word, 0, L - 1)
        at = 0
        for i in np.flatnonzero(steps):
            own = heads[i, : steps[i]].astype(np.int32)
            mark = own.tobytes()
            if mark not in self._trees:
                fault = tree_fault(own, self.projective, self.one_root)
                if fault:
                    raise ValueError(f"the true tree of sentence {i} is no output: {fault}.")
                if len(self._trees) < MOST_KNOWN:
                    self._trees.add(mark)
            cells[at : at + len(own)] = own
            at += len(own)
            if L > 1:
                cells[at : at + len(own)] = given[i, : steps[i], 1]
                at += len(own)

    def outputs(
        self, encoded: Encoded, shapes: dict[str, tuple[int, ...]], cells: list[np.ndarray]
    ) -> np.ndarray:
        """Return the trees, padded by -1."""
        n, longest = shapes["arcs"][0], shapes["arcs"][1] - 1
        wide = self.n_relations is not None
        found = np.full((n, longest, 2) if wide else (n, longest), -1, dtype=np.int64)
        for i, own in zip(encoded.kept, cells, strict=True):
            if not wide:
                found[i, : len(own)] = own
                continue
            size = len(own) // (2 if self.classes[-1] else 1)
            found[i, :size, 0] = own[:size]
            found[i, :size, 1] = own[size:] if len(own) > size else 0
        return found

    def own_potentials(
        self, arrays: dict[str, np.ndarray], i: int, length: int | None
    ) -> dict[str, np.ndarray]:
        """Return the scores of the arcs of sentence i."""
        size = arrays["arcs"].shape[1] if length is None else length + 1
        return {"arcs": arrays["arcs"][i, :size, :size]}

    def k_best(self, own: dict[str, np.ndarray], k: int, edges: Any) -> list[tuple[Any, float]]:
        """Return the k best trees, with relations the k best labelled ones."""
        options: Any = {"projective": self.projective, "one_root": self.one_root}
        found = inference.k_best(own["arcs"], k=k, **options)
        if self.n_relations is None:
            return [(answer.output, answer.score) for answer in found]
        # The k best labelled trees have the arcs of the k best trees: each of these, with its best
        # relations, is better than any labelling of another tree.
        trees = [answer.output.heads for answer in found]
        return best_labelled(own["arcs"], trees, k)

    def expected(
        self, own: dict[str, np.ndarray], edges: Any
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Return the log partition, and how likely each arc is."""
        options: Any = {"projective": self.projective, "one_root": self.one_root}
        found = inference.marginals(own["arcs"], **options)
        return found.log_partition, {"arcs": found.arcs}

    def best_together(self, arrays: dict[str, np.ndarray], encoded: Encoded) -> np.ndarray | None:
        """Return the best trees of all sentences; None where one has none."""
        n, longest = arrays["arcs"].shape[0], arrays["arcs"].shape[1] - 1
        found = self._of_batch(trees_of_batch, arrays, encoded)
        if found is None or found.scores.min() == -np.inf:
            return None
        own = found.heads if found.relations is None else np.stack(found[:2], axis=2)
        trees = np.full((n, longest, *own.shape[2:]), -1, dtype=np.int64)
        trees[encoded.kept] = own
        return trees

    def expected_together(
        self, arrays: dict[str, np.ndarray], encoded: Encoded
    ) -> tuple[np.ndarray, dict[str, np.ndarray]] | None:
        """Return what `expected` does for all sentences, in one call unless one has no tree."""
        found = self._of_batch(marginals_of_batch, arrays, encoded, 1.0)
        if found is None or found.log_partition.min() == -np.inf:
            return None
        n, kept = encoded.n_examples, encoded.kept
        if len(kept) == n:
            return found.log_partition, {"arcs": found.arcs}
        totals, arcs = np.zeros(n), np.zeros(arrays["arcs"].shape)
        totals[kept], arcs[kept] = found.log_partition, found.arcs
        return totals, {"arcs": arcs}

    def _of_batch(
        self, ask: Any, arrays: dict[str, np.ndarray], encoded: Encoded, *rest: float
    ) -> Any:
        """Return what is found for the sentences that are kept; None where scores are refused."""
        given, kept = arrays["arcs"], encoded.kept
        if encoded.data is None:
            return None
        scores = np.ascontiguousarray(
            given if len(kept) == len(given) else given[kept], dtype=np.float64
        )
        words = np.diff(encoded.data.offsets)[: len(kept)]
        try:
            return ask(scores, words, self.projective, 0 if self.one_root else 1, *rest)
        except ValueError:  # the numbers of sentences are those of the batch where it is told again
            return None

    def score(self, potentials: dict[str, Any], truths: Any, lengths: Any, edges: Any) -> Any:
        """Return the scores of trees."""
        from maxmargin.deep.needed import torch

        arcs = potentials["arcs"]
        n, longest = arcs.shape[0], arcs.shape[1] - 1
        steps = torch.full((n,), longest) if lengths is None else lengths
        is_word = torch.arange(longest) < steps[:, None]
        wide = self.n_relations is not None
        heads = torch.where(is_word, (truths[..., 0] if wide else truths).long(), 0)
        place = [torch.arange(n)[:, None], heads, torch.arange(1, longest + 1)[None, :]]
        if wide:
            place.append(torch.where(is_word, truths[..., 1].long(), 0))
        return arcs[tuple(place)].masked_fill(~is_word, 0.0).sum(1)


def best_labelled(
    scores: np.ndarray, trees: list[np.ndarray], k: int
) -> list[tuple[np.ndarray, float]]:
    """Return the k best of all labellings of some trees, best first, as (heads, relations).

    A labelling is known by the rank of each word's relation. One is made from each that was taken
    by one step down at its last word with a rank > 0, or at a later word: so every labelling comes
    once, and none before a better one.
    """
    words = np.arange(1, len(scores))
    rows = [scores[heads, words] for heads in trees]
    order = [np.argsort(-own, axis=1, kind="stable") for own in rows]
    sorted_rows = [np.take_along_axis(own, at, axis=1) for own, at in zip(rows, order, strict=True)]
    first = (0,) * len(words)
    waiting = [(-float(own[:, 0].sum()), tree, first) for tree, own in enumerate(sorted_rows)]
    heapq.heapify(waiting)
    found: list[tuple[np.ndarray, float]] = []
    while waiting and len(found) < k:
        loss, tree, ranks = heapq.heappop(waiting)
        relations = order[tree][words - 1, list(ranks)].astype(np.int32)
        found.append((np.stack([trees[tree], relations], axis=1), -loss))
        last = max((m for m, rank in enumerate(ranks) if rank), default=0)
        for m in range(last, len(words)):
            below = (*ranks[:m], ranks[m] + 1, *ranks[m + 1 :])
            if below[m] < scores.shape[2] and sorted_rows[tree][m, below[m]] > -np.inf:
                total = float(sorted_rows[tree][words - 1, list(below)].sum())
                heapq.heappush(waiting, (-total, tree, below))
    return found
