"""Metrics of hierarchies against brute force and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score

from maxmargin import metrics
from maxmargin.inputs.hierarchy import Hierarchy


def random_closed(rng, n=40, m=9):
    """Return a random DAG and two matrices of closed sets."""
    edges = [(v, p) for v in range(1, m) for p in range(v) if rng.random() < 0.3]
    dag = Hierarchy.from_edges(edges, nodes=range(m))
    return dag, *(dag.closure(rng.random((n, m)) < 0.2).toarray() for _ in range(2))


def test_matrices_against_scikit_learn(rng):
    for _ in range(20):
        _, truth, guess = random_closed(rng)
        for average in ("micro", "samples"):
            for ours, theirs in (
                (metrics.hierarchical_precision, precision_score),
                (metrics.hierarchical_recall, recall_score),
                (metrics.hierarchical_f1, f1_score),
            ):
                if average == "samples":  # scikit-learn has one value for all divisions by 0
                    keep = (truth.any(axis=1)) & (guess.any(axis=1))
                    a, b = truth[keep], guess[keep]
                else:
                    a, b = truth, guess
                assert ours(a, b, average=average) == pytest.approx(theirs(a, b, average=average))
        occurs = (truth + guess).any(axis=0)
        macro = f1_score(truth[:, occurs], guess[:, occurs], average="macro")
        assert metrics.node_macro_f1(truth, guess) == pytest.approx(macro)
        assert metrics.exact_sets(truth, guess) == np.mean((truth == guess).all(axis=1))
        assert metrics.tree_distance(truth, guess) == np.mean((truth != guess).sum(axis=1))
        scores = np.round(rng.normal(size=truth.shape), 1)  # with ties
        ap = average_precision_score(truth, scores, average="micro")
        assert metrics.auprc(truth, scores) == pytest.approx(ap)
        assert metrics.auprc(sp.csr_matrix(truth), scores) == pytest.approx(ap)


def test_all_forms_score_alike(rng):
    dag, truth, guess = random_closed(rng)
    ends = [dag.most_specific(each).toarray() for each in (truth, guess)]
    sets = [[set(np.flatnonzero(row)) for row in each] for each in ends]
    names = [[{dag.nodes.tolist()[v] for v in row} for row in each] for each in sets]
    closed = [[set(np.flatnonzero(row)) for row in each] for each in (truth, guess)]
    for name in ("exact_sets", "tree_distance", "hierarchical_f1", "node_macro_f1"):
        metric = getattr(metrics, name)
        expected = metric(truth, guess)
        assert metric(sp.csr_matrix(truth), sp.csr_matrix(guess)) == expected
        assert metric(*names, hierarchy=dag) == expected
        assert metric(*closed) == pytest.approx(expected)


def test_levels_are_compared_by_their_beginnings():
    truth = np.array([["a", "b", "c"], ["a", "x", ""]])
    guess = np.array([["a", "b", "x"], ["b", "x", ""]])
    assert metrics.tree_distance(truth, guess) == (2 + 4) / 2
    assert metrics.hierarchical_f1(truth, guess) == pytest.approx(2 * 2 / 10)
    three = metrics.tree_distance(truth[:, None], guess[:, None])
    assert three == 3.0
    tree = Hierarchy.from_paths(truth)
    assert metrics.tree_distance(truth, guess, tree) == 3.0
    assert metrics.tree_distance(["a/b/c", "a/x"], ["a/b/x", "b/x"], tree) == 3.0


def test_empty_sets_agree():
    assert metrics.hierarchical_f1([set(), {"a"}], [set(), {"a"}], average="samples") == 1.0
    assert metrics.hierarchical_precision([set()], [{"a"}], average="samples") == 0.0
    assert metrics.node_macro_f1([set()], [set()]) == 1.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: metrics.exact_sets([{"a"}], [{"a"}, {"b"}]), ValueError, "1 samples but y_pred"),
        (lambda: metrics.exact_sets([], []), ValueError, "no samples"),
        (lambda: metrics.exact_sets(["a"], ["b"]), TypeError, "must be a collection"),
        (lambda: metrics.hierarchical_f1(["a/b"], ["a/c"]), TypeError, "pass hierarchy="),
        (lambda: metrics.exact_sets(["a"], ["b"], {"a": "b"}), TypeError, "maxmargin.Hierarchy"),
        (lambda: metrics.exact_sets(np.eye(2), np.eye(3)[:2]), ValueError, "2 columns but"),
        (lambda: metrics.exact_sets(np.eye(2), 2 * np.eye(2)), ValueError, "0 and 1"),
        (lambda: metrics.hierarchical_f1([{1}], [{1}], average="macro"), ValueError, "not known"),
        (lambda: metrics.auprc(np.eye(2), np.eye(3)), ValueError, "shape"),
        (lambda: metrics.auprc(np.zeros((2, 2)), np.eye(2)), ValueError, "no node"),
        (lambda: metrics.auprc(np.eye(2), np.full((2, 2), np.nan)), ValueError, "NaN"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
