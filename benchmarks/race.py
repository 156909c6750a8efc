"""A race of solvers on seven problems, and of what "auto" takes on six others.

Every solver has a process of its own, one after the other, and the same CPU seconds; the clock is
CPU time from the first pass on, nothing is compiled in it, and certificates count. "auto" is one of
the racers, beside the best of all at each relative gap. results/race_optima.json has the optima.

    python benchmarks/race.py words_small        # one problem, to the terminal
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import Check, Line, number

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
    known_optimum,
    named_solver,
    race,
)

ROOT = Path(__file__).resolve().parents[1]
OPTIMA = ROOT / "benchmarks" / "results" / "race_optima.json"
PICTURE = ROOT / "docs" / "images" / "race.png"
DRAWN = "words_small"

#: CPU seconds of a run, and of the search of an optimum.
SECONDS, OPTIMUM_SECONDS = 3.0, 2.0
#: More where less tells nothing.
LONGER = {"words_small": 7.0, "yeast_slack": 5.0, "chunking_1000": 5.0}

ALL = (
    "sdca", "bcfw", "one_slack(inwards=True)", "n_slack", "frank_wolfe", "partial_linearization",
    "exponentiated_gradient", "sgd",
)  # fmt: skip
PLAIN = "bcfw(step='plain', cache=0)"
#: Who races beside "auto"; `python benchmarks/race.py NAME` has all of them. The last six problems
#: were not looked at when "auto" was chosen: they have the one that may be faster.
RACERS: dict[str, tuple[str, ...]] = {
    "words_small": ("n_slack", PLAIN, "partial_linearization", "exponentiated_gradient", "sgd"),
    "letter": ("bcfw", "partial_linearization", "exponentiated_gradient"),
    "mnist_5k": ("bcfw",),
    "yeast_slack": ("one_slack(inwards=True)", "n_slack"),
    "chunking_1000": ("n_slack", "partial_linearization"),
    "lgbm_rank_ndcg": ("bcfw",),
    "yeast_tree": ("n_slack", "exponentiated_gradient"),
    "words_small_slack": ("n_slack",),
    "digit_strings": ("n_slack",),
    "satimage": ("bcfw",),
    "scene_full": ("n_slack",),
    "drawn_rankings_ap": ("bcfw",),
    "imclef07d": ("bcfw",),
}
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


def _labels(name: str, **options: Any) -> Case:
    data = load_yeast(scale=True) if name == "yeast" else load_mulan(name, scale=True)
    return Case(MultilabelSVM(random_state=0, **options), data.X_train, data.y_train, {})


def _chunking(n: int) -> Case:
    data = load_conll2000()
    template = FeatureTemplate.parse("chunking", columns=data.extra["columns"])
    X = template.transform(data.X_train[:n])
    return Case(ChainSVM(C=0.2, random_state=0), X, data.y_train[:n], {})


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


#: Problems by name; those after the first seven were not looked at when "auto" was chosen.
PROBLEMS: dict[str, Callable[[], Case]] = {
    "words_small": partial(_words, "small", None),
    "letter": partial(_classes, load_letter, 1.0),
    "mnist_5k": partial(_classes, load_mnist_5k, 1.0),
    "yeast_slack": partial(_labels, "yeast", C=0.01, surrogate="slack", pairwise="full"),
    "chunking_1000": partial(_chunking, 1000),
    "lgbm_rank_ndcg": partial(_rankings, "ndcg", 1.0),
    "yeast_tree": partial(_labels, "yeast", C=0.1, pairwise="tree"),
    "words_small_slack": partial(_words, "small", 0.01, "slack", 300),
    "digit_strings": _digits,
    "satimage": partial(_classes, partial(load_keel, "satimage"), 1.0),
    "scene_full": partial(_labels, "scene", C=0.1, pairwise="full"),
    "drawn_rankings_ap": partial(_drawn_rankings, "ap", 1.0),
    "imclef07d": partial(_hierarchy, "d"),
}
N_CHOSEN = 7


def make(name: str) -> Case:
    """Return a problem by its name; called in the process that solves it."""
    return PROBLEMS[name]()


def lines() -> Iterator[Line]:
    # All is read by this process, and its children begin with that.
    racing.START_METHOD = "fork"
    for place, name in enumerate(PROBLEMS):
        yield run_problem(name, RACERS[name], place < N_CHOSEN)


def run_problem(name: str, solvers: tuple[str, ...], was_chosen_by: bool) -> Line:
    """Race on one problem; the line is auto's seconds to a gap of 1%, beside the best."""
    taken = what_auto_takes(name)
    racers = {f"auto ({taken})": "auto"}
    racers |= {text: named_solver(text) for text in solvers if text not in ALIKE[taken]}
    courses = race(partial(make, name), racers, Limits(1e-4, seconds=LONGER.get(name, SECONDS)))
    seconds = OPTIMUM_SECONDS if was_chosen_by else 0.1
    best = known_optimum(OPTIMA, name, partial(make, name), seconds, courses)
    auto, others = courses[0], courses[1:]
    if name == DRAWN:
        race_panels(courses, best, "Handwritten words, small split, lam = 1/n").savefig(
            PICTURE, format="png"
        )
    ratios = {level: beside_best(auto, others, level) for level in LEVELS}
    known = [ratio for ratio in ratios.values() if ratio is not None]
    at = [point.seconds for point in [auto.to_gap(0.01)] if point is not None]
    soonest = [p.seconds for c in courses for p in [c.to_gap(0.01)] if p is not None]
    kind = "a race" if was_chosen_by else "auto, on a problem that it was not chosen by"
    return Line(
        f"{name}: {kind}, to a certified gap of 1%, beside the best",
        at[0] if at else None,
        min(soonest, default=None),
        checks=[Check("auto beside the best, at the worst gap", max(known), "<=", NEAR)]
        if known
        else [],
        note=" ".join(told(course, best) for course in courses)
        + f" The optimum is known to {best.relative_gap:.1e}.",
        facts=thinned(as_json(courses, best)) | {"ratios": ratios},
    )


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
    """Return a racer in words: seconds to each gap, and where it ended."""
    if not course.points:
        return f"*{course.solver}*: does not fit."
    times = [course.to_gap(level) for level in LEVELS]
    spelt = " / ".join("-" if p is None else number(p.seconds) for p in times)
    primal = course.to_primal(0.01, best)
    extra = "" if primal is None else f", primal within 1% {number(primal.seconds)}"
    last = course.points[-1]
    return f"*{course.solver}*: {spelt}{extra} ({last.pass_} passes)."


def thinned(facts: dict[str, Any], most: int = 60) -> dict[str, Any]:
    """Keep some points of each course: first ones all, later ones in even ratios."""
    for course in facts["courses"]:
        points = course["points"]
        kept = np.unique(np.geomspace(1, max(len(points), 1), most).astype(int)) - 1
        course["points"] = [points[k] for k in kept] if points else []
    return facts


if __name__ == "__main__":
    for problem in sys.argv[1:] or PROBLEMS:
        found = run_problem(problem, ALL, True)
        print(found.what, found.ours, found.peer, found.note, sep="\n", flush=True)
