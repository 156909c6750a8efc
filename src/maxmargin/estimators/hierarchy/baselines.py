"""What hierarchies are compared with: classifiers of single labels or nodes, made to agree.

They take the same hierarchies and labels as `HierarchySVM`, keep the same nodes, and return the
same forms. None of them is learnt jointly: `FlatSVM` knows the hierarchy only to make its answers
agree with it, `LocalSVM` and `LocalRidge` learn each node from the examples of the nodes above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.estimators.hierarchy.baseline import Baseline
from maxmargin.estimators.hierarchy.local import node_problems
from maxmargin.estimators.hierarchy.ridge import RidgeGroup
from maxmargin.estimators.topk import TopK
from maxmargin.inputs.checks import check_number
from maxmargin.inputs.stored import Arrays
from maxmargin.persistence import register

__all__ = ["FlatSVM", "LocalRidge", "LocalSVM"]


class LinearBaseline(Baseline):
    """One LinearSVC of scikit-learn for each of some nodes; subclasses say what they tell apart."""

    def _problems(self, cells: sp.csc_matrix) -> Iterator[tuple[int, Any, np.ndarray]]:
        """Yield nodes, each with its examples and their targets."""
        raise NotImplementedError

    def _machine(self) -> Any:
        """Return an unfitted classifier of two classes."""
        from sklearn.svm import LinearSVC  # here, because other estimators do not need it

        return LinearSVC(C=self.C, random_state=self.random_state, dual="auto")

    def _learn(self, rows: Any, cells: sp.csc_matrix, weight: np.ndarray) -> None:
        nodes, weights = [], []
        for v, own, target in self._problems(cells):
            model = self._machine().fit(rows[own], target, sample_weight=weight[own])
            nodes.append(v)
            weights.append(np.append(model.coef_[0], model.intercept_))
        self._learnt = np.array(nodes, dtype=np.int64)
        self._weights = np.array(weights).reshape(len(nodes), rows.shape[1] + 1)

    def _local_scores(self, rows: Any) -> np.ndarray:
        found = np.full((rows.shape[0], len(self._reader.space)), np.inf)
        found[:, self._learnt] = rows @ self._weights[:, :-1].T + self._weights[:, -1]
        return found

    @property
    def coef_(self) -> np.ndarray:
        """The weights of `nodes_`, (n_nodes, n_columns); 0 for those without a machine."""
        found = np.zeros((len(self._reader.space), self._weights.shape[1] - 1))
        found[self._learnt] = self._weights[:, :-1]
        return found

    def _learnt_arrays(self) -> dict[str, np.ndarray]:
        return {"nodes": self._learnt, "weights": self._weights}

    def _restore_learnt(self, arrays: Arrays) -> None:
        self._learnt = arrays.take("nodes", (None,), np.int64, 0, len(self._reader.space))
        n_columns = self.columns_.n_columns
        self._weights = arrays.take("weights", (len(self._learnt), n_columns + 1))


@register
class FlatSVM(LinearBaseline):
    """Linear SVMs that do not know the hierarchy: one against the rest, for each label or node.

    Where an output is one path, the label of best score is predicted. Sets of nodes are those whose
    own score and the scores of all nodes above are positive.

    Parameters
    ----------
    C : float > 0, of scikit-learn's LinearSVC
    hierarchy, space, separator, missing : as in `HierarchySVM`
    random_state : int or None

    Examples
    --------
    >>> X = [[2.0, 0.0], [1.0, 1.0], [0.0, 2.0], [-2.0, 0.0], [-1.0, -1.0]]
    >>> y = ["pet/cat", "pet/cat", "pet/dog", "wild/fox", "wild/fox"]
    >>> FlatSVM(C=10, random_state=0).fit(X, y).predict(X).tolist() == y
    True
    """

    def _problems(self, cells: sp.csc_matrix) -> Iterator[tuple[int, Any, np.ndarray]]:
        space = self._reader.space
        columns = space.leaves if space.has_one else np.arange(len(space))
        for v in columns.tolist():
            yield v, slice(None), _column(cells, v)

    def _flags(self, rows: Any) -> np.ndarray:
        space = self._reader.space
        if not space.has_one:
            return super()._flags(rows)
        codes = self._local_scores(rows)[:, space.leaves].argmax(axis=1)
        return np.asarray(space.ancestry()[space.leaves[codes]].toarray() > 0)

    def predict_topk(self, X: Any, k: int = 2) -> TopK:
        """Return the k labels of best score, best first, and their scores.

        Only where an output is one path: sets of nodes have no score here.
        """
        check_number("k", k, 1, closed=True, integer=True)
        rows = self._checked(X)
        space = self._reader.space
        if not space.has_one:
            raise ValueError(
                f"predict_topk of FlatSVM is for single paths, not for space={space.kind!r}: it "
                "scores nodes, not sets. HierarchySVM lists the best sets."
            )
        scores = self._local_scores(rows)[:, space.leaves]
        order = np.argsort(-scores, axis=1, kind="stable")[:, : int(k)]
        above = space.ancestry()
        outputs = [self._reader.write(above[space.leaves[row]].toarray() > 0) for row in order]
        return TopK(outputs, list(np.take_along_axis(scores, order, axis=1)))


@register
class LocalSVM(LinearBaseline):
    """A linear SVM for each node, learnt from the examples of all its parents ("H-SVM").

    Where an output is one path, the best child is taken from the top to a leaf. Sets of nodes are
    those whose own score and the scores of all nodes above are positive. A node that all examples
    of its parents have needs no SVM: it is there where its parents are.

    Parameters
    ----------
    C, hierarchy, space, separator, missing, random_state : as in `FlatSVM`

    Examples
    --------
    >>> X = [[2.0, 0.0], [1.0, 1.0], [0.0, 2.0], [-2.0, 0.0], [-1.0, -1.0]]
    >>> y = ["pet/cat", "pet/cat", "pet/dog", "wild/fox", "wild/fox"]
    >>> LocalSVM(C=10, random_state=0).fit(X, y).predict(X).tolist() == y
    True
    """

    def _problems(self, cells: sp.csc_matrix) -> Iterator[tuple[int, Any, np.ndarray]]:
        for problem in node_problems(cells, self._reader.space):
            for v, target in zip(problem.nodes.tolist(), problem.targets.T, strict=True):
                yield v, problem.rows, target


@register
class LocalRidge(Baseline):
    """Regularised least squares for each node, from the examples of all its parents ("H-RLS").

    The score of x is y' S (I/C + S S' + x x')^-1 x, where S has the examples as columns and y their
    targets, 1 and -1. It equals w.x / (1 + x' A^-1 x) with A = I/C + S S' and the ridge weights
    w = A^-1 S y, so that A is factorised once for all nodes with the same parents.

    Parameters
    ----------
    C : float > 0
        1 / C is the weight of |w|^2.
    leverage : bool
        Whether scores are divided by 1 + x' A^-1 x. The signs of scores do not depend on it. It
        needs a matrix of n_columns x n_columns numbers for each inner node.
    hierarchy, space, separator, missing : as in `FlatSVM`

    Examples
    --------
    >>> X = [[2.0, 0.0], [1.0, 1.0], [0.0, 2.0], [-2.0, 0.0], [-1.0, -1.0]]
    >>> y = ["pet/cat", "pet/cat", "pet/dog", "wild/fox", "wild/fox"]
    >>> LocalRidge(C=10).fit(X, y).predict(X).tolist() == y
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        leverage: bool = True,
        hierarchy: Any = None,
        space: str = "auto",
        separator: str = "/",
        missing: str = "indicator",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            C=C,
            hierarchy=hierarchy,
            space=space,
            separator=separator,
            missing=missing,
            random_state=random_state,
        )
        self.leverage = leverage

    def _learn(self, rows: Any, cells: sp.csc_matrix, weight: np.ndarray) -> None:
        self._groups: list[tuple[np.ndarray, RidgeGroup]] = []
        for problem in node_problems(cells, self._reader.space):
            group = RidgeGroup.learn(
                rows[problem.rows],
                2.0 * problem.targets - 1.0,
                weight[problem.rows],
                float(self.C),
                self.leverage,
            )
            self._groups.append((problem.nodes, group))

    def _local_scores(self, rows: Any) -> np.ndarray:
        found = np.full((rows.shape[0], len(self._reader.space)), np.inf)
        for nodes, group in self._groups:
            found[:, nodes] = group.scores(rows)
        return found

    def _learnt_arrays(self) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for k, (nodes, group) in enumerate(self._groups):
            arrays |= {f"nodes.{k}": nodes.astype(np.int64), f"weights.{k}": group.weights}
            if group.factor is not None:
                arrays[f"factor.{k}"] = np.tril(group.factor[0])
        return arrays

    def _restore_learnt(self, arrays: Arrays) -> None:
        self._groups = []
        size = self.columns_.n_columns + 1
        while f"nodes.{len(self._groups)}" in arrays:
            k, n_nodes = len(self._groups), len(self._reader.space)
            nodes = arrays.take(f"nodes.{k}", (None,), np.int64, 0, n_nodes)
            weights = arrays.take(f"weights.{k}", (size, len(nodes)))
            factor = None
            if self.leverage:
                lower = arrays.take(f"factor.{k}", (size, size))
                if not (np.diag(lower) > 0.0).all():
                    raise ValueError(f"array 'factor.{k}' must be a Cholesky factor")
                factor = lower, True
            self._groups.append((nodes, RidgeGroup(weights, factor)))


def _column(cells: sp.csc_matrix, v: int) -> np.ndarray:
    found = np.zeros(cells.shape[0], dtype=bool)
    found[cells.indices[cells.indptr[v] : cells.indptr[v + 1]]] = True
    return found
