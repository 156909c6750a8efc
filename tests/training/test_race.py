"""A race: solvers by one clock, what they reached, and the optimum that is kept."""

from __future__ import annotations

import json
import math
from functools import partial

import numpy as np
import pytest

from maxmargin import MulticlassSVM
from maxmargin.plots import race_panels
from maxmargin.solvers import BlockFrankWolfe
from maxmargin.training import race as racing
from maxmargin.training.race import Case, Course, Limits, Optimum, Point, named_solver, run_solver

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.argmax(X @ np.random.default_rng(1).normal(size=(3, 3)), axis=1)
SHORT = Limits(1e-3, 40, 2.0)


def make(**options):
    return Case(MulticlassSVM(C=1.0, random_state=0, **options), X, Y, {})


def course(name, *pairs):
    """Return a course with these primals and duals."""
    points = [Point(k, 10 * k, 0.5 * k, *pair) for k, pair in enumerate(pairs, start=1)]
    return Course(name, points, "converged")


def test_gaps_and_primals_are_told_at_the_first_pass_that_reached_them():
    found = course("a", (2.0, 0.0), (1.1, 0.9), (1.005, 0.999))
    assert found.to_gap(0.5).pass_ == 2 and found.to_gap(0.01).pass_ == 3
    assert found.to_gap(1e-4) is None
    assert found.to_primal(0.1001, Optimum(1.0, 1.0)).seconds == 1.0


def test_runs_of_one_problem_agree(monkeypatch):
    courses = [
        run_solver(make(), name, name, SHORT, Limits(0.0, 1, 1.0))
        for name in ("auto", "bcfw", "exponentiated_gradient", "sgd")
    ]
    best = racing.bracket([point for each in courses for point in each.points])
    assert 0.0 <= best.relative_gap <= 1e-3
    for each in courses:
        seconds = [point.seconds for point in each.points]
        primals = [point.primal for point in each.points if math.isfinite(point.primal)]
        assert seconds == sorted(seconds) and primals == sorted(primals, reverse=True)
        assert not each.error
    assert courses[1].to_gap(1e-2) is not None and courses[3].to_gap(1e-2) is None


def test_a_solver_that_does_not_fit_says_so():
    found = run_solver(make(surrogate="slack"), "eg", "exponentiated_gradient", SHORT)
    assert not found.points and "needs a loss of slope 1" in found.error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bcfw(1)", "options must be written"),
        ("bcfw(step", "options must be written"),
        ("bcfw(cache=0, cache=1)", "options must be written"),
        ("simplex(a=1)", "solver='simplex' is not known"),
        ("bcfw(speed=2)", "unexpected keyword argument"),
        ("bcfw(step='fast')", "step must be one of"),
    ],
)
def test_solvers_that_cannot_be_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        named_solver(text)


def test_options_are_read():
    assert named_solver("bcfw(step='plain', cache=0)") == BlockFrankWolfe(step="plain", cache=0)
    assert named_solver("sgd") == "sgd"


def test_the_optimum_is_computed_once(tmp_path, monkeypatch):
    path, asked = tmp_path / "optima.json", []

    def alone(make, name, solver, limits):
        asked.append(limits.tol)
        return course("auto", (1.0 + 5e-9, 1.0))

    monkeypatch.setattr(racing, "in_own_process", alone)
    rough = [course("a", (1.2, 0.9))]
    first = racing.known_optimum(path, "p", make, 1.0, rough)
    again = racing.known_optimum(path, "p", make, 1.0, rough)
    assert first == again == Optimum(1.0, 1.0 + 5e-9) and asked == [1e-8]
    assert json.loads(path.read_text())["p"]["dual"] == 1.0
    racing.known_optimum(path, "q", make, 1.0, [course("a", (1.0, 1.0))])
    assert len(asked) == 1  # the race itself knows it


def test_runs_that_are_late_end(monkeypatch):
    goals = {}

    def alone(make, name, solver, limits):
        goals[name] = limits.by
        return course(name, (2.0, 0.0), (1.1, 1.0)) if name == "a" else course(name, (1.5, 1.0))

    monkeypatch.setattr(racing, "in_own_process", alone)
    racing.race(make, {"a": "sdca", "b": "bcfw"}, SHORT, far=5.0)
    assert goals == {"a": (), "b": ((0.1, 5.0),)}  # a was at 10% after a second
    racing.race(make, {"c": "sdca", "d": "bcfw"}, SHORT)
    assert goals["d"] == ()
    late = Limits(0.0, 40, 20.0, by=((0.5, 1e9), (1e-9, 0.0)))
    found = run_solver(make(), "bcfw", "bcfw", late, Limits(0.0, 1, 1.0))
    assert found.status == "late" and len({point.pass_ for point in found.points}) < 40
    # Without a dual nobody is late.
    found = run_solver(make(), "sgd", "sgd", late, Limits(0.0, 1, 1.0))
    assert found.points[-1].pass_ == 40


def test_a_process_of_its_own(tmp_path):
    found = racing.in_own_process(partial(make), "bcfw", "bcfw", Limits(0.1, 5, 5.0))
    assert found.points and not found.error


def test_a_process_that_dies_is_told():
    found = racing.in_own_process(partial(_die), "bcfw", "bcfw", SHORT)
    assert found.error == "its process ended with 3" and not found.points


def _die():
    import os

    os._exit(3)


def test_the_picture_has_a_line_per_solver():
    runs = [course("a", (2.0, 0.5), (1.1, 0.9)), Course("b", [], error="does not fit")]
    figure = race_panels(runs, Optimum(0.999, 1.001), "two")
    assert len(figure.axes) == 6 and len(figure.axes[0].lines) == 1
