"""From rows and labels in a hierarchy to what is trained on, and from outputs back to labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.estimators.hierarchy.fields import (
    MODELS,
    check_field_shape,
    field_blocks,
    field_data,
    field_space,
    n_field_weights,
)
from maxmargin.estimators.hierarchy.prices import field_table, node_table
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.hierarchy import Hierarchy
from maxmargin.inputs.hierarchy.given import given_hierarchy
from maxmargin.inputs.hierarchy.labels import NodeForm, NodeLabels, over, read_nodes
from maxmargin.inputs.hierarchy.space import HierarchySpace, choose_space
from maxmargin.inputs.request import Request
from maxmargin.inputs.stored import Arrays, Fields
from maxmargin.regularizers.hierarchy import ALPHAS, HierarchyPaths, alpha_weights, hierarchy_paths
from maxmargin.solvers.listed.sparse.weights import SparseWeights
from maxmargin.structures import node_sets_data, paths_data
from maxmargin.training.task import Task

__all__ = ["HierarchyOptions", "HierarchyReader", "alpha_numbers"]

#: What alpha="auto" stands for, by whether an output is one path.
AUTO_ALPHAS = {True: "maxmin", False: "none"}


class HierarchyOptions(NamedTuple):
    """The parameters of an estimator that say how labels are read, and what weighs what."""

    hierarchy: Any
    space: str
    separator: str
    alpha: Any
    rho: float
    merge: bool
    fit_intercept: bool
    model: str = "nodes"


@dataclass(frozen=True)
class HierarchyReader:
    """All that a fit learns of a hierarchy besides weights; it reads later requests.

    Attributes
    ----------
    space : HierarchySpace, with the user's hierarchy and the nodes that have weights
    form : NodeForm, of what `predict` returns
    alpha : float64 array of shape (n_nodes,), the weights of the nodes in the norm
    has_bias : bool
    model : str, one of `MODELS`
    """

    space: HierarchySpace
    form: NodeForm
    alpha: np.ndarray
    has_bias: bool
    model: str = "nodes"

    @classmethod
    def learn(
        cls,
        y: Any,
        n_examples: int,
        options: HierarchyOptions,
        classes: Iterable[Any] | None = None,
    ) -> tuple[Self, NodeLabels]:
        """Return the reader that first labels make, and these labels.

        ``classes``, all labels there will be, are given by `partial_fit`.
        """
        several = {"auto": None, "leaf": False, "path": False}.get(options.space, True)
        hierarchy = given_hierarchy(options.hierarchy, y, n_examples, options.separator, several)
        if hierarchy is None and classes is not None:
            hierarchy = _of_classes(classes, options.separator)
        labels = read_nodes(y, n_examples, hierarchy, separator=options.separator, several=several)
        ends = labels.hierarchy.most_specific(labels.closed)
        asked = options.space if options.model == "nodes" else field_space(options.space)
        if asked == "auto" and labels.form.kind == "levels":
            _check_rows(ends)
        kind = choose_space(asked, labels.hierarchy, ends)
        if classes is None:
            space = HierarchySpace.learn(labels.hierarchy, labels.closed, kind)
        else:
            space = HierarchySpace.whole(labels.hierarchy, kind)
        check_field_shape(options.model, None, space)
        has_bias = bool(options.fit_intercept)
        alpha = _weights(space, options)
        return cls(space, labels.form, alpha, has_bias, options.model), labels

    def read(self, y: Any, n_examples: int, *, extend: bool) -> NodeLabels:
        """Return later labels; with `extend` those that are unseen are nodes of their own."""
        return read_nodes(
            y,
            n_examples,
            self.space.hierarchy,
            several=not self.space.has_one,
            form=self.form,
            extend=extend,
        )

    def task(
        self, request: Request, rows: Any, labels: NodeLabels, cost: Any, missed: float = 1.0
    ) -> Task:
        """Return the task of a request with these labels; edge fields have costs by name.

        ``missed`` is how often the score and the price of a node of a true set count.
        """
        weight = check_weights(request.sample_weight, rows.shape[0])
        if self.model != "nodes":
            cells = self.space.cells(labels.closed)
            check_field_shape(self.model, cost, self.space)
            field = field_data(self.space, rows, cells, self.model, self.has_bias)
            return Task(field, field_table(field, self.space, cost), rows.shape[0], weight)
        data = self._data(rows, labels, missed)
        table = node_table(cost, data, self.space, self.cost_names, missed)
        return Task(data, table, rows.shape[0], weight, given=self.space.given)

    def _data(self, rows: Any, labels: NodeLabels, missed: float) -> Any:
        space = self.space
        if space.has_one:
            codes = space.codes(labels.closed)
            return paths_data(
                rows, codes, space.shape, space.leaves, alpha=self.alpha, bias=self.has_bias
            )
        cells = space.cells(labels.closed)
        return node_sets_data(
            rows,
            cells,
            space.shape,
            space=space.kind,
            alpha=self.alpha,
            missed_weight=missed,
            bias=self.has_bias,
        )

    @property
    def cost_names(self) -> np.ndarray:
        """What costs know labels or nodes by; a stop is told from its parent by a mark."""
        if self.space.has_one:
            return self.space.classes
        return self.space.names

    def paths(self, merge: bool) -> HierarchyPaths:
        """Return the paths along which the weights of the shared norm sum to at most 1."""
        space = self.space
        keep = space.kind == "closed"  # a node that all labels have need not be in an output
        return hierarchy_paths(space.shape, space.leaves, merge=merge, keep_common=keep)

    # -- weights ---------------------------------------------------------------------------------

    def n_weights(self, n_columns: int) -> int:
        """Return the length of w."""
        if self.model != "nodes":
            return n_field_weights(self.space, n_columns, self.model, self.has_bias)
        return (n_columns + self.has_bias) * len(self.space)

    def split(self, w: Any, n_columns: int) -> tuple[Any, np.ndarray]:
        """Return the weights (n_nodes, n_columns) and intercepts (n_nodes,) of the nodes.

        Sparse weights give a sparse matrix.
        Of an edge field they have the shapes (n_edges, n_columns, 2, 2) and (n_edges, 2, 2).
        """
        if self.model != "nodes":
            return field_blocks(self.space, w, n_columns, self.model, self.has_bias)
        if isinstance(w, SparseWeights):
            matrix = w.matrix()
            intercept = np.zeros(len(self.space))
            if self.has_bias:
                intercept = matrix[-1].toarray().ravel()
            return matrix[:n_columns].T.tocsr(), intercept
        blocks = w.reshape(-1, len(self.space))
        intercept = blocks[-1] if self.has_bias else np.zeros(len(self.space))
        return blocks[:n_columns].T, intercept

    def node_scores(self, w: np.ndarray, rows: Any) -> np.ndarray:
        """Return the scores of the nodes of the model, of shape (n, n_nodes)."""
        coef, intercept = self.split(w, rows.shape[1])
        scores = rows @ coef.T
        return np.asarray((scores.toarray() if sp.issparse(scores) else scores) + intercept)

    # -- outputs ---------------------------------------------------------------------------------

    def closed(self, flags: Any) -> sp.csr_matrix:
        """Return outputs, flags of nodes of the model, as closed sets of the user's nodes."""
        return self.space.closed(np.asarray(flags, dtype=np.int32))

    def write(self, flags: Any) -> Any:
        """Return outputs in the form that labels had at fit."""
        space = self.space
        return self.form.write(self.closed(flags), space.hierarchy, space.has_one)

    def compare(self, labels: NodeLabels, flags: Any) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Return true and predicted closed sets over common columns."""
        own = self.space.hierarchy
        return labels.closed, over(own, labels.hierarchy, self.closed(flags))

    # -- files -----------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (meta, arrays) for a model file."""
        meta = {
            "has_bias": self.has_bias,
            "model": self.model,
            "form": self.form.to_state(),
            "hierarchy": self.space.hierarchy.to_state(),
            "space": self.space.to_state(),
        }
        return meta, {"alpha": self.alpha}

    @classmethod
    def from_state(cls, fields: Fields, arrays: Arrays) -> Self:
        """Return what `to_state` was called on; refuse what it cannot have written."""
        has_bias = fields.flag("has_bias")
        form = NodeForm.from_state(fields.take("form"))
        hierarchy = Hierarchy.from_state(fields.take("hierarchy"))
        space = HierarchySpace.from_state(hierarchy, fields.take("space"))
        alpha = arrays.take("alpha", (len(space),))
        if not (np.isfinite(alpha).all() and (alpha >= 0.0).all()):
            raise ValueError("alpha must be finite and >= 0")
        model = fields.text("model", MODELS)
        if model != "nodes" and space.kind != "closed":
            raise ValueError("an edge field has closed sets alone")
        return cls(space, form, alpha, has_bias, model)


def _check_rows(ends: sp.csr_matrix) -> None:
    """Refuse rows of levels that are padding alone, which would make sets of all labels."""
    empty = np.flatnonzero(np.diff(ends.indptr) == 0)
    if len(empty):
        raise ValueError(
            f"y[{empty[0]}] is empty: a row of levels names a path. Where samples may have none, "
            "space='closed' learns sets of nodes, the empty one too."
        )


def _of_classes(classes: Iterable[Any], separator: str) -> Hierarchy:
    if isinstance(classes, Hierarchy):
        return classes
    labels = list(classes)
    return read_nodes(labels, len(labels), None, separator=separator, several=False).hierarchy


def alpha_numbers(alpha: Any) -> np.ndarray:
    """Return weights of nodes that are no name as numbers; refuse what is none."""
    try:
        return np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"alpha must be a name ({', '.join(map(repr, ALPHAS))}) or an array of numbers, one "
            f"per node in the order of hierarchy_.nodes; got {alpha!r:.60}."
        ) from None


def _weights(space: HierarchySpace, options: HierarchyOptions) -> np.ndarray:
    """Return the weights of the nodes in the norm."""
    alpha = options.alpha
    if isinstance(alpha, str) and alpha == "auto":
        alpha = AUTO_ALPHAS[space.has_one]
    elif isinstance(alpha, str) and alpha == "shared":
        alpha = "rho"  # where learning starts, and what costs go by
    elif not isinstance(alpha, str):
        given = alpha_numbers(alpha)
        if given.shape == (len(space.hierarchy),):  # by the user's nodes; a stop has its parent's
            alpha = given[space.node]
    return alpha_weights(
        space.shape,
        space.leaves,
        alpha,
        rho=options.rho,
        merge=options.merge,
        keep_common=space.kind == "closed",
    )
