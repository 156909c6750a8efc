"""Label graphs, max flow, roof duality and local search: against LP, enumeration and scipy."""

from __future__ import annotations

import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.csgraph import maximum_flow

from maxmargin.core.compile import Kernel
from maxmargin.inference import Exactness
from maxmargin.inference.graph import maxflow
from maxmargin.inference.graph.maxflow import min_cut
from maxmargin.inference.labels import dominance, roof_duality
from maxmargin.inference.labels import flips as label_search
from maxmargin.inference.labels.flips import best_labels_bounded, bounded_room, local_search
from maxmargin.inference.labels.graph import label_graph
from maxmargin.inference.labels.relaxed import bounded, relax
from maxmargin.inference.labels.roof_duality import roof_dual, roof_room

# --- Instances


def random_edges(rng, n_labels, density):
    pairs = [(i, j) for i in range(n_labels) for j in range(i + 1, n_labels)]
    return [pair[:: rng.choice([-1, 1])] for pair in pairs if rng.random() < density]


def random_forest(rng, n_labels):
    return [(int(rng.integers(j)), j) for j in range(1, n_labels) if rng.random() < 0.9]


def centred(unary, edges, pair):
    """Move the unaries to where a label is as often good as bad: the hard cases."""
    unary = unary.copy()
    for (a, b), weight in zip(edges, pair, strict=True):
        unary[[a, b]] -= weight / 2
    return unary


def random_mrf(rng, kind):
    m = int(rng.integers(1, 9))
    edges = random_edges(rng, m, rng.choice([0.3, 0.6, 1.0]))
    if kind == "forest":
        edges = random_forest(rng, m)
    n = len(edges)
    unary, pair = rng.normal(size=m), rng.normal(size=n)
    if kind in ("integers", "attractive", "forest"):
        unary, pair = rng.integers(-3, 4, m) * 1.0, rng.integers(-3, 4, n) * 1.0
    elif kind == "zero unaries":
        unary, pair = np.zeros(m), rng.integers(-2, 3, n) * 1.0
    elif kind == "centred":
        unary = centred(0.3 * unary, edges, pair)
    elif kind == "centred integers":  # and so mostly ties
        pair = 2.0 * rng.integers(-2, 3, n)
        unary = centred(rng.integers(-1, 2, m) * 1.0, edges, pair)
    elif kind == "zero pairs":
        pair = np.zeros(n)
    if kind == "attractive":
        pair = np.abs(pair)
        unary -= np.bincount(np.ravel(edges).astype(int), minlength=m) * 0.5
    if rng.random() < 0.15:
        unary[rng.integers(m)] = -np.inf
    return unary, edges, pair


KINDS = [
    "normal",
    "integers",
    "zero unaries",
    "zero pairs",
    "centred",
    "centred integers",
    "attractive",
    "forest",
]


@pytest.fixture(params=KINDS)
def instances(request):
    rng = np.random.default_rng(KINDS.index(request.param))
    return [random_mrf(rng, request.param) for _ in range(400)]


def solve(unary, edges, pair):
    graph = label_graph(len(unary), edges)
    node2 = np.full(len(unary), -7, dtype=np.int32)
    edge2 = np.full(len(pair), -7, dtype=np.int32)
    value = roof_dual(unary, graph, pair, roof_room(graph), node2, edge2)
    return value, node2, edge2


def all_scores(unary, edges, pair):
    outputs = np.array(list(itertools.product([0, 1], repeat=len(unary))))
    table = np.zeros((len(unary), len(unary)))
    for (a, b), weight in zip(edges, pair, strict=True):
        table[a, b] = weight
    scores = outputs @ np.where(unary == -np.inf, 0.0, unary) + ((outputs @ table) * outputs).sum(1)
    scores[(outputs[:, unary == -np.inf] == 1).any(axis=1)] = -np.inf
    return outputs, scores


def linear_programs(instances):
    """Values of the relaxations by HiGHS, all in one block-diagonal programme."""
    blocks, right, cost, upper, sizes = [], [], [], [], []
    for unary, edges, pair in instances:
        m, n = len(unary), len(pair)
        ends = np.array(edges, dtype=int).reshape(n, 2)
        first, second = np.zeros((2, n, m))
        first[np.arange(n), ends[:, 0]] = second[np.arange(n), ends[:, 1]] = 1.0
        one = np.eye(n)
        rows = np.block([[-first, one], [-second, one], [first + second, -one]])
        blocks.append(rows if n else np.zeros((1, m)))
        right += [0.0] * (2 * n) + [1.0] * n if n else [0.0]
        cost += [*np.where(unary == -np.inf, 0.0, unary), *pair]
        upper += [*np.where(unary == -np.inf, 0.0, 1.0), *np.ones(n)]
        sizes.append(m + n)
    done = linprog(
        -np.array(cost),
        sparse.block_diag(blocks, format="csr"),
        right,
        bounds=np.column_stack([np.zeros(len(upper)), upper]),
        method="highs",
    )
    assert done.status == 0
    ends = np.cumsum(sizes)
    return np.add.reduceat(done.x * cost, ends - sizes)


# --- Roof duality


def test_value_is_that_of_the_linear_programme(instances):
    values = [solve(*instance)[0] for instance in instances]
    np.testing.assert_allclose(values, linear_programs(instances), rtol=0, atol=1e-9)


def test_answer_is_a_vertex_and_has_its_value(instances):
    for unary, edges, pair in instances:
        value, node2, edge2 = solve(unary, edges, pair)
        assert set(node2) <= {0, 1, 2}
        assert not node2[unary == -np.inf].any()
        rows = [np.eye(len(unary))[j] for j in np.flatnonzero(node2 != 1)]
        for (a, b), weight, both in zip(edges, pair, edge2, strict=True):
            low, high = max(0, node2[a] + node2[b] - 2), min(node2[a], node2[b])
            assert both == (high if weight > 0 else low)
            if node2[a] == node2[b] == 1:  # x_a = x_b, or x_a + x_b = 1
                rows.append(np.zeros(len(unary)))
                rows[-1][[a, b]] = 1.0, -1.0 if both else 1.0
        # The constraints that hold with equality leave one point.
        assert np.linalg.matrix_rank(np.array(rows)) == len(unary)
        total = node2[node2 > 0] @ unary[node2 > 0] / 2 + edge2 @ pair / 2
        assert value == pytest.approx(total, rel=1e-12, abs=1e-12)


def test_integral_labels_are_right_in_some_best_label_set(instances, request):
    n_integral = 0
    for unary, edges, pair in instances:
        value, node2, _ = solve(unary, edges, pair)
        outputs, scores = all_scores(unary, edges, pair)
        assert value >= scores.max() - 1e-9
        agree = ((node2 == 1) | (node2 == 2 * outputs)).all(axis=1)
        assert scores[agree].max() >= scores.max() - 1e-9
        if (node2 != 1).all():
            n_integral += 1
            assert value == pytest.approx(scores.max(), abs=1e-9)
    kind = request.node.callspec.params["instances"]
    if kind in ("attractive", "forest", "zero pairs"):
        assert n_integral == len(instances)
    elif kind == "centred":
        assert 0 < n_integral < len(instances)


@pytest.mark.parametrize("power", [-900, -40, 40, 900])
def test_scaling_by_a_power_of_two_changes_no_bit_of_the_answer(rng, power):
    for _ in range(50):
        unary, edges, pair = random_mrf(rng, "centred")
        value, node2, edge2 = solve(unary, edges, pair)
        scaled = solve(unary * 2.0**power, edges, pair * 2.0**power)
        assert scaled[0] == value * 2.0**power
        np.testing.assert_array_equal(scaled[1], node2)
        np.testing.assert_array_equal(scaled[2], edge2)


def test_small_weights_count_beside_huge_ones():
    # Label 0 falls at once. In a sum of positive weights at label 1 that once had 1e16 in it, the
    # weight 1.0 to label 2 would be lost.
    unary, pair = np.array([-1e17, -0.5, 0.25]), np.array([1e16, 1.0])
    value, node2, _ = solve(unary, [(0, 1), (1, 2)], pair)
    assert (value, node2.tolist()) == (0.75, [2 * y for y in (0, 1, 1)])


def test_dense_graphs_of_more_labels(rng):
    instances = []
    for scale in (0.05, 0.2, 1.0):
        edges = random_edges(rng, 25, 1.0)
        instances.append((rng.normal(size=25), edges, scale * rng.normal(size=len(edges))))
    values = [solve(*instance)[0] for instance in instances]
    np.testing.assert_allclose(values, linear_programs(instances), rtol=1e-10)


weights = st.sampled_from([0.0, 1.0, -1.0, 0.5, -2.0, 1e-12, -1e12, 1e100, -1e-100])


@given(st.lists(weights, min_size=1, max_size=4), st.lists(weights, min_size=6, max_size=6))
def test_any_mixture_of_weights(unary, pair):
    edges = [(i, j) for i in range(len(unary)) for j in range(i)]
    unary, pair = np.array(unary), np.array(pair[: len(edges)])
    value, node2, _ = solve(unary, edges, pair)
    outputs, scores = all_scores(unary, edges, pair)
    scale = np.abs(unary).sum() + np.abs(pair).sum()
    assert value >= scores.max() - 1e-12 * scale
    agree = ((node2 == 1) | (node2 == 2 * outputs)).all(axis=1)
    assert scores[agree].max() >= scores.max() - 1e-12 * scale


def test_room_of_the_graph_serves_again_and_again(rng):
    edges = random_edges(rng, 8, 1.0)
    graph = label_graph(8, edges)
    room, node2, edge2 = roof_room(graph), np.empty(8, np.int32), np.empty(len(edges), np.int32)
    for _ in range(50):
        pair = rng.normal(size=len(edges))
        unary = centred(rng.normal(size=8), edges, pair)
        value, nodes, both = solve(unary, edges, pair)
        assert roof_dual(unary, graph, pair, room, node2, edge2) == value
        np.testing.assert_array_equal(node2, nodes)
        np.testing.assert_array_equal(edge2, both)


@pytest.fixture
def uncompiled(monkeypatch):
    """All kernels of these modules as plain Python, down to the last one they call."""
    for module in (maxflow, dominance, roof_duality, label_search):
        for name, value in vars(module).copy().items():
            if isinstance(value, Kernel):
                monkeypatch.setattr(module, name, value.py_func)


def test_python_and_compiled_code_agree(request):
    rng = np.random.default_rng(7)
    instances = [random_mrf(rng, kind) for kind in KINDS for _ in range(12)]
    answers = [search_all(roof_dual, best_labels_bounded, *instance) for instance in instances]
    request.getfixturevalue("uncompiled")
    assert not isinstance(roof_duality.roof_dual, Kernel)
    for instance, expected in zip(instances, answers, strict=True):
        found = search_all(roof_duality.roof_dual, label_search.best_labels_bounded, *instance)
        assert found == expected


def search_all(roof, search, unary, edges, pair):
    graph = label_graph(len(unary), edges)
    room, y = bounded_room(graph), np.empty(len(unary), dtype=np.int32)
    value = roof(unary, graph, pair, room.roof, room.node2, room.edge2)
    relaxed = room.node2.tolist(), room.edge2.tolist()
    return value, *relaxed, search(unary, graph, pair, room, y), y.tolist()


# --- Local search


def test_search_keeps_its_bound_and_its_labels(instances):
    n_best = 0
    for unary, edges, pair in instances:
        answer = bounded(unary, edges, pair)
        outputs, scores = all_scores(unary, edges, pair)
        place = np.flatnonzero((outputs == answer.output).all(axis=1))[0]
        assert answer.score == pytest.approx(scores[place], abs=1e-12)
        assert answer.bound >= scores.max() - 1e-9
        assert answer.bound >= answer.score
        if answer.exactness is Exactness.EXACT:
            assert answer.score == answer.bound == pytest.approx(scores.max(), abs=1e-9)
        else:
            assert answer.exactness is Exactness.RELAXED
        n_best += answer.score >= scores.max() - 1e-9
    # Not a promise, but on eight labels a search that misses often would be broken.
    assert n_best >= 0.995 * len(instances)


def test_local_search_never_falls_below_its_start(instances):
    rng = np.random.default_rng(3)
    for unary, edges, pair in instances:
        m = len(unary)
        graph = label_graph(m, edges)
        start = rng.integers(0, 2, m).astype(np.int32)
        free = rng.integers(0, 2, m).astype(np.int8)
        y = start.copy()
        score = local_search(unary, graph, pair, label_search.flip_room(graph), free, y)
        before = label_search.label_score(unary, graph, pair, start)
        assert score == label_search.label_score(unary, graph, pair, y) >= before
        np.testing.assert_array_equal(y[free == 0], start[free == 0])
        assert not y[(free == 1) & (unary == -np.inf)].any()
        # No single flip of a free label is worth more than rounding.
        for j in np.flatnonzero((free == 1) & (unary > -np.inf)):
            other = y.copy()
            other[j] = 1 - y[j]
            assert label_search.label_score(unary, graph, pair, other) <= score + 1e-9


def test_beasleys_hundred_variables(data_dir):
    path = data_dir / "mrf_instances" / "bqp100-1.qpbo"
    if not path.is_file():
        pytest.skip(f"{path} is missing")
    table = np.loadtxt(path, skiprows=1)
    first, second = table[:, :2].T.astype(int) - 1
    # The file asks for the minimum of x'Qx, Q symmetric with one entry per pair.
    unary, weight = np.zeros(100), -table[:, 2]
    loops = first == second
    unary[first[loops]] = weight[loops]
    edges, pair = np.column_stack([first, second])[~loops], 2.0 * weight[~loops]
    answer = bounded(unary, edges, pair)
    assert answer.score == 7970.0  # the best there is
    assert answer.bound == relax(unary, edges, pair).bound >= 7970.0
    [reference] = linear_programs([(unary, [tuple(edge) for edge in edges], pair)])
    assert answer.bound == pytest.approx(reference, rel=1e-9)


# --- Max flow


def read_dimacs(path):
    arcs, capacity, terminal = [], [], {}
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        for line in file:
            key, *words = line.split() or ["c"]
            if key == "p":
                n_nodes = int(words[1])
            elif key == "n":
                terminal[words[1]] = int(words[0]) - 1
            elif key == "a":
                arcs.append((int(words[0]) - 1, int(words[1]) - 1))
                capacity.append(float(words[2]))
    return n_nodes, np.array(arcs), np.array(capacity), terminal["s"], terminal["t"]


def cut_capacity(cut, arcs, capacity):
    return capacity[cut.source_side[arcs[:, 0]] & ~cut.source_side[arcs[:, 1]]].sum()


def test_dimacs_flows(data_dir):
    folder = data_dir / "maxflow_dimacs"
    if not folder.is_dir():
        pytest.skip(f"{folder} is missing")
    lines = (folder / "SOURCE.txt").read_text(encoding="utf-8").splitlines()
    known = [line for line in lines if "max flow " in line]
    assert len(known) == 7
    for line in known:
        name, flow = line.partition(":")[0], float(line.rpartition("max flow ")[2])
        n_nodes, arcs, capacity, source, sink = read_dimacs(folder / name)
        cut = min_cut(n_nodes, arcs, capacity, source, sink)
        assert cut.value == flow == cut_capacity(cut, arcs, capacity), name
        assert cut.source_side[source] and not cut.source_side[sink]


def test_flow_and_cut_against_scipy(rng):
    for _ in range(200):
        n = int(rng.integers(2, 12))
        arcs = rng.integers(0, n, (int(rng.integers(0, 40)), 2))
        capacity = rng.integers(0, 9, len(arcs))
        table = sparse.coo_array((capacity.astype(np.int32), arcs.T), shape=(n, n)).tocsr()
        table.indices, table.indptr = table.indices.astype("i4"), table.indptr.astype("i4")
        cut = min_cut(n, arcs, capacity, 0, n - 1)
        assert cut.value == maximum_flow(table, 0, n - 1).flow_value
        assert cut.value == cut_capacity(cut, arcs, capacity)
        assert cut.source_side[0] and not cut.source_side[-1]


def test_flow_ends_whatever_the_capacities(rng):
    for spread in (1, 20, 150):
        arcs = rng.integers(0, 60, (1500, 2))
        capacity = rng.random(1500) * 10.0 ** rng.integers(-spread, spread + 1, 1500)
        cut = min_cut(60, arcs, capacity, 0, 59)
        assert cut.value == pytest.approx(cut_capacity(cut, arcs, capacity), rel=1e-12)


# --- What is refused


@pytest.mark.parametrize(
    ("n_labels", "edges", "message"),
    [
        (3, [(0, 1), (1, 3)], r"edges\[1\] is \(1, 3\); expected labels from 0 to 2"),
        (3, [(-1, 1)], r"edges\[0\] is \(-1, 1\)"),
        (3, [(0, 1), (2, 2)], r"edges\[1\] is \(2, 2\); expected two different labels"),
        (3, [(0, 1), (1, 2), (1, 0)], r"edges\[2\] is \(1, 0\), .* same labels as edges\[0\]"),
        (3, [(0, 1, 2)], r"shape \(n_edges, 2\), got \(1, 3\)"),
        (0, [(0, 1)], "there are no labels"),
        (-1, [], "n_labels must be from 0"),
        (3, [(0, 1), (1,)], "edges is not an array of pairs"),
    ],
)
def test_bad_edges(n_labels, edges, message):
    with pytest.raises(ValueError, match=message):
        label_graph(n_labels, edges)


def test_bad_types_of_edges():
    with pytest.raises(TypeError, match="edges must hold integer labels, got dtype float64"):
        label_graph(3, [(0.0, 1.0)])
    with pytest.raises(TypeError, match=r"n_labels must be a whole number, got 2\.5"):
        label_graph(2.5, [])


def test_label_graph_lists_each_edge_at_both_ends(rng):
    for _ in range(50):
        m = int(rng.integers(1, 9))
        edges = random_edges(rng, m, 0.5)
        graph = label_graph(m, edges)
        for j in range(m):
            slots = slice(graph.start[j], graph.start[j + 1])
            ends = {(int(sum(edges[e]) - j), int(e)) for e in graph.edge_of[slots]}
            assert ends == {(sum(edge) - j, e) for e, edge in enumerate(edges) if j in edge}
            assert [k for k, _ in sorted(ends)] == graph.neighbour[slots].tolist()
        assert graph.start[m] == 2 * len(edges) == len(graph.neighbour)


@pytest.mark.parametrize("face", [relax, bounded])
@pytest.mark.parametrize(
    ("unary", "edges", "pair", "message"),
    [
        ([], [], [], "unary is empty"),
        ([0.0, np.nan], [], [], r"unary\[1\] is NaN"),
        ([0.0, np.inf], [], [], r"unary\[1\] is \+inf"),
        ([0.0, 1.0], [(0, 1)], [], r"pair has shape \(0,\); expected \(1,\), one number per edge"),
        ([0.0, 1.0], [(0, 1)], [-np.inf], r"pair\[0\] is -inf; expected a finite number"),
        ([0.0, 1.0], [(0, 2)], [1.0], r"edges\[0\] is \(0, 2\)"),
        ([1e305, 1.0], [(0, 1)], [1.0], "unary and pair go up to 1e\\+305"),
    ],
)
def test_bad_weights(face, unary, edges, pair, message):
    with pytest.raises(ValueError, match=message):
        face(unary, edges, pair)


@pytest.mark.parametrize("face", [relax, bounded])
def test_all_labels_forbidden(face):
    answer = face([-np.inf, -np.inf], [(0, 1)], [5.0])
    assert answer.exactness is Exactness.EXACT
    assert answer[0].tolist() == [0, 0] and answer.bound == 0.0


@pytest.mark.parametrize(
    ("arcs", "capacity", "source", "sink", "message"),
    [
        ([(0, 2)], [1.0], 0, 1, r"arcs\[0\] is \[0, 2\]"),
        ([(0, 1)], [-1.0], 0, 1, r"capacity\[0\] is -1.0"),
        ([(0, 1)], [np.inf], 0, 1, r"capacity\[0\] is inf"),
        ([(0, 1)], [], 0, 1, "one per arc"),
        ([(0, 1)], [1.0], 0, 0, "both 0"),
        ([(0, 1)], [1.0], 0, 2, "sink is 2"),
    ],
)
def test_bad_networks(arcs, capacity, source, sink, message):
    with pytest.raises(ValueError, match=message):
        min_cut(2, arcs, capacity, source, sink)
