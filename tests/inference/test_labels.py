"""Label set kernels, independent, listed and tree: against enumeration, workspaces exactly fit.

test_boundscheck.py runs this module once more with numba's bounds checks.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest

from maxmargin.inference.labels import independent as labels_independent
from maxmargin.inference.labels import listed as labels_listed
from maxmargin.inference.labels import tree as labels_tree
from maxmargin.inference.labels.graph import label_graph
from maxmargin.testing.enumerate import labellings

BOUNDSCHECK = bool(numba.config.BOUNDSCHECK)
NO_BANS = np.zeros(0, dtype=np.int64), 0, np.zeros(0)


class _Run:
    """Calls a kernel compiled, many times over, or as Python, a few times."""

    def __init__(self, is_compiled):
        self.is_compiled = is_compiled
        self.n_cases = (40 if BOUNDSCHECK else 400) if is_compiled else 12

    def __call__(self, kernel, *arguments):
        return (kernel if self.is_compiled else kernel.py_func)(*arguments)


@pytest.fixture(params=["compiled", "python"])
def run(request):
    if request.param == "python" and BOUNDSCHECK:
        pytest.skip("uncompiled code checks its bounds anyway")
    return _Run(request.param == "compiled")


class Case:
    """A random label set problem with all its outputs; integers make ties and exact sums."""

    def __init__(self, seed, kind, n_labels=None, absent=True):
        rng = self.rng = np.random.default_rng(seed)
        m = self.m = int(rng.integers(1, 9)) if n_labels is None else n_labels
        if kind == "none":
            edges = []
        elif kind == "tree":
            places = rng.permutation(m)
            edges = [
                (places[i], places[rng.integers(i)])[:: rng.choice([1, -1])]
                for i in range(1, m)
                if rng.random() < 0.85
            ]
            rng.shuffle(edges)
        else:
            edges = [(a, b) for a in range(m) for b in range(a) if rng.random() < 0.7]
        self.graph = label_graph(m, edges)
        self.is_exact = bool(rng.random() < 0.6)
        draw = (lambda n: rng.integers(-2, 3, n).astype(float)) if self.is_exact else rng.normal
        self.unary = draw(m) if self.is_exact else draw(size=m)
        self.pair = draw(len(edges)) if self.is_exact else draw(size=len(edges))
        if absent and rng.random() < 0.3:
            self.unary[rng.integers(m)] = -np.inf
        self.outputs = labellings(m, 2)
        self.scores = all_label_scores(self.outputs, self.unary, self.graph.edges, self.pair)
        known = rng.random(m) < 0.85
        # A truth that is allowed: absent labels are never true.
        truth = rng.integers(0, 2, m) * (self.unary > -np.inf)
        self.truth = np.where(known, truth, -1).astype(np.int32)
        self.wrong = ((self.outputs != self.truth) & known).sum(axis=1)
        # Outputs of the induced problem, without the unknown labels.
        self.is_induced = ~(self.outputs[:, ~known] == 1).any(axis=1)

    def same(self, found, expected):
        if self.is_exact:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

    def score(self, y):
        return self.scores[number(y)]

    def profile(self):
        best = np.full(self.m + 1, -np.inf)
        np.maximum.at(best, self.wrong[self.is_induced], self.scores[self.is_induced])
        return best


def all_label_scores(outputs, unary, edges, pair):
    scores = np.where(outputs == 1, unary, 0.0).sum(axis=1)
    for (a, b), weight in zip(edges, pair, strict=True):
        scores = scores + weight * outputs[:, a] * outputs[:, b]
    return scores


def number(y):
    assert set(np.unique(y)) <= {0, 1}
    return int((np.asarray(y, dtype=np.int64) << np.arange(len(y))).sum())


def ints(*shape):
    return np.full(shape, -9, dtype=np.int32)


def floats(*shape):
    return np.full(shape, np.nan)


def k_best_is_right(case, k, count, ys, scores):
    expected = np.sort(case.scores[case.scores > -np.inf])[::-1][:k]
    assert count == len(expected)
    case.same(scores[:count], expected)
    assert len({number(y) for y in ys[:count]}) == count
    case.same([case.score(y) for y in ys[:count]], expected)


# --- Independent labels


def test_best_of_independent_labels(run):
    for seed in range(run.n_cases):
        case = Case(seed, "none")
        y = ints(case.m)
        case.same(run(labels_independent.best_labels, case.unary, y), case.scores.max())
        assert number(y) == np.flatnonzero(case.scores == case.scores.max())[0]


@pytest.mark.parametrize("k", [1, 2, 5, 300])
def test_k_best_of_independent_labels(run, k):
    for seed in range(run.n_cases):
        case = Case(seed, "none")
        m, ys, scores = case.m, ints(k, case.m), floats(k)
        count = run(
            labels_independent.best_k_labels,
            case.unary,
            k,
            ints(m),
            ints(m),
            floats(m),
            floats(2 * k),
            ints(2 * k),
            ints(2 * k),
            ints(k),
            ys,
            scores,
        )
        k_best_is_right(case, k, count, ys, scores)
        assert (np.diff(scores[:count]) <= 0).all()


def test_profile_of_independent_labels(run):
    for seed in range(run.n_cases):
        case = Case(seed, "none")
        m, order, level = case.m, ints(case.m), floats(case.m + 1)
        n = run(
            labels_independent.flip_profile,
            case.unary,
            case.truth,
            floats(m),
            order,
            ints(m),
            level,
        )
        assert n == (case.truth >= 0).sum()
        true_score = case.score(np.maximum(case.truth, 0))
        case.same(level + true_score, case.profile())
        for d in range(n + 1):
            y = ints(m)
            run(labels_independent.write_flipped, case.truth, order, d, y)
            assert case.wrong[number(y)] == d
            assert case.is_induced[number(y)]
            case.same(case.score(y), level[d] + true_score)


def test_best_counts_of_true_and_false_labels(run):
    for seed in range(run.n_cases):
        case = Case(seed, "none")
        m, order, sums = case.m, ints(case.m), floats(2, case.m + 1)
        n_true, n_false = run(
            labels_independent.best_counts, case.unary, case.truth, order, ints(m), sums
        )
        assert (n_true, n_false) == ((case.truth == 1).sum(), (case.truth == 0).sum())
        hits = case.outputs[:, case.truth == 1].sum(axis=1)
        misses = case.outputs[:, case.truth == 0].sum(axis=1)
        for a in range(n_true + 1):
            for b in range(n_false + 1):
                there = case.is_induced & (hits == a) & (misses == b)
                best = case.scores[there].max()
                case.same(sums[0, a] + sums[1, b], best)
                y = ints(m)
                run(labels_independent.write_counts, m, order, n_true, a, b, y)
                assert there[number(y)]
                case.same(case.score(y), best)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 40])
def test_sort_falling_is_stable(run, n):
    rng = np.random.default_rng(n)
    keys = rng.integers(-3, 3, 50).astype(float)
    keys[rng.random(50) < 0.1] = -np.inf
    order = rng.permutation(50).astype(np.int32)
    expected = order.copy()
    expected[:n] = order[:n][np.argsort(-keys[order[:n]], kind="stable")]
    run(labels_independent.sort_falling, keys, order, n, ints(n))
    np.testing.assert_array_equal(order, expected)


# --- All outputs listed


class Listed:
    """The lists of a case, as the kernels make them, costs with prices of many sizes."""

    def __init__(self, seed, run):
        case = self.case = Case(seed, "any")
        m = self.m = case.m
        self.size = 2**m
        matrix, self.scores, self.costs = floats(m, m), floats(2**m), floats(2**m)
        run(labels_listed.fill_pairs, case.graph.edges, case.pair, matrix)
        run(labels_listed.all_scores, case.unary, matrix, self.scores, floats(2 ** (m - 1)))
        self.prices = np.ones(m) if case.is_exact else case.rng.random(m)
        run(labels_listed.all_costs, self.prices, case.truth, self.costs)

    def value(self, a, b):
        with np.errstate(invalid="ignore"):
            value = a * self.scores + b * self.costs
        return np.where(self.scores > -np.inf, value, -np.inf)


def test_lists_of_all_scores_costs_and_levels(run):
    for seed in range(run.n_cases):
        listed = Listed(seed, run)
        case = listed.case
        case.same(listed.scores, case.scores)
        wrong = (case.outputs != case.truth) & (case.truth >= 0)
        case.same(listed.costs, wrong @ listed.prices)
        assert listed.costs[number(np.maximum(case.truth, 0))] == 0.0
        levels = np.full(listed.size, -1, dtype=np.int8)
        run(labels_listed.all_levels, case.truth, case.m, levels)
        np.testing.assert_array_equal(levels, case.wrong)


@pytest.mark.filterwarnings("ignore:invalid value")  # 0 * -inf, which Python mentions
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.3, 2.0)])
def test_scans_of_the_list(run, a, b):
    for seed in range(run.n_cases):
        listed = Listed(seed, run)
        case, size = listed.case, listed.size
        before = listed.scores.copy()
        rng = case.rng
        banned = rng.integers(size, size=rng.integers(0, size + 3))
        if rng.random() < 0.1:
            banned = rng.permutation(size)
        value = listed.value(a, b)
        value[banned] = -np.inf
        lists = listed.scores, listed.costs, size, a, b
        found = run(labels_listed.best_listed, *lists, banned, len(banned), floats(len(banned)))
        assert found == (np.argmax(value) if value.max() > -np.inf else -1)
        np.testing.assert_array_equal(listed.scores, before)
        k = int(rng.integers(1, size + 2))
        masks, values = np.full(k, -1), floats(k)
        count = run(labels_listed.best_k_listed, *lists, k, masks, values)
        value = listed.value(a, b)
        order = np.argsort(-value, kind="stable")
        order = order[value[order] > -np.inf][:k]
        assert count == len(order)
        np.testing.assert_array_equal(masks[:count], order)
        np.testing.assert_array_equal(values[:count], value[order])


def test_profile_of_the_list(run):
    for seed in range(run.n_cases):
        listed = Listed(seed, run)
        case, m = listed.case, listed.m
        scores = np.where(case.is_induced, listed.scores, -np.inf)
        best, masks = floats(m + 1), np.full(m + 1, -9)
        levels = case.wrong.astype(np.int8)
        run(labels_listed.listed_profile, scores, levels, listed.size, m + 1, best, masks)
        case.same(best, case.profile())
        for level in range(m + 1):
            there = np.flatnonzero((case.wrong == level) & (scores == best[level]))
            assert masks[level] == (there[0] if best[level] > -np.inf else -1)


@pytest.mark.filterwarnings("ignore:invalid value")  # 0 * -inf, which Python mentions
def test_scan_of_the_list_between_two_slopes(run):
    n_found = 0
    for seed in range(run.n_cases):
        listed = Listed(seed, run)
        case, size = listed.case, listed.size
        true_score = listed.scores[number(np.maximum(case.truth, 0))]
        h = listed.scores - true_score
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = listed.costs / (1.0 + h)
        # Bounds that are slopes of outputs: equality must be told from less.
        some = np.unique(slope[(1.0 + h > 0.0) & (h > -np.inf)])
        bounds = np.concatenate([[-np.inf, 0.0, 0.4, np.inf], some])
        for _ in range(4):
            low, high = np.sort(case.rng.choice(bounds, 2))
            with_high = bool(case.rng.random() < 0.5)
            a, b = ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (1.0, 0.37))[case.rng.integers(4)]
            banned = case.rng.integers(size, size=case.rng.integers(3))
            inside = (
                (1.0 + h > 0.0) & (slope > low) & (slope <= high if with_high else slope < high)
            )
            inside[banned] = False
            with np.errstate(invalid="ignore"):
                value = np.where(inside, a * h + b * listed.costs, -np.inf)
            found = run(
                labels_listed.best_listed_within,
                listed.scores,
                listed.costs,
                size,
                true_score,
                a,
                b,
                low,
                high,
                with_high,
                banned,
                len(banned),
                floats(len(banned)),
            )
            assert found == (np.argmax(value) if inside.any() else -1)
            n_found += found >= 0
    assert n_found > run.n_cases


def test_best_of_a_list_of_many_blocks(run):
    rng = np.random.default_rng(0)
    for m in (8, 9, 12):
        for _ in range(10):
            scores = rng.integers(-20, 20, 2**m).astype(float)
            found = run(labels_listed.best_listed, scores, np.zeros(2**m), 2**m, 1.0, 1.0, *NO_BANS)
            assert found == np.argmax(scores)


def test_masks_and_labels(run):
    y = np.array([1, -1, 0, 1], dtype=np.int32)
    assert run(labels_listed.labels_to_mask, y, 4) == 9
    back = ints(4)
    run(labels_listed.mask_to_labels, 9, 4, back)
    assert back.tolist() == [1, 0, 0, 1]


# --- Trees


def test_best_of_a_tree(run):
    for seed in range(run.n_cases):
        case = Case(seed, "tree")
        tree = labels_tree.tree_order(case.graph)
        y = ints(case.m)
        best = run(labels_tree.best_tree, case.unary, case.pair, tree, floats(case.m, 2), y)
        case.same(best, case.scores.max())
        case.same(case.score(y), best)


def test_ties_on_a_path_fall_as_on_a_chain(run):
    m = 6
    tree = labels_tree.tree_order(label_graph(m, [(j, j + 1) for j in range(m - 1)]))
    outputs = labellings(m, 2)
    for seed in range(run.n_cases):
        rng = np.random.default_rng(seed)
        unary, pair = rng.integers(-1, 2, m).astype(float), rng.integers(-1, 2, m - 1).astype(float)
        scores = all_label_scores(outputs, unary, [(j, j + 1) for j in range(m - 1)], pair)
        y = ints(m)
        run(labels_tree.best_tree, unary, pair, tree, floats(m, 2), y)
        assert number(y) == np.argmax(scores)


@pytest.mark.parametrize("temperature", [0.05, 1.0, 40.0])
def test_marginals_of_a_tree(run, temperature):
    for seed in range(run.n_cases // 4):
        case = Case(seed, "tree")
        m, n_edges = case.m, len(case.pair)
        node, edge = floats(m, 2), floats(n_edges, 2, 2)
        log_partition = run(
            labels_tree.tree_marginals,
            case.unary,
            case.graph.edges,
            case.pair,
            labels_tree.tree_order(case.graph),
            temperature,
            floats(m, 2),
            floats(m, 2),
            floats(m, 2, 2),
            node,
            edge,
        )
        weights = np.exp((case.scores - case.scores.max()) / temperature)
        p = weights / weights.sum()
        on = case.outputs == 1
        np.testing.assert_allclose(node[:, 1], p @ on, atol=1e-12)
        np.testing.assert_allclose(node.sum(axis=1), 1.0, atol=1e-12)
        for e, (a, b) in enumerate(case.graph.edges):
            for k in range(2):
                for l in range(2):
                    there = (case.outputs[:, a] == k) & (case.outputs[:, b] == l)
                    assert edge[e, k, l] == pytest.approx(p[there].sum(), abs=1e-12)
        expected = case.scores.max() / temperature + np.log(weights.sum())
        assert log_partition == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_profile_of_a_tree(run):
    for seed in range(run.n_cases):
        case = Case(seed, "tree")
        m, tree = case.m, labels_tree.tree_order(case.graph)
        size, table, before = ints(2, m + 1), floats(m + 1, 2, m + 1), floats(m, 2, m + 1)
        scores = floats(m + 1)
        run(
            labels_tree.tree_profile,
            case.unary,
            case.pair,
            tree,
            case.truth,
            size,
            table,
            before,
            floats(m + 1),
            scores,
        )
        case.same(scores, case.profile())
        for level in range(m + 1):
            y = ints(m)
            run(
                labels_tree.write_tree_level,
                case.pair,
                tree,
                m,
                level,
                size,
                table,
                before,
                ints(m + 1),
                y,
            )
            if scores[level] == -np.inf:
                assert (y == -1).all()
            else:
                assert case.wrong[number(y)] == level
                assert case.is_induced[number(y)]
                case.same(case.score(y), scores[level])


@pytest.mark.parametrize("k", [1, 2, 5, 300])
def test_k_best_of_a_tree(run, k):
    for seed in range(run.n_cases // (1 if k < 9 else 8)):
        case = Case(seed, "tree")
        m, ys, scores = case.m, ints(k, case.m), floats(k)
        count = run(
            labels_tree.best_k_tree,
            case.unary,
            case.pair,
            labels_tree.tree_order(case.graph),
            k,
            floats(m + 1, 2, k),
            floats(k),
            floats(k),
            ints(3, k),
            ints(m, 2, 3, k),
            ints(m + 1),
            ys,
            scores,
        )
        k_best_is_right(case, k, count, ys, scores)


def test_an_order_puts_parents_first():
    for seed in range(200):
        case = Case(seed, "tree")
        order, parent, edge = labels_tree.tree_order(case.graph)
        assert sorted(order) == list(range(case.m))
        place = np.argsort(order)
        for j in range(case.m):
            if parent[j] >= 0:
                assert place[parent[j]] < place[j]
                assert set(case.graph.edges[edge[j]]) == {j, parent[j]}
        assert (parent >= 0).sum() == len(case.pair)


def test_a_cycle_is_refused_by_an_edge_of_it():
    with pytest.raises(ValueError, match=r"edges\[3\] is \(3, 0\), which closes a cycle"):
        labels_tree.tree_order(label_graph(5, [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)]))
