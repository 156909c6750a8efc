"""The shared Frobenius norm: the weights alpha are learnt with the model.

    |U|^2 = min over alpha of sum_n |U_n|^2 / alpha_n,    alpha in S,
    S = { alpha >= 0, with sums of at most 1 along every path }.

Its dual norm is |Z|^2 = max over alpha in S of sum_n alpha_n |Z_n|^2. Both are in closed form where
paths are those of a forest. Elsewhere the first is found to a tolerance and the second by HiGHS.
A node that is repeated changes neither.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from maxmargin.inference.programs.highs import OPTIONS, run
from maxmargin.regularizers.hierarchy.paths import HierarchyPaths
from maxmargin.regularizers.hierarchy.weights import spread

__all__ = ["shared_dual_norm", "shared_norm", "shared_square", "shared_weights"]


def shared_weights(
    paths: HierarchyPaths, squares: npt.ArrayLike, *, tol: float = 1e-6, max_iter: int = 10000
) -> npt.NDArray[np.float64]:
    """Return the alpha in S that minimises sum_n squares[n] / alpha_n; squares are |U_n|^2.

    A node of square 0 may get the weight 0. If some column has several above it, the sum is at most
    1 + ``tol`` times the least, or ``max_iter`` steps have been made.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> from maxmargin.regularizers.hierarchy import hierarchy_paths, shared_weights
    >>> shape = hierarchy_shape(3, child=[1, 2], parent=[0, 0])
    >>> paths = hierarchy_paths(shape, [1, 2], keep_common=True)
    >>> shared_weights(paths, [4.0, 2.0, 2.0]).tolist()
    [0.5, 0.5, 0.5]
    """
    # Merged nodes share a weight: the sum of |U_n|^2 / (alpha / size) over them.
    s = _of_columns(paths, squares) * paths.sizes
    if paths.above is None:
        return paths.of_nodes(_by_ascent(paths.matrix, s, tol, max_iter))
    n_columns = len(s)
    below = np.zeros(n_columns)  # sum over children of the optimum below them
    share = np.ones(n_columns)  # a leaf takes all that is left
    has_children = np.zeros(n_columns, dtype=bool)
    for n in range(n_columns - 1, -1, -1):
        own, rest = np.sqrt(s[n]), np.sqrt(below[n])
        if has_children[n]:
            share[n] = own / (own + rest) if own > 0.0 else 0.0
        up = paths.above[n]
        if up >= 0:
            below[up] += (own + rest) ** 2
            has_children[up] = True
    return paths.of_nodes(spread(paths.above, share))


def shared_square(paths: HierarchyPaths, squares: npt.ArrayLike) -> float:
    """Return |U|^2 = min over alpha in S of sum_n squares[n] / alpha_n; squares are |U_n|^2.

    If some column has several above it, this is the sum at the weights of `shared_weights`, an
    upper bound.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> from maxmargin.regularizers.hierarchy import hierarchy_paths, shared_square
    >>> shape = hierarchy_shape(3, child=[1, 2], parent=[0, 0])
    >>> paths = hierarchy_paths(shape, [1, 2], keep_common=True)
    >>> shared_square(paths, [4.0, 2.0, 2.0])
    16.0
    """
    s = np.asarray(squares, dtype=np.float64)
    alpha = shared_weights(paths, s)
    used = (s > 0.0) & (paths.columns >= 0)
    with np.errstate(divide="ignore"):
        return float((s[used] / alpha[used]).sum())


def shared_dual_norm(
    paths: HierarchyPaths, squares: npt.ArrayLike
) -> tuple[float, npt.NDArray[np.float64]]:
    """Return F = max over alpha in S of sum_n alpha_n squares[n], and an alpha that attains it.

    Examples
    --------
    >>> from maxmargin.inference.hierarchy.shape import hierarchy_shape
    >>> from maxmargin.regularizers.hierarchy import hierarchy_paths, shared_dual_norm
    >>> shape = hierarchy_shape(3, child=[1, 2], parent=[0, 0])
    >>> paths = hierarchy_paths(shape, [1, 2], keep_common=True)
    >>> value, alpha = shared_dual_norm(paths, [4.0, 2.0, 3.0])
    >>> value, alpha.tolist()
    (5.0, [0.0, 1.0, 1.0])
    """
    q = _of_columns(paths, squares) / paths.sizes
    if paths.above is None:
        value, weights = _by_program(paths.matrix, q)
        return value, paths.of_nodes(weights)
    below = np.zeros(len(q))
    share = np.zeros(len(q))
    value = 0.0
    for n in range(len(q) - 1, -1, -1):
        share[n] = float(q[n] >= below[n])
        most = max(q[n], below[n])
        if paths.above[n] >= 0:
            below[paths.above[n]] += most
        else:
            value += most
    return float(value), paths.of_nodes(spread(paths.above, share))


def shared_norm(
    paths: HierarchyPaths, W: npt.ArrayLike, *, tol: float = 1e-9, max_iter: int = 2000
) -> float:
    """Return the shared Frobenius norm of label weights, one row per path of `paths`.

    It is the least norm of node weights U whose sums along the paths are the rows of W. Rounds that
    find U for alpha and alpha for U are made until the norm falls by no more than ``tol``.
    """
    W = np.asarray(W, dtype=np.float64)
    if W.ndim != 2 or len(W) != paths.matrix.shape[0]:
        raise ValueError(f"W has shape {W.shape}; expected {paths.matrix.shape[0]} rows.")
    A = paths.matrix.toarray()
    alpha = np.full(A.shape[1], 1.0 / A.sum(axis=1).max(initial=1.0))
    last = np.inf
    for _ in range(max_iter):
        kernel = (A * alpha) @ A.T
        duals = np.linalg.lstsq(kernel, W, rcond=None)[0]
        value = float(np.sum(W * duals))
        if last - value <= tol * value:
            break
        last = value
        squares = np.sum((alpha[:, None] * (A.T @ duals)) ** 2, axis=1)
        of_nodes = np.append(squares / paths.sizes**2, 0.0)[paths.columns]
        new = shared_weights(paths, of_nodes)
        alpha = np.maximum(paths.sums_of(new), 1e-12)
        alpha /= (A @ alpha).max()
    return float(np.sqrt(max(min(value, last), 0.0)))


def _of_columns(paths: HierarchyPaths, squares: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the sum of the numbers of the nodes of each column."""
    values = np.asarray(squares, dtype=np.float64)
    if values.shape != paths.columns.shape:
        raise ValueError(f"squares has shape {values.shape}; expected {paths.columns.shape}.")
    if not (np.isfinite(values).all() and (values >= 0.0).all()):
        raise ValueError("squares must be finite and >= 0.")
    return paths.sums_of(values)


def _by_ascent(
    matrix: sp.csr_matrix, s: np.ndarray, tol: float, max_iter: int
) -> npt.NDArray[np.float64]:
    """Return weights by ascent in the dual max_{nu >= 0} 2 sum_n sqrt(s_n (A'nu)_n) - sum nu.

    nu <- nu (A alpha)^2 with alpha = sqrt(s / A'nu) never lowers it: it is the maximum of the bound
    that the concavity of the square root gives. Where alpha is scaled to the largest path sum 1,
    the two sides tell how far it is from the best.
    """
    total = float(np.sqrt(s).sum())
    if total == 0.0:
        return np.full(len(s), 1.0 / np.diff(matrix.indptr).max(initial=1))
    nu = np.full(matrix.shape[0], total**2 / matrix.shape[0])
    columns = matrix.T.tocsr()
    best, weights = np.inf, np.zeros(len(s))
    for _ in range(max_iter):
        flow = columns @ nu
        alpha = np.sqrt(np.divide(s, flow, out=np.zeros_like(s), where=flow > 0.0))
        sums = matrix @ alpha
        largest = sums.max()
        used = alpha > 0.0
        primal = float((s[used] / alpha[used]).sum()) * largest
        if primal < best:
            best, weights = primal, alpha / largest
        dual = 2.0 * float(np.sqrt(s * flow).sum()) - float(nu.sum())
        if best - dual <= tol * best:
            break
        nu = nu * sums**2
    return weights


def _by_program(matrix: sp.csr_matrix, q: np.ndarray) -> tuple[float, npt.NDArray[np.float64]]:
    """Return max q.alpha over alpha in S, and its solution made feasible, by HiGHS."""
    import highspy

    n_paths, n_columns = matrix.shape
    scale = float(q.max(initial=0.0))
    if scale == 0.0:
        return 0.0, np.zeros(n_columns)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = n_columns, n_paths
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = q / scale
    model.col_lower_, model.col_upper_ = np.zeros(n_columns), np.ones(n_columns)
    model.row_lower_, model.row_upper_ = np.full(n_paths, -np.inf), np.ones(n_paths)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = matrix.indptr
    model.a_matrix_.index_ = matrix.indices
    model.a_matrix_.value_ = matrix.data
    highs = highspy.Highs()
    for name, value in OPTIONS.items():
        highs.setOptionValue(name, value)
    highs.passModel(model)
    status = run(highs)
    if status != "optimal":
        raise RuntimeError(f"HiGHS ended with {status!r} on the dual of the shared norm.")
    solution = highs.getSolution()
    # An upper bound that holds whatever rounding HiGHS made: multipliers nu >= 0 of the rows bound
    # q.alpha by sum nu + sum max(q - A'nu, 0), because alpha <= 1.
    nu = np.maximum(np.asarray(solution.row_dual), 0.0)
    bound = float(nu.sum() + np.maximum(q / scale - matrix.T @ nu, 0.0).sum()) * scale
    weights = np.clip(np.asarray(solution.col_value), 0.0, 1.0)
    return bound, weights / max(float((matrix @ weights).max()), 1.0)
