"""HierarchySVM: what users pass comes back, agrees with the hierarchy, and is certified."""

from __future__ import annotations

import warnings

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin
from maxmargin import Checkpoint, Hierarchy, HierarchySVM, MulticlassSVM
from maxmargin.costs import NodeHamming
from maxmargin.testing.enumerate import node_sets

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TREE = {"pet": ["cat", "dog"], "wild": ["fox", "owl"]}
DAG = [("cat", "pet"), ("cat", "hunter"), ("dog", "pet"), ("owl", "hunter"), ("pet", "animal"),
       ("hunter", "animal")]  # fmt: skip


def svm(**params):
    return HierarchySVM(**{"random_state": 0, "tol": 1e-2, "C": 1.0, **params})


def leaf_data(rng, n=60):
    """Return rows and leaves of TREE that a linear model can tell."""
    centres = {"cat": (3, 1), "dog": (3, -1), "fox": (-3, 1), "owl": (-3, -1)}
    y = rng.choice(list(centres), size=n)
    return np.array([centres[name] for name in y]) + rng.normal(scale=0.3, size=(n, 2)), y


def set_data(rng, hierarchy, n=50):
    """Return rows and sets of nodes, each of which a feature tells."""
    cells = hierarchy.closure(rng.random((n, len(hierarchy))) < 0.3).toarray()
    X = cells + rng.normal(scale=0.1, size=cells.shape)
    return X, [set(hierarchy.nodes[row == 1].tolist()) for row in cells], cells


# -- scikit-learn --------------------------------------------------------------------------------

_NOT_EXACT = "equal optima, but a fit ends within tol of the optimum, not within 1e-7"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": _NOT_EXACT,
    "check_sample_weight_equivalence_on_sparse_data": _NOT_EXACT,
}


@parametrize_with_checks(
    [svm(tol=1e-3, max_iter=200, C=0.1)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_pipeline_and_grid_search(rng):
    X, y = leaf_data(rng)
    pipe = make_pipeline(StandardScaler(), svm(hierarchy=TREE))
    search = GridSearchCV(pipe, {"hierarchysvm__C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    twin = clone(svm(hierarchy=Hierarchy.of(TREE)))
    assert not hasattr(twin, "result_") and twin.hierarchy == Hierarchy.of(TREE)


# -- one path ------------------------------------------------------------------------------------


def test_every_form_of_hierarchy_and_labels_learns_the_same(rng):
    X, y = leaf_data(rng)
    above = {leaf: top for top, below in TREE.items() for leaf in below}
    graph = networkx.DiGraph([(top, leaf) for top, below in TREE.items() for leaf in below])
    first = svm(hierarchy=TREE).fit(X, y)
    assert first.result_.status == "converged" and first.space_ == "leaf"
    assert first.score(X, y) > 0.95
    assert first.predict(X).dtype.kind == "U"
    for hierarchy in (above, graph, list(above.items()), Hierarchy.of(TREE)):
        other = svm(hierarchy=hierarchy).fit(X, y)
        assert set(other.classes_) == set(first.classes_)
        assert first.result_.dual <= other.result_.primal * (1 + 1e-9)
        assert other.result_.dual <= first.result_.primal * (1 + 1e-9)
    rows = np.array([[above[leaf], leaf] for leaf in y])
    levels = svm().fit(X, rows)
    assert levels.predict(X).shape == (len(X), 2)
    assert (levels.predict(X) == rows).all(axis=1).mean() > 0.95
    assert levels.score(X, rows) == (levels.predict(X) == rows).all(axis=1).mean()
    texts = svm().fit(X, ["/".join(row) for row in rows])
    assert set(texts.predict(X)) <= {"/".join(row) for row in rows}
    nodes = Hierarchy.of(TREE).nodes.tolist()
    matrix = sp.csr_matrix([[n in (leaf, above[leaf]) for n in nodes] for leaf in y], dtype=int)
    flags = svm(hierarchy=TREE).fit(X, matrix)
    assert sp.issparse(flags.predict(X)) and flags.space_ == "leaf"


def test_flat_weights_and_cost_are_crammer_and_singer(rng):
    X, y = leaf_data(rng)
    flat = svm(hierarchy=TREE, alpha="flat", cost="zero_one", tol=1e-4).fit(X, y)
    plain = MulticlassSVM(C=1.0, tol=1e-4, random_state=0).fit(X, y)
    assert flat.result_.dual <= plain.result_.primal and plain.result_.dual <= flat.result_.primal


def test_unseen_labels_are_wrong_not_refused(rng):
    X, y = leaf_data(rng)
    known = y != "owl"
    model = svm(hierarchy=TREE).fit(X[known], y[known])
    assert "owl" not in model.classes_ and "owl" in model.hierarchy_.nodes
    assert model.score(X, y) == pytest.approx(np.mean(model.predict(X) == y))
    scores = model.node_scores(X)
    assert np.isneginf(scores[:, model.hierarchy_.labels.index["owl"]]).all()
    off = svm().fit(X[known], [f"top/{name}" for name in y[known]])
    assert off.score(X, [f"top/{name}" for name in y]) < 1.0  # "top/owl" is in no training label
    with pytest.raises(ValueError, match="no node of the hierarchy"):
        model.score(X, ["bat"] * len(X))


def test_inner_labels_and_common_roots(rng):
    X, y = leaf_data(rng)
    labels = np.array([f"all/{'pet' if name in TREE['pet'] else 'wild'}/{name}" for name in y])
    labels[y == "dog"] = "all/pet"
    model = svm().fit(X, labels)
    assert model.space_ == "path" and "all" not in model.nodes_
    assert (model.predict(X) == labels).mean() > 0.95
    marginals = model.predict_marginals(X)
    assert (marginals[:, model.hierarchy_.labels.index["all"]] == 1.0).all()
    assert np.isposinf(model.node_scores(X)[:, model.hierarchy_.labels.index["all"]]).all()
    assert model.alpha_.shape == model.nodes_.shape == model.coef_.shape[:1]


def test_margins_marginals_and_partial_paths(rng):
    X, y = leaf_data(rng)
    model = svm(hierarchy=TREE).fit(X, y)
    names = model.hierarchy_.nodes.tolist()
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    p = model.predict_marginals(X)
    leaves = [names.index(leaf) for leaf in ("cat", "dog", "fox", "owl")]
    np.testing.assert_allclose(p[:, leaves].sum(axis=1), 1.0)
    assert (p[:, names.index("pet")] >= p[:, names.index("cat")] - 1e-12).all()
    margins = model.node_scores(X)
    best = model.predict(X)
    for threshold in (0.0, 0.5, 2.0, 1e9):
        cut = model.predict(X, threshold=threshold)
        for i, node in enumerate(cut):
            path = model.hierarchy_.above(best[i])
            assert node in path
            passing = [n for n in path if margins[i, names.index(n)] > threshold]
            assert node == (passing[-1] if passing else path[0])
    assert set(model.predict(X, threshold=1e9)) == {"pet", "wild"}
    with pytest.raises(ValueError, match="threshold"):
        model.predict(X, threshold=-1.0)


def test_topk_and_fixed(rng):
    X, y = leaf_data(rng)
    model = svm(hierarchy=TREE).fit(X, y)
    outputs, scores = model.predict_topk(X, k=3)
    assert [row[0] for row in outputs] == model.predict(X).tolist()
    assert all(
        len(row) == 3 and (np.diff(s) <= 0).all() for row, s in zip(outputs, scores, strict=True)
    )
    assert set(model.predict(X, fixed=["wild"] * len(X))) <= {"fox", "owl"}
    n = len(X)
    assert set(model.predict(X, fixed=[{"cat": False, "pet": True}] * n)) == {"dog"}
    assert (model.predict(X, fixed=[None] * n) == model.predict(X)).all()
    assert [len(row) for row in model.predict_topk(X, k=9, fixed=["pet"] * n)[0]] == [2] * n
    for fixed, message in (
        (["bat"] * n, r"fixed\[0\] is 'bat'"),
        ([{"cat", "fox"}] * n, "no output of sample 0"),
        ([None], "fixed has 1 entries"),
        ([{"cat": 1}] * n, "must be True or False"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            model.predict(X, fixed=fixed)
    with pytest.raises(ValueError, match="cannot be used together"):
        model.predict(X, fixed=["pet"] * n, threshold=1.0)


@pytest.mark.parametrize("edges", [Hierarchy.of(TREE).to_edges(), DAG], ids=["tree", "dag"])
@pytest.mark.parametrize("kind", ["leaf", "path", "closed", "paths", "edges", "partial paths"])
def test_what_is_fixed_may_not_contradict_the_hierarchy_in_any_order(rng, edges, kind):
    X, _ = leaf_data(rng, 12)
    sets = [{"cat"}, {"owl"}, {"dog"}] * 4
    field = {"edges": "edges", "partial paths": "paths"}.get(kind)
    options = {"model": field} if field else {"space": kind}
    model = svm(hierarchy=edges, max_iter=3, **options).fit(X, sets)
    for entry in ({"pet": False, "cat": True}, {"cat": True, "pet": False}):
        for ask in (model.predict, model.predict_topk):
            with pytest.raises(ValueError, match=r"fixed\[1\] has 'cat' in .* but 'pet', which is"):
                ask(X[:2], fixed=[None, entry])
    for entry in ({"pet": True, "cat": False}, {"cat": False, "pet": True}):
        (found,) = model.predict(X[:1], fixed=[entry])
        if kind in ("leaf", "path", "paths"):
            assert "cat" not in found and "dog" in found


# -- sets of nodes -------------------------------------------------------------------------------


@pytest.mark.parametrize("edges", [[(c, p) for p, below in TREE.items() for c in below], DAG])
def test_closed_sets_agree_with_the_hierarchy(rng, edges):
    hierarchy = Hierarchy.of(edges)
    X, y, cells = set_data(rng, hierarchy)
    model = svm(hierarchy=edges, C=10.0, tol=5e-2).fit(X, y)
    assert model.space_ == "closed" and model.result_.status == "converged"
    assert model.score(X, y) > 0.9
    predicted = model.predict(rng.normal(size=X.shape))
    closed = hierarchy.closures([set(row) for row in predicted])[0]
    named = sum(len(row) for row in predicted)
    assert closed.nnz == named and model._reader.form.is_closed
    matrix = svm(hierarchy=hierarchy, C=10.0, tol=5e-2).fit(X, cells)
    assert matrix.predict(X).shape == cells.shape
    assert (hierarchy.closure(matrix.predict(X)).toarray() == matrix.predict(X)).all()


def test_sets_of_a_forest_have_margins_marginals_and_lists(rng):
    hierarchy = Hierarchy.of(TREE)
    X, y, cells = set_data(rng, hierarchy)
    model = svm(hierarchy=TREE, C=10.0, tol=5e-2).fit(X, y)
    scores = model.decision_function(X)
    best = hierarchy.closures(model.predict(X))[0].toarray()
    assert (best[:, [hierarchy.labels.index[n] for n in model.classes_]] == (scores > 0)).all()
    assert model.predict_marginals(X).shape == cells.shape
    lower = hierarchy.closures(model.predict(X, threshold=-3.0))[0].toarray()
    assert (lower >= best).all() and lower.sum() > best.sum()
    first = [row[0] for row in model.predict_topk(X, k=2).outputs]
    assert first == model.predict(X)
    for row in model.predict(X, fixed=[{"cat"}] * len(X)):
        assert {"cat", "pet"} <= set(row)


def test_the_weights_of_nodes_go_by_the_outputs_unless_said(rng):
    X, y = leaf_data(rng, 20)
    one = svm(hierarchy=TREE).fit(X, y)
    assert one.get_params()["alpha"] == "auto"
    for alpha, space in (("maxmin", "leaf"), ("none", "closed"), ("none", "paths")):
        labels = y if space == "leaf" else [{name} for name in y]
        own, named = (svm(hierarchy=TREE, space=space, alpha=a) for a in ("auto", alpha))
        np.testing.assert_array_equal(own.fit(X, labels).alpha_, named.fit(X, labels).alpha_)
        assert own.result_.primal == named.result_.primal
    with pytest.raises(ValueError, match=r"alpha='most' is not known\. There are: 'auto', 'none'"):
        svm(alpha="most").fit(X, y)


def test_paths_to_leaves_are_not_empty(rng):
    hierarchy = Hierarchy.of(TREE)
    X, y, _ = set_data(rng, hierarchy)
    y = [row | {"cat"} if not row & set(hierarchy.leaves) else row for row in y]
    model = svm(hierarchy=TREE, space="paths", C=1.0, tol=5e-2).fit(X, y)
    predicted = model.predict(rng.normal(size=X.shape) - 2.0)
    assert all(len(row) >= 1 for row in predicted)


def test_sets_of_a_dag(rng):
    hierarchy = Hierarchy.of(DAG)
    X, y, _ = set_data(rng, hierarchy, n=20)
    model = svm(hierarchy=DAG, tol=5e-2).fit(X, y)
    assert model.decision_function(X).shape == (20, len(model.classes_))
    assert [row[0] for row in model.predict_topk(X, k=2).outputs] == model.predict(X)
    with pytest.raises(ValueError, match="two parents"):
        model.predict_marginals(X)
    leaves = set(hierarchy.leaves)
    full = [row if row & leaves else {"cat"} for row in y]
    paths = svm(hierarchy=DAG, space="paths", tol=0.2).fit(X, full)
    assert all(set(row) & leaves for row in paths.predict(X))


def test_the_shared_norm_is_learnt_to_a_joint_certificate(rng, tmp_path):
    X, y = leaf_data(rng)
    model = svm(hierarchy=TREE, alpha="shared", tol=1e-3).fit(X, y)
    assert model.result_.status == "converged" and model.result_.relative_gap <= 1e-3
    rho = svm(hierarchy=TREE, alpha="rho", tol=1e-3).fit(X, y)
    assert model.result_.dual <= rho.result_.primal  # a minimum over alpha too
    above = Hierarchy.of(TREE).ancestry[[model.hierarchy_.labels.index[n] for n in model.classes_]]
    sums = above @ model.alpha_[np.argsort(model._reader.space.node)]
    assert (sums <= 1.0 + 1e-6).all()
    model.save(tmp_path / "a.mm")
    np.testing.assert_array_equal(maxmargin.load(tmp_path / "a.mm").alpha_, model.alpha_)
    saved = Checkpoint(tmp_path / "run.mm", every=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two passes are too few
        svm(hierarchy=TREE, alpha="shared", tol=1e-3, max_iter=2).fit(X, y, callbacks=[saved])
    rest = svm(hierarchy=TREE, alpha="shared", tol=1e-3).fit(X, y, resume=saved.path)
    np.testing.assert_array_equal(rest.coef_, model.coef_)
    assert rest.result_.gap == model.result_.gap
    with pytest.raises(ValueError, match="needs solver='auto' or 'bcfw', or where"):
        svm(hierarchy=TREE, alpha="shared", solver="one_slack").fit(X, y)


def test_sdca_learns_the_shared_norm_of_single_paths_alone(rng):
    X, y = leaf_data(rng)
    options = {"hierarchy": TREE, "alpha": "shared", "solver": "sdca", "max_iter": 2}
    with pytest.raises(ValueError, match="one path solver='sdca'; got SDCA"):
        svm(space="closed", **options).fit(X, [{name} for name in y])
    assert svm(**options).fit(X, y).result_.objective == "shared"


DIAMOND = [("b", "a"), ("c", "a"), ("d", "b"), ("d", "c"), ("e", "c")]


@pytest.mark.parametrize(
    "edges", [[("b", "a"), ("c", "a"), ("d", "b"), ("e", "b")], DIAMOND], ids=len
)
@pytest.mark.parametrize("space", ["closed", "paths"])
def test_the_shared_norm_of_sets_has_a_joint_certificate(rng, edges, space):
    hierarchy = Hierarchy.from_edges(edges)
    leaves = hierarchy.leaves.tolist()
    X = rng.normal(size=(10, 2))
    y = [{leaves[int(x[0] > 0)], leaves[-int(x[1] > 0.5)]} for x in X]
    tol = 0.05 if space == "paths" and len(edges) == 5 else 2e-3
    options = {"hierarchy": hierarchy, "space": space, "C": 1.0, "cost": "node_hamming"}
    model = svm(alpha="shared", tol=tol, max_iter=300, **options).fit(X, y)
    assert model.result_.status == "converged" and model.result_.objective == "shared"
    # No other weights along the paths are better than the bound says, and those learnt attain it.
    for alpha in (model.alpha_, "maxmin"):
        fixed = svm(alpha=alpha, tol=tol, max_iter=300, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the weights learnt need not sum to 1
            fixed.fit(X, y)
        assert fixed.result_.primal >= model.result_.dual - 1e-9
        if alpha is model.alpha_:
            assert fixed.result_.dual <= model.result_.primal + 1e-9


def check_field_answers(field, X):
    """Compare all answers about a few rows with the list of all closed sets."""
    hierarchy = field.hierarchy_
    sets = node_sets(hierarchy.shape, "closed")
    top = field.predict_topk(X, k=len(sets) + 3)
    marginals = field.predict_marginals(X, temperature=0.7)
    margins, best = field.node_scores(X), field.predict(X)
    for i, (outputs, scores) in enumerate(zip(top.outputs, top.scores, strict=True)):
        flags = hierarchy.closures(outputs)[0].toarray()
        assert len(np.unique(flags, axis=0)) == len(flags) == len(sets)
        assert (np.diff(scores) <= 1e-9).all() and tuple(outputs[0]) == tuple(best[i])
        if field.model == "edges":  # the score of a set by the weights of its edges
            on = dict(zip([*hierarchy.nodes, None], [*flags.T, 1], strict=True))
            blocks = np.einsum("efab,f->eab", field.coef_, X[i]) + field.intercept_
            expected = sum(b[on[p], on[c]] for b, (p, c) in zip(blocks, field.edges_, strict=True))
            np.testing.assert_allclose(scores, expected, atol=1e-8)
        p = np.exp((scores - scores.max()) / 0.7)
        np.testing.assert_allclose(marginals[i], p @ flags / p.sum(), atol=1e-8)
        for v in range(len(hierarchy)):
            with_, without = scores[flags[:, v] == 1].max(), scores[flags[:, v] == 0].max()
            assert margins[i, v] == pytest.approx(with_ - without, abs=1e-8)
    np.testing.assert_allclose(field.decision_function(X), margins)
    assert field.predict(X, threshold=0.0) == best
    last = hierarchy.nodes.tolist()[-1]
    for row in field.predict(X, fixed=[last] * len(X)):
        assert last in row
    for row in field.predict_topk(X, k=2, fixed=[{last: False}] * len(X)).outputs:
        assert all(last not in each for each in row)
    above = hierarchy.above(last)[0]
    with pytest.raises(ValueError, match=r"fixed\[0\] has .* but .*, which is above it, not"):
        field.predict(X, fixed=[{last: True, above: False}] * len(X))


def test_rows_of_levels_may_be_empty_where_outputs_are_sets(rng):
    X, _ = leaf_data(rng, 12)
    rows = np.array([["a", "b"], ["a", "c"], ["", ""]] * 4)
    assert svm(space="closed", max_iter=2).fit(X, rows).space_ == "closed"


def test_edge_fields(rng, tmp_path):
    hierarchy = Hierarchy.of({"top": ["pet", "wild"], "pet": ["cat", "dog"], "wild": ["owl"]})
    X, y, _ = set_data(rng, hierarchy, n=25)
    field = svm(hierarchy=hierarchy, model="edges", C=10.0, tol=0.1).fit(X, y)
    assert field.space_ == "closed" and field.score(X, y) > 0.9
    assert field.coef_.shape == (6, 6, 2, 2) and field.edges_.shape == (6, 2)
    predicted = field.predict(rng.normal(size=X.shape))
    assert hierarchy.closures(predicted)[0].nnz == sum(len(row) for row in predicted)
    field.save(tmp_path / "a.mm")
    assert maxmargin.load(tmp_path / "a.mm").predict(X) == field.predict(X)
    field.set_params(alpha="maxmin").save(tmp_path / "a.mm")  # the default of older files
    older = maxmargin.load(tmp_path / "a.mm")
    assert older.alpha == "maxmin" and older.predict(X) == field.predict(X)
    np.testing.assert_array_equal(clone(older).fit(X, y).coef_, field.coef_)
    check_field_answers(field, X[:4])
    for params, message in (
        ({"alpha": "none"}, "takes no alpha"),
        ({"space": "leaf"}, "space='closed'"),
        ({"cost": "tree_distance"}, "cost='tree_distance' is not known"),
    ):
        with pytest.raises(ValueError, match=message):
            svm(hierarchy=hierarchy, model="edges", **params).fit(X, y)
    with pytest.raises(ValueError, match="model='arcs' is not known"):
        svm(model="arcs").fit(X, y)


def test_edge_fields_with_partial_paths(rng):
    hierarchy = Hierarchy.of({"top": ["pet", "wild"], "pet": ["cat", "dog"], "wild": ["owl"]})
    X, y, _ = set_data(rng, hierarchy, n=25)
    field = svm(hierarchy=hierarchy, model="paths", C=10.0, tol=0.1).fit(X, y)
    assert field.result_.status == "converged" and field.score(X, y) > 0.9
    predicted = field.predict(rng.normal(size=X.shape))
    assert hierarchy.closures(predicted)[0].nnz == sum(len(row) for row in predicted)
    check_field_answers(field, X[:3])


def test_edge_fields_of_a_dag(rng):
    hierarchy = Hierarchy.from_edges([("b", "a"), ("c", "a"), ("d", "b"), ("d", "c")])
    X, y, _ = set_data(rng, hierarchy, n=15)
    field = svm(hierarchy=hierarchy, model="edges", C=1.0, tol=0.2).fit(X, y)
    check_field_answers(field, X[:3])
    with pytest.raises(ValueError, match=r"needs model='paths' on a DAG, .* 'd' has several"):
        svm(hierarchy=hierarchy, model="edges", cost="path").fit(X, y)
    paths = svm(hierarchy=hierarchy, model="paths", cost="path", C=1.0, tol=0.2).fit(X, y)
    check_field_answers(paths, X[:3])
    wide = Hierarchy.from_edges([("under", f"top {k}") for k in range(10)])
    with pytest.raises(ValueError, match=r"the node 'under' of this DAG has too many above it"):
        svm(hierarchy=wide, model="paths").fit(np.eye(3), [["under"], ["top 3"], []])


@pytest.mark.parametrize("cost", ["node_hamming", "leaf_hamming", NodeHamming([1, 2, 0, 1, 1, 3])])
def test_edge_fields_take_the_costs_of_sets(rng, cost):
    hierarchy = Hierarchy.of({"top": ["pet", "wild"], "pet": ["cat", "dog"], "wild": ["owl"]})
    X, y, _ = set_data(rng, hierarchy, n=15)
    field = svm(hierarchy=hierarchy, model="edges", cost=cost, C=1.0, tol=0.1).fit(X, y)
    assert field.result_.status == "converged"


@pytest.mark.parametrize("space", ["leaf", "closed"])
def test_edge_and_path_loss_of_nodes_are_one_on_a_tree(rng, space):
    hierarchy = Hierarchy.of({"pet": ["cat", "dog"], "wild": ["owl", "fox"]})
    X, y, _ = set_data(rng, hierarchy, n=20)
    if space == "leaf":
        y = rng.choice(["cat", "dog", "owl", "fox"], size=20)
    results = []
    for cost in ("edge", "path"):
        model = svm(hierarchy=hierarchy, space=space, cost=cost, C=1.0, tol=1e-3).fit(X, y)
        assert model.result_.status == "converged"
        results.append(model.result_.primal)
    assert results[0] == pytest.approx(results[1], rel=1e-9)
    dag = Hierarchy.from_edges([("b", "a"), ("c", "a"), ("d", "b"), ("d", "c")])
    X, y = np.eye(4), [["d"], ["b"], ["c"], []]
    svm(hierarchy=dag, space="closed", cost="edge", tol=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"is for trees, but the node 'd' has several .*'edge'"):
        svm(hierarchy=dag, space="closed", cost="path").fit(X, y)
    assert svm(hierarchy=dag, cost="path").fit(X[:3], ["d", "b", "c"]).result_.gap >= 0.0


# -- files, paths, batches -----------------------------------------------------------------------


@pytest.mark.parametrize("space", ["leaf", "path", "closed"])
def test_saved_and_loaded_is_the_same(rng, tmp_path, space):
    X, y = leaf_data(rng)
    if space == "path":
        y = np.where(y == "dog", "pet", y)
    model = svm(hierarchy=TREE, space=space).fit(X, y)
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert again.get_params()["hierarchy"] == Hierarchy.of(TREE)
    first, second = model.predict(X), again.predict(X)
    assert list(first) == list(second) and again.space_ == space
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.node_scores(X), model.node_scores(X))
    assert again.score(X, y) == model.score(X, y)


def test_path_partial_fit_and_weights(rng):
    X, y = leaf_data(rng)
    path = svm(hierarchy=TREE).path(X, y, [0.01, 1.0], cv=3)
    assert len(path.results) == 2
    online = svm(hierarchy=TREE, solver="sgd")
    for _ in range(5):
        online.partial_fit(X[:30], y[:30], n_total=60)
        online.partial_fit(X[30:], y[30:], n_total=60)
    assert online.score(X, y) > 0.9 and set(online.classes_) == set(y)
    named = svm(solver="sgd").partial_fit(X, y, classes=sorted(set(y)), n_total=60)
    assert named.space_ == "leaf"
    with pytest.raises(ValueError, match="must know all labels"):
        svm(solver="sgd").partial_fit(X, y, n_total=60)
    weight = np.where(y == "owl", 0.0, 1.0)
    weighted = svm(hierarchy=TREE).fit(X, y, sample_weight=weight)
    rest = weight > 0
    assert weighted.score(X, y, sample_weight=weight) == weighted.score(X[rest], y[rest])
    stopped = svm(hierarchy=TREE, scoring="hierarchical_f1").fit(X, y, eval_set=(X, y))
    assert stopped.result_.validation_measure == "hierarchical_f1"


def test_sparse_and_missing_rows(rng):
    X, y = leaf_data(rng)
    dense = svm(hierarchy=TREE, tol=1e-3).fit(X, y)
    sparse = svm(hierarchy=TREE, tol=1e-3).fit(sp.csr_matrix(X), y)
    assert dense.result_.dual <= sparse.result_.primal + 1e-9
    assert sparse.result_.dual <= dense.result_.primal + 1e-9
    X[0, 0] = np.nan
    model = svm(hierarchy=TREE).fit(X, y)
    assert model.coef_.shape == (6, 3) and len(model.predict(X)) == len(X)
    with pytest.raises(ValueError, match="NaN"):
        svm(hierarchy=TREE, missing="error").fit(X, y)


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"hierarchy": [("a", "b"), ("b", "a")]}, None, "cycle: 'b' < 'a' < 'b'"),
        ({"hierarchy": [(1, 0), ("1", 0)]}, None, "look alike"),
        ({"hierarchy": {"pet": ["cat", "dog"]}}, None, "which is no node of the hierarchy"),
        ({"hierarchy": {"cat": "pet", "dog": None}}, None, "'cat' has the parent 'pet'"),
        ({"hierarchy": TREE}, ["cat"] * 60, "only one class, 'cat'"),
        ({"hierarchy": TREE, "space": "leaf"}, ["cat", "pet"] * 30, "space='path'"),
        ({"hierarchy": TREE, "space": "paths"}, [{"cat"}, set()] * 30, "is empty.*'closed'"),
        ({"hierarchy": TREE, "space": "forest"}, None, "space='forest' is not known"),
        ({"hierarchy": TREE, "alpha": "most"}, None, "alpha='most' is not known"),
        ({"hierarchy": TREE, "alpha": [1.0, 2.0]}, None, "alpha"),
        ({"hierarchy": TREE, "alpha": [-1.0] * 6}, None, "alpha"),
        ({"hierarchy": TREE, "alpha": {"cat": 1.0}}, None, "array of numbers, one .* got {'cat'"),
        ({"hierarchy": TREE, "surrogate": "micro_f1"}, None, "HierarchySVM with model='nodes' and"),
        (
            {"hierarchy": DAG, "surrogate": "normalized", "space": "closed"},
            ["cat", "dog", "owl"] * 20,
            "have no profile: .* here node . has 2 parents. Surrogates that fit: margin, slack",
        ),
        ({"hierarchy": TREE, "rho": 1.0}, None, "rho must be"),
        ({"hierarchy": DAG, "alpha": "rho", "rho": 3.0}, ["cat", "dog", "owl"] * 20, "needs rho=2"),
        (
            {"hierarchy": DAG, "space": "closed", "cost": "path"},
            ["cat", "dog", "owl"] * 20,
            "'cat' has several par",
        ),
        ({"hierarchy": TREE, "merge": "yes"}, None, "merge must be True or False"),
        ({"hierarchy": TREE, "cost": "ap"}, None, "is no cost of"),
        ({"hierarchy": TREE, "separator": ""}, None, "separator must be text"),
        ({}, [["a", ""], ["", "b"]] * 30, "no level 1 but a level 2"),
        ({}, np.array([["a/x", "b"]] * 60), "contains the separator"),
        ({}, np.array([["a", "b"], ["a", "c"], ["", ""]] * 20), r"y\[2\] is empty.*'closed'"),
    ],
)
def test_bad_input_is_refused_before_any_work(rng, params, y, message):
    X, leaves = leaf_data(rng)
    with pytest.raises((ValueError, TypeError), match=message):
        svm(**params).fit(X, leaves if y is None else y)


@pytest.mark.parametrize("surrogate", ["margin", "slack", "log", "prob"])
def test_costs_that_no_search_goes_by_are_refused_by_name(rng, surrogate):
    X, _ = leaf_data(rng)
    sets = [{"cat", "owl"}, {"dog"}, {"owl"}] * 20
    options = {"hierarchy": DAG, "surrogate": surrogate, "space": "paths"}
    with pytest.raises(ValueError, match=r"'cat' has .*ZeroOne\(\) is not.*'node_hamming'"):
        svm(cost="zero_one", **options).fit(X, sets)
    for space in ("auto", "paths", "closed"):
        for hierarchy in (TREE, DAG):
            named = {**options, "space": space, "hierarchy": hierarchy}
            with pytest.raises(ValueError, match="ExampleF1 is no cost of") as caught:
                svm(cost="f1", **named).fit(X, [{"cat"}, {"dog"}] * 30)
            assert "f1," not in str(caught.value)


def test_paths_of_different_depths_are_one_tree(rng):
    X, y = leaf_data(rng)
    labels = np.where(y == "cat", "pet/cat/siamese", y)
    model = svm().fit(X, labels)
    assert model.hierarchy_.depth == 3 and model.space_ == "leaf"
    assert (model.predict(X) == labels).mean() > 0.95
    rows = [name.split("/") for name in labels]
    assert svm().fit(X, rows).predict(X)[0] == tuple(model.predict(X)[0].split("/"))


def test_alpha_that_does_not_sum_to_one_is_accepted_with_a_warning(rng):
    X, y = leaf_data(rng)
    with pytest.warns(UserWarning, match="not to 1"):
        model = svm(hierarchy=TREE, alpha=np.full(6, 0.9)).fit(X, y)
    assert (model.alpha_ == 0.9).all()


# -- nodes that are missed -------------------------------------------------------------------------


@pytest.mark.parametrize(("weight", "wanted"), [(1.0, False), (2.0, False), (4.0, True)])
def test_a_node_is_wanted_from_a_probability_on_that_missed_weight_tells(weight, wanted):
    X, y = np.ones((20, 1)), [{"cat"}] * 6 + [set()] * 14  # 1 / (1 + weight) is 1/2, 1/3, 1/5
    options = {"hierarchy": ["cat", "dog"], "space": "closed", "C": 10.0, "tol": 1e-4}
    model = svm(**options, missed_weight=weight).fit(X, y)
    assert set(model.predict(X)) == ({("cat",)} if wanted else {()})


@pytest.mark.parametrize("is_sparse", [False, True])
def test_missed_weight_weighs_the_losses_of_nodes(is_sparse, rng):
    """Without edges, the objective is a sum of hinges of single nodes, weighted where missed."""
    names = ["a", "b", "c"]
    cells = rng.random((40, 3)) < 0.4
    cells[:3] = np.eye(3)
    y = [set(np.array(names)[row].tolist()) for row in cells]
    X = rng.normal(size=(40, 4))
    rows = sp.csr_matrix(X) if is_sparse else X
    options = {"hierarchy": names, "space": "closed", "alpha": "none", "tol": 1e-5, "C": 0.5}
    model = svm(**options, missed_weight=3.0).fit(rows, y)
    scores = X @ model.coef_.T + model.intercept_
    hinges = np.where(cells, 3.0 * np.maximum(0, 1 - scores), np.maximum(0, 1 + scores))
    square = (model.coef_**2).sum() + (model.intercept_**2).sum()
    primal = square / (2 * 0.5 * 40) + hinges.sum() / 40
    assert model.result_.primal == pytest.approx(primal, rel=1e-9)
    assert model.result_.relative_gap <= 1e-5


def test_missed_weight_is_refused_where_it_has_no_meaning(rng):
    X, y, _ = set_data(rng, Hierarchy.of(DAG))
    sets = {"hierarchy": DAG, "missed_weight": 2.0}
    for options, words in (
        ({"space": "paths"}, "no programme"),
        ({"space": "closed", "cost": "zero_one"}, "sum over nodes"),
        ({"space": "closed", "surrogate": "micro_f1"}, "micro_f1"),
        ({"space": "closed", "model": "edges"}, "model='nodes'"),
        ({"space": "closed", "missed_weight": 0.0}, "missed_weight"),
    ):
        ends = (
            [{"cat"}, {"owl"}, {"dog"}, {"owl"}, {"dog"}] * 10 if options["space"] == "paths" else y
        )
        with pytest.raises(ValueError, match=words):
            svm(**{**sets, **options}).fit(X, ends)
    rows, leaves = leaf_data(rng)
    with pytest.raises(ValueError, match="one path"):
        svm(hierarchy=TREE, missed_weight=2.0).fit(rows, leaves)
