"""RankingSVM: the forms of its input, what it minimises, scikit-learn around it, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score

import maxmargin
from maxmargin import Checkpoint, RankingSVM
from maxmargin.core.problem import lam_from_C
from maxmargin.costs import (
    COSTS,
    NDCG,
    NDCGAtK,
    NDCGPairs,
    PrecisionAtK,
    RankingCost,
    fitting_costs,
)
from maxmargin.datasets import make_rankings
from maxmargin.inference.ranking.public import most_violating_ranking
from maxmargin.inputs.request import Request
from maxmargin.look.example import example_problem
from maxmargin.metrics import average_precision, ndcg, ranking_report
from maxmargin.surrogates import MarginRescaling

DATA = make_rankings(n_queries=24, n_documents=(4, 9), n_features=3, random_state=1)


def mixed(X, y, qid):
    """Leave out queries whose documents are all relevant, or none."""
    keep = [len(set(y[qid == q] > 0)) == 2 for q in qid]
    return X[keep], y[keep], qid[keep]


X, Y, QID = mixed(DATA.X_train, DATA.y_train, DATA.extra["qid_train"])
QUERIES = [np.flatnonzero(q == QID) for q in dict.fromkeys(QID)]
LISTS = [X[rows] for rows in QUERIES], [Y[rows] for rows in QUERIES]


#: All costs, with a k that is below the number of documents of every query.
SMALL_COSTS = [
    COSTS[name](**({"k": 3} if name.endswith("_at_k") else {})) for name in fitting_costs("places")
]


def ranker(**options):
    """A ranker whose weights are those of the features as they are, unless told otherwise."""
    given = {"C": 5.0, "cost": "ndcg", "normalize_queries": None, "tol": 1e-6, "random_state": 0}
    return RankingSVM(**{"steps": 0, **given, **options})


@pytest.fixture(scope="module")
def fitted():
    return ranker().fit(X, Y, qid=QID)


# -- forms of input ------------------------------------------------------------------------------


def test_lists_and_rows_give_the_same_model(fitted):
    of_lists = ranker().fit(*LISTS)
    assert of_lists.coef_ == pytest.approx(fitted.coef_, abs=1e-12)
    scores = of_lists.predict(LISTS[0])
    assert isinstance(scores, list)
    flat = fitted.predict(X, qid=QID)
    for rows, own in zip(QUERIES, scores, strict=True):
        assert own == pytest.approx(flat[rows])
    assert of_lists.score(*LISTS) == pytest.approx(fitted.score(X, Y, qid=QID))


def test_rows_of_a_query_need_not_lie_together(fitted, rng):
    order = rng.permutation(len(X))
    shuffled = ranker().fit(X[order], Y[order], qid=QID[order])
    assert shuffled.result_.primal == pytest.approx(fitted.result_.primal, rel=1e-5)
    assert fitted.predict(X[order], qid=QID[order]) == pytest.approx(fitted.predict(X)[order])
    ranks, straight = fitted.rank(X[order], qid=QID[order]), fitted.rank(X, qid=QID)
    assert np.array_equal(ranks, straight[order])


@pytest.mark.parametrize("kind", ["csr", "float32", "names"])
def test_kinds_of_features(kind, fitted):
    if kind == "csr":
        rows = sp.csr_matrix(X)
    elif kind == "float32":
        rows = X.astype(np.float32)
    else:
        rows = [dict(enumerate_names(row)) for row in X]
    other = ranker().fit(rows, Y, qid=QID)
    assert other.result_.primal == pytest.approx(fitted.result_.primal, rel=1e-4)
    # The same optimum, found to tol; of two documents with like scores either may come first.
    assert other.score(rows, Y, qid=QID) == pytest.approx(fitted.score(X, Y, qid=QID), abs=0.05)


def enumerate_names(row):
    return ((f"x{k}", float(value)) for k, value in enumerate(row))


def test_lists_of_sparse_queries(fitted):
    sparse = [sp.csr_matrix(part) for part in LISTS[0]]
    of_lists, of_rows = ranker().fit(sparse, LISTS[1]), ranker().fit(sp.csr_matrix(X), Y, qid=QID)
    np.testing.assert_array_equal(of_lists.coef_, of_rows.coef_)
    assert of_lists.result_.primal == pytest.approx(fitted.result_.primal, rel=1e-5)


def test_one_query_alone_is_trained_by_a_cutting_plane():
    rows = QUERIES[0]
    model = ranker(cost="auc").fit(X[rows], Y[rows])
    assert model.result_.solver == "one_slack" and model.result_.status == "converged"
    other = ranker(cost="auc", solver="bcfw").fit(X[rows], Y[rows])
    assert other.result_.solver == "bcfw"
    assert other.result_.primal == pytest.approx(model.result_.primal, rel=1e-5)
    assert model.predict(X[rows]).shape == (len(rows),)
    assert sorted(model.rank(X[rows])) == list(range(1, len(rows) + 1))


def test_ranks_follow_scores_and_ties_keep_their_order(fitted):
    ranks, scores = fitted.rank(LISTS[0]), fitted.predict(LISTS[0])
    for place, score in zip(ranks, scores, strict=True):
        assert (np.diff(score[np.argsort(place)]) <= 0).all()
    same = np.zeros((3, 3))
    assert fitted.rank(same).tolist() == [1, 2, 3]


# -- what is minimised ---------------------------------------------------------------------------


def losses_by_hand(w, cost):
    """Return the loss of every query, by the public oracle and the sum over thresholds."""
    total = []
    for rows in QUERIES:
        scores, grades = X[rows] @ w, Y[rows]
        if isinstance(cost, NDCG):
            gains = {t: 2.0**t - 2.0 ** (t - 1) for t in range(1, int(grades.max()) + 1)}
            discounts = 1 / np.log2(np.arange(2, len(rows) + 2))
            ideal = {t: discounts[: (grades >= t).sum()].sum() for t in gains}
            whole = sum(gains[t] * ideal[t] for t in gains)
            parts = [(t, gains[t] * ideal[t] / whole) for t in gains]
        elif isinstance(cost, NDCGPairs):
            above = np.sort(np.exp2(grades) - 1.0)[::-1]
            best = above @ (1 / np.log2(np.arange(2, len(rows) + 2)))
            unit = (1 - 1 / np.log2(3)) / best
            counts = {t: (grades >= t).sum() for t in range(1, int(grades.max()) + 1)}
            parts = [(t, unit * 2 ** (t - 1) * n * (len(rows) - n)) for t, n in counts.items()]
        else:
            parts = [(1, 1.0)]
        loss = 0.0
        for threshold, share in parts:
            relevant = grades >= threshold
            if relevant.all() or not relevant.any():
                continue
            found = most_violating_ranking(scores, relevant, cost)
            truth = scores[relevant].mean() - scores[~relevant].mean()
            loss += share * (found.value - truth)
        total.append(loss)
    return np.array(total)


@pytest.mark.parametrize("cost", ["ap", "ndcg", "ndcg_pairs", "auc"])
def test_the_objective_is_what_the_docs_say(cost):
    model = ranker(cost=cost, tol=1e-7).fit(X, Y, qid=QID)
    w, result = model.coef_, model.result_
    # n, and with it the scale of primal and gap, is the number of examples: queries by threshold.
    losses = losses_by_hand(w, COSTS[cost]())
    training = model._encode(Request(X, Y, qid=QID), reset=False)
    n = training.n_examples
    by_hand = 0.5 * lam_from_C(5.0, n) * (w @ w) + losses.sum() / n
    assert result.primal == pytest.approx(by_hand, rel=1e-9)
    assert result.relative_gap <= 1e-7


@pytest.mark.parametrize("cost", SMALL_COSTS, ids=str)
def test_gradients_match_finite_differences(cost, rng):
    """The plane of the most violating ranking is the gradient where there is one."""
    model = ranker(cost=cost)
    training = model._encode(Request(X, Y, qid=QID), reset=True)
    problem = training.problem(MarginRescaling(), 0.1, compile=False)
    w = rng.normal(size=3)
    gradient = problem.lam * w
    from maxmargin.core.contract import add_difference, find, potentials

    for i in range(problem.n_examples):
        desk = problem.desk()
        potentials(training.data, i, w, 1.0, desk.theta)
        find(problem.view.search, problem.view, i, desk, desk.y, 0)
        share = problem.view.weight[i] / problem.n_examples
        add_difference(training.data, i, desk.y, 0, -share, gradient)
    for k in range(3):
        step = np.zeros(3)
        step[k] = 1e-7
        slope = (problem.primal(w + step) - problem.primal(w - step)) / 2e-7
        assert gradient[k] == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("cost", SMALL_COSTS, ids=str)
def test_solvers_agree_on_the_optimum(cost):
    # That they do to 1e-5 on tiny problems, for every solver, is shown in test_contracts.
    primal = [
        ranker(cost=cost, solver=solver, tol=1e-4).fit(X, Y, qid=QID).result_.primal
        for solver in ("bcfw", "one_slack")
    ]
    online = ranker(cost=cost, solver="sgd", max_iter=400).fit(X, Y, qid=QID).result_.primal
    assert primal[0] == pytest.approx(primal[1], rel=2e-4)
    assert online == pytest.approx(primal[0], rel=0.02)


def test_the_loss_is_above_the_cost(fitted):
    scores = fitted.predict(X)
    costs = [1 - ndcg(Y[rows], scores[rows]) for rows in QUERIES]
    for cost in (NDCG(), NDCGPairs()):
        assert (losses_by_hand(fitted.coef_, cost) >= np.array(costs) - 1e-9).all()


def test_pairs_of_grades_are_hinge_losses():
    """The loss of NDCGPairs is a hinge loss of every pair, weighed by its gains."""
    w = np.random.default_rng(3).normal(size=3)
    for rows, loss in zip(QUERIES, losses_by_hand(w, NDCGPairs()), strict=True):
        scores, gains = X[rows] @ w, np.exp2(Y[rows]) - 1.0
        best = np.sort(gains)[::-1] @ (1 / np.log2(np.arange(2, len(rows) + 2)))
        apart = np.maximum(gains[:, None] - gains, 0.0)
        hinges = np.maximum(1.0 - 2.0 * (scores[:, None] - scores), 0.0)
        assert loss == pytest.approx((1 - 1 / np.log2(3)) / best * (apart * hinges).sum())


def test_weights_of_queries_count_as_copies():
    weight = np.where(np.arange(len(QUERIES)) < 5, 2.0, 1.0)
    weighted = ranker(cost="auc").fit(*LISTS, sample_weight=weight)
    doubled = [[*part, *part[:5]] for part in LISTS]
    copied = ranker(cost="auc").fit(*doubled)
    assert weighted.coef_ == pytest.approx(copied.coef_, abs=2e-3)
    by_row = ranker(cost="auc").fit(X, Y, qid=QID, sample_weight=row_weights(weight))
    assert by_row.coef_ == pytest.approx(weighted.coef_, abs=1e-9)


def row_weights(weight):
    rows = np.zeros(len(X))
    for own, value in zip(QUERIES, weight, strict=True):
        rows[own] = value
    return rows


@pytest.mark.parametrize("how", ["standard", "minmax"])
def test_normalisation_takes_units_and_offsets_of_queries_away(how):
    scale = np.array([3.0, 0.5, 10.0])
    moved = [scale * part + k for k, part in enumerate(LISTS[0])]
    plain, other = (ranker(normalize_queries=how).fit(part, LISTS[1]) for part in (LISTS[0], moved))
    assert other.coef_ == pytest.approx(plain.coef_, abs=1e-3)
    flat = [np.hstack([part, np.full((len(part), 1), k)]) for k, part in enumerate(LISTS[0])]
    assert ranker(normalize_queries=how).fit(flat, LISTS[1]).coef_[3] == 0.0


def test_threads_change_nothing():
    many = [part for part in LISTS[0] for _ in range(30)], [y for y in LISTS[1] for _ in range(30)]
    one, two = (ranker(solver="one_slack", n_jobs=n, tol=1e-3).fit(*many) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)


def test_a_cost_of_ones_own():
    def first_rank(j, i, P, N):
        return 1.0 / (j + 1) - 1.0 / j if i == 1 else 0.0

    model = ranker(cost=RankingCost(first_rank), tol=1e-4).fit(X, Y, qid=QID)
    assert model.result_.status == "converged"
    scores = model.predict(X)
    best = [
        int(np.flatnonzero(np.sort(-scores[r]) == -scores[r][Y[r] > 0].max())[0]) for r in QUERIES
    ]
    expected = np.mean([1 / (rank + 1) for rank in best])
    assert model.score(X, Y, qid=QID) == pytest.approx(expected)
    with pytest.raises(TypeError, match="cannot be stored"):
        model.save("nowhere.mm")


# -- one query, looked at ------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, sp.csr_matrix])
def test_an_example_is_a_query(fitted, form):
    x, y = LISTS[0][0], (LISTS[1][0] > 0).astype(int)
    problem = example_problem(fitted, form(x), y)
    scores = x @ fitted.coef_
    truth = scores[y == 1].mean() - scores[y == 0].mean()
    expected = most_violating_ranking(scores, y, NDCG()).value - truth
    np.testing.assert_allclose(problem.losses(fitted.result_.w)[0], [expected], rtol=1e-9)


def test_an_example_of_several_grades_is_refused(fitted):
    with pytest.raises(ValueError, match="y has 2 grades above others, and under 'ndcg' each is"):
        example_problem(fitted, X[:4], [0, 1, 2, 0])


# -- scores --------------------------------------------------------------------------------------


def test_scores_are_those_of_metrics(fitted):
    report = ranking_report(Y, fitted.predict(X), QID, k=(3,))
    assert fitted.score(X, Y, qid=QID) == pytest.approx(report.means["ndcg"])
    for cost, name in [("ap", "average_precision"), (NDCGAtK(3), "ndcg@3")]:
        other = clone(fitted).set_params(cost=cost, tol=0.1).fit(X, Y, qid=QID)
        expected = ranking_report(Y, other.predict(X), QID, k=(3,)).means[name]
        assert other.score(X, Y, qid=QID) == pytest.approx(expected)


def test_score_leaves_out_queries_of_one_kind():
    model = ranker(cost="ap", tol=0.01).fit(*LISTS)
    more = [*LISTS[0], LISTS[0][0]], [*LISTS[1], np.zeros(len(LISTS[1][0]))]
    assert model.score(*more) == pytest.approx(model.score(*LISTS))
    expected = np.mean(
        [average_precision(y, s) for y, s in zip(LISTS[1], model.predict(LISTS[0]), strict=True)]
    )
    assert model.score(*LISTS) == pytest.approx(expected)
    with pytest.raises(ValueError, match="Nothing to score in 1 query"):
        model.score([LISTS[0][0]], [np.zeros(len(LISTS[1][0]))])


# -- scikit-learn --------------------------------------------------------------------------------


def test_grid_search_over_lists():
    search = GridSearchCV(ranker(tol=0.01), {"C": [0.1, 1.0]}, cv=KFold(3)).fit(*LISTS)
    assert np.isfinite(search.best_score_)
    assert search.score(*LISTS) > 0.5
    assert len(cross_val_score(ranker(tol=0.01), *LISTS, cv=3)) == 3


def test_grid_search_over_rows_by_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        model = ranker(tol=0.01, normalize_queries="minmax")
        model = model.set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=GroupKFold(3))
        search.fit(X, Y, qid=QID, groups=QID)
        assert np.isfinite(search.best_score_)
        by_hand = []
        for train, test in GroupKFold(3).split(X, Y, QID):
            best = ranker(tol=0.01, normalize_queries="minmax", C=search.best_params_["C"])
            best.fit(X[train], Y[train], qid=QID[train])
            by_hand.append(best.score(X[test], Y[test], qid=QID[test]))
        assert search.best_score_ == pytest.approx(np.mean(by_hand))
        assert search.score(X, Y, qid=QID) > 0.5


def test_eval_set_patience_warm_start_and_path():
    model = ranker(solver="sgd", max_iter=50)
    model.fit(
        X, Y, qid=QID, eval_set=(DATA.X_test, DATA.y_test, DATA.extra["qid_test"]), patience=2
    )
    assert model.result_.n_iter < 50
    warm = ranker(warm_start=True).fit(*LISTS)
    assert warm.fit(*LISTS).n_iter_ <= 2
    path = ranker(tol=0.01).path(*LISTS, Cs=[0.1, 1.0], cv=3)
    assert len(path.estimators) == 2


def test_partial_fit():
    model = ranker(solver="sgd")
    for rows in np.array_split(np.arange(len(QUERIES)), 3):
        part = [LISTS[0][q] for q in rows], [LISTS[1][q] for q in rows]
        model.partial_fit(*part, n_total=len(QUERIES))
    assert model.score(*LISTS) > 0.5
    with pytest.raises(AttributeError, match="has no partial_fit with solver 'auto'"):
        ranker().partial_fit(*LISTS)


def test_save_load_and_resume(fitted, tmp_path):
    fitted.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert again.get_params() == fitted.get_params()
    again = ranker(cost=NDCGAtK(3), tol=0.1).fit(*LISTS)
    again.save(tmp_path / "other.mm")
    assert maxmargin.load(tmp_path / "other.mm").cost == NDCGAtK(3)
    path = tmp_path / "run.mm"
    with pytest.warns(ConvergenceWarning):
        ranker(max_iter=3).fit(X, Y, qid=QID, callbacks=[Checkpoint(path, every=1)])
    resumed = ranker().fit(X, Y, qid=QID, resume=path)
    assert np.array_equal(resumed.coef_, fitted.coef_)


# -- bad input -----------------------------------------------------------------------------------


def test_queries_that_teach_nothing_are_skipped_counted_and_warned_of_once():
    more = [LISTS[0][0], *LISTS[0], LISTS[0][1]], [
        np.zeros(len(LISTS[1][0])), *LISTS[1], np.full(len(LISTS[1][1]), 2)
    ]  # fmt: skip
    with pytest.warns(UserWarning, match=r"2 of \d+ queries teach nothing") as caught:
        model = ranker().fit(*more)
    assert len(caught) == 1 and model.n_skipped_ == 2
    plain = ranker().fit(*LISTS)
    assert plain.n_skipped_ == 0
    assert model.coef_ == pytest.approx(plain.coef_, abs=1e-9)


@pytest.mark.parametrize("cost", SMALL_COSTS, ids=str)
@pytest.mark.parametrize("grade", [0, 1, 2])
def test_rows_of_a_query_of_one_grade_teach_nothing(cost, grade):
    flat = QUERIES[0]
    grades = np.where(np.isin(np.arange(len(Y)), flat), grade, Y)
    rest = ~np.isin(np.arange(len(Y)), flat)
    with pytest.warns(UserWarning, match=r"1 of \d+ queries teach nothing") as caught:
        model = ranker(cost=cost, tol=1e-3).fit(X, grades, qid=QID)
    assert len(caught) == 1 and model.n_skipped_ == 1
    plain = ranker(cost=cost, tol=1e-3).fit(X[rest], Y[rest], qid=QID[rest])
    assert np.array_equal(model.coef_, plain.coef_)


def test_precision_at_k_learns_nothing_from_k_documents():
    sizes = np.array([len(rows) for rows in QUERIES])
    k = int(np.median(sizes))
    with pytest.warns(UserWarning, match=rf"relevant, or none, or there are at most k={k}\."):
        model = ranker(cost=PrecisionAtK(k), tol=1e-3).fit(*LISTS)
    assert model.n_skipped_ == (sizes <= k).sum() and model.coef_.any()
    with pytest.raises(ValueError, match=r"all relevant or none, or there are at most k=9, or no"):
        ranker(cost=PrecisionAtK(9)).fit(*LISTS)


def test_nothing_but_one_kind_is_refused():
    with pytest.raises(ValueError, match="nothing to learn from 1 query: each has"):
        ranker().fit(X[:3], [0, 0, 0])
    with pytest.raises(ValueError, match="relevance_threshold=3"):
        ranker(cost="ap", relevance_threshold=3).fit(X[:3], [0, 1, 2])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"y": np.where(np.arange(len(Y)) == 7, -1, Y)},
            ValueError,
            r"y\[7\] is -1; expected",
        ),
        ({"y": np.where(np.arange(len(Y)) == 7, np.nan, Y)}, ValueError, r"y\[7\] is nan"),
        ({"y": Y[:-1]}, ValueError, "y must have a grade for each"),
        ({"y": ["a"] * len(Y)}, ValueError, "y must be grades"),
        ({"qid": QID[:-1]}, ValueError, "qid must have one entry per row"),
        ({"qid": np.full(len(Y), np.nan)}, ValueError, r"qid\[0\] is nan"),
        (
            {"qid": [None, *(f"q{q}" for q in QID[1:])]},
            ValueError,
            "qid must be all numbers or all strings, none missing, got entries of types None",
        ),
        ({"y": Y * 1100}, ValueError, r"the gain 2\*\*\d+ - 1 is too large; gain='linear'"),
        ({"sample_weight": np.arange(len(Y))}, ValueError, "sample_weight differs within query"),
        ({"X": np.where(X[4, 1] == X, np.inf, X)}, ValueError, "contains infinity"),
    ],
)
def test_bad_rows_are_refused(change, error, message):
    given = {"X": X, "y": Y, "qid": QID, **change}
    with pytest.raises(error, match=message):
        ranker().fit(given.pop("X"), given.pop("y"), **given)


def test_queries_given_as_weights_are_told_where_to_go():
    with pytest.raises(ValueError, match=r"differs within X .* Without qid=, X is one query\."):
        ranker().fit(X, Y, sample_weight=QID)


def test_bad_lists_are_refused():
    xs, ys = LISTS
    with pytest.raises(ValueError, match=r"y\[1\]\[0\] is -2; expected a grade"):
        ranker().fit(xs, [ys[0], np.full(len(ys[1]), -2), *ys[2:]])
    with pytest.raises(ValueError, match=r"y\[0\] must have a grade for each of the \d+ rows"):
        ranker().fit(xs, [ys[0][:-1], *ys[1:]])
    with pytest.raises(ValueError, match=r"y must have the grades of each of the \d+ queries"):
        ranker().fit(xs, ys[:-1])
    with pytest.raises(ValueError, match="qid is for rows in one matrix"):
        ranker().fit(xs, ys, qid=QID)
    with pytest.raises(ValueError, match=r"X\[1\] has 2 features but X\[0\] has 3"):
        ranker().fit([xs[0], xs[1][:, :2], *xs[2:]], ys)
    with pytest.raises(ValueError, match=r"X\[0\] is not a rectangular array of numbers"):
        ranker().fit([[[1.0, 2.0], [3.0]]], [[0, 1]])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"cost": "hamming"}, ValueError, "Hamming is no cost of rankings.*: ap, ndcg"),
        ({"cost": "map"}, ValueError, "There are: 'ap', 'ndcg'"),
        ({"relevance_threshold": 0}, ValueError, "relevance_threshold must be a number > 0"),
        (
            {"normalize_queries": "l2"},
            ValueError,
            "normalize_queries must be None or one of 'maxabs', 'standard'",
        ),
        ({"missing": "drop"}, ValueError, "missing must be one of 'indicator', 'mean', 'zero'"),
        ({"zeros": True}, ValueError, "zeros must be one of 'indicator', 'value', got True"),
        ({"solver": "exponentiated_gradient"}, ValueError, "needs expectations of outputs"),
        ({"surrogate": "micro_f1"}, ValueError, "is for label sets"),
        ({"search": "profile", "surrogate": "slack"}, ValueError, "needs the oracle 'profile'"),
        ({"C": -1.0}, ValueError, "C must be a number > 0"),
    ],
)
def test_bad_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        ranker(**parameters).fit(X, Y, qid=QID)


def test_sparse_rows_are_not_normalised_in_silence():
    with pytest.raises(ValueError, match="would make sparse rows dense"):
        ranker(normalize_queries="standard").fit(sp.csr_matrix(X), Y, qid=QID)


def test_another_number_of_features_is_refused(fitted):
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"X\[0\] has 2 features but expected 3"):
        fitted.predict([X[:4, :2]])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_fitted_model_refuses_numbers_that_are_none(bad):
    """Their scores would be NaN, which has no place in a ranking."""
    fitted = ranker(missing="error", tol=0.1).fit(X, Y, qid=QID)
    rows = X.copy()
    rows[4, 1] = bad
    lists = [rows[own] for own in QUERIES]
    said = r"X contains (NaN|infinity)|has (nan|inf) at feature 1"
    for call in (fitted.predict, fitted.rank, fitted.decision_function):
        with pytest.raises(ValueError, match=said):
            call(rows, qid=QID)
        with pytest.raises(ValueError, match=said):
            call(lists)
    with pytest.raises(ValueError, match=said):
        fitted.score(rows, Y, qid=QID)
    with pytest.raises(ValueError, match=said):
        ranker(missing="error").fit(X, Y, qid=QID, eval_set=(rows, Y, QID))


def test_grades_to_score_against_are_checked(fitted):
    with pytest.raises(ValueError, match=r"y\[2\] is -1; expected a grade"):
        fitted.score(X, np.where(np.arange(len(Y)) == 2, -1, Y), qid=QID)
    with pytest.raises(ValueError, match=r"y\[1\]\[0\] is nan; expected a grade"):
        fitted.score(LISTS[0], [LISTS[1][0], np.full(len(LISTS[1][1]), np.nan), *LISTS[1][2:]])
    with pytest.raises(ValueError, match="qid must have one entry per row"):
        fitted.score(X, Y, qid=QID[1:])
