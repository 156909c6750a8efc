"""Hierarchies: every structure against the list of its outputs, on random trees and DAGs."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.core import contract as g
from maxmargin.core.predict import best_outputs
from maxmargin.core.problem import Problem
from maxmargin.costs import (
    CostMatrix,
    EdgeLoss,
    Hamming,
    LeafHamming,
    NodeHamming,
    NormalizedHierarchical,
    TreeDistance,
    ZeroOne,
    micro_f1_cost,
    tabulate,
)
from maxmargin.inference.hierarchy import hierarchy_shape
from maxmargin.inference.hierarchy.shape import all_ancestors, ancestors
from maxmargin.search import Angular, Profile
from maxmargin.search.choose import bind_search
from maxmargin.search.direct import Direct
from maxmargin.search.hull.rooms import HullThenList
from maxmargin.solvers import BlockFrankWolfe, run
from maxmargin.structures import (
    CutSets,
    PathSetsByProgram,
    RelaxedPathSets,
    TreeSets,
    node_sets_data,
    paths_data,
)
from maxmargin.structures.hierarchy.paths import label_gram
from maxmargin.structures.hierarchy.program import write_point
from maxmargin.structures.hierarchy.sets import read_set, write_difference
from maxmargin.surrogates import MarginRescaling, SlackRescaling
from maxmargin.testing import all_outputs, check_oracles, check_structure, optimum
from maxmargin.testing.enumerate import node_sets
from tests.hierarchies import random_shape, values

DIAMOND = hierarchy_shape(5, child=[1, 2, 3, 3, 4], parent=[0, 0, 1, 2, 2])


def random_sets(seed, space="closed", is_dag=False, n=3, alpha=None, relaxed=True):
    """Return data of sets, features dense or sparse by turns; None if the shape does not fit."""
    rng = np.random.default_rng(seed)
    shape = random_shape(rng, 5, is_dag)
    if is_dag and np.diff(shape.parent_at).max() < 2:
        return None
    X = rng.normal(size=(n, 2)).round(1)
    sets = rng.choice(node_sets(shape, space), size=n)
    alpha = rng.random(sets.shape[1]) if alpha == "random" else None
    form = sp.csr_matrix(X) if seed % 2 else X
    missed = 1.0 if is_dag and space == "paths" else (1.0, 2.5, 0.5)[seed % 3]
    options = {"space": space, "alpha": alpha, "missed_weight": missed, "relaxed": relaxed}
    return node_sets_data(form, sets, shape, **options)


def random_paths(seed, alpha=None, n=3):
    rng = np.random.default_rng(seed)
    shape = random_shape(rng, 6, is_dag=seed % 2 == 1)
    n_nodes = len(shape.parent_at) - 1
    own = rng.permutation(n_nodes)[: rng.integers(1, n_nodes + 1)]
    X = rng.normal(size=(n, 2)).round(1)
    weights = rng.random(n_nodes) if alpha == "random" else None
    form = sp.csr_matrix(X) if seed % 3 else X
    return paths_data(form, rng.integers(len(own), size=n), shape, own, alpha=weights)


# -- against the list of all outputs ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_paths_meet_the_contract(seed):
    data = random_paths(seed)
    rng = np.random.default_rng(seed)
    matrix = rng.random((data.n_labels, data.n_labels)) * (1.0 - np.eye(data.n_labels))
    costs = [ZeroOne(), TreeDistance(), NormalizedHierarchical(), CostMatrix(matrix), EdgeLoss()]
    cost = tabulate(costs[seed % 5], data, range(data.n_labels))
    check_structure(data, cost=cost, compile=False, max_examples=2)
    check_oracles(data, cost, max_examples=2)


@pytest.mark.parametrize("space", ["closed", "paths"])
@pytest.mark.parametrize("seed", range(8))
def test_sets_of_forests_meet_the_contract(space, seed):
    data = random_sets(seed, space)
    assert isinstance(data, TreeSets)
    weights = np.random.default_rng(seed).integers(0, 3, size=data.n_nodes)
    costs = [Hamming(), ZeroOne(), NodeHamming(weights), EdgeLoss(), Hamming("mean"), LeafHamming()]
    cost = tabulate(costs[seed % 6], data, range(data.n_nodes))
    check_structure(data, cost=cost, compile=False, max_examples=2)
    check_oracles(data, cost, max_examples=2)


@pytest.mark.parametrize("seed", range(12))
def test_closed_sets_of_dags_meet_the_contract(seed):
    data = random_sets(seed, is_dag=True)
    if data is None:
        return
    assert isinstance(data, CutSets)
    for cost in (Hamming(), LeafHamming(), ZeroOne(), EdgeLoss(root=0.5)):
        tables = tabulate(cost, data, range(data.n_nodes))
        check_structure(data, cost=tables, compile=False, max_examples=2)
        check_oracles(data, tables, max_examples=2)
    check_oracles(data, micro_f1_cost(data), max_examples=2)


@pytest.mark.parametrize("seed", range(6))
def test_slack_rescaling_of_closed_sets_of_dags_is_exact(seed):
    """The hull search goes on to the best set by the k best: losses are those of the list."""
    data = random_sets(seed, is_dag=True)
    if data is None:
        return
    assert isinstance(data, CutSets)
    cost = tabulate(Hamming(), data, range(data.n_nodes))
    psi = SlackRescaling()
    search = bind_search("auto", psi, data, cost)
    assert isinstance(search, HullThenList)
    n = len(data.node_at) - 1
    problem = Problem(data, cost, psi.compiled(), n, 0.1, search=search, compile=False)
    rng = np.random.default_rng(seed)
    for scale in (0.0, 0.3, 1.0, 3.0):
        w = scale * rng.normal(size=problem.n_weights)
        losses, bounds = problem.losses(w)
        np.testing.assert_allclose(losses, bounds, atol=1e-9)
        theta = g.workspace(data)[0]
        for i in range(n):
            g.potentials(data, i, w, 1.0, theta)
            best = max(
                (1.0 + g.margin_error(data, i, theta, y, 0)) * g.output_cost(data, cost, i, y, 0)
                for y in all_outputs(data, i)
            )
            assert losses[i] == pytest.approx(max(best, 0.0), abs=1e-9)


def test_what_sets_of_a_dag_do_not_have_is_refused_with_what_fits():
    closed = node_sets_data(np.eye(1), [[1, 0, 1, 0, 0]], DIAMOND)
    cost = tabulate(Hamming(), closed, range(5))
    with pytest.raises(ValueError, match=r"no profile: .* node 3 has 2 parents.* fit: .*hull"):
        bind_search(Profile(), SlackRescaling(), closed, cost)
    with pytest.raises(ValueError, match=r"'constrained', which CutSets .* fit: .*hull"):
        bind_search(Angular(), SlackRescaling(), closed, cost)
    paths = node_sets_data(np.eye(1), [[1, 0, 1, 0, 1]], DIAMOND, space="paths", relaxed=False)
    with pytest.raises(ValueError, match=r"no profile: .* node 3 has 2 parents.* fit: .*hull"):
        bind_search(Profile(), SlackRescaling(), paths, tabulate(Hamming(), paths, range(5)))


@pytest.mark.parametrize("seed", range(12))
def test_paths_of_dags_meet_the_contract(seed):
    data = random_sets(seed, "paths", is_dag=True, relaxed=False, n=2)
    if data is None:
        return
    assert isinstance(data, PathSetsByProgram)
    cost = tabulate(EdgeLoss() if seed % 2 else Hamming(), data, range(data.n_nodes))
    check_structure(data, cost=cost, compile=False, max_examples=1)


def edge_loss(shape, edge, root, y, truth):
    """Add up wrong roots, and wrong nodes below parents that are right, as the loss is defined."""
    total = 0.0
    for v in np.flatnonzero(y != truth):
        edges = range(shape.parent_at[v], shape.parent_at[v + 1])
        total += sum(edge[e] for e in edges if y[shape.parents[e]] == truth[shape.parents[e]])
        total += root if len(edges) == 0 else 0.0
    return total


@pytest.mark.parametrize("is_dag", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_edge_loss_is_that_of_its_definition(seed, is_dag):
    rng = np.random.default_rng(seed)
    shape = random_shape(rng, 6, is_dag)
    edge = rng.integers(0, 4, size=len(shape.parents)).astype(float)
    cost = EdgeLoss(weights=edge, root=2.5)
    sets = node_sets(shape, "closed")
    truth = rng.choice(sets, size=3)
    data = node_sets_data(np.zeros((3, 1)), truth, shape)
    table = tabulate(cost, data, range(data.n_nodes))
    cells = np.zeros(data.n_nodes + 1, dtype=np.int32)
    for i in range(3):
        for y in sets:
            write_difference(data, i, y, cells, 0)
            expected = edge_loss(shape, edge, 2.5, y, truth[i])
            assert g.output_cost(data, table, i, cells, 0) == pytest.approx(expected)
    own = np.arange(data.n_nodes)
    paths = paths_data(np.zeros((1, 1)), [0], shape, own)
    flags = np.array([np.isin(own, nodes) for nodes in all_ancestors(shape)]).astype(int)
    expected = [[edge_loss(shape, edge, 2.5, a, b) for a in flags] for b in flags]
    np.testing.assert_allclose(tabulate(cost, paths, own).matrix, expected, atol=1e-12)


def test_a_relaxed_edge_loss_is_that_of_sets_at_whole_points():
    shape = hierarchy_shape(5, child=[2, 2, 3, 4, 4], parent=[0, 1, 1, 2, 3])
    sets = node_sets(shape, "paths")
    data = node_sets_data(np.zeros((len(sets), 1)), sets, shape, space="paths")
    assert isinstance(data, RelaxedPathSets)
    edge = np.array([1.0, 2.0, 0.5, 3.0, 1.5])
    table = tabulate(EdgeLoss(weights=edge), data, range(5))
    cells = np.zeros(11)
    for i, truth in enumerate(sets):
        for y in sets:
            write_point(data, i, y.astype(float), cells, 0)
            expected = edge_loss(shape, edge, 1.0, y, truth)
            assert g.output_cost(data, table, i, cells, 0) == pytest.approx(expected)


# -- the norm --------------------------------------------------------------------------------------


def metric(data):
    """Return R^-1 of every weight: alpha of its node."""
    return np.tile(data.alpha, data.n_columns + data.has_bias)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", ["paths", "tree", "cut", "program", "relaxed_program"])
def test_alpha_multiplies_what_is_added(make, seed):
    """add_difference and add_parts add R^-1 phi; scores and margin errors do not change."""
    if make == "paths":
        data = random_paths(seed, "random")
    else:
        space = "closed" if make == "cut" else "paths"
        data = random_sets(seed, space, make != "tree", alpha="random", relaxed=make != "program")
    if data is None:
        return
    plain = _with_alpha(data, np.ones(data.n_nodes))
    n = int(g.n_weights(data))
    theta = g.workspace(data)[0]
    for y in all_outputs(data, 1):
        own, other = np.zeros((2, n))
        g.add_difference(data, 1, y, 0, 1.5, own)
        g.add_difference(plain, 1, y, 0, 1.5, other)
        np.testing.assert_allclose(own, metric(data) * other, atol=1e-12)
        mu = g.workspace(data)[0]
        g.parts(data, 1, y, 0, 1.0, mu)
        own, other = np.zeros((2, n))
        g.add_parts(data, 1, mu, 1.0, own)
        g.add_parts(plain, 1, mu, 1.0, other)
        np.testing.assert_allclose(own, metric(data) * other, atol=1e-12)
        g.difference_potentials(data, 1, y, 0, np.zeros(n), theta)
        for z in all_outputs(data, 1):
            left, right = np.zeros((2, n))
            g.add_difference(plain, 1, y, 0, 1.0, left)
            g.add_difference(plain, 1, z, 0, 1.0, right)
            product = (left * metric(data)) @ right
            assert g.margin_error(data, 1, theta, z, 0) == pytest.approx(-product, abs=1e-10)


def _with_alpha(data, alpha):
    if isinstance(data, tuple):
        return data._replace(alpha=alpha)
    other = object.__new__(type(data))
    vars(other).update(vars(data), alpha=alpha)
    return other


@pytest.mark.parametrize("seed", range(6))
def test_the_gram_of_labels(seed):
    data = random_paths(seed, "random")
    phi = np.zeros((data.n_labels, int(g.n_weights(data))))
    for own, mass in zip(phi, np.eye(data.n_labels), strict=True):
        g.add_listed(data._replace(alpha=np.ones(data.n_nodes)), 0, mass, 1.0, own)
    square = g.row_product(data.features, 0, 0) + 1
    expected = (phi * metric(data)) @ phi.T
    np.testing.assert_allclose(square * label_gram(data), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_lists_of_labels(seed):
    """few_scores, add_few and list_values agree with potentials and add_difference."""
    data = random_paths(seed, "random")
    rng = np.random.default_rng(seed)
    w = rng.normal(size=int(g.n_weights(data)))
    theta = g.workspace(data)[0]
    g.potentials(data, 1, w, 1.0, theta)
    some = np.zeros((2, data.n_labels), dtype=np.int32)
    some[1] = rng.permutation(data.n_labels)
    scores = np.zeros(data.n_labels)
    g.few_scores(data, 1, some, data.n_labels, w, scores)
    np.testing.assert_allclose(scores, theta.scores[0, some[1]], atol=1e-12)
    mass = rng.normal(size=data.n_labels)
    few, listed = np.zeros((2, len(w)))
    g.add_few(data, 1, some, data.n_labels, mass[some[1]], 2.0, few)
    g.add_listed(data, 1, mass, 2.0, listed)
    np.testing.assert_allclose(few, listed, atol=1e-12)
    cost = tabulate(TreeDistance(scaled=False), data, range(data.n_labels))
    found = np.zeros((2, data.n_labels))
    g.list_values(data, cost, 1, theta, found[0], found[1])
    truth = data.labels[1]
    sets = [set(data.nodes[a:b]) for a, b in zip(data.node_at, data.node_at[1:], strict=False)]
    expected = [len(sets[truth] ^ own) for own in sets]
    np.testing.assert_allclose(found[1], expected)
    np.testing.assert_allclose(found[0], expected + theta.scores[0] - theta.scores[0, truth])


# -- outputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("space", ["closed", "paths"])
def test_outputs_are_what_differs_from_the_truth(space, seed):
    data = random_sets(seed, space)
    for i in range(3):
        cells = np.zeros(data.n_nodes + 1, dtype=np.int32)
        for y in node_sets_of(data, space):
            write_difference(data, i, y, cells, 0)
            assert (read_set(data, i, cells, 0) == y).all()
            length = int(g.output_length(data, i, cells, 0))
            assert g.are_outputs(data, np.array([i]), cells[:length], np.array([length])).all()


def node_sets_of(data, space):
    child = np.flatnonzero(data.parent >= 0)
    return node_sets(hierarchy_shape(data.n_nodes, child, data.parent[child]), space)


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [2, 4],  # another length than it says
        [1, 5],  # no node
        [1, -7],
        [1, 0],  # in the truth already
        [1, -5],  # not in the truth
        [2, 4, 3],  # not in order
        [2, 3, 3],
        [1, -1],  # the parent of a true node
    ],
)
def test_what_is_no_output_is_noticed(cells):
    data = node_sets_data(np.eye(1), [[1, 0, 1, 0, 0]], DIAMOND)
    cells = np.array(cells, dtype=np.int32)
    assert not g.are_outputs(data, np.array([0]), cells, np.array([len(cells)])).any()
    good = np.array([1, 4], dtype=np.int32)
    assert g.are_outputs(data, np.array([0]), good, np.array([2])).all()


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [1.0, 2.0],
        [1.0, 0.5, 1.0],
        [1.0, 5.0, 0.5],
        [2.0, 4.0, -1.0, 3.0, 0.5],
        [1.0, 4.0, np.nan],
        [1.0, 3.0, 0.5],  # above its parent
        [1.0, 4.0, -0.5],  # the leaves add up to less than 1
    ],
)
def test_what_is_no_point_is_noticed(cells):
    data = node_sets_data(np.eye(1), [[1, 0, 1, 0, 1]], DIAMOND, space="paths")
    cells = np.array(cells)
    assert not g.are_outputs(data, np.array([0]), cells, np.array([len(cells)])).any()
    good = np.zeros(11)
    write_point(data, 0, np.array([1.0, 0.5, 0.5, 0.5, 0.5]), good, 0)
    length = int(g.output_length(data, 0, good, 0))
    assert g.are_outputs(data, np.array([0]), good[:length], np.array([length])).all()


# -- the relaxation --------------------------------------------------------------------------------


def rows_of_paths(shape):
    """Return A and b of the relaxation A z <= b, written down apart from the programme."""
    n = len(shape.parent_at) - 1
    rows, right = [], []
    for v in range(n):
        above = shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]]
        below = shape.children[shape.child_at[v] : shape.child_at[v + 1]]
        for p in above:
            rows.append(np.eye(n)[v] - np.eye(n)[p])
            right.append(0.0)
        if len(below):
            rows.append(np.eye(n)[v] - np.eye(n)[below].sum(axis=0))
            right.append(0.0)
        rows += [np.eye(n)[v], -np.eye(n)[v]]
        right += [1.0, 0.0]
    for ends in (np.diff(shape.child_at) == 0, np.diff(shape.parent_at) == 0):
        rows.append(-ends.astype(float))
        right.append(-1.0)
    return np.array(rows), np.array(right)


def relaxed_optimum(X, sets, shape, lam, alpha):
    """Return the least value of the relaxed problem by a QP that has the dual of each programme.

    max_z r.z, A z <= b is min_v b.v, v >= 0, A'v = r, and r = X w + price is affine in w.
    """
    A, b = rows_of_paths(shape)
    n, d = X.shape
    m, k = A.shape
    features = np.hstack([X, np.ones((n, 1))])
    n_w, n_v = (d + 1) * k, n * m
    P = sp.diags(np.concatenate([lam / np.tile(alpha, d + 1), np.zeros(n_v)])).tocsc()
    q, rows, right = np.zeros(n_w + n_v), [], []
    constant = 0.0
    for i in range(n):
        scores = sp.kron(sp.csr_matrix(features[i]), sp.eye(k))  # (k, n_w): scores of nodes
        price = np.where(sets[i] == 1, -1.0, 1.0)
        block = sp.lil_matrix((k, n_w + n_v))
        block[:, :n_w] = -scores
        block[:, n_w + i * m : n_w + (i + 1) * m] = A.T
        rows.append(block.tocsr())
        right.append(price)
        q[n_w + i * m : n_w + (i + 1) * m] = b / n
        q[:n_w] -= np.asarray((sp.csr_matrix(sets[i].astype(float)) @ scores).todense())[0] / n
        constant += sets[i].sum() / n
    positive = sp.hstack([sp.csr_matrix((n_v, n_w)), -sp.eye(n_v)])
    A_all = sp.vstack([*rows, positive]).tocsc()
    b_all = np.concatenate([*right, np.zeros(n_v)])
    options = clarabel.DefaultSettings()
    options.verbose = False
    cones = [clarabel.ZeroConeT(n * k), clarabel.NonnegativeConeT(n_v)]
    return clarabel.DefaultSolver(P, q, A_all, b_all, cones, options).solve().obj_val + constant


def test_the_certificate_of_the_relaxation_brackets_its_optimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 2))
    sets = rng.choice(node_sets(DIAMOND, "paths"), size=5)
    lam, alpha = 0.02, np.ones(5)
    data = node_sets_data(X, sets, DIAMOND, space="paths", alpha=alpha)
    assert isinstance(data, RelaxedPathSets)
    cost = tabulate(Hamming(), data, range(5))
    psi = MarginRescaling().compiled()
    problem = Problem(data, cost, psi, 5, lam, search=Direct(1.0, 1.0))
    result, _ = run(problem, BlockFrankWolfe(), rng=rng, tol=1e-5, max_iter=2000)
    best = relaxed_optimum(X, sets, DIAMOND, lam, alpha)
    assert result.status == "converged"
    assert result.dual - 1e-6 <= best <= result.primal + 1e-6
    # The optimum over sets alone is lower, since there are fewer outputs.
    integral = node_sets_data(X, sets, DIAMOND, space="paths", relaxed=False)
    exact = Problem(integral, cost, psi, 5, lam, compile=False, search=Direct(1.0, 1.0))
    assert optimum(exact).lower <= best + 1e-6
    losses = problem.losses(result.w)[0], exact.losses(result.w)[0]
    assert (losses[0] >= losses[1] - 1e-7).all()


# -- prediction ------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", ["closed", "paths"])
def test_sets_are_predicted_without_truths(space):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(20, 2)), rng.normal(size=15)
    data = node_sets_data(X, None, DIAMOND, space=space, relaxed=False)
    free = tabulate(Hamming(), data, range(5))
    cells, _ = best_outputs(data, w, free)
    sets = node_sets(DIAMOND, space)
    for i, own in enumerate(cells.reshape(20, 6)):
        y = read_set(data, i, own, 0)
        scores = np.append(X[i], 1.0) @ w.reshape(3, 5)
        assert (sets == y).all(axis=1).any()
        assert values(y[None], scores)[0] == pytest.approx(values(sets, scores).max())


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sets", "options", "message"),
    [
        ([[0, 1, 0, 0, 0]], {}, "sample 0 holds a child of node 0, but not node 0"),
        ([[1, 1, 0, 1, 0]], {}, "sample 0 holds a child of node 2"),
        ([[2, 0, 0, 0, 0]], {}, "zeros and ones"),
        ([[1, 0, 0, 0]], {}, r"5 columns, one per node; got shape \(1, 4\)"),
        ([[0] * 5], {"space": "paths"}, "sample 0 is empty"),
        ([[1, 0, 1, 0, 0]], {"space": "paths"}, "ends at node 2, which is no leaf"),
        ([[0] * 5], {"space": "leaf"}, "space must be one of closed, paths"),
        ([[0] * 5], {"alpha": [1.0]}, r"alpha must have one weight per node, shape \(5,\)"),
        ([[0] * 5], {"alpha": [1, 1, -1, 1, 1]}, r"alpha\[2\] is -1"),
    ],
)
def test_sets_that_do_not_fit_are_refused(sets, options, message):
    for form in (np.array(sets), sp.csr_matrix(sets)):
        with pytest.raises(ValueError, match=message):
            node_sets_data(np.eye(1), form, DIAMOND, **options)


@pytest.mark.parametrize(
    ("labels", "nodes", "message"),
    [
        ([0], [5], "different nodes from 0 to 4"),
        ([0], [1, 1], "different nodes"),
        ([2], [3, 4], "Labels must be encoded as 0 to 1"),
        ([0], [], "one per label"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, nodes, message):
    with pytest.raises(ValueError, match=message):
        paths_data(np.eye(1), labels, DIAMOND, np.array(nodes, dtype=int))


def test_labels_of_a_dag_have_all_nodes_above():
    data = paths_data(np.eye(1), [0], DIAMOND, [3, 1])
    assert data.nodes.tolist() == [0, 1, 2, 3, 0, 1]
    assert (np.flatnonzero(ancestors(DIAMOND, [3])) == data.nodes[:4]).all()
    parts = g.true_parts(data)
    assert parts.hierarchy.is_leaf.tolist() == [False, False, False, True, True]
