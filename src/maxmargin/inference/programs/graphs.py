"""Factor graphs as a linear or integer programme, solved by HiGHS.

    max  sum_v <u_v, mu_v> + sum_f <T_f, mu_f>   over the rows of `programs/hulls.py`

If mu_v must be integral, the solution is a best labelling. Otherwise it is a point of the local
polytope, and its value a bound. The bound that is reported does not rely on the tolerances of the
solver: the duals of the rows are messages, and any messages give a bound (`message_bound`).

HiGHS is a library, so this runs from Python, not inside a compiled pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxmargin.inference.graph.bound import message_bound
from maxmargin.inference.graph.score import labelling_score
from maxmargin.inference.graph.shape import Shape
from maxmargin.inference.programs.highs import OPTIONS, is_feasible, limit_time, run, scaled
from maxmargin.inference.programs.hulls import hulls

__all__ = ["GraphPoint", "GraphProgram"]

Floats = npt.NDArray[np.float64]


class GraphPoint(NamedTuple):
    """What a programme found.

    Attributes
    ----------
    unary, tables : float64 arrays, as those of the graph, or None
        mu: how much each cell is used. A table that several factors share has the sum of their
        uses. None if nothing was found, or if the programme is integral.
    labels : int32 array of shape (n,), or None
        The labelling, if the programme is integral and found one.
    value : float
        <unary potentials, mu> + <tables, mu>, where 0 times -inf is 0; -inf if nothing was found.
    bound : float
        No labelling scores higher, and if the programme is not integral, no point of the local
        polytope. -inf: there is none.
    status : str
        "optimal", "time_limit" or "infeasible".
    """

    unary: Floats | None
    tables: Floats | None
    labels: npt.NDArray[np.int32] | None
    value: float
    bound: float
    status: str


class GraphProgram:
    """A linear or integer programme over the labellings of one graph, kept between calls.

    Parameters
    ----------
    shape : Shape
    integral : bool
        Whether each node must have one label.
    solver : {"choose", "simplex", "ipm"}, default="choose"
        How HiGHS solves linear programmes.

    Notes
    -----
    A linear programme starts from the basis of the call before. Potentials are scaled so that the
    largest is about 1: solutions are optimal to about 1e-9 of it. One thread, and the same answers
    each time, unless a time limit strikes.

    Examples
    --------
    Three nodes with two labels, each pair of which should differ:

    >>> import numpy as np
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.inference.programs.graphs import GraphProgram
    >>> graph = FactorGraph(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], 1.0 - np.eye(2))
    >>> relaxed = GraphProgram(graph.shape, integral=False).solve(graph.unary, graph.tables)
    >>> round(relaxed.value, 6), relaxed.unary.round(6).tolist()
    (3.0, [0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    >>> best = GraphProgram(graph.shape, integral=True).solve(graph.unary, graph.tables)
    >>> best.value, best.bound, best.status
    (2.0, 2.0, 'optimal')
    """

    def __init__(self, shape: Shape, integral: bool, solver: str = "choose") -> None:
        self.shape, self.integral, self.solver = shape, integral, solver
        self._hulls = hulls(shape)
        self._is_forbidden = np.zeros(self._hulls.n_columns, dtype=bool)
        self._highs = self._model()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_highs"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Build the model anew: HiGHS's own cannot be pickled."""
        vars(self).update(state)
        self._is_forbidden[:] = False
        self._highs = self._model()

    def solve(
        self,
        unary: Floats,
        tables: Floats,
        time_limit: float | None = None,
        start: npt.NDArray[np.int32] | None = None,
    ) -> GraphPoint:
        """Return the best point under these potentials.

        Parameters
        ----------
        unary, tables : float64 arrays
            As those of a FactorGraph of this shape; -inf forbids.
        time_limit : float or None
            Seconds; None for no limit.
        start : int32 array of shape (n,), or None
            A labelling to begin with, if `integral`; not used if its score is -inf.
        """
        if self._hulls.n_columns == 0:
            none = np.zeros(0)
            return GraphPoint(none, tables * 0.0, np.zeros(0, dtype=np.int32), 0.0, 0.0, "optimal")
        prices = self._prices(unary, tables)
        costs, factor = scaled(np.where(np.isneginf(prices), 0.0, prices))
        highs, columns = self._highs, np.arange(len(prices), dtype=np.int32)
        highs.changeColsCost(len(prices), columns, costs)
        self._forbid(np.isneginf(prices))
        limit_time(highs, time_limit, self.integral)
        if self.integral:
            highs.clearSolver()
            start = self._begin(unary, tables, start)
        status = run(highs)
        if status == "infeasible":
            # Say so only if it does not come from presolve.
            highs.setOptionValue("presolve", "off")
            highs.clearSolver()
            status = run(highs)
            highs.setOptionValue("presolve", "choose")
        if self.integral:
            return self._labelling(status, unary, tables, factor, start)
        return self._point(status, unary, tables, prices, factor)

    def _model(self) -> Any:
        """Return a HiGHS model with all rows and columns, but without prices."""
        import highspy

        rows = self._hulls
        n_columns, n_unary = rows.n_columns, int(self.shape.unary_at[-1])
        highs = highspy.Highs()
        for name, value in {**OPTIONS, "solver": self.solver}.items():
            highs.setOptionValue(name, value)
        if n_columns == 0:
            return highs
        # That mu_f <= 1 follows from the rows. But without it the presolve of integer programmes in
        # HiGHS 1.15 called a feasible one infeasible.
        highs.addVars(n_columns, np.zeros(n_columns), np.ones(n_columns))
        highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        matrix = sparse.csr_array(
            (rows.values, (rows.rows, rows.columns)), shape=(len(rows.low), n_columns)
        )
        highs.addRows(
            len(rows.low),
            rows.low,
            rows.high,
            matrix.nnz,
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data,
        )
        if self.integral:
            # The rows of the factors then leave them no choice.
            nodes = np.arange(n_unary, dtype=np.int32)
            kinds = np.full(n_unary, highspy.HighsVarType.kInteger)
            highs.changeColsIntegrality(n_unary, nodes, kinds)
        return highs

    def _prices(self, unary: Floats, tables: Floats) -> Floats:
        cell = self._hulls.cell
        of_factors = np.zeros(len(cell))
        of_factors[cell >= 0] = tables[cell[cell >= 0]]
        return np.concatenate([unary, of_factors])

    def _forbid(self, is_forbidden: npt.NDArray[np.bool_]) -> None:
        """Set the upper bounds of forbidden cells to 0, and give back those of others."""
        changed = np.flatnonzero(is_forbidden != self._is_forbidden)
        if len(changed):
            high = np.where(is_forbidden[changed], 0.0, 1.0)
            self._highs.changeColsBounds(
                len(changed), changed.astype(np.int32), np.zeros(len(changed)), high
            )
            self._is_forbidden = is_forbidden

    def _begin(
        self, unary: Floats, tables: Floats, start: npt.NDArray[np.int32] | None
    ) -> npt.NDArray[np.int32] | None:
        """Tell HiGHS of a labelling to begin with; return it, or None if it is forbidden."""
        if start is None or labelling_score(self.shape, unary, tables, start) == -np.inf:
            return None
        # Only the columns of nodes: HiGHS fills in the others by a small linear programme.
        nodes = np.arange(self.shape.unary_at[-1], dtype=np.int32)
        ones = np.zeros(len(nodes))
        ones[self.shape.unary_at[:-1] + start] = 1.0
        self._highs.setSolution(len(nodes), nodes, ones)
        return start

    def _bound(self, unary: Floats, tables: Floats, factor: float) -> float:
        """Return the bound that the duals give as messages, or that of no messages if lower."""
        rows, shape = self._hulls, self.shape
        out = np.empty(int(shape.n_labels.max()))
        messages = np.zeros(int(shape.message_at[-1]))
        bound = float(message_bound(shape, unary, tables, messages, out))
        duals = np.array(self._highs.getSolution().row_dual) * factor
        if len(duals) == len(rows.low) and np.isfinite(duals).all():
            here = rows.message >= 0
            np.add.at(messages, rows.message[here], duals[rows.rows[here]] * rows.values[here])
            bound = min(bound, float(message_bound(shape, unary, tables, messages, out)))
        return bound

    def _point(
        self, status: str, unary: Floats, tables: Floats, prices: Floats, factor: float
    ) -> GraphPoint:
        if status == "infeasible":
            return GraphPoint(None, None, None, -np.inf, -np.inf, status)
        bound = self._bound(unary, tables, factor)
        if status != "optimal":
            # If the simplex method was stopped early, its point may be infeasible.
            return GraphPoint(None, None, None, -np.inf, bound, status)
        point = np.clip(np.array(self._highs.getSolution().col_value), 0.0, 1.0)
        point[np.isneginf(prices)] = 0.0
        value = float(point @ np.where(np.isneginf(prices), 0.0, prices))
        n_unary = int(self.shape.unary_at[-1])
        return GraphPoint(
            point[:n_unary], self._uses(point[n_unary:], tables), None, value, bound, status
        )

    def _uses(self, of_factors: Floats, tables: Floats) -> Floats:
        cell = self._hulls.cell
        uses = np.bincount(cell[cell >= 0], of_factors[cell >= 0], minlength=len(tables))
        return uses.astype(np.float64)

    def _labelling(
        self,
        status: str,
        unary: Floats,
        tables: Floats,
        factor: float,
        start: npt.NDArray[np.int32] | None,
    ) -> GraphPoint:
        if status == "infeasible":
            return GraphPoint(None, None, None, -np.inf, -np.inf, status)
        shape, info = self.shape, self._highs.getInfo()
        labels, value = None, -np.inf
        n_unary = int(shape.unary_at[-1])
        point = np.array(self._highs.getSolution().col_value)
        if status == "optimal" or is_feasible(info):
            labels = _argmax_by_node(shape, point[:n_unary])
            value = float(labelling_score(shape, unary, tables, labels))
        if start is not None:
            at_start = float(labelling_score(shape, unary, tables, start))
            if at_start > value:
                labels, value = start, at_start
        bound = value
        if status != "optimal" or value == -np.inf:
            out, messages = np.empty(int(shape.n_labels.max())), np.zeros(int(shape.message_at[-1]))
            bound = float(message_bound(shape, unary, tables, messages, out))
            bound = max(value, min(bound, info.mip_dual_bound * factor))
        return GraphPoint(None, None, labels if value > -np.inf else None, value, bound, status)


def _argmax_by_node(shape: Shape, values: Floats) -> npt.NDArray[np.int32]:
    """Return the label of the largest of the values of each node, the lowest of equal ones."""
    nodes = np.repeat(np.arange(len(shape.n_labels)), shape.n_labels)
    order = np.lexsort((-np.arange(len(values)), values, nodes))
    last = order[shape.unary_at[1:] - 1]
    return (last - shape.unary_at[:-1]).astype(np.int32)
