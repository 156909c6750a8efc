"""Weights of the nodes of a hierarchy: closed forms against programmes, and what chapter 6 says."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from maxmargin.inference.hierarchy.shape import hierarchy_shape
from maxmargin.regularizers.hierarchy import (
    alpha_weights,
    hierarchy_paths,
    path_matrix,
    path_sums,
    shared_dual_norm,
    shared_norm,
    shared_square,
    shared_weights,
)


def random_shape(rng, is_tree, n_nodes=None):
    """Return a random forest or directed acyclic graph, and its leaves."""
    n_nodes = int(rng.integers(2, 14)) if n_nodes is None else n_nodes
    child, parent = [], []
    for v in range(1, n_nodes):
        most = 1 if is_tree else int(rng.integers(1, 4))
        for p in rng.choice(v, size=min(most, v), replace=False):
            if rng.random() < 0.9:
                child.append(v)
                parent.append(int(p))
    shape = hierarchy_shape(n_nodes, child, parent)
    return shape, np.flatnonzero(np.diff(shape.child_at) == 0)


def cases(n, is_tree, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < n:
        shape, leaves = random_shape(rng, is_tree)
        if len(leaves) >= 2:
            found.append((shape, leaves, rng))
    return found


def conic(P, q, A, b, cones):
    """Return the solution of min x.P x/2 + q.x with b - A x in cones."""
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    answer = clarabel.DefaultSolver(
        sp.csc_matrix(P), q, sp.csc_matrix(A), b, cones, options
    ).solve()
    assert str(answer.status) in ("Solved", "AlmostSolved")
    return np.array(answer.x)


def powers_by_program(paths, rho):
    """Return the alpha of least sum alpha^rho with path sums 1, by clarabel."""
    A = paths.matrix.toarray()
    K, M = A.shape
    # Variables (a, t) with t >= a^rho, that is (t, 1, a) in the power cone of 1/rho.
    rows = [np.hstack([A, np.zeros((K, M))])]
    b = [np.ones(K)]
    cones = [clarabel.ZeroConeT(K)]
    rows.append(np.hstack([-np.eye(M), np.zeros((M, M))]))
    b.append(np.zeros(M))
    cones.append(clarabel.NonnegativeConeT(M))
    for n in range(M):
        block = np.zeros((3, 2 * M))
        block[0, M + n] = -1.0
        block[2, n] = -1.0
        rows.append(block)
        b.append(np.array([0.0, 1.0, 0.0]))
        cones.append(clarabel.PowerConeT(1.0 / rho))
    q = np.r_[np.zeros(M), np.ones(M)]
    return conic(np.zeros((2 * M, 2 * M)), q, np.vstack(rows), np.concatenate(b), cones)[:M]


def squares_by_program(paths):
    """Return the alpha >= 0 of least |alpha|^2 with path sums 1, by clarabel."""
    A = paths.matrix.toarray()
    K, M = A.shape
    cones = [clarabel.ZeroConeT(K), clarabel.NonnegativeConeT(M)]
    return conic(np.eye(M), np.zeros(M), np.vstack([A, -np.eye(M)]), np.r_[np.ones(K), np.zeros(M)],
                 cones)  # fmt: skip


@pytest.mark.parametrize("is_tree", [True, False])
def test_rho_two_has_the_least_squares(is_tree):
    for shape, leaves, _ in cases(40, is_tree):
        paths = hierarchy_paths(shape, leaves)
        alpha = alpha_weights(shape, leaves, "rho")
        expected = paths.of_nodes(squares_by_program(paths))
        np.testing.assert_allclose(alpha, expected, atol=1e-6)
        np.testing.assert_allclose(path_sums(shape, leaves, alpha), 1.0, atol=1e-9)


@pytest.mark.parametrize("rho", [1.3, 1.5, 3.0])
def test_rho_has_the_least_powers_on_forests(rho):
    for shape, leaves, _ in cases(15, True, seed=1):
        paths = hierarchy_paths(shape, leaves)
        alpha = alpha_weights(shape, leaves, "rho", rho=rho)
        best = powers_by_program(paths, rho)
        ours = alpha[np.argsort(paths.columns)][(paths.columns < 0).sum() :]
        assert (ours**rho).sum() <= (np.maximum(best, 0.0) ** rho).sum() + 1e-6
        np.testing.assert_allclose(path_sums(shape, leaves, alpha), 1.0, atol=1e-9)


def test_rho_close_to_one_neither_overflows_nor_leaves_the_simplex():
    shape = hierarchy_shape(301, np.arange(1, 301), np.repeat(np.arange(100), 3))
    leaves = np.flatnonzero(np.diff(shape.child_at) == 0)
    alpha = alpha_weights(shape, leaves, "rho", rho=1.001, keep_common=True)
    np.testing.assert_allclose(path_sums(shape, leaves, alpha), 1.0, atol=1e-9)
    assert alpha[0] > 0.999  # all mass goes to the root


@pytest.mark.parametrize("is_tree", [True, False])
@pytest.mark.parametrize("directional", [True, False])
def test_maxmin_has_the_largest_minimum(is_tree, directional):
    for shape, leaves, _ in cases(40, is_tree, seed=2):
        paths = hierarchy_paths(shape, leaves)
        A = paths.matrix.toarray()
        K, M = A.shape
        rows = [np.hstack([-np.eye(M), np.ones((M, 1))])]
        if directional:  # alpha of a node is at least that of its parents
            for v in range(len(paths.columns)):
                for p in shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]]:
                    if paths.columns[v] >= 0 and paths.columns[p] >= 0:
                        row = np.zeros((1, M + 1))
                        row[0, paths.columns[p]], row[0, paths.columns[v]] = 1.0, -1.0
                        rows.append(row)
        upper = np.vstack(rows)
        found = linprog(
            np.r_[np.zeros(M), -1.0], A_ub=upper, b_ub=np.zeros(len(upper)),
            A_eq=np.hstack([A, np.zeros((K, 1))]), b_eq=np.ones(K), bounds=[(0, None)] * (M + 1),
        )  # fmt: skip
        alpha = alpha_weights(shape, leaves, "maxmin")
        kept = paths.columns >= 0
        assert alpha[kept].min() == pytest.approx(-found.fun, abs=1e-9)
        np.testing.assert_allclose(path_sums(shape, leaves, alpha), 1.0, atol=1e-9)
        if directional:
            for v in np.flatnonzero(kept):
                for p in shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]]:
                    assert alpha[v] >= alpha[p] - 1e-12


def shared_by_program(paths, s):
    """Return min sum s/alpha over S, by clarabel: (t, alpha, sqrt(2 s)) in rotated cones."""
    A = paths.matrix.toarray()
    K, M = A.shape
    rows = [np.hstack([A, np.zeros((K, M))]), np.hstack([-np.eye(M), np.zeros((M, M))])]
    b, cones = [np.ones(K), np.zeros(M)], [clarabel.NonnegativeConeT(K + M)]
    for n in range(M):  # (t + a, t - a, 2 sqrt s) in the cone: t a >= s
        block = np.zeros((3, 2 * M))
        block[0, n] = block[0, M + n] = -1.0
        block[1, n], block[1, M + n] = 1.0, -1.0
        rows.append(block)
        b.append(np.array([0.0, 0.0, 2.0 * np.sqrt(s[n])]))
        cones.append(clarabel.SecondOrderConeT(3))
    q = np.r_[np.zeros(M), np.ones(M)]
    x = conic(np.zeros((2 * M, 2 * M)), q, np.vstack(rows), np.concatenate(b), cones)
    return float(x[M:].sum())


@pytest.mark.parametrize("is_tree", [True, False])
def test_shared_weights_are_the_best(is_tree):
    for shape, leaves, rng in cases(30, is_tree, seed=3):
        paths = hierarchy_paths(shape, leaves, keep_common=True)
        squares = rng.uniform(size=len(paths.columns)) ** 2 * (paths.columns >= 0) + 1e-4
        alpha = shared_weights(paths, squares, tol=1e-7)
        assert path_sums(shape, leaves, alpha).max() <= 1.0 + 1e-12
        kept = np.flatnonzero(paths.columns >= 0)
        of_columns = np.zeros(len(kept))
        of_columns[paths.columns[kept]] = squares[kept]
        best = shared_by_program(paths, of_columns)
        assert (squares[kept] / alpha[kept]).sum() == pytest.approx(best, rel=1e-5)


def test_shared_weights_of_nothing_are_feasible():
    for is_tree in (True, False):
        for shape, leaves, _ in cases(5, is_tree, seed=4):
            paths = hierarchy_paths(shape, leaves)
            alpha = shared_weights(paths, np.zeros(len(paths.columns)))
            assert path_sums(shape, leaves, alpha).max() <= 1.0 + 1e-12


@pytest.mark.parametrize("is_tree", [True, False])
def test_the_dual_of_the_shared_norm_is_a_linear_programme(is_tree):
    for shape, leaves, rng in cases(40, is_tree, seed=5):
        paths = hierarchy_paths(shape, leaves)
        squares = rng.integers(0, 4, size=len(paths.columns)).astype(float)  # with ties
        value, alpha = shared_dual_norm(paths, squares)
        kept = np.flatnonzero(paths.columns >= 0)
        q = np.zeros(len(kept))
        q[paths.columns[kept]] = squares[kept]
        found = linprog(-q, A_ub=paths.matrix.toarray(), b_ub=np.ones(len(leaves)))
        assert value == pytest.approx(-found.fun, abs=1e-7)
        assert alpha @ squares == pytest.approx(value, abs=1e-7)
        assert path_sums(shape, leaves, alpha).max() <= 1.0 + 1e-12


# Table 6.1 and Theorem 1 of the thesis.

BINARY = hierarchy_shape(7, [1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2])


def test_full_sharing_has_the_norm_of_one_vector():
    u = np.random.default_rng(0).normal(size=5)
    paths = hierarchy_paths(BINARY, [3, 4, 5, 6], keep_common=True)
    assert shared_norm(paths, np.tile(u, (4, 1))) == pytest.approx(np.linalg.norm(u), rel=1e-4)


def test_no_sharing_has_the_frobenius_norm():
    W = np.random.default_rng(0).normal(size=(3, 5))
    shape = hierarchy_shape(6, [3, 4, 5], [0, 1, 2])  # three paths that meet nowhere
    paths = hierarchy_paths(shape, [3, 4, 5], keep_common=True)
    assert shared_norm(paths, W) == pytest.approx(np.linalg.norm(W), rel=1e-6)


def test_disjoint_features_have_the_frobenius_norm():
    W = np.zeros((4, 8))
    for k in range(4):
        W[k, 2 * k : 2 * k + 2] = np.random.default_rng(k).normal(size=2)
    paths = hierarchy_paths(BINARY, [3, 4, 5, 6], keep_common=True)
    assert shared_norm(paths, W) == pytest.approx(np.linalg.norm(W), rel=1e-3)


def test_the_shared_norm_lies_between_its_bounds():
    rng = np.random.default_rng(1)
    paths = hierarchy_paths(BINARY, [3, 4, 5, 6], keep_common=True)
    for _ in range(20):
        W = rng.normal(size=(4, 3)) + rng.normal(size=3)
        norm = shared_norm(paths, W)
        assert np.linalg.norm(W, axis=1).max() <= norm * (1 + 1e-6)
        assert norm <= np.linalg.norm(W) * (1 + 1e-6)
        # Theorem 2: the trace norm is at most sqrt(number of labels) times the shared one.
        assert np.linalg.norm(W, "nuc") <= np.sqrt(4) * norm * (1 + 1e-6)


def duplicated(shape, rng):
    """Return the shape with some nodes repeated above themselves, and the new numbers of nodes."""
    n_nodes = len(shape.parent_at) - 1
    numbers, child, parent, count = [], [], [], 0
    for v in range(n_nodes):
        tops = [numbers[p] for p in shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]]]
        for _ in range(int(rng.integers(0, 3))):
            child += [count] * len(tops)
            parent += tops
            tops = [count]
            count += 1
        child += [count] * len(tops)
        parent += tops
        numbers.append(count)
        count += 1
    return hierarchy_shape(count, child, parent), np.array(numbers)


def gram(shape, labels, alpha):
    A = path_matrix(shape, labels).toarray()
    return (A * alpha) @ A.T


@pytest.mark.parametrize("name", ["none", "maxmin", "rho", "flat"])
@pytest.mark.parametrize("is_tree", [True, False])
def test_merging_makes_weights_invariant_to_repeated_nodes(name, is_tree):
    for shape, leaves, rng in cases(20, is_tree, seed=6):
        larger, numbers = duplicated(shape, rng)
        alpha = alpha_weights(shape, leaves, name, merge=True)
        other = alpha_weights(larger, numbers[leaves], name, merge=True)
        np.testing.assert_allclose(
            gram(shape, leaves, alpha), gram(larger, numbers[leaves], other), atol=1e-9
        )


def test_without_merging_repeated_nodes_matter_less_and_less_as_rho_falls():
    # Theorem 1: the two agree in the limit rho -> 1, because the root takes all mass.
    rng = np.random.default_rng(7)
    larger, numbers = duplicated(BINARY, rng)
    leaves = np.array([3, 4, 5, 6])
    differences = []
    for rho in (3.0, 1.5, 1.1):
        alpha = alpha_weights(BINARY, leaves, "rho", rho=rho, keep_common=True)
        other = alpha_weights(larger, numbers[leaves], "rho", rho=rho, keep_common=True)
        own, dup = gram(BINARY, leaves, alpha), gram(larger, numbers[leaves], other)
        differences.append(np.abs(own - dup).max())
    assert differences[0] > differences[1] > differences[2]
    assert differences[0] > 0.03 and differences[2] < 0.003


@pytest.mark.parametrize("is_tree", [True, False])
def test_the_shared_norm_is_that_of_merged_nodes(is_tree):
    for shape, leaves, rng in cases(10, is_tree, seed=9):
        larger, numbers = duplicated(shape, rng)
        small = hierarchy_paths(shape, leaves, merge=True)
        large = hierarchy_paths(larger, numbers[leaves], merge=True)
        # Nodes that are repeated have equal weights, of a vector that is shared among them.
        own = rng.uniform(0.1, 1.0, size=len(small.sizes))
        of_small = np.append(own / small.sizes**2, 0.0)[small.columns]
        order = [large.columns[numbers[np.flatnonzero(small.columns == c)[0]]]
                 for c in range(len(own))]  # fmt: skip
        of_large = np.zeros(len(own))
        of_large[order] = own
        of_large = np.append(of_large / large.sizes**2, 0.0)[large.columns]
        assert shared_square(small, of_small) == pytest.approx(
            shared_square(large, of_large), rel=1e-5
        )
        W = rng.normal(size=(len(leaves), 2))
        assert shared_norm(small, W) == pytest.approx(shared_norm(large, W), rel=1e-6)


# What weights are 0, and what is refused.


def test_nodes_common_to_all_labels_and_on_no_path_have_no_weight():
    shape = hierarchy_shape(6, [1, 2, 3, 4, 5], [0, 1, 1, 2, 2])
    for name in ("none", "maxmin", "rho"):
        alpha = alpha_weights(shape, [3, 4], name)  # 5 is no label, 0 and 1 are above both
        assert (alpha[[0, 1, 5]] == 0.0).all() and (alpha[[2, 3, 4]] > 0.0).all()
        assert alpha_weights(shape, [3, 4], name, keep_common=True)[0] > 0.0
    assert alpha_weights(shape, [3, 4], "flat").tolist() == [0, 0, 0, 1, 1, 0]


def test_a_common_node_changes_no_other_weight():
    for shape, leaves, _ in cases(10, True, seed=8):
        n_nodes = len(shape.parent_at) - 1
        roots = np.flatnonzero(np.diff(shape.parent_at) == 0)
        own = np.repeat(np.arange(n_nodes), np.diff(shape.parent_at))
        rooted = hierarchy_shape(
            n_nodes + 1, np.r_[own, roots] + 1, np.r_[shape.parents + 1, np.zeros(len(roots), int)]
        )
        for name in ("none", "maxmin", "rho"):
            alpha = alpha_weights(shape, leaves, name)
            np.testing.assert_allclose(alpha_weights(rooted, leaves + 1, name)[1:], alpha)


def test_labels_above_labels_are_no_paths_of_their_own():
    shape = hierarchy_shape(5, [1, 2, 3, 4], [0, 0, 1, 1])
    alpha = alpha_weights(shape, [1, 2, 3, 4], "maxmin")
    np.testing.assert_allclose(path_sums(shape, [2, 3, 4], alpha), 1.0)
    assert alpha[1] == 0.5


def test_one_label_alone_keeps_its_path():
    shape = hierarchy_shape(2, [1], [0])
    assert alpha_weights(shape, [1], "maxmin").tolist() == [0.5, 0.5]


def test_an_array_is_used_and_its_sums_are_told():
    shape = hierarchy_shape(3, [1, 2], [0, 0])
    assert alpha_weights(shape, [1, 2], [7.0, 1.0, 1.0]).tolist() == [0.0, 1.0, 1.0]
    with pytest.warns(UserWarning, match=r"alpha sums to 0.5 .. 2 along the paths"):
        assert alpha_weights(shape, [1, 2], [0.0, 0.5, 2.0]).tolist() == [0.0, 0.5, 2.0]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 2], "most"), {}, "alpha must be one of none, maxmin, rho, flat, shared or an array"),
        (([1, 2], "shared"), {}, "learnt from examples"),
        (([1, 2], [1.0, 1.0]), {}, r"alpha has shape \(2,\); expected \(3,\)"),
        (([1, 2], [1.0, -1.0, 1.0]), {}, r"alpha\[1\] is"),
        (([1, 2], [1.0, np.nan, 1.0]), {}, r"alpha\[1\] is"),
        (([1, 2], [1.0, 0.0, 0.0]), {}, "nothing to learn"),
        (([1, 2], [1.0, 1.0, 1.0]), {"merge": True}, "alpha must be a name"),
        (([1, 2], "rho"), {"rho": 1.0}, "rho must be greater than 1"),
        (([1, 3], "rho"), {}, r"labels\[1\] is 3, but there are 3 nodes"),
        (([1, 1], "rho"), {}, "node 1 is in labels more than once"),
        (([], "rho"), {}, "at least one"),
    ],
)
def test_bad_weights_are_refused(arguments, options, message):
    shape = hierarchy_shape(3, [1, 2], [0, 0])
    with pytest.raises(ValueError, match=message):
        alpha_weights(shape, *arguments, **options)


def test_other_exponents_are_refused_where_nodes_have_several_parents():
    shape = hierarchy_shape(5, [2, 2, 3, 4], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="needs rho=2"):
        alpha_weights(shape, [2, 3, 4], "rho", rho=1.5)
