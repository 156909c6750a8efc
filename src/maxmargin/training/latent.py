"""Latent variables: outputs are pairs (y, z), and only y is known of the truth (CCCP).

    F(w) = lam/2 |w|^2 + 1/n sum_i s_i max_{y,z} psi(h, g),
    h = w.phi(x_i, y, z) - max_z' w.phi(x_i, y_i, z')

F is no convex function of w. With the z_i of the true outputs held at any values it becomes F_z, a
convex problem of the usual kind, with F_z >= F, and F_z(w) = F(w) where the z_i are the best ones
at w. So it never rises along: complete the truth at w, minimise F_z from there, complete again. The
certificate of a run is that of the last F_z, not of F: the point is stationary within
`inner_gap` + tol.

Where the search for the most violating output only bounds the losses, F itself is not known. What
is kept is its least upper bound so far, U(w): it never rises, and F rises in a step by at most the
`search_gap` of the step before, U(w) less the losses that were found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers import Solver, run

__all__ = ["Completion", "LatentRecord", "LatentResult", "best_of_starts", "cccp"]


class Completion(Protocol):
    """Examples whose true outputs are known in part."""

    def complete(self, w: np.ndarray) -> Any:
        """Return the best latent parts of all true outputs at w."""
        ...

    def n_different(self, one: Any, other: Any) -> int:
        """Return for how many examples two results of `complete` differ."""
        ...

    def problem(self, latent: Any) -> Problem:
        """Return the convex problem whose true outputs have these latent parts."""
        ...


@dataclass(frozen=True)
class LatentRecord:
    """One outer step: F at its end, by how much it fell, and how its inner run went.

    Where the search only bounds the losses, they are those of an upper bound of F, which is at most
    ``search_gap`` above it.
    """

    objective: float
    decrease: float
    inner_gap: float
    n_changed: int
    n_iter: int
    n_oracle_calls: int
    seconds: float
    search_gap: float = 0.0


@dataclass(repr=False)
class LatentResult:
    """Weights that a step of CCCP cannot improve by much.

    There is no gap: how far F is from its least value is not known.

    Attributes
    ----------
    w : ndarray of shape (n_weights,)
    objective : float
        F(w), or an upper bound of it where the search for the most violating output is not exact.
    search_gap : float
        How far `objective` is at most above F(w); 0 where the search is exact. The bound never
        rises; F may, by at most the search gap of the step before.
    inner_gap : float
        How far F_z(w) of the last step was at most from its least value; NaN for solvers without a
        dual.
    decrease : float
        By how much F, or its bound, fell in the last step.
    status : str
        "stationary": no latent part changed, or F fell by at most tol * F; "max_outer".
    n_outer, n_iter, n_oracle_calls, seconds : outer steps, and passes, calls and time of them all
    history : list of `LatentRecord`, one per outer step
    starts : list of float
        F at the end of each start; that of `objective` is the least.
    """

    w: np.ndarray
    objective: float
    inner_gap: float
    decrease: float
    status: str
    n_outer: int
    n_iter: int
    n_oracle_calls: int
    seconds: float
    history: list[LatentRecord] = field(repr=False)
    starts: list[float] = field(default_factory=list, repr=False)
    search_gap: float = 0.0

    def __repr__(self) -> str:
        is_known = self.search_gap <= 1e-9 * abs(self.objective)  # rounding
        below = "F" if is_known else f"F within {self.search_gap:.3g} below"
        return (
            f"LatentResult({self.status} after {self.n_outer} steps, {below} {self.objective:.6g}, "
            f"inner gap {self.inner_gap:.3g}, last decrease {self.decrease:.3g}, "
            f"{len(self.w)} weights, {self.seconds:.2f} s)"
        )


def cccp(
    examples: Completion,
    solver: Solver,
    w: np.ndarray,
    *,
    rng: np.random.Generator,
    tol: float = 1e-2,
    outer_tol: float = 1e-3,
    max_outer: int = 50,
    max_iter: int = 1000,
    latent: Any = None,
) -> LatentResult:
    """Go down from w, or from given latent parts, until F falls no more.

    Parameters
    ----------
    examples : Completion
    solver : Solver of the convex problems
    w : weights to start from
    rng : the source of all randomness
    tol, max_iter : of the inner runs, see `solvers.run`
    outer_tol : stop where F falls by at most this share of it
    max_outer : most outer steps
    latent : latent parts of the first inner problem, in the place of the best ones at w
    """
    parts = examples.complete(w) if latent is None else latent
    problem = examples.problem(parts)
    value = problem.primal(w)  # of F(w), too, this and all later ones are upper bounds
    history: list[LatentRecord] = []
    status = "max_outer"
    for _ in range(max_outer):
        result, _ = run(problem, solver, rng=rng, tol=tol, max_iter=max_iter, w=w)
        # F_z at the start is F. An inner run that ends above it, by a loose gap, changes nothing.
        before = value
        if result.primal < value:
            w, value = result.w, result.primal
        inner_gap = value - result.dual
        new = examples.complete(w)
        n_changed = examples.n_different(parts, new)
        parts = new
        if n_changed:
            problem = examples.problem(parts)
        # Bounds of the new problem may be above those of the old one, at the same w.
        known = problem.assess(w)
        value = min(value, known.value)
        search_gap = max(value - (known.value - known.excess), 0.0)
        decrease = before - value
        calls = result.n_oracle_calls
        record = LatentRecord(
            value, decrease, inner_gap, n_changed, result.n_iter, calls, result.seconds, search_gap
        )
        history.append(record)
        if n_changed == 0 or decrease <= outer_tol * abs(value):
            status = "stationary"
            break
    last = history[-1]
    n_iter, n_calls = (sum(getattr(r, k) for r in history) for k in ("n_iter", "n_oracle_calls"))
    seconds = sum(record.seconds for record in history)
    return LatentResult(
        w, value, last.inner_gap, last.decrease, status, len(history), n_iter, n_calls, seconds,
        history, search_gap=last.search_gap,
    )  # fmt: skip


def best_of_starts(descend: Callable[[int], LatentResult], n_init: int) -> LatentResult:
    """Return the result of least F of several starts, numbered from 0; all are told of in it."""
    results = [descend(k) for k in range(n_init)]
    best = min(results, key=lambda result: result.objective)
    best.starts = [result.objective for result in results]
    return best
