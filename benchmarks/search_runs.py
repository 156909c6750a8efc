"""What the benchmarks of searches share: examples, the w of a cutting plane, and one search, run.

All searches look at the same w, each over a problem, and with a memory, of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from maxmargin.core.compile import jitable, kernel
from maxmargin.core.contract import find, potentials
from maxmargin.core.problem import Problem, lam_from_C
from maxmargin.costs import Hamming, tabulate
from maxmargin.datasets import load_yeast
from maxmargin.inference.labels.listed import all_costs, all_scores, fill_pairs
from maxmargin.solvers import NSlack
from maxmargin.solvers.cutting.n_slack import find_violated
from maxmargin.structures import labels_data
from maxmargin.surrogates import SlackRescaling
from maxmargin.training.task import Task

#: A label set violates a slack if its loss, of up to 14 on Yeast, exceeds it by more than this.
EPSILON = 0.01


def genes(n: int, inference: str) -> Task:
    """Return the first n genes of Yeast, with a weight for every pair of their 14 labels."""
    data = load_yeast()
    X, Y = np.ascontiguousarray(data.X_train[:n]), np.asarray(data.y_train[:n])
    m = Y.shape[1]
    sets = labels_data(X, Y, list(combinations(range(m), 2)), inference=inference)
    return Task(sets, tabulate(Hamming(), sets, range(m)), n, np.ones(n))


def slack_problem(training: Task, C: float, search: Any) -> Problem:
    return training.problem(SlackRescaling(), lam_from_C(C, training.n_examples), search=search)


class CuttingPlane:
    """The n-slack cutting plane, pass by pass."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.solver = NSlack()
        self.state: Any = self.solver.start(problem)
        self.primal, self.dual = np.inf, 0.0

    @property
    def gap(self) -> float:
        return (self.primal - self.dual) / self.primal

    def passes(self, tol: float, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield w, and the slacks known there, before each pass until the relative gap is tol."""
        rng = np.random.default_rng(0)
        for _ in range(most):
            yield self.state.w.copy(), self._slacks()
            progress = self.solver.advance(self.problem, self.state, rng)
            self.primal = min(self.primal, progress.primal)
            self.dual = max(self.dual, progress.dual)
            if self.gap <= tol:
                return

    def _slacks(self) -> np.ndarray:
        """Return the loss of every example that its planes account for."""
        problem, n = self.problem, self.problem.n_examples
        losses, bounds, slopes, offsets, excess = np.zeros((5, n))
        places = np.concatenate([[0], np.cumsum(problem.sizes)])
        outputs = problem.empty_outputs(int(places[-1]))
        problem.bind(find_violated)(
            problem.view, 0, n, self.state.w, self.state.blocks, problem.desk(),
            losses, bounds, slopes, offsets, excess, outputs, places,
        )  # fmt: skip
        return losses - excess


@jitable
def probe(
    problem: Any, order: Any, w: Any, slacks: Any, desk: Any, losses: Any, calls: Any
) -> None:
    """Search the examples in ``order`` at w: the largest psi found of each, and calls it took."""
    for place in range(order.shape[0]):
        i = order[place]
        potentials(problem.data, i, w, 1.0, desk.theta)
        desk.slack[0] = slacks[i]
        before = desk.calls[0]
        value, _, _, _ = find(problem.search, problem, i, desk, desk.y, 0)
        losses[i] = value if value > 0.0 else 0.0
        calls[i] = desk.calls[0] - before


class Run:
    """One search, at one w after the other; its rows are passes, its columns examples."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.seconds = 0.0
        self._losses: list[np.ndarray] = []
        self._slacks: list[np.ndarray] = []
        self._calls: list[np.ndarray] = []

    def look(self, w: np.ndarray, slacks: np.ndarray) -> None:
        """Search all examples at w."""
        problem, n = self.problem, self.problem.n_examples
        losses, calls, everyone = np.zeros(n), np.zeros(n, dtype=np.int64), np.arange(n)
        run = problem.bind(probe)
        if not self._calls:  # compiles
            run(problem.view, everyone[:0], w, slacks, problem.desk(), losses, calls)
        start = time.process_time()
        run(problem.view, everyone, w, slacks, problem.desk(), losses, calls)
        self.seconds += time.process_time() - start
        self._losses.append(losses)
        self._slacks.append(slacks)
        self._calls.append(calls)

    @property
    def losses(self) -> np.ndarray:
        return np.array(self._losses)

    @property
    def queries(self) -> float:
        return float(np.mean(self._calls))

    @property
    def microseconds(self) -> float:
        return 1e6 * self.seconds / np.size(self._calls)

    @property
    def success(self) -> float:
        """The share of searches that found something more violated than the slack."""
        return float(np.mean(self.losses > np.array(self._slacks) + EPSILON))

    def misses(self, best: np.ndarray) -> int:
        """Return how many searches found less than the best."""
        return int(np.sum(self.losses < best * (1.0 - 1e-6) - 1e-9))

    @property
    def n_searches(self) -> int:
        return int(np.size(self._calls))


# --- All label sets, one by one


@kernel
def best_of_doubled(unary, pairs, prices, truth, scores, cross, costs):
    """Return the largest (1 + h) g; scores of all sets by doubling, two additions each."""
    all_scores(unary, pairs, scores, cross)
    all_costs(prices, truth, costs)
    own = 0
    for j in range(unary.shape[0]):
        own |= truth[j] << j
    base = 1.0 - scores[own]
    best = 0.0
    for mask in range(1 << unary.shape[0]):
        best = max(best, (base + scores[mask]) * costs[mask])
    return best


@kernel
def best_of_plain(unary, pairs, prices, truth):
    """Return the largest (1 + h) g; every set scored by itself, as one would write it first."""
    m = unary.shape[0]
    own = 0
    for j in range(m):
        own |= truth[j] << j
    base = 1.0 - plain_score(unary, pairs, own)
    best = 0.0
    for mask in range(1 << m):
        cost = 0.0
        for j in range(m):
            if (mask >> j) & 1 != truth[j]:
                cost += prices[j]
        best = max(best, (base + plain_score(unary, pairs, mask)) * cost)
    return best


@kernel
def plain_score(unary, pairs, mask):
    score = 0.0
    for j in range(unary.shape[0]):
        if (mask >> j) & 1:
            score += unary[j]
            for k in range(j):
                if (mask >> k) & 1:
                    score += pairs[j, k]
    return score


@jitable
def enumerate_all(
    data: Any, w: Any, is_plain: bool, theta: Any, pairs: Any, room: Any, losses: Any
) -> None:
    """Write the largest psi of all label sets of every example."""
    prices = np.ones(data.n_labels)
    scores, cross, costs = room
    for i in range(losses.shape[0]):
        potentials(data, i, w, 1.0, theta)
        fill_pairs(data.graph.edges, theta.pair, pairs)
        if is_plain:
            losses[i] = best_of_plain(theta.unary[0], pairs, prices, data.labels[i])
        else:
            losses[i] = best_of_doubled(
                theta.unary[0], pairs, prices, data.labels[i], scores, cross, costs
            )


class Enumeration:
    """The largest psi of all label sets of every example, at one w after the other."""

    def __init__(self, problem: Problem, is_plain: bool) -> None:
        self.problem, self.is_plain = problem, is_plain
        self.seconds = 0.0
        self._losses: list[np.ndarray] = []

    def look(self, w: np.ndarray) -> None:
        """Enumerate for all examples at w."""
        problem, m = self.problem, self.problem.view.data.n_labels
        room = (np.zeros(2**m), np.zeros(2 ** (m - 1)), np.zeros(2**m))
        losses, pairs = np.zeros(problem.n_examples), np.zeros((m, m))
        run = problem.bind(enumerate_all)
        fixed = (problem.view.data, w, self.is_plain, problem.desk().theta, pairs, room)
        if not self._losses:  # compiles
            run(*fixed, losses[:0])
        start = time.process_time()
        run(*fixed, losses)
        self.seconds += time.process_time() - start
        self._losses.append(losses)

    @property
    def losses(self) -> np.ndarray:
        return np.array(self._losses)

    @property
    def microseconds(self) -> float:
        return 1e6 * self.seconds / np.size(self._losses)
