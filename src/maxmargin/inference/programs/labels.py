"""Label sets as a linear or integer programme, solved by HiGHS.

There is one variable y_j per label and one variable mu_e per edge e = (a, b); mu_e is y_a y_b:

    max  sum_j unary[j] y_j + sum_e pair[e] mu_e
    s.t. mu_e <= y_a,  mu_e <= y_b,  mu_e >= y_a + y_b - 1,  0 <= y, mu <= 1

If y must be integral, the solution is the best label set. Otherwise this is the local-polytope
relaxation. Roof duality finds its value faster, but a programme can have further rows.

HiGHS is a library, so this runs from Python, not inside a compiled pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference.labels.graph import LabelGraph
from maxmargin.inference.programs.highs import OPTIONS, is_feasible, limit_time, run, scaled

__all__ = ["LabelProgram", "ProgramAnswer", "ProgramRow"]


class ProgramRow(NamedTuple):
    """A row low <= node_coef . y + edge_coef . mu <= high; None stands for zero coefficients."""

    node_coef: npt.NDArray[np.float64] | None
    edge_coef: npt.NDArray[np.float64] | None
    low: float
    high: float


class ProgramAnswer(NamedTuple):
    """What a programme found.

    Attributes
    ----------
    node : float64 array of shape (m,)
        y, exactly 0 or 1 if integral; NaN throughout if nothing was found.
    edge : float64 array of shape (E,)
        mu; exactly y_a y_b if integral.
    value : float
        The objective at node and edge; -inf if nothing was found.
    bound : float
        No solution has a higher objective. Equal to `value` if the status is "optimal".
    status : str
        "optimal", "time_limit" or "infeasible".
    """

    node: npt.NDArray[np.float64]
    edge: npt.NDArray[np.float64]
    value: float
    bound: float
    status: str


class LabelProgram:
    """A linear or integer programme over the label sets of one graph, kept between calls.

    Parameters
    ----------
    graph : LabelGraph
        Of at least one label.
    integral : bool
        Whether labels must be 0 or 1.

    Notes
    -----
    A linear programme starts from the basis of the call before. Weights and rows are scaled to
    have 1 as their largest number: solutions are optimal to about 1e-9 of the largest weight, and
    rows hold to 1e-9 of their largest coefficient. One thread, and the same answers each time,
    unless a time limit strikes.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.inference.labels.graph import label_graph
    >>> from maxmargin.inference.programs.labels import LabelProgram
    >>> graph = label_graph(3, [(0, 1), (1, 2), (0, 2)])
    >>> unary, pair = np.ones(3), np.full(3, -1.5)
    >>> relaxed = LabelProgram(graph, integral=False).solve(unary, pair)
    >>> relaxed.node.round(3), round(relaxed.value, 3), relaxed.status
    (array([0.5, 0.5, 0.5]), 1.5, 'optimal')
    >>> answer = LabelProgram(graph, integral=True).solve(unary, pair)
    >>> int(answer.node.sum()), round(answer.value, 3)
    (1, 1.0)
    """

    def __init__(self, graph: LabelGraph, integral: bool) -> None:
        self.graph = graph
        self.integral = integral
        self._n_labels, self._n_edges = len(graph.start) - 1, len(graph.edges)
        if self._n_labels == 0:
            raise ValueError("graph has no labels; expected at least one.")
        self._n_rows = 3 * self._n_edges
        self._highs = self._model()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_highs"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Build the model anew: HiGHS's own cannot be pickled."""
        vars(self).update(state)
        self._highs = self._model()

    def solve(
        self,
        unary: npt.NDArray[np.float64],
        pair: npt.NDArray[np.float64],
        rows: Iterable[ProgramRow | tuple[Any, Any, float, float]] = (),
        banned: Iterable[npt.ArrayLike] = (),
        time_limit: float | None = None,
        *,
        fixed: npt.ArrayLike | None = None,
        start: npt.ArrayLike | None = None,
    ) -> ProgramAnswer:
        """Return the best solution under these weights and rows.

        Parameters
        ----------
        unary : float64 array of shape (m,), -inf where a label must be off
        pair : float64 array of shape (E,), finite
        rows : iterable of (node_coef, edge_coef, low, high)
            Further linear rows, for this call only; see ProgramRow. Their coefficients of labels
            that must be off are ignored.
        banned : iterable of label vectors of 0 and 1
            Each is excluded by one row, for this call only. If not `integral`, the row excludes
            only the points near it: fractional points that are mixtures with it may remain.
        time_limit : float or None
            Seconds; None for no limit.
        fixed : array-like of shape (m,) or None
            0 or 1 where a label is fixed to that, -1 elsewhere.
        start : array-like of shape (m,) or None
            A label set to begin with, if `integral`; ignored where the rows or bans exclude it.
        """
        absent = np.isneginf(unary)
        lower, upper = np.zeros(self._n_labels), np.where(absent, 0.0, 1.0)
        if fixed is not None:
            fix = np.asarray(fixed)
            lower[(fix == 1) & ~absent] = 1.0
            upper[fix == 0] = 0.0
        weights = np.concatenate([np.where(absent, 0.0, unary), pair])
        prices, factor = scaled(weights)
        extra = [self._row(row, absent) for row in rows]
        extra += [self._cut(label_set) for label_set in banned]

        n_columns = len(weights)
        highs = self._highs
        highs.changeColsCost(n_columns, np.arange(n_columns, dtype=np.int32), prices)
        nodes = np.arange(self._n_labels, dtype=np.int32)
        highs.changeColsBounds(self._n_labels, nodes, lower, upper)
        limit_time(highs, time_limit, self.integral)
        beginning = self._beginning(start, lower, upper, extra)
        if beginning is not None:
            highs.setSolution(n_columns, np.arange(n_columns, dtype=np.int32), beginning)
        try:
            self._add(extra)
            status = run(self._highs)
            return self._answer(status, weights, factor, beginning)
        finally:
            n_extra = highs.getNumRow() - self._n_rows
            if n_extra:
                last = np.arange(self._n_rows, self._n_rows + n_extra, dtype=np.int32)
                highs.deleteRows(n_extra, last)

    def _model(self) -> Any:
        """Return a HiGHS model with the columns and the three rows of each edge."""
        import highspy

        m, n_edges = self._n_labels, self._n_edges
        highs = highspy.Highs()
        for name, value in OPTIONS.items():
            highs.setOptionValue(name, value)
        highs.addVars(m + n_edges, np.zeros(m + n_edges), np.ones(m + n_edges))
        highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        if self.integral:
            # Only labels are declared integral: then the three rows force mu_e = y_a y_b.
            nodes = np.arange(m, dtype=np.int32)
            highs.changeColsIntegrality(m, nodes, np.full(m, highspy.HighsVarType.kInteger))
        first, second = self.graph.edges.T
        edge = m + np.arange(n_edges)
        columns = np.stack([edge, first, edge, second, edge, first, second], axis=1)
        values = np.tile([1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0], n_edges)
        starts = (7 * np.arange(n_edges)[:, None] + np.array([0, 2, 4])).ravel()
        highs.addRows(
            self._n_rows,
            np.full(self._n_rows, -np.inf),
            np.tile([0.0, 0.0, 1.0], n_edges),
            columns.size,
            starts.astype(np.int32),
            columns.ravel().astype(np.int32),
            values,
        )
        return highs

    def _row(self, row: Sequence[Any], absent: npt.NDArray[np.bool_]) -> _Row:
        node_coef, edge_coef, low, high = row
        node = np.zeros(self._n_labels) if node_coef is None else np.asarray(node_coef, dtype=float)
        edge = np.zeros(self._n_edges) if edge_coef is None else np.asarray(edge_coef, dtype=float)
        coefs, factor = scaled(np.concatenate([np.where(absent, 0.0, node), edge]))
        return _Row(coefs, low / factor, high / factor)

    def _cut(self, label_set: npt.ArrayLike) -> _Row:
        """Return the row that says: at least one label differs from `label_set`."""
        signs = np.where(np.asarray(label_set) == 1, -1.0, 1.0)
        coefs = np.concatenate([signs, np.zeros(self._n_edges)])
        return _Row(coefs, 1.0 - float(np.sum(signs < 0)), np.inf)

    def _add(self, rows: list[_Row]) -> None:
        for row in rows:
            columns = np.flatnonzero(row.coefs).astype(np.int32)
            self._highs.addRow(row.low, row.high, len(columns), columns, row.coefs[columns])

    def _beginning(
        self,
        start: npt.ArrayLike | None,
        lower: npt.NDArray[np.float64],
        upper: npt.NDArray[np.float64],
        rows: list[_Row],
    ) -> npt.NDArray[np.float64] | None:
        """Return a label set and its edges that satisfy bounds and rows, or None.

        Tries `start`, then the set of the labels that are fixed to 1. If one of them is allowed,
        the programme has an answer however short the time limit is.
        """
        if not self.integral:
            return None
        for label_set in (start, lower):
            if label_set is None:
                continue
            node = np.asarray(label_set, dtype=float)
            point = np.concatenate([node, self._products(node)])
            is_within = bool(np.all((lower <= node) & (node <= upper)))
            if is_within and all(row.low <= row.coefs @ point <= row.high for row in rows):
                return point
        return None

    def _products(self, node: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return node[self.graph.edges[:, 0]] * node[self.graph.edges[:, 1]]

    def _answer(
        self,
        status: str,
        weights: npt.NDArray[np.float64],
        factor: float,
        beginning: npt.NDArray[np.float64] | None,
    ) -> ProgramAnswer:
        m = self._n_labels
        nothing = np.full(len(weights), np.nan)
        if status == "infeasible":
            return ProgramAnswer(nothing[:m], nothing[m:], -np.inf, -np.inf, status)
        info = self._highs.getInfo()
        point, value = nothing, -np.inf
        # If the simplex method was stopped early, its point may be infeasible.
        is_found = status == "optimal" or (self.integral and is_feasible(info))
        if is_found:
            point = np.clip(np.array(self._highs.getSolution().col_value), 0.0, 1.0)
            if self.integral:
                node = np.rint(point[:m])
                point = np.concatenate([node, self._products(node)])
            value = float(weights @ point)
        if beginning is not None and float(weights @ beginning) > value:
            point, value = beginning, float(weights @ beginning)
        bound = value
        if status != "optimal":
            bound = float(np.maximum(weights, 0.0).sum())  # holds however early the solver stopped
            if self.integral:
                bound = min(bound, info.mip_dual_bound * factor)
            bound = max(bound, value)
        return ProgramAnswer(point[:m], point[m:], value, bound, status)


class _Row(NamedTuple):
    coefs: npt.NDArray[np.float64]
    low: float
    high: float
