"""What the solvers over laws share: prices, changes of expected parts, and the dual of laws.

With a law p_i for each example,

    w = sum_i s_i/(lam n) (phi(x_i, y_i) - E_p phi(x_i, y)),
    D = 1/n sum_i s_i E_p g_i(y) - lam/2 |w|^2.

All this is linear in the expected parts mu, which are one vector of numbers per example.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.contract import (
    add_parts,
    add_prices,
    gather,
    law_parts,
    lean,
    marginals,
    output_cost,
    parts,
    potentials,
    psi,
    shift,
    spread,
)
from maxmargin.core.laws import LawDesk, Places, law_desk, places_of
from maxmargin.core.problem import Problem

#: The most memory that the laws of all examples may take.
MOST_BYTES = 1 << 32


def price_of_cost(problem: Problem) -> float:
    """Return the tilt of psi = h + tilt * g; refuse a psi that is not of this form.

    Expectations are linear in h and g, so no other surrogate has a law for its dual.
    """
    surrogate = problem.view.surrogate
    tilt = float(psi(surrogate, 0.0, 1.0)[0])
    for h, g in ((0.5, 0.0), (-0.7, 2.0), (1.3, 0.25)):
        if abs(psi(surrogate, h, g)[0] - (h + tilt * g)) > 1e-12:
            raise ValueError(
                "Expectations need a loss that is h + tilt * g, as margin rescaling is; got "
                f"{surrogate!r}. Solvers that fit other losses: bcfw, one_slack, n_slack, sgd."
            )
    return tilt


def places(problem: Problem) -> Places:
    """Return where laws and parts are, found once."""
    return problem.remember(places_of)


def check_memory(what: str, n_cells: int) -> None:
    """Refuse laws that would take too much memory."""
    if 8 * n_cells > MOST_BYTES:
        raise ValueError(
            f"{what} of all examples would take {8e-9 * n_cells:.3g} GB, above "
            f"{1e-9 * MOST_BYTES:.3g} GB. Solvers that keep no laws: bcfw, one_slack, sgd."
        )


def bench_of(problem: Problem) -> LawDesk:
    """Return the one desk for laws; passes over laws run on one thread."""

    def new_law_desk(data: Any) -> LawDesk:
        return law_desk(data, places(problem))

    return problem.remember(new_law_desk)


def dual_value(problem: Problem, linear: np.ndarray, w: np.ndarray) -> float:
    """Return D, given the expected costs of all examples."""
    mean = float(problem.view.weight @ linear) / problem.n_examples
    return mean - 0.5 * problem.lam * problem.inner(w, w)


def dual_rounding(problem: Problem, w: np.ndarray, dual: float, n_passes: int) -> float:
    """Return about how far D can be from its computed value, after so many passes."""
    n_sums = 10.0 * np.sqrt(problem.n_examples * (n_passes + 1.0)) + 1e3
    return problem.precision.of_dual(problem.length(w), dual, problem.lam, float(n_sums))


@jitable
def best_step(rise: float, curvature: float) -> float:
    """Return the best share t of a step, where D rises by t rise - t^2 curvature / 2."""
    if rise <= 0.0:
        return 0.0
    return rise / curvature if rise < curvature else 1.0


@jitable
def zero(flat: Any, n: int) -> None:
    """Set the first n numbers to 0."""
    for c in range(n):
        flat[c] = 0.0


@jitable
def clear(problem: Any, i: int, where: Any, bench: Any) -> None:
    """Set bench.mu to 0, as it must be before another example with fewer parts is looked at."""
    zero(bench.change, where.flat_at[i + 1] - where.flat_at[i])
    spread(problem.data, i, bench.change, 0, where.counts, bench.mu)


@jitable
def find_prices(problem: Any, i: int, tilt: float, where: Any, bench: Any) -> None:
    """Fill bench.prices with what the parts of example i cost."""
    zero(bench.prices, where.flat_at[i + 1] - where.flat_at[i])
    spread(problem.data, i, bench.prices, 0, where.counts, bench.mu)
    add_prices(problem.data, problem.cost, i, tilt, bench.mu)
    gather(problem.data, i, bench.mu, where.counts, 1.0, bench.prices, 0)


@jitable
def look(problem: Any, i: int, tilt: float, w: Any, where: Any, desk: Any, bench: Any) -> None:
    """Fill desk.theta and bench.scores with scores and prices at w, bench.prices with prices."""
    find_prices(problem, i, tilt, where, bench)
    potentials(problem.data, i, w, 1.0, desk.theta)
    add_prices(problem.data, problem.cost, i, tilt, desk.theta)
    zero(bench.scores, where.flat_at[i + 1] - where.flat_at[i])
    gather(problem.data, i, desk.theta, where.counts, 1.0, bench.scores, 0)


@jitable
def expect(problem: Any, i: int, law: Any, at: int, where: Any, bench: Any) -> None:
    """Fill bench.mu with the expected parts of a law."""
    clear(problem, i, where, bench)
    law_parts(problem.data, i, law, at, 1.0, bench.mu)


@jitable
def weigh(n: int, bench: Any) -> tuple[float, float]:
    """Return by how much bench.change changes the value E(h + g), and E g alone."""
    value = price = 0.0
    for c in range(n):
        if bench.change[c] != 0.0:  # forbidden parts have no mass, and a score of -inf
            value += bench.change[c] * bench.scores[c]
            price += bench.change[c] * bench.prices[c]
    return value, price


@jitable
def add_example(
    problem: Any,
    i: int,
    tilt: float,
    factor: float,
    truths: Any,
    truth_at: Any,
    where: Any,
    bench: Any,
    w: Any,
) -> float:
    """Add the share of example i, whose expected parts are in bench.mu, to w; return its E g."""
    n = where.flat_at[i + 1] - where.flat_at[i]
    parts(problem.data, i, truths, truth_at[i], -1.0, bench.mu)
    zero(bench.change, n)
    gather(problem.data, i, bench.mu, where.counts, 1.0, bench.change, 0)
    add_parts(problem.data, i, bench.mu, -factor, w)
    find_prices(problem, i, tilt, where, bench)
    linear = output_cost(problem.data, problem.cost, i, truths, truth_at[i])
    linear = tilt * linear + shift(problem.data, problem.cost, i, truths, truth_at[i])
    for c in range(n):
        linear += bench.change[c] * bench.prices[c]
    clear(problem, i, where, bench)
    return linear


@jitable
def first_laws(
    problem: Any,
    first: int,
    last: int,
    spread_mass: float,
    w: Any,
    laws: Any,
    where: Any,
    desk: Any,
    bench: Any,
) -> None:
    """Write laws with about ``spread_mass`` besides the truth: inner points, near w = 0."""
    for i in range(first, last):
        potentials(problem.data, i, w, 1.0, desk.theta)
        n = where.flat_at[i + 1] - where.flat_at[i]
        lean(problem.data, i, np.log(n / spread_mass), desk.theta)
        marginals(
            problem.data, i, desk.theta, bench.own, 1.0, bench.trial, -1, laws, where.law_at[i]
        )


@jitable
def sum_laws(
    problem: Any,
    first: int,
    last: int,
    inv_lam_n: float,
    tilt: float,
    truths: Any,
    truth_at: Any,
    laws: Any,
    where: Any,
    bench: Any,
    w: Any,
    linear: Any,
) -> None:
    """Add the shares of examples first..last-1 to w, and write their expected costs."""
    for i in range(first, last):
        expect(problem, i, laws, where.law_at[i], where, bench)
        factor = problem.weight[i] * inv_lam_n
        linear[i] = add_example(problem, i, tilt, factor, truths, truth_at, where, bench, w)
