"""The cutting plane's master where w must also meet some rows.

Planes ``b_t + a_t.w`` and rows ``z_i.w >= 1`` give

    min_w  lam/2 |w|^2 + max_t (b_t + a_t.w)    subject to  z_i.w >= 1.

A row is kept as the plane ``1 - z_i.w``, which says by how much w misses it. Then the dual is that
of simplex_qp.py, except that the sum of the rows' multipliers is free:

    max_x  b.x - x' G x / (2 lam),    x >= 0,  sum over planes of x_t = 1,

with ``w = -sum_t x_t a_t / lam``. The method is the active set method of simplex_qp.py: the
variable whose slope is most above its optimal value enters the support by a step that always gains.
Then Newton steps on the support, each with an exact line search, go on until a variable vanishes
and is dropped. Rows are added seldom and a few at a time, so that this need not be compiled.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

__all__ = ["solve_with_rows"]

#: Relative lift of the diagonal of the Newton systems: about the size of their rounding.
RIDGE = 1e-13
#: A slope below this share of the terms that it is the sum of is rounding.
ROUNDING = 1e-14
TINY = 1e-300


def solve_with_rows(
    gram: np.ndarray,
    linear: np.ndarray,
    lam: float,
    x: np.ndarray,
    is_row: np.ndarray,
    tol: float,
    row_tol: float = 1e-9,
    max_steps: int = 5000,
) -> np.ndarray:
    """Maximise ``linear.x - x' gram x / (2 lam)`` over x >= 0 whose planes sum to one.

    Parameters
    ----------
    gram : ndarray of shape (M, M)
        Inner products; only the leading (m, m) block is read, m = len(linear).
    linear : ndarray of shape (m,)
        Offsets of the planes; 1 for rows.
    lam : float > 0
    x : ndarray of shape (m,)
        Where to start; overwritten with the solution. Some plane must have a positive coefficient.
    is_row : bool ndarray of shape (m,)
    tol : float
        Stop when no plane is above the mean of the planes by more than this, and no row is missed
        by more than row_tol, or when rounding allows no better.
    row_tol : float
        See tol.
    max_steps : int
        Stop after this many steps in any case. The value is a lower bound wherever it stops.

    Returns
    -------
    x : ndarray of shape (m,), the array given

    Examples
    --------
    One plane, 0.w, and the row 2 w >= 1: w = 1/2 is the shortest that meets it.

    >>> gram, linear = np.array([[0.0, 0.0], [0.0, 4.0]]), np.array([0.0, 1.0])
    >>> x = solve_with_rows(gram, linear, 1.0, np.array([1.0, 0.0]), np.array([False, True]), 1e-9)
    >>> x.round(3)
    array([1.  , 0.25])
    """
    m = len(linear)
    gram = gram[:m, :m]
    is_plane = ~is_row
    np.maximum(x, 0.0, out=x)
    x[is_plane] /= x[is_plane].sum()
    goal = lam * np.where(is_row, row_tol, tol)
    reach = np.sqrt(np.diag(gram))
    for _ in range(max_steps):
        support = x > 0.0
        while _newton_step(gram, lam * linear - gram @ x, x, support, is_plane):
            pass
        slope = lam * linear - gram @ x
        excess = slope - is_plane * float(x[is_plane] @ slope[is_plane])
        rounding = ROUNDING * (lam * np.abs(linear) + reach * float(reach @ x))
        want = excess - np.maximum(goal, rounding)
        entering = int(np.argmax(np.where(want > 0.0, excess / np.maximum(reach, TINY), -np.inf)))
        if not want[entering] > 0.0 or not _enter(gram, slope, x, is_plane, entering):
            break
    return x


def _enter(
    gram: np.ndarray, slope: np.ndarray, x: np.ndarray, is_plane: np.ndarray, entering: int
) -> bool:
    """Raise one variable (for a plane, lower another plane); tell whether anything changed."""
    if not is_plane[entering]:
        if not gram[entering, entering] > 0.0:
            return False
        x[entering] += slope[entering] / gram[entering, entering]
        return True
    partners = np.flatnonzero(is_plane & (x > 0.0) & (slope < slope[entering]))
    if len(partners) == 0:
        return False
    rise = slope[entering] - slope[partners]
    bend = gram[entering, entering] + gram[partners, partners] - 2.0 * gram[entering, partners]
    step = np.minimum(x[partners], rise / np.maximum(bend, TINY))
    best = int(np.argmax(step * (rise - 0.5 * step * bend)))
    x[entering] += step[best]
    x[partners[best]] -= step[best]
    return bool(step[best] > 0.0)


def _newton_step(
    gram: np.ndarray, slope: np.ndarray, x: np.ndarray, support: np.ndarray, is_plane: np.ndarray
) -> bool:
    """Step towards the best x on the support; tell whether a variable vanished on the way.

    Overwrites x, and removes the variables that vanished from the support.
    """
    on = np.flatnonzero(support)
    direction = _direction(gram[np.ix_(on, on)], slope[on], is_plane[on], x[on])
    rise = float(direction @ slope[on])
    if not rise > 0.0:
        return False
    bend = float(direction @ gram[np.ix_(on, on)] @ direction)
    falling = direction < 0.0
    limits = np.full(len(on), np.inf)
    limits[falling] = x[on][falling] / -direction[falling]
    blocking = int(np.argmin(limits))
    if bend * limits[blocking] <= rise and np.isfinite(limits[blocking]):
        x[on] = np.maximum(x[on] + limits[blocking] * direction, 0.0)
        x[on[blocking]] = 0.0
        support[on[blocking]] = False
        x[is_plane] /= x[is_plane].sum()
        return True
    if bend > 0.0:
        x[on] = np.maximum(x[on] + rise / bend * direction, 0.0)
        x[is_plane] /= x[is_plane].sum()
    return False


def _direction(
    gram: np.ndarray, slope: np.ndarray, is_plane: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """Return the Newton direction whose entries at planes sum to 0."""
    # Adding `level` to the inner products of planes changes nothing for directions of sum 0, and
    # makes the matrix definite where planes are affinely, though not linearly, independent.
    ones = is_plane.astype(np.float64)
    level = float(np.max(np.diag(gram), initial=0.0)) or 1.0
    lifted = gram + level * np.outer(ones, ones)
    diagonal = np.diag(lifted).copy()
    diagonal[diagonal <= 0.0] = level
    for ridge in (RIDGE, 1e-10, 1e-6):
        try:
            factor = cho_factor(lifted + np.diag(ridge * diagonal), lower=True)
            break
        except LinAlgError:
            continue
    else:
        factor = cho_factor(np.diag(diagonal), lower=True)
    mean = float(x @ (ones * slope)) / float(x @ ones)
    step, of_ones = cho_solve(factor, np.column_stack([slope - mean * ones, ones])).T
    if ones.any():
        step = step - float(ones @ step) / float(ones @ of_ones) * of_ones
    return np.asarray(step)
