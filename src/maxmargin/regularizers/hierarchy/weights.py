"""Weights of nodes that depend on the hierarchy alone, not on examples."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from maxmargin.inference.hierarchy.shape import HierarchyShape
from maxmargin.regularizers.hierarchy.paths import HierarchyPaths, hierarchy_paths, path_matrix

__all__ = ["ALPHAS", "alpha_weights", "named_weights", "path_sums"]

#: Names of weights; "shared" is learnt with the model.
ALPHAS = ("none", "maxmin", "rho", "flat", "shared")


def alpha_weights(
    shape: HierarchyShape,
    labels: npt.ArrayLike,
    alpha: str | npt.ArrayLike = "maxmin",
    *,
    rho: float = 2.0,
    merge: bool = False,
    keep_common: bool = False,
) -> npt.NDArray[np.float64]:
    """Return alpha_n >= 0 for each of the M nodes, as in lam/2 sum_n |U_n|^2 / alpha_n.

    A node of weight 0 has no weights U_n. That is so for nodes on no path of a label, and for nodes
    on the paths of all labels (their scores cancel; in "rho" they would take most of the mass).

    Parameters
    ----------
    shape : HierarchyShape
    labels : nodes of the labels, each once; the path of a label is its node and all above it
    alpha : str or array of shape (M,)
        ``"none"``: 1. ``"flat"``: 1 at the labels, 0 above: classes that share nothing.
        ``"maxmin"``: the least weight is as large as it can be if the weights sum to 1 along every
        path; of such weights, those that are equal at all nodes but the lowest of each path.
        ``"rho"``: sum_n alpha_n^rho is least, and weights sum to 1 along every path. Trees for all
        rho > 1, directed acyclic graphs for rho = 2.
        An array is checked and used as it is, but for the nodes of weight 0 above. If it does not
        sum to 1 along every path, a warning says so: labels with larger sums have longer features.
    rho : the exponent of ``"rho"``
    merge : treat nodes that are on the same paths as one, and share its weight among them; then
        weights do not depend on how often a node is repeated. For names alone, not for an array
    keep_common : keep nodes that are on the paths of all labels, as is right where an output may
        be the empty set

    Where a label lies above another, the sum along its own path is smaller than 1. (Give it a leaf
    of its own to avoid that.)

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> from maxmargin.regularizers.hierarchy import alpha_weights
    >>> shape = hierarchy_shape(5, child=[1, 2, 3, 4], parent=[0, 0, 1, 1])
    >>> alpha_weights(shape, [2, 3, 4], "maxmin").tolist()
    [0.0, 0.5, 1.0, 0.5, 0.5]
    >>> alpha_weights(shape, [2, 3, 4], "rho").round(3).tolist()
    [0.0, 0.667, 1.0, 0.333, 0.333]
    """
    if isinstance(alpha, str):
        if alpha not in ALPHAS:
            raise ValueError(
                f"alpha must be one of {', '.join(ALPHAS)} or an array, got {alpha!r}."
            )
        if alpha == "shared":
            raise ValueError(
                'alpha="shared" is learnt from examples; shared_weights has its closed form.'
            )
        paths = hierarchy_paths(shape, labels, keep_common=keep_common, merge=merge)
        return named_weights(paths, alpha, rho)
    if merge:
        raise ValueError("merge=True computes weights anew, so alpha must be a name, not an array.")
    paths = hierarchy_paths(shape, labels, keep_common=keep_common)
    weights = _checked_weights(paths, alpha)
    sums = path_sums(shape, labels, weights)[_has_row(shape, paths.labels)]
    if (np.abs(sums - 1.0) > 1e-6).any():
        warnings.warn(
            f"alpha sums to {sums.min():.4g} .. {sums.max():.4g} along the paths of labels, not to "
            "1: labels with larger sums are regularised less.",
            UserWarning,
            stacklevel=2,
        )
    return weights


def path_sums(
    shape: HierarchyShape, labels: npt.ArrayLike, alpha: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return the sum of alpha along the path of each label."""
    return path_matrix(shape, labels) @ np.asarray(alpha, dtype=np.float64)


def named_weights(paths: HierarchyPaths, name: str, rho: float = 2.0) -> npt.NDArray[np.float64]:
    """Return the weights of nodes that a name stands for; see `alpha_weights`."""
    return paths.of_nodes(_of_columns(paths, name, rho))


def _of_columns(paths: HierarchyPaths, name: str, rho: float) -> npt.NDArray[np.float64]:
    """Return the weights of columns."""
    if name == "none":
        return np.ones(len(paths.sizes))
    if name == "flat":
        own = paths.columns[paths.labels]
        weights = np.zeros(len(paths.sizes))
        weights[own[own >= 0]] = 1.0
        return weights
    if name == "maxmin":
        return _largest_minimum(paths)
    if not rho > 1.0:
        raise ValueError(f"rho must be greater than 1, got {rho!r}.")
    if paths.above is not None:
        return _least_powers(paths.above, rho)
    if rho != 2.0:
        raise ValueError(
            f"alpha='rho' on a hierarchy where a node has several parents needs rho=2, got {rho!r}."
        )
    return _least_squares(paths.matrix)


def _largest_minimum(paths: HierarchyPaths) -> npt.NDArray[np.float64]:
    """Return the canonical weights of largest minimum: t but at the ends, 1 in sum on each path.

    A path of most nodes allows no minimum above t = 1 / their number.
    """
    lengths = np.diff(paths.matrix.indptr)
    least = 1.0 / lengths.max(initial=1)
    weights = np.full(len(paths.sizes), least)
    # The end of a path is a column of its own: the last one, as columns on more paths come first.
    ends = paths.matrix.indices[paths.matrix.indptr[1:] - 1]
    weights[ends] = 1.0 - (lengths - 1) * least
    return weights


def _least_powers(above: npt.NDArray[np.int64], rho: float) -> npt.NDArray[np.float64]:
    """Return the weights of least sum_n alpha_n^rho on a forest, in closed form.

    mass[n] is the sum of alpha^(rho-1) of the ends below, if n and what is below have the budget 1;
    it is kept as a logarithm, as it over- and underflows where rho is close to 1.
    """
    n_columns = len(above)
    below = np.full(n_columns, -np.inf)  # log of the sum of mass over children
    share = np.ones(n_columns)
    for n in range(n_columns - 1, -1, -1):
        mass = 0.0
        if below[n] > -np.inf:
            log_t = below[n] / (rho - 1.0)
            log_both = np.logaddexp(0.0, log_t)
            share[n] = np.exp(log_t - log_both)
            mass = below[n] - (rho - 1.0) * log_both
        if above[n] >= 0:
            below[above[n]] = np.logaddexp(below[above[n]], mass)
    return spread(above, share)


def spread(above: npt.NDArray[np.int64], share: np.ndarray) -> npt.NDArray[np.float64]:
    """Return weights of a forest, where each node takes its share of what is left from above."""
    left = np.ones(len(above) + 1)  # the last cell stands for what is above the roots
    weights = np.zeros(len(above))
    for n, up in enumerate(above):
        weights[n] = left[up] * share[n]
        left[n] = left[up] * (1.0 - share[n])
    return weights


def _least_squares(matrix: sp.csr_matrix) -> npt.NDArray[np.float64]:
    """Return the a >= 0 of least |a|^2 with A a = 1, by Newton's method on the dual.

    The dual is max_nu 1.nu - |a|^2 / 2 with a = max(A'nu, 0); its gradient is 1 - A a.
    """
    n_paths = matrix.shape[0]
    nu = np.full(n_paths, 1.0 / np.diff(matrix.indptr).max())

    def value(nu: np.ndarray) -> tuple[float, np.ndarray]:
        a = np.maximum(matrix.T @ nu, 0.0)
        return float(nu.sum() - 0.5 * (a @ a)), a

    best, a = value(nu)
    for _ in range(200):
        slope = 1.0 - matrix @ a
        if np.abs(slope).max() <= 1e-12:
            break
        used = matrix[:, a > 0.0]
        curvature = (used @ used.T + 1e-12 * sp.eye_array(n_paths)).tocsc()
        direction = np.atleast_1d(spsolve(curvature, slope))
        step, gain = 1.0, float(slope @ direction)
        while step > 1e-12:
            new, new_a = value(nu + step * direction)
            if new >= best + 1e-4 * step * gain - 1e-15 * abs(best):
                break
            step *= 0.5
        else:
            break
        nu, best, a = nu + step * direction, new, new_a
    # What rounding leaves goes to the ends, which are on one path each.
    slope = 1.0 - matrix @ a
    ends = matrix.indices[matrix.indptr[1:] - 1]
    if np.abs(slope).max() > 1e-6:
        raise RuntimeError(
            f"the weights of alpha='rho' are not found to 1e-6 (off by {np.abs(slope).max():.2g}); "
            "take alpha='maxmin'."
        )
    a[ends] = np.maximum(a[ends] + slope, 0.0)
    return a


def _has_row(shape: HierarchyShape, labels: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Tell which labels have no label below them."""
    counts = np.bincount(path_matrix(shape, labels).indices, minlength=len(shape.parent_at) - 1)
    return counts[labels] == 1


def _checked_weights(paths: HierarchyPaths, alpha: Any) -> npt.NDArray[np.float64]:
    """Return a user's weights, 0 at the nodes that no weights are computed for."""
    n_nodes = len(paths.columns)
    weights = np.asarray(alpha, dtype=np.float64)
    if weights.shape != (n_nodes,):
        raise ValueError(
            f"alpha has shape {weights.shape}; expected ({n_nodes},), one weight per node."
        )
    wrong = ~(np.isfinite(weights) & (weights >= 0.0))
    if wrong.any():
        n = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"alpha must be finite and >= 0, but alpha[{n}] is {weights[n]!r}.")
    weights = np.where(paths.columns >= 0, weights, 0.0)
    if not weights.any():
        raise ValueError(
            "alpha is 0 at every node that tells labels apart, so there is nothing to learn."
        )
    return weights
