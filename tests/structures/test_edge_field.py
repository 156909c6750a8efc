"""Edge fields of hierarchies: scores, costs and oracles against the list of all sets of nodes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.core.contract import (
    are_outputs,
    connect,
    maximize,
    maximize_bounded,
    n_weights,
    output_cost,
    potentials,
    truths,
    workspace,
)
from maxmargin.core.contract import margin_error as error_of
from maxmargin.core.problem import Problem
from maxmargin.costs import EdgeLoss, Hamming, tabulate
from maxmargin.features import RepeatedRows
from maxmargin.inference.hierarchy.shape import ancestors, hierarchy_shape
from maxmargin.search.direct import Direct
from maxmargin.solvers import BlockFrankWolfe, run
from maxmargin.structures import (
    ForestGraphs,
    GeneralGraphs,
    PathFields,
    RelaxedGraphs,
    edge_field_cost,
    edge_field_data,
    node_indicators,
)
from maxmargin.structures.hierarchy.edge_field import edge_blocks, field_edges
from maxmargin.structures.hierarchy.edge_field_costs import FIELD_COSTS
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing import all_outputs, check_oracles, check_structure, optimum

#: A tree of three levels beside a root without children.
TREE = hierarchy_shape(5, child=[1, 2, 3], parent=[0, 1, 1])
DAG = hierarchy_shape(4, child=[1, 2, 3, 3], parent=[0, 0, 1, 2])
#: A node with more above it than a partial path of a DAG may have.
WIDE = hierarchy_shape(11, child=[10] * 10, parent=range(10))


def closed_sets(shape):
    n_nodes = len(shape.parent_at) - 1
    rows = np.array(list(itertools.product([0, 1], repeat=n_nodes)))
    return rows[[(ancestors(shape, np.flatnonzero(row)) == row).all() for row in rows]]


def drawn(rng, shape, n=3, consistent=True, form=np.asarray, **options):
    n_nodes = len(shape.parent_at) - 1
    known = closed_sets(shape)
    sets = known[rng.integers(len(known), size=n)] if consistent else None
    if sets is None:
        sets = rng.integers(2, size=(n, n_nodes))
    X = form(rng.normal(size=(n, 2)).round(2))
    return edge_field_data(shape, X, sets, consistent=consistent, **options), X, sets


def test_scores_are_those_that_are_written_down(rng):
    data, X, sets = drawn(rng, TREE, paths=True)
    w = rng.normal(size=int(n_weights(data)))
    theta, _ = workspace(data)
    blocks = edge_blocks(data, w)
    edges = field_edges(TREE)
    assert blocks.shape == (5, 3, 2, 2) and edges.tolist() == [
        [5, 0], [0, 1], [1, 2], [1, 3], [5, 4]
    ]  # fmt: skip
    paths = [(0, 1, 2), (0, 1, 3)]
    own = w[blocks.size :].reshape(2, 3, 8)  # a cell of a path is a number in base 2
    for i in range(len(X)):
        potentials(data, i, w, 1.0, theta)
        x = np.append(X[i], 1.0)

        def score(y, x=x):
            on = np.append(y, 1)
            total = sum(
                x @ block[:, on[p], on[c]] for block, (p, c) in zip(blocks, edges, strict=True)
            )
            for block, (a, b, c) in zip(own, paths, strict=True):
                total += x @ block[:, 4 * on[a] + 2 * on[b] + on[c]]
            return total

        for cells in all_outputs(data, i):
            found = error_of(data, i, theta, cells, 0)
            y = node_indicators(data, cells)[0]
            assert found == pytest.approx(score(y) - score(sets[i]))


@pytest.mark.parametrize("shape", [TREE, DAG], ids=["tree", "dag"])
def test_consistent_outputs_are_the_closed_sets(shape, rng):
    data, _, sets = drawn(rng, shape)
    known = closed_sets(shape)
    rows = all_outputs(data, 0)
    assert sorted(node_indicators(data, rows).tolist()) == known.tolist()
    assert node_indicators(data, truths(data)).tolist() == sets.tolist()
    every = np.array(list(itertools.product([0, 1], repeat=rows.shape[1])))
    told = are_outputs(
        data, np.zeros(len(every), int), every.reshape(-1), np.full(len(every), rows.shape[1])
    )
    assert every[told].tolist() == sorted(rows.tolist())
    free, _, _ = drawn(rng, shape, consistent=False)
    assert len(all_outputs(free, 0)) == 2 ** (len(shape.parent_at) - 1)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("consistent", [True, False])
@pytest.mark.parametrize("name", FIELD_COSTS)
def test_trees_are_exact(name, consistent, form, rng):
    data, _, _ = drawn(rng, TREE, consistent=consistent, form=form)
    assert isinstance(data, ForestGraphs)
    if name == "path" and not consistent:
        with pytest.raises(ValueError, match=r"cost='path' needs partial paths \(paths=True\)"):
            edge_field_cost(data, name)
        return
    cost = edge_field_cost(data, name)
    check_structure(data, cost=cost, compile=False, max_examples=2)
    check_oracles(data, cost, max_examples=2)


def test_random_hierarchies_are_solved(rng):
    """Trees, forests and DAGs, single nodes, ties; consistent or not, with partial paths or not."""
    for trial in range(800):
        n_nodes = int(rng.integers(1, 6))
        most = 1 + trial % 2  # of parents
        pairs = [
            (v, p)
            for v in range(1, n_nodes)
            for p in rng.permutation(v)[: rng.integers(0, most + 1)]
        ]
        shape = hierarchy_shape(n_nodes, [v for v, _ in pairs], [p for _, p in pairs])
        consistent, paths = bool(trial % 3), trial % 5 < 2
        data, _, _ = drawn(rng, shape, 1, consistent, paths=paths)
        cost = edge_field_cost(data, ("path" if paths else "edge", "hamming")[trial % 4 // 2])
        theta, room = workspace(data)
        connect(room, cost)
        w = rng.normal(size=int(n_weights(data)))
        potentials(data, 0, np.rint(w) if trial % 2 else w, 1.0, theta)
        cells = np.zeros(n_nodes + 1, dtype=np.int32)
        bound = maximize_bounded(data, cost, 0, theta, room, 1.0, 1.0, cells, 0)
        values = [
            error_of(data, 0, theta, y, 0) + output_cost(data, cost, 0, y, 0)
            for y in all_outputs(data, 0)
        ]
        found = error_of(data, 0, theta, cells, 0) + output_cost(data, cost, 0, cells, 0)
        assert bound >= max(values) - 1e-9
        assert found == pytest.approx(max(values))


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        (DAG, {}),
        (DAG, {"paths": True}),
        (TREE, {"paths": True}),
        (TREE, {"paths": True, "consistent": False}),
    ],
)
@pytest.mark.parametrize("name", ["hamming", "edge"])
def test_others_are_solved(name, shape, options, rng):
    data, _, _ = drawn(rng, shape, **options)
    assert isinstance(data, GeneralGraphs if shape is DAG else PathFields)
    cost = edge_field_cost(data, name)
    check_structure(data, cost=cost, compile=False, max_examples=2)
    check_oracles(data, cost, max_examples=2)


@pytest.mark.parametrize("consistent", [True, False])
def test_any_mistake_may_cost_the_same(consistent, rng):
    data, _, _ = drawn(rng, TREE, paths=True, consistent=consistent)
    cost = edge_field_cost(data, "zero_one")
    check_structure(data, cost=cost, compile=False, max_examples=2)
    check_oracles(data, cost, max_examples=2)


def test_fixed_nodes_stay(rng):
    fixed = np.full((2, 5), -1)
    fixed[0, [1, 4]] = 1, 0
    data = edge_field_data(TREE, rng.normal(size=(2, 2)), None, fixed=fixed)
    for i, known in enumerate(fixed):
        theta, room = workspace(data)
        potentials(data, i, rng.normal(size=int(n_weights(data))), 1.0, theta)
        cells = np.zeros(6, dtype=np.int32)
        maximize(data, edge_field_cost(data), i, theta, room, 1.0, 0.0, cells, 0)
        allowed = [row for row in closed_sets(TREE) if (row == known)[known >= 0].all()]
        assert node_indicators(data, cells)[0].tolist() in [row.tolist() for row in allowed]
        assert len(all_outputs(data, i)) == len(allowed)


def test_relaxed_fields_bound_all_sets(rng):
    data, _, sets = drawn(rng, DAG, relaxed=True)
    integral = edge_field_data(DAG, rng.normal(size=(3, 2)), sets)
    assert isinstance(data, RelaxedGraphs)
    theta, room = workspace(data)
    for name in ("hamming", "edge"):
        cost = edge_field_cost(data, name)
        for scale, share in ((1.0, 1.0), (0.0, 1.0), (2.0, 0.3)):
            potentials(data, 0, rng.normal(size=int(n_weights(data))), 1.0, theta)
            cells = np.zeros(1 + 2 * (len(theta.unary) + len(theta.tables)))
            bound = maximize_bounded(data, cost, 0, theta, room, scale, share, cells, 0)
            best = max(
                scale * error_of(integral, 0, theta, y, 0)
                + share * output_cost(integral, cost, 0, y, 0)
                for y in all_outputs(integral, 0)
            )
            found = scale * error_of(data, 0, theta, cells, 0)
            found += share * output_cost(data, cost, 0, cells, 0)
            assert are_outputs(data, np.zeros(1, int), cells[: 1 + 2 * int(cells[0])], [
                1 + 2 * int(cells[0])
            ]).all()  # fmt: skip
            assert bound >= best - 1e-9
            assert found >= best - 0.05 * (1.0 + abs(best))


# -- costs ---------------------------------------------------------------------------------------


def written_down(shape, weights, name, truth, y):
    """Return the losses of paper 002 with the term of the roots, one node after the other."""
    wrong = truth != y
    total = 0.0
    for v in range(len(truth)):
        parents = shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]]
        above = ancestors(shape, [v])
        above[v] = False
        if name == "hamming":
            total += weights[v] * wrong[v]
        elif name == "edge":
            n_right = sum(not wrong[p] for p in parents) if len(parents) else 1
            total += weights[v] * wrong[v] * n_right
        else:
            total += weights[v] * (wrong[v] and not wrong[above].any())
    return total


@pytest.mark.parametrize("average", ["sum", "mean"])
@pytest.mark.parametrize(
    ("shape", "options", "names"),
    [
        (TREE, {}, ["hamming", "edge", "path"]),
        (DAG, {}, ["hamming", "edge"]),
        (DAG, {"paths": True}, ["hamming", "edge", "path"]),
        (DAG, {"paths": True, "consistent": False}, ["hamming", "edge", "path"]),
        (TREE, {"paths": True, "consistent": False}, ["hamming", "edge", "path"]),
        (hierarchy_shape(3, [1], [0]), {"consistent": False}, ["hamming", "edge", "path"]),
    ],
)
def test_costs_are_those_that_are_written_down(shape, options, names, average, rng):
    data, _, sets = drawn(rng, shape, **options)
    weights = rng.integers(1, 4, size=sets.shape[1]).astype(float)
    for name in names:
        cost = edge_field_cost(data, name, weights, average)
        total = weights.sum()
        if name == "edge":
            total = sum(weights[c] for _, c in field_edges(shape))
        for i in range(len(sets)):
            for cells in all_outputs(data, i):
                y = node_indicators(data, cells)[0]
                wanted = written_down(shape, weights, name, sets[i], y)
                wanted /= total if average == "mean" else 1.0
                assert output_cost(data, cost, i, cells, 0) == pytest.approx(wanted)


def test_plain_costs_are_those_of_fields(rng):
    """The node that is always on is never wrong, so costs of graphs need not know of it."""
    data, _, _ = drawn(rng, TREE)
    for plain, name in ((Hamming(), "hamming"), (EdgeLoss(), "edge")):
        tables, own = tabulate(plain, data, [0, 1]), edge_field_cost(data, name)
        for cells in all_outputs(data, 0):
            assert output_cost(data, tables, 0, cells, 0) == output_cost(data, own, 0, cells, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: edge_field_data(TREE, np.eye(1), [[0, 1, 0, 0, 0]]), "holds node 1 but not its"),
        (lambda: edge_field_data(TREE, np.eye(2), [[0] * 5]), r"sets must have the shape \(2, 5\)"),
        (lambda: edge_field_data(TREE, np.eye(1), [[2] * 5]), "sets must hold zeros and ones"),
        (
            lambda: edge_field_data(WIDE, np.eye(1), [[0] * 11], paths=True),
            "at most 10 nodes on a partial path; node 10 has 10 above it",
        ),
        (
            lambda: edge_field_cost(edge_field_data(TREE, np.eye(1), None), "f1"),
            "cost='f1' is no cost of edge fields: hamming, zero_one, edge, path",
        ),
        (
            lambda: edge_field_cost(edge_field_data(TREE, np.eye(1), None), weights=[1.0]),
            "weights must hold 5 finite numbers >= 0",
        ),
        (
            lambda: edge_field_cost(edge_field_data(DAG, np.eye(1), None), "path"),
            "cost='path' needs partial paths",
        ),
        (
            lambda: edge_field_data(TREE, np.eye(1), [[0] * 5], fixed=[[1, -1, -1, -1, -1]]),
            r"fixed\[0, 0\] is 1, but sets\[0, 0\] is 0",
        ),
        (
            lambda: edge_field_data(TREE, np.eye(1), None, fixed=[[2] * 5]),
            r"fixed must hold 1, 0 or -1 and have the shape \(1, 5\)",
        ),
        (lambda: RepeatedRows(np.eye(2), [0, 2]), "of must name rows from 0 to 1"),
        (lambda: RepeatedRows(np.eye(2), [0.5]), "of must be a sequence of numbers of rows"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_rows_are_not_copied(rng):
    X = rng.normal(size=(7, 3))
    data = edge_field_data(TREE, X, None)
    assert np.shares_memory(data.graphs.edges.rows.values, X)
    assert data.graphs.edges.row_of.tolist() == np.repeat(np.arange(7), 5).tolist()


# -- training ------------------------------------------------------------------------------------


def problem(data, cost, n, **options):
    psi = MarginRescaling().compiled()
    return Problem(data, cost, psi, n, 0.1, search=Direct(1.0, 1.0), **options)


@pytest.mark.parametrize("name", ["hamming", "edge"])
def test_a_field_is_trained_to_its_optimum(name, rng):
    data, _, _ = drawn(rng, TREE, n=4)
    fit = problem(data, edge_field_cost(data, name), 4, compile=name == "edge")
    best = optimum(problem(data, edge_field_cost(data, name), 4, compile=False))
    result, _ = run(fit, BlockFrankWolfe(), rng=np.random.default_rng(0), tol=1e-4, max_iter=500)
    assert result.status == "converged"
    assert best.lower - 1e-9 <= result.primal and result.dual <= best.upper + 1e-9
