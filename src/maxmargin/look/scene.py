"""What there is to see in the plane of one example: outputs, a search, and which part to show."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin.inputs.checks import check_number
from maxmargin.look.example import example_problem
from maxmargin.look.points import Points, label_points
from maxmargin.search.trace import Query, trace_search
from maxmargin.surrogates import SlackRescaling
from maxmargin.training.settings import resolve_search, resolve_surrogate


class Spot(NamedTuple):
    """An output in the plane."""

    h: float
    g: float
    psi: float


@dataclass(frozen=True)
class Scene:
    """Outputs of one example, and a search among them.

    Attributes
    ----------
    points : Points
    queries : list of Query
    truth, found, best : Spot
        The true output, what the search found, and the output of largest psi.
    bound : float
        psi of no output exceeds it, says the search.
    is_best_known : bool
        Whether no output can be better than ``best``.
    surrogate : what `psi` takes
    loss, search : str
        Names.
    offset : float
        What is added to h upwards: 1 for slack rescaling.
    names : (str, str)
        Of the axes.
    is_relaxed : bool
        Whether the search was one for fractional outputs, which the points are not.
    x, y : (low, high)
        What is shown.
    n_all : int
        Queries of the whole search; ``queries`` may be the first of them.
    """

    points: Points
    queries: list[Query]
    truth: Spot
    found: Spot
    best: Spot
    bound: float
    is_best_known: bool
    surrogate: Any
    loss: str
    search: str
    offset: float
    names: tuple[str, str]
    is_relaxed: bool
    x: tuple[float, float]
    y: tuple[float, float]
    n_all: int

    def after(self, n_queries: int) -> Scene:
        """Return the scene after the first queries."""
        if n_queries >= self.n_all:
            return self
        queries = self.queries[:n_queries]
        spots = [Spot(query.h, query.g, query.psi) for query in queries if query.psi > 0.0]
        found = max(spots, key=lambda spot: spot.psi, default=self.truth)
        return replace(self, queries=queries, found=found, bound=math.inf)

    @property
    def is_missed(self) -> bool:
        """Whether some output is better than the one found."""
        return self.best.psi > self.found.psi + 1e-9 * abs(self.best.psi)

    @property
    def is_settled(self) -> bool:
        """Whether the search knows that no output is better than the one found."""
        return self.bound <= self.found.psi + 1e-9 * abs(self.found.psi)

    def title(self) -> str:
        """Return what was found, and among which outputs."""
        n = len(self.queries)
        count = f"{n} {'query' if n == 1 else 'queries'}"
        if n < self.n_all:
            count = f"the first {n} of {self.n_all} queries"
        largest = "the largest" if self.is_best_known else "the largest known"
        if self.is_missed:
            verdict = f"find ψ = {number(self.found.psi)}, but {largest} is {number(self.best.psi)}"
        elif self.found.psi <= 0.0:
            verdict = "find no violation, and there is none"
        elif self.is_relaxed:
            verdict = (
                f"find ψ = {number(self.found.psi)} of a fractional output; "
                f"{largest} of the others is {number(self.best.psi)}"
            )
        else:
            verdict = f"find ψ = {number(self.found.psi)}, {largest}"
        if n == 1:
            verdict = verdict.replace("find", "finds", 1)
        return f"{self.search} search, {self.loss}: {count} {verdict}\n{self._which()}"

    def step_title(self) -> str:
        """Return what the last query was."""
        if not self.queries:
            return "no query"
        last = self.queries[-1]
        found = "none there" if math.isnan(last.psi) else f"ψ = {number(last.psi)}"
        return f"{len(self.queries)}.  {asked(last)}: {found}"

    def _which(self) -> str:
        points = self.points
        is_hidden = (points.h + self.offset < self.y[0]) | (points.g > self.x[1])
        hidden = f" ({grouped(int(is_hidden.sum()))} out of sight below)" if is_hidden.any() else ""
        if points.is_complete:
            return f"all {grouped(points.n_outputs)} outputs of one example{hidden}"
        return (
            f"{grouped(len(points.h))} of {grouped(points.n_outputs)} outputs of one example: "
            f"near the hull{hidden}"
        )


def asked(query: Query) -> str:
    """Say what was asked."""
    if query.kind == "profile":
        return "best h at each g"
    if query.tilt == math.inf:
        return "largest g"
    if query.tilt == 0.0:
        return "largest h"
    return f"λ = {number(query.tilt)}"


def number(value: float) -> str:
    """Spell a number with three digits.

    >>> number(0.12345), number(-12.345), number(0.0)
    ('0.123', '−12.3', '0')
    """
    return f"{value:.3g}".replace("-", "−")


def grouped(count: int) -> str:
    r"""Spell a count.

    >>> grouped(16384), grouped(26**9)
    ('16\u202f384', '5.4e12')
    """
    if count < 10**7:
        return f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{float(count):.1e}".replace("e+", "e")


def make_scene(
    estimator: Any, x: Any, y: Any, search: Any, max_outputs: int, slack: float
) -> Scene:
    """Run the search, and list the outputs."""
    check_number("max_outputs", max_outputs, 2, closed=True, integer=True)
    check_number("slack", slack, closed=True)
    problem = example_problem(estimator, x, y, search)
    w = estimator.result_.w
    points = label_points(problem, 0, w, int(max_outputs))
    trace = trace_search(problem, 0, w, slack=slack)
    surrogate = resolve_surrogate(estimator.surrogate)
    truth = Spot(*points.truth, 0.0)
    found = Spot(trace.h, trace.g, trace.psi) if trace.psi > 0.0 else truth
    best, is_known = _best(problem, estimator, x, y, points, (truth, found))
    offset = 1.0 if isinstance(surrogate, SlackRescaling) else 0.0
    across, upwards = _window(points, [best, found, truth], offset)
    return Scene(
        points=points,
        queries=trace.queries,
        truth=truth,
        found=found,
        best=best,
        bound=trace.bound,
        is_best_known=is_known,
        surrogate=problem.view.surrogate,
        loss=_words(type(surrogate).__name__),
        search=_search_name(estimator.search if search is None else search, trace.queries),
        offset=offset,
        names=_axis_names(surrogate),
        is_relaxed=problem.objective == "relaxed",
        x=across,
        y=upwards,
        n_all=len(trace.queries),
    )


def _best(
    problem: Any, estimator: Any, x: Any, y: Any, points: Points, known: tuple[Spot, Spot]
) -> tuple[Spot, bool]:
    """Return the output of largest psi, and whether it is known to be that."""
    truth, found = known
    top = int(np.argmax(points.psi))
    spots = [truth, Spot(float(points.h[top]), float(points.g[top]), float(points.psi[top]))]
    is_known = points.is_complete
    if not is_known and problem.objective == "integral":
        exact = trace_search(example_problem(estimator, x, y, "auto"), 0, estimator.result_.w)
        spots += [found, Spot(exact.h, exact.g, exact.psi)]
        is_known = exact.bound <= exact.psi + 1e-9 * abs(exact.psi)
    return max(spots, key=lambda spot: spot.psi), is_known


def _window(
    points: Points, spots: list[Spot], offset: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the limits to show, of g and upwards: where psi begins to matter, and some more."""
    largest = np.sort(points.psi)[::-1]
    least = max(0.2 * spots[0].psi, 0.0) or largest[min(20, len(largest)) - 1]
    matters = points.h[points.psi >= least]
    heights = [*(spot.h for spot in spots), float(points.hull[0, 0]), float(matters.min())]
    low, high = min(heights) + offset, max(heights) + offset
    low = min(low, 0.0) if offset else low
    tall = (high - low) or 1.0
    low, high = low - 0.1 * tall, high + 0.3 * tall
    left, last = float(points.g.min()), float(points.g.max())
    # The hull leaves the window at the bottom: beyond, there is nothing but what is ruled out.
    leaves = _crossing(points.hull, low - offset)
    wide = (max(leaves, *(spot.g for spot in spots)) - left) or 1.0
    right = min(left + 1.3 * wide, last + 0.05 * (last - left)) if last > left else left + 1.0
    return (left - 0.03 * wide, right), (low, high)


def _crossing(hull: np.ndarray, h: float) -> float:
    """Return the g at which the hull falls below h, or where it ends."""
    h_of, g_of = hull.T
    if h_of[-1] >= h:
        return float(g_of[-1])
    return float(np.interp(-h, -h_of, g_of))


def _axis_names(surrogate: Any) -> tuple[str, str]:
    """Return what g and h are, as the axes say it."""
    if isinstance(surrogate, SlackRescaling):
        return "cost g", "1 + margin error, 1 + h"
    if getattr(surrogate, "criteria", "cost") == "micro_f1":
        return "g = −(labels of output and truth)", "h = wrong labels + margin error"
    return "cost g", "margin error h"


def _words(name: str) -> str:
    """Return a class name as words: slack rescaling, Micro F1."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return words if name.endswith("F1") else words.lower()


def _search_name(search: Any, queries: list[Query]) -> str:
    chosen = resolve_search(search)
    name = getattr(chosen, "name", "")
    if not name:
        kinds = {query.kind for query in queries}
        name = "profile" if kinds == {"profile"} else "direct" if len(queries) == 1 else "hull"
    return name.capitalize()
