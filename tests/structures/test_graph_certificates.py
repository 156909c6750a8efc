"""Graphs with cycles: certificates against an independent solver, integral and relaxed."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from maxmargin.core.contract import (
    are_outputs,
    margin_error,
    maximize_bounded,
    oracle_memory,
    output_cost,
    potentials,
    tell_gap,
    tell_haste,
    workspace,
)
from maxmargin.core.problem import Problem
from maxmargin.costs import Hamming, tabulate
from maxmargin.search.direct import Direct
from maxmargin.solvers import BlockFrankWolfe, run
from maxmargin.structures import StackedGraphs, general_data, relaxed_data, stacked_graphs
from maxmargin.structures.graph.oracles import wanted_effort
from maxmargin.structures.graph.shapes import graph_of
from maxmargin.surrogates import MarginRescaling, SlackRescaling
from maxmargin.testing import all_outputs, optimum
from maxmargin.training.task import Task

K, N = 3, 4
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 1)]


def dense_graphs(seed, hyper=False, pairs="potts"):
    """Two graphs of four nodes, all joined, whose edges repel: the relaxation is not tight."""
    rng = np.random.default_rng(seed)
    more = {}
    if hyper:
        more = {
            "hyper_members": np.array([0, 1, 2, 3, 1, 0]),
            "hyper_types": np.zeros(2, dtype=int),
            "hyper_at": np.array([0, 1, 2]),
        }
    stack = StackedGraphs(
        rng.normal(size=(2 * N, 2)),
        np.array([0, N, 2 * N]),
        np.array(EDGES * 2),
        np.array([0, 6, 12]),
        rng.normal(size=(12, 1)),
        **more,
    )
    options = {"hyper_orders": (3,), "hyper_pairs": "potts"} if hyper else {}
    return stacked_graphs(stack, rng.integers(K, size=2 * N), K, pairs=pairs, **options)


def problem_of(data, lam=0.05, surrogate=None):
    cost = tabulate(Hamming(), data, np.arange(K))
    if surrogate is not None:
        return Task(data, cost, 2, np.ones(2)).problem(surrogate, lam, compile=False)
    psi = MarginRescaling().compiled()
    return Problem(data, cost, psi, 2, lam, search=Direct(1.0, 1.0), compile=False)


def linear_potentials(data, i):
    """Return theta of example i as matrices: one column per weight."""
    theta, _ = workspace(data)
    n_weights = data.graphs.layout.n_weights
    unary, tables = [], []
    for j in range(n_weights):
        potentials(data, i, np.eye(n_weights)[j], 1.0, theta)
        unary.append(theta.unary.copy())
        tables.append(theta.tables.copy())
    return np.array(unary).T, np.array(tables).T


def relaxed_optimum(data, lam):
    """Return min P of the relaxation: the maximum over the local polytope by its dual, in one QP.

    max_mu c.mu is the least sum of t_v and s_f with t_v >= u_v(k) - sum_f m_fv(k) and
    s_f >= T_f(x) + sum_v m_fv(x_v), over all messages m.
    """
    graphs = data.graphs
    d = graphs.layout.n_weights
    rows, right, linear = [], [], []
    n_variables = d
    blocks = []
    for i in range(2):
        shape = graph_of(graphs.shapes, i)
        n_factors, n_messages = len(shape.kinds), int(shape.message_at[-1])
        blocks.append((n_variables, n_variables + N, n_variables + N + n_factors))
        n_variables += N + n_factors + n_messages
    objective = np.zeros(n_variables)
    for i, (t, s, m) in enumerate(blocks):
        shape = graph_of(graphs.shapes, i)
        U, T = linear_potentials(data, i)
        truth = graphs.labels[i * N : (i + 1) * N]
        objective[t:m] = 0.5
        for v in range(N):
            objective[:d] -= 0.5 * U[v * K + truth[v]]
            for k in range(K):
                row = np.zeros(n_variables)
                row[:d] = U[v * K + k]
                row[t + v] = -1.0
                for slot in shape.slots[shape.slot_at[v] : shape.slot_at[v + 1]]:
                    row[m + shape.message_at[slot] + k] = -1.0
                rows.append(row)
                right.append(-float(k != truth[v]))
        for f in range(len(shape.kinds)):
            slots = range(shape.member_at[f], shape.member_at[f + 1])
            nodes = shape.members[list(slots)]
            for cell, labels in enumerate(np.ndindex(*(K,) * len(nodes))):
                row = np.zeros(n_variables)
                row[:d] = T[shape.table_at[f] + cell]
                row[s + f] = -1.0
                for slot, k in zip(slots, labels, strict=True):
                    row[m + shape.message_at[slot] + k] = 1.0
                rows.append(row)
                right.append(0.0)
                if tuple(truth[nodes]) == labels:
                    objective[:d] -= 0.5 * T[shape.table_at[f] + cell]
    linear = np.array(rows)
    P = sp.diags(np.r_[np.full(d, lam), np.zeros(n_variables - d)]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        P,
        objective,
        sp.csc_matrix(linear),
        np.array(right),
        [clarabel.NonnegativeConeT(len(right))],
        settings,
    )
    found = solver.solve()
    assert str(found.status) == "Solved"
    return found.obj_val


@pytest.mark.parametrize("hyper", [False, True], ids=["pairs", "hyperedges"])
@pytest.mark.parametrize("seed", range(2))
def test_certificates_hold_the_optimum(seed, hyper):
    graphs = dense_graphs(seed, hyper)
    integral, relaxed = general_data(graphs), relaxed_data(graphs, precision=1e-3)
    best = optimum(problem_of(integral), tol=1e-8)
    above = relaxed_optimum(integral, 0.05)
    found = {}
    for name, data, lowest, highest in (
        ("integral", integral, best.lower, best.upper),
        ("relaxed", relaxed, above, above),
    ):
        problem = problem_of(data)
        rng = np.random.default_rng(0)
        result, _ = run(problem, BlockFrankWolfe(), rng=rng, tol=0.02, max_iter=200)
        slack = 1e-6 * (1.0 + highest)
        assert result.dual <= highest + slack
        assert result.primal >= lowest - slack
        assert result.objective == name
        found[name] = result
    assert found["integral"].status == "converged"
    assert found["integral"].search_gap == 0.0 and found["integral"].n_open == 0
    # Every labelling is a point of the polytope.
    assert above >= best.lower - 1e-6
    assert found["relaxed"].status == "converged"


class RelaxedSlack:
    """P of slack rescaling over the local polytope, by linear programmes.

    (h + 1) g increases in both, so its largest value is on the upper hull of the points (h, g) of
    the polytope: at a vertex, or between two. The vertices are found by the programmes of weights
    between h and g. For a fixed point psi is linear in w: a plane below P, as of any labelling.
    """

    def __init__(self, data, lam):
        self.lam, self.d = lam, data.graphs.layout.n_weights
        self.slopes, self.truths, self.wrong = [], [], []
        for i in range(2):
            U, T = linear_potentials(data, i)
            truth = data.graphs.labels[i * N : (i + 1) * N]
            nodes = np.eye(K)[truth]
            edges = [np.outer(nodes[a], nodes[b]).ravel() for a, b in EDGES]
            self.slopes.append(np.vstack([U, T]))
            self.truths.append(np.concatenate([nodes.ravel(), *edges]))
            self.wrong.append(np.concatenate([1.0 - nodes.ravel(), np.zeros(K * K * len(EDGES))]))
        rows, right = [], []
        for v in range(N):
            row = np.zeros(len(self.wrong[0]))
            row[v * K : (v + 1) * K] = 1.0
            rows.append(row)
            right.append(1.0)
        for e, ends in enumerate(EDGES):
            cells = N * K + e * K * K + np.arange(K * K).reshape(K, K)
            for v, own in zip(ends, (cells, cells.T), strict=True):
                for k in range(K):
                    row = np.zeros(len(self.wrong[0]))
                    row[own[k]], row[v * K + k] = 1.0, -1.0
                    rows.append(row)
                    right.append(0.0)
        self.polytope = {"A_eq": sp.csr_matrix(np.array(rows)), "b_eq": right, "bounds": (0, None)}

    def largest(self, i, w):
        """Return the largest psi of example i, and a point that has it."""
        theta = self.slopes[i] @ w
        base = theta @ self.truths[i]

        def best(a, b):
            mu = linprog(-(a * theta + b * self.wrong[i]), method="highs", **self.polytope).x
            return theta @ mu - base, self.wrong[i] @ mu, mu

        def between(p, q):
            (h, g, _), (h_end, g_end, _) = p, q
            if g_end - g < 1e-7 or h - h_end < 1e-7:
                return [p]
            a, b = g_end - g, h - h_end
            middle = best(a, b)
            if a * middle[0] + b * middle[1] <= a * h + b * g + 1e-7:
                return [p]
            return between(p, middle) + between(middle, q)

        first, last = best(1.0, 1e-6), best(1e-6, 1.0)
        hull = [*between(first, last), last]
        value, point = 0.0, self.truths[i]
        for p, q in zip(hull, [*hull[1:], last], strict=True):
            dh, dg = q[0] - p[0], q[1] - p[1]
            top = -((p[0] + 1.0) * dg + p[1] * dh) / (2.0 * dh * dg) if dh * dg < 0.0 else 0.0
            for t in (0.0, min(max(top, 0.0), 1.0)):
                psi = (p[0] + t * dh + 1.0) * (p[1] + t * dg)
                if psi > value:
                    value, point = psi, (1.0 - t) * p[2] + t * q[2]
        return value, point

    def primal(self, w):
        """Return P(w), and the two planes that touch it there: slopes and offsets."""
        found = [self.largest(i, w) for i in range(2)]
        cost = [self.wrong[i] @ point for i, (_, point) in enumerate(found)]
        slopes = [
            cost[i] * (self.slopes[i].T @ (point - self.truths[i]))
            for i, (_, point) in enumerate(found)
        ]
        value = 0.5 * self.lam * w @ w + 0.5 * (found[0][0] + found[1][0])
        return value, slopes, cost

    def optimum(self, tol=1e-2, most=60):
        """Return bounds of min P, by planes."""
        w, upper, lower = np.zeros(self.d), np.inf, -np.inf
        rows, right = [], []
        for i in range(2):  # losses are >= 0
            rows.append(np.r_[np.zeros(self.d), -np.eye(2)[i]])
            right.append(0.0)
        P = sp.diags(np.r_[np.full(self.d, self.lam), 0.0, 0.0]).tocsc()
        objective = np.r_[np.zeros(self.d), 0.5, 0.5]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        for _ in range(most):
            value, slopes, offsets = self.primal(w)
            upper = min(upper, value)
            if upper - lower <= tol * upper:
                break
            for i in range(2):
                rows.append(np.r_[slopes[i], -np.eye(2)[i]])
                right.append(-offsets[i])
            cones = [clarabel.NonnegativeConeT(len(right))]
            A = sp.csc_matrix(np.array(rows))
            found = clarabel.DefaultSolver(
                P, objective, A, np.array(right), cones, settings
            ).solve()
            assert str(found.status) == "Solved"
            w, lower = np.array(found.x)[: self.d], found.obj_val
        return lower, upper


def listed_primal(problem, w):
    """Return P(w) of slack rescaling by the list of all labellings."""
    data, cost = problem.view.data, problem.view.cost
    theta, _ = workspace(data)
    losses = []
    for i in range(2):
        potentials(data, i, w, 1.0, theta)
        losses.append(
            max(
                (margin_error(data, i, theta, y, 0) + 1.0) * output_cost(data, cost, i, y, 0)
                for y in all_outputs(data, i)
            )
        )
    return 0.5 * problem.lam * w @ w + np.mean(losses)


@pytest.mark.filterwarnings("ignore:bcfw stopped")
@pytest.mark.parametrize("pairs", ["potts", "full"])
def test_certificates_of_slack_rescaling_hold_the_optimum(pairs):
    """Integral against the list of all labellings, relaxed against linear programmes."""
    graphs = dense_graphs(0, pairs=pairs)
    integral = general_data(graphs)
    best = optimum(problem_of(integral, surrogate=SlackRescaling()), tol=1e-8)
    programme = RelaxedSlack(integral, 0.05)
    lower, upper = programme.optimum()
    assert lower >= best.lower - 1e-6  # every labelling is a point of the polytope
    for data, least, most in (
        (integral, best.lower, best.upper),
        (relaxed_data(graphs, precision=1e-3), lower, upper),
    ):
        problem = problem_of(data, surrogate=SlackRescaling())
        rng = np.random.default_rng(0)
        result, _ = run(problem, BlockFrankWolfe(), rng=rng, tol=0.05, max_iter=300)
        room = 1e-5 * (1.0 + most)
        assert result.dual <= most + room and result.primal >= least - room
        # At the weights themselves: the primal is no less, and what was found no more, than P(w).
        if data is integral:
            value = listed_primal(problem, result.w)
        else:
            value = programme.primal(result.w)[0]
            # What is best lies between two points of the polytope, and is found, not only bounded.
            assert result.status == "converged" and result.search_gap <= 0.05 * result.primal
        assert result.primal - result.search_gap - room <= value <= result.primal + room


@pytest.mark.parametrize("precision", [0.0, 0.01])
@pytest.mark.parametrize("is_hasty", [False, True], ids=["certificate", "haste"])
@pytest.mark.parametrize("make", [general_data, relaxed_data], ids=["integral", "relaxed"])
def test_bounds_are_no_less_than_any_labelling(make, is_hasty, precision, rng):
    data = make(dense_graphs(3), precision)
    tell_haste(data, is_hasty)
    is_exact = precision == 0.0
    cost = tabulate(Hamming(), data, np.arange(K))
    theta, room = workspace(data)
    listed = general_data(dense_graphs(3))
    cells = np.zeros(10_000, dtype=np.float64 if make is relaxed_data else np.int32)
    for _ in range(8):
        w = rng.normal(size=data.graphs.layout.n_weights)
        for i in range(2):
            potentials(data, i, w, 1.0, theta)
            bound = maximize_bounded(data, cost, i, theta, room, 1.0, 1.0, cells, 0)
            h = margin_error(data, i, theta, cells, 0)
            value = h + output_cost(data, cost, i, cells, 0)
            best = max(
                margin_error(listed, i, theta, y, 0) + output_cost(listed, cost, i, y, 0)
                for y in all_outputs(listed, i)
            )
            assert value <= bound + 1e-9
            assert best <= bound + 1e-9
            if make is general_data:
                if is_exact:
                    assert value == pytest.approx(best)
            else:
                length = 1 + 2 * int(cells[0])
                assert are_outputs(data, np.array([i]), cells[:length], np.array([length])).all()
                if is_exact:
                    assert value >= best - 0.05 * (1.0 + abs(best))


@pytest.mark.filterwarnings("ignore:bcfw stopped")
@pytest.mark.parametrize("make", [general_data, relaxed_data], ids=["integral", "relaxed"])
def test_haste_ends_with_the_pass_and_leaves_more_open(make):
    data = make(dense_graphs(1), 0.01)
    problem = problem_of(data)
    told = []

    def interrupt():
        with problem.in_haste():
            told.append(data.memory.haste[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert told == [1.0]
    assert data.memory.haste[0] == 0.0
    tell_gap(data, 0.5, 2.0)
    calm = wanted_effort(data)
    with problem.in_haste():
        hasty = wanted_effort(data)
    assert hasty.precision > calm.precision
    assert hasty.n_iterations <= calm.n_iterations and hasty.most_branches <= calm.most_branches
    assert "haste" not in oracle_memory(data)  # a run that is taken up again does not begin hasty
    run(problem, BlockFrankWolfe(), rng=np.random.default_rng(0), tol=0.1, max_iter=2)
    assert data.memory.haste[0] == 0.0


def test_a_hasty_oracle_keeps_the_best_plane_known():
    """Few iterations and no branches: passes find less than they know, and the dual never falls."""
    data = general_data(dense_graphs(1), 0.05, n_iterations=1, most_branches=0)
    problem, solver = problem_of(data, lam=0.01), BlockFrankWolfe(cache=0)
    rng, duals = np.random.default_rng(0), []
    state = solver.start(problem)
    for _ in range(12):
        duals.append(solver.advance(problem, state, rng).dual)
    assert np.all(np.diff(duals) >= -1e-12)
    assert duals[-1] <= optimum(problem_of(general_data(dense_graphs(1)), 0.01), tol=1e-8).upper


def test_what_is_no_point_of_the_polytope_is_told(rng):
    data = relaxed_data(dense_graphs(3))
    cells = all_outputs(data, 0)
    good = cells[5][: 1 + 2 * int(cells[5][0])]
    tables = N * K

    def told(*entries):
        own = np.array([len(entries) / 2, *entries], dtype=float)
        return bool(are_outputs(data, np.array([0]), own, np.array([len(own)]))[0])

    assert are_outputs(data, np.array([0]), good, np.array([len(good)])).all()
    assert told()
    truth = int(data.graphs.labels[0])
    other = (truth + 1) % K
    first = sorted([(truth, -0.5), (other, 0.5)])
    assert not told(*(x for pair in first for x in pair))  # the factors do not follow
    assert not told(0.0, 0.5)
    assert not told(tables, 0.5)
    assert not told(tables + 6 * K * K, 0.5)
    assert not told(0.5, 0.0)
    assert not told(1.0, 0.0, 0.0, 0.0)
    assert not told(0.0, np.nan)
