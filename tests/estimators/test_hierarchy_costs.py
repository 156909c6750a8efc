"""Costs of hierarchies go by the user's nodes, whichever of them a model has."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from maxmargin import Hierarchy, HierarchySVM, metrics
from maxmargin.core.contract import found_costs, true_parts
from maxmargin.costs import (
    ClassWeighted,
    CostMatrix,
    EdgeLoss,
    LeafHamming,
    NodeHamming,
    NormalizedHierarchical,
    TreeDistance,
)
from maxmargin.estimators.hierarchy.encoding import HierarchyOptions, HierarchyReader
from maxmargin.inputs.request import Request
from maxmargin.testing.enumerate import node_sets
from tests.hierarchies import random_shape

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:The least populated class"
)

TREE = Hierarchy.of({"r": ["pet", "wild"], "pet": ["cat", "dog"], "wild": ["fox", "owl", "rare"]})
#: "r" is above all labels, "rare" is none, and "pet" is above others.
LABELS = ["cat", "dog", "fox", "owl", "pet"]
SPACES = ["path", "paths", "closed"]


def random_hierarchy(rng, is_dag):
    """Return a hierarchy that mostly has one root, and labels that leave some of its nodes out."""
    shape = random_shape(rng, 5, is_dag)
    n = len(shape.parent_at) - 1
    edges = [
        (v + 1, int(p) + 1)
        for v in range(n)
        for p in shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]]
    ]
    if rng.random() < 0.7:
        edges += [(v + 1, 0) for v in range(n) if shape.parent_at[v] == shape.parent_at[v + 1]]
        edges += [(v + 1, 0) for v in range(n) if rng.random() < 0.2 and is_dag]
    return Hierarchy.from_edges(sorted(set(edges)), nodes=range(n + 1))


def learnt(hierarchy, y, space, cost, model="nodes"):
    """Return the reader that labels make, and the task with a cost."""
    options = HierarchyOptions(hierarchy, space, "/", "none", 2.0, False, True, model)
    X = np.zeros((len(y), 1))
    reader, labels = HierarchyReader.learn(y, len(y), options)
    return reader, reader.task(Request(X, y), X, labels, cost), labels.closed.toarray()


def random_case(rng, space, is_dag):
    """Return a hierarchy and labels of it, or None where these are all the same."""
    hierarchy = random_hierarchy(rng, is_dag)
    y = rng.integers(len(hierarchy), size=4).tolist()
    if space != "path":
        y = [{a, int(rng.integers(len(hierarchy)))} for a in y]
    closed = hierarchy.closures(y)[0].toarray()
    if (closed == closed[0]).all():
        return None
    return hierarchy, y


def all_costs(reader, task):
    """Yield example, closed set of the user's nodes, and cost, of all outputs."""
    space, parts = reader.space, true_parts(task.data)
    if space.has_one:
        outputs = [([k], space.closed_of([k])) for k in range(len(space.leaves))]
    else:
        sets = node_sets(space.shape, space.kind)
        outputs = [(flags, space.closed(flags[None])) for flags in sets]
    for cells, closed in outputs:
        if len(cells) < parts.lengths[0]:
            cells = np.append(cells, 1)  # the node of edge fields that is always on
        found = np.tile(cells, task.n_examples)
        costs = found_costs(task.cost, parts.lengths, parts.states, found)
        for i, cost in enumerate(costs.tolist()):
            yield i, closed.toarray()[0], cost


def weighted(weights):
    return lambda hierarchy, wrong: float(wrong @ weights)


def edge_loss(weights, root):
    def loss(hierarchy, wrong):
        edges = hierarchy.edges()
        has_parent = np.isin(np.arange(len(hierarchy)), edges[:, 0])
        below = wrong[edges[:, 0]] * (1 - wrong[edges[:, 1]])
        return float(root * (wrong * ~has_parent).sum() + below @ weights)

    return loss


def path_loss(hierarchy, wrong):
    n_wrong = hierarchy.ancestry.toarray() @ wrong
    return float((wrong * (n_wrong == 1)).sum())


@pytest.mark.parametrize("is_dag", [False, True])
@pytest.mark.parametrize("space", SPACES)
def test_tables_are_those_of_the_users_nodes(rng, space, is_dag):
    """Common roots and unseen nodes are not in a model, stops are: costs do not notice."""
    n_looked = 0
    for _ in range(25):
        case = random_case(rng, space, is_dag)
        if case is None:
            continue
        hierarchy, y = case
        weights = rng.integers(0, 9, size=len(hierarchy)).astype(float)
        edges = rng.integers(0, 9, size=len(hierarchy.edges())).astype(float)
        ones = np.ones(len(hierarchy))
        costs = [
            (NodeHamming(weights), weighted(weights)),
            (NodeHamming(), weighted(ones)),
            (EdgeLoss(weights=edges, root=3.0), edge_loss(edges, 3.0)),
            (EdgeLoss(), edge_loss(np.ones(len(edges)), 1.0)),
        ]
        if space == "path":
            costs.append((TreeDistance(scaled=False), weighted(ones)))
        else:
            named = dict(zip(hierarchy.nodes.tolist(), weights.tolist(), strict=True))
            known = learnt(hierarchy, y, space, NodeHamming())[0].space.names
            named = {name: named[name] for name in known.tolist()}
            costs.append((ClassWeighted(named), weighted(weights)))
        for cost, loss in costs:
            reader, task, truth = learnt(hierarchy, y, space, cost)
            n_looked += int(len(reader.space) != len(hierarchy))
            for i, own, found in all_costs(reader, task):
                wrong = np.abs(own - truth[i])
                assert found == pytest.approx(loss(hierarchy, wrong)), (cost, hierarchy.to_edges())
                if space == "path" and wrong.any() and cost == NodeHamming():
                    assert found > 0.0
    assert n_looked > 10


@pytest.mark.parametrize("is_dag", [False, True])
@pytest.mark.parametrize("model", ["edges", "paths"])
def test_tables_of_edge_fields_are_those_of_the_users_nodes(rng, model, is_dag):
    n_looked = 0
    for _ in range(15):
        case = random_case(rng, "closed", is_dag)
        if case is None:
            continue
        hierarchy, y = case
        weights = rng.integers(0, 9, size=len(hierarchy)).astype(float)
        edges = rng.integers(0, 9, size=len(hierarchy.edges())).astype(float)
        for cost, loss in (
            (NodeHamming(weights), weighted(weights)),
            (EdgeLoss(weights=edges, root=3.0), edge_loss(edges, 3.0)),
        ):
            reader, task, truth = learnt(hierarchy, y, "auto", cost, model)
            n_looked += int(len(reader.space) != len(hierarchy))
            for i, own, found in all_costs(reader, task):
                assert found == pytest.approx(loss(hierarchy, np.abs(own - truth[i])))
        mean = EdgeLoss(weights=edges, root=3.0, average="mean")
        _, averaged, _ = learnt(hierarchy, y, "auto", mean, model)
        total = (task.cost.node.sum() + task.cost.last.sum()) / task.n_examples
        if total > 0.0:
            np.testing.assert_allclose(averaged.cost.scale, 1.0 / total)
    assert n_looked > 5


def test_a_cost_of_weights_is_the_matrix_spelt_out(rng):
    X, y = rng.normal(size=(60, 2)), rng.choice(LABELS, size=60)
    price = {"r": 7, "pet": 10, "wild": 1, "cat": 1, "dog": 2, "fox": 1, "owl": 1, "rare": 5}
    weights = [price[name] for name in TREE.nodes]
    above = {name: set(TREE.above(name)) for name in LABELS}
    options = {"hierarchy": TREE, "space": "path", "alpha": "none", "tol": 1e-4, "max_iter": 300}
    model = HierarchySVM(cost=NodeHamming(weights), random_state=0, **options).fit(X, y)
    matrix = [
        [float(sum(price[n] for n in above[p] ^ above[q])) for q in model.classes_]
        for p in model.classes_
    ]
    spelt = HierarchySVM(cost=CostMatrix(matrix), random_state=0, **options).fit(X, y)
    assert model.result_.primal == spelt.result_.primal
    for wrong in (weights[:-1], [*weights, 1.0]):
        with pytest.raises(ValueError, match=r"one weight per node of the hierarchy, shape \(8,\)"):
            HierarchySVM(cost=NodeHamming(wrong), random_state=0, **options).fit(X, y)
    with pytest.raises(ValueError, match="has 2 numbers but the hierarchy has 7 edges"):
        HierarchySVM(cost=EdgeLoss(weights=[1, 2]), random_state=0, **options).fit(X, y)


def test_weights_of_all_nodes_fit_every_fold(rng):
    X, y = rng.normal(size=(30, 2)), rng.choice(["cat", "dog", "fox"], size=30).astype(object)
    y[0] = "rare"
    for cost in (NodeHamming(np.ones(8)), NormalizedHierarchical(np.full(8, 0.5))):
        model = HierarchySVM(hierarchy=TREE, cost=cost, tol=0.1, random_state=0)
        assert np.isfinite(cross_val_score(model, X, y, cv=3, error_score=np.nan)).all()


def test_given_alpha_is_that_of_the_norm(rng):
    y = LABELS * 2
    alpha = rng.random(len(TREE))
    _, task, _ = learnt(TREE, y, "path", NormalizedHierarchical(alpha))
    options = HierarchyOptions(TREE, "path", "/", alpha, 2.0, False, True)
    with pytest.warns(UserWarning, match="sum"):
        reader, labels = HierarchyReader.learn(y, len(y), options)
    X = np.zeros((len(y), 1))
    own = reader.task(Request(X, y), X, labels, NormalizedHierarchical())
    np.testing.assert_allclose(task.cost.matrix, own.cost.matrix)


def test_the_trained_distance_is_the_metric():
    reader, task, _ = learnt(TREE, LABELS, "path", TreeDistance(scaled=False))
    classes = reader.space.classes
    expected = [[metrics.tree_distance([a], [b], TREE) for b in classes] for a in classes]
    np.testing.assert_allclose(task.cost.matrix, expected)


@pytest.mark.parametrize("space", ["leaf", "path"])
def test_path_loss_of_one_place_in_a_dag(rng, space):
    n_differ = 0
    for _ in range(25):
        case = random_case(rng, "path", True)
        if case is None:
            continue
        hierarchy, y = case
        if space == "leaf" and not hierarchy.is_leaf[y].all():
            continue
        X = np.zeros((len(y), 1))
        model = HierarchySVM(hierarchy=hierarchy, space=space, cost="path", max_iter=1)
        task = model._encode(Request(X, y), reset=True)
        truth = hierarchy.closures(y)[0].toarray()
        for i, own, found in all_costs(model._reader, task):
            wrong = np.abs(own - truth[i])
            assert found == path_loss(hierarchy, wrong)
            n_differ += found != edge_loss(np.ones(len(hierarchy.edges())), 1.0)(hierarchy, wrong)
    assert n_differ > 0 or space == "leaf"


def test_a_leaf_of_all_labels_is_kept_where_no_output_is_empty(rng):
    X, y = rng.normal(size=(12, 2)), [{"cat"}, {"cat", "dog"}, {"cat", "owl"}] * 4
    model = HierarchySVM(hierarchy=TREE, space="paths", tol=0.1, random_state=0).fit(X, y)
    assert "cat" in model.nodes_ and all(model.predict(X))
    for same in ({"cat"}, {"cat", "owl"}, {"pet"}):
        with pytest.raises(ValueError, match="only one class"):
            HierarchySVM(hierarchy=TREE, space="paths").fit(X, [same] * 12)


def test_f1_counts_no_stops(rng):
    """Micro-F1 as a surrogate has the elements that the user's sets have."""
    from maxmargin.costs import micro_f1_criteria

    y = [{"cat", "fox"}, {"pet"}, {"dog", "owl"}]
    reader, task, truth = learnt(TREE, y, "paths", NodeHamming())
    table = micro_f1_criteria("micro_f1", task.data, task.cost, given=task.given)
    common = reader.space.always
    np.testing.assert_array_equal(table.base, -2.0 * (truth.sum(axis=1) - len(common)))
    assert not table.price[reader.space.is_stop].any()
    with pytest.raises(ValueError, match="has a cost of its own"):
        micro_f1_criteria("micro_f1", task.data, learnt(TREE, y, "paths", EdgeLoss())[1].cost)


@pytest.mark.parametrize("space", ["closed", "paths"])
@pytest.mark.parametrize("cost", [LeafHamming(), NodeHamming(TREE.nodes != "cat")])
def test_f1_takes_no_cost_to_which_some_nodes_are_free(space, cost, rng):
    """Only stops are no elements: a node whose price is 0 is one, and the cost another."""
    y = [{"cat", "fox"}, {"pet"}, {"dog", "owl"}] * 4
    model = HierarchySVM(hierarchy=TREE, space=space, cost=cost, surrogate="micro_f1")
    with pytest.raises(ValueError, match="has a cost of its own"):
        model.fit(rng.normal(size=(12, 2)), y)
