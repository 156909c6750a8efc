"""The contract of laws of outputs, checked against the list of all outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.contract import (
    add_parts,
    add_prices,
    gather,
    has_laws,
    law_parts,
    law_room,
    law_sizes,
    lean,
    marginals,
    output_cost,
    part_counts,
    parts,
    parts_square,
    potentials,
    shift,
    square_size,
    workspace,
)
from maxmargin.core.problem import Problem
from maxmargin.testing._require import require
from maxmargin.testing.outputs import all_outputs

#: From where the best output has all the mass to where all have the same.
TEMPERATURES = (1e-6, 1e-2, 1.0, 1e2, 1e6)


def check_laws(problem: Problem, *, scale: float = 3.0, seed: int = 0) -> None:
    """Check the laws of a structure against the list of all its outputs.

    Raises AssertionError that says what does not hold.

    Examples
    --------
    >>> from maxmargin.testing import tiny_problem
    >>> check_laws(tiny_problem("multilabel_tree", compile=False))
    """
    data = problem.view.data
    require(bool(has_laws(data)), f"{type(data).__name__} has no laws.")
    rng = np.random.default_rng(seed)
    for i in range(problem.n_examples):
        _check_example(problem, i, scale, rng)


class _Listed:
    """All outputs of one example: their parts, one row each, and the cells that these use."""

    def __init__(self, problem: Problem, i: int) -> None:
        self.problem, self.data, self.i = problem, problem.view.data, i
        self.size = int(law_sizes(self.data)[i])
        self.counts = part_counts(self.data)[i]
        self.outputs = all_outputs(self.data, i)
        self.own = law_room(self.data)
        rows = []
        for y in self.outputs:
            mu = workspace(self.data)[0]
            parts(self.data, i, y, 0, 1.0, mu)
            rows.append(self.flat(mu))
        self.rows = np.array(rows)

    def flat(self, theta: Any) -> np.ndarray:
        pairs = zip(theta, self.counts, strict=True)
        return np.concatenate([array.reshape(-1)[:count] for array, count in pairs])

    def law(self, theta: Any, temperature: float, prior: np.ndarray | None = None) -> np.ndarray:
        """Return the law of `marginals`, with cells before and after it that must stay."""
        cells = np.full(self.size + 2, np.nan)
        before, at = (np.zeros(0), -1) if prior is None else (prior, 0)
        marginals(self.data, self.i, theta, self.own, temperature, before, at, cells, 1)
        require(
            bool(np.isnan(cells[[0, -1]]).all()), "marginals wrote to cells outside of the law."
        )
        return cells[1:-1]

    def expected(self, law: np.ndarray) -> np.ndarray:
        mu = workspace(self.data)[0]
        law_parts(self.data, self.i, law, 0, 1.0, mu)
        return self.flat(mu)

    def scores(self, theta: Any) -> np.ndarray:
        flat = self.flat(theta)
        return np.array([flat[row != 0.0] @ row[row != 0.0] for row in self.rows])


def _shares(logs: np.ndarray) -> np.ndarray:
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


def _check_example(problem: Problem, i: int, scale: float, rng: np.random.Generator) -> None:
    listed, data = _Listed(problem, i), problem.view.data
    w, v = scale * rng.normal(size=(2, problem.n_weights))
    theta, other = workspace(data)[0], workspace(data)[0]
    potentials(data, i, w, 1.0, theta)
    potentials(data, i, v, 1.0, other)
    _check_prices(problem, listed)
    add_prices(data, problem.view.cost, i, 1.0, theta)
    scores = listed.scores(theta)
    for temperature in TEMPERATURES:
        law = listed.law(theta, temperature)
        _same(listed, law, _shares(scores / temperature), f"temperature {temperature:g}")
    # Laws that come before others must not have lost outputs to underflow: see LEAST_MASS.
    high, low = 2.0 * max(scale, 1.0), 0.5 * max(scale, 1.0)
    warm, cold = listed.law(theta, high), listed.law(other, low)
    logs = scores / high + listed.scores(other) / low
    _same(listed, listed.law(other, low, warm), _shares(logs), "a law as its prior")
    mean = 0.3 * warm + 0.7 * cold
    share = 0.3 * _shares(scores / high) + 0.7 * _shares(listed.scores(other) / low)
    _same(listed, mean, share, "the mean of two laws")
    nothing = workspace(data)[0]
    potentials(data, i, np.zeros(problem.n_weights), 1.0, nothing)
    again = listed.law(nothing, 1.0, mean)
    require(
        bool(np.allclose(again, mean, rtol=1e-9, atol=1e-12)),
        f"marginals without scores changed the law of example {i}, which is its prior.",
    )
    lean(data, i, 40.0, nothing)
    truth = problem.truths[problem.truth_places[i] : problem.truth_places[i + 1]]
    mu = workspace(data)[0]
    parts(data, i, truth, 0, 1.0, mu)
    require(
        bool(np.abs(listed.expected(listed.law(nothing, 1.0)) - listed.flat(mu)).max() < 1e-9),
        f"lean does not prefer the true output of example {i}.",
    )
    _check_square(problem, listed, mean - warm)


def _same(listed: _Listed, law: np.ndarray, shares: np.ndarray, where: str) -> None:
    found, right = listed.expected(law), shares @ listed.rows
    require(
        bool(np.allclose(found, right, rtol=1e-7, atol=1e-9)),
        f"The expected parts of example {listed.i} are {found} with {where}, but by the list of "
        f"all outputs {right}.",
    )
    require(
        bool((law >= 0.0).all() and (law <= 1.0 + 1e-12).all()),
        f"A law of example {listed.i} has cells that are no probabilities, with {where}.",
    )


def _check_prices(problem: Problem, listed: _Listed) -> None:
    data, cost, _, _, _ = problem.view
    i = listed.i
    prices = workspace(data)[0]
    add_prices(data, cost, i, 2.0, prices)
    told = listed.scores(prices)
    g = np.array([output_cost(data, cost, i, y, 0) for y in listed.outputs])
    g = g + np.array([shift(data, cost, i, y, 0) for y in listed.outputs])
    require(
        bool(np.allclose(told - told[0], 2.0 * (g - g[0]), atol=1e-9)),
        f"add_prices does not add the cost of the outputs of example {i}.",
    )


def _check_square(problem: Problem, listed: _Listed, change: np.ndarray) -> None:
    data, i = problem.view.data, listed.i
    mu = workspace(data)[0]
    law_parts(data, i, change, 0, 1.0, mu)
    added = np.zeros(problem.n_weights)
    add_parts(data, i, mu, 1.0, added)
    spare = np.zeros(square_size(data))
    theta, again = workspace(data)[0], workspace(data)[0]
    found = parts_square(data, i, mu, spare, theta)
    right = problem.inner(added, added)
    potentials(data, i, added, 1.0, again)
    counts = np.ascontiguousarray(part_counts(data), dtype=np.int64)
    left, fresh = np.zeros((2, int(counts[i].sum())))
    gather(data, i, theta, counts, 1.0, left, 0)
    gather(data, i, again, counts, 1.0, fresh, 0)
    allowed = np.isfinite(fresh)
    require(
        bool(np.allclose(left[allowed], fresh[allowed], rtol=1e-9, atol=1e-9)),
        f"parts_square of example {i} leaves other scores than potentials finds.",
    )
    require(
        abs(found - right) <= 1e-9 * (1.0 + right) and not spare.any(),
        f"parts_square of example {i} is {found:.9g}, but the sum of features has {right:.9g}.",
    )
