"""Local search, expansion moves, conditional rounding, the quadratic relaxation: small graphs."""

from __future__ import annotations

import itertools

import clarabel
import numpy as np
import pytest
from scipy import sparse

from maxmargin.core.compile import Kernel
from maxmargin.inference import FactorGraph
from maxmargin.inference.graph import (
    local,
    maxflow,
    moves,
    multilinear,
    primal,
    quadratic,
    rounded,
    score,
)
from maxmargin.inference.graph.answer import Options
from maxmargin.inference.graph.factors import CustomFactor, ExactlyOne, Potts, Table
from maxmargin.inference.graph.quadratic import quadratic_relaxation
from maxmargin.inference.labels import dominance, roof_duality
from tests.graphs import RULES, all_labellings, all_scores, random_graph

PAIRS = {"most_order": 2, "most_labels": 4}
CASES = {
    "tables": {},
    "forbidden": {"forbidden": 0.3, "most_order": 4, "most_nodes": 5, "most_labels": 3},
    "ties": {"is_whole": True, "forbidden": 0.1},
    "rules": {"rules": RULES, "is_whole": True, "forbidden": 0.05},
}
OF_PAIRS = {
    "normal": PAIRS,
    "ties": {"is_whole": True, **PAIRS},
    "forbidden": {"is_whole": True, "forbidden": 0.25, **PAIRS},
    "strong": {"scale": 1e3, "forbidden": 0.1, **PAIRS},
}


@pytest.fixture
def uncompiled(monkeypatch):
    """All kernels of these modules as plain Python, down to the last one they call."""
    for module in (
        local, maxflow, moves, multilinear, quadratic, rounded, score, dominance, roof_duality
    ):  # fmt: skip
        for name, value in vars(module).copy().items():
            if isinstance(value, Kernel):
                monkeypatch.setattr(module, name, value.py_func)


def parts(graph):
    return graph.shape, graph.unary, graph.tables


def n_broken(graph, labels):
    """Return how many terms are -inf, by the definitions."""
    shape = graph.shape
    unary = graph.unary[shape.unary_at[:-1] + labels]
    factors = [score.factor_value(shape, graph.tables, f, labels) for f in range(len(shape.kinds))]
    return int(np.isneginf(unary).sum() + np.isneginf(factors).sum())


def random_labels(rng, graph):
    return rng.integers(0, graph.shape.n_labels).astype(np.int32)


# --- Local search


def polish(graph, labels):
    room = local.local_room(graph.shape)
    room.scores[:] = np.nan
    return local.polish(*parts(graph), room, labels)


@pytest.mark.parametrize("case", CASES)
def test_local_search_never_loses_and_ends_where_no_node_can_gain(case, rng):
    n_gained = 0
    for _ in range(200):
        graph = random_graph(rng, **CASES[case])
        labels = random_labels(rng, graph)
        before, broken_before = graph.score(labels), n_broken(graph, labels)
        reached = polish(graph, labels)
        assert reached == graph.score(labels) >= before
        broken = n_broken(graph, labels)
        assert broken <= broken_before
        n_gained += reached > before or broken < broken_before
        for v, x in itertools.product(range(graph.n_nodes), range(4)):
            if x < graph.shape.n_labels[v]:
                other = labels.copy()
                other[v] = x
                assert n_broken(graph, other) >= broken
                assert graph.score(other) <= reached + 1e-9
    assert n_gained > 50


def test_local_search_takes_the_lowest_of_the_best_labels_but_keeps_its_own():
    graph = FactorGraph([[0.0, 2.0, 1.0, 2.0]])
    for own, expected in ((0, 1), (1, 1), (2, 1), (3, 3)):
        labels = np.array([own], dtype=np.int32)
        polish(graph, labels)
        assert labels.tolist() == [expected]


def test_local_search_makes_a_labelling_feasible():
    graph = FactorGraph(np.zeros((4, 2)), factors=[ExactlyOne((0, 1, 2, 3))])
    labels = np.array([0, 1, 0, 1], dtype=np.int32)
    assert polish(graph, labels) == 0.0
    assert labels.sum() == 1


class Far(CustomFactor):
    def __init__(self, nodes):
        self.nodes = tuple(nodes)

    @staticmethod
    def message(numbers, at, member, incoming, out):
        other = 1 - member
        for x in range(at[member + 1] - at[member]):
            out[x] = -np.inf
            for y in range(at[other + 1] - at[other]):
                out[x] = max(out[x], incoming[at[other] + y] + abs(x - y))


def test_local_search_takes_factors_of_users():
    graph = FactorGraph([[0.0, 0.5, 0.0], [0.0, 0.1, 0.0]], factors=[Far((0, 1))])
    labels = np.zeros(2, dtype=np.int32)
    assert polish(graph, labels) == 2.0
    assert abs(labels[0] - labels[1]) == 2


# --- Expansion moves


def expand(graph, labels, n_rounds=1000):
    return moves.expand(*parts(graph), n_rounds, moves.moves_room(graph.shape), labels)


def best_expansion(graph, labels, label):
    """Return the best score among all moves to a label."""
    can = [v for v in range(graph.n_nodes) if label < graph.shape.n_labels[v]]
    best = -np.inf
    for chosen in itertools.product((False, True), repeat=len(can)):
        moved = labels.copy()
        moved[[v for v, c in zip(can, chosen, strict=True) if c]] = label
        best = max(best, graph.score(moved))
    return best


@pytest.mark.parametrize("case", OF_PAIRS)
def test_expansion_never_loses_and_stays_feasible(case, rng):
    n_gained = n_feasible = 0
    for _ in range(250):
        graph = random_graph(rng, **OF_PAIRS[case])
        labels = random_labels(rng, graph)
        before, start = graph.score(labels), labels.copy()
        reached, n_moves = expand(graph, labels)
        assert reached == graph.score(labels)
        assert reached >= before
        if before == -np.inf:
            assert n_moves == 0
            np.testing.assert_array_equal(labels, start)
        n_feasible += before > -np.inf
        n_gained += reached > before
    assert n_gained > 0.3 * n_feasible > 20


def test_expansion_of_attractive_tables_ends_where_no_move_gains(rng):
    n_optimal = 0
    for _ in range(60):
        n, n_labels = 5, 3
        edges = [(a, b) for a, b in itertools.combinations(range(n), 2) if rng.random() < 0.7]
        tables = [-rng.random() * (1.0 - np.eye(n_labels)) for _ in edges]
        graph = FactorGraph(rng.normal(size=(n, n_labels)), edges, tables)
        labels = random_labels(rng, graph)
        reached, _ = expand(graph, labels)
        for label in range(n_labels):
            assert best_expansion(graph, labels, label) <= reached + 1e-9
        best = all_scores(graph).max()
        n_optimal += reached >= best - 1e-9
    assert n_optimal >= 50


def test_one_move_of_an_attractive_graph_is_the_best_of_all(rng):
    for _ in range(60):
        edges = [(0, 1), (1, 2), (3, 2), (0, 3), (4, 1)]
        graph = FactorGraph(rng.normal(size=(5, 3)), edges, -0.6 * (1.0 - np.eye(3)))
        labels = random_labels(rng, graph)
        best = best_expansion(graph, labels, 0)
        room = moves.moves_room(graph.shape)
        before = graph.score(labels)
        assert moves.expand_to(0, before, np.inf, *parts(graph), room, labels) == pytest.approx(
            best
        )


def test_expansion_refuses_larger_factors_by_name():
    graph = FactorGraph(np.zeros((3, 2)), factors=[Table((0, 1, 2), np.zeros((2, 2, 2)))])
    with pytest.raises(ValueError, match=r"'table' .* nodes \[0, 1, 2\]; expansion moves can"):
        primal.expansion(graph, Options())
    graph = FactorGraph(np.zeros((3, 2)), factors=[Potts((0, 2), [1.0, 1.0])])
    with pytest.raises(ValueError, match="'potts'"):
        primal.expansion(graph, Options())


# --- Methods


@pytest.mark.parametrize("case", CASES)
def test_local_method_brackets_the_optimum(case, rng):
    for _ in range(60):
        graph = random_graph(rng, **CASES[case])
        check_answer(graph, primal.local(graph, Options()))


@pytest.mark.parametrize("case", OF_PAIRS)
@pytest.mark.parametrize("method", [primal.expansion, rounded.qp])
def test_methods_for_pairs_bracket_the_optimum(case, method, rng):
    for _ in range(60):
        graph = random_graph(rng, **OF_PAIRS[case])
        check_answer(graph, method(graph, Options()))


def check_answer(graph, answer):
    best = all_scores(graph).max(initial=-np.inf)
    size = 1e-9 * (1.0 + abs(best)) if best > -np.inf else 0.0
    assert answer.score <= best + size
    assert answer.bound >= best - size
    if answer.labels is None:
        assert answer.score == -np.inf
    else:
        assert graph.score(answer.labels) == answer.score > -np.inf
    if answer.is_exact:
        assert best == -np.inf == answer.bound or answer.score >= best - 1e-6 * (1 + abs(best))


def test_methods_of_a_graph_without_nodes():
    graph = FactorGraph([])
    for method in (primal.local, primal.expansion, rounded.qp):
        answer = method(graph, Options())
        assert answer[1:4] == (0.0, 0.0, True)
        assert answer.labels.shape == (0,)


def test_expansion_tells_of_progress():
    rng = np.random.default_rng(0)
    edges = [(v, v + 1) for v in range(9)]
    graph = FactorGraph(rng.normal(size=(10, 4)), edges, rng.normal(size=(9, 4, 4)))
    heard = []
    primal.expansion(graph, Options(callback=lambda *news: heard.append(news)))
    assert [news[0] for news in heard] == list(range(1, len(heard) + 1))
    scores = [news[2] for news in heard]
    assert scores == sorted(scores)


# --- The multilinear score and conditional rounding


def random_marginals(rng, graph, zeros=0.3):
    rows = []
    for k in graph.shape.n_labels:
        row = rng.random(k) * (rng.random(k) >= zeros)
        rows.append(row / row.sum() if row.sum() > 0 else np.eye(k)[0])
    return np.concatenate([np.zeros(0), *rows])


def mean_score(graph, mu):
    """Return the mean of finite terms and the mean number of forbidden ones, by enumeration."""
    shape = graph.shape
    value = broken = 0.0
    for labels in all_labellings(graph):
        share = np.prod(mu[shape.unary_at[:-1] + labels])
        terms = np.concatenate(
            [
                graph.unary[shape.unary_at[:-1] + labels],
                [
                    score.factor_value(shape, graph.tables, f, labels)
                    for f in range(len(shape.kinds))
                ],
            ]
        )
        value += share * terms[terms > -np.inf].sum()
        broken += share * np.isneginf(terms).sum()
    return value, broken


@pytest.mark.parametrize("case", CASES)
def test_multilinear_score_is_the_mean_of_independent_draws(case, rng):
    for _ in range(40):
        graph = random_graph(rng, **{**CASES[case], "most_nodes": 4})
        mu = random_marginals(rng, graph)
        room, labels = multilinear.multilinear_room(graph.shape), random_labels(rng, graph)
        found = multilinear.multilinear_value(*parts(graph), mu, room, labels)
        assert found == pytest.approx(mean_score(graph, mu), abs=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_conditional_rounding_never_loses(case, rng):
    for _ in range(150):
        graph = random_graph(rng, **CASES[case])
        mu = random_marginals(rng, graph)
        room, labels = multilinear.multilinear_room(graph.shape), random_labels(rng, graph)
        value, broken = multilinear.multilinear_value(*parts(graph), mu, room, labels)
        order = rng.permutation(graph.n_nodes)
        multilinear.conditional_labels(*parts(graph), mu, order, room, labels)
        left = n_broken(graph, labels)
        assert left <= broken + 1e-9
        if broken == 0.0:
            assert graph.score(labels) >= value - 1e-9


# --- The quadratic relaxation


def quadratic_optimum(graph):
    """Return the optimum of the relaxation, written out as one dense programme."""
    shape = graph.shape
    n = len(graph.unary)
    square = np.zeros((n, n))
    diagonal = np.zeros(n)
    unary = graph.unary.copy()
    for f in range(len(shape.kinds)):
        nodes = shape.members[shape.member_at[f] : shape.member_at[f + 1]]
        sizes = shape.n_labels[nodes]
        table = graph.tables[shape.table_at[f] :][: sizes.prod()].reshape(sizes)
        if len(nodes) == 1:
            unary[shape.unary_at[nodes[0]] :][: len(table)] += table
            continue
        rows, columns = (slice(shape.unary_at[v], shape.unary_at[v + 1]) for v in nodes)
        square[rows, columns] += table / 2
        square[columns, rows] += table.T / 2
        diagonal[rows] += np.abs(table).sum(axis=1) / 2
        diagonal[columns] += np.abs(table).sum(axis=0) / 2
    nodes = np.repeat(np.arange(graph.n_nodes), shape.n_labels)
    simplex = sparse.csc_matrix((np.ones(n), (nodes, np.arange(n))))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(2.0 * (np.diag(diagonal) - square))),
        -(unary + diagonal),
        sparse.vstack([simplex, -sparse.eye(n)]).tocsc(),
        np.concatenate([np.ones(graph.n_nodes), np.zeros(n)]),
        [clarabel.ZeroConeT(graph.n_nodes), clarabel.NonnegativeConeT(n)],
        settings,
    ).solve()
    return -solution.obj_val


def test_quadratic_relaxation_reaches_its_optimum(rng):
    for _ in range(40):
        graph = random_graph(rng, n_nodes=int(rng.integers(1, 6)), **PAIRS)
        found = quadratic_relaxation(graph, tol=1e-8, max_passes=20_000)
        optimum = quadratic_optimum(graph)
        assert found.bound - found.value <= 1e-8 * (1.0 + abs(found.value))
        assert found.value - 1e-6 <= optimum <= found.bound + 1e-6
        assert found.bound >= all_scores(graph).max() - 1e-9
        sums = np.add.reduceat(found.unary, graph.shape.unary_at[:-1])
        np.testing.assert_allclose(sums, 1.0, atol=1e-12)
        assert found.unary.min() >= 0.0


def test_quadratic_relaxation_says_when_a_node_has_no_label():
    graph = FactorGraph([[0.0, 0.0], [-np.inf, -np.inf]], [(0, 1)], np.zeros((2, 2)))
    assert quadratic_relaxation(graph) == (None, -np.inf, -np.inf, 0)


# --- As Python


def test_python_and_compiled_code_agree(request):
    rng = np.random.default_rng(3)
    graphs = [random_graph(rng, **OF_PAIRS["ties"]) for _ in range(12)]
    graphs += [random_graph(rng, **CASES[case]) for case in CASES for _ in range(6)]
    expected = [everything(graph, n) for n, graph in enumerate(graphs)]
    request.getfixturevalue("uncompiled")
    assert not isinstance(moves.expand, Kernel)
    assert not isinstance(roof_duality.roof_dual, Kernel)
    for n, graph in enumerate(graphs):
        assert everything(graph, n) == pytest.approx(expected[n], abs=1e-9)


def everything(graph, seed):
    rng = np.random.default_rng(seed)
    labels, mu = random_labels(rng, graph), random_marginals(rng, graph)
    room, rounded_labels = multilinear.multilinear_room(graph.shape), labels.copy()
    order = np.arange(graph.n_nodes)
    multilinear.conditional_labels(*parts(graph), mu, order, room, rounded_labels)
    found = [*rounded_labels, *multilinear.multilinear_value(*parts(graph), mu, room, labels)]
    labels = random_labels(rng, graph)
    found += [polish(graph, labels), *labels]
    if np.diff(graph.shape.member_at).max(initial=0) <= 2 and not graph.shape.kinds.any():
        found += [*expand(graph, labels), *labels]
        found += quadratic_relaxation(graph, max_passes=20)[1:]
    return found
