"""Hierarchies: what X, y and w mean, for all that estimators share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.costs import Cost
from maxmargin.estimators.hierarchy.encoding import (
    HierarchyOptions,
    HierarchyReader,
    alpha_numbers,
)
from maxmargin.estimators.hierarchy.fields import (
    FieldScores,
    check_field,
    check_path_loss,
    field_cost,
    field_names,
    field_space,
)
from maxmargin.estimators.hierarchy.measures import HIERARCHY_METRICS, weighted_score
from maxmargin.estimators.hierarchy.prices import path_losses
from maxmargin.estimators.hierarchy.scores import NodeScores
from maxmargin.estimators.hooks import Hooks
from maxmargin.inputs.checks import check_number, check_weights, unknown
from maxmargin.inputs.columns import check_columns
from maxmargin.inputs.hierarchy import Hierarchy
from maxmargin.inputs.hierarchy.given import check_given, given_hierarchy, is_undecided
from maxmargin.inputs.hierarchy.labels import read_nodes
from maxmargin.inputs.hierarchy.paths import check_separator
from maxmargin.inputs.hierarchy.space import check_space
from maxmargin.inputs.kernel_rows import KernelInputs
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.inputs.vocabulary import FeatureTable
from maxmargin.regularizers import Diagonal
from maxmargin.regularizers.hierarchy import ALPHAS
from maxmargin.solvers.listed.sparse.weights import SparseWeights
from maxmargin.surrogates import MicroF1
from maxmargin.training.scoring import Score
from maxmargin.training.settings import Settings, check_flags, n_threads, resolve_cost
from maxmargin.training.shared_norm import learnt_weights, with_shared_norm
from maxmargin.training.task import Task

#: What cost="auto" stands for, by whether an output is one path.
AUTO_COSTS = {True: "normalized_hierarchical", False: "node_hamming"}
#: So many scores of nodes are held at once in prediction.
MOST_CELLS = 4_000_000


class HierarchyHooks(KernelInputs, Hooks):
    """The part of `HierarchySVM` that knows what X, y and w mean."""

    cost: Any
    hierarchy: Any
    regularizer: Any
    space: str
    separator: str
    alpha: Any
    rho: float
    merge: bool
    missed_weight: float
    surrogate: Any
    fit_intercept: bool
    model: str
    coef_: np.ndarray
    intercept_: np.ndarray
    alpha_: np.ndarray
    hierarchy_: Hierarchy
    space_: str
    nodes_: np.ndarray
    _reader: HierarchyReader

    def _options(self) -> HierarchyOptions:
        return HierarchyOptions(
            self.hierarchy,
            self.space,
            self.separator,
            self.alpha,
            self.rho,
            self.merge,
            self.fit_intercept,
            self.model,
        )

    def _encode(
        self,
        request: Request,
        *,
        reset: bool,
        classes: Iterable[Any] | None = None,
        weighted: bool = True,
    ) -> Task:
        rows = self._inputs(request.X, reset)
        if reset:
            reader, labels = HierarchyReader.learn(
                request.y, rows.shape[0], self._options(), classes
            )
            self._read_by(reader)
        else:
            labels = self._reader.read(request.y, rows.shape[0], extend=False)
        if self.model != "nodes":
            return self._reader.task(request, rows, labels, field_cost(self.cost))
        has_one = self._reader.space.has_one
        if has_one and self.missed_weight != 1.0:
            raise ValueError(
                f"missed_weight={self.missed_weight:g} is for sets of nodes, space='closed' or "
                f"'paths'; here space={self._reader.space.kind!r}, and an output is one path."
            )
        cost = self._cost_of(has_one)
        if _is_named(self.cost, "path") and not self._reader.space.hierarchy.is_forest:
            check_path_loss(self._reader.space)
            cost = path_losses(self._reader.space)
        return self._reader.task(request, rows, labels, cost, float(self.missed_weight))

    def _cost_of(self, has_one: bool) -> Cost:
        name = AUTO_COSTS[has_one] if _is_named(self.cost, "auto") else self.cost
        if _is_named(name, "path"):  # on trees they are the same
            name = "edge"
        return resolve_cost(name, "paths" if has_one else "nodes")

    def _read_by(self, reader: HierarchyReader) -> None:
        self._reader = reader
        space = reader.space
        self.hierarchy_, self.space_ = space.hierarchy, space.kind
        self.nodes_, self.alpha_ = space.names, reader.alpha
        self.classes_ = space.classes if space.has_one else space.names[~space.is_stop]

    def _encode_inputs(self, request: Request) -> Any:
        return self._inputs(request.X, reset=False)

    def _stage(self, settings: Settings, task: Task) -> tuple[Settings, Task]:
        if not _is_shared(self.alpha):
            return settings, task
        return with_shared_norm(settings, task, self._reader.paths(self.merge)), task

    def _unpack(self, w: np.ndarray) -> None:
        if _is_shared(self.alpha):
            alpha = learnt_weights(self._reader.paths(self.merge), w)
            self._read_by(replace(self._reader, alpha=alpha))
        self.coef_, self.intercept_ = self._reader.split(w, self._n_columns())
        if self._reader.model != "nodes":
            self.edges_ = field_names(self._reader.space)

    # -- outputs ---------------------------------------------------------------------------------

    def _blocks(self, rows: Any, known: np.ndarray | None = None, w: Any = None) -> Any:
        """Yield the scores of the nodes, of some rows at a time."""
        size = max(1, MOST_CELLS // max(1, len(self._reader.space)))
        weights = self._weights() if w is None else w
        reader = self._reader
        if reader.model != "nodes":
            jobs = n_threads(self.n_jobs)
            yield FieldScores(
                rows, reader.space, weights, reader.model, reader.has_bias, jobs, known
            )
            return
        for first in range(0, rows.shape[0], size):
            part = slice(first, first + size)
            scores = self._reader.node_scores(weights, rows[part])
            yield NodeScores(scores, self._reader.space, None if known is None else known[part])

    def _weights(self) -> np.ndarray:
        return self.result_.w  # type: ignore[attr-defined, no-any-return]

    def _flags(self, rows: Any, known: np.ndarray | None = None, w: Any = None) -> np.ndarray:
        """Return the best outputs as flags of the nodes of the model."""
        found = [block.best() for block in self._blocks(rows, known, w)]
        empty = np.zeros((0, len(self._reader.space)), dtype=bool)
        return np.concatenate(found) if found else empty

    def _predictor(self, request: Request) -> Callable[[np.ndarray], Any]:
        rows = self._encode_inputs(request)
        return lambda w: self._reader.write(self._flags(rows, w=w))

    def _known(self, fixed: Any, n_examples: int) -> np.ndarray | None:
        """Return what ``fixed`` says of the nodes of the model, 1, 0 or -1, shape (n, m)."""
        if fixed is None:
            return None
        space = self._reader.space
        if isinstance(fixed, (str, bytes)) or not hasattr(fixed, "__len__"):
            raise TypeError(f"fixed must be a list, one entry per sample, got {fixed!r:.60}.")
        if len(fixed) != n_examples:
            raise ValueError(f"X has {n_examples} samples but fixed has {len(fixed)} entries.")
        known = np.full((n_examples, len(space)), -1, dtype=np.int8)
        above = space.ancestry()
        place = {int(v): k for k, v in enumerate(space.node) if not space.is_stop[k]}
        for i, entry in enumerate(fixed):
            for name, is_in in _fixed_nodes(entry, i):
                node = int(space.hierarchy.labels.encode([name], partial(_fixed_name, i))[0])
                if node not in place:
                    self._check_constant(node, is_in, i)
                else:
                    known[i, place[node]] = is_in
            self._close_known(known[i], above, i)
        return known

    def _close_known(self, known: np.ndarray, above: sp.csr_matrix, i: int) -> None:
        """Mark all nodes above those that are in; refuse one among them that is to be out."""
        names = self._reader.space.names
        for v in np.flatnonzero(known == 1):
            row = above[v]
            wanted = row.indices[row.data > 0]
            out = wanted[known[wanted] == 0]
            if len(out):
                lower, upper = names.tolist()[v], names.tolist()[out[0]]
                raise ValueError(
                    f"fixed[{i}] has {lower!r} in the output but {upper!r}, which is above it, not "
                    "in it: an output with a node has all nodes above it."
                )
            known[wanted] = 1

    def _check_constant(self, node: int, is_in: bool, i: int) -> None:
        """Refuse to fix a node that has no weights at what it is not."""
        space = self._reader.space
        if is_in != (node in space.always):
            name = space.hierarchy.nodes.tolist()[node]
            where = "in every label" if node in space.always else "in no label"
            raise ValueError(f"fixed[{i}] has the node {name!r}, which was {where} at fit.")

    # -- scores ----------------------------------------------------------------------------------

    def _scorer(self, request: Request) -> Score:
        rows = self._encode_inputs(request)
        labels = self._reader.read(request.y, rows.shape[0], extend=True)
        weight = check_weights(request.sample_weight, rows.shape[0])
        has_one = self._reader.space.has_one

        def score(w: np.ndarray) -> float:
            truth, guess = self._reader.compare(labels, self._flags(rows, w=w))
            return weighted_score(has_one, truth, guess, weight)

        return score

    def _score_name(self) -> str:
        return "accuracy" if self._reader.space.has_one else "hierarchical_f1"

    def _measure_names(self) -> tuple[str, ...]:
        return tuple(HIERARCHY_METRICS)

    def _measure(self, name: str) -> Callable[[Request], Score] | None:
        if name not in HIERARCHY_METRICS:
            return None
        return partial(self._by_metric, HIERARCHY_METRICS[name])

    def _by_metric(self, metric: Callable[[Any, Any], float], request: Request) -> Score:
        rows = self._encode_inputs(request)
        labels = self._reader.read(request.y, rows.shape[0], extend=True)
        return lambda w: metric(*self._reader.compare(labels, self._flags(rows, w=w)))

    def _stratification(self, y: Any) -> np.ndarray | None:
        several = {"auto": None, "leaf": False, "path": False}.get(self.space, True)
        n_examples = y.shape[0] if hasattr(y, "shape") else len(y)
        given = given_hierarchy(self.hierarchy, y, n_examples, self.separator, several)
        labels = read_nodes(y, n_examples, given, separator=self.separator, several=several)
        ends = labels.hierarchy.most_specific(labels.closed)
        return ends.indices if (np.diff(ends.indptr) == 1).all() else None

    # -- files and checks ------------------------------------------------------------------------

    def _layout(self) -> Any:
        space = self._reader.space
        alpha = "shared" if _is_shared(self.alpha) else self.alpha_.tolist()
        names = [self._reader.model, self.nodes_.tolist(), space.is_stop.tolist(), alpha]
        columns = self.columns_.layout(), self._kernel_layout()
        return [*names, self.n_features_in_, self._reader.has_bias, self._feature_names(), columns]

    def _n_weights(self) -> int:
        return self._reader.n_weights(self._n_columns())

    def _weights_to_arrays(self, w: Any) -> dict[str, np.ndarray]:
        return w.arrays() if isinstance(w, SparseWeights) else super()._weights_to_arrays(w)

    def _weights_from_arrays(self, arrays: Arrays) -> Any:
        reader = self._reader
        if "w.ends" not in arrays or reader.model != "nodes":
            return super()._weights_from_arrays(arrays)
        n_rows = self.columns_.n_columns + reader.has_bias
        return SparseWeights.from_arrays(arrays, n_rows, len(reader.space))

    def _fitted_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        meta, arrays = super()._fitted_state()
        del meta["classes_"]  # the space tells them
        own, more = self._reader.to_state()
        meta["columns"], of_columns = self.columns_.to_state()
        of_kernel, rows = self._kernel_state()
        state = {**meta, **own, **of_kernel, "features": self._rows_state()}
        return state, {**arrays, **more, **of_columns, **rows}

    def _restore_fitted(self, fields: Fields, arrays: Arrays) -> None:
        super()._restore_fitted(fields, arrays)
        self._restore_rows(fields)
        self._restore_columns(fields, arrays)
        self._restore_kernel(fields, arrays, self.columns_.n_columns)
        self._read_by(HierarchyReader.from_state(fields, arrays))

    def _param_to_state(self, name: str, value: Any) -> Any:
        if name == "hierarchy" and value is not None:
            if is_undecided(value, self.separator):
                return self.hierarchy_.to_state()  # in the reading of the labels
            return Hierarchy.of(value, self.separator).to_state()
        return super()._param_to_state(name, value)

    def _param_from_state(self, name: str, value: Any) -> Any:
        if name == "hierarchy" and value is not None:
            return Hierarchy.from_state(value)
        return super()._param_from_state(name, value)

    def _check_parameters(self) -> None:
        check_flags(self, "fit_intercept", "merge")
        self._check_kernel()
        if self.kernel is not None and _is_shared(self.alpha):
            raise ValueError(
                "alpha='shared' learns weights of nodes from features, and takes no kernel; the "
                "other weights do."
            )
        check_columns(self.missing)
        FeatureTable(self.min_count, self.n_hashed_features)
        check_space(self.space)
        check_field(self.model, self.cost, self.alpha)
        check_separator(self.separator)
        check_number("rho", self.rho, 1.0)
        self._check_missed_weight()
        if not isinstance(self.alpha, str):
            alpha_numbers(self.alpha)
        elif self.alpha not in ("auto", *ALPHAS):
            raise unknown("alpha", self.alpha, dict.fromkeys(("auto", *ALPHAS)), " Or an array.")
        if self.hierarchy is not None:
            check_given(self.hierarchy, self.separator)
        if self.model != "nodes":
            field_space(self.space)
            if isinstance(self.regularizer, Diagonal):
                raise ValueError(
                    f"regularizer=Diagonal is for model='nodes', not {self.model!r}: scale the "
                    "features by sqrt(alpha) instead."
                )
        elif not _is_named(self.cost, "auto"):
            self._check_cost()

    def _check_missed_weight(self) -> None:
        """Refuse a weight of missed nodes where no loss is a sum over single nodes."""
        if check_number("missed_weight", self.missed_weight) == 1.0:
            return
        if self.model != "nodes":
            raise ValueError(f"missed_weight needs model='nodes', got model={self.model!r}.")
        if self.surrogate == "micro_f1" or isinstance(self.surrogate, MicroF1):
            raise ValueError(
                "missed_weight cannot be used with surrogate='micro_f1', which has a cost of its "
                "own."
            )

    def _check_cost(self) -> None:
        """Refuse a cost that prices neither labels nor sets of nodes, as this space needs it."""
        if self.space != "auto":
            self._cost_of(self.space in ("leaf", "path"))
            return
        try:
            self._cost_of(True)
        except ValueError:
            self._cost_of(False)


def _is_shared(alpha: Any) -> bool:
    return isinstance(alpha, str) and alpha == "shared"


def _is_named(cost: Any, name: str) -> bool:
    return isinstance(cost, str) and cost == name


def _fixed_name(i: int, _: int) -> str:
    return f"fixed[{i}]"


def _fixed_nodes(entry: Any, i: int) -> list[tuple[Any, bool]]:
    """Return the nodes that an entry of ``fixed`` names, and whether they are in the output."""
    if entry is None:
        return []
    if isinstance(entry, dict):
        for name, value in entry.items():
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"fixed[{i}][{name!r}] must be True or False, got {value!r}.")
        return [(name, bool(value)) for name, value in entry.items()]
    if isinstance(entry, (list, tuple, set, frozenset, np.ndarray)):
        return [(name, True) for name in entry]
    return [(entry, True)]
