"""TreeSVM and GraphSVM at prediction: rules, roundings, methods, and marginals that say how."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from maxmargin import Graph, GraphSVM, TreeSVM
from maxmargin.estimators.graph.answers import check_labels_exist
from maxmargin.inference import k_best_graph, solve_graph
from maxmargin.inference.graph import marginals
from maxmargin.inference.graph.answer import GraphAnswer, KBest
from maxmargin.inference.graph.factors import (
    AtLeastOne,
    AtMostOne,
    Cardinality,
    CustomFactor,
    ExactlyOne,
    Implies,
    Potts,
    Table,
)
from maxmargin.rounding import ROUNDINGS, Interval
from tests.estimators.test_graph import LABELS, best_by_list, cycles, fitted, trees


@pytest.fixture(scope="module")
def rings():
    X, y = cycles(np.random.default_rng(0))
    return X, fitted(max_iter=5, pairs="full").set_params(tol=1.0).fit(X, y)


@pytest.fixture(scope="module")
def bushes():
    X, y = trees(np.random.default_rng(1))
    return [Graph(*x) for x in X], fitted(TreeSVM).set_params(tol=1.0).fit(X, y)


def test_scores_that_overflow_are_refused(rings):
    X, model = rings
    huge = replace(X[0], nodes=1e305 * np.sign(X[0].nodes))
    with pytest.raises(ValueError, match=r"X\[1\]: scores as large as .* overflow in sums over"):
        model.predict([X[0], huge], method="auto")


#: Rules over the five nodes of a graph: a maker, and whether a labelling keeps it.
RULES = {
    "exactly one": (lambda: ExactlyOne(range(5), on="c"), lambda y: (y == "c").sum() == 1),
    "at most one": (
        lambda: AtMostOne((0, 1, 3), on="b"),
        lambda y: (y[[0, 1, 3]] == "b").sum() < 2,
    ),
    "at least one": (lambda: AtLeastOne((2, 4), on="a"), lambda y: (y[[2, 4]] == "a").any()),
    "implies": (
        lambda: Implies((0, 3), on=["a", "c"]),
        lambda y: y[0] != "a" or y[3] == "c",
    ),
    "cardinality": (
        lambda: Cardinality(range(5), [-np.inf, -np.inf, 0.0, 0.5, 0.0, 0.0], on="b"),
        lambda y: (y == "b").sum() > 1,
    ),
    "potts": (lambda: Potts((1, 4), [0.0] * 3, -np.inf), lambda y: y[1] == y[4]),
    "table": (
        lambda: Table((0, 1), [[0.0, 0.0, -np.inf]] * 3),
        lambda y: y[1] != "c",
    ),
}


def listed(model, graph, factors):
    """Return all labellings and their scores, those of the rules included."""
    rows, scores = best_by_list(model, graph)
    names = LABELS[rows]
    for factor in factors:
        own = names if hasattr(factor, "on_labels") else rows
        scores = scores + [factor.value(tuple(row[list(factor.nodes)])) for row in own]
    return rows, scores


@pytest.mark.parametrize("kind", ["rings", "bushes"])
@pytest.mark.parametrize("rule", RULES)
def test_rules_hold_in_every_answer(kind, rule, request):
    X, model = request.getfixturevalue(kind)
    make, keeps = RULES[rule]
    rows, scores = listed(model, X[0], [make()])
    found = model.predict(X[:1], constraints=make())
    assert found.is_exact.all() and keeps(found[0])
    at = np.flatnonzero((LABELS[rows] == found[0]).all(axis=1))[0]
    assert scores[at] == pytest.approx(scores.max())
    ranked = model.predict_topk(X[:1], 4, constraints=[make()])
    np.testing.assert_allclose(ranked.scores[0], np.sort(scores)[::-1][:4])
    assert ranked.outputs.is_exact.all() and all(keeps(y) for y in ranked.outputs[0])
    p = np.exp(scores - scores.max())
    p /= p.sum()
    expected = [[p[rows[:, v] == k].sum() for k in range(3)] for v in range(5)]
    shares = model.predict_marginals(X[:1], constraints=[[make()]])
    np.testing.assert_allclose(shares[0], expected, atol=1e-9)
    top = [[scores[rows[:, v] == k].max() for k in range(3)] for v in range(5)]
    found = model.decision_function(X[:1], constraints=lambda x: [make()])
    np.testing.assert_allclose(found[0], top)
    assert shares.is_exact.all() and found.is_exact.all()


def test_rules_are_for_all_graphs_or_for_each(rings):
    X, model = rings
    rule = ExactlyOne((0, 1), on="a")
    for given in (rule, [rule], [[rule]] * 3, [rule] * 3, lambda x: rule, lambda x: (rule,)):
        found = model.predict(X[:3], constraints=given)
        assert all((labels[:2] == "a").sum() == 1 for labels in found)
    free = model.predict(X[:2])
    found = model.predict(X[:2], constraints=[None, Potts(range(5), [0.0] * 3, -np.inf)])
    np.testing.assert_array_equal(found[0], free[0])
    assert len(set(found[1])) == 1
    fixed = [["b", None, None, None, None]]
    assert model.predict(X[:1], constraints=rule, fixed=fixed)[0].tolist()[:2] == ["b", "a"]


@pytest.mark.parametrize(
    "call", ["predict", "predict_topk", "predict_marginals", "decision_function"]
)
@pytest.mark.parametrize("kind", ["rings", "bushes"])
def test_rules_that_allow_nothing_are_said(kind, call, request):
    X, model = request.getfixturevalue(kind)
    rules = [None, [ExactlyOne((0, 1), on="a"), Potts((0, 1), [0.0] * 3, -np.inf)]]
    with pytest.raises(ValueError, match=r"X\[1\]: .*allow no labelling"):
        getattr(model, call)(X[:2], constraints=rules)


@pytest.mark.parametrize(
    ("constraints", "error", "message"),
    [
        (ExactlyOne((0, 1)), ValueError, r"constraints: ExactlyOne is on at 1, which is no class"),
        (["odd"], TypeError, r"constraints\[0\] is 'odd'; expected factors of the kinds Table"),
        ("odd", TypeError, "constraints is 'odd'; expected factors"),
        (lambda x: 3, TypeError, r"constraints\(X\[0\]\) is 3; expected factors"),
        ([None, None], ValueError, "constraints has 2 entries, but X has 1 graphs"),
        (ExactlyOne((0, 9), on="a"), ValueError, r"X\[0\]: factors\[0\] names the node 9"),
        ([[ExactlyOne((0, 1), on=[[1], "a"])]], ValueError, r"constraints\[0\]\[0\]: .* on at \[1"),
        (Potts((0, 1), [0.0, 1.0]), ValueError, r"X\[0\]: Potts: node 0 has 3 labels"),
        (Table((0, 1), np.zeros((2, 3))), ValueError, r"X\[0\]: the table of the nodes"),
    ],
)
def test_wrong_rules_are_refused(rings, constraints, error, message):
    X, model = rings
    with pytest.raises(error, match=message):
        model.predict(X[:1], constraints=constraints)


def test_labels_of_rules_have_the_names_that_users_gave_them():
    X, y = cycles(np.random.default_rng(0), 2)
    codes = [np.searchsorted(LABELS, labels) * 10 + 5 for labels in y]  # 5, 15, 25
    model = fitted(max_iter=2).set_params(tol=1.0).fit(X, codes)
    found = model.predict(X, constraints=ExactlyOne(range(5), on=15))
    assert all((labels == 15).sum() == 1 for labels in found)
    with pytest.raises(ValueError, match="is on at 1, which is no class"):
        model.predict(X, constraints=ExactlyOne(range(5)))


@pytest.mark.parametrize("rounding", [*ROUNDINGS, Interval(width=2)], ids=str)
def test_roundings_return_labellings_near_the_best(rings, rounding):
    X, model = rings
    for options in ({}, {"polish_by": "expansion"}, {"polish_by": None, "relaxation": "lp"}):
        found = model.predict(X[:2], rounding=rounding, n_draws=3, **options)
        again = model.predict(X[:2], rounding=rounding, n_draws=3, **options)
        for graph, labels, same, is_exact in zip(X, found, again, found.is_exact, strict=False):
            np.testing.assert_array_equal(labels, same)
            rows, scores = best_by_list(model, graph)
            at = np.flatnonzero((LABELS[rows] == labels).all(axis=1))[0]
            assert scores[at] >= scores.max() - 1e-7 or not is_exact
    name = rounding if isinstance(rounding, str) else "interval"
    assert all(method == f"lp+{name}" for method in found.methods)


def test_roundings_keep_rules(rings, bushes):
    for X, model in (rings, bushes):
        rule = AtMostOne(range(5), on="c")
        for relaxation in ("auto", "lp"):
            found = model.predict(X, rounding="max", relaxation=relaxation, constraints=rule)
            assert all((labels == "c").sum() <= 1 for labels in found)
        with pytest.raises(ValueError, match=r"X\[0\]: factor .* at most two nodes only"):
            model.predict(X, rounding="max", polish_by="expansion", constraints=rule)


def test_a_rounding_that_breaks_rules_is_said():
    nothing = GraphAnswer(None, -np.inf, 1.0, False, "lp+complete", 0)
    with pytest.raises(ValueError, match=r"lp\+complete found no labelling .* nor a proof"):
        check_labels_exist(nothing, LABELS)


def test_a_rule_of_ones_own(rings):
    class Differ(CustomFactor):
        """Two nodes have different labels."""

        def __init__(self, nodes):
            self.nodes = tuple(nodes)

        @staticmethod
        def message(numbers, at, member, incoming, out):
            other = at[1 - member]
            for x in range(at[member + 1] - at[member]):
                out[x] = -np.inf
                for y in range(at[2 - member] - other):
                    if x != y:
                        out[x] = max(out[x], incoming[other + y])

    X, model = rings
    for labels in model.predict(X, constraints=[Differ((0, 2)), Differ((1, 3))]):
        assert labels[0] != labels[2] and labels[1] != labels[3]


def test_methods_of_inference_at_prediction(rings):
    X, model = rings
    best = model.predict_topk(X, 1).scores
    for method in ("auto", "junction", "ilp", "srmp"):
        found = model.predict(X, method=method)
        assert found.methods == [method if method != "auto" else "junction"] * len(X)
        for graph, labels, score, is_exact in zip(X, found, best, found.is_exact, strict=True):
            rows, scores = best_by_list(model, graph)
            at = np.flatnonzero((LABELS[rows] == labels).all(axis=1))[0]
            assert scores[at] == pytest.approx(score[0]) or not is_exact
    with pytest.raises(ValueError, match=r"X\[0\]: the graph is no forest|X\[0\]: .*cycle"):
        model.predict(X, method="forest")


@pytest.mark.parametrize("training", ["integral", "relaxed"])
def test_scores_that_overflow_prove_nothing(training):
    X, y = cycles(np.random.default_rng(0), 2)
    model = fitted(max_iter=2, pairs="full", training=training).set_params(tol=1.0).fit(X, y)
    model.result_.w[:] = np.random.default_rng(1).normal(size=len(model.result_.w)) * 50.0
    assert model.predict(X).is_exact.all()
    huge = replace(X[1], edge_features=X[1].edge_features * 1e307)
    with np.errstate(all="ignore"), pytest.warns(UserWarning, match="1 of 1 graphs"):
        found = model.predict([huge])
    assert not found.is_exact.any() and np.isinf(found.gaps).all()


def test_plain_predictions_say_what_the_search_left_open(bushes):
    """Seven nodes, all joined, and no branch and bound: no message passing proves all of these."""
    rng = np.random.default_rng(0)
    edges = [(a, b) for a in range(7) for b in range(a)]
    X = [Graph(rng.normal(size=(7, 3)), edges, rng.normal(size=(21, 2))) for _ in range(8)]
    y = [LABELS[rng.integers(3, size=7)] for _ in X]
    model = fitted(max_iter=2, max_branches=0).set_params(tol=1.0).fit(X, y)
    with pytest.warns(UserWarning, match=r"of 8 graphs .* at most. .* max_branches") as told:
        found = model.predict(X)
    open_ = ~found.is_exact
    assert len(told) == 1 and f"of {open_.sum()} of 8 graphs" in str(told[0].message)
    assert f"{found.gaps.max():.3g} at most" in str(told[0].message)
    np.testing.assert_array_equal(open_, found.gaps > 0.0)
    assert open_.any() and found.methods == ["srmp"] * 8
    other = model.predict(X, method="srmp")
    for answers in (found, other):
        for graph, own, gap, is_exact in zip(
            X, answers, answers.gaps, answers.is_exact, strict=True
        ):
            rows, scores = best_by_list(model, graph)
            score = scores[np.flatnonzero((LABELS[rows] == own).all(axis=1))[0]]
            assert score + gap >= scores.max() - 1e-6
            assert score == pytest.approx(scores.max()) or not is_exact
    with pytest.warns(UserWarning, match=f"of {open_.sum()} of 8 graphs") as told:
        model.score(X, y)
    assert len(told) == 1
    model.set_params(max_branches=10_000)  # more than there are labellings of a graph
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = model.predict(X)
        easy = bushes[1].predict(bushes[0])
    assert whole.is_exact.all() and not whole.gaps.any() and whole.methods == ["branch"] * 8
    assert easy.is_exact.all() and not easy.gaps.any() and set(easy.methods) == {"forest"}


@pytest.mark.parametrize(
    ("call", "options", "message"),
    [
        ("predict", {"rounding": "odd"}, "rounding='odd' is not known"),
        ("predict", {"method": "odd"}, "method='odd' is not known. There are: 'auto'"),
        ("predict", {"method": "auto", "rounding": "max"}, "two ways to solve a graph"),
        ("predict", {"polish_by": None}, "polish_by=None is an option of rounding="),
        ("predict", {"n_draws": 5}, "n_draws=5 is an option of rounding="),
        ("predict", {"rounding": "max", "relaxation": "odd"}, "relaxation='odd' is not known"),
        ("predict", {"rounding": "max", "polish_by": "odd"}, "polish_by='odd' is not known"),
        ("predict", {"rounding": "max", "n_draws": 0}, "n_draws must be an integer > 0"),
        ("predict", {"rounding": "max", "seed": -1}, "seed must be an integer >= 0"),
        ("predict_marginals", {"method": "odd"}, "method='odd' is not known. There are: 'exact'"),
        ("predict_marginals", {"temperature": 0.0}, "temperature"),
        ("decision_function", {"method": "loopy"}, "method='loopy' is not known"),
        ("predict_topk", {"k": 0}, "k must be"),
        ("predict_topk", {"time_limit": -1.0}, "time_limit must be a number >= 0"),
        ("predict", {"method": "auto", "time_limit": np.inf}, "time_limit must be a number >= 0"),
        ("predict", {"time_limit": 3.0}, "time_limit=3.0 is an option of method="),
        ("predict", {"time_limit": None}, "time_limit=None is an option of method="),
    ],
)
def test_wrong_choices_are_refused(rings, call, options, message):
    X, model = rings
    with pytest.raises(ValueError, match=message):
        getattr(model, call)(X, **options)


def test_rules_are_for_prediction_alone(rings):
    X, _ = rings
    with pytest.raises(TypeError, match="constraints= is not known here"):
        GraphSVM().fit(X, [LABELS[[0, 1, 2, 0, 1]]] * len(X), constraints=ExactlyOne((0, 1)))
    with pytest.raises(NotFittedError):
        GraphSVM().predict(X, rounding="max")


def test_the_k_best_that_are_not_proved_are_said(rings, monkeypatch):
    X, model = rings

    def some(graph, k, time_limit):
        found = k_best_graph(graph, k, time_limit=time_limit)
        return KBest([answer._replace(is_exact=False) for answer in found], found.bound)

    monkeypatch.setattr("maxmargin.estimators.graph.prediction.k_best_graph", some)
    with pytest.warns(UserWarning, match=r"k best labellings of 2 of 2 graphs \(X\[0\], X\[1\]\)"):
        found = model.predict_topk(X[:2], 2)
    assert not found.outputs.is_exact.any()


def test_marginals_of_large_graphs_are_approximate_and_say_so(rings, monkeypatch):
    X, model = rings
    exact = model.predict_marginals(X[:3])
    assert exact.is_exact.all() and set(exact.methods) == {"junction"}
    for method in ("loopy", "smoothed"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = model.predict_marginals(X[:3], method=method)
        assert found.methods == [method] * 3 and not found.is_exact.any()
        room = 0.2 if method == "loopy" else 0.6
        assert max(np.abs(a - b).max() for a, b in zip(found, exact, strict=True)) < room
    bounds = model.decision_function(X[:3], method="bound")
    top = model.decision_function(X[:3])
    assert bounds.methods == ["bound"] * 3 and top.is_exact.all()
    assert all((a >= b - 1e-9).all() for a, b in zip(bounds, top, strict=True))
    with monkeypatch.context() as patch:
        patch.setattr(marginals, "fitting_tree", lambda graph, most, way_out=None: (graph, None))
        with pytest.warns(
            UserWarning, match=r"marginals of 3 of 3 graphs \(X\[0\], X\[1\], X\[2\]\) are"
        ):
            found = model.predict_marginals(X[:3])
        assert found.methods == ["loopy"] * 3
        with pytest.warns(UserWarning, match=r"max-marginals of 3 of 3 graphs .* from bound"):
            found = model.decision_function(X[:3])
        assert found.methods == ["bound"] * 3
        patch.setattr(marginals, "N_LOOPY", 1)
        with pytest.warns(UserWarning, match="of 3 of 3 graphs .* have not converged"):
            model.predict_marginals(X[:3], method="loopy")


@pytest.fixture(scope="module")
def hard():
    """A graph of 40 nodes, all joined, whose best labelling nobody proves in a few seconds."""
    rng = np.random.default_rng(0)
    edges = [(a, b) for a in range(40) for b in range(a)]
    X = [
        (rng.normal(size=(40, 2)), edges, scale * rng.normal(size=(len(edges), 1)))
        for scale in (1.0, 30.0)
    ]
    y = [rng.integers(4, size=40) for _ in X]
    model = GraphSVM(max_iter=2, max_branches=0, tol=1.0, random_state=0).fit(X, y)
    return X[1:], y[1:], model


def test_graphs_that_are_too_large_for_exact_answers_name_what_fits_the_call(hard):
    X, _, model = hard
    for call, fitting, other in (
        ("predict_marginals", "'loopy' and 'smoothed'", "bound"),
        ("decision_function", "'bound' fits a graph of any size", "loopy"),
        ("predict", "'auto', 'srmp', and 'branch'", "loopy"),
    ):
        with pytest.raises(ValueError, match=r"X\[0\]: the junction tree needs") as refusal:
            getattr(model, call)(X, method="junction" if call == "predict" else "exact")
        assert fitting in str(refusal.value) and other not in str(refusal.value)


@pytest.mark.parametrize("options", [{"constraints": ExactlyOne((0, 1))}, {"method": "auto"}])
def test_a_time_limit_ends_a_search_and_says_what_is_not_proved(hard, options, monkeypatch):
    X, y, model = hard
    limits = []

    def noted(graph, method, time_limit):
        limits.append(time_limit)
        return solve_graph(graph, method, time_limit=time_limit)

    monkeypatch.setattr("maxmargin.estimators.graph.choices.solve_graph", noted)
    said = r"the labellings of 1 of 1 graphs \(X\[0\]\) .* not proved"
    with pytest.warns(UserWarning, match=said):
        found = model.predict(X, time_limit=1.0, **options)
    assert limits == [1.0]
    assert not found.is_exact.any() and len(found[0]) == 40
    with pytest.warns(UserWarning, match="the labellings of 1 of 1 graphs"):
        assert 0.0 <= model.score(X, y, time_limit=0.2, **options) <= 1.0


def test_a_time_limit_ends_the_list_of_the_k_best(hard):
    X, _, model = hard
    with pytest.warns(UserWarning, match=r"the k best labellings of 1 of 1 graphs \(X\[0\]\)"):
        found = model.predict_topk(X, 50, time_limit=0.5)
    assert 1 <= len(found.outputs[0]) < 50 and not found.outputs.is_exact.any()


def test_a_short_list_of_all_that_is_allowed_is_proved(bushes):
    X, model = bushes
    fixed = [["a", "b", "c", "a", None]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.predict_topk(X[:1], 9, fixed=fixed, time_limit=0.0)
    assert len(found.outputs[0]) == 3 and found.outputs.is_exact.all()


def test_scores_are_those_of_predictions_made_in_the_same_way(rings, bushes):
    for X, model in (rings, bushes):
        truth = model.predict(X)
        assert model.score(X, truth) == 1.0
        rule = ExactlyOne(range(5), on="c")
        for options in (
            {"constraints": rule},
            {"method": "auto"},
            {"rounding": "max", "relaxation": "lp"},
            {"method": "auto", "fixed": [["a", None, None, None, None]] * len(X)},
        ):
            labels = model.predict(X, **options)
            right = [np.mean(a == b) for a, b in zip(labels, truth, strict=True)]
            weight = np.arange(len(X)) + 1.0
            assert model.score(X, truth, **options) == pytest.approx(np.mean(right))
            found = model.score(X, truth, sample_weight=weight, **options)
            assert found == pytest.approx(np.average(right, weights=weight))
    with pytest.raises(ValueError, match="n_draws=5 is an option of rounding="):
        model.score(X, truth, n_draws=5)
    with pytest.raises(NotFittedError):
        GraphSVM().score(X, truth, method="auto")


def test_graphs_without_edges_and_of_one_node(rings):
    _, model = rings
    nodes = np.random.default_rng(0).normal(size=(4, 3))
    X = [Graph(nodes, edge_features=np.zeros((0, 2))), Graph(nodes[:1], [], np.zeros((0, 2)))]
    rules = [ExactlyOne(range(4), on="b"), ExactlyOne((0,), on="c")]
    found = model.predict(X, constraints=[[rule] for rule in rules])
    assert (found[0] == "b").sum() == 1 and found[1].tolist() == ["c"]
    np.testing.assert_allclose(
        model.predict_marginals(X, constraints=[[rule] for rule in rules])[1], [[0.0, 0.0, 1.0]]
    )
    for options in (
        {"rounding": "max"},
        {"method": "auto"},
        {"rounding": "max", "relaxation": "lp"},
    ):
        for a, b in zip(model.predict(X, **options), model.predict(X), strict=True):
            np.testing.assert_array_equal(a, b)
    for method in ("loopy", "smoothed"):
        assert model.predict_marginals(X, method=method)[0].shape == (4, 3)
    with pytest.raises(ValueError, match=r"X\[1\]: factors\[0\] names the node 1; expected nodes"):
        model.predict(X, constraints=ExactlyOne((0, 1), on="a"))


def test_fixed_and_allowed_hold_in_roundings_and_marginals(rings):
    X, model = rings
    fixed = [["c", None, None, "b", None]] * 2
    allowed = [[None, {"a"}, None, None, None]] * 2
    for options in ({"rounding": "max"}, {"rounding": "conditional", "relaxation": "lp"}):
        for labels in model.predict(X[:2], fixed=fixed, allowed=allowed, **options):
            assert labels[[0, 1, 3]].tolist() == ["c", "a", "b"]
    for method in ("exact", "loopy", "smoothed"):
        shares = model.predict_marginals(X[:2], method=method, fixed=fixed)
        np.testing.assert_allclose(shares[0][0], [0.0, 0.0, 1.0], atol=1e-9)
    for method in ("exact", "bound"):
        top = model.decision_function(X[:2], method=method, fixed=fixed)
        assert np.isneginf(top[0][0, :2]).all()


def test_threads_change_no_answer(rings):
    X, model = rings
    rule = AtMostOne(range(5), on="c")
    one = model.predict(X, constraints=rule)
    model.set_params(n_jobs=2)
    try:
        two = model.predict(X, constraints=rule)
    finally:
        model.set_params(n_jobs=None)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
