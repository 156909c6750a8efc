"""Partial linearization beside plain Frank-Wolfe, our default and online exponentiated gradient.

Figures 2.3 to 2.6 of Mohapatra's thesis (2017), on our data: lam = .1, .01 and .001, tau = .01 as
there, and others. Every run on a problem has the same CPU seconds; passes and seconds are those to
certified relative gaps of 1% and .1%. All run in this process, after one that compiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Line, number
from sklearn.datasets import load_digits

from maxmargin import ChainSVM, MulticlassSVM
from maxmargin.datasets import load_letter, load_mnist_5k, load_ocr
from maxmargin.training.race import Case, Course, Limits, named_solver, run_solver

LAMS = (0.1, 0.01, 0.001)
#: CPU seconds of a run; a pass over words takes some sixty times as long as one over digits.
SECONDS, SECONDS_OF_WORDS = 3.0, 12.0
GAPS = (1e-2, 1e-3)
PLAIN = "bcfw(step='plain', cache=0)"
SOLVERS = {
    "plain BCFW": PLAIN,
    "default": "auto",
    "tau .01": "partial_linearization(tau=0.01, fall=0)",
    "tau .1": "partial_linearization(tau=0.1, fall=0)",
    "tau 1": "partial_linearization(tau=1.0, fall=0)",
    "tau 3": "partial_linearization(tau=3.0, fall=0)",
    "online EG": "exponentiated_gradient",
}


def problems() -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield name, estimator, X and y."""
    for name, load, n in (("letter", load_letter, 3000), ("mnist_5k", load_mnist_5k, 1000)):
        data = load(scale=True, test_size=0.0)
        chosen = np.random.default_rng(0).permutation(len(data.X_train))[:n]
        yield f"{name} ({n})", MulticlassSVM(), data.X_train[chosen], data.y_train[chosen]
    X, y = load_digits(return_X_y=True)
    yield "digits (1797)", MulticlassSVM(), X / 16.0, y
    data = load_ocr("small")
    yield "words (300)", ChainSVM(), data.X_train[:300], data.y_train[:300]


def lines() -> Iterator[Line]:
    for name, estimator, X, y in problems():
        for lam in LAMS:
            estimator.set_params(C=1.0 / (lam * len(X)), random_state=0)
            case = Case(estimator, X, y, {})
            courses = {
                told: run_solver(
                    case,
                    told,
                    named_solver(text),
                    Limits(5e-4, seconds=seconds_for(name)),
                    BEFORE,
                )
                for told, text in SOLVERS.items()
            }
            yield beside_plain(f"{name}, lam = {lam:g}", courses)


BEFORE = Limits(0.0, 6, 0.1)


def seconds_for(name: str) -> float:
    """Return the CPU seconds of a run on a problem."""
    return SECONDS_OF_WORDS if name.startswith("words") else SECONDS


def beside_plain(what: str, courses: dict[str, Course]) -> Line:
    """Return the passes of the best tau to a gap of 1%, beside those of plain Frank-Wolfe."""
    passes = {name: passes_to(course, 1e-2) for name, course in courses.items()}
    taus = {name: n for name, n in passes.items() if name.startswith("tau") and n is not None}
    best = min(taus, key=lambda name: taus[name]) if taus else None
    spelt = []
    for name, course in courses.items():
        points = [course.to_gap(level) for level in GAPS]
        cells = ["-" if p is None else f"{p.pass_} ({number(p.seconds)} s)" for p in points]
        spelt.append(f"*{name}* {' / '.join(cells)}")
    return Line(
        f"{what}: passes of the best tau ({best or 'none'}) to a gap of 1%, beside plain BCFW",
        None if best is None else float(taus[best]),
        passes["plain BCFW"],
        unit="passes",
        note="Passes (CPU seconds) to 1% / .1%: " + "; ".join(spelt) + ".",
        facts={
            name: [
                None if p is None else {"passes": p.pass_, "seconds": p.seconds}
                for p in (course.to_gap(level) for level in GAPS)
            ]
            for name, course in courses.items()
        },
    )


def passes_to(course: Course, level: float) -> float | None:
    point = course.to_gap(level)
    return None if point is None else float(point.pass_)
