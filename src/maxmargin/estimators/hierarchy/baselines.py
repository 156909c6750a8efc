"""What hierarchies are compared with: classifiers of single labels or nodes, made to agree.

They take the same hierarchies and labels as `HierarchySVM`, keep the same nodes, and return the
same forms. None of them is learnt jointly: `FlatSVM` knows the hierarchy only to make its answers
agree with it, `LocalSVM` and `LocalRidge` learn each node from the examples of the nodes above it.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.hierarchy.encoding import HierarchyOptions, HierarchyReader
from maxmargin.estimators.hierarchy.local import (
    NodeProblem,
    agreed,
    best_path,
    node_problems,
    to_leaves,
)
from maxmargin.estimators.hierarchy.measures import weighted_score
from maxmargin.estimators.hierarchy.ridge import RidgeGroup
from maxmargin.inputs.checks import check_number, check_weights
from maxmargin.inputs.columns import check_columns
from maxmargin.inputs.hierarchy import Hierarchy
from maxmargin.inputs.hierarchy.paths import check_separator
from maxmargin.inputs.hierarchy.space import check_space
from maxmargin.inputs.rows import RowInputs

__all__ = ["FlatSVM", "LocalRidge", "LocalSVM"]


class _Baseline(RowInputs, ClassifierMixin, BaseEstimator):
    """Reading and writing, for all baselines; subclasses learn scores of nodes."""

    min_count = 1
    n_hashed_features = None
    C: float
    hierarchy: Any
    space: str
    separator: str
    missing: str
    random_state: Any
    _reader: HierarchyReader

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows and labels of the forms that `HierarchySVM` takes."""
        check_number("C", self.C)
        check_columns(self.missing)
        check_space(self.space)
        check_separator(self.separator)
        rows = self._columned(self._rows(X, reset=True), reset=True)
        options = HierarchyOptions(
            self.hierarchy, self.space, self.separator, "none", 2.0, False, True
        )
        reader, labels = HierarchyReader.learn(y, rows.shape[0], options)
        weight = check_weights(sample_weight, rows.shape[0])
        self._reader, space = reader, reader.space
        self.hierarchy_: Hierarchy = space.hierarchy
        self.space_, self.nodes_ = space.kind, space.names
        self.classes_ = space.classes if space.has_one else space.names[~space.is_stop]
        if space.has_one:
            codes = space.codes(labels.closed)
            cells = sp.csr_matrix(space.ancestry()[space.leaves[codes]])
        else:
            cells = space.cells(labels.closed)
        self._learn(rows, cells.tocsc(), weight)
        return self

    def _learn(self, rows: Any, cells: sp.csc_matrix, weight: np.ndarray) -> None:
        raise NotImplementedError

    def _local_scores(self, rows: Any) -> np.ndarray:
        """Return the scores of the nodes of the model; inf where there was nothing to learn."""
        raise NotImplementedError

    def _flags(self, rows: Any) -> np.ndarray:
        scores = self._local_scores(rows)
        space = self._reader.space
        if space.has_one:
            return best_path(scores, space)
        flags = agreed(scores, space) > 0.0
        return to_leaves(flags, scores, space) if space.kind == "paths" else flags

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "space_")
        return self._columned(self._rows(X, reset=False), reset=False)

    def predict(self, X: Any) -> Any:
        """Return labels that agree with the hierarchy, in the form that y had at fit."""
        return self._reader.write(self._flags(self._checked(X)))

    def node_scores(self, X: Any) -> np.ndarray:
        """Return the score of every node of `hierarchy_`, never more than those above it have.

        inf for nodes that were in every label at fit, -inf for those that were in none.
        """
        rows = self._checked(X)
        space = self._reader.space
        found = np.full((rows.shape[0], len(self.hierarchy_)), -np.inf)
        plain = ~space.is_stop
        found[:, space.node[plain]] = agreed(self._local_scores(rows), space)[:, plain]
        found[:, space.always] = np.inf
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy where a label is one path, else micro-F1 over nodes."""
        rows = self._checked(X)
        labels = self._reader.read(y, rows.shape[0], extend=True)
        weight = check_weights(sample_weight, rows.shape[0])
        truth, guess = self._reader.compare(labels, self._flags(rows))
        return weighted_score(self._reader.space.has_one, truth, guess, weight)


def _linear(C: float, random_state: Any) -> Any:
    from sklearn.svm import LinearSVC  # here, because other estimators do not need it

    return LinearSVC(C=C, random_state=random_state, dual="auto")


class FlatSVM(_Baseline):
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

    def __init__(
        self,
        *,
        C: float = 1.0,
        hierarchy: Any = None,
        space: str = "auto",
        separator: str = "/",
        missing: str = "indicator",
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.hierarchy = hierarchy
        self.space = space
        self.separator = separator
        self.missing = missing
        self.random_state = random_state

    def _learn(self, rows: Any, cells: sp.csc_matrix, weight: np.ndarray) -> None:
        space = self._reader.space
        columns = space.leaves if space.has_one else np.arange(len(space))
        self._models = []
        for v in columns.tolist():
            target = _column(cells, v)
            model = _linear(self.C, self.random_state)
            self._models.append((v, model.fit(rows, target, sample_weight=weight)))

    def _local_scores(self, rows: Any) -> np.ndarray:
        found = np.full((rows.shape[0], len(self._reader.space)), np.inf)
        for v, model in self._models:
            found[:, v] = model.decision_function(rows)
        return found

    def _flags(self, rows: Any) -> np.ndarray:
        space = self._reader.space
        if not space.has_one:
            return super()._flags(rows)
        codes = self._local_scores(rows)[:, space.leaves].argmax(axis=1)
        return np.asarray(space.ancestry()[space.leaves[codes]].toarray() > 0)


class LocalSVM(_Baseline):
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

    def __init__(
        self,
        *,
        C: float = 1.0,
        hierarchy: Any = None,
        space: str = "auto",
        separator: str = "/",
        missing: str = "indicator",
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.hierarchy = hierarchy
        self.space = space
        self.separator = separator
        self.missing = missing
        self.random_state = random_state

    def _learn(self, rows: Any, cells: sp.csc_matrix, weight: np.ndarray) -> None:
        self._models = []
        for problem in node_problems(cells, self._reader.space):
            own = problem.rows
            for v, target in zip(problem.nodes, problem.targets.T, strict=True):
                model = _linear(self.C, self.random_state)
                model.fit(rows[own], target, sample_weight=weight[own])
                self._models.append((v, model))

    def _local_scores(self, rows: Any) -> np.ndarray:
        found = np.full((rows.shape[0], len(self._reader.space)), np.inf)
        for v, model in self._models:
            found[:, v] = model.decision_function(rows)
        return found


class LocalRidge(_Baseline):
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
        self.C = C
        self.leverage = leverage
        self.hierarchy = hierarchy
        self.space = space
        self.separator = separator
        self.missing = missing
        self.random_state = random_state

    def _learn(self, rows: Any, cells: sp.csc_matrix, weight: np.ndarray) -> None:
        self._groups: list[tuple[NodeProblem, RidgeGroup]] = []
        for problem in node_problems(cells, self._reader.space):
            group = RidgeGroup.learn(
                rows[problem.rows],
                2.0 * problem.targets - 1.0,
                weight[problem.rows],
                float(self.C),
                self.leverage,
            )
            self._groups.append((problem, group))

    def _local_scores(self, rows: Any) -> np.ndarray:
        found = np.full((rows.shape[0], len(self._reader.space)), np.inf)
        for problem, group in self._groups:
            found[:, problem.nodes] = group.scores(rows)
        return found


def _column(cells: sp.csc_matrix, v: int) -> np.ndarray:
    found = np.zeros(cells.shape[0], dtype=bool)
    found[cells.indices[cells.indptr[v] : cells.indptr[v + 1]]] = True
    return found
