"""Surrogates: the registry against the contract and against scipy, and a user's own."""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from scipy.optimize import minimize_scalar

from maxmargin.core.compile import compiled
from maxmargin.core.contract import conjugate, implements, order_value, psi, tilt
from maxmargin.surrogates import (
    SURROGATES,
    BetaScaling,
    BuiltinSurrogate,
    GeneralizedScaling,
    LogLoss,
    MarginRescaling,
    MicroF1,
    ProbLoss,
    SlackRescaling,
    generalized,
    log,
    margin,
    micro_f1,
    prob,
    slack,
    switch,
)
from maxmargin.surrogates.erfc import erfcx, log_erfc
from maxmargin.testing import check_surrogate
from maxmargin.training.settings import resolve_surrogate

#: More is said of these than the contract asks of all that are registered.
OURS = ["margin", "slack", "beta", "generalized", "log", "prob", "micro_f1"]
VARIANTS = [
    *(SURROGATES[name]() for name in OURS),
    BetaScaling(0.0),
    BetaScaling(0.3),
    BetaScaling(1),
    GeneralizedScaling(1.0, 0.0),
    GeneralizedScaling(1, 1),
    GeneralizedScaling(1.5, 0.5),
    GeneralizedScaling(0.5, 0.5),
    GeneralizedScaling(0.25, 0.0),
    GeneralizedScaling(0.0, 0.0),
    GeneralizedScaling(3.2, 2.5),
    ProbLoss(convex=False),
    ProbLoss(variance=0.1),
    ProbLoss(convex=False, variance=5.0),
]
CONVEX = [surrogate for surrogate in VARIANTS if surrogate.is_convex]
BENT = [LogLoss(), ProbLoss()]  # convex and not affine

finite = st.floats(-1e6, 1e6)
costs = st.floats(1e-12, 1e6)


def sign(surrogate):
    """Return the sign of g."""
    return -1.0 if surrogate.criteria == "micro_f1" else 1.0


def points(surrogate, n=400, seed=0):
    """Return points (h, g), some of them far out, g never 0."""
    rng = np.random.default_rng(seed)
    h = rng.normal(scale=2.0, size=n) * 10.0 ** rng.choice([-6, 0, 0, 0, 1, 3], size=n)
    g = rng.gamma(1.0, size=n) * 10.0 ** rng.choice([-6, 0, 0, 0, 1, 3], size=n)
    return [(float(a), sign(surrogate) * float(b)) for a, b in zip(h, g, strict=True)]


@pytest.mark.parametrize("name", SURROGATES)
def test_registered_surrogates_meet_the_contract(name):
    assert resolve_surrogate(name) == SURROGATES[name]()
    check_surrogate(SURROGATES[name](), n_points=200)


@pytest.mark.parametrize("surrogate", VARIANTS[len(OURS) :], ids=str)
def test_other_parameters_meet_the_contract(surrogate):
    check_surrogate(surrogate, n_points=200)


# -- values --------------------------------------------------------------------------------------


@given(h=finite, g=st.floats(0, 1e6))
def test_margin_rescaling_is_the_sum(h, g):
    form = MarginRescaling().compiled()
    assert psi(form, h, g) == (h + g, 1.0, 1.0)
    # Its plane a = -Psi, b = g: the offset is -psi*(1).
    assert conjugate(form, 1.0, g) == -g
    for same in (BetaScaling(0.0), GeneralizedScaling(1.0, 0.0)):
        assert psi(same.compiled(), h, g) == (h + g, 1.0, 1.0)
        assert tilt(same.compiled(), h, g) == 1.0


@given(h=finite, g=st.floats(0, 1e6))
def test_slack_rescaling_is_beta_scaling_with_1(h, g):
    form, same = SlackRescaling().compiled(), BetaScaling(1.0).compiled()
    assert psi(form, h, g)[:2] == ((h + 1.0) * g, g)
    assert psi(form, h, g)[:2] == psi(same, h, g)[:2]
    assert conjugate(form, g, g) == conjugate(same, g, g) == -g
    assert tilt(form, h, g) == tilt(same, h, g) == ((h + 1.0) / g if g else math.inf)


def test_generalized_scaling_is_the_sum_of_its_terms():
    for alpha, beta in ((1.0, 0.5), (1.5, 0.5), (0.7, 0.0), (3.2, 2.5)):
        form = GeneralizedScaling(alpha, beta).compiled()
        for h, g in points(GeneralizedScaling()):
            size = abs(h) * g**beta + g**alpha
            assert psi(form, h, g)[0] == pytest.approx(h * g**beta + g**alpha, abs=1e-14 * size)
            assert conjugate(form, g**beta, g) == -(g**alpha)


def test_log_loss_is_that_of_numpy():
    form = LogLoss().compiled()
    for h, g in points(LogLoss()):
        value, slope_h, slope_g = psi(form, h, g)
        bits = np.logaddexp(0.0, h) / np.log(2.0)
        assert (value, slope_g) == pytest.approx((g * bits, bits), rel=1e-13)
        assert slope_h == pytest.approx(g * special.expit(h) / np.log(2.0), rel=1e-13)


@pytest.mark.parametrize("variance", [None, 0.3])
@pytest.mark.parametrize("convex", [True, False])
def test_prob_loss_is_that_of_scipy(convex, variance):
    """psi(h, g) at a variance v is psi(a h, g) at 2 / pi, a = sqrt(2 / (pi v))."""
    form = ProbLoss(convex, variance).compiled()
    steep = 1.0 if variance is None else math.sqrt(2.0 / (math.pi * variance))
    for h, g in points(ProbLoss()):
        t = steep * h * math.sqrt(math.pi / (2.0 * g))
        if variance is not None:  # the definition: twice the cost times the chance that y wins
            chance = stats.norm.cdf(h, 0.0, math.sqrt(variance * g))
            if not (convex and h > 0):
                assert psi(form, h, g)[0] == pytest.approx(2 * g * chance, rel=1e-9, abs=1e-300)
        n = math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
        N = special.ndtr(t)
        expected = 2 * g * N, steep * math.sqrt(2 * math.pi * g) * n, 2 * N - t * n
        if convex and h > 0:
            root = math.sqrt(g)
            expected = g + root * steep * h, steep * root, 1.0 + steep * h / (2.0 * root)
        assert psi(form, h, g) == pytest.approx(expected, rel=1e-12, abs=1e-300)
        # log psi = log 2g + log N, and the tilt by the Mills ratio R = N / n, at any t < 0.
        if h < 0:
            log_psi = math.log(2.0 * g) + special.log_ndtr(t)
            assert order_value(form, h, g) == pytest.approx(log_psi, rel=1e-13, abs=1e-12)
            R = math.sqrt(math.pi / 2.0) * special.erfcx(-t / math.sqrt(2.0))
            lam = (2.0 * R - t) / (steep * math.sqrt(2.0 * math.pi * g))
            assert tilt(form, h, g) == pytest.approx(lam, rel=1e-13)


def test_micro_f1_is_one_minus_f1_where_scores_are_equal():
    rng = np.random.default_rng(0)
    form = MicroF1().compiled()
    for _ in range(300):
        y, truth = rng.integers(2, size=(2, rng.integers(1, 6)))
        hamming, size = float((y != truth).sum()), float(y.sum() + truth.sum())
        hits = float((y & truth).sum())
        f1 = float(size == 0)
        if hits > 0:
            f1 = 2.0 / (y.sum() / hits + truth.sum() / hits)  # 1 / precision + 1 / recall
        value, slope, _ = psi(form, hamming, -size)
        assert value == pytest.approx(1.0 - f1, abs=1e-15)
        assert tilt(form, hamming, -size) == value  # Dinkelbach: the contours are lines
        assert slope == (1.0 / size if size else 1.0)
    assert psi(form, 0.0, 0.0) == (0.0, 1.0, 0.0)  # two empty sets
    assert tilt(form, 0.0, 0.0) == 0.0


@given(
    x=st.one_of(st.floats(-26, 40), st.floats(-10, 10), st.floats(7.9, 8.1), st.floats(0, 1e150))
)
def test_tails_are_those_of_scipy(x):
    assert erfcx(x) == pytest.approx(special.erfcx(x), rel=1e-13)
    # log erfc(x) = log 2 N(-x sqrt 2)
    expected = special.log_ndtr(-x * math.sqrt(2.0)) + math.log(2.0)
    assert log_erfc(x) == pytest.approx(expected, rel=1e-13, abs=2e-15)
    assert compiled(erfcx)(x) == pytest.approx(erfcx(x), rel=1e-14)
    assert compiled(log_erfc)(x) == pytest.approx(log_erfc(x), rel=1e-14, abs=1e-15)


def test_the_continued_fraction_has_converged_where_it_begins():
    for x in np.linspace(8.0, 14.0, 200):
        assert erfcx(x) == pytest.approx(special.erfcx(x), rel=2e-15)


def test_the_tail_overflows_to_infinity():
    assert erfcx(-30.0) == math.inf == compiled(erfcx)(-30.0)
    assert log_erfc(-30.0) == math.log(2.0)


# -- both ends -----------------------------------------------------------------------------------

FAR_H = [0.0, *(s * m for s in (-1, 1) for m in (1e-12, 1e-3, 1.0, 36.9, 37.1, 700, 800, 1e4, 1e8))]
FAR_G = [0.0, 1e-12, 1e-6, 0.5, 1.0, 3.0, 1e3, 1e6]


@pytest.mark.parametrize("surrogate", VARIANTS, ids=str)
def test_nothing_is_nan_however_far_out(surrogate):
    form = surrogate.compiled()
    for h, size in itertools.product(FAR_H, FAR_G):
        g = sign(surrogate) * size
        value, slope, slope_g = psi(form, h, g)
        assert math.isfinite(value) and math.isfinite(slope) and slope >= 0.0
        assert not math.isnan(slope_g)
        assert not math.isnan(tilt(form, h, g))
        assert not math.isnan(order_value(form, h, g))
        assert tilt(form, h, g) >= 0.0 or not surrogate.in_domain(h, g)
        # (Two empty sets, g = 0 of Micro-F1, are one output: h = 0.)
        if surrogate.is_convex and (h == 0.0 or g != 0.0 or surrogate.criteria == "cost"):
            rounding = 1e-12 * (abs(value) + abs(slope * h)) + 1e-300
            assert conjugate(form, slope, g) == pytest.approx(slope * h - value, abs=rounding)


@pytest.mark.parametrize("surrogate", [LogLoss(), ProbLoss(), ProbLoss(convex=False)], ids=str)
@pytest.mark.parametrize("g", [1e-12, 1.0, 1e6])
def test_order_and_tilt_hold_where_psi_underflows(surrogate, g):
    form = surrogate.compiled()
    h = -np.geomspace(1e-3, 1e8, 300) * max(math.sqrt(g), 1.0)
    values = np.array([psi(form, x, g)[0] for x in h])
    orders = np.array([order_value(form, x, g) for x in h])
    assert values[-1] == 0.0 and (np.diff(orders) < 0.0).all()
    seen = values > 1e-290
    assert orders[seen] == pytest.approx(np.log(values[seen]), rel=1e-12, abs=1e-12)
    tilts = np.array([tilt(form, x, g) for x in h])
    assert np.isfinite(tilts).all() and (tilts > 0.0).all()
    # More cost is a larger psi, at the same h.
    assert all(order_value(form, x, 2.0 * g) > order_value(form, x, g) for x in h)
    assert order_value(form, -1.0, 0.0) == -math.inf
    # The tilt is that of the contour: along it the order does not change. (Steps not too small
    # for what a difference of two logarithms can tell.)
    for x, lam in zip(h, tilts, strict=True):
        step = 1e-4 * min(abs(x) / lam, g)
        up, down = (order_value(form, x - s * lam, g + s) for s in (step, -step))
        rise = order_value(form, x + step * lam, g) - order_value(form, x - step * lam, g)
        assert abs(up - down) <= 1e-3 * rise + 1e-12 * abs(up)


@pytest.mark.parametrize("surrogate", VARIANTS, ids=str)
def test_true_output_has_psi_0_and_does_not_rise(surrogate):
    form = surrogate.compiled()
    assert psi(form, 0.0, 0.0)[0] == 0.0
    beta = getattr(surrogate, "beta", None)
    if surrogate.criteria == "cost" and not surrogate.has_unit_slope:
        assert beta != 0.0
        assert psi(form, 5.0, 0.0)[:2] == (0.0, 0.0)
        assert tilt(form, 5.0, 0.0) == math.inf
    elif beta == 0.0:
        assert psi(form, 5.0, 0.0)[:2] == (5.0, 1.0)  # as in margin rescaling


# -- conjugates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", BENT, ids=str)
def test_conjugate_is_the_largest_difference(surrogate):
    rng = np.random.default_rng(0)
    form = surrogate.compiled()
    for _ in range(200):
        g = float(rng.gamma(1.0)) * 10.0 ** rng.integers(-3, 4)
        steepest = psi(form, 1e8, g)[1]
        slope = steepest * float(rng.choice([rng.random(), 1e-6 * rng.random()]))
        reach = 40.0 * max(1.0, math.sqrt(g))
        best = minimize_scalar(
            lambda h, c=slope, g=g: psi(form, h, g)[0] - c * h,
            bounds=(-reach, reach),
            method="bounded",
            options={"xatol": 1e-10 * reach},
        )
        star = conjugate(form, slope, g)
        assert star == pytest.approx(-best.fun, rel=1e-9, abs=1e-12 * g)


@pytest.mark.parametrize("surrogate", BENT, ids=str)
@pytest.mark.parametrize("g", [1e-12, 0.3, 1e6])
def test_conjugate_at_the_ends_of_the_slopes(surrogate, g):
    form = surrogate.compiled()
    steepest = psi(form, 1e8, g)[1]
    top = 0.0 if isinstance(surrogate, LogLoss) else -g  # psi is g + sqrt(g) h out there
    for rounding in (1.0, 1.0 + 1e-15, 1.0 - 1e-16, 1.0 + 1e-12):
        assert conjugate(form, steepest * rounding, g) == pytest.approx(top, abs=1e-9 * g)
    assert conjugate(form, 0.0, g) == conjugate(form, -1e-14 * steepest, g) == 0.0
    assert conjugate(form, 1.1 * steepest, g) == conjugate(form, -0.1 * steepest, g) == math.inf
    assert conjugate(form, 0.0, 0.0) == 0.0 and conjugate(form, 1.0, 0.0) == math.inf


def test_a_sigmoid_has_no_conjugate():
    form = ProbLoss(convex=False).compiled()
    assert conjugate(form, 0.0, 2.0) == 0.0 and conjugate(form, 0.1, 2.0) == math.inf


@pytest.mark.parametrize("surrogate", CONVEX, ids=str)
@given(h=st.one_of(finite, st.floats(-10, 10)), size=costs)
def test_fenchel_and_young_are_equal_at_tangents(surrogate, h, size):
    form, g = surrogate.compiled(), sign(surrogate) * size
    value, slope, _ = psi(form, h, g)
    star = conjugate(form, slope, g)
    rounding = 1e-13 * (abs(value) + abs(slope * h)) + 1e-300
    assert star == pytest.approx(slope * h - value, rel=0, abs=rounding)


@pytest.mark.parametrize("surrogate", BENT, ids=str)
@given(
    h=st.lists(st.floats(-30, 30), min_size=2, max_size=6),
    g=st.floats(1e-6, 1e3),
    seed=st.integers(0, 1000),
)
def test_merging_tangents_never_lowers_the_dual(surrogate, h, g, seed):
    """One after the other, as a block solver does; each stays a bound of psi."""
    form = surrogate.compiled()
    mass = np.random.default_rng(seed).dirichlet(np.ones(len(h)))
    slope = offset = total = 0.0
    for x, share in zip(h, mass, strict=True):
        value, s, _ = psi(form, x, g)
        mean = (total * offset + share * (value - s * x)) / (total + share)
        slope = (total * slope + share * s) / (total + share)
        total += share
        offset = -conjugate(form, slope, g)
        assert offset >= mean - 1e-12 * (g + abs(value) + abs(s * x))
    for x in h:
        value = psi(form, x, g)[0]
        assert offset + slope * x <= value + 1e-12 * (g + value + abs(slope * x))


# -- the domain ----------------------------------------------------------------------------------


def in_domain(surrogate, n, seed):
    rng = np.random.default_rng(seed)
    while n:
        h, g = float(rng.normal(scale=3.0)), sign(surrogate) * float(rng.gamma(0.7, 3.0))
        if surrogate.in_domain(h, g) and psi(surrogate.compiled(), h, g)[0] >= 0.0:
            n -= 1
            yield h, g


@pytest.mark.parametrize("surrogate", VARIANTS, ids=str)
def test_psi_is_quasi_concave_and_increasing_in_its_domain(surrogate):
    form = surrogate.compiled()
    for h, g in in_domain(surrogate, 300, seed=0):
        # The sign of the curvature of contours, by differences of the derivatives.
        _, slope_h, slope_g = psi(form, h, g)
        assert slope_h >= 0.0 and slope_g >= 0.0
        a, b = 1e-5 * (1.0 + abs(h)), 1e-5 * abs(g)
        if h * (h - a) <= 0 or (h + a) * h <= 0:
            continue  # over the joint of the convex ProbLoss
        (_, hh, _), (_, hh_, _) = psi(form, h + a, g), psi(form, h - a, g)
        (_, hg, gg), (_, hg_, gg_) = psi(form, h, g + b), psi(form, h, g - b)
        terms = (
            (hh - hh_) / (2 * a) * slope_g**2,
            -2 * (hg - hg_) / (2 * b) * slope_h * slope_g,
            (gg - gg_) / (2 * b) * slope_h**2,
        )
        assert sum(terms) <= 1e-6 * (sum(map(abs, terms)) + slope_h * slope_g)
    pairs = zip(in_domain(surrogate, 1500, seed=1), in_domain(surrogate, 1500, seed=2), strict=True)
    for (h, g), (k, f) in pairs:
        ends = psi(form, h, g)[0], psi(form, k, f)[0]
        t = 0.25 if (h + k) % 0.2 > 0.1 else 0.5
        between = psi(form, h + t * (k - h), g + t * (f - g))[0]
        assert between >= min(ends) - 1e-12 * (1.0 + max(ends))


def test_domains_end_where_they_say():
    assert SlackRescaling().in_domain(-1.0, 2.0) and not SlackRescaling().in_domain(-1.01, 2.0)
    assert not SlackRescaling().in_domain(0.0, -1.0)
    assert BetaScaling(0.5).in_domain(-2.0, 4.0) and not BetaScaling(0.5).in_domain(-2.01, 4.0)
    steep = GeneralizedScaling(2.0, 1.0)
    assert steep.in_domain(-4.0, 4.0) and not steep.in_domain(-4.01, 4.0)
    assert LogLoss().in_domain(-1e8, 0.0) and ProbLoss().in_domain(-1e8, 0.0)
    assert MicroF1().in_domain(0.0, -1.0) and not MicroF1().in_domain(-0.1, -1.0)
    assert not MicroF1().in_domain(1.0, 1.0)


# -- what is printed in the sources, and what holds ----------------------------------------------


def is_quasi_concave_and_increasing(alpha, beta):
    """Look at the exact curvature and slopes of h g^beta + g^alpha on a grid of psi >= 0."""
    g = np.geomspace(1e-3, 1e3, 25)[:, None]
    h = -(g ** (alpha - beta)) + np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 33)])
    slope_h = g**beta
    slope_g = beta * h * g ** (beta - 1) + alpha * g ** (alpha - 1)
    cross = beta * g ** (beta - 1)
    bend = beta * (beta - 1) * h * g ** (beta - 2) + alpha * (alpha - 1) * g ** (alpha - 2)
    curvature = -2 * cross * slope_h * slope_g + bend * slope_h**2
    size = np.abs(2 * cross * slope_h * slope_g) + np.abs(bend * slope_h**2)
    slope_size = np.abs(beta * h * g ** (beta - 1)) + np.abs(alpha * g ** (alpha - 1))
    is_concave = (curvature <= 1e-9 * size).all()
    return is_concave, is_concave and (slope_g >= -1e-9 * slope_size).all()


def test_exactly_the_parameters_that_work_are_taken():
    grid = np.arange(-8, 9) / 4.0
    n_taken = n_printed = n_printed_right = 0
    for alpha, beta in itertools.product(grid, grid):
        concave, both = is_quasi_concave_and_increasing(alpha, beta)
        if both:
            GeneralizedScaling(alpha, beta)
            n_taken += 1
        else:
            with pytest.raises(ValueError, match=r"0 <= beta <= alpha <= beta \+ 1, got"):
                GeneralizedScaling(alpha, beta)
        # Printed, with alpha and beta exchanged: "a <= -1 or a >= 0, 0 <= b - a <= 1".
        if (alpha <= -1 or alpha >= 0) and 0 <= beta - alpha <= 1:
            n_printed += 1
            n_printed_right += concave
        # Exchanged back it is the range of quasi-concavity, but not of growth in g as well.
        if (beta <= -1 or beta >= 0) and 0 <= alpha - beta <= 1:
            assert concave
    assert n_taken > 30 and n_printed_right < n_printed / 2
    is_printed = 0 <= 0.0 - 1.0 <= 1  # margin rescaling, alpha = 1 and beta = 0
    assert not is_printed and is_quasi_concave_and_increasing(1.0, 0.0)[1]


def test_a_printed_pair_is_not_quasi_concave():
    """h g + sqrt(g): half-way between two points psi is less than at both, even negative."""
    one, two = (0.1 / 1.0 - 1.0, 1.0), (0.1 / 9.0 - 1.0 / 3.0, 9.0)
    middle = 0.5 * (one[0] + two[0]), 5.0
    at_one, at_two, between = (generalized.psi(0.5, 1.0, *p)[0] for p in (one, two, middle))
    assert (at_one, at_two) == pytest.approx((0.1, 0.1)) and between < -0.8
    assert not is_quasi_concave_and_increasing(0.5, 1.0)[0]


def test_slack_rescaling_needs_costs_above_0():
    form = SlackRescaling().compiled()
    assert psi(form, 1.0, 1.0)[0] == psi(form, -3.0, -1.0)[0] == 2.0
    assert psi(form, -1.0, 0.0)[0] == 0.0  # half-way


@pytest.mark.parametrize(
    "surrogate", [s for s in VARIANTS if getattr(s, "alpha", 1.0) == 1.0 and sign(s) > 0], ids=str
)
def test_psi_bounds_the_cost_of_what_is_predicted(surrogate):
    """An output that scores no less than the true one has h >= 0."""
    form = surrogate.compiled()
    for h, g in points(surrogate):
        assert psi(form, abs(h), g)[0] >= g * (1.0 - 1e-15)
    assert psi(form, 0.0, 3.0)[0] == pytest.approx(3.0, rel=1e-15)


def test_what_is_no_bound_of_the_cost():
    """The natural logarithm, and powers of the cost other than 1."""
    bits = psi(LogLoss().compiled(), 0.0, 3.0)[0]
    assert bits * math.log(2.0) == pytest.approx(3.0 * 0.6931471805599453) and bits == 3.0
    assert psi(GeneralizedScaling(2.0, 1.0).compiled(), 0.0, 0.5)[0] == 0.25
    assert psi(GeneralizedScaling(0.5, 0.5).compiled(), 0.0, 4.0)[0] == 2.0


def test_convex_prob_loss_is_smooth_where_it_turns_straight():
    """Value g, slope sqrt(g) and no curvature at h = 0; the sigmoid is below the line after it."""
    line, sigmoid = ProbLoss().compiled(), ProbLoss(convex=False).compiled()
    for g in (1e-6, 0.3, 1.0, 50.0):
        root = math.sqrt(g)
        assert psi(line, 0.0, g) == psi(sigmoid, 0.0, g) == (g, root, 1.0)
        step = 1e-6 * root
        (before, slope, _), (after, slope_after, _) = psi(line, -step, g), psi(line, step, g)
        assert (after - before) / (2 * step) == pytest.approx(root, rel=1e-9)
        assert abs(slope_after - slope) / (2 * step) <= 1e-5
        assert psi(sigmoid, root, g)[0] < psi(line, root, g)[0]
        assert psi(sigmoid, 1e3 * root, g)[0] == 2.0 * g
        slopes = [psi(sigmoid, h * root, g)[1] for h in (-1.0, 0.0, 1.0)]
        assert slopes[0] < slopes[1] > slopes[2]  # convex before 0, concave after


# -- compiled code -------------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", VARIANTS, ids=str)
def test_compiled_code_agrees_with_its_python(surrogate):
    """The switch is compiled for Python callers too: so it is held against the plain functions."""
    kinds = {module.KIND: module for module in (margin, slack, generalized, log, prob, micro_f1)}
    assert len(kinds) == 6
    form = surrogate.compiled()
    plain = kinds[form.kind]
    extremes = [(h, sign(surrogate) * g) for h, g in itertools.product(FAR_H, FAR_G)]
    for h, g in points(surrogate) + extremes:
        expected = plain.psi(form.p, form.q, h, g)
        assert psi(form, h, g) == pytest.approx(expected, rel=1e-12, abs=1e-300)
        for function in ("tilt", "order_value"):
            ours = {"tilt": tilt, "order_value": order_value}[function](form, h, g)
            theirs = getattr(plain, function)(form.p, form.q, h, g)
            assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-14)
        slope = expected[1]
        theirs = plain.conjugate(form.p, form.q, slope, g)
        assert conjugate(form, slope, g) == pytest.approx(theirs, rel=1e-12, abs=1e-300)


def test_whole_numbers_and_those_of_numpy_will_do():
    assert type(BetaScaling(np.float64(0.5)).parameters()["beta"]) is float
    assert ProbLoss(convex=np.True_).parameters() == {"convex": True, "variance": None}
    assert type(ProbLoss(variance=np.float32(2.0)).parameters()["variance"]) is float
    assert psi(SlackRescaling().compiled(), 1, 2) == (4.0, 2.0, 2.0)
    assert BetaScaling(1).compiled() == BetaScaling(1.0).compiled()
    assert conjugate(MarginRescaling().compiled(), 1, 2) == -2.0


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [-0.1, 1.1, math.nan, math.inf])
def test_beta_out_of_range_is_refused(beta):
    with pytest.raises(ValueError, match=f"only for 0 <= beta <= 1, got beta={beta!r}"):
        BetaScaling(beta)


@pytest.mark.parametrize(
    ("alpha", "beta"),
    [(0.4, 0.5), (1.6, 0.5), (-1.0, -2.0), (math.nan, 0.5), (1.0, math.nan), (math.inf, math.inf)],
)
def test_generalized_parameters_out_of_range_are_refused(alpha, beta):
    message = f"0 <= beta <= alpha <= beta [+] 1, got alpha={alpha!r} and beta={beta!r}"
    with pytest.raises(ValueError, match=message):
        GeneralizedScaling(alpha, beta)


def test_parameters_of_the_wrong_type_are_refused():
    with pytest.raises(TypeError, match="BetaScaling: beta must be a number, got 'half'"):
        BetaScaling("half")
    with pytest.raises(TypeError, match="GeneralizedScaling: alpha must be a number, got None"):
        GeneralizedScaling(alpha=None)
    with pytest.raises(ValueError, match="convex must be True or False, got 'no'"):
        ProbLoss(convex="no")
    with pytest.raises(TypeError, match="ProbLoss: variance must be a number, got 'small'"):
        ProbLoss(variance="small")
    for variance in (0.0, -1.0, math.nan, math.inf, 1e-13):
        with pytest.raises(
            ValueError, match="ProbLoss: variance must be None or lie between 1e-12"
        ):
            ProbLoss(variance=variance)


def test_flags_follow_the_parameters():
    assert BetaScaling(0.0).has_unit_slope and not BetaScaling(0.1).has_unit_slope
    assert GeneralizedScaling(0.5, 0.0).has_unit_slope
    assert GeneralizedScaling(0.5, 0.0).direct_tilt is None
    assert GeneralizedScaling(1.0, 0.0).direct_tilt == BetaScaling(0.0).direct_tilt == 1.0
    assert ProbLoss().is_convex and not ProbLoss(convex=False).is_convex
    is_linear = {name for name in OURS if SURROGATES[name]().is_linear}
    assert is_linear == set(OURS) - {"log", "prob"}


# -- a user's own --------------------------------------------------------------------------------


class LogForm(NamedTuple):
    scale: float
    convex: int  # a second type, as numba tells tuples of one type apart


@implements(psi, LogForm)
def _psi_log(surrogate, h, g):
    share = 1.0 / (1.0 + math.exp(-h))
    value = math.log1p(math.exp(h)) / math.log(2.0)
    return (
        surrogate.scale * g * value,
        surrogate.scale * g * share / math.log(2.0),
        (surrogate.scale * value),
    )


@implements(conjugate, LogForm)
def _conjugate_log(surrogate, slope, g):
    q = slope * math.log(2.0) / (surrogate.scale * g)
    return surrogate.scale * g * (q * math.log(q) + (1 - q) * math.log(1 - q)) / math.log(2.0)


@dataclass(frozen=True)
class Logarithmic:
    """psi = scale g log2(1 + e^h): convex, not linear."""

    scale: float = 1.0
    is_convex: bool = True
    is_linear: bool = False

    def compiled(self):
        return LogForm(self.scale, 1)

    def parameters(self):
        return {"scale": self.scale, "is_convex": self.is_convex, "is_linear": self.is_linear}


def test_a_surrogate_of_ones_own_passes():
    check_surrogate(Logarithmic())
    check_surrogate(Logarithmic(2.5))


def test_a_wrong_claim_is_found():
    with pytest.raises(AssertionError, match="says it is linear, but at g="):
        check_surrogate(Logarithmic(is_linear=True))


class Plain:
    """A surrogate in plain Python, broken on demand."""

    is_convex = True
    is_linear = False

    def __init__(self, how="none"):
        self.how = how

    def __eq__(self, other):
        return self.how == other.how

    __hash__ = None

    def compiled(self):
        return self

    def parameters(self):
        return {"how": self.how}


@implements(psi, Plain)
def _psi_plain(surrogate, h, g):
    how = surrogate.how
    value, slope_h, slope_g = h + g, 1.0, 1.0
    if how == "zero":
        value += 1.0
    elif how == "slope_h":
        slope_h = 1.5
    elif how == "slope_g":
        slope_g = 0.5
    elif how == "falling":
        value, slope_h = g - h, -1.0
    elif how == "concave":
        value, slope_h = g + 20.0 * (1.0 - math.exp(-h / 20.0)), math.exp(-h / 20.0)
    elif how == "infinite":
        value = math.inf if h > 1.0 else h + g
    elif how == "falling_g":
        value, slope_g = h - g, -1.0
    elif how == "bowl":
        value, slope_g = h + g * g, 2.0 * g
    elif how == "steep":
        value, slope_h, slope_g = 2.0 * h + g, 2.0, 1.0
    return value, slope_h, slope_g


@implements(conjugate, Plain)
def _conjugate_plain(surrogate, slope, g):
    star = {"conjugate": g, "falling_g": g, "bowl": -g * g}
    return star.get(surrogate.how, -g)


@implements(tilt, Plain)
def _tilt_plain(surrogate, h, g):
    _, slope_h, slope_g = psi(surrogate, h, g)
    return {"tilt": 2.0, "nan": math.nan}.get(surrogate.how, slope_g / slope_h)


@implements(order_value, Plain)
def _order_value_plain(surrogate, h, g):
    return h if surrogate.how == "order" else psi(surrogate, h, g)[0]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("zero", r"psi\(0, 0\) must be 0"),
        ("slope_h", "dpsi/dh at .* is said to be 1.5 but finite differences give 1"),
        ("slope_g", "dpsi/dg at .* is said to be 0.5 but finite differences give 1"),
        ("falling", "psi falls in h"),
        ("concave", "says it is convex, but"),
        ("infinite", "must be finite"),
        ("conjugate", r"conjugate\(slope=1, .* must be slope\*h - psi"),
        ("tilt", "tilt at .* must be dpsi/dg / dpsi/dh = 1, got 2"),
        ("nan", "tilt at .* must be a number, got nan"),
        ("order", "order_value must sort as psi does"),
        ("falling_g", "psi falls in g at .* in its domain"),
        ("bowl", "psi is not quasi-concave in its domain"),
    ],
)
def test_the_check_finds_what_is_wrong(how, message):
    check_surrogate(Plain())
    with pytest.raises(AssertionError, match=message):
        check_surrogate(Plain(how))


def test_convexity_is_only_asked_of_those_that_claim_it():
    concave = Plain("concave")
    concave.is_convex = False
    check_surrogate(concave)
    assert np.isfinite(psi(concave, 3.0, 1.0)).all()


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("has_unit_slope", True, "says it has slope 1, but at .* its slope is 2"),
        ("direct_tilt", 1.0, r"says that psi is h \+ 1 g, but at"),
        ("criteria", "price", r"criteria must be one of \('cost', 'micro_f1'\), got 'price'"),
        ("is_convex", False, "says it is linear, hence it must say it is convex"),
    ],
)
def test_wrong_flags_are_found(flag, value, message):
    steep = Plain("steep")
    steep.is_linear = True
    check_surrogate(steep)
    setattr(steep, flag, value)
    with pytest.raises(AssertionError, match=message):
        check_surrogate(steep)


def test_a_domain_of_its_own_is_asked():
    """Nothing is asked of psi outside."""
    bowl = Plain("bowl")
    bowl.in_domain = lambda h, g: False
    check_surrogate(bowl)


@dataclass(frozen=True)
class LowMerge(Logarithmic):
    """Its conjugate is right at tangents of a few slopes, and too high between them."""

    def compiled(self):
        return LowForm(self.scale, {})


class LowForm:
    def __init__(self, scale, known):
        self.inner, self.known = LogForm(scale, 1), known


@implements(psi, LowForm)
def _psi_low(surrogate, h, g):
    found = psi(surrogate.inner, h, g)
    surrogate.known[found[1], g] = True
    return found


@implements(conjugate, LowForm)
def _conjugate_low(surrogate, slope, g):
    star = conjugate(surrogate.inner, slope, g)
    return star if (slope, g) in surrogate.known else star + g


def test_a_conjugate_that_lowers_the_dual_is_found():
    with pytest.raises(AssertionError, match=r"merged by the conjugate, at slope .* only"):
        check_surrogate(LowMerge())


# -- the switch at run time ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [-1, 7, 1000])
def test_an_unknown_kind_is_refused(kind):
    unknown = BuiltinSurrogate(kind, 0.0, 0.0)
    for function in (psi, conjugate, tilt, order_value):
        with pytest.raises(ValueError, match="a kind that no module"):
            function(unknown, 1.0, 2.0)
    with pytest.raises(ValueError, match="a kind that no module"):
        compiled(value_of)(unknown, 1.0, 2.0)


def value_of(surrogate, h, g):
    return psi(surrogate, h, g)[0]


def module_of_a_surrogate(kind, **functions):
    """Return a class whose module, made here, has a KIND and these functions."""
    module = ModuleType(f"scratch_{kind}_{len(functions)}")
    vars(module).update(KIND=kind, **functions)
    return module, type("Scratch", (), {"__module__": module.__name__})


def test_a_surrogate_in_the_registry_is_in_the_switch(monkeypatch):
    functions = {name: getattr(slack, name) for name in switch.SWITCH.arguments}
    module, cls = module_of_a_surrogate(77, **functions)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found = switch.SWITCH.kinds([*SURROGATES.values(), cls], may_lack=True)
    assert found == {**switch.KINDS, 77: module}
    for name in switch.SWITCH.arguments:
        ours = switch.SWITCH.between(found, name)
        assert ours(77, 0.0, 0.0, 0.5, 2.0) == getattr(slack, name)(0.0, 0.0, 0.5, 2.0)
        assert ours(margin.KIND, 0.0, 0.0, 0.5, 2.0) == getattr(margin, name)(0.0, 0.0, 0.5, 2.0)


@pytest.mark.parametrize(
    ("kind", "names", "error", "message"),
    [
        (slack.KIND, switch.SWITCH.arguments, ValueError, r"scratch_1_4 is 1, that of .*\.slack"),
        (77, ["psi", "tilt"], TypeError, "has a KIND but no conjugate, order_value"),
        (7.0, switch.SWITCH.arguments, TypeError, "must be an int, got 7.0"),
    ],
)
def test_a_surrogate_that_the_switch_cannot_take(kind, names, error, message, monkeypatch):
    module, cls = module_of_a_surrogate(kind, **{name: getattr(slack, name) for name in names})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(error, match=message):
        switch.SWITCH.kinds([*SURROGATES.values(), cls], may_lack=True)
