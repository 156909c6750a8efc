"""The small dense quadratic programme of the cutting plane's master.

Planes ``b_t + a_t.w`` with Gram matrix ``G`` give the master

    min_w  lam/2 |w|^2 + max_t (b_t + a_t.w),

whose dual is a concave quadratic on the simplex,

    max_alpha  b.alpha - alpha' G alpha / (2 lam),    alpha >= 0,  sum(alpha) = 1,

with ``w = -sum_t alpha_t a_t / lam``. `solve_simplex` solves it; ball_qp.py has the version where
``|w| <= radius`` takes the place of the regulariser.

The method is an active set method. A pairwise (SMO) step moves mass from a plane of the support to
the most violated plane, which always gains. Then Newton steps on the support, with a Cholesky
factor that is updated along with it, go on until the slopes are equal or a coefficient vanishes and
is dropped. Every direction is followed by an exact line search, so that a factor made inaccurate by
duplicate planes costs steps, not correctness. benchmarks/qp.py compares this method with QP
packages and with SMO alone.

Everything inside is scaled by lam: ``slope = lam b - G alpha``, lam times the planes' values at w.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.compile import kernel

__all__ = ["solve_simplex"]

Vector = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)
RIDGE = 1e-13  # relative lift of the Cholesky factor's diagonal: about the size of its rounding
N_PAIRS = 20  # pairwise steps before the first factor, see benchmarks/qp.py


@kernel(fastmath=True)
def _dot(x, y, size):
    """Return x[:size] . y[:size]; summed in any order, so that it runs in vector registers."""
    total = 0.0
    for i in range(size):
        total += x[i] * y[i]
    return total


@kernel
def _add(scale, x, y, size):
    """Add scale * x[:size] to y[:size]."""
    for i in range(size):
        y[i] += scale * x[i]


@kernel
def _slopes(gram, linear, lam, alpha, slope):
    """Make alpha sum to one again and overwrite slope with lam * linear - gram @ alpha."""
    m, total = len(alpha), 0.0
    for t in range(m):
        total += alpha[t]
    for t in range(m):
        alpha[t] /= total
    for t in range(m):
        slope[t] = lam * linear[t]
    for j in range(m):
        if alpha[j] != 0.0:
            _add(-alpha[j], gram[j], slope, m)


@kernel
def _highest(slope):
    """Return the first index of the largest slope."""
    high = 0
    for t in range(1, len(slope)):
        if slope[t] > slope[high]:
            high = t
    return high


@kernel
def _simplex_gap(alpha, slope, high):
    """Return slope[high] - alpha.slope, by differences so that equal slopes give exactly 0."""
    gap = 0.0
    for t in range(len(alpha)):
        gap += alpha[t] * (slope[high] - slope[t])
    return gap


@kernel
def noise(gram, linear, lam, alpha, high):
    """Return the size of rounding errors in slope[high] - alpha.slope, by Cauchy-Schwarz."""
    offset, reach = abs(linear[high]), 0.0
    for t in range(len(alpha)):
        if alpha[t] > 0.0:
            offset += alpha[t] * abs(linear[t])
            reach += alpha[t] * np.sqrt(gram[t, t])
    return 8.0 * EPSILON * (lam * offset + reach * (reach + np.sqrt(gram[high, high])))


@kernel
def _pair_step(gram, alpha, slope, high):
    """Move mass to plane `high` from the best partner; return that partner, or -1 if none gains.

    The partner is chosen by the gain of the unconstrained step, which is second order working set
    selection. Overwrites alpha and slope.
    """
    low, best = -1, 0.0
    for t in range(len(alpha)):
        rise = slope[high] - slope[t]
        if alpha[t] > 0.0 and rise > 0.0:
            bend = gram[high, high] + gram[t, t] - 2.0 * gram[high, t]
            gain = rise * rise / bend if bend > 0.0 else np.inf
            if low < 0 or gain > best:
                low, best = t, gain
    if low < 0:
        return low
    rise = slope[high] - slope[low]
    bend = gram[high, high] + gram[low, low] - 2.0 * gram[high, low]
    step = alpha[low]
    if bend * step > rise:
        step = rise / bend
    alpha[high] += step
    alpha[low] = max(alpha[low] - step, 0.0)
    _add(-step, gram[high], slope, len(alpha))
    _add(step, gram[low], slope, len(alpha))
    return low


@kernel
def _append(gram, shift, factor, support, size, plane):
    """Add `plane` to the Cholesky factor of gram[support] + shift, its diagonal lifted."""
    row = factor[size]
    for i in range(size):
        rest = gram[plane, support[i]] + shift - _dot(factor[i], row, i)
        row[i] = rest / factor[i, i]
    corner = gram[plane, plane] + shift
    row[size] = np.sqrt(max(corner - _dot(row, row, size), 0.0) + RIDGE * corner)
    support[size] = plane


@kernel
def _delete(factor, support, size, position):
    """Take the plane at `position` out of the support and its Cholesky factor, by rotations."""
    for i in range(position, size - 1):
        support[i] = support[i + 1]
        for k in range(i + 2):
            factor[i, k] = factor[i + 1, k]
    for i in range(position, size - 1):
        a, b = factor[i, i], factor[i, i + 1]
        length = np.sqrt(a * a + b * b)
        cosine, sine = a / length, b / length
        factor[i, i] = length
        for k in range(i + 1, size - 1):
            a, b = factor[k, i], factor[k, i + 1]
            factor[k, i] = cosine * a + sine * b
            factor[k, i + 1] = cosine * b - sine * a


@kernel
def _factor_solve(factor, size, x):
    """Overwrite x[:size] with the solution z of (factor factor') z = x."""
    for i in range(size):
        x[i] = (x[i] - _dot(factor[i], x, i)) / factor[i, i]
    for i in range(size - 1, -1, -1):
        x[i] /= factor[i, i]
        _add(-x[i], factor[i], x, i)


@kernel
def _newton_step(gram, alpha, slope, factor, support, size, scratch):
    """Step towards equal slopes on the support; return the position that vanished, -1 if none did.

    The factor is that of the Gram matrix plus `shift`. The shift changes nothing for directions of
    sum 0, and makes the matrix definite for affinely independent planes. Overwrites alpha, slope
    and scratch.
    """
    direction, ones, change = scratch[0], scratch[1], scratch[2]
    mean, total, total_ones = _dot(alpha, slope, len(alpha)), 0.0, 0.0
    for i in range(size):
        direction[i] = slope[support[i]] - mean
        ones[i] = 1.0
    _factor_solve(factor, size, direction)
    _factor_solve(factor, size, ones)
    for i in range(size):
        total += direction[i]
        total_ones += ones[i]
    for t in range(len(alpha)):
        change[t] = 0.0
    for i in range(size):
        direction[i] -= total / total_ones * ones[i]
        _add(direction[i], gram[support[i]], change, len(alpha))
    rise, bend, longest, blocking = 0.0, 0.0, np.inf, -1
    for i in range(size):
        t = support[i]
        rise += direction[i] * (slope[t] - mean)
        bend += direction[i] * change[t]
        if direction[i] < 0.0 and -alpha[t] / direction[i] < longest:
            longest, blocking = -alpha[t] / direction[i], i
    if not (rise > 0.0 and blocking >= 0):
        return -1
    step = longest
    if bend * longest > rise:
        step, blocking = rise / bend, -1
    for i in range(size):
        alpha[support[i]] = max(alpha[support[i]] + step * direction[i], 0.0)
    if blocking >= 0:
        alpha[support[blocking]] = 0.0
    _add(-step, change, slope, len(alpha))
    return blocking


@kernel
def _follow(gram, shift, factor, support, size, alpha):
    """Make the factor's support that of alpha; return its size."""
    for i in range(size - 1, -1, -1):
        if alpha[support[i]] == 0.0:
            _delete(factor, support, size, i)
            size -= 1
    known = np.zeros(len(alpha), np.bool_)
    for i in range(size):
        known[support[i]] = True
    for t in range(len(alpha)):
        if alpha[t] > 0.0 and not known[t]:
            _append(gram, shift, factor, support, size, t)
            size += 1
    return size


@kernel
def _level(gram, alpha):
    """Return the mean of |a_t|^2 under alpha: the scale at which the factor must be accurate."""
    level = 0.0
    for t in range(len(alpha)):
        level += alpha[t] * gram[t, t]
    return level


@kernel
def _ascend(gram, linear, lam, alpha, goal, max_steps, n_pairs):
    """Raise the dual until its gap is at most `goal`, or at most rounding; return the gap.

    The first n_pairs steps are pairwise only: a loose goal is often met before a factor pays off.
    """
    m = len(alpha)
    slope = np.empty(m)
    factor = np.empty((m, m))
    support = np.empty(m, np.int64)
    scratch = np.empty((3, m))
    _slopes(gram, linear, lam, alpha, slope)
    size, steps, fresh, shift = np.int64(0), 0, True, 0.0  # a plain 0 would be compiled twice
    while True:
        high = _highest(slope)
        gap = _simplex_gap(alpha, slope, high)
        if steps >= max_steps or gap <= goal or gap <= noise(gram, linear, lam, alpha, high):
            if fresh:
                return gap
            _slopes(gram, linear, lam, alpha, slope)
            fresh = True
            continue
        fresh = False
        steps += 1
        if _pair_step(gram, alpha, slope, high) < 0:
            steps = max_steps  # only NaN gets here: the gap would have been 0
        elif steps > n_pairs:
            level = _level(gram, alpha)
            if not shift <= 4.0 * level <= 16.0 * shift:
                size, shift = np.int64(0), level
            blocking = 0 if shift > 0.0 else -1
            while blocking >= 0:
                size = _follow(gram, shift, factor, support, size, alpha)
                blocking = _newton_step(gram, alpha, slope, factor, support, size, scratch)
                steps += 1


def solve_simplex(
    gram: Vector, linear: Vector, lam: float, alpha: Vector, tol: float, max_steps: int = 10_000
) -> tuple[Vector, float, float]:
    """Maximise ``linear.alpha - alpha' gram alpha / (2 lam)`` over the simplex.

    Parameters
    ----------
    gram : ndarray of shape (M, M), float64, C order
        Inner products of the planes. Only the leading (m, m) block is read, m = len(linear), so
        that a caller may keep room for planes to come.
    linear : ndarray of shape (m,)
        Offsets of the planes.
    lam : float
        Regularisation, positive.
    alpha : ndarray of shape (m,), float64
        Where to start; overwritten with the solution. Need not sum to one; entries that are not
        positive count as zero. If all entries are zero, the best single plane is the start.
    tol : float
        Stop when the Frank-Wolfe gap (not relative) is at most this, or as small as rounding
        allows, which is what 0 asks for.
    max_steps : int
        Stop after about this many steps in any case.

    Returns
    -------
    alpha : ndarray of shape (m,)
        The array given: non-negative, summing to one.
    value : float
        The objective at alpha, a lower bound of the master's optimum.
    gap : float
        ``max_t v_t - alpha.v`` with ``v = linear - gram alpha / lam``, the planes' values at w.
        The optimum is at most value + gap.

    Examples
    --------
    >>> gram, linear = np.array([[1.0, 0.0], [0.0, 2.0]]), np.zeros(2)
    >>> alpha, value, gap = solve_simplex(gram, linear, 1.0, np.ones(2), 1e-12)
    >>> np.round(alpha, 3), round(value, 3), bool(gap <= 1e-12)
    (array([0.667, 0.333]), -0.333, True)
    """
    gram, linear = checked(gram, linear, alpha)
    if not 0.0 < lam < np.inf:
        raise ValueError(f"lam must be positive and finite, got {lam!r}.")
    if not tol >= 0.0:
        raise ValueError(f"tol must not be negative, got {tol!r}.")
    np.maximum(alpha, 0.0, out=alpha)
    if not alpha.any():
        alpha[np.argmax(lam * linear - 0.5 * gram.diagonal()[: len(linear)])] = 1.0
    gap = _ascend(gram, linear, lam, alpha, tol * lam, max_steps, N_PAIRS) / lam
    if not np.isfinite(gap):
        raise ValueError("gram, linear or alpha holds NaN or infinity, or gram / lam overflows.")
    quadratic = alpha @ (gram[: len(alpha), : len(alpha)] @ alpha)
    return alpha, float(linear @ alpha - 0.5 * quadratic / lam), float(gap)


def checked(gram: Vector, linear: Vector, alpha: Vector) -> tuple[Vector, Vector]:
    """Return gram and linear as the kernels want them, after checking the shapes of all three."""
    gram = np.ascontiguousarray(gram, dtype=np.float64)
    linear = np.ascontiguousarray(linear, dtype=np.float64)
    m = linear.size
    if linear.ndim != 1 or m == 0:
        raise ValueError(
            f"linear must be a vector of planes, one at least, got shape {linear.shape}."
        )
    if gram.ndim != 2 or min(gram.shape) < m:
        raise ValueError(f"gram must have {m} rows and columns or more, got shape {gram.shape}.")
    if not isinstance(alpha, np.ndarray) or alpha.dtype != np.float64:
        raise TypeError("alpha must be a float64 array, as it is overwritten.")
    if alpha.shape != (m,) or not alpha.flags.c_contiguous or not alpha.flags.writeable:
        raise ValueError(f"alpha must be a writeable vector of {m}, got shape {alpha.shape}.")
    return gram, linear
