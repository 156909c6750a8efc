"""Unions of paths to leaves of a DAG as a linear or integer programme, solved by HiGHS.

There is one variable z_n per node:

    max  sum_n scores[n] z_n
    s.t. z_c <= z_p for every child c and parent p,   z_n <= sum of z over the children of n,
         sum over the leaves of z >= 1,               sum over the roots of z >= 1,

where the second row is of inner nodes alone, and 0 <= z <= 1. If z must be integral, the solution
is the best set. On a tree the relaxation is tight; on a DAG the problem is NP-hard, and the
relaxation may be fractional.

HiGHS is a library, so this runs from Python, not inside a compiled pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference.hierarchy.shape import HierarchyShape
from maxmargin.inference.programs.highs import OPTIONS, is_feasible, limit_time, run, scaled

__all__ = ["PathsAnswer", "PathsProgram"]


class PathsAnswer(NamedTuple):
    """What a programme found.

    Attributes
    ----------
    node : float64 array of shape (M,)
        z, exactly 0 or 1 if integral; NaN throughout if nothing was found.
    value : float
        The objective at node; -inf if nothing was found.
    bound : float
        No solution has a higher objective. Equal to `value` if the status is "optimal".
    status : str
        "optimal", "time_limit" or "infeasible".
    """

    node: npt.NDArray[np.float64]
    value: float
    bound: float
    status: str


class PathsProgram:
    """A linear or integer programme over the unions of paths of one hierarchy.

    Parameters
    ----------
    shape : HierarchyShape
        Of at least one node.
    integral : bool
        Whether nodes must be 0 or 1.

    Notes
    -----
    The model is kept between calls: a linear programme starts from the basis of the call before.
    Scores are scaled to have 1 as the largest; solutions are optimal to about 1e-9 of that.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> shape = hierarchy_shape(4, child=[1, 2, 3, 3], parent=[0, 0, 1, 2])
    >>> answer = PathsProgram(shape, integral=True).solve(np.array([1.0, -0.5, -1.0, 2.0]))
    >>> answer.node, answer.value
    (array([1., 1., 1., 1.]), 1.5)
    """

    def __init__(self, shape: HierarchyShape, integral: bool) -> None:
        self.shape = shape
        self.integral = integral
        self._highs = self._model()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_highs"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Build the model anew: HiGHS's own cannot be pickled."""
        vars(self).update(state)
        self._highs = self._model()

    def solve(
        self,
        scores: npt.NDArray[np.float64],
        must: npt.ArrayLike | None = None,
        time_limit: float | None = None,
    ) -> PathsAnswer:
        """Return the best solution under these scores.

        Parameters
        ----------
        scores : float64 array of shape (M,), -inf where a node is kept out
        must : array-like of shape (M,) or None
            Flags of nodes that are in every set.
        time_limit : float or None
            Seconds; None for no limit.
        """
        absent = np.isneginf(scores)
        lower = np.zeros(len(scores)) if must is None else np.asarray(must, dtype=np.float64)
        if (absent & (lower > 0.0)).any():
            return self._nothing("infeasible")
        upper = np.where(absent, 0.0, 1.0)
        weights = np.where(absent, 0.0, scores)
        prices, factor = scaled(weights)
        columns = np.arange(len(weights), dtype=np.int32)
        highs = self._highs
        highs.changeColsCost(len(columns), columns, prices)
        highs.changeColsBounds(len(columns), columns, lower.copy(), upper)
        limit_time(highs, time_limit, self.integral)
        status = run(highs)
        if status == "infeasible":
            return self._nothing(status)
        info = highs.getInfo()
        bound = float(np.maximum(weights, 0.0).sum())  # holds however early HiGHS stopped
        if self.integral and status != "optimal":
            bound = min(bound, info.mip_dual_bound * factor)
        # If the simplex method was stopped early, its point may be infeasible.
        if status != "optimal" and not (self.integral and is_feasible(info)):
            return self._nothing(status)._replace(bound=bound)
        node = np.clip(np.array(highs.getSolution().col_value), 0.0, 1.0)
        if self.integral:
            node = np.rint(node)
        value = float(weights @ node)
        return PathsAnswer(node, value, value if status == "optimal" else max(bound, value), status)

    def _nothing(self, status: str) -> PathsAnswer:
        n_nodes = len(self.shape.parent_at) - 1
        return PathsAnswer(np.full(n_nodes, np.nan), -np.inf, -np.inf, status)

    def _model(self) -> Any:
        """Return a HiGHS model with the columns and rows."""
        import highspy

        shape = self.shape
        n_nodes = len(shape.parent_at) - 1
        highs = highspy.Highs()
        for name, value in OPTIONS.items():
            highs.setOptionValue(name, value)
        highs.addVars(n_nodes, np.zeros(n_nodes), np.ones(n_nodes))
        highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        if self.integral:
            nodes = np.arange(n_nodes, dtype=np.int32)
            kinds = np.full(n_nodes, highspy.HighsVarType.kInteger)
            highs.changeColsIntegrality(n_nodes, nodes, kinds)
        child = np.repeat(np.arange(n_nodes), np.diff(shape.parent_at))
        rows = [([c, p], [1.0, -1.0]) for c, p in zip(child, shape.parents, strict=True)]
        for n in np.flatnonzero(np.diff(shape.child_at)):
            below = shape.children[shape.child_at[n] : shape.child_at[n + 1]]
            rows.append(([n, *below], [1.0] + [-1.0] * len(below)))
        n_at_most_0 = len(rows)
        for ends in (np.diff(shape.child_at) == 0, np.diff(shape.parent_at) == 0):
            rows.append((list(np.flatnonzero(ends)), [1.0] * int(ends.sum())))
        sizes = [len(columns) for columns, _ in rows]
        highs.addRows(
            len(rows),
            np.where(np.arange(len(rows)) < n_at_most_0, -np.inf, 1.0),
            np.where(np.arange(len(rows)) < n_at_most_0, 0.0, np.inf),
            sum(sizes),
            np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32),
            np.concatenate([columns for columns, _ in rows]).astype(np.int32),
            np.concatenate([numbers for _, numbers in rows]),
        )
        return highs
