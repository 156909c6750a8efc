"""Convergence of slack rescaling on Yeast: solvers and searches.

All 1500 genes, a weight for every pair of the 14 labels, and C = 0.1, the best for slack rescaling
on features as they are given (label_accuracy.py). Every run has the same CPU seconds. After some
passes its objective is computed, off the clock, by an exact search, whatever search the run itself
has: a search that misses label sets thinks too well of its w. The lowest objective so far is shown,
relative to the largest dual value that any run has found, so that the optimum lies somewhere below.
convergence_picture.py draws docs/images/yeast_convergence.png of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from convergence_picture import draw
from harness import Check, Line
from search_runs import genes, slack_problem

from maxmargin.search import Angular, Bisecting, ConvexHull, Profile
from maxmargin.solvers import SGD, BlockFrankWolfe, NSlack, OneSlack, Solver
from maxmargin.training.task import Task

C = 0.1
#: CPU seconds of each run.
BUDGET = 8.0
#: What runs are to come down to, above the largest dual value.
TARGET = 0.01

SEARCHES: dict[str, Any] = {
    "angular": Angular(),
    "bisecting": Bisecting(),
    "hull": ConvexHull(),
    "auto": "auto",
}
RUNS: dict[tuple[str, str], Solver] = {
    **{("SGD", search): SGD() for search in SEARCHES},
    **{("BCFW", search): BlockFrankWolfe() for search in SEARCHES},
    ("n-slack cutting plane", "hull"): NSlack(),
    ("one-slack cutting plane", "hull"): OneSlack(),
    ("one-slack, inward steps", "hull"): OneSlack(inwards=True),
}


@dataclass
class Course:
    """A run: after some passes, seconds, queries, the lowest objective so far and its own dual."""

    passes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    queries: list[int] = field(default_factory=list)
    duals: list[float] = field(default_factory=list)
    weights: list[list[np.ndarray]] = field(default_factory=list)
    objective: np.ndarray = field(default_factory=lambda: np.zeros(0))
    dual: float = -math.inf

    def excess(self, dual: float) -> np.ndarray:
        return self.objective / dual - 1.0


def lines() -> Iterator[Line]:
    training, few = genes(1500, "listed"), genes(20, "listed")
    exact = slack_problem(training, C, Profile())
    courses = {}
    for (name, search), solver in RUNS.items():
        course = follow(training, few, solver, SEARCHES[search])
        lowest = [min(map(exact.primal, weights)) for weights in course.weights]
        course.objective = np.minimum.accumulate(lowest)
        courses[name, search] = course
    dual = max(course.dual for course in courses.values())
    found = [describe(name, search, course, dual) for (name, search), course in courses.items()]
    draw([line.facts for line in found])
    yield from found


def follow(training: Task, few: Task, solver: Solver, search: Any) -> Course:
    """Make passes until the seconds are spent; keep w after passes 1, 2, 3, 4, 5, 7, 9, ..."""
    small = slack_problem(few, C, search)
    state: Any = solver.start(small)
    for _ in range(2):  # compiles
        solver.advance(small, state, np.random.default_rng(0))
    problem = slack_problem(training, C, search)
    course, rng = Course(), np.random.default_rng(0)
    n_passes, next_look = 0, 1
    start = time.process_time()
    state = solver.start(problem)
    seconds = time.process_time() - start
    while seconds < BUDGET:
        start = time.process_time()
        progress = solver.advance(problem, state, rng)
        seconds += time.process_time() - start
        n_passes += 1
        if math.isfinite(progress.dual):
            course.dual = max(course.dual, progress.dual)
        if n_passes >= next_look or seconds >= BUDGET:
            next_look = n_passes + 1 + n_passes // 4
            course.passes.append(n_passes)
            course.seconds.append(seconds)
            course.queries.append(problem.n_oracle_calls)
            course.duals.append(course.dual)
            course.weights.append([w.copy() for w, _ in solver.iterates(problem, state)])
    return course


def describe(name: str, search: str, course: Course, dual: float) -> Line:
    excess = course.excess(dual)
    there = np.flatnonzero(excess <= TARGET)
    reached = course.seconds[there[0]] if len(there) else None
    return Line(
        f"yeast, slack rescaling, {name}, search {search}: to {TARGET:.0%} above the dual",
        reached,
        checks=[Check("above the dual at the end", float(excess[-1]), "<=", TARGET)]
        if name == "BCFW" and search != "bisecting"
        else [],
        note=f"{course.passes[-1]} passes and {course.queries[-1]} queries in "
        f"{course.seconds[-1]:.1f} s; objective {course.objective[-1]:.4f}, {excess[-1]:.2%} above "
        f"the largest dual value, {dual:.4f}"
        + (f" (its own: {course.dual:.4f})." if math.isfinite(course.dual) else "."),
        facts={
            "solver": name,
            "search": search,
            "passes": course.passes,
            "seconds": course.seconds,
            "queries": course.queries,
            "objective": course.objective.tolist(),
            "duals": course.duals,
            "dual": dual,
        },
    )
