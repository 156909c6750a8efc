"""The optimum of a small problem from the list of all its planes.

Nothing here is shared with the solvers: every output of every example gives its plane, and the dual
over all of them is solved by moving mass within the block that gains most. The bounds are read off
the list, so they hold however far the iteration came.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.generic import add_difference, output_cost, psi
from maxmargin.problem import Problem
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


def all_planes(problem: Problem, outputs: OutputSource | None = None) -> Planes:
    """Return the planes of all outputs, for a surrogate that is affine in h."""
    view = problem.view
    slopes: list[np.ndarray] = []
    offsets: list[float] = []
    start: list[int] = []
    for i in range(problem.n_examples):
        share = view.weight[i] / problem.n_examples
        start.append(len(slopes))
        slopes.append(np.zeros(problem.n_weights))
        offsets.append(0.0)
        for y in all_outputs(view.data, i, outputs):
            value, slope, _ = psi(view.surrogate, 0.0, output_cost(view.data, view.cost, i, y, 0))
            difference = np.zeros(problem.n_weights)
            add_difference(view.data, i, y, 0, share * slope, difference)
            slopes.append(difference)
            offsets.append(share * value)
    return Planes(np.array(slopes), np.array(offsets), np.array(start))


def optimum(
    problem: Problem,
    outputs: OutputSource | None = None,
    tol: float = 1e-10,
    max_steps: int = 200_000,
) -> Optimum:
    """Return the optimum of a small problem, with bounds on it, by listing all outputs.

    Parameters
    ----------
    problem : Problem whose surrogate is affine in h, with some hundred outputs at most in all
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
    planes = all_planes(problem, outputs)
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
    norm = 0.5 * problem.lam * float(w @ w)
    losses = np.maximum.reduceat(planes.offsets - planes.slopes @ w, planes.start)
    return Optimum(w, float(planes.offsets @ alpha) - norm, float(losses.sum()) + norm)
