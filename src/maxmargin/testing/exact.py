"""The optimum of a small problem from the list of all its planes.

Nothing here is shared with the solvers: every output of every example gives its plane, and the dual
over all of them is solved by moving mass within the block that gains most. The bounds are read off
the list, so they hold however far the iteration came. Where psi is not affine in h, an output has
many planes: a general solver of convex programmes finds w, and the tangents there are the list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from maxmargin.core.contract import add_difference, output_cost, psi, shift
from maxmargin.core.problem import Problem
from maxmargin.testing.outputs import OutputSource, all_outputs


class Optimum(NamedTuple):
    """lower <= min P <= upper = P(w)."""

    w: np.ndarray
    lower: float
    upper: float


class Planes(NamedTuple):
    """The loss of block i is the largest offset - slope.w of its rows; weights 1/n included."""

    slopes: np.ndarray  # (n_planes, n_weights)
    offsets: np.ndarray  # (n_planes,)
    start: np.ndarray  # (n_examples,): first plane of each block, that of the true output


class Outputs(NamedTuple):
    """All outputs of all examples: margin error -differences @ w, and the criteria of psi."""

    differences: np.ndarray  # (n_outputs, n_weights): Psi_i(y)
    shifts: np.ndarray  # (n_outputs,): what h has besides the margin error
    costs: np.ndarray  # (n_outputs,): g
    example: np.ndarray  # (n_outputs,)


def listed_outputs(problem: Problem, outputs: OutputSource | None = None) -> Outputs:
    """List all outputs of all examples."""
    view = problem.view
    differences, shifts, costs, example = [], [], [], []
    for i in range(problem.n_examples):
        for y in all_outputs(view.data, i, outputs):
            difference = np.zeros(problem.n_weights)
            add_difference(view.data, i, y, 0, 1.0, difference)
            differences.append(difference)
            shifts.append(float(shift(view.data, view.cost, i, y, 0)))
            costs.append(float(output_cost(view.data, view.cost, i, y, 0)))
            example.append(i)
    return Outputs(np.array(differences), np.array(shifts), np.array(costs), np.array(example))


def all_planes(
    problem: Problem, outputs: OutputSource | None = None, w: np.ndarray | None = None
) -> Planes:
    """Return the planes of all outputs: the tangents of psi at w, or at 0.

    Where psi is affine in h, there are no other planes.
    """
    return _tangents(problem, listed_outputs(problem, outputs), w)


def _tangents(problem: Problem, listed: Outputs, w: np.ndarray | None) -> Planes:
    share = problem.view.weight / problem.n_examples
    slopes: list[np.ndarray] = []
    offsets: list[float] = []
    start: list[int] = []
    for difference, moved, g, i in zip(*listed, strict=True):
        if len(start) <= i:  # the plane of the true output comes first in a block
            start.append(len(slopes))
            slopes.append(np.zeros(problem.n_weights))
            offsets.append(0.0)
        error = 0.0 if w is None else -float(difference @ w)
        value, slope, _ = psi(problem.view.surrogate, error + moved, g)
        slopes.append(share[i] * slope * difference)
        offsets.append(share[i] * (value - slope * error))
    return Planes(np.array(slopes), np.array(offsets), np.array(start))


def _bent_minimum(problem: Problem, listed: Outputs) -> np.ndarray:
    """Return the w of least P, psi being convex in h, from a general solver."""
    d, n = problem.n_weights, problem.n_examples
    share = problem.view.weight / n

    def losses(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h = listed.shifts - listed.differences @ w
        found = [psi(problem.view.surrogate, *point) for point in zip(h, listed.costs, strict=True)]
        values, slopes, _ = np.array(found).T
        return values, slopes

    of_slacks = np.eye(n)[listed.example]
    zero = np.zeros(d)
    begin = np.concatenate([zero, [losses(zero)[0][listed.example == i].max() for i in range(n)]])
    found = minimize(
        lambda z: 0.5 * problem.lam * z[:d] @ z[:d] + share @ z[d:],
        np.maximum(begin, 0.0),
        jac=lambda z: np.concatenate([problem.lam * z[:d], share]),
        method="SLSQP",
        bounds=[(None, None)] * d + [(0.0, None)] * n,
        constraints={
            "type": "ineq",
            "fun": lambda z: z[d:][listed.example] - losses(z[:d])[0],
            "jac": lambda z: np.hstack([losses(z[:d])[1][:, None] * listed.differences, of_slacks]),
        },
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return np.asarray(found.x[:d])


def optimum(
    problem: Problem,
    outputs: OutputSource | None = None,
    tol: float = 1e-10,
    max_steps: int = 200_000,
) -> Optimum:
    """Return the optimum of a small problem, with bounds on it, by listing all outputs.

    Parameters
    ----------
    problem : Problem whose surrogate is convex, with some hundred outputs at most in all
    outputs : as for `all_outputs`
    tol : upper - lower to stop at, as a share of upper
    max_steps : most steps; the bounds hold whenever it stops

    Examples
    --------
    >>> from maxmargin.testing import optimum, tiny_problem
    >>> best = optimum(tiny_problem("multiclass"))
    >>> bool(0 <= best.upper - best.lower <= 1e-9)
    True
    """
    listed = listed_outputs(problem, outputs)
    bent = None if problem.is_linear else _bent_minimum(problem, listed)
    planes = _tangents(problem, listed, bent)
    found = _over_planes(problem, planes, tol, max_steps)
    if bent is None:
        return found
    # The tangents lie below psi, so the lower bound of their problem holds for P too. The upper
    # bound is P itself at the w found.
    return Optimum(bent, found.lower, _value(problem, planes, bent))


def _over_planes(problem: Problem, planes: Planes, tol: float, max_steps: int) -> Optimum:
    """Return the optimum of the problem whose losses are the largest of given planes."""
    gram = planes.slopes @ planes.slopes.T / problem.lam
    block = np.repeat(np.arange(len(planes.start)), np.diff([*planes.start, len(planes.offsets)]))
    alpha = np.zeros(len(planes.offsets))
    alpha[planes.start] = 1.0
    value = planes.offsets.copy()
    for step in range(max_steps):
        if step % 100 == 0:
            found = _bounds(problem, planes, alpha)
            if found.upper - found.lower <= tol * abs(found.upper):
                break
            value = planes.offsets - planes.slopes @ found.w
        _move(alpha, value, gram, block, planes.start)
    return _bounds(problem, planes, alpha)


def _move(
    alpha: np.ndarray, value: np.ndarray, gram: np.ndarray, block: np.ndarray, start: np.ndarray
) -> None:
    """Move mass between the two planes of one block that gain most at their best step."""
    top = np.maximum.reduceat(value, start)
    lowest = np.minimum.reduceat(np.where(alpha > 0.0, value, np.inf), start)
    chosen = int(np.argmax(top - lowest))
    inside = np.flatnonzero(block == chosen)
    hi = inside[np.argmax(value[inside])]
    active = inside[(alpha[inside] > 0.0) & (inside != hi)]
    if len(active) == 0:
        return
    ascent = value[hi] - value[active]
    curvature = gram[hi, hi] - 2.0 * gram[hi, active] + gram[active, active]
    steps = np.minimum(alpha[active], ascent / np.maximum(curvature, 1e-300))
    best = int(np.argmax(steps * (ascent - 0.5 * steps * curvature)))
    lo, step = active[best], steps[best]
    alpha[hi] += step
    alpha[lo] = alpha[lo] - step if step < alpha[lo] else 0.0
    value -= step * (gram[hi] - gram[lo])


def _bounds(problem: Problem, planes: Planes, alpha: np.ndarray) -> Optimum:
    w = planes.slopes.T @ alpha / problem.lam
    norm = 0.5 * problem.lam * problem.inner(w, w)
    return Optimum(w, float(planes.offsets @ alpha) - norm, _value(problem, planes, w))


def _value(problem: Problem, planes: Planes, w: np.ndarray) -> float:
    """Return lam/2 |w|^2 plus the losses that the planes make."""
    losses = np.maximum.reduceat(planes.offsets - planes.slopes @ w, planes.start)
    return float(losses.sum()) + 0.5 * problem.lam * problem.inner(w, w)
