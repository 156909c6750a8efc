"""What all baselines of hierarchies share: reading, answers that agree, and model files."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.hierarchy.encoding import HierarchyOptions, HierarchyReader
from maxmargin.estimators.hierarchy.local import agreed, best_path, to_leaves
from maxmargin.estimators.hierarchy.measures import weighted_score
from maxmargin.inputs.checks import check_number, check_weights
from maxmargin.inputs.columns import check_columns
from maxmargin.inputs.hierarchy import Hierarchy
from maxmargin.inputs.hierarchy.paths import check_separator
from maxmargin.inputs.hierarchy.space import check_space
from maxmargin.inputs.rows import RowInputs
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.persistence import save_estimator
from maxmargin.training.storage import common_state, restore_features

__all__ = ["Baseline"]


class Baseline(RowInputs, ClassifierMixin, BaseEstimator):
    """Reading, writing and files, for all baselines; subclasses learn scores of nodes."""

    model = "nodes"  # what has weights, as in `HierarchySVM`
    min_count = 1
    n_hashed_features = None
    C: float
    hierarchy: Any
    space: str
    separator: str
    missing: str
    random_state: Any
    _reader: HierarchyReader

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows and labels of the forms that `HierarchySVM` takes."""
        self._check_parameters()
        rows = self._columned(self._rows(X, reset=True), reset=True)
        options = HierarchyOptions(
            self.hierarchy, self.space, self.separator, "none", 2.0, False, True
        )
        reader, labels = HierarchyReader.learn(y, rows.shape[0], options)
        weight = check_weights(sample_weight, rows.shape[0])
        self._read_by(reader)
        space = reader.space
        if space.has_one:
            codes = space.codes(labels.closed)
            cells = sp.csr_matrix(space.ancestry()[space.leaves[codes]])
        else:
            cells = space.cells(labels.closed)
        self._learn(rows, cells.tocsc(), weight)
        return self

    def _check_parameters(self) -> None:
        check_number("C", self.C)
        check_columns(self.missing)
        check_space(self.space)
        check_separator(self.separator)

    def _read_by(self, reader: HierarchyReader) -> None:
        self._reader, space = reader, reader.space
        self.hierarchy_: Hierarchy = space.hierarchy
        self.space_, self.nodes_ = space.kind, space.names
        self.classes_ = space.classes if space.has_one else space.names[~space.is_stop]

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

    def predict(self, X: Any, *, threshold: float | None = None) -> Any:
        """Return labels that agree with the hierarchy, in the form that y had at fit.

        Parameters
        ----------
        X : as in `fit`
        threshold : float or None
            Keep only nodes whose `node_scores` are above it, of one path those of the path alone,
            its first node always. None: 0 where outputs are sets, and the whole path.
        """
        rows = self._checked(X)
        if threshold is None:
            return self._reader.write(self._flags(rows))
        value = check_number("threshold", threshold, -np.inf, closed=True)
        space = self._reader.space
        kept = agreed(self._local_scores(rows), space) > value
        if space.has_one:
            flags = self._flags(rows)
            kept &= flags
            if len(space.always) == 0:  # else the nodes of all labels are kept
                kept[np.arange(len(kept)), flags.argmax(axis=1)] = True
        return self._reader.write(kept)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of `classes_`, never more than nodes above them have.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Where an output is one path, the scores of the labels; for two labels of shape
            (n_samples,), the second less the first. Else the scores of the nodes. (`predict` of
            local classifiers goes down from the top, and may end at another label than the best.)
        """
        scores = agreed(self._local_scores(self._checked(X)), self._reader.space)
        space = self._reader.space
        if not space.has_one:
            return scores[:, ~space.is_stop]
        found = scores[:, space.leaves]
        return found[:, 1] - found[:, 0] if found.shape[1] == 2 else found

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

    # -- files -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, for `maxmargin.load`."""
        check_is_fitted(self, "space_")
        save_estimator(path, self)

    def _learnt_arrays(self) -> dict[str, np.ndarray]:
        raise NotImplementedError

    def _restore_learnt(self, arrays: Arrays) -> None:
        raise NotImplementedError

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays) for a model file."""
        params = self.get_params(deep=False)
        if params["hierarchy"] is not None:
            params["hierarchy"] = self.hierarchy_.to_state()
        if params["random_state"] is not None and not isinstance(params["random_state"], int):
            raise TypeError("random_state must be an integer or None in a model file.")
        fitted, arrays = common_state(self)
        del fitted["classes_"]  # the space tells them
        own, more = self._reader.to_state()
        fitted["columns"], of_columns = self.columns_.to_state()
        fitted |= {**own, "features": self._rows_state()}
        arrays = {**arrays, **more, **of_columns, **self._learnt_arrays()}
        return {"params": params, "fitted": fitted}, arrays

    @classmethod
    def from_state(cls, meta: Any, arrays: dict[str, Any]) -> Self:
        """Return what `to_state` was called on; refuse what it cannot have written."""
        parts = Fields(meta, "it")
        params = Fields(parts.take("params"), "params")
        fields, own = parts.fields("fitted"), Arrays(arrays)
        parts.close()
        estimator = cls()
        for name in estimator.get_params(deep=False):
            setattr(estimator, name, params.take(name))
        params.close()
        if estimator.hierarchy is not None:
            estimator.hierarchy = Hierarchy.from_state(estimator.hierarchy)
        estimator._check_parameters()
        restore_features(estimator, fields)
        estimator._restore_rows(fields)
        estimator._restore_columns(fields, own)
        estimator._read_by(HierarchyReader.from_state(fields, own))
        fields.close()
        estimator._restore_learnt(own)
        own.close()
        return estimator
