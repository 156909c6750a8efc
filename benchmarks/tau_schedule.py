"""Temperatures of partial linearization: how large, and whether they should fall or rise.

Every schedule tau / (1 + pass)^fall makes runs of as many CPU seconds on letters, digits and words
(none of them a test part). Of each schedule: the passes to certified gaps of 10%, 1% and .1%. A
run that does not come there counts with twice the passes that it made. A schedule's figure on a
problem is the geometric mean over gaps of its passes beside those of a constant tau = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Line
from partial_linearization import BEFORE, problems

from maxmargin import ChainSVM
from maxmargin.solvers import PartialLinearization
from maxmargin.training.race import Case, Course, Limits, run_solver

#: CPU seconds of a run; a pass over words takes some sixty times as long as one over digits.
SECONDS, SECONDS_OF_WORDS = 1.0, 5.0
GAPS = (1e-1, 1e-2, 1e-3)
#: By the name of the problem, its lams.
LAMS = {"letter": (0.01, 0.001), "digits": (0.01, 0.001), "words": (0.1, 0.01)}
SCHEDULES = [
    (tau, fall)
    for tau in (0.01, 0.1, 1.0, 3.0)
    for fall in (-0.5, 0.0, 0.5, 1.0)
    if fall >= 0.0 or tau < 1.0
]
BASE = (1.0, 0.0)


def lines() -> Iterator[Line]:
    ratios: dict[tuple[float, float], list[float]] = {each: [] for each in SCHEDULES}
    for name, estimator, X, y in problems():
        for lam in LAMS.get(name.partition(" ")[0], ()):
            estimator.set_params(C=1.0 / (lam * len(X)), random_state=0)
            case = Case(estimator, X, y, {})
            courses = {schedule: follow(case, schedule) for schedule in SCHEDULES}
            base = needed(courses[BASE])
            for schedule, course in courses.items():
                with_base = np.log(np.array(needed(course)) / base)
                ratios[schedule].append(float(np.exp(with_base.mean())))
            yield told(f"{name}, lam = {lam:g}", courses, {k: r[-1] for k, r in ratios.items()})
    yield summary(ratios)


def follow(case: Case, schedule: tuple[float, float]) -> Course:
    solver = PartialLinearization(tau=schedule[0], fall=schedule[1])
    seconds = SECONDS_OF_WORDS if isinstance(case.estimator, ChainSVM) else SECONDS
    return run_solver(case, spelt(schedule), solver, Limits(5e-4, seconds=seconds), BEFORE)


def spelt(schedule: tuple[float, float]) -> str:
    return "tau {:g}, fall {:g}".format(*schedule)


def needed(course: Course) -> np.ndarray:
    """Return the passes to each gap; twice those made where it was not reached."""
    made = course.points[-1].pass_
    points = [course.to_gap(level) for level in GAPS]
    return np.array([2.0 * made if point is None else point.pass_ for point in points])


def told(what: str, courses: dict[Any, Course], ratios: dict[Any, float]) -> Line:
    best = min(ratios, key=lambda schedule: ratios[schedule])
    cells = []
    for schedule, course in courses.items():
        points = [course.to_gap(level) for level in GAPS]
        passes = " / ".join("-" if point is None else str(point.pass_) for point in points)
        cells.append(f"*{spelt(schedule)}* {passes} of {course.points[-1].pass_}")
    return Line(
        f"{what}: passes beside tau = 1, least with {spelt(best)}",
        ratios[best],
        1.0,
        unit="",
        note="Passes to 10 / 1 / .1% of those made: " + "; ".join(cells) + ".",
        facts={spelt(schedule): ratio for schedule, ratio in ratios.items()},
    )


def summary(ratios: dict[tuple[float, float], list[float]]) -> Line:
    means = {key: float(np.exp(np.mean(np.log(found)))) for key, found in ratios.items()}
    best = min(means, key=lambda schedule: means[schedule])
    order = sorted(means, key=lambda schedule: means[schedule])
    return Line(
        f"all of them, geometric mean: passes beside tau = 1, least with {spelt(best)}",
        means[best],
        1.0,
        unit="",
        note="; ".join(f"*{spelt(each)}* {means[each]:.2f}" for each in order) + ".",
        facts={spelt(each): {"mean": means[each], "each": ratios[each]} for each in order},
    )
