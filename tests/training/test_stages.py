"""RankingSVM(two_stage=True): the master with rows, what is solved, and what is refused."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import maxmargin
from maxmargin import Checkpoint, RankingSVM
from maxmargin.core.problem import lam_from_C
from maxmargin.costs import AveragePrecision
from maxmargin.inputs.request import Request
from maxmargin.look.example import example_problem, trace_example
from maxmargin.solvers import OneSlack
from maxmargin.solvers.cutting.rows_qp import solve_with_rows
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing.exact import all_planes
from maxmargin.training.settings import check_settings


def minimum(P, q, A, b):
    """Return clarabel's minimiser of x'Px/2 + q.x over Ax <= b; it must have converged."""
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(len(b))]
    P, A = sp.triu(sp.csc_matrix(P)).tocsc(), sp.csc_matrix(A)
    answer = clarabel.DefaultSolver(P, q, A, b, cones, options).solve()
    assert str(answer.status) == "Solved"
    return np.array(answer.x)


def draw(seed, n_queries=3, n_documents=6, n_features=3, shift=2.0):
    """Return queries in which relevant documents lie apart, though not altogether."""
    rng = np.random.default_rng(seed)
    grades = [rng.permutation([1, 1, *[0] * (n_documents - 2)]) for _ in range(n_queries)]
    return [rng.normal(size=(n_documents, n_features)) + shift * y[:, None] for y in grades], grades


def ranker(**options):
    given = {"C": 3.0, "cost": "ap", "tol": 1e-7, "two_stage": True, "easy_fraction": 1.0}
    return RankingSVM(
        **{**given, "normalize_queries": None, "steps": 0, "random_state": 0, **options}
    )


def reduced_problem(model, X, y):
    """Return the problem of the second stage, and the rows that are held on their side."""
    exact = model._encode(Request(X, y), reset=True)
    settings, task = model._stage(check_settings(model), exact)
    problem = task.problem(MarginRescaling(), lam_from_C(model.C, task.n_examples))
    return problem, settings.solver.rows


def margins_of(model, X, y):
    """Return y_i (w.x_i + b) of all samples under the fitted weights."""
    w, sign = model.result_.w, np.where(np.concatenate(y) > 0, 1.0, -1.0)
    return sign * (np.vstack(X) @ w[:-1] + w[-1])


# -- the master ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_the_master_with_rows_is_that_of_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    d, n_planes, n_rows = 4, int(rng.integers(1, 9)), int(rng.integers(0, 9))
    lam = float(rng.choice([0.01, 1.0, 30.0]))
    planes, offsets = rng.normal(size=(n_planes, d)), rng.normal(size=n_planes)
    z = rng.normal(size=(n_rows, d))
    z[:, 0] = np.abs(z[:, 0]) + 0.1  # so that some w meets all rows
    slopes, linear = np.vstack([planes, -z]), np.concatenate([offsets, np.ones(n_rows)])
    is_row = np.arange(len(linear)) >= n_planes
    x = np.where(is_row, 0.0, 1.0)
    solve_with_rows(slopes @ slopes.T, linear, lam, x, is_row, 1e-12)
    assert (x >= 0.0).all() and x[:n_planes].sum() == pytest.approx(1.0)
    w = x @ slopes / -lam
    value = linear @ x - 0.5 * lam * (w @ w)
    # Variables w and xi: xi above all planes, and all rows met.
    P = np.diag([lam] * d + [0.0])
    A = np.block([[planes, -np.ones((n_planes, 1))], [-z, np.zeros((n_rows, 1))]])
    best = minimum(P, np.array([0.0] * d + [1.0]), A, np.concatenate([-offsets, -np.ones(n_rows)]))
    assert value == pytest.approx(0.5 * lam * best[:d] @ best[:d] + best[d], rel=1e-7, abs=1e-8)
    assert w == pytest.approx(best[:d], abs=1e-4)
    assert (z @ w >= 1.0 - 1e-7).all()


def test_the_master_takes_twins_of_planes_and_rows():
    slopes = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, -1.0], [0.0, -1.0]])
    linear, is_row = np.array([0.5, 0.5, 1.0, 1.0, 1.0]), np.arange(5) >= 2
    x = solve_with_rows(slopes @ slopes.T, linear, 1.0, np.where(is_row, 0.0, 0.5), is_row, 1e-12)
    assert x @ slopes == pytest.approx([1.0, -1.0])


# -- what is solved ------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shift", [2.0, 30.0])
def test_the_reduced_problem_is_solved(seed, keep, shift):
    X, y = draw(seed, shift=shift)
    model = ranker(easy_fraction=keep).fit(X, y)
    result = model.result_
    problem, rows = reduced_problem(model, X, y)
    assert 0 < model.n_easy_ == len(rows.sign)
    assert result.objective == "reduced" and result.solver == "one_slack"
    assert result.status == "converged" and result.relative_gap <= 1e-7
    # By a general solver: all planes of all queries, and all rows.
    planes, d, n = all_planes(problem), problem.n_weights, problem.n_examples
    block = np.searchsorted(planes.start, np.arange(len(planes.offsets)), side="right") - 1
    z = np.array([rows.signed(i) for i in range(model.n_easy_)])
    A = np.block([[-planes.slopes, -np.eye(n)[block]], [-z, np.zeros((len(z), n))]])
    b = np.concatenate([-planes.offsets, -np.ones(len(z))])
    P, q = np.diag([problem.lam] * d + [0.0] * n), np.array([0.0] * d + [1.0] * n)
    best = minimum(P, q, A, b)
    optimum = 0.5 * problem.lam * best[:d] @ best[:d] + best[d:].sum()
    assert result.dual - 1e-8 <= optimum <= result.primal + 1e-8
    assert result.primal == pytest.approx(optimum, rel=1e-6)
    assert result.w == pytest.approx(best[:d], abs=1e-2)
    assert rows.margins(result.w).min() >= 1.0 - 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_easy_samples_are_those_that_the_svm_has_a_margin_of_one_for(seed):
    X, y = draw(seed, n_documents=9)
    rows, grades, C = np.vstack(X), np.concatenate(y), 3.0
    sign = np.where(grades > 0, 1.0, -1.0)
    _, hard = reduced_problem(ranker(C=C), X, y)
    w0 = hard.start
    # The SVM, from a general solver: in every query both kinds weigh the same.
    weight = np.concatenate([np.where(g > 0, 0.5 / g.sum(), 0.5 / (1 - g).sum()) for g in y])
    n, d = rows.shape[0], rows.shape[1] + 1
    z = sign[:, None] * np.column_stack([rows, np.ones(n)])
    A = np.block([[-z, -np.eye(n)], [np.zeros((n, d)), -np.eye(n)]])
    P, q = np.diag([1.0] * d + [0.0] * n), np.concatenate([np.zeros(d), C * weight])
    best = minimum(P, q, A, np.concatenate([-np.ones(n), np.zeros(n)]))

    def objective(w):
        return 0.5 * w @ w + C * weight @ np.maximum(1.0 - z @ w, 0.0)

    assert objective(best[:d]) - 1e-9 <= objective(w0) <= 1.06 * objective(best[:d])
    # Up to rounding: support vectors have a margin of 1.
    margins = np.sort(hard.margins(w0))
    assert margins[0] >= 1.0
    assert (z @ w0 >= 1.0 + 1e-9).sum() <= len(margins) <= (z @ w0 >= 1.0 - 1e-9).sum()
    # A share of them: those with the largest margins. The others are ranked.
    part, hard = reduced_problem(ranker(C=C, easy_fraction=0.5), X, y)
    assert np.sort(hard.margins(w0)) == pytest.approx(margins[len(margins) - len(margins) // 2 :])
    assert part.sizes.sum() == n - len(margins) // 2


def test_without_easy_samples_it_is_the_exact_problem():
    X, y = draw(0)
    model, exact = ranker(C=1e-3).fit(X, y), ranker(C=1e-3, two_stage=False).fit(X, y)
    assert model.n_easy_ == 0 and model.result_.objective == "integral"
    assert model.result_.primal == pytest.approx(exact.result_.primal, rel=1e-6)
    assert model.coef_ == pytest.approx(exact.coef_, abs=1e-5)
    # So few are kept that none is.
    assert ranker(easy_fraction=1e-6).fit(X, y).result_.objective == "integral"


def test_queries_that_are_all_easy_keep_one_sample_that_costs_nothing():
    X, y = draw(0, n_queries=6, shift=30.0)
    model = ranker().fit(X, y)
    problem, _ = reduced_problem(model, X, y)
    assert (problem.sizes == 1).any() and problem.n_examples == 6
    alone = problem.sizes == 1
    assert problem.losses(np.ones(problem.n_weights))[0][alone] == pytest.approx(0.0)
    assert model.score(X, y) == 1.0 and model.coef_.shape == (3,)


def test_weights_hold_the_easy_samples_wherever_a_run_stops():
    X, y = draw(1, n_queries=8, n_documents=12)
    full = ranker(tol=1e-5).fit(X, y)
    for max_iter in (1, 2, 3):
        with pytest.warns(ConvergenceWarning):
            model = ranker(tol=1e-9, max_iter=max_iter).fit(X, y)
        assert (margins_of(model, X, y) >= 1.0 - 1e-8).sum() >= model.n_easy_
        result = model.result_
        assert result.dual - 1e-9 <= full.result_.primal and full.result_.dual <= result.primal


def test_an_example_is_looked_at_with_all_its_samples_and_changes_nothing():
    X, y = draw(0)
    model = ranker().fit(X, y)
    n_easy = model.n_easy_
    problem = example_problem(model, X[0], y[0])
    assert n_easy == model.n_easy_ > 0
    assert problem.objective == "integral"
    assert problem.sizes.tolist() == [len(X[0])]
    # The bias at the end of w is no business of a ranking.
    loss = problem.losses(np.append(model.coef_, 0.0))[0]
    assert trace_example(model, X[0], y[0]).psi == pytest.approx(loss[0])


def test_kinds_of_features_agree():
    X, y = draw(2, n_queries=5)
    dense = ranker(tol=1e-6).fit(X, y)
    sparse = ranker(tol=1e-6).fit([sp.csr_matrix(part) for part in X], y)
    assert sparse.coef_ == pytest.approx(dense.coef_, abs=1e-6)
    small = ranker(tol=1e-6).fit([part.astype(np.float32) for part in X], y)
    assert small.result_.primal == pytest.approx(dense.result_.primal, rel=1e-4)
    qid = np.repeat(np.arange(5), 6)
    rows = ranker(tol=1e-6).fit(np.vstack(X), np.concatenate(y), qid=qid)
    assert np.array_equal(rows.coef_, dense.coef_)
    assert rows.predict(np.vstack(X)) == pytest.approx(np.concatenate(dense.predict(X)))


# -- around it -----------------------------------------------------------------------------------


def test_save_load_and_resume(tmp_path):
    X, y = draw(3, n_queries=6, n_documents=10)
    model = ranker().fit(X, y)
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert np.array_equal(again.rank(np.vstack(X)), model.rank(np.vstack(X)))
    assert again.get_params() == model.get_params() and again.n_easy_ == model.n_easy_
    assert again.result_.objective == "reduced"
    path = tmp_path / "run.mm"
    with pytest.warns(ConvergenceWarning):
        ranker(max_iter=3).fit(X, y, callbacks=[Checkpoint(path, every=1)])
    resumed = ranker().fit(X, y, resume=path)
    assert np.array_equal(resumed.result_.w, model.result_.w)
    with pytest.raises(ValueError, match=r"easy_fraction=1.0 there, 0.5 here"):
        ranker(easy_fraction=0.5).fit(X, y, resume=path)


def test_eval_set_warm_start_and_grid_search():
    X, y = draw(4, n_queries=8, n_documents=8)
    model = ranker().fit(X[:6], y[:6], eval_set=(X[6:], y[6:]), patience=2)
    assert model.result_.history[-1].validation_score <= 1.0
    warm = ranker(warm_start=True).fit(X, y)
    assert warm.fit(X, y).n_iter_ <= 2
    search = GridSearchCV(ranker(tol=1e-2), {"easy_fraction": [0.25, 1.0]}, cv=2).fit(X, y)
    assert 0.5 < search.best_score_ <= 1.0


def test_threads_change_nothing():
    X, y = draw(5, n_queries=40, n_documents=9)
    one, two = (ranker(tol=1e-3, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert np.array_equal(one.result_.w, two.result_.w)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"cost": "ndcg"}, ValueError, r"two_stage=True is for cost='ap', got NDCG"),
        ({"cost": "auc"}, ValueError, r"two_stage=True is for cost='ap', got AUC"),
        ({"solver": "bcfw"}, ValueError, r"solver must be 'auto' or 'one_slack', got 'bcfw'"),
        ({"solver": OneSlack(radius=2.0)}, ValueError, r"got OneSlack\(radius=2.0, "),
        ({"surrogate": "slack"}, ValueError, r"is for surrogate='margin', got 'slack'"),
        ({"easy_fraction": 0.0}, ValueError, r"easy_fraction must be a number > 0"),
        (
            {"easy_fraction": 1.5},
            ValueError,
            r"easy_fraction must be a number > 0 and at most 1, got 1.5",
        ),
        ({"easy_fraction": "half"}, TypeError, r"easy_fraction must be a number"),
        ({"two_stage": "yes"}, TypeError, r"two_stage must be True or False, got 'yes'"),
    ],
)
def test_bad_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        ranker(**parameters).fit(*draw(0))


def test_what_says_the_same_is_accepted():
    model = ranker(cost=AveragePrecision(), surrogate=MarginRescaling(), solver=OneSlack())
    assert model.fit(*draw(0)).result_.objective == "reduced"


def test_path_is_refused():
    with pytest.raises(ValueError, match="path needs one problem for all C"):
        ranker().path(*draw(0), Cs=[1.0, 2.0])
