"""The outputs of a model on a hierarchy: which sets of nodes there are, which have weights.

Of the user's hierarchy the model has only nodes on paths of labels that occur in training. Nodes
that are in every label are left out: what they score cancels. A label at an inner node gets a leaf
of its own below it, a "stop", so that one path always ends in a leaf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.core.contract import GivenHierarchy
from maxmargin.inference.hierarchy.shape import HierarchyShape, hierarchy_shape
from maxmargin.inputs.checks import unknown
from maxmargin.inputs.hierarchy.nodes import Hierarchy

__all__ = ["SPACES", "HierarchySpace", "check_space", "choose_space"]

SPACES = {
    "leaf": "one path, which ends in a leaf",
    "path": "one path, which may end at any node",
    "paths": "one or more paths, which end in leaves",
    "closed": "any set of nodes that has all nodes above its own; the empty one too",
}
"""The label spaces, by name."""


def check_space(space: Any) -> None:
    """Refuse a label space that is not known."""
    if not isinstance(space, str) or space not in ("auto", *SPACES):
        raise unknown("space", space, {"auto": None} | SPACES)


def choose_space(space: str, hierarchy: Hierarchy, ends: sp.csr_matrix) -> str:
    """Return the label space that "auto" stands for: the smallest that holds all labels.

    Parameters
    ----------
    ends : csr_matrix of shape (n, n_nodes), the most specific nodes of each label
    """
    check_space(space)
    if space != "auto":
        return space
    if not (np.diff(ends.indptr) == 1).all():
        return "closed"
    return "leaf" if hierarchy.is_leaf[ends.indices].all() else "path"


@dataclass(frozen=True)
class HierarchySpace:
    """The nodes of a model, and the way to them from the user's nodes and back.

    Attributes
    ----------
    hierarchy : Hierarchy, the user's
    kind : str, one of `SPACES`
    node : int64 array of shape (m,)
        The user's node that each node of the model stands for; a stop stands for its parent.
    is_stop : bool array of shape (m,)
    always : int64 array, the user's nodes that are in every output
    shape : HierarchyShape, of the nodes of the model
    """

    hierarchy: Hierarchy
    kind: str
    node: np.ndarray
    is_stop: np.ndarray
    always: np.ndarray
    shape: HierarchyShape

    @classmethod
    def learn(cls, hierarchy: Hierarchy, closed: sp.csr_matrix, kind: str) -> Self:
        """Return the space of the labels that occur, closed sets of shape (n, n_nodes)."""
        ends = hierarchy.most_specific(closed)
        _check_labels(kind, hierarchy, ends)
        count = np.asarray((closed != 0).sum(axis=0)).ravel()
        return cls._build(
            hierarchy, kind, count > 0, count == closed.shape[0], np.unique(ends.indices)
        )

    @classmethod
    def whole(cls, hierarchy: Hierarchy, kind: str) -> Self:
        """Return the space of all labels of a hierarchy, whether they occur or not."""
        every = np.ones(len(hierarchy), dtype=bool)
        inner_too = kind == "path"
        ends = np.flatnonzero(every if inner_too else hierarchy.is_leaf)
        common = np.zeros(len(hierarchy), dtype=bool)
        if kind != "closed":  # the empty set has no node, so that no node is in all labels
            closed = hierarchy.ancestry[ends]
            common = np.asarray((closed != 0).sum(axis=0)).ravel() == len(ends)
        return cls._build(hierarchy, kind, every, common, ends)

    @classmethod
    def _build(
        cls,
        hierarchy: Hierarchy,
        kind: str,
        is_used: np.ndarray,
        is_common: np.ndarray,
        ends: np.ndarray,
    ) -> Self:
        edges = hierarchy.edges()
        has_child = np.zeros(len(hierarchy), dtype=bool)
        has_child[edges[is_used[edges[:, 0]], 1]] = True
        stops = ends[has_child[ends]] if kind in ("path", "paths") else np.zeros(0, dtype=np.int64)
        n_free = int((is_used & ~is_common).sum()) + len(stops)
        if kind == "paths":  # a leaf of all labels is kept, since no output is empty
            is_common = is_common & has_child
        kept = np.flatnonzero(is_used & ~is_common)
        n_nodes = len(kept) + len(stops)
        if n_free == 0 or (n_nodes == 1 and kind != "closed"):
            only = hierarchy.nodes[ends].tolist()
            what = f"only one class, {only[0]!r}," if only else "no label"
            raise ValueError(f"There is {what} in y; at least 2 are needed.")
        place = np.full(len(hierarchy), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        inside = edges[(place[edges[:, 0]] >= 0) & (place[edges[:, 1]] >= 0)]
        child, parent = place[inside[:, 0]], place[inside[:, 1]]
        own = np.arange(len(stops)) + len(kept)  # below nodes that may themselves be common
        has_parent = place[stops] >= 0
        shape = hierarchy_shape(
            len(kept) + len(stops),
            np.concatenate([child, own[has_parent]]),
            np.concatenate([parent, place[stops][has_parent]]),
        )
        is_stop = np.arange(len(kept) + len(stops)) >= len(kept)
        return cls(
            hierarchy,
            kind,
            np.concatenate([kept, stops]).astype(np.int64),
            is_stop,
            np.flatnonzero(is_used & is_common).astype(np.int64),
            shape,
        )

    # -- what it looks like ----------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.node)

    @property
    def has_one(self) -> bool:
        """Whether an output is one path."""
        return self.kind in ("leaf", "path")

    @property
    def leaves(self) -> np.ndarray:
        """The nodes of the model without children: where each output is one path, its labels."""
        return np.flatnonzero(np.diff(self.shape.child_at) == 0)

    @property
    def names(self) -> np.ndarray:
        """The names of the user's nodes that the nodes of the model stand for."""
        return self.hierarchy.nodes[self.node]

    @property
    def given(self) -> GivenHierarchy:
        """The user's hierarchy, as costs look at it."""
        is_common = np.zeros(len(self.hierarchy), dtype=bool)
        is_common[self.always] = True
        own = self.hierarchy.shape
        return GivenHierarchy(self.node, self.is_stop, is_common, own.parent_at, own.parents)

    @property
    def classes(self) -> np.ndarray:
        """The names of the labels where each output is one path, else of all nodes."""
        return self.names[self.leaves] if self.has_one else self.names

    # -- there and back --------------------------------------------------------------------------

    def codes(self, closed: sp.csr_matrix) -> np.ndarray:
        """Return the label of each closed set that is one path: its place in `leaves`, int32."""
        ends = self.hierarchy.most_specific(closed)
        _check_labels(self.kind, self.hierarchy, ends)
        code = np.full(len(self.hierarchy), -1, dtype=np.int32)
        code[self.node[self.leaves]] = np.arange(len(self.leaves))
        found = code[ends.indices]
        if (found < 0).any():
            self._refuse_unseen(int(np.flatnonzero(found < 0)[0]), ends)
        return found

    def cells(self, closed: sp.csr_matrix) -> sp.csr_matrix:
        """Return closed sets over the user's nodes as those of the model: int32, shape (n, m)."""
        ends = self.hierarchy.most_specific(closed)
        _check_labels(self.kind, self.hierarchy, ends)
        plain, stops = self.node[~self.is_stop], self.node[self.is_stop]
        found = sp.csr_matrix(sp.hstack([closed[:, plain], ends[:, stops]]), dtype=np.int32)
        found.eliminate_zeros()
        found.sort_indices()
        wrong = np.diff(self.closed(found).indptr) != np.diff(closed.indptr)
        if self.kind == "paths":  # at inner nodes that have no stop, no output may end
            at_leaf = np.isin(ends.indices, self.node[self.leaves])
            wrong |= np.bincount(_row_of(ends)[~at_leaf], minlength=ends.shape[0]) > 0
        if wrong.any():
            self._refuse_unseen(int(np.flatnonzero(wrong)[0]), ends)
        return found

    def closed(self, cells: Any) -> sp.csr_matrix:
        """Return sets of nodes of the model as closed sets over the user's nodes."""
        own = sp.csr_matrix(cells, dtype=np.int32)[:, np.flatnonzero(~self.is_stop)].tocoo()
        n = own.shape[0]
        rows = np.concatenate([own.row, np.repeat(np.arange(n), len(self.always))])
        columns = np.concatenate([self.node[own.col], np.tile(self.always, n)])
        ones = np.ones(len(rows), dtype=np.int32)
        found = sp.csr_matrix((ones, (rows, columns)), shape=(n, len(self.hierarchy)))
        found.sort_indices()
        return found

    def closed_of(self, codes: np.ndarray) -> sp.csr_matrix:
        """Return the paths of labels as closed sets over the user's nodes."""
        return sp.csr_matrix(self.hierarchy.ancestry[self.node[self.leaves[np.asarray(codes)]]])

    def ancestry(self) -> sp.csr_matrix:
        """Row v marks the nodes of the model on the paths to its node v; int32, shape (m, m)."""
        node = self.node[~self.is_stop]
        above = self.hierarchy.ancestry[self.node][:, node]
        own = sp.identity(len(self), dtype=np.int32, format="csr")[:, np.flatnonzero(self.is_stop)]
        return sp.csr_matrix(sp.hstack([above, own]), dtype=np.int32)

    def _refuse_unseen(self, i: int, ends: sp.csr_matrix) -> None:
        some = self.hierarchy.nodes[ends.indices[ends.indptr[i] : ends.indptr[i + 1]]].tolist()
        raise ValueError(
            f"y[{i}] is {', '.join(map(repr, some[:3]))}, a label that the first examples did not "
            "have: pass the hierarchy with all nodes there will be."
        )

    # -- files -----------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds of it, besides the hierarchy."""
        return {
            "space": self.kind,
            "nodes": self.node.tolist(),
            "n_stops": int(self.is_stop.sum()),
            "always": self.always.tolist(),
        }

    @classmethod
    def from_state(cls, hierarchy: Hierarchy, state: Any) -> Self:
        """Return the space that `to_state` was called on; refuse what it cannot have given."""
        if not isinstance(state, dict) or set(state) != {"space", "nodes", "n_stops", "always"}:
            raise ValueError(f"space must have a kind, nodes and stops, got {state!r:.80}")
        if state["space"] not in SPACES:
            raise ValueError(f"space must be one of {', '.join(SPACES)}, got {state!r:.80}")
        for name in ("nodes", "always"):
            places = state[name]
            is_list = isinstance(places, list) and all(type(v) is int for v in places)
            if not is_list or not all(0 <= v < len(hierarchy) for v in places):
                raise ValueError(f"space[{name!r}] must be nodes of the hierarchy")
        nodes, n_stops = state["nodes"], state["n_stops"]
        if type(n_stops) is not int or not 0 <= n_stops <= len(nodes):
            raise ValueError(f"space['n_stops'] must be a number of nodes, got {n_stops!r:.80}")
        plain = np.array(nodes[: len(nodes) - n_stops], dtype=np.int64)
        stops = np.array(nodes[len(nodes) - n_stops :], dtype=np.int64)
        always = np.array(state["always"], dtype=np.int64)
        is_used = np.zeros(len(hierarchy), dtype=bool)
        is_used[plain] = is_used[always] = True
        is_common = np.zeros(len(hierarchy), dtype=bool)
        is_common[always] = True
        found = cls._build(hierarchy, state["space"], is_used, is_common, stops)
        if found.to_state() != state:
            raise ValueError("space has nodes that no labels of this hierarchy have")
        return found


def _row_of(cells: sp.csr_matrix) -> np.ndarray:
    """Return the row of each cell that is not 0."""
    return np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))


def _check_labels(kind: str, hierarchy: Hierarchy, ends: sp.csr_matrix) -> None:
    """Refuse labels that a space does not have, naming one that does."""
    counts = np.diff(ends.indptr)
    if kind == "closed":
        return
    if (counts == 0).any():
        i = int(np.flatnonzero(counts == 0)[0])
        raise ValueError(
            f"y[{i}] is empty: space={kind!r} has {SPACES[kind]}. The space 'closed' has the empty "
            "set too."
        )
    if kind in ("leaf", "path") and (counts > 1).any():
        i = int(np.flatnonzero(counts > 1)[0])
        some = hierarchy.nodes[ends.indices[ends.indptr[i] : ends.indptr[i + 1]]].tolist()
        raise ValueError(
            f"y[{i}] has {len(some)} most specific nodes, {', '.join(map(repr, some[:3]))}: "
            f"space={kind!r} has {SPACES[kind]}. For several paths there are 'paths' and 'closed'."
        )
    if kind == "leaf" and not hierarchy.is_leaf[ends.indices].all():
        i = int(np.flatnonzero(~hierarchy.is_leaf[ends.indices])[0])  # one node per label
        name = hierarchy.nodes.tolist()[ends.indices[i]]
        raise ValueError(
            f"y[{i}] is the inner node {name!r}: space='leaf' has {SPACES['leaf']}. Paths that end "
            "at inner nodes are those of space='path'."
        )
