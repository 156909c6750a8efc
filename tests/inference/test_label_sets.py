"""Label sets: programmes of HiGHS, constraints and the public face, against brute force."""

from __future__ import annotations

import dataclasses

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from maxmargin.inference import Exactness, LabelConstraints
from maxmargin.inference.labels import best_first
from maxmargin.inference.labels import public as label_sets
from maxmargin.inference.labels.checked import check_problem
from maxmargin.inference.labels.graph import label_graph
from maxmargin.inference.programs.labels import LabelProgram, ProgramAnswer
from maxmargin.testing.enumerate import labellings

KINDS = ["none", "tree", "any"]


class Case:
    """A random problem with all its outputs; small integers, so that sums are exact."""

    def __init__(self, seed, kind, n_labels=None, absent=0.3):
        rng = self.rng = np.random.default_rng(seed)
        m = self.m = int(rng.integers(1, 8)) if n_labels is None else n_labels
        if kind == "tree":
            self.edges = [(i, int(rng.integers(i))) for i in range(1, m) if rng.random() < 0.8]
        else:
            share = {"none": 0.0, "any": 0.7, "sparse": 0.2}[kind]
            self.edges = [(a, b) for a in range(m) for b in range(a) if rng.random() < share]
        self.unary = rng.integers(-3, 4, m).astype(float)
        self.pair = rng.integers(-3, 4, len(self.edges)).astype(float)
        if rng.random() < absent:
            self.unary[rng.integers(m)] = -np.inf
        self.outputs = labellings(m, 2)
        self.scores = np.where(self.outputs == 1, self.unary, 0.0).sum(axis=1)
        for (a, b), weight in zip(self.edges, self.pair, strict=True):
            self.scores += weight * self.outputs[:, a] * self.outputs[:, b]

    @property
    def weights(self):
        return self.unary, self.edges, self.pair

    def score(self, y):
        assert set(y) <= {0, 1}
        return self.scores[(np.asarray(y, dtype=np.int64) << np.arange(self.m)).sum()]

    def constraints(self):
        rng, m = self.rng, self.m
        given = {}
        if rng.random() < 0.5:
            given["at_least"] = int(rng.integers(m + 1))
        if rng.random() < 0.5:
            given["at_most"] = int(rng.integers(given.get("at_least", 0), m + 1))
        if m > 1 and rng.random() < 0.4:
            given["exclusive"] = [rng.permutation(m)[: rng.integers(2, m + 1)].tolist()]
        if m > 1 and rng.random() < 0.4:
            given["implies"] = [rng.permutation(m)[:2].tolist() for _ in range(2)]
        return given

    def admitted(self, at_least=0, at_most=None, exclusive=(), implies=()):
        """Scores, -inf where a constraint does not hold."""
        good = []
        for y in self.outputs:
            good.append(
                at_least <= y.sum() <= (self.m if at_most is None else at_most)
                and all(y[group].sum() <= 1 for group in exclusive)
                and all(y[b] for a, b in implies if y[a])
            )
        return np.where(good, self.scores, -np.inf)


def falling(scores, k=None):
    return np.sort(scores[scores > -np.inf])[::-1][:k]


# --- The programme


def local_polytope(case):
    """The relaxation, written anew and solved by scipy."""
    m, n_edges = case.m, len(case.edges)
    rows, limits = [], []
    for e, (a, b) in enumerate(case.edges):
        for columns, signs, limit in (
            ([m + e, a], [1, -1], 0),
            ([m + e, b], [1, -1], 0),
            ([a, b, m + e], [1, 1, -1], 1),
        ):
            row = np.zeros(m + n_edges)
            row[columns] = signs
            rows.append(row)
            limits.append(limit)
    upper = np.append(case.unary > -np.inf, np.ones(n_edges))
    objective = -np.append(np.where(case.unary > -np.inf, case.unary, 0.0), case.pair)
    bounds = [(0, high) for high in upper]
    return -linprog(objective, np.array(rows) if rows else None, limits or None, bounds=bounds).fun


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_programmes_find_the_best_and_the_relaxation(scale):
    for seed in range(25):
        case = Case(seed, "any")
        graph = label_graph(case.m, case.edges)
        whole, relaxed = LabelProgram(graph, True), LabelProgram(graph, False)
        for _ in range(2):  # the second time warm
            found = whole.solve(scale * case.unary, scale * case.pair)
            assert found.status == "optimal"
            assert found.value == pytest.approx(scale * case.scores.max(), rel=1e-12)
            assert found.bound == found.value
            assert case.score(found.node.astype(int)) == pytest.approx(found.value / scale)
            both = [found.node[a] * found.node[b] for a, b in case.edges]
            np.testing.assert_array_equal(found.edge, both)
            found = relaxed.solve(scale * case.unary, scale * case.pair)
            assert found.value / scale == pytest.approx(local_polytope(case), abs=1e-8)
            assert found.value / scale >= case.scores.max() - 1e-9


def test_a_warm_programme_forgets_the_call_before():
    case = Case(3, "any", n_labels=6)
    graph = label_graph(case.m, case.edges)
    for integral in (True, False):
        program = LabelProgram(graph, integral)
        for seed in range(10):
            rng = np.random.default_rng(seed)
            unary, pair = rng.normal(size=case.m), rng.normal(size=len(case.edges))
            unary[rng.integers(case.m)] = rng.choice([-np.inf, 1.0])
            rows = [(rng.normal(size=case.m), None, -0.5, np.inf)] * rng.integers(2)
            fixed = rng.integers(-1, 2, case.m) if rng.random() < 0.3 else None
            found = program.solve(unary, pair, rows, fixed=fixed)
            anew = LabelProgram(graph, integral).solve(unary, pair, rows, fixed=fixed)
            assert found.status == anew.status
            assert found.value == pytest.approx(anew.value, abs=1e-9)


def test_rows_on_labels_and_edges():
    for seed in range(40):
        case = Case(seed, "any")
        rng, graph = case.rng, label_graph(case.m, case.edges)
        node, edge = rng.integers(-2, 3, case.m), rng.integers(-2, 3, len(case.edges))
        sums = case.outputs @ node
        for (a, b), coef in zip(case.edges, edge, strict=True):
            sums = sums + coef * case.outputs[:, a] * case.outputs[:, b]
        low, high = sorted(rng.integers(-4, 5, 2).tolist())
        scores = np.where((low <= sums) & (sums <= high), case.scores, -np.inf)
        found = LabelProgram(graph, True).solve(case.unary, case.pair, [(node, edge, low, high)])
        if scores.max() == -np.inf:
            assert found.status == "infeasible"
            assert found.value == found.bound == -np.inf
            assert np.isnan(found.node).all()
        else:
            assert found.status == "optimal"
            assert found.value == pytest.approx(scores.max(), abs=1e-9)


def test_bans_leave_the_next_best_until_nothing_is_left():
    for seed in range(5):
        case = Case(seed, "any", n_labels=4)
        program = LabelProgram(label_graph(4, case.edges), True)
        banned, values = [], []
        while (found := program.solve(case.unary, case.pair, banned=banned)).status == "optimal":
            banned.append(found.node)
            values.append(found.value)
        assert found.status == "infeasible"
        np.testing.assert_allclose(values, falling(case.scores), atol=1e-9)


def hard(m=40, seed=0):
    """Dense and strong couplings, which no programme solves at once."""
    rng = np.random.default_rng(seed)
    edges = [(a, b) for a in range(m) for b in range(a)]
    return rng.normal(size=m), edges, rng.normal(size=len(edges))


def test_a_time_limit_leaves_the_best_found_with_a_bound():
    unary, edges, pair = hard()
    graph = label_graph(len(unary), edges)
    found = LabelProgram(graph, True).solve(unary, pair, time_limit=0.05)
    assert found.status == "time_limit"
    assert 0.0 <= found.value < found.bound <= np.maximum(np.append(unary, pair), 0.0).sum()
    start = label_sets.maximize(unary, edges, pair, time_limit=0.01).output
    better = LabelProgram(graph, True).solve(unary, pair, time_limit=0.001, start=start)
    assert better.value >= label_sets.score(unary, edges, pair, output=start) - 1e-9
    relaxed = LabelProgram(graph, False).solve(unary, pair, time_limit=1e-6)
    assert relaxed.status == "time_limit"
    assert relaxed.value == -np.inf
    assert relaxed.bound >= LabelProgram(graph, False).solve(unary, pair).value


def test_threads_of_others_are_taken_as_they_are():
    # One pool per process, of the size that was asked for first.
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    for name, value in (("output_flag", False), ("threads", 2)):
        other.setOptionValue(name, value)
    other.addVars(1, np.zeros(1), np.ones(1))
    other.run()
    try:
        program = LabelProgram(label_graph(2, [(0, 1)]), True)
        assert program.solve(np.ones(2), np.array([-1.5])).value == 1.0
    finally:
        highspy.Highs.resetGlobalScheduler(True)


def test_a_programme_needs_a_label():
    with pytest.raises(ValueError, match="graph has no labels"):
        LabelProgram(label_graph(0, []), True)


# --- The public face


@pytest.mark.parametrize("kind", KINDS)
def test_maximize_is_the_best_of_all(kind):
    for seed in range(300):
        case = Case(seed, kind)
        answer = label_sets.maximize(*case.weights)
        assert answer.exactness is Exactness.EXACT
        assert answer.score == answer.bound == case.scores.max() == case.score(answer.output)
        assert answer.output.dtype == np.int32


@pytest.mark.parametrize("kind", KINDS)
def test_maximize_under_constraints_and_bans(kind):
    n_refused = 0
    for seed in range(300):
        case = Case(seed, kind)
        given = case.constraints()
        scores = case.admitted(**given)
        n_banned = case.rng.integers(len(scores) + 1) if case.rng.random() < 0.5 else 0
        banned = case.rng.permutation(len(scores))[:n_banned]
        if case.rng.random() < 0.5:  # the best ones
            banned = np.argsort(-scores, kind="stable")[: min(n_banned, 4)]
        scores[banned] = -np.inf
        arguments = (*case.weights, case.outputs[banned])
        if scores.max() == -np.inf:
            n_refused += 1
            with pytest.raises(ValueError, match=r"leave at most|are banned"):
                label_sets.maximize(*arguments, **given)
        else:
            answer = label_sets.maximize(*arguments, **given)
            assert answer.score == scores.max() == case.score(answer.output)
            there = (case.outputs == answer.output).all(axis=1)
            assert scores[there] == answer.score
    assert n_refused > 5


@pytest.mark.parametrize("kind", KINDS)
def test_k_best_are_the_best_of_all(kind):
    for seed in range(150):
        case = Case(seed, kind)
        k = int(case.rng.integers(1, 2**case.m + 3))
        given = case.constraints() if case.rng.random() < 0.5 else {}
        expected = falling(case.admitted(**given), k)
        if len(expected) == 0:
            with pytest.raises(ValueError, match="leave at most"):
                label_sets.k_best(*case.weights, k=k, **given)
            continue
        answers = label_sets.k_best(*case.weights, k=k, **given)
        assert [answer.score for answer in answers] == expected.tolist()
        assert [case.score(answer.output) for answer in answers] == expected.tolist()
        assert len({tuple(answer.output) for answer in answers}) == len(answers)


@pytest.mark.parametrize("kind", KINDS)
def test_profile_is_the_best_of_each_level(kind):
    for seed in range(150):
        case = Case(seed, kind)
        reference = case.rng.integers(-1, 2, case.m)
        if case.rng.random() < 0.7:
            reference[case.unary == -np.inf] = 0
        check_profile(case, reference)


def check_profile(case, reference):
    found = label_sets.profile(*case.weights, reference=reference)
    known = reference >= 0
    wrong = (case.outputs != reference)[:, known].sum(axis=1)
    is_left = ~(case.outputs[:, ~known] == 1).any(axis=1)
    expected = np.full(case.m + 1, -np.inf)
    np.maximum.at(expected, wrong[is_left], case.scores[is_left])
    np.testing.assert_array_equal(found.score, expected)
    for level, y in enumerate(found.outputs):
        if expected[level] == -np.inf:
            assert (y == -1).all()
        else:
            assert case.score(y) == expected[level]
            assert (y != reference)[known].sum() == level
            assert not y[~known].any()


def test_marginals_agree_with_the_list_of_all():
    for seed in range(50):
        case = Case(seed, "tree")
        found = label_sets.marginals(*case.weights, temperature=2.0)
        weights = np.exp(case.scores / 2.0)
        p = weights / weights.sum()
        np.testing.assert_allclose(found.node[:, 1], p @ case.outputs, atol=1e-12)
        both = [p @ (case.outputs[:, a] * case.outputs[:, b]) for a, b in case.edges]
        np.testing.assert_allclose(found.edge[:, 1, 1], both, atol=1e-12)
        assert found.log_partition == pytest.approx(np.log(weights.sum()))


def test_programmes_behind_the_face_agree_with_enumeration(monkeypatch):
    for module in (label_sets, best_first):
        monkeypatch.setattr(module, "MAX_LISTED", 0)
    for seed in range(25):
        case = Case(seed, "any", n_labels=5)
        given = case.constraints() if seed % 2 else {}
        scores = case.admitted(**given)
        banned = np.argsort(-scores, kind="stable")[: case.rng.integers(3)]
        arguments = (*case.weights, case.outputs[banned])
        k_scores = falling(scores, 3)
        scores[banned] = -np.inf
        if scores.max() == -np.inf:
            with pytest.raises(ValueError, match=r"leave at most|are banned"):
                label_sets.maximize(*arguments, **given)
            continue
        answer = label_sets.maximize(*arguments, **given)
        assert answer.score == scores.max() == case.score(answer.output)
        answers = label_sets.k_best(*case.weights, k=3, **given)
        assert [answer.score for answer in answers] == k_scores.tolist()
    check_profile(case, np.array([1, 0, -1, 0, 1]))


@pytest.mark.parametrize("seed", range(3))
def test_more_labels_than_are_listed(seed):
    case = Case(seed, "sparse", n_labels=17, absent=0.0)
    answer = label_sets.maximize(*case.weights)
    assert answer.score == case.scores.max() == case.score(answer.output)
    assert answer.exactness is Exactness.EXACT
    n_on = case.outputs.sum(axis=1)
    fewer = np.where((n_on <= 3) & (case.outputs[:, :4].sum(axis=1) <= 1), case.scores, -np.inf)
    answer = label_sets.maximize(*case.weights, at_most=3, exclusive=[range(4)])
    assert answer.score == fewer.max() == case.score(answer.output)
    answers = label_sets.k_best(*case.weights, k=4)
    assert [answer.score for answer in answers] == falling(case.scores, 4).tolist()


def test_many_independent_labels_are_counted_off():
    unary = np.random.default_rng(0).normal(size=200)
    ranked = np.sort(unary)[::-1]
    assert label_sets.maximize(unary, at_most=7).score == pytest.approx(ranked[:7].sum())
    assert label_sets.maximize(unary, at_least=150).score == pytest.approx(ranked[:150].sum())
    assert label_sets.maximize([0.0, 0.0, 0.0], at_least=2).output.tolist() == [1, 1, 0]
    answers = label_sets.k_best(unary, k=50)
    assert answers[0].score == pytest.approx(unary[unary > 0].sum())
    assert len({tuple(answer.output) for answer in answers}) == 50


def test_a_reached_time_limit_is_said_with_the_bound():
    unary, edges, pair = hard()
    answer = label_sets.maximize(unary, edges, pair, time_limit=0.05)
    assert answer.exactness is Exactness.RELAXED
    assert 0.0 < answer.score < answer.bound < np.inf
    assert answer.score == label_sets.score(unary, edges, pair, output=answer.output)
    answers = label_sets.k_best(unary, edges, pair, k=3, time_limit=0.05)
    assert len(answers) == 1
    assert answers[0].exactness is Exactness.RELAXED


def test_a_time_limit_holds_the_constraints():
    given = {"at_least": 2, "at_most": 4, "exclusive": [range(20)], "implies": [(39, 0), (38, 1)]}
    answer = label_sets.maximize(*hard(), **given, time_limit=0.01)
    assert LabelConstraints(**given).admits(answer.output)
    assert 0.0 < answer.score <= answer.bound


def test_label_sets_grow_within_the_constraints():
    for seed in range(200):
        case = Case(seed, "any")
        constraints = LabelConstraints(**case.constraints())
        problem = check_problem(*case.weights, constraints)
        y = best_first._grow(problem)
        assert case.score(y) > -np.inf
        assert dataclasses.replace(constraints, at_least=0).admits(y)


def test_no_output_within_the_time_limit_is_said(monkeypatch):
    nothing = ProgramAnswer(np.full(40, np.nan), np.empty(0), -np.inf, 5.0, "time_limit")
    monkeypatch.setattr(LabelProgram, "solve", lambda *_, **__: nothing)
    with pytest.raises(TimeoutError, match=r"was found within 0.5 s; give a larger time_limit"):
        label_sets.maximize(*hard(), at_least=1, time_limit=0.5)


EXTREMES = [0.0, -np.inf, 1e150, -1e150, 1e-300]
any_weight = st.floats(-1e6, 1e6, allow_nan=False) | st.sampled_from(EXTREMES)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_corners(data):
    unary = np.array(data.draw(st.lists(any_weight, min_size=1, max_size=5)))
    m = len(unary)
    every = [(a, b) for a in range(m) for b in range(a)]
    edges = data.draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    finite = any_weight.filter(lambda value: value > -np.inf)
    pair = np.array(data.draw(st.lists(finite, min_size=len(edges), max_size=len(edges))))
    outputs = labellings(m, 2)
    scores = np.array([label_sets.score(unary, edges, pair, output=y) for y in outputs])
    answer = label_sets.maximize(unary, edges, pair)
    largest = max(np.abs(np.append(unary[unary > -np.inf], pair)).max(initial=0.0), 1e-300)
    assert abs(answer.score - scores.max()) <= 1e-14 * largest
    k = data.draw(st.integers(1, 2**m))
    answers = label_sets.k_best(unary, edges, pair, k=k)
    expected = falling(scores, k)
    assert len(answers) == len(expected)
    found = np.array([answer.score for answer in answers])
    assert np.abs(found - expected).max() <= 1e-14 * largest


# --- Refusals


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (([],), {}, "expected at least one label"),
        (([[1.0]],), {}, "unary must have 1 dimension"),
        (([np.nan],), {}, r"unary\[0\] is NaN"),
        (([1.0, 2.0], [(0, 2)], [1.0]), {}, r"edges\[0\] is \(0, 2\)"),
        (([1.0, 2.0], [(0, 1)], []), {}, r"pair has shape \(0,\); expected \(1,\)"),
        (([1.0, 2.0], [(0, 1)], [-np.inf]), {}, r"pair\[0\] is -inf.*exclusive"),
        (([1e308, 1e308],), {}, "overflow"),
        (([1.0], (), (), [[2]]), {}, r"banned\[0\] has the label 2"),
        (([1.0], (), (), [[0], [1]]), {}, "2 are banned"),
        (([1.0],), {"at_least": 2}, "at_least is 2, but there are 1"),
        (([1.0],), {"at_least": -1}, "at_least must be at least 0"),
        (([1.0],), {"at_least": 1, "at_most": 0}, "at_most is 0, less than at_least"),
        (([1.0, -np.inf],), {"at_least": 2}, "labels scored -inf leave at most 1"),
        (
            ([1.0] * 3,),
            {"at_least": 2, "exclusive": [(0, 1, 2)]},
            "at_least is 2, but exclusive groups leave at most 1",
        ),
        (
            ([1.0, -np.inf, 1.0],),
            {"at_least": 2, "implies": [(0, 1)]},
            "at_least is 2, but implications and labels scored -inf leave at most 1",
        ),
        (([1.0] * 3,), {"exclusive": [(0, 3)]}, r"exclusive\[0\] names label 3; expected 0 to 2"),
        (([1.0] * 3,), {"exclusive": [(0,)]}, r"exclusive\[0\] is \(0,\); expected at least two"),
        (([1.0] * 3,), {"exclusive": [(0, 0)]}, "expected different labels"),
        (([1.0] * 3,), {"implies": [(0, 1, 2)]}, "expected a pair of labels"),
        (([1.0] * 3,), {"implies": [(0, -1)]}, "expected labels from 0 on"),
        (([1.0],), {"time_limit": 0}, "time_limit must be positive"),
    ],
)
def test_what_maximize_refuses(arguments, given, message):
    with pytest.raises(ValueError, match=message):
        label_sets.maximize(*arguments, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"at_most": 1.5}, "at_most must be a whole number"),
        ({"implies": [("a", "b")]}, r"implies\[0\] must hold whole numbers"),
        ({"time_limit": "soon"}, "time_limit must be a number"),
    ],
)
def test_types_that_maximize_refuses(given, message):
    with pytest.raises(TypeError, match=message):
        label_sets.maximize([1.0, 1.0], **given)


def test_marginals_of_a_cycle_are_refused():
    with pytest.raises(ValueError, match=r"marginals need a forest: edges\[2\] is \(2, 0\)"):
        label_sets.marginals([1.0] * 3, [(0, 1), (1, 2), (2, 0)], [1.0] * 3)


def test_constraints_are_values():
    constraints = LabelConstraints(exclusive=[[0, 1]], implies=[[np.int64(2), 0]])
    assert constraints == LabelConstraints(exclusive=((0, 1),), implies=((2, 0),))
    assert hash(constraints) == hash(LabelConstraints(exclusive=((0, 1),), implies=((2, 0),)))
    assert LabelConstraints().is_empty
    assert not constraints.is_empty
