"""The cutting plane's master where w is kept within a ball in the place of a regulariser.

Planes ``b_t + a_t.w`` with Gram matrix ``G`` give

    min_{|w| <= r}  max_t (b_t + a_t.w)  =  max_{alpha in simplex}  b.alpha - r |sum_t alpha_t a_t|.

`ball_master` finds the lam at which `solve_simplex` gives a w on the ball, or finds that the ball
is inactive. It returns coefficients, not only a bound: where the ball is inactive, the sum of the
planes vanishes, and its small length can be computed only from the planes, not from their Gram
matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.solvers.cutting.simplex_qp import EPSILON, Vector, checked, noise, solve_simplex

__all__ = ["BallMaster", "ball_master"]


class BallMaster(NamedTuple):
    """Solution of the master whose w is kept within a ball; see `ball_master`.

    Attributes
    ----------
    alpha : ndarray of shape (m,)
        Coefficients in the simplex that give ``w = -sum_t alpha_t a_t / lam``.
    lam : float
        The multiplier that belongs to alpha, positive; |w| <= radius up to rounding.
    dual_alpha : ndarray of shape (m,)
        Coefficients in the simplex that give the lower bound ``linear.dual_alpha - radius |s|``,
        ``s = sum_t dual_alpha_t a_t``. They are alpha's own where the ball is active.
    gap : float
        Value of the master at w minus that lower bound, from the Gram matrix.
    """

    alpha: Vector
    lam: float
    dual_alpha: Vector
    gap: float


class _BallSearch:
    """The best w and the best lower bound met so far, for one ball master."""

    def __init__(self, gram: Vector, linear: Vector, radius: float) -> None:
        m = linear.size
        self.gram = np.ascontiguousarray(gram[:m, :m])
        self.linear, self.radius = linear, radius
        self.upper, self.lower = np.inf, -np.inf
        self.alpha, self.lam, self.dual_alpha = np.zeros(m), 1.0, np.zeros(m)

    def norm_of_sum(self, alpha: Vector) -> float:
        """Return |sum_t alpha_t a_t|."""
        return float(np.sqrt(max(float(alpha @ (self.gram @ alpha)), 0.0)))

    def bound(self, alpha: Vector) -> None:
        """Keep alpha if its lower bound is the best."""
        lower = float(self.linear @ alpha - self.radius * self.norm_of_sum(alpha))
        if lower > self.lower:
            self.lower, self.dual_alpha = lower, alpha.copy()

    def visit(self, alpha: Vector, lam: float) -> float:
        """Record the solution at lam; return the norm of its w before w is cut to the ball."""
        length = self.norm_of_sum(alpha)
        inside = max(lam, length / self.radius)
        values = self.linear - self.gram @ alpha / inside
        # With lam near 0, rounding alone can make a w look good: add the rounding to its value.
        high = int(np.argmax(values))
        rounding = noise(self.gram, self.linear, inside, alpha, high) / inside
        upper = float(values[high] + rounding)
        if upper < self.upper:
            self.upper, self.alpha, self.lam = upper, alpha.copy(), inside
        self.bound(alpha)
        return length / lam

    def result(self) -> BallMaster:
        return BallMaster(self.alpha, self.lam, self.dual_alpha, self.upper - self.lower)


def _at_zero(far: float, far_alpha: Vector, near: float, near_alpha: Vector) -> Vector:
    """Return the simplex point at lam = 0 on the line through those at lam = far > near."""
    alpha = np.maximum(near_alpha + (near_alpha - far_alpha) * (near / (far - near)), 0.0)
    return alpha / alpha.sum()


def _next_lam(
    points: list[tuple[float, float, Vector]], goal: float, small: float, large: float, halve: bool
) -> float:
    """Return where to look next for 1/|w(lam)| = goal, strictly within the bracket."""
    lam, inverse, _ = points[-1]
    guess = lam * goal / inverse  # exact while alpha does not change
    if len(points) == 2 and points[0][1] != inverse:
        guess = lam + (goal - inverse) * (points[0][0] - lam) / (points[0][1] - inverse)
    if small == 0.0:
        return guess if 1e-3 * large < guess < large else 0.1 * large
    return guess if small < guess < large and not halve else float(np.sqrt(small * large))


def ball_master(
    gram: Vector, linear: Vector, radius: float, alpha: Vector, tol: float, max_solves: int = 60
) -> BallMaster:
    """Minimise ``max_t (b_t + a_t.w)`` over ``|w| <= radius``; return what forms w and a bound.

    The dual is ``max_alpha b.alpha - radius |sum_t alpha_t a_t|``. Its solution is that of
    `solve_simplex` at the lam whose w has norm `radius`. |w(lam)| falls as lam grows, and
    1/|w(lam)| is linear in lam wherever alpha does not change: secant steps within a bracket bring
    it to 1/radius. If |w(lam)| stays below the radius as lam falls, the ball is inactive. Then
    w(lam) is the least-norm minimiser for all lam below some positive one, so that nothing has to
    be divided by a vanishing lam. Below that lam, alpha is linear in lam; `dual_alpha` is its value
    at lam = 0, extrapolated from two solutions.

    Parameters
    ----------
    gram, linear, alpha
        As for `solve_simplex`; alpha is the warm start and is overwritten.
    radius : float
        Radius of the ball, positive.
    tol : float
        Stop at this gap (not relative). With an inactive ball the gap, which is computed from the
        Gram matrix, is blurred by some 1e-8 * radius * max |a_t|; form the bound from the planes
        where that matters.
    max_solves : int
        Stop after this many values of lam in any case.

    Returns
    -------
    BallMaster
        alpha, lam, dual_alpha and gap. A gap above tol says that the search ended early.

    Examples
    --------
    >>> gram, linear = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([3.0, 1.0])  # 3 + w and 1 - w
    >>> alpha, lam, dual_alpha, gap = ball_master(gram, linear, 0.5, np.ones(2), 1e-12)
    >>> round(float(-(alpha @ [1.0, -1.0]) / lam), 3)
    -0.5
    >>> alpha, lam, dual_alpha, gap = ball_master(gram, linear, 10.0, np.ones(2), 1e-12)
    >>> round(float(-(alpha @ [1.0, -1.0]) / lam), 3), np.round(dual_alpha, 3)
    (-1.0, array([0.5, 0.5]))
    """
    gram, linear = checked(gram, linear, alpha)
    if not 0.0 < radius < np.inf:
        raise ValueError(f"radius must be positive and finite, got {radius!r}.")
    search = _BallSearch(gram, linear, radius)
    longest = float(np.sqrt(np.max(search.gram.diagonal())))
    if longest == 0.0:
        search.visit(solve_simplex(gram, linear, 1.0, alpha, 0.0)[0], 1.0)
        return search.result()
    blur = radius * longest * np.sqrt(8.0 * EPSILON)
    small, large = 0.0, longest / radius  # |w(lam)| is >= radius at small, <= radius at large
    lam = large
    points: list[tuple[float, float, Vector]] = []  # the last two (lam, 1 / |w(lam)|, alpha)
    if alpha.max() > 0.0:
        start = search.norm_of_sum(np.maximum(alpha, 0.0) / np.maximum(alpha, 0.0).sum()) / radius
        lam = start if start > 0.0 else large
    for solve in range(max_solves):
        solve_simplex(search.gram, linear, lam, alpha, 0.0)
        norm = search.visit(alpha, lam)
        if small == 0.0 and points and norm < radius:
            search.bound(_at_zero(points[-1][0], points[-1][2], lam, alpha))
            # |w| no longer changes, and the bound is as good as a Gram matrix can give: a smaller
            # lam would only add noise.
            at_rest = abs(norm * points[-1][1] - 1.0) <= 1e-6
            if at_rest and search.upper - search.lower <= blur:
                break
        if search.upper - search.lower <= tol:
            break
        small, large = (lam, large) if norm >= radius else (small, lam)
        points = [*points[-1:], (lam, 1.0 / max(norm, 1e-300), alpha.copy())]
        # Secant steps may approach slowly from one side, so every third step halves the bracket in
        # the logarithm of lam.
        lam = _next_lam(points, 1.0 / radius, small, large, solve % 3 == 2)
        if not small < lam < large or lam < EPSILON * longest / radius:
            break
    alpha[:] = search.alpha
    return search.result()
