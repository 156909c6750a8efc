"""The cutting plane's masters, against clarabel, closed forms and their own certificates."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.solvers.cutting import ball_qp, simplex_qp
from maxmargin.solvers.cutting.ball_qp import ball_master
from maxmargin.solvers.cutting.simplex_qp import solve_simplex


def conic(P, q, A, b, cones):
    """Return clarabel's minimiser of x'Px/2 + q.x, b - Ax in the cones; it must have converged."""
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    answer = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(A), b, cones, options
    ).solve()
    assert str(answer.status) in ("Solved", "AlmostSolved")
    return np.array(answer.x)


def reference_value(gram, linear, lam):
    m = len(linear)
    A, b = np.vstack([np.ones((1, m)), -np.eye(m)]), np.append(1.0, np.zeros(m))
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(m)]
    alpha = np.maximum(conic(gram / lam, -linear, A, b, cones), 0.0)
    alpha /= alpha.sum()
    return linear @ alpha - 0.5 * alpha @ gram @ alpha / lam


def reference_ball(planes, linear, radius):
    """Return min over |w| <= radius of the highest plane, as a second order cone programme."""
    m, d = planes.shape
    A, b = np.zeros((m + d + 1, d + 1)), np.concatenate([-linear, [radius], np.zeros(d)])
    A[:m, :d], A[:m, d], A[m + 1 :, :d] = planes, -1.0, -np.eye(d)
    cones = [clarabel.NonnegativeConeT(m), clarabel.SecondOrderConeT(d + 1)]
    x = conic(np.zeros((d + 1, d + 1)), np.append(np.zeros(d), 1.0), A, b, cones)
    return x[d]


def is_in_simplex(alpha):
    return alpha.min() >= 0.0 and abs(alpha.sum() - 1.0) <= 1e-14 * len(alpha) + 1e-15


@st.composite
def planes_and_offsets(draw):
    """Planes such as a run meets: plain, of many scales, duplicate or nearly, a common part."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, d = draw(st.integers(1, 40)), draw(st.sampled_from([1, 2, 5, 30]))
    kind = draw(st.sampled_from(["plain", "scales", "duplicate", "near", "common", "zero plane"]))
    planes = rng.normal(size=(m, d))
    if kind == "scales":
        planes *= 10.0 ** rng.uniform(-3, 0, size=(m, 1))
    elif kind in ("duplicate", "near"):
        originals = planes[rng.integers(0, max(1, m // 3), size=m)]
        planes = originals + (1e-7 * planes if kind == "near" else 0.0)
    elif kind == "common":
        planes += 5.0 * rng.normal(size=d)
    elif kind == "zero plane":
        planes[0] = 0.0
    return planes, rng.random(m)


@given(planes_and_offsets(), st.sampled_from([1e-3, 1e-2, 1.0, 100.0]), st.booleans())
@settings(max_examples=50)
def test_value_is_that_of_a_conic_solver(case, lam, start_inside):
    planes, linear = case
    gram, alpha = planes @ planes.T, np.full(len(linear), float(start_inside))
    alpha, value, gap = solve_simplex(gram, linear, lam, alpha, 0.0)
    values = linear - gram @ alpha / lam
    expected = reference_value(gram, linear, lam)
    scale = max(1.0, abs(value), abs(expected))
    assert is_in_simplex(alpha)
    assert abs(value - expected) <= 1e-8 * scale
    assert value == pytest.approx(linear @ alpha - 0.5 * alpha @ gram @ alpha / lam, abs=1e-12)
    assert gap == pytest.approx(values.max() - alpha @ values, abs=1e-11 * np.abs(values).max())
    assert gap <= 1e-9 * scale


def test_a_growing_master_stays_solved(rng):
    # Planes of a cloud's maximum, added where the master is wrong.
    cloud, heights, lam, m = rng.normal(size=(2000, 6)), rng.normal(size=2000), 1e-3, 0
    gram, linear, chosen = np.full((60, 60), np.nan), np.zeros(60), []
    alpha, w, last = np.empty(0), np.zeros(6), -np.inf
    for m in range(1, 61):
        chosen.append(int(np.argmax(heights + cloud @ w)))
        linear[m - 1] = heights[chosen[-1]]
        gram[m - 1, :m] = gram[:m, m - 1] = cloud[chosen] @ cloud[chosen[-1]]
        alpha, value, gap = solve_simplex(gram, linear[:m], lam, np.append(alpha, 0.0), 1e-10)
        assert is_in_simplex(alpha) and gap <= 1e-10
        assert value >= last - 1e-10
        last, w = value, -(alpha @ cloud[chosen]) / lam
    assert np.max(heights + cloud @ w) + 0.5 * lam * w @ w - value <= 1e-8


def test_loose_tolerance_is_kept_and_saves_work(rng):
    planes, linear, gaps = rng.normal(size=(80, 40)), rng.random(80), []
    gram = planes @ planes.T
    _, best, _ = solve_simplex(gram, linear, 0.1, np.zeros(80), 0.0)
    for tol in (30.0, 10.0, 3.0, 1.0, 0.3):
        alpha, value, gap = solve_simplex(gram, linear, 0.1, np.zeros(80), tol)
        assert is_in_simplex(alpha) and gap <= tol
        assert value - 1e-12 <= best <= value + gap + 1e-12
        gaps.append(gap)
    assert max(gaps) > 1e-3


def test_out_of_steps_says_so(rng):
    planes = rng.normal(size=(30, 10))
    alpha, _, gap = solve_simplex(planes @ planes.T, rng.random(30), 1e-3, np.ones(30), 0.0, 0)
    np.testing.assert_allclose(alpha, 1.0 / 30.0)
    assert gap > 1.0


def test_one_plane():
    alpha, value, gap = solve_simplex(np.array([[4.0]]), np.array([3.0]), 2.0, np.zeros(1), 0.0)
    assert (alpha[0], value, gap) == (1.0, 2.0, 0.0)


def test_zero_gram_takes_the_highest_plane():
    linear = np.array([1.0, 5.0, -2.0, 4.0])
    for start in (np.zeros(4), np.ones(4), np.array([0.0, 0.0, 1.0, 0.0])):
        alpha, value, gap = solve_simplex(np.zeros((4, 4)), linear, 1e-3, start, 0.0)
        assert (value, gap) == (5.0, 0.0)
        np.testing.assert_array_equal(alpha, [0.0, 1.0, 0.0, 0.0])


def test_all_planes_equal():
    _, value, gap = solve_simplex(np.ones((5, 5)), np.ones(5), 1.0, np.ones(5), 0.0)
    assert value == pytest.approx(0.5, rel=1e-15) and gap <= 1e-15


@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e12, 1e100])
def test_scales_do_not_matter(scale, rng):
    # With lam, or the offsets, scaled like the Gram matrix the same alpha is best.
    planes, linear = rng.normal(size=(50, 20)), rng.random(50)
    gram = planes @ planes.T
    _, value, _ = solve_simplex(gram, linear, 0.1, np.zeros(50), 0.0)
    _, scaled, gap = solve_simplex(scale * gram, linear, scale * 0.1, np.zeros(50), 0.0)
    assert scaled == pytest.approx(value, rel=1e-12) and gap <= 1e-11
    _, scaled, gap = solve_simplex(scale * gram, scale * linear, 0.1, np.zeros(50), 0.0)
    assert scaled == pytest.approx(scale * value, rel=1e-12) and gap <= 1e-11 * scale


def test_result_is_written_into_alpha_and_room_is_not_read(rng):
    planes, linear = rng.normal(size=(7, 3)), rng.random(7)
    roomy = np.full((12, 12), np.nan)
    roomy[:7, :7] = planes @ planes.T
    alpha = np.zeros(7)
    result, value, _ = solve_simplex(roomy, linear, 0.1, alpha, 0.0)
    assert result is alpha
    assert value == solve_simplex(roomy[:7, :7], linear, 0.1, np.zeros(7), 0.0)[1]


def test_factor_follows_the_support(rng):
    planes, shift = rng.normal(size=(12, 15)), 2.0
    gram, factor, support = planes @ planes.T, np.zeros((12, 12)), np.zeros(12, np.int64)
    size = 0
    for present in ([0, 1, 2, 3, 4, 5], [1, 2, 4, 5], [1, 2, 4, 5, 9, 11], [11, 4], range(12)):
        alpha = np.zeros(12)
        alpha[list(present)] = 1.0
        size = simplex_qp._follow(gram, shift, factor, support, size, alpha)
        assert sorted(support[:size]) == sorted(present)
        lower = np.tril(factor[:size, :size])
        members = support[:size]
        np.testing.assert_allclose(lower @ lower.T, gram[np.ix_(members, members)] + shift)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"lam": 0.0}, ValueError, "lam must be positive"),
        ({"lam": np.nan}, ValueError, "lam must be positive"),
        ({"tol": -1.0}, ValueError, "tol must not be negative"),
        ({"linear": np.zeros((3, 1))}, ValueError, r"linear must be a vector .* \(3, 1\)"),
        ({"linear": np.zeros(0), "alpha": np.zeros(0)}, ValueError, "one at least"),
        ({"gram": np.eye(2)}, ValueError, r"3 rows and columns or more, got shape \(2, 2\)"),
        ({"alpha": np.zeros(2)}, ValueError, r"vector of 3, got shape \(2,\)"),
        ({"alpha": np.zeros(3, np.float32)}, TypeError, "alpha must be a float64 array"),
        ({"alpha": [0.0, 0.0, 0.0]}, TypeError, "alpha must be a float64 array"),
        ({"gram": np.full((3, 3), np.nan)}, ValueError, "NaN or infinity"),
        ({"linear": np.array([0.0, np.inf, 0.0])}, ValueError, "NaN or infinity"),
        ({"alpha": np.array([0.0, np.nan, 0.0])}, ValueError, "NaN or infinity"),
    ],
)
def test_bad_arguments(changed, error, message):
    given_ = {"gram": np.eye(3), "linear": np.zeros(3), "lam": 1.0, "alpha": np.zeros(3)}
    with pytest.raises(error, match=message):
        solve_simplex(**{"tol": 0.0, **given_, **changed})


@given(planes_and_offsets(), st.sampled_from([0.01, 0.3, 3.0, 50.0]))
@settings(max_examples=50)
def test_ball_master_is_that_of_a_conic_solver(case, radius):
    planes, linear = case
    result = ball_master(planes @ planes.T, linear, radius, np.zeros(len(linear)), 1e-9)
    w = -(result.alpha @ planes) / result.lam
    upper = np.max(linear + planes @ w)
    bound = linear @ result.dual_alpha - radius * np.linalg.norm(result.dual_alpha @ planes)
    scale = max(1.0, abs(upper))
    blur = 1e-9 + 1e-8 * radius * np.sqrt(np.max(np.sum(planes**2, axis=1)))
    assert is_in_simplex(result.alpha) and is_in_simplex(result.dual_alpha)
    assert result.lam > 0.0 and np.linalg.norm(w) <= radius * (1.0 + 1e-9)
    assert upper - bound <= blur
    assert result.gap <= 10.0 * blur
    # 1e-7 is clarabel's accuracy where it says AlmostSolved; the bracket above is sharper.
    assert abs(upper - reference_ball(planes, linear, radius)) <= 1e-7 * scale + blur


def test_active_ball_has_the_radius_and_an_exact_bound(rng):
    planes, linear = rng.normal(size=(40, 60)) + 1.0, rng.random(40)
    alpha, lam, *_ = ball_master(planes @ planes.T, linear, 2.0, np.zeros(40), 1e-10)
    w = -(alpha @ planes) / lam
    assert np.linalg.norm(w) == pytest.approx(2.0, rel=1e-8)
    bound = linear @ alpha - 2.0 * np.linalg.norm(alpha @ planes)
    assert np.max(linear + planes @ w) - bound <= 2e-10


def test_inactive_ball_gives_the_least_norm_minimiser(rng):
    # Planes that do not move along the last three of eight directions: many minimisers.
    planes, linear = rng.normal(size=(40, 8)), rng.random(40)
    planes[:, 5:] = 0.0
    planes[:4] = 0.0
    linear[:4] += 1.0
    result = ball_master(planes @ planes.T, linear, 1e3, np.zeros(40), 1e-10)
    w = -(result.alpha @ planes) / result.lam
    best = np.max(linear + planes @ w)
    least = conic(
        np.eye(8), np.zeros(8), planes, best + 1e-9 - linear, [clarabel.NonnegativeConeT(40)]
    )
    assert best == pytest.approx(linear[:4].max(), abs=1e-12)
    np.testing.assert_allclose(w, least, atol=1e-6)
    assert (
        linear @ result.dual_alpha - 1e3 * np.linalg.norm(result.dual_alpha @ planes) >= best - 1e-8
    )


def test_ball_with_one_plane_and_with_none_that_moves():
    alpha, lam, *_ = ball_master(np.array([[9.0]]), np.array([1.0]), 0.5, np.zeros(1), 1e-12)
    assert 3.0 * alpha[0] / lam == pytest.approx(0.5)
    result = ball_master(np.zeros((2, 2)), np.array([1.0, 2.0]), 0.5, np.zeros(2), 1e-12)
    assert result.lam > 0.0 and result.gap <= 1e-12
    np.testing.assert_array_equal(result.dual_alpha, [0.0, 1.0])


def test_ball_starts_warm(rng, monkeypatch):
    planes, linear = rng.normal(size=(60, 100)) + 0.5, rng.random(60)
    gram, alpha, n_solves = planes @ planes.T, np.zeros(60), []
    monkeypatch.setattr(
        ball_qp, "solve_simplex", lambda *a: n_solves.append(1) or solve_simplex(*a)
    )
    first = ball_master(gram, linear, 1.0, alpha, 1e-9)
    n_cold = len(n_solves)
    np.testing.assert_array_equal(alpha, first.alpha)
    again = ball_master(gram, linear, 1.0, alpha, 1e-9)
    assert len(n_solves) - n_cold == 1 and n_cold <= 12
    assert again.lam == pytest.approx(first.lam, rel=1e-6)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.inf, np.nan])
def test_bad_radius(radius):
    with pytest.raises(ValueError, match="radius must be positive and finite"):
        ball_master(np.eye(2), np.zeros(2), radius, np.zeros(2), 0.0)
