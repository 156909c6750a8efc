"""The cutting plane's master QP: our active set method against SMO alone and QP packages.

Run ``python benchmarks/qp.py`` with the ``bench`` extra installed (a few minutes, one thread).

A one-slack cutting plane run on a random multi-class hinge problem (n = 500, d = 200, 10 classes)
is recorded for each lam, 300 planes long. Then every candidate solves every master of the run, from
its own previous solution where it can start warm, to two accuracies: "1e-9", a Frank-Wolfe gap of
1e-9 of the objective, and "loose", a tenth of the gap that the run itself had at that point, which
is what a cutting plane solver asks for. "missed" counts masters left above the gap asked for.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import clarabel
import daqp
import numpy as np
import osqp
import piqp
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from maxmargin.solvers.cutting import simplex_qp

Solve = Callable[[np.ndarray, np.ndarray, float, np.ndarray, float], np.ndarray]


def record_run(lam: float, n_planes: int, seed: int = 0):
    """Return the Gram matrix, offsets and gaps of a cutting plane run, and its best objective."""
    n, d, n_classes = 500, 200, 10
    rng = np.random.default_rng(seed)
    truth, X = rng.normal(size=(d, n_classes)), rng.normal(size=(n, d))
    y = np.argmax(X @ truth / np.sqrt(d) + rng.normal(size=(n, n_classes)), axis=1)
    rows, cost = np.arange(n), 1.0 - np.eye(n_classes)[y]
    # Plane 0 is 0 + 0.w: the hinge is never negative.
    planes, offsets = np.zeros((n_planes, d * n_classes)), np.zeros(n_planes)
    gram, gaps = np.zeros((n_planes, n_planes)), np.zeros(n_planes)
    alpha, w, upper = np.ones(1), np.zeros(d * n_classes), np.inf
    for t in range(1, n_planes):
        worst = np.argmax(X @ w.reshape(d, n_classes) + cost, axis=1)
        slopes = (np.eye(n_classes)[worst] - np.eye(n_classes)[y]) / n
        planes[t], offsets[t] = (X.T @ slopes).ravel(), cost[rows, worst].mean()
        upper = min(upper, 0.5 * lam * w @ w + offsets[t] + planes[t] @ w)
        gram[t, : t + 1] = gram[: t + 1, t] = planes[: t + 1] @ planes[t]
        lower = offsets[:t] @ alpha - 0.5 * alpha @ gram[:t, :t] @ alpha / lam
        gaps[t] = upper - lower
        alpha = np.append(alpha, 0.0)
        simplex_qp.solve_simplex(gram, offsets[: t + 1], lam, alpha, 1e-10 * upper)
        w = -(alpha @ planes[: t + 1]) / lam
    return gram, offsets, gaps, upper


def kernel_alone(n_pairs: int, max_steps: int = 10_000) -> Solve:
    """Our kernel with so many pairwise steps before the first Newton step."""

    def solve(gram, linear, lam, alpha, tol):
        simplex_qp._ascend(gram, linear, lam, alpha, tol * lam, max_steps, n_pairs)
        return alpha

    return solve


def with_piqp(gram, linear, lam, alpha, tol):
    m, solver = len(linear), piqp.DenseSolver()
    solver.settings.eps_abs, solver.settings.eps_rel = min(0.1 * tol, 1e-9), 0.0
    solver.settings.eps_duality_gap_abs, solver.settings.eps_duality_gap_rel = 0.1 * tol, 0.0
    solver.setup(
        np.asfortranarray(gram / lam), -linear, np.ones((1, m), order="F"), np.ones(1),
        None, None, None, np.zeros(m), np.full(m, np.inf),
    )  # fmt: skip
    solver.solve()
    return solver.result.x


def with_daqp(gram, linear, lam, alpha, tol):
    # It wants a definite matrix: a constant added to all entries changes nothing on the simplex.
    m, scale = len(linear), gram.max()
    sense = np.full(m + 1, 5, np.int32)  # the last one: equality
    sense[:m] = np.where(alpha > 0.0, 0, 1 + 2)  # 1 + 2: at its lower bound to begin with
    x, _, flag, _ = daqp.solve(
        gram / scale + 1.0, -linear * (lam / scale), np.ones((1, m)), np.ones(m + 1),
        np.append(np.zeros(m), 1.0), sense, primal_tol=1e-11, dual_tol=1e-12, eps_prox=0.0,
    )  # fmt: skip
    return np.asarray(x) if flag > 0 else alpha


def with_osqp(gram, linear, lam, alpha, tol):
    m, scale, solver = len(linear), gram.max(), osqp.OSQP()
    solver.setup(
        sp.csc_matrix(np.triu(gram / scale)), -linear * (lam / scale),
        sp.csc_matrix(np.vstack([np.ones((1, m)), np.eye(m)])), np.append(1.0, np.zeros(m)),
        np.ones(m + 1), verbose=False, eps_abs=1e-7, eps_rel=1e-7, polishing=True, max_iter=20_000,
    )  # fmt: skip
    solver.warm_start(x=alpha)
    return solver.solve().x


def with_clarabel(gram, linear, lam, alpha, tol):
    m, settings = len(linear), clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs, settings.tol_gap_rel, settings.tol_feas = 0.1 * tol, 1e-14, 1e-10
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(gram / lam)), -linear,
        sp.csc_matrix(np.vstack([np.ones((1, m)), -np.eye(m)])), np.append(1.0, np.zeros(m)),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(m)], settings,
    ).solve()  # fmt: skip
    return np.array(solution.x)


CANDIDATES: dict[str, Solve] = {
    "ours": lambda *arguments: simplex_qp.solve_simplex(*arguments)[0],
    "ours, Newton at once": kernel_alone(0),
    "SMO alone": kernel_alone(10**9, max_steps=200_000),
    "piqp (cold)": with_piqp,
    "daqp (warm)": with_daqp,
    "osqp (warm)": with_osqp,
    "clarabel (cold)": with_clarabel,
}


def time_run(solve: Solve, gram, offsets, lam, tols):
    """Return processor milliseconds for each master, and the Frank-Wolfe gaps reached."""
    alpha, milliseconds, reached = np.ones(1), [], []
    for t in range(1, len(offsets)):
        block, linear = np.ascontiguousarray(gram[: t + 1, : t + 1]), offsets[: t + 1]
        start = time.process_time()
        answer = solve(block, linear, lam, np.append(alpha, 0.0), tols[t])
        milliseconds.append(1e3 * (time.process_time() - start))
        alpha = np.maximum(answer, 0.0)
        alpha /= alpha.sum()
        values = linear - block @ alpha / lam
        reached.append(values.max() - alpha @ values)
    return np.array(milliseconds), np.array(reached)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--planes", type=int, default=300)
    parser.add_argument("--lams", type=float, nargs="+", default=[0.1, 1e-3])
    options = parser.parse_args()
    form = "{:>7} {:>6}  {:<21} {:>9} {:>9} {:>9} {:>11} {:>8}"
    print(form.format("lam", "tol", "", "mean ms", "median", "last 50", "worst gap", "missed"))
    for lam in options.lams:
        gram, offsets, gaps, best = record_run(lam, options.planes)
        tight = np.full(len(gaps), 1e-9 * best)
        for name, tols in {"1e-9": tight, "loose": np.maximum(0.1 * gaps, tight)}.items():
            for candidate, solve in CANDIDATES.items():
                # Compiles ours before the clock starts.
                solve(np.eye(2), np.zeros(2), 1.0, np.array([0.9, 0.1]), 1e-9)
                ms, reached = time_run(solve, gram, offsets, lam, tols)
                missed = int(np.sum(reached > 1.01 * tols[1:]))
                numbers = [f"{x:.3f}" for x in (ms.mean(), np.median(ms), ms[-50:].mean())]
                worst = f"{reached.max() / best:.1e}"
                print(form.format(f"{lam:g}", name, candidate, *numbers, worst, missed), flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
