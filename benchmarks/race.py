"""A race of all solvers on eight problems, and of what "auto" takes on six others.

Every solver has a process of its own, one after the other; the clock is CPU time from the first
pass on, nothing is compiled in it, and certificates count. "auto" runs first. Each other runs until
it needs four times as long as the best to a gap of 10%, 1%, .1% or .01%. C is such that somebody
comes to .01% in the seconds there are, but for the small words, which have lam = 1/n as in the
source. results/race_optima.json has the optima.

    python benchmarks/race.py words_small        # one problem, to the terminal
    python benchmarks/race.py --optima 60        # optima of all problems, searched for longer
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import Check, Line, number
from newton_slack import NewtonSlack, fits
from race_picture import DRAWN, TITLE

from maxmargin import ChainSVM, Hierarchy, HierarchySVM, MulticlassSVM, MultilabelSVM, RankingSVM
from maxmargin.datasets import (
    load_conll2000,
    load_digit_strings,
    load_imclef07,
    load_keel,
    load_letter,
    load_lgbm_rank,
    load_mnist_5k,
    load_mulan,
    load_ocr,
    load_yeast,
    make_rankings,
)
from maxmargin.io import FeatureTemplate
from maxmargin.plots import race_panels
from maxmargin.training import race as racing
from maxmargin.training.race import (
    LEVELS,
    Case,
    Course,
    Limits,
    Optimum,
    as_json,
    in_own_process,
    known_optimum,
    named_solver,
    race,
    soonest,
)

ROOT = Path(__file__).resolve().parents[1]
OPTIMA = ROOT / "benchmarks" / "results" / "race_optima.json"
PICTURE = ROOT / "docs" / "images" / "race.png"

#: CPU seconds of a run, and of the search of an optimum that is not known to 1e-8.
SECONDS, OPTIMUM_SECONDS = 4.0, 4.0
#: Others run until they take so many times as long as the best to a gap.
FAR = 4.0

PLAIN = "bcfw(step='plain', cache=0)"
#: Who races beside "auto", on every problem that they fit.
ALL = (
    "sdca", "bcfw", PLAIN, "one_slack", "one_slack(inwards=True)", "n_slack", "sparse_sdca",
    "frank_wolfe", "partial_linearization", "exponentiated_gradient", "mmcrf",
)  # fmt: skip
#: Has no dual, and so no gap: CPU seconds of its run, to be compared by its primal.
UNCERTIFIED, ITS_SECONDS = "sgd", 1.0
#: Problems of classes, which are run last.
CLASSES = ("letter", "mnist_5k", "imclef07d", "satimage")
#: "auto" must not take longer than so many times the best.
NEAR = 1.3


def _words(part: str, lam: float | None, surrogate: str = "margin", most: int = 10**6) -> Case:
    data = load_ocr(part)
    X, y = data.X_train[:most], data.y_train[:most]
    C = 1.0 if lam is None else 1.0 / (lam * len(X))
    return Case(ChainSVM(C=C, surrogate=surrogate, random_state=0), X, y, {})


def _classes(load: Callable[..., Any], C: float) -> Case:
    data = load(scale=True, test_size=0.0)
    return Case(
        MulticlassSVM(C=C, random_state=0), np.ascontiguousarray(data.X_train), data.y_train, {}
    )


def _labels(name: str, most: int = 10**6, **options: Any) -> Case:
    data = load_yeast(scale=True) if name == "yeast" else load_mulan(name, scale=True)
    X, y = data.X_train[:most], data.y_train[:most]
    return Case(MultilabelSVM(random_state=0, **options), X, y, {})


def _chunking(n: int, C: float) -> Case:
    data = load_conll2000()
    template = FeatureTemplate.parse("chunking", columns=data.extra["columns"])
    X = template.transform(data.X_train[:n])
    return Case(ChainSVM(C=C, random_state=0), X, data.y_train[:n], {})


def _rankings(cost: str, C: float) -> Case:
    data = load_lgbm_rank()
    X = data.X_train.toarray() if hasattr(data.X_train, "toarray") else data.X_train
    beside = {"qid": data.extra["qid_train"]}
    return Case(RankingSVM(C=C, cost=cost, random_state=0), X, data.y_train, beside)


def _drawn_rankings(cost: str, C: float) -> Case:
    data = make_rankings(n_queries=200, n_documents=(25, 40), n_features=50, random_state=0)
    beside = {"qid": data.extra["qid_train"]}
    return Case(RankingSVM(C=C, cost=cost, random_state=0), data.X_train, data.y_train, beside)


def _digits() -> Case:
    data = load_digit_strings()
    return Case(ChainSVM(C=0.1, random_state=0), data.X_train, data.y_train, {})


def _hierarchy(name: str) -> Case:
    data = load_imclef07(name, scale=True)
    tree = Hierarchy.from_edges(data.extra["edges"], data.classes)
    return Case(HierarchySVM(hierarchy=tree, C=0.1, random_state=0), data.X_train, data.y_train, {})


#: Problems by name; those after the first `N_CHOSEN` were not looked at when "auto" was chosen.
PROBLEMS: dict[str, Callable[[], Case]] = {
    "words_small": partial(_words, "small", None),
    "words_large": partial(_words, "large", 0.01),
    "yeast_slack": partial(_labels, "yeast", 500, C=0.01, surrogate="slack", pairwise="full"),
    "chunking_1000": partial(_chunking, 1000, 0.05),
    "lgbm_rank_ndcg": partial(_rankings, "ndcg", 1.0),
    "yeast_tree": partial(_labels, "yeast", C=0.1, pairwise="tree"),
    "letter": partial(_classes, load_letter, 1.0),
    "mnist_5k": partial(_classes, load_mnist_5k, 0.01),
    "words_small_slack": partial(_words, "small", 0.01, "slack", 300),
    "digit_strings": _digits,
    "scene_full": partial(_labels, "scene", C=0.1, pairwise="full"),
    "drawn_rankings_ap": partial(_drawn_rankings, "ap", 1.0),
    "imclef07d": partial(_hierarchy, "d"),
    "satimage": partial(_classes, partial(load_keel, "satimage"), 1.0),
}
N_CHOSEN = 8


@functools.cache
def make(name: str) -> Case:
    """Return a problem by its name; processes that begin with this one have it already."""
    return PROBLEMS[name]()


def lines() -> Iterator[Line]:
    # All is read by this process, and its children begin with that.
    racing.START_METHOD = "fork"
    for name in sorted(PROBLEMS, key=lambda name: name in CLASSES):
        yield run_problem(name, name in list(PROBLEMS)[:N_CHOSEN])


def run_problem(name: str, was_chosen_by: bool) -> Line:
    """Race on one problem; the line is auto's seconds to a gap of 1%, beside the best."""
    taken, here = what_auto_takes(name), partial(make, name)
    racers = {f"auto ({taken})": "auto"}
    racers |= {text: named_solver(text) for text in ALL if text not in ALIKE[taken]}
    courses = race(here, racers, Limits(1e-4, seconds=SECONDS), far=FAR)
    short = Limits(1e-4, seconds=ITS_SECONDS)
    courses.append(in_own_process(here, UNCERTIFIED, UNCERTIFIED, short))
    ready = [course for course in courses if course.points]
    nearest = min(ready, key=lambda course: racing.bracket(course.points).relative_gap)
    best = known_optimum(
        OPTIMA, name, here, OPTIMUM_SECONDS, courses, racers.get(nearest.solver, "auto")
    )
    auto, others = courses[0], courses[1:]
    if name == DRAWN:
        shown = [course for course in courses if len(course.points) > 3]
        race_panels(shown, best, TITLE).savefig(PICTURE, format="png")
    ratios = {level: beside_best(auto, others, level) for level in LEVELS}
    known = [ratio for ratio in ratios.values() if ratio is not None]
    at = auto.to_gap(0.01)
    kind = "a race" if was_chosen_by else "a race that auto was not chosen by"
    return Line(
        f"{name}: {kind}, to a certified gap of 1%, auto beside the best",
        None if at is None else at.seconds,
        soonest(courses, 0.01),
        checks=[Check("auto beside the best, at the worst gap", max(known), "<=", NEAR)]
        if known
        else [],
        note="Seconds to gaps of 10 / 1 / .1 / .01%: "
        + " ".join(told(course, best) for course in ready)
        + f" The optimum is known to {best.relative_gap:.1e}. Do not fit: "
        + (", ".join(course.solver for course in courses if course.error) or "none")
        + ".",
        facts=thinned(as_json(courses, best))
        | {
            "ratios": ratios,
            "was_chosen_by": was_chosen_by,
            "to_gaps": {c.solver: [seconds_of(c.to_gap(level)) for level in LEVELS] for c in ready},
            "to_primals": {
                c.solver: [seconds_of(c.to_primal(level, best)) for level in LEVELS] for c in ready
            },
            "known_to": best.relative_gap,
        },
    )


def seconds_of(point: Any) -> float | None:
    return None if point is None else float(point.seconds)


#: Racers that are what "auto" takes: where outputs cannot be listed, sdca is bcfw.
ALIKE = {
    "sdca": ("sdca",),
    "bcfw": ("bcfw", "sdca"),
    "one_slack(inwards=True)": ("one_slack(inwards=True)", "sdca"),
}


def what_auto_takes(name: str) -> str:
    """Return the solver that "auto" stands for, by the estimator of a problem."""
    estimator = make(name).estimator
    if isinstance(estimator, RankingSVM):
        return "one_slack(inwards=True)"
    return "sdca" if isinstance(estimator, MulticlassSVM | HierarchySVM) else "bcfw"


def beside_best(auto: Course, others: list[Course], level: float) -> float | None:
    """Return auto's seconds to a gap, over the least of all; None where nobody got there."""
    reached = [p for c in (auto, *others) for p in [c.to_gap(level)] if p is not None]
    own = auto.to_gap(level)
    if not reached:
        return None
    # Below a hundredth of a second a clock tells nothing.
    least = max(min(point.seconds for point in reached), 0.01)
    return float("inf") if own is None else max(own.seconds, 0.01) / least


def told(course: Course, best: Optimum) -> str:
    """Return a racer in words: seconds to each gap, and to primals near the optimum."""
    times = [course.to_gap(level) for level in LEVELS]
    spelt = " / ".join("-" if p is None else number(p.seconds) for p in times)
    primals = [course.to_primal(level, best) for level in LEVELS[:3]]
    near = " / ".join("-" if p is None else number(p.seconds) for p in primals)
    last = course.points[-1]
    return f"*{course.solver}*: {spelt}, primal {near} ({last.pass_} passes)."


def thinned(facts: dict[str, Any], most: int = 40) -> dict[str, Any]:
    """Keep some points of each course: first ones all, later ones in even ratios."""
    for course in facts["courses"]:
        points = course["points"]
        kept = np.unique(np.geomspace(1, max(len(points), 1), most).astype(int)) - 1
        course["points"] = [points[k] for k in kept] if points else []
    return facts


def find_optimum(name: str, seconds: float) -> Optimum:
    """Look for an optimum for longer than a race does, and keep what was found."""
    problem, _ = racing.problem_of(make(name), "auto")
    solver = NewtonSlack() if fits(problem) else "auto"
    return known_optimum(OPTIMA, name, partial(make, name), seconds, solver=solver)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--optima", type=float, help="only look for optima, so many CPU seconds")
    options = parser.parse_args()
    racing.START_METHOD = "fork"
    for name in options.problems:
        if options.optima:
            print(name, f"{find_optimum(name, options.optima).relative_gap:.1e}", flush=True)
            continue
        found = run_problem(name, name in list(PROBLEMS)[:N_CHOSEN])
        print(found.what, found.ours, found.peer, *found.checks, found.note, sep="\n", flush=True)


if __name__ == "__main__":
    main()
