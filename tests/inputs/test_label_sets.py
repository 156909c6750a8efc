"""Label sets in and out: every form of Y, edges by name, thresholds by sorting, and bad input."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import MultilabelSVM
from maxmargin.core.contract import switches
from maxmargin.costs import ClassWeighted, ExampleF1, Hamming, ZeroOne
from maxmargin.estimators.multilabel.edges import choose_inference, label_edges, label_groups
from maxmargin.estimators.multilabel.outputs import PairwiseScores
from maxmargin.estimators.multilabel.thresholds import best_threshold, best_thresholds
from maxmargin.inference import LabelConstraints
from maxmargin.inputs.label_sets import SetForm, label_matrix
from maxmargin.inputs.labels import Labels
from maxmargin.metrics import macro_f1, micro_f1

SETS = [["b"], ["a", "c"], []]
CELLS = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]])


class Frame:
    """As much of a data frame as is looked at."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


# -- forms of Y ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset, np.array])
def test_collections_of_any_kind_are_label_sets(kind):
    found = label_matrix([kind(each) for each in SETS], 3)
    np.testing.assert_array_equal(found.cells, CELLS)
    assert found.labels.classes.tolist() == ["a", "b", "c"] and found.form == SetForm("sets")


def test_an_array_of_objects_holds_label_sets():
    found = label_matrix(np.array([*map(set, SETS)], dtype=object), 3)
    np.testing.assert_array_equal(found.cells, CELLS)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint8", "float64", "float32"])
@pytest.mark.parametrize("make", [np.array, sp.csr_matrix, sp.csc_matrix, sp.csr_array])
def test_matrices_come_back_as_they_were(make, dtype):
    given = make(CELLS.astype(dtype))
    found = label_matrix(given, 3)
    np.testing.assert_array_equal(found.cells, CELLS)
    assert found.labels.classes.tolist() == [0, 1, 2]
    again = found.form.write(found.cells, found.labels.classes)
    assert again.dtype == dtype and again.shape == (3, 3)
    assert sp.issparse(again) == sp.issparse(given)
    dense = again.toarray() if sp.issparse(again) else again
    np.testing.assert_array_equal(dense, CELLS)


def test_sets_come_back_as_tuples():
    found = label_matrix(SETS, 3)
    assert found.form.write(found.cells, found.labels.classes) == [("b",), ("a", "c"), ()]


def test_unknown_labels_are_minus_one():
    given = np.array([[1, -1], [0, 1]])
    for form in (given, sp.csr_matrix(given), given.astype(float)):
        np.testing.assert_array_equal(label_matrix(form, 2).cells, given)


def test_columns_are_named_by_classes_or_by_a_frame():
    assert label_matrix(CELLS, 3, classes="xyz").labels.classes.tolist() == ["x", "y", "z"]
    frame = Frame(CELLS, ["p", "q", "r"])
    assert label_matrix(frame, 3).labels.classes.tolist() == ["p", "q", "r"]
    assert label_matrix(frame, 3, classes="xyz").labels.classes.tolist() == ["x", "y", "z"]
    assert label_matrix(frame, 3).form.kind == "dense"


def test_classes_may_name_more_than_occur():
    found = label_matrix(SETS, 3, classes=["c", "x", "a", "b"])
    assert found.labels.classes.tolist() == ["c", "x", "a", "b"]
    assert found.never(1) == ["x"] and found.cells[1].tolist() == [1, 0, 1, 0]
    assert label_matrix([[], []], 2, classes=["a"]).cells.tolist() == [[0], [0]]


def test_labels_nowhere_on_and_nowhere_off():
    found = label_matrix(np.array([[1, 0, -1], [1, 0, -1]]), 2, classes="abc")
    assert found.never(1) == ["b", "c"] and found.never(0) == ["a", "c"]


@pytest.mark.parametrize(
    ("Y", "options", "error", "message"),
    [
        (None, {}, ValueError, "requires y to be passed"),
        ("ab", {}, TypeError, "y must be an indicator matrix or a list of label sets, got str"),
        (3, {}, TypeError, "y must be an indicator matrix or a list of label sets, got int"),
        (["a", "b"], {}, TypeError, r"y\[0\] must be a collection of labels, got 'a'"),
        ([["a"], 7], {}, TypeError, r"y\[1\] must be a collection of labels, got 7"),
        ([["a"], [["b"]]], {}, TypeError, r"y\[1\] has a list as a label"),
        ([["a"], [None]], {}, ValueError, r"A label of y\[1\] is None"),
        ([["a"], ["b", "b"]], {}, ValueError, r"y\[1\] has the label 'b' twice"),
        (
            [[0, 1], [1, 0]],
            {},
            ValueError,
            r"ambiguous: \[0, 1\] may be the set of the labels",
        ),
        (
            [[0], [1]],
            {},
            ValueError,
            r"the label 0 .* np.array\(y\), .* \[set\(labels\) for",
        ),
        ([(0, 1), (1, 0)], {}, ValueError, "y is ambiguous"),
        ([[-1, 0], [1, 0]], {}, ValueError, "y is ambiguous"),
        ([[0.0, 1.0], [1.0, 0.0]], {}, ValueError, "y is ambiguous"),
        (list(np.eye(2, dtype=int)), {}, ValueError, r"y is ambiguous: \[1, 0\]"),
        (np.array([[0, 1], [1, 0]], dtype=object), {}, ValueError, "y is ambiguous"),
        ([[0, 1], [1, 0]], {"classes": [1, 0]}, ValueError, "y is ambiguous"),
        (
            [[0, 1, 1], [0, 0, 1]],
            {"classes": "ab"},
            ValueError,
            "3 columns but there are 2",
        ),
        ([[], []], {}, ValueError, "y has no label in any of its sets"),
        ([["a"]], {}, ValueError, "X has 2 samples but y has 1 label sets"),
        (
            [["a"], ["x"]],
            {"classes": ["a", "b"]},
            ValueError,
            r"y\[1\] has the label 'x', which is none of the classes: 'a', 'b'",
        ),
        ([["a"], ["b"]], {"labels": Labels("a")}, ValueError, r"y\[1\] has the label 'b'"),
        (np.array([0, 1]), {}, ValueError, r"got an array of shape \(2,\)"),
        (np.eye(3), {}, ValueError, "X has 2 samples but y has 3 rows"),
        (np.eye(2, 0), {}, ValueError, "y has no columns"),
        (np.eye(2), {"classes": "abc"}, ValueError, "y has 2 columns but there are 3 classes"),
        (np.eye(2), {"labels": Labels("abc")}, ValueError, "2 columns but there are 3 classes"),
        (np.eye(2), {"classes": "aa"}, ValueError, "classes names 'a' twice"),
        (np.array([["a", "b"]] * 2), {}, TypeError, "got dtype <U1"),
        (np.array([[0, 1], [2, 0]]), {}, ValueError, r"y\[1, 0\] is 2; expected 1 \(on\), 0"),
        (np.array([[0, 1], [np.nan, 0]]), {}, ValueError, r"y\[1, 0\] is nan"),
        (sp.csr_matrix([[0, 3], [0, 0]]), {}, ValueError, r"y\[0, 1\] is 3"),
    ],
)
def test_bad_label_sets_are_refused(Y, options, error, message):
    with pytest.raises(error, match=message):
        label_matrix(Y, 2, **options)


@pytest.mark.parametrize(
    ("Y", "options"),
    [
        ([[0, 1, 1], [0, 0, 1]], {}),  # no set has a label twice
        ([(0, 1, 1), (0, 0, 1)], {}),
        ([[1, 1], [0, 1]], {}),
        ([[True, False], [False, True]], {}),
        ([[0, 1], [1, 0]], {"classes": ["a", "b"]}),
        ([[0, 1], [-1, 0]], {"classes": [0, 1]}),
        ([[0, 1], [1, 0]], {"labels": Labels("ab")}),
        ([[0, 1], [1, 0]], {"labels": Labels([0, 1]), "form": SetForm("dense")}),
    ],
)
def test_lists_that_can_only_be_rows_of_a_matrix(Y, options):
    found = label_matrix(Y, 2, **options)
    assert found.form.kind == "dense"
    np.testing.assert_array_equal(found.cells, np.array(Y, dtype=int))


@pytest.mark.parametrize(
    ("Y", "options"),
    [
        ([[0, 1], [1]], {}),
        ([[0, 1], []], {}),
        ([[0, 1], [1, 2]], {}),
        ([["0", "1"], ["1", "0"]], {}),
        ([{0, 1}, {1}], {}),
        ([{0, 1}, {0, 1}], {}),
        ([(0,), (1,)], {}),  # as `predict` returns them
        ([[0, 1], [1, 0]], {"classes": [0, 1, 2]}),
        ([[0], [1]], {"classes": [0, 1]}),
        ([[0, 1], [1, 0]], {"labels": Labels([0, 1]), "form": SetForm("sets")}),
    ],
)
def test_lists_that_can_only_be_label_sets(Y, options):
    found = label_matrix(Y, 2, **options)
    assert found.form.kind == "sets"
    names = found.labels.classes.tolist()
    assert [{names[j] for j in np.flatnonzero(row)} for row in found.cells] == list(map(set, Y))


def test_a_fitted_model_reads_lists_as_it_was_fitted():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    matrix = MultilabelSVM(random_state=0).fit(X, np.array([[0, 1], [1, 0], [1, 1]]))
    sets = MultilabelSVM(random_state=0).fit(X, [{1}, {0}, {0, 1}])
    assert matrix.score(X[:2], [[0, 1], [1, 0]]) == 1.0
    assert sets.score(X[:2], [[1], [0]]) == 1.0 and sets.score(X[2:], [[0, 1]]) == 1.0
    assert isinstance(matrix.predict(X), np.ndarray) and sets.predict(X[:1]) == [(1,)]


# -- edges and inference -------------------------------------------------------------------------


def edges_of(pairwise):
    return label_edges(pairwise, label_matrix(SETS, 3)).tolist()


def test_edges_by_word_and_by_name():
    assert edges_of("none") == [] and edges_of("full") == [[0, 1], [0, 2], [1, 2]]
    assert edges_of([("c", "a"), ["b", "c"]]) == [[2, 0], [1, 2]]
    assert edges_of(np.array([["c", "a"]])) == [[2, 0]] and edges_of([]) == []


@pytest.mark.parametrize(
    ("pairwise", "error", "message"),
    [
        ("chain", ValueError, "pairwise='chain' is not known. There are: 'none', 'full', 'tree'"),
        (3, TypeError, "pairwise must be a list, each item a pair of labels; got 3"),
        (None, TypeError, "pairwise must be a list"),
        (["ab"], TypeError, r"pairwise\[0\] must be a pair of labels, got 'ab'"),
        ([("a", "b", "c")], ValueError, r"pairwise\[0\] must be a pair of labels"),
        ([("a", "b"), ("a", "x")], ValueError, r"pairwise\[1\] names the label 'x', which is none"),
        ([("a", ["b"])], ValueError, r"pairwise\[0\] names the label \['b'\]"),
        ([("a", "a")], ValueError, r"pairwise\[0\] names a label twice"),
        (
            [("a", "b"), ("b", "c"), ("b", "a")],
            ValueError,
            r"pairwise\[2\] joins 'b' and 'a', as pairwise\[0\] does",
        ),
    ],
)
def test_bad_edges_are_refused_by_name(pairwise, error, message):
    with pytest.raises(error, match=message):
        edges_of(pairwise)


FULL17 = label_edges("full", label_matrix(np.eye(17), 17))


@pytest.mark.parametrize(
    ("inference", "edges", "m", "cost", "expected"),
    [
        ("auto", [], 20, Hamming(), "independent"),
        ("auto", [], 20, ExampleF1(), "independent"),
        ("auto", [(0, 1), (1, 2)], 20, Hamming(), "tree"),
        ("auto", [(0, 1), (1, 2)], 3, ExampleF1(), "listed"),
        ("auto", [(0, 1), (1, 2), (0, 2)], 16, ZeroOne(), "listed"),
        ("auto", FULL17, 17, Hamming(), "relaxed"),
        ("pairwise", FULL17, 17, Hamming(), "pairwise"),
        ("listed", [], 3, Hamming(), "listed"),
    ],
)
def test_inference_by_edges_and_cost(inference, edges, m, cost, expected):
    edges = np.array(edges, dtype=int).reshape(-1, 2)
    assert choose_inference(inference, edges, Labels(range(m)), cost) == expected


@pytest.mark.parametrize(
    ("inference", "edges", "m", "cost", "message"),
    [
        ("fast", [], 3, Hamming(), "inference='fast' is not known. There are: 'auto', 'indep"),
        (None, [], 3, Hamming(), "inference=None is not known"),
        ("independent", [(0, 1)], 3, Hamming(), "knows no pairs of labels, but pairwise gives 1"),
        ("tree", FULL17, 17, Hamming(), "the pair of 1 and 2 closes a cycle"),
        ("listed", [], 17, Hamming(), "at most 16 labels; there are 17"),
        ("auto", FULL17, 17, ExampleF1(), "cost='f1' with edges.*The surrogate MicroF1"),
        ("auto", [(0, 1)], 17, ExampleF1(), "cost='f1' with edges.*inference is 'tree'"),
    ],
)
def test_inference_that_does_not_fit_is_refused(inference, edges, m, cost, message):
    edges = np.array(edges, dtype=int).reshape(-1, 2)
    with pytest.raises(ValueError, match=message):
        choose_inference(inference, edges, Labels(range(m)), cost)


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        ("abc", TypeError, "exclusive must be a list, each item a group"),
        (["abc"], TypeError, r"exclusive\[0\] must be a group of two labels or more, got 'abc'"),
        ([["a"]], ValueError, r"exclusive\[0\] must be a group of two labels or more"),
        ([["a", "b"], ["a", "x"]], ValueError, r"exclusive\[1\] names the label 'x'"),
    ],
)
def test_bad_groups_are_refused_by_name(groups, error, message):
    with pytest.raises(error, match=message):
        label_groups("exclusive", groups, Labels("abc"))


# -- costs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cost",
    [Hamming(), Hamming("mean"), ZeroOne(), ClassWeighted({0: 3.0, 2: 0.5}), ExampleF1()],
    ids=str,
)
def test_costs_and_largest_costs_against_all_sets(cost, rng):
    outputs = np.array(list(product((0, 1), repeat=4)))
    for truth in rng.integers(-1, 2, size=(40, 4)):
        if (truth < 0).all():
            continue
        rows = np.repeat(truth[None], len(outputs), axis=0)
        found, largest = cost.costs_of(switches(rows), np.arange(4), outputs.reshape(-1))
        known = truth >= 0
        wrong = (outputs != truth) & known
        if isinstance(cost, ZeroOne):
            expected = wrong.any(axis=1).astype(float)
        elif isinstance(cost, ExampleF1):
            both = (outputs[:, known] & truth[known]).sum(axis=1)
            total = outputs[:, known].sum(axis=1) + truth[known].sum()
            expected = np.where(total > 0, 1 - 2 * both / np.maximum(total, 1), 0.0)
        else:
            weights = (
                np.array([cost.weights.get(j, 1.0) for j in range(4)])
                if isinstance(cost, ClassWeighted)
                else np.ones(4)
            )
            expected = wrong @ weights
            if cost.average == "mean":
                expected = expected / known.sum()
        np.testing.assert_allclose(found, expected)
        assert largest[0] == pytest.approx(expected.max())


# -- scores of single labels, the k best, constraints --------------------------------------------


def random_scores(rng, m, n_edges, n=4, ties=False):
    pairs = np.array([(a, b) for a in range(m) for b in range(a)]).reshape(-1, 2)
    edges = rng.permutation(pairs)[:n_edges].astype(np.int32)
    unary, pair = rng.normal(size=(n, m)), rng.normal(size=len(edges))
    if ties:
        unary, pair = np.round(unary), np.round(pair)
    return PairwiseScores(unary, edges, pair)


def all_values(scores):
    """Return all label sets, and their scores in every row."""
    m = scores.unary.shape[1]
    outputs = np.array(list(product((0, 1), repeat=m)))
    both = outputs[:, scores.edges[:, 0]] * outputs[:, scores.edges[:, 1]]
    return outputs, scores.unary @ outputs.T + both @ scores.pair


@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 5, 10])
@pytest.mark.parametrize("ties", [False, True])
def test_differences_are_those_of_max_marginals(n_edges, ties, rng):
    for m in (1, 2, 5):
        for _ in range(10):
            scores = random_scores(rng, m, n_edges, ties=ties)
            outputs, values = all_values(scores)
            found = scores.differences()
            for j in range(m):
                on = outputs[:, j] == 1
                expected = values[:, on].max(axis=1) - values[:, ~on].max(axis=1)
                np.testing.assert_allclose(found[:, j], expected, atol=1e-12)


def test_differences_with_many_labels_are_given_the_others(rng):
    scores = random_scores(rng, 17, 136, n=3)
    assert scores.is_hard
    cells = rng.integers(0, 2, size=(3, 17))
    found = scores.differences(cells)
    weights = np.zeros((17, 17))
    weights[tuple(scores.edges.T)] = scores.pair
    for i, j in product(range(3), range(17)):
        with_it, without = cells[i].copy(), cells[i].copy()
        with_it[j], without[j] = 1, 0
        value = [y @ scores.unary[i] + y @ weights @ y for y in (with_it, without)]
        assert found[i, j] == pytest.approx(value[0] - value[1])
    with pytest.raises(ValueError, match="cells must be given"):
        scores.differences()


@pytest.mark.parametrize("n_edges", [0, 2, 6])
def test_k_best_against_enumeration(n_edges, rng):
    for k in (1, 3, 100):
        scores = random_scores(rng, 4, n_edges)
        _, values = all_values(scores)
        cells, found = scores.k_best(k)
        assert cells.shape == (4, min(k, 16), 4)
        np.testing.assert_allclose(found, -np.sort(-values, axis=1)[:, :k])
        for i in range(4):
            places = [int("".join(map(str, y)), 2) for y in cells[i]]
            np.testing.assert_allclose(values[i, places], found[i])
            assert len(set(places)) == len(places)


@pytest.mark.parametrize("n_edges", [0, 2, 6])
def test_constrained_best_against_enumeration(n_edges, rng):
    limits = LabelConstraints(1, 2, exclusive=[(0, 1)], implies=[(2, 3)])
    for _ in range(5):
        scores = random_scores(rng, 4, n_edges)
        outputs, values = all_values(scores)
        values[:, ~limits.admitted(outputs)] = -np.inf
        np.testing.assert_array_equal(scores.best(limits), outputs[values.argmax(axis=1)])


def test_a_few_groups_of_many_labels_are_a_small_problem(rng):
    unary = rng.normal(size=(20, 600))
    scores = PairwiseScores(unary)
    groups = LabelConstraints(1, exclusive=[(0, 1, 2)], implies=[(2, 3)])
    found = scores.best(groups)
    assert groups.admitted(found).all()
    np.testing.assert_array_equal(found[:, 4:], unary[:, 4:] > 0)
    outputs = np.array(list(product((0, 1), repeat=4)))
    values = unary[:, :4] @ outputs.T
    values[:, ~LabelConstraints(0, None, [(0, 1, 2)], [(2, 3)]).admitted(outputs)] = -np.inf
    np.testing.assert_array_equal(found[:, :4], outputs[values.argmax(axis=1)])


@pytest.mark.parametrize("n_edges", [0, 3])
def test_marginals_against_enumeration(n_edges, rng):
    edges = np.array([[0, 1], [1, 2], [1, 3]])[:n_edges]
    scores = PairwiseScores(rng.normal(size=(3, 4)), edges, rng.normal(size=n_edges))
    outputs, values = all_values(scores)
    p = np.exp(values / 0.7)
    expected = p @ outputs / p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scores.marginals(0.7), expected)


def test_threads_change_nothing(rng):
    scores = PairwiseScores(rng.normal(size=(600, 3)))
    np.testing.assert_array_equal(scores.marginals(1.0, 2), scores.marginals(1.0, 1))


def test_an_error_names_its_row():
    scores = PairwiseScores(np.array([[0.0, 1.0], [0.0, np.nan]]))
    with pytest.raises(ValueError, match=r"X\[1\]: "):
        scores.k_best(1)


# -- thresholds ----------------------------------------------------------------------------------


def all_cuts(scores):
    """Return a threshold between any two scores, and beyond them."""
    values = np.unique(scores)
    return np.concatenate([[values[0] - 1], (values[1:] + values[:-1]) / 2, [values[-1] + 1]])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 3), st.booleans())
def test_thresholds_are_the_best_there_are(seed, n, m, ties):
    rng = np.random.default_rng(seed)
    scores, truth = rng.normal(size=(n, m)), rng.integers(-1, 2, size=(n, m))
    scores = np.round(scores) if ties else scores
    for metric, measure in (("micro_f1", micro_f1), ("macro_f1", macro_f1)):
        cut = best_thresholds(scores, truth, metric)
        if not (truth >= 0).any():
            assert not cut.any()
            continue
        found = measure(truth, (scores > cut).astype(int))
        if metric == "micro_f1":
            assert (cut == cut[0]).all()
            tried = [measure(truth, (scores > t).astype(int)) for t in all_cuts(scores)]
            assert found == pytest.approx(max(tried))
        else:
            for j in range(m):
                if (truth[:, j] >= 0).any():
                    column = truth[:, [j]], scores[:, j]
                    tried = [
                        micro_f1(column[0], (column[1][:, None] > t).astype(int))
                        for t in all_cuts(column[1])
                    ]
                    mine = micro_f1(column[0], (column[1][:, None] > cut[j]).astype(int))
                    assert mine == pytest.approx(max(tried))


def test_a_threshold_stays_at_zero_where_nothing_is_better():
    assert best_threshold(np.array([2.0, 1.0, -1.0]), np.array([1, 1, 0])) == 0.0
    assert best_threshold(np.array([2.0, 1.0]), np.array([0, 0])) == 0.0
    assert best_threshold(np.array([2.0, 1.0]), np.array([1, 1])) == 0.0
    assert best_threshold(np.array([5.0, 4.0, 1.0]), np.array([1, 0, 0])) == 4.5
    assert best_threshold(np.array([-5.0, -6.0]), np.array([1, 1])) < -6.0


def test_neighbouring_floats_are_told_apart():
    low = 1.0
    high = np.nextafter(low, 2.0)
    cut = best_threshold(np.array([high, low]), np.array([1, 0]))
    assert low <= cut < high


def test_unknown_metric():
    with pytest.raises(ValueError, match="metric='f1' is not known"):
        best_thresholds(np.zeros((1, 1)), np.ones((1, 1)), "f1")
