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

from maxmargin.inference.hierarchy.shape import HierarchyShape, hierarchy_shape
from maxmargin.inputs.checks import unknown
from maxmargin.inputs.hierarchy import Hierarchy

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
        kept = np.flatnonzero(is_used & ~is_common)
        if len(kept) + len(stops) < 2 and kind != "closed" or len(kept) + len(stops) == 0:
            only = hierarchy.nodes[ends].tolist()
            what = f"only one label, {only[0]!r}" if only else "no label"
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
    def classes(self) -> np.ndarray:
        """The names of the labels where each output is one path, else of all nodes."""
        return self.names[self.leaves] if self.has_one else self.names

    # -- there and back --------------------------------------------------------------------------

    def cells(self, closed: sp.csr_matrix) -> np.ndarray:
        """Return closed sets over the user's nodes as those of the model: int8, shape (n, m).

        Nodes that the model does not have are left out. Of one path, or of paths, what is left may
        be no output of the model, and is then extended by the first leaf below it.
        """
        found = np.zeros((closed.shape[0], len(self)), dtype=np.int8)
        plain = np.flatnonzero(~self.is_stop)
        found[:, plain] = closed[:, self.node[plain]].toarray()
        if self.kind == "closed":
            return found
        for k in np.flatnonzero(self.is_stop).tolist():
            v = int(self.node[k])
            below = self._model_children(v)
            at_v = np.asarray(closed[:, [v]].todense()).ravel() > 0
            found[:, k] = at_v & ~found[:, below].any(axis=1) if len(below) else at_v
        self._complete(found)
        return found

    def codes(self, closed: sp.csr_matrix) -> np.ndarray:
        """Return the label of each closed set, its place in `leaves`; int32, shape (n,)."""
        leaves = self.leaves
        return self.cells(closed)[:, leaves].argmax(axis=1).astype(np.int32)

    def known(self, closed: sp.csr_matrix) -> np.ndarray:
        """Tell which closed sets are outputs of the model: none of their nodes is unseen."""
        return np.asarray((self.closed(self.cells(closed)) != closed).sum(axis=1)).ravel() == 0

    def closed(self, cells: np.ndarray) -> sp.csr_matrix:
        """Return sets of nodes of the model as closed sets over the user's nodes."""
        plain = np.flatnonzero(~self.is_stop)
        found = np.zeros((len(cells), len(self.hierarchy)), dtype=np.int32)
        found[:, self.node[plain]] = np.asarray(cells)[:, plain] != 0
        found[:, self.always] = 1
        return sp.csr_matrix(found)

    def paths_of(self, codes: np.ndarray) -> np.ndarray:
        """Return the nodes of the model on the path of each label; int8, shape (n, m)."""
        return self.path_table[np.asarray(codes)]

    @property
    def path_table(self) -> np.ndarray:
        """The nodes of the model on the path of each label, as rows; int8, shape (K, m)."""
        found = np.zeros((len(self), len(self)), dtype=np.int8)
        for v in range(len(self)):
            own = self.shape.parents[self.shape.parent_at[v] : self.shape.parent_at[v + 1]]
            found[v] = found[own].any(axis=0)
            found[v, v] = 1
        return found[self.leaves]

    def _model_children(self, v: int) -> np.ndarray:
        """Return the nodes of the model that stand for children of a user's node."""
        shape = self.hierarchy.shape
        below = shape.children[shape.child_at[v] : shape.child_at[v + 1]]
        return np.flatnonzero(np.isin(self.node, below) & ~self.is_stop)

    def _complete(self, cells: np.ndarray) -> None:
        """Extend sets without a leaf below one of their nodes by the first leaf below it."""
        shape = self.shape
        first = np.arange(len(self))  # the first leaf below each node
        for v in range(len(self) - 1, -1, -1):
            below = shape.children[shape.child_at[v] : shape.child_at[v + 1]]
            if len(below):
                first[v] = first[below[0]]
        table = self.path_table
        row = {int(leaf): k for k, leaf in enumerate(self.leaves)}
        leaves = self.leaves
        for i in np.flatnonzero(~cells[:, leaves].any(axis=1)):
            inside = np.flatnonzero(cells[i])
            start = int(inside[-1]) if len(inside) else 0
            path = table[row[int(first[start])]]
            cells[i] = np.maximum(cells[i], path) if self.kind == "paths" else path
        if self.kind == "paths":
            self._complete_inner(cells, first, table, row)

    def _complete_inner(
        self, cells: np.ndarray, first: np.ndarray, table: np.ndarray, row: dict[int, int]
    ) -> None:
        """Extend sets with an inner node none of whose children is in them."""
        shape = self.shape
        for v in range(len(self)):
            below = shape.children[shape.child_at[v] : shape.child_at[v + 1]]
            if len(below):
                short = (cells[:, v] > 0) & ~cells[:, below].any(axis=1)
                cells[short] = np.maximum(cells[short], table[row[int(first[v])]])

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
        i = int(np.flatnonzero(~hierarchy.is_leaf[ends.indices])[0])
        name = hierarchy.nodes.tolist()[ends.indices[i]]
        raise ValueError(
            f"y[{i}] is the inner node {name!r}: space='leaf' has {SPACES['leaf']}. Paths that end "
            "at inner nodes are those of space='path'."
        )
