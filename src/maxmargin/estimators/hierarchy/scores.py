"""Outputs of a hierarchy from the scores of its nodes, of all samples at once.

The score of an output is the sum of the scores of its nodes. `best` finds the best output,
`differences` how much better the best output with a node is than the best without it, and
`marginals` the probability of each node. Forests are walked with all samples in one array; sets of
nodes of a DAG are found one sample after the other, by minimum cuts or integer programmes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from maxmargin.inference import hierarchy
from maxmargin.inference.hierarchy import max_marginals
from maxmargin.inference.hierarchy.closure import best_closure, closure_room
from maxmargin.inference.hierarchy.forest.kbest import (
    best_k_sets,
    best_sets_room,
    write_ranked_set,
)
from maxmargin.inference.hierarchy.shape import is_forest, parents_of
from maxmargin.inputs.hierarchy.space import HierarchySpace

__all__ = ["NodeScores"]


class NodeScores:
    """Scores of the nodes of a model, of shape (n, m), and the outputs that they favour.

    Parameters
    ----------
    scores : array of shape (n, m)
    space : HierarchySpace
    known : int8 array of shape (n, m) or None
        What is known of each node: 1 it is in the output, 0 it is not, -1 nothing. Ones have all
        nodes above them.
    """

    def __init__(
        self, scores: np.ndarray, space: HierarchySpace, known: np.ndarray | None = None
    ) -> None:
        self.space = space
        self.scores = scores if known is None else np.where(known == 0, -np.inf, scores)
        self.must = None if known is None else known == 1
        self.is_forest = is_forest(space.shape)

    def _check_forest(self) -> None:
        """Raise where there is no exact way for sets of nodes of a DAG."""
        if not self.is_forest and not self.space.has_one:
            raise ValueError(
                "predict_marginals of sets of nodes needs a hierarchy in which no node has two "
                "parents; here some have. space='leaf' and 'path' have it on every hierarchy."
            )

    # -- one path --------------------------------------------------------------------------------

    def labels(self) -> np.ndarray:
        """Return the scores of labels, where an output is one path; shape (n, K).

        Those that do not fit what is known are -inf.
        """
        above = self.space.ancestry()[self.space.leaves]
        with np.errstate(invalid="ignore"):
            found = np.asarray(self.scores @ above.T) if self.must is None else self._masked(above)
        return found

    def _masked(self, above: Any) -> np.ndarray:
        out = np.isneginf(self.scores)
        totals = np.asarray(np.where(out, 0.0, self.scores) @ above.T)
        n_out = np.asarray(out.astype(np.float64) @ above.T)
        must = np.asarray(self.must, dtype=np.float64)
        n_kept = np.asarray(must @ above.T)
        totals[(n_out > 0) | (n_kept < must.sum(axis=1, keepdims=True))] = -np.inf
        return totals

    def best_labels(self) -> np.ndarray:
        """Return the label of best score of every sample, its place in `leaves`."""
        found = self.labels()
        codes = found.argmax(axis=1)
        self._check_possible(found[np.arange(len(found)), codes])
        return codes

    # -- sets of nodes ---------------------------------------------------------------------------

    def best(self) -> np.ndarray:
        """Return the best output of every sample as flags of nodes, bool of shape (n, m)."""
        if self.space.has_one:
            codes = self.best_labels()
            return np.asarray(self.space.ancestry()[self.space.leaves[codes]].toarray() > 0)
        if not self.is_forest:
            return self._best_of_dag()
        parent = parents_of(self.space.shape)
        to_leaves = self.space.kind == "paths"
        values, single = self._values(parent, to_leaves)
        chosen = np.zeros(self.scores.shape, dtype=bool)
        rows = np.arange(len(chosen))
        for v in range(len(parent)):
            up = parent[v]
            wanted = values[v] > 0.0
            if self.must is not None:
                wanted |= self.must[:, v]
            if to_leaves:
                wanted |= single[up] == v
            chosen[:, v] = wanted & np.isfinite(values[v])
            if up >= 0:
                chosen[:, v] &= chosen[:, up]
        missing = np.zeros(len(rows), dtype=bool)
        if self.must is not None:
            missing |= (self.must & ~chosen).any(axis=1)
        if to_leaves:
            missing |= ~chosen.any(axis=1)
        self._check_possible(np.where(missing, -np.inf, 0.0))
        return chosen

    def _values(self, parent: np.ndarray, to_leaves: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the best score of what is at and below each node if the node is in, (m, n).

        ``single`` is the child of a node that must be taken because none is worth it, or -1; its
        last row is that of the roots.
        """
        n, m = self.scores.shape
        must = np.zeros((n, m), dtype=bool) if self.must is None else self.must
        values = self.scores.T.copy()
        total = np.zeros((m + 1, n))  # of children that are worth it, or must be taken
        count = np.zeros((m + 1, n), dtype=bool)
        most, single = np.full((m + 1, n), -np.inf), np.full((m + 1, n), -1)
        n_children = np.diff(self.space.shape.child_at)
        for v in range(m - 1, -1, -1):
            if to_leaves and n_children[v] > 0:
                single[v] = np.where(count[v], -1, single[v])
                values[v] += np.where(count[v], total[v], most[v])
            else:
                values[v] += total[v]
            up = parent[v]  # -1 for roots: the last row
            taken = ((values[v] > 0.0) | must[:, v]) & np.isfinite(values[v])
            total[up] += np.where(taken, values[v], 0.0)
            count[up] |= taken
            better = values[v] >= most[up]  # of equal ones the first, which comes last here
            single[up] = np.where(better & np.isfinite(values[v]), v, single[up])
            most[up] = np.maximum(most[up], values[v])
        if to_leaves:
            single[m] = np.where(count[m], -1, single[m])
        return values, single

    def _best_of_dag(self) -> np.ndarray:
        if self.space.kind == "paths":
            return np.array([self._ask(hierarchy.maximize, i).output for i in self._samples()]) > 0
        shape, room = self.space.shape, closure_room(self.space.shape)
        chosen = np.zeros(self.scores.shape, dtype=np.int8)
        nothing = np.zeros(0, dtype=np.int8)
        values = np.zeros(len(chosen))
        for i, row in enumerate(np.ascontiguousarray(self.scores, dtype=np.float64)):
            must = nothing if self.must is None else self.must[i].astype(np.int8)
            values[i] = best_closure(row, shape, must, room, chosen[i])
        self._check_possible(values)
        return chosen > 0

    def _samples(self) -> range:
        return range(len(self.scores))

    def _ask(self, method: Any, i: int, **options: Any) -> Any:
        """Return what a function of `maxmargin.inference.hierarchy` says of one sample."""
        required = () if self.must is None else np.flatnonzero(self.must[i]).tolist()
        kind = self.space.kind
        try:
            return method(self.scores[i], self.space.shape, kind, required=required, **options)
        except ValueError:
            self._check_possible(np.where(np.arange(len(self.scores)) == i, -np.inf, 0.0))
            raise

    def _check_possible(self, values: np.ndarray) -> None:
        bad = np.flatnonzero(np.isneginf(values))
        if len(bad):
            raise ValueError(
                f"no output of sample {bad[0]} has the nodes that are fixed (space="
                f"{self.space.kind!r})."
            )

    # -- single nodes ----------------------------------------------------------------------------

    def differences(self) -> np.ndarray:
        """Return the best score with each node, less the best score without it; shape (n, m).

        inf where every output has the node. It falls along every path, so the nodes above a
        threshold are closed. Sets of a DAG take two minimum cuts or programmes for each node.
        """
        if self.space.has_one:
            return self._of_labels()
        if not self.is_forest:
            rows = [max_marginals(row, self.space.shape, self.space.kind) for row in self.scores]
            return np.array([row[:, 1] - row[:, 0] for row in rows]).reshape(self.scores.shape)
        parent = parents_of(self.space.shape)
        to_leaves = self.space.kind == "paths"
        values, _ = self._values(parent, to_leaves)
        n, m = self.scores.shape
        n_children = np.diff(self.space.shape.child_at)
        gain = np.maximum(values, 0.0)
        total, first, second = np.zeros((m + 1, n)), *np.full((2, m + 1, n), -np.inf)
        for v in range(m):
            up = parent[v]
            total[up] += gain[v]
            second[up] = np.maximum(second[up], np.minimum(values[v], first[up]))
            first[up] = np.maximum(first[up], values[v])

        def picked(up: int) -> np.ndarray:
            """Return what the children of a node add, at least one of them where it must be."""
            return np.where(first[up] > 0.0, total[up], first[up]) if to_leaves else total[up]

        with_, without = np.empty((m + 1, n)), np.full((m + 1, n), -np.inf)
        with_[m] = picked(m) if m else 0.0
        for v in range(m):
            up = parent[v]
            rest = with_[up] - (picked(up) if up < 0 or n_children[up] > 0 else 0.0)
            others = total[up] - gain[v]
            with_[v] = rest + others + values[v]
            if to_leaves:
                top = np.where(values[v] >= first[up], second[up], first[up])
                others = np.where(top > 0.0, others, top)
            without[v] = np.maximum(rest + others, without[up])
        return np.asarray((with_ - without)[:m].T)

    def _of_labels(self) -> np.ndarray:
        found = self.labels()
        above = self.space.ancestry()[self.space.leaves].tocsc()
        n, m = self.scores.shape
        order = np.argsort(-found, axis=1, kind="stable")
        with_, without = np.empty((n, m)), np.empty((n, m))
        best, rows = order[:, 0], np.arange(n)
        for v in range(m):
            inside = np.zeros(found.shape[1], dtype=bool)
            inside[above.indices[above.indptr[v] : above.indptr[v + 1]]] = True
            has = inside[best]
            with_[:, v] = np.where(has, found[rows, best], found[:, inside].max(axis=1))
            without[:, v] = found[rows, best]
            if has.any():
                outside = found[np.ix_(has, ~inside)]
                without[has, v] = outside.max(axis=1) if outside.shape[1] else -np.inf
        return with_ - without

    def marginals(self, temperature: float) -> np.ndarray:
        """Return p(node is in) under p(output) ~ exp(score / temperature); shape (n, m)."""
        if self.space.has_one:
            p = softmax(self.labels() / temperature, axis=1)
            return np.asarray(p @ self.space.ancestry()[self.space.leaves])
        self._check_forest()
        parent = parents_of(self.space.shape)
        to_leaves = self.space.kind == "paths"
        n, m = self.scores.shape
        n_children = np.diff(self.space.shape.child_at)
        log_mass = self.scores.T / temperature  # of all sets at and below a node that is in
        log_any = np.zeros((m + 1, n))  # of all choices among the children of a node
        log_some = np.full((m + 1, n), -np.inf)  # of all but that of no child
        for v in range(m - 1, -1, -1):
            has_to = to_leaves and n_children[v] > 0
            log_mass[v] = log_mass[v] + (log_some[v] if has_to else log_any[v])
            up, either = parent[v], np.logaddexp(0.0, log_mass[v])
            log_some[up] = np.logaddexp(log_some[up] + either, log_mass[v])
            log_any[up] += either
        found = np.empty((m + 1, n))
        found[m] = 1.0
        for v in range(m):
            up = parent[v]
            of_all = log_some[up] if to_leaves else log_any[up]
            others = log_any[up] - np.logaddexp(0.0, log_mass[v])
            found[v] = found[up] * np.exp(np.minimum(log_mass[v] + others - of_all, 0.0))
        return np.asarray(found[:m].T)

    def k_best(self, k: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return for every sample its k best outputs as flags of nodes, best first, and scores."""
        if self.space.has_one:
            found = self.labels()
            order = np.argsort(-found, axis=1, kind="stable")[:, :k]
            table = self.space.ancestry()[self.space.leaves]
            flags = [np.asarray(table[row].toarray() > 0) for row in order]
            return flags, list(np.take_along_axis(found, order, axis=1))
        if not self.is_forest:
            answers = [self._ask(hierarchy.k_best, i, k=k) for i in self._samples()]
            sets = [np.array([each.output for each in found]) > 0 for found in answers]
            return sets, [np.array([each.score for each in found]) for found in answers]
        _, m = self.scores.shape
        parent = parents_of(self.space.shape)
        n_children = np.diff(self.space.shape.child_at).astype(np.int32)
        to_leaves = int(self.space.kind == "paths")
        room, nothing = best_sets_room(m, k), np.zeros(0, dtype=np.int8)
        outputs, scores = [], []
        for i, row in enumerate(np.ascontiguousarray(self.scores, dtype=np.float64)):
            must = nothing if self.must is None else self.must[i].astype(np.int8)
            count = best_k_sets(row, parent, n_children, to_leaves, must, k, room)
            cells = np.zeros((count, m), dtype=np.int8)
            for rank in range(count):
                write_ranked_set(rank, parent, n_children, to_leaves, room, cells[rank])
            outputs.append(cells > 0)
            scores.append(np.array([row[each > 0].sum() for each in cells]))
        return outputs, scores
