"""Searches for the most violating label set of Yeast, beside Tables 4.1 and 5.1 of paper 000.

The n-slack cutting plane trains slack rescaling on the first 160 or 80 genes, with a weight for
every pair of the 14 labels, C = 1. At the w of every pass all searches look for the most violating
label set of every gene, and the planes of an exact one are added. A search succeeds if what it
finds is violated by more than the slack of the known planes and a little (`EPSILON`). It misses if
some label set has a larger psi: one that another search found, or any of the 2^14, which are all
enumerated. The paper's oracles were linear programmes, so that its label sets were fractional:
`relaxed` does as it did. Which C it took, and where its searches stopped, it does not say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Check, Line
from search_runs import EPSILON, CuttingPlane, Enumeration, Run, genes, slack_problem

from maxmargin.search import Angular, BinarySearch, Bisecting, ConvexHull, Profile, SarawagiGupta

C = 1.0
#: The cutting plane stops at this relative gap, or after so many passes.
TOL, MAX_PASSES = 1e-3, 100

#: By the number of genes, Tables 4.1 and 5.1: queries and milliseconds a search, and the shares of
#: successes (4.1) or of misses against the best of the four (5.1).
PAPER: dict[int, dict[str, dict[str, float]]] = {
    160: {
        "angular": {"queries": 3.8, "ms": 4.7, "success": 0.224},
        "bisecting": {"queries": 10.3, "ms": 3.6, "success": 0.165},
        "sarawagi": {"queries": 43.2, "ms": 18.5, "success": 0.164},
    },
    80: {
        "angular": {"queries": 4.5, "ms": 23.3, "misses": 0.0},
        "hull": {"queries": 3.1, "ms": 9.5, "misses": 0.07},
        "bisecting": {"queries": 7.8, "ms": 20.5, "misses": 0.26},
        "sarawagi": {"queries": 15.3, "ms": 55.7, "misses": 0.36},
    },
}
#: Most queries that are aimed at.
AIMS = {"angular": 3.8, "hull": 3.1}

SEARCHES: dict[str, Any] = {
    "angular, cold": Angular(warm=False),
    "angular, warm": Angular(),
    "angular, warm, to .999": Angular(tol=1e-3),
    "hull, cold": ConvexHull(warm=False),
    "hull, warm": ConvexHull(),
    "hull, corners only, cold": ConvexHull(integral=False, warm=False),
    "hull, corners only, warm": ConvexHull(integral=False),
    "bisecting, cold": Bisecting(warm=False),
    "bisecting, cold, tilt to 1%": Bisecting(rtol=1e-2, warm=False),
    "bisecting, warm": Bisecting(),
    "binary, cold": BinarySearch(warm=False),
    "sarawagi": SarawagiGupta(),
    "sarawagi, tilt to 1%": SarawagiGupta(tol=1e-2),
    "profile": Profile(),
}


def lines() -> Iterator[Line]:
    for n, figures in PAPER.items():
        table = Table(n)
        for name in SEARCHES:
            if family(name) in figures:
                yield table.line(name)
        if n == max(PAPER):
            yield from table.beside_enumeration()
    yield from relaxed(min(PAPER))


def family(name: str) -> str:
    return name.partition(",")[0]


class Table:
    """All searches, and the enumerations, at the w of one cutting plane."""

    def __init__(self, n: int) -> None:
        self.n = n
        training = genes(n, "listed")
        leader = CuttingPlane(slack_problem(training, C, Profile()))
        self.runs = {
            name: Run(slack_problem(training, C, search)) for name, search in SEARCHES.items()
        }
        self.doubled = Enumeration(leader.problem, is_plain=False)
        self.plain = Enumeration(leader.problem, is_plain=True)
        self.n_passes = 0
        for w, slacks in leader.passes(TOL, MAX_PASSES):
            for run in self.runs.values():
                run.look(w, slacks)
            self.doubled.look(w)
            if self.n_passes % 5 == 0:  # it takes its time
                self.plain.look(w)
            self.n_passes += 1
        self.gap = leader.gap
        self.best = np.max([run.losses for run in self.runs.values()], axis=0)

    def line(self, name: str) -> Line:
        run, paper = self.runs[name], PAPER[self.n][family(name)]
        total = run.n_searches
        against_all, against_best = (run.misses(top) for top in (self.doubled.losses, self.best))
        checks = []
        if family(name) in AIMS:
            checks.append(Check("queries", run.queries, "<=", AIMS[family(name)]))
        if SEARCHES[name].is_exact:
            checks.append(Check("maxima missed", against_all, "==", 0))
        theirs = (
            f"{paper['success']:.1%} successes"
            if "success" in paper
            else f"{paper['misses']:.0%} misses"
        )
        return Line(
            f"yeast, {self.n} genes, queries a search: {name}, beside the paper's",
            run.queries,
            paper["queries"],
            unit="",
            checks=checks,
            note=f"{total} searches in {self.n_passes} passes to a gap of {self.gap:.2%}: success "
            f"{run.success:.1%} (violated by more than {EPSILON:g}), {run.microseconds:.0f} us a "
            f"search, misses {against_all / total:.2%} of the maxima of all label sets "
            f"({against_all}), {against_best / total:.2%} of the best of these searches. Paper: "
            f"{theirs}, {paper['ms']:.3g} ms.",
            facts={
                "queries": run.queries,
                "success": run.success,
                "us": run.microseconds,
                "searches": total,
                "misses of all": against_all,
                "misses of the best": against_best,
                "paper": paper,
            },
        )

    def beside_enumeration(self) -> Iterator[Line]:
        """How many times faster searches are than going through all 2^14 label sets."""
        plain = self.plain.microseconds
        for name, run in self.runs.items():
            missed = run.misses(self.doubled.losses)
            is_exact = SEARCHES[name].is_exact
            yield Line(
                f"yeast, one search: {name}, beside all 2^14 label sets",
                run.microseconds,
                self.doubled.microseconds,
                unit="us",
                checks=[Check("maxima missed", missed, "==", 0)] if is_exact else [],
                note=f"{plain / run.microseconds:.1f} times as fast as scoring every label set by "
                f"itself ({plain:.0f} us); {self.doubled.microseconds / run.microseconds:.2f} "
                "times as fast as listing all scores by doubling, the peer, which is what the "
                "oracles of at most 16 labels do themselves, once a search. "
                f"{missed} of {run.n_searches} maxima missed.",
                facts={"plain us": plain, "missed": missed},
            )


# --- Fractional label sets, as in the paper

#: Every so many passes the searches over linear programmes look: they take milliseconds each.
STRIDE = 8

#: Inference and search. Roof duality is the linear programme without the time it takes, but has no
#: oracle for angles; Sarawagi's search needs the second best label set, and relaxations have none.
RELAXED: dict[str, tuple[str, Any]] = {
    "hull, cold": ("relaxed", ConvexHull(integral=False, warm=False)),
    "hull, warm": ("relaxed", ConvexHull(integral=False)),
    "bisecting, cold, tilt to 1%": ("relaxed", Bisecting(rtol=1e-2, warm=False)),
    "angular, cold, to .999": ("relaxed_program", Angular(tol=1e-3, warm=False)),
    "angular, warm, to .999": ("relaxed_program", Angular(tol=1e-3)),
}


def relaxed(n: int) -> Iterator[Line]:
    trainings = {name: genes(n, name) for name in ("relaxed", "relaxed_program")}
    leader = CuttingPlane(slack_problem(trainings["relaxed"], C, ConvexHull(integral=False)))
    runs = {
        name: Run(slack_problem(trainings[inference], C, search))
        for name, (inference, search) in RELAXED.items()
    }
    n_looks = 0
    for k, (w, slacks) in enumerate(leader.passes(TOL, MAX_PASSES)):
        if k % STRIDE == 0:
            n_looks += 1
            for run in runs.values():
                run.look(w, slacks)
    best = np.max([run.losses for run in runs.values()], axis=0)
    for name, run in runs.items():
        paper = PAPER[n][family(name)]
        # The angular search is asked for a thousandth; what it lacks of that is no miss.
        missed = int(np.sum(run.losses < best * (1.0 - 1e-3) - 1e-9))
        checks = []
        if family(name) in AIMS:
            checks = [
                Check("queries", run.queries, "<=", AIMS[family(name)]),
                Check("missed by .1%", missed, "==", 0),
            ]
        yield Line(
            f"yeast relaxed, {n} genes, queries a search: {name}, beside the paper's",
            run.queries,
            paper["queries"],
            unit="",
            checks=checks,
            note=f"{'HiGHS' if RELAXED[name][0] == 'relaxed_program' else 'Roof duality'}, "
            f"{run.n_searches} searches at every {STRIDE}th w of a cutting plane to a gap of "
            f"{leader.gap:.2%}: {run.microseconds:.0f} us per search, "
            f"{missed / run.n_searches:.2%} find .1% less than the best of these. "
            f"Paper: {paper.get('misses', 0):.0%} misses, {paper['ms']:.3g} ms.",
            facts={
                "queries": run.queries,
                "us": run.microseconds,
                "searches": run.n_searches,
                "missed": missed,
                "paper": paper,
            },
        )
