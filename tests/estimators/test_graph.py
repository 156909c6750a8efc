"""TreeSVM and GraphSVM: from graphs to labels, unknown nodes, constraints, types, files."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import maxmargin
from maxmargin import Graph, GraphSVM, TreeSVM
from maxmargin.costs import CostMatrix, EdgeLoss, Hamming
from maxmargin.metrics import mean_recall, node_accuracy
from maxmargin.testing.enumerate import labellings

LABELS = np.array(["a", "b", "c"])


def cycles(rng, n_graphs=6, n_nodes=5, **more):
    """Rings whose neighbouring labels differ, and noisy features of the labels."""
    X, y = [], []
    for _ in range(n_graphs):
        codes = np.zeros(n_nodes, dtype=int)
        for v in range(1, n_nodes):
            others = [k for k in range(3) if k not in (codes[v - 1], codes[0] if v > 2 else -1)]
            codes[v] = rng.choice(others)
        nodes = np.eye(3)[codes] + 0.7 * rng.normal(size=(n_nodes, 3))
        edges = [(v, (v + 1) % n_nodes) for v in range(n_nodes)]
        X.append(Graph(nodes, edges, rng.random((n_nodes, 2)), **more))
        y.append(LABELS[codes])
    return X, y


def trees(rng, n_graphs=6, n_nodes=5):
    X, y = cycles(rng, n_graphs, n_nodes)
    return [(g.nodes, g.edges[1:], g.edge_features[1:]) for g in X], y


def best_by_list(model, graph, y_free=None):
    """Return the best labelling of a graph by listing all, from the attributes of a model."""
    n = len(graph.nodes)
    rows = labellings(n, 3)
    unary = graph.nodes @ model.coef_.T + model.intercept_
    scores = unary[np.arange(n), rows].sum(axis=1)
    ones = np.column_stack([graph.edge_features, np.ones(len(graph.edges))])
    for (a, b), x in zip(graph.edges, ones, strict=True):
        table = np.tensordot(x, model.edge_tables_[0], 1)
        scores += table[rows[:, a], rows[:, b]]
    return rows, scores


def fitted(kind=GraphSVM, **options):
    return kind(C=1.0, tol=1e-3, random_state=0, **options)


def assert_same_problem(one, other):
    """Both are within their gaps of one optimum; where exactly is a matter of rounding."""
    a, b = one.result_, other.result_
    assert a.status == b.status == "converged"
    assert a.dual <= b.primal and b.dual <= a.primal


@pytest.fixture(scope="module")
def rings():
    X, y = cycles(np.random.default_rng(0))
    return X, y, fitted().fit(X, y)


def test_predictions_are_the_best_labellings(rings):
    X, y, model = rings
    assert model.result_.status == "converged"
    assert model.result_.objective == "integral"
    for graph, found in zip(X, model.predict(X), strict=True):
        rows, scores = best_by_list(model, graph)
        own = np.searchsorted(LABELS, found)
        at = int(np.flatnonzero((rows == own).all(axis=1))[0])
        assert scores[at] == pytest.approx(scores.max(), abs=1e-9)
    assert node_accuracy(y, model.predict(X)) > 0.8
    assert mean_recall(y, model.predict(X)) > 0.8


def test_topk_marginals_and_max_marginals(rings):
    X, _, model = rings
    rows, scores = best_by_list(model, X[0])
    best = model.predict_topk(X[:1], k=3)
    np.testing.assert_allclose(best.scores[0], np.sort(scores)[::-1][:3])
    p = np.exp(scores - scores.max())
    p /= p.sum()
    node = model.predict_marginals(X[:1])[0]
    expected = [[p[rows[:, v] == k].sum() for k in range(3)] for v in range(5)]
    np.testing.assert_allclose(node, expected, atol=1e-9)
    top = [[scores[rows[:, v] == k].max() for k in range(3)] for v in range(5)]
    np.testing.assert_allclose(model.decision_function(X[:1])[0], top)


def test_fixed_and_allowed(rings):
    X, _, model = rings
    fixed = [["c", None, None, -1, None]]
    assert model.predict(X[:1], fixed=fixed)[0][0] == "c"
    allowed = [[{"a"}, None, ["b", "c"], None, None]]
    found = model.predict(X[:1], allowed=allowed)[0]
    assert found[0] == "a" and found[2] in ("b", "c")
    with pytest.raises(
        ValueError, match=r"X\[0\]: `fixed` and `allowed` leave no label for node 0"
    ):
        model.predict(X[:1], fixed=fixed, allowed=allowed)


def test_score_counts_known_nodes_of_whole_graphs(rings):
    X, y, model = rings
    found = model.predict(X)
    hidden = [np.where(np.arange(5) == 2, None, labels) for labels in y]
    right = [np.mean(np.delete(a == b, 2)) for a, b in zip(found, y, strict=True)]
    assert model.score(X, hidden) == pytest.approx(np.mean(right))


def test_unknown_nodes_are_left_out_of_training(rings):
    X, y, _ = rings
    hidden = [np.where(np.arange(5) == 2, None, labels) for labels in y]
    cut = []
    for graph in X:
        keep = [e for e, pair in enumerate(graph.edges) if 2 not in pair]
        place = {v: v - (v > 2) for v in range(5)}
        edges = [(place[graph.edges[e][0]], place[graph.edges[e][1]]) for e in keep]
        cut.append((np.delete(graph.nodes, 2, 0), edges, graph.edge_features[keep]))
    whole = fitted().fit(X, hidden)
    part = fitted().fit(cut, [np.delete(labels, 2) for labels in y])
    np.testing.assert_allclose(whole.result_.w, part.result_.w)
    assert all(len(labels) == 5 for labels in whole.predict(X))


def test_a_graph_without_known_nodes_is_no_example(rings):
    X, y, model = rings
    more = fitted().fit([*X, X[0]], [*y, [None] * 5])
    np.testing.assert_allclose(more.result_.w, model.result_.w)
    with pytest.raises(ValueError, match="y has no known label"):
        fitted(classes=LABELS).fit(X[:1], [[None] * 5])


def test_files_keep_the_model(rings, tmp_path):
    X, _, model = rings
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    np.testing.assert_array_equal(again.result_.w, model.result_.w)
    for a, b in zip(again.predict(X), model.predict(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_trees_refuse_cycles_and_predict_alike(tmp_path):
    rng = np.random.default_rng(1)
    X, y = trees(rng)
    model = fitted(TreeSVM, pairs="symmetric").fit(X, y)
    general = fitted(GraphSVM, pairs="symmetric").fit(X, y)
    np.testing.assert_allclose(model.result_.w, general.result_.w)
    T = model.edge_tables_
    np.testing.assert_allclose(T, T.transpose(0, 1, 3, 2))
    ring = [(X[0][0], [(0, 1), (1, 2), (2, 0)], np.ones((3, 2)))]
    for call in (lambda: model.predict(ring), lambda: clone(model).fit(ring, y[:1])):
        with pytest.raises(ValueError, match=r"X\[0\] has a cycle: the nodes 0 - 1 - 2 - 0"):
            call()
    model.save(tmp_path / "tree.mm")
    again = maxmargin.load(tmp_path / "tree.mm")
    np.testing.assert_array_equal(again.predict(X)[0], model.predict(X)[0])


@pytest.mark.parametrize("surrogate", ["slack", "log"])
def test_trees_with_other_surrogates(surrogate):
    X, y = trees(np.random.default_rng(1), n_graphs=3, n_nodes=4)
    model = TreeSVM(surrogate=surrogate, tol=1e-2, random_state=0).fit(X, y)
    assert model.result_.status == "converged"
    assert model.result_.search_gap == 0.0


def test_zero_one_with_and_without_cycles():
    rng = np.random.default_rng(1)
    X, y = trees(rng, n_graphs=3, n_nodes=4)
    assert GraphSVM(cost="zero_one", random_state=0).fit(X, y).result_.status == "converged"
    X, y = cycles(rng, n_graphs=4)
    # All wrong labellings cost 1, so both surrogates are one objective.
    margin, slack = (
        fitted(cost="zero_one", surrogate=name).fit(X, y) for name in ("margin", "slack")
    )
    assert_same_problem(margin, slack)
    assert margin.result_.objective == "integral"
    with pytest.raises(ValueError, match="cost='zero_one' is a cost of labellings"):
        GraphSVM(cost="zero_one", training="relaxed").fit(X, y)


def test_types_have_weights_of_their_own(tmp_path):
    rng = np.random.default_rng(2)
    X, y = cycles(rng, node_types=["left", "left", "left", "right", "right"], edge_types=range(5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GraphSVM(pairs="potts", max_iter=20, random_state=0).fit(X, y)
    assert model.coef_.shape == (2, 3, 3)
    assert model.edge_coef_.shape == (5, 2, 1)
    assert model.edge_tables_.shape == (5, 3, 3, 3)
    model.save(tmp_path / "types.mm")
    again = maxmargin.load(tmp_path / "types.mm")
    np.testing.assert_array_equal(again.predict(X)[1], model.predict(X)[1])
    other = Graph(X[0].nodes, node_types=["middle"] * 5, edge_types=[])
    with pytest.raises(ValueError, match=r"X\[0\]: node_types\[0\] is 'middle'"):
        model.predict([other])


def test_unshared_weights_need_one_graph(tmp_path):
    X, y = cycles(np.random.default_rng(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GraphSVM(shared=False, max_iter=20, random_state=0).fit(X, y)
    assert model.coef_.shape == (5, 3, 3) and model.edge_coef_.shape == (5, 2, 9)
    hidden = [np.where(np.arange(5) == 2, None, labels) for labels in y]
    clone(model).set_params(tol=1.0).fit(X, hidden)
    model.save(tmp_path / "own.mm")
    again = maxmargin.load(tmp_path / "own.mm")
    np.testing.assert_array_equal(again.predict(X)[0], model.predict(X)[0])
    with pytest.raises(ValueError, match=r"X\[0\] is not the graph of X\[0\]"):
        model.predict([(X[0].nodes, X[0].edges[::-1], X[0].edge_features)])


def test_hyperedges_are_learnt():
    """Of three nodes with random features, the third has the label that the first two agree on."""
    rng = np.random.default_rng(4)
    X, y = [], []
    for a, b in [(0, 0), (0, 1), (1, 0), (1, 1)] * 3:
        nodes = np.zeros((3, 3))
        nodes[0, a] = nodes[1, b] = nodes[2, 2] = 1.0
        X.append(Graph(nodes, hyperedges=[rng.permutation(3) if a == b == 5 else (0, 1, 2)]))
        y.append([a, b, int(a == b)])
    model = GraphSVM(C=10.0, random_state=0).fit(X, y)
    assert [labels.tolist() for labels in model.predict(X)] == y
    assert model.hyper_coef_[0].shape == (1, 8)


def test_node_weights_and_class_weights_change_the_cost():
    X, y = cycles(np.random.default_rng(5))
    heavy = [Graph(g.nodes, g.edges, g.edge_features, node_weights=np.full(5, 2.0)) for g in X]
    twice = fitted(cost=CostMatrix(2.0 * (1.0 - np.eye(3)))).fit(X, y)
    found = fitted().fit(heavy, y)
    assert_same_problem(found, twice)
    balanced = fitted(class_weight="balanced", cost=Hamming("mean")).fit(heavy, y)
    assert balanced.result_.status == "converged"


def test_sparse_features_are_the_same_problem(rings):
    X, y, model = rings
    sparse = [(sp.csr_matrix(g.nodes), g.edges, sp.csr_matrix(g.edge_features)) for g in X]
    assert_same_problem(fitted().fit(sparse, y), model)


def test_threads_do_not_change_the_result(rings):
    X, y, model = rings
    found = fitted(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(found.result_.w, model.result_.w)


@pytest.mark.parametrize(
    ("limit", "n_kept"), [(0.0, 0), (0.001, 4), (0.05, 6), (256.0, 6)], ids=str
)
def test_messages_are_kept_within_a_memory_limit(rings, limit, n_kept):
    """Messages of a ring: two for each of 5 edges, of 3 labels, 8 bytes each."""
    X, y, model = rings
    kept = []

    def look(event):
        kept.append(event.snapshot().arrays["memory.oracle.messages"].copy())

    found = fitted(memory_limit=limit).fit(X, y, callbacks=[look])
    assert_same_problem(found, model)
    assert {messages.nbytes for messages in kept} == {n_kept * 2 * 5 * 3 * 8}
    assert kept[-1].nbytes <= limit * 1e6
    assert np.count_nonzero(kept[-1]) > 0 or n_kept == 0
    relaxed = fitted(memory_limit=limit, training="relaxed").set_params(tol=0.05).fit(X, y)
    assert relaxed.result_.status == "converged" and relaxed.result_.objective == "relaxed"
    # Every labelling is a point of the relaxation, so that its optimum is no less.
    assert relaxed.result_.primal >= model.result_.dual


def test_a_run_goes_on_from_a_checkpoint(rings, tmp_path):
    X, y, _ = rings
    path = tmp_path / "run.ckpt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        keep = maxmargin.Checkpoint(path)
        part = GraphSVM(tol=1e-6, max_iter=3, random_state=0).fit(X, y, callbacks=[keep])
        whole = GraphSVM(tol=1e-6, max_iter=6, random_state=0).fit(X, y)
        rest = GraphSVM(tol=1e-6, max_iter=6, random_state=0).fit(X, y, resume=path)
    assert part.result_.n_iter == 3
    np.testing.assert_array_equal(rest.result_.w, whole.result_.w)


def test_partial_fit_and_path(rings):
    X, y, _ = rings
    online = GraphSVM(solver="perceptron", random_state=0)
    for first in (0, 3) * 10:
        online.partial_fit(X[first : first + 3], y[first : first + 3], classes=LABELS)
    assert node_accuracy(y, online.predict(X)) > 0.5
    found = GraphSVM(tol=0.1, random_state=0).path(X, y, [0.1, 1.0])
    assert len(found.Cs) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": "odd"}, "pairs='odd' is not known"),
        ({"hyper_pairs": "odd"}, "hyper_pairs='odd' is not known"),
        ({"training": "odd"}, "training='odd' is not known"),
        ({"max_branches": -1}, "max_branches must be an integer >= 0"),
        ({"cost": "ap"}, "AveragePrecision is no cost of graphs"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        GraphSVM(**options).fit(*cycles(np.random.default_rng(0), 2))


def test_wrong_labels_are_refused(rings):
    X, y, model = rings
    with pytest.raises(ValueError, match=r"y\[0\] has 4 labels but X\[0\] has 5 nodes"):
        GraphSVM().fit(X, [labels[:4] for labels in y])
    with pytest.raises(ValueError, match=r"y\[0\]\[0\] is 'z', a label never seen"):
        model.score(X[:1], [["z"] * 5])
    with pytest.raises(ValueError, match=r"y\[0\]\[0\] is a label that `allowed` forbids"):
        GraphSVM().fit(X, y, allowed=[[set(LABELS) - {y[0][0]}] + [None] * 4] + [None] * 5)


# -- edge losses ---------------------------------------------------------------------------------


def edge_loss(graph, truth, found, roots):
    """Return the loss of paper 002: wrong children of right parents, and wrong roots."""
    wrong = np.asarray(truth) != np.asarray(found)
    children = sum(bool(wrong[b] and not wrong[a]) for a, b in graph[1])
    return children + sum(bool(wrong[v]) for v in roots)


def test_an_edge_loss_is_trained_and_scored(rng):
    X, y = trees(rng)
    model = fitted(TreeSVM, cost="edge").fit(X, y)
    assert model.result_.status == "converged"
    # The loss at w = 0 is the largest cost, which lies between that of one wrong root and all.
    assert 0.0 < model.result_.primal <= 1.0 + len(X[0][1])
    found = model.predict(X)
    # Edges lead from 1 to 2, and on to 4 and 0: the root is node 1.
    costs = [edge_loss(x, truth, y_, [1]) for x, truth, y_ in zip(X, y, found, strict=True)]
    largest = len(X[0][1]) + 1
    assert model.score(X, y) == pytest.approx(1.0 - np.mean(costs) / largest)
    slack = fitted(TreeSVM, cost=EdgeLoss(average="mean"), surrogate="slack").fit(X, y)
    assert slack.result_.status == "converged" and slack.result_.search_gap == 0.0


def test_an_edge_loss_of_graphs_with_cycles(rng):
    X, y = cycles(rng)
    whole = fitted(cost=EdgeLoss("any")).fit(X, y)
    assert whole.result_.status == "converged"
    relaxed = fitted(cost=EdgeLoss("any"), training="relaxed").fit(X, y)
    assert relaxed.result_.objective == "relaxed"
    # More outputs compete in the relaxation, so its optimum is no smaller.
    assert relaxed.result_.primal >= whole.result_.dual - 1e-9
    copy = clone(whole).set_params(cost=EdgeLoss("any", weights=[1.0] * 5))
    assert_same_problem(copy.fit(X, y), whole)


def test_edge_losses_take_no_weights_of_nodes(rng):
    X, y = cycles(rng, node_weights=np.ones(5))
    with pytest.raises(ValueError, match=r"node_weights weighs .* EdgeLoss prices edges"):
        fitted(cost="edge").fit(X, y)
    X, y = cycles(rng)
    with pytest.raises(ValueError, match=r"class_weight weighs .* EdgeLoss prices edges"):
        fitted(cost="edge", class_weight="balanced").fit(X, y)
    with pytest.raises(ValueError, match="weights has 2 numbers but example 0 has 5 edges"):
        fitted(cost=EdgeLoss(weights=[1.0, 2.0])).fit(X, y)
    with pytest.raises(ValueError, match="EdgeLoss is no cost of classes and sequences"):
        maxmargin.ChainSVM(cost="edge").fit([np.eye(3)], [[0, 1, 2]])


def test_unknown_nodes_make_roots_of_their_children(rng):
    X, y = trees(rng)
    y = [labels.astype(object) for labels in y]
    for labels in y:
        labels[1] = None
    model = fitted(TreeSVM, cost="edge").fit(X, y)
    found = model.predict(X)
    costs = [
        edge_loss((x[0], [(a, b) for a, b in x[1] if 1 not in (a, b)]), t, y_, [2])
        for x, t, y_ in zip(X, y, found, strict=True)
    ]
    assert model.score(X, y) == pytest.approx(1.0 - np.mean(costs) / len(X[0][1]))
