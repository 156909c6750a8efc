"""The most violating interleaving, beside sorts, the quadratic algorithm and the 0-1 loss.

N negatives with normal scores, P positives with the same ("random") or 8 deviations higher
("separated"), cost_scale 1. Ours is `interleave`, which says where every sample stands. Beside it:

- numpy's argsort, sort, and partition at the median, of the negatives alone;
- "quadratic": what Yue et al. do for AP and Chakrabarti et al. for NDCG, O(PN + N log N). Both
  kinds are sorted, and each negative goes through all its places. It is compiled, reads D from
  tables made in advance, as ours does for NDCG, and takes its order from numpy's sort, which does
  not even say which sample is where. Runs of more than `MOST_STEPS` pairs are left out;
- "0-1": the inference of the 0-1 loss, one pass over all samples.

All are measured in turns, and the least CPU time of each counts: others that use the machine can
only add to it. Ours is called from compiled code, as in training; from Python a call takes about
7 us more. Writes docs/images/ranking_growth.png.
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numba
import numpy as np
from harness import Check, Line, number
from matplotlib.figure import Figure
from PIL import Image

from maxmargin.costs import AUC, NDCG, AveragePrecision
from maxmargin.inference.ranking.interleave import interleave, ranking_room
from maxmargin.plots import _style

SIZES = (10**4, 10**5, 10**6, 10**7)
POSITIVES = (10, 100, 1000, 10**4)
#: AUC, whose answer is a closed form, is measured for so many positives only.
POSITIVES_OF_AUC = (10, 1000)
SPREADS = {"random": 0.0, "separated": 8.0}
TYPES = {"float64": np.float64, "float32": np.float32}
COSTS: dict[str, Any] = {"AP": AveragePrecision(), "NDCG": NDCG(), "AUC": AUC()}

#: Positives and negatives of the paper's class "phoning", one to ten, about 2300 samples, and
#: milliseconds a call of its Table 3.2.
PAPER_SHAPE = (227, 2073)
PAPER = {"0-1": 0.48, "AP": (16.29, 1.48), "NDCG": (71.07, 0.55)}

#: Goals: times argsort at most, and where little is to be done; times faster than quadratic.
NEVER, EASY = 1.2, 0.5
FASTER = {PAPER_SHAPE: 5.0, (1000, 10**6): 30.0}
#: Evaluations of D over P log2 N, comparisons over (P + N) log2 (P + 1): at most.
EVALUATIONS, COMPARISONS = 2.0, 1.0

MOST_STEPS = 10**9
#: Each contestant is run for so many rounds, a small one several times a round.
ROUNDS, ROUND_SECONDS = 5, 0.002
#: Small queries come in several sets of scores, so many values together at most: a processor would
#: learn the branches of one by heart.
MOST_SETS, VALUES_OF_SETS = 20, 400_000
#: Positives score like some of the negatives.
ODD_SPREADS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "Cauchy scores": lambda rng, n: rng.standard_cauchy(n),
    "cubed Cauchy scores": lambda rng, n: rng.standard_cauchy(n) ** 3,
    "10% outliers": lambda rng, n: (
        rng.normal(size=n) * np.where(np.arange(n) % 10, 1.0, 1e6)[rng.permutation(n)]
    ),
    "sorted negatives": lambda rng, n: np.sort(rng.normal(size=n)),
    "five levels of scores": lambda rng, n: rng.integers(0, 5, n) / 4.0,
    "equal scores": lambda rng, n: np.zeros(n),
}
PEERS = ("argsort", "argsort of positives", "sort", "partition", "0-1")
GROWTH_SIZES = tuple(sorted((*SIZES, 3 * 10**4, 3 * 10**5, 3 * 10**6)))
GROWTH_POSITIVES = (10, 1000)
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "ranking_growth.png"

Key = tuple[str, ...]
Works = dict[tuple[int, Key], Callable[[], Any]]


@dataclass
class Measured:
    """Milliseconds a call at one N and P, by (what, type, spread), and what was counted."""

    P: int
    N: int
    ms: dict[Key, float] = field(default_factory=dict)
    evaluations: dict[Key, float] = field(default_factory=dict)
    comparisons: dict[Key, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)

    def ratios(self, cost: str, peer: str, spread: str = "") -> list[float]:
        """Return ours over a peer's, for all types and spreads, or for one spread."""
        return [
            ms / self.ms[peer, kind]
            for (what, kind, *of), ms in self.ms.items()
            if what == cost and spread in (of[0], "")
        ]


def lines() -> Iterator[Line]:
    yield from paper_lines()
    growth = []
    for N in GROWTH_SIZES:
        everything = N in SIZES
        found = measure_all(N, POSITIVES if everything else GROWTH_POSITIVES, everything)
        growth += [one for one in found if one.P in GROWTH_POSITIVES]
        for cost in COSTS if everything else ():
            yield from (line(cost, one) for one in found if (cost, "float64", "random") in one.ms)
    yield from odd_lines()
    draw(growth).savefig(drawn := io.BytesIO(), dpi=110)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    # Lines and text: few colours are enough, and make a small file.
    Image.open(drawn).convert("RGB").quantize(64).save(PICTURE, optimize=True)


def paper_lines() -> Iterator[Line]:
    P, N = PAPER_SHAPE
    (found,) = measure_all(N, (P,), True)
    for cost in ("AP", "NDCG"):
        ours = found.ms[cost, "float64", "random"]
        slow, quick = PAPER[cost]
        entry = line(cost, found)
        entry.note += (
            f" Paper, Table 3.2, in ms: 0-1 {PAPER['0-1']}, {cost} {slow} by the quadratic "
            f"algorithm, {quick} by its own; here 0-1 {number(found.ms['0-1', 'float64'])}, "
            f"{number(found.ms['quadratic ' + cost, 'float64'])} and {number(ours)}."
        )
        entry.facts["paper"] = PAPER
        yield entry


def line(cost: str, found: Measured) -> Line:
    """One line: random float64 as ours, argsort as peer, all else in the note."""
    P, N = found.P, found.N
    quadratic = f"quadratic {cost}"
    is_compared = (quadratic, "float64") in found.ms
    worst = max(found.ratios(cost, "argsort"))
    separated = max(found.ratios(cost, "argsort", "separated"))
    checks = [Check("worst/argsort", worst, "<=", EASY if P <= 10 else NEVER)]
    if P > 10:
        checks.append(Check("separated/argsort", separated, "<=", EASY))
    if (P, N) in FASTER and is_compared:
        faster = found.ms[quadratic, "float64"] / found.ms[cost, "float64", "random"]
        checks.append(Check("times faster than quadratic", faster, ">=", FASTER[P, N]))
    of_cost = [key for key in found.evaluations if key[0] == cost]
    evaluations = max(found.evaluations[key] for key in of_cost)
    comparisons = max(found.comparisons[key] for key in of_cost)
    checks.append(Check("evaluations/(P log2 N)", evaluations, "<=", EVALUATIONS))
    checks.append(Check("comparisons/((P+N) log2(P+1))", comparisons, "<=", COMPARISONS))
    if is_compared:
        checks.append(Check("value off quadratic's", found.errors[cost], "<=", 1e-10))
    return Line(
        f"{cost}, N = {N}, P = {P}, beside numpy.argsort of the negatives",
        found.ms[cost, "float64", "random"],
        found.ms["argsort", "float64"],
        unit="ms",
        checks=checks,
        note=describe(cost, found),
        facts={", ".join(key): ms for key, ms in found.ms.items()}
        | {"evaluations/(P log2 N)": evaluations, "comparisons/((P+N) log2(P+1))": comparisons},
    )


def describe(cost: str, found: Measured) -> str:
    parts = []
    for kind in TYPES:
        ours = ", ".join(f"{s} {number(found.ms[cost, kind, s])}" for s in SPREADS)
        peers = ", ".join(
            f"{peer} {number(found.ms[peer, kind])}"
            for peer in (*PEERS, f"quadratic {cost}")
            if (peer, kind) in found.ms
        )
        parts.append(f"{kind}: {ours}; {peers}")
    if cost != "AUC" and (f"quadratic {cost}", "float64") not in found.ms:
        parts.append(f"quadratic not run, its {found.P * found.N:.0e} pairs are too many")
    return "in ms, " + ". ".join(parts) + "."


def odd_lines() -> Iterator[Line]:
    """Scores that buckets, or numpy's sort, find unusually hard or easy."""
    P, N = 1000, 10**5
    room = ranking_room(P, N)
    for name, draw_scores in ODD_SPREADS.items():
        rng = np.random.default_rng(0)
        n_sets = VALUES_OF_SETS // N
        negatives = np.array([draw_scores(rng, N) for _ in range(n_sets)])
        positives = np.array([rng.choice(scores, P) for scores in negatives])
        works: Works = {(0, ("argsort",)): lambda s=negatives: [np.argsort(one) for one in s]}
        for cost in ("AP", "NDCG"):
            works[0, (cost,)] = Calls(COSTS[cost], positives, negatives, room)
        ms = {key: least / n_sets for (_, (key,)), least in least_milliseconds(works).items()}
        worst = max(ms["AP"], ms["NDCG"]) / ms["argsort"]
        yield Line(
            f"AP, N = {N}, P = {P}, {name}, beside numpy.argsort of the negatives",
            ms["AP"],
            ms["argsort"],
            unit="ms",
            checks=[Check("AP or NDCG/argsort", worst, "<=", NEVER)],
            note=f"in ms, float64: AP {number(ms['AP'])}, NDCG {number(ms['NDCG'])}; argsort "
            f"{number(ms['argsort'])}.",
            facts=ms,
        )


# --- Measuring


def measure_all(N: int, positives: tuple[int, ...], everything: bool) -> list[Measured]:
    """Measure all costs and peers at one N; without everything, random float64 and no AUC."""
    found = {P: Measured(P, N) for P in positives}
    room = ranking_room(max(positives), N)
    for kind in TYPES if everything else ("float64",):
        rng = np.random.default_rng(N)
        n_sets = max(1, min(MOST_SETS, VALUES_OF_SETS // N))
        negatives = rng.normal(size=(n_sets, N)).astype(TYPES[kind])
        base = {P: rng.normal(size=(n_sets, P)) for P in positives}
        works: Works = {
            (0, ("argsort", kind)): lambda s=negatives: [np.argsort(one) for one in s],
            (0, ("sort", kind)): lambda s=negatives: [np.sort(one) for one in s],
            (0, ("partition", kind)): lambda s=negatives: [
                np.partition(one, len(one) // 2) for one in s
            ],
        }
        for P in positives:
            for spread in SPREADS if everything else ("random",):
                s_pos = (base[P] + SPREADS[spread]).astype(TYPES[kind])
                for cost in COSTS if everything and P in POSITIVES_OF_AUC else ("AP", "NDCG"):
                    calls = Calls(COSTS[cost], s_pos, negatives, room)
                    key = (cost, kind, spread)
                    works[P, key] = calls
                    found[P].evaluations[key] = calls.counts[0] / (P * math.log2(N))
                    found[P].comparisons[key] = calls.counts[1] / ((P + N) * math.log2(P + 1))
            s_pos = base[P].astype(TYPES[kind])
            labels = np.empty(P + N, dtype=np.int8)
            works[P, ("0-1", kind)] = lambda p=s_pos, n=negatives, y=labels: zero_one(p, n, y)
            works[P, ("argsort of positives", kind)] = lambda p=s_pos: [np.argsort(q) for q in p]
        for (P, key), ms in least_milliseconds(works).items():
            for one in found.values() if P == 0 else (found[P],):
                one.ms[key] = ms / n_sets
        for one in found.values():
            beside_quadratic(one, base[one.P].astype(TYPES[kind]), negatives, kind, room)
    return list(found.values())


class Calls:
    """Calls of `interleave` from compiled code, workspaces made in advance, as in training."""

    def __init__(self, cost: Any, positives: np.ndarray, negatives: np.ndarray, room: Any) -> None:
        P, N = positives.shape[1], negatives.shape[1]
        self.above = np.empty(P, dtype=np.int32), np.empty(N, dtype=np.int32)
        self.scores = positives, negatives
        self.rule, self.room = cost.rule([(P, N)]), room
        self()  # compiles
        room.tally[:] = 0
        self()
        self.counts = room.tally / len(positives)

    def __call__(self) -> float:
        return interleave_all(self.rule, *self.scores, self.room, *self.above)

    def gain(self, s: int) -> float:
        """Return the value of the interleaving of query s above that of the truth.

        Relative to the truth, the inverted pairs are all that counts, and no digits are lost.
        """
        positives, negatives = (scores[s] for scores in self.scores)
        P, N = len(positives), len(negatives)
        paid = interleave(self.rule, positives, negatives, 1.0, self.room, *self.above)
        below, above = self.above
        inverted = (P - above).astype(float) @ negatives.astype(float)
        inverted -= below.astype(float) @ positives.astype(float)
        return 2.0 * inverted / P / N + paid


@numba.njit(error_model="numpy")
def interleave_all(rule, positives, negatives, room, below, above):
    paid = 0.0
    for s in range(positives.shape[0]):
        paid += interleave(rule, positives[s], negatives[s], 1.0, room, below, above)
    return paid


def beside_quadratic(
    found: Measured, positives: np.ndarray, negatives: np.ndarray, kind: str, room: Any
) -> None:
    """Run the quadratic algorithm, if it is feasible, and compare its value with ours."""
    P, N = found.P, found.N
    if P * N > MOST_STEPS or (P * N > MOST_STEPS / 10 and kind != "float64"):
        return
    n_sets = 1 if P * N > MOST_STEPS / 1000 else len(negatives)
    ranks = np.arange(P + N + 1.0)
    ranks[:2] = 2.0  # not read
    drops = {
        "AP": 1.0 / (ranks * (ranks - 1.0)),
        "NDCG": 1.0 / np.log2(ranks) - 1.0 / np.log2(1.0 + ranks),
    }
    ideal = (1.0 / np.log2(np.arange(2.0, P + 2.0))).sum()
    pulls = {"AP": 0.5 * N, "NDCG": 0.5 * P * N / ideal}

    def by_all(cost: str) -> list[float]:
        return [
            by_all_places(cost, positives[s], negatives[s], pulls[cost], drops[cost])
            for s in range(n_sets)
        ]

    works: Works = {
        (P, (f"quadratic {cost}", kind)): lambda cost=cost: by_all(cost) for cost in ("AP", "NDCG")
    }
    rounds = 1 if P * N > MOST_STEPS / 10 else 3
    for (_, key), ms in least_milliseconds(works, rounds).items():
        found.ms[key] = ms / n_sets
    for cost in ("AP", "NDCG"):
        calls = Calls(COSTS[cost], positives, negatives, room)
        for s, theirs in enumerate(by_all(cost)):
            error = abs(calls.gain(s) - theirs) / max(1.0, theirs)
            found.errors[cost] = max(found.errors.get(cost, 0.0), error)


def least_milliseconds(works: Works, rounds: int = ROUNDS) -> dict[tuple[int, Key], float]:
    """Return the least CPU time of each, taking turns."""
    repeats, least = {}, dict.fromkeys(works, math.inf)
    for key, work in works.items():
        start = time.process_time()
        work()
        repeats[key] = max(1, int(ROUND_SECONDS / max(time.process_time() - start, 1e-6)))
    for _ in range(rounds):
        for key, work in works.items():
            start = time.process_time()
            for _ in range(repeats[key]):
                work()
            least[key] = min(least[key], (time.process_time() - start) / repeats[key])
    return {key: 1e3 * seconds for key, seconds in least.items()}


# --- The peers


def by_all_places(
    cost: str, positives: np.ndarray, negatives: np.ndarray, pull: float, drops: np.ndarray
) -> float:
    """Return the value above that of the truth, each negative going through all its places."""
    high = np.sort(positives)[::-1].astype(np.float64)
    low = np.sort(negatives)[::-1]
    places = np.empty(len(low), dtype=np.int32)
    through = all_places_of_ap if cost == "AP" else all_places_of_ndcg
    return through(high, low, pull, drops, places) * 2.0 / len(high) / len(low)


@numba.njit(error_model="numpy")
def all_places_of_ap(high, low, pull, drops, places):
    gained = 0.0
    for s in range(low.shape[0]):
        total, best, place = 0.0, 0.0, 0
        for i in range(1, high.shape[0] + 1):
            total += high[i - 1] - low[s] - pull * i * drops[i + s + 1]
            if total >= best:
                best, place = total, i
        places[s] = place
        gained += best - total
    return gained


@numba.njit(error_model="numpy")
def all_places_of_ndcg(high, low, pull, drops, places):
    gained = 0.0
    for s in range(low.shape[0]):
        total, best, place = 0.0, 0.0, 0
        for i in range(1, high.shape[0] + 1):
            total += high[i - 1] - low[s] - pull * drops[i + s + 1]
            if total >= best:
                best, place = total, i
        places[s] = place
        gained += best - total
    return gained


@numba.njit(error_model="numpy")
def zero_one(positives, negatives, labels):
    """Write the most violating label of each sample of each query; return the sum of losses."""
    P, N = positives.shape[1], negatives.shape[1]
    total = 0.0
    for q in range(positives.shape[0]):
        for s in range(P):
            labels[s] = 0 if positives[q, s] < 1.0 else 1
            total += max(0.0, 1.0 - positives[q, s])
        for s in range(N):
            labels[P + s] = 1 if negatives[q, s] > -1.0 else 0
            total += max(0.0, 1.0 + negatives[q, s])
    return total


# --- The picture

CURVES: dict[str, dict[str, Any]] = {
    "ours, AP": {"key": ("AP", "float64", "random"), "colour": 0},
    "ours, NDCG": {"key": ("NDCG", "float64", "random"), "colour": 1},
    "numpy.argsort": {"key": ("argsort", "float64"), "colour": 2, "dash": (0, (4, 2))},
    "numpy.sort": {"key": ("sort", "float64"), "colour": 3, "dash": (0, (4, 2))},
    "numpy.partition": {"key": ("partition", "float64"), "colour": 4, "dash": (0, (4, 2))},
    "quadratic, AP": {"key": ("quadratic AP", "float64"), "colour": 0, "dash": (0, (1.2, 1.2))},
    "quadratic, NDCG": {"key": ("quadratic NDCG", "float64"), "colour": 1, "dash": (0, (1.2, 1.2))},
}


def draw(growth: list[Measured]) -> Figure:
    """Draw milliseconds a call against N, a panel for each P."""
    figure = _style.new_figure(9.6, 4.6)
    panels = figure.subplots(1, len(GROWTH_POSITIVES), sharey=True)
    for ax, P in zip(panels, GROWTH_POSITIVES, strict=True):
        _style.dress(ax, f"{P} positives", "Negatives", "CPU milliseconds a call")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.grid(color=_style.GRID, linewidth=0.7)
        ax.set_axisbelow(True)
        for name, curve in CURVES.items():
            shown = [one for one in growth if one.P == P and curve["key"] in one.ms]
            ax.plot(
                [one.N for one in shown],
                [one.ms[curve["key"]] for one in shown],
                color=_style.COLOURS[curve["colour"]],
                linestyle=curve.get("dash", "-"),
                marker=_style.MARKERS[curve["colour"]],
                markersize=4,
                linewidth=1.6,
                label=name,
            )
        if ax is not panels[0]:
            ax.set_ylabel("")
    handles, texts = panels[-1].get_legend_handles_labels()
    figure.legend(
        handles, texts, loc="outside upper center", ncols=4,
        fontsize=_style.LABEL, frameon=False, labelcolor=_style.INK, handlelength=3.2,
    )  # fmt: skip
    return figure
