"""Label sets: every oracle against the list of all sets, the relaxation against a programme."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.core import contract as generic
from maxmargin.core.contract import (
    are_outputs,
    has,
    margin_error,
    maximize,
    output_cost,
    output_length,
    potentials,
    shift,
)
from maxmargin.core.outputs import is_same_output
from maxmargin.core.problem import Problem
from maxmargin.costs import (
    ClassWeighted,
    CostMatrix,
    ExampleF1,
    Hamming,
    SwitchCost,
    WholeCost,
    ZeroOne,
    micro_f1_cost,
    tabulate,
)
from maxmargin.inference.labels.graph import label_graph
from maxmargin.inference.programs.labels import LabelProgram
from maxmargin.search import Angular, ConvexHull, Profile
from maxmargin.search.direct import Direct
from maxmargin.solvers import BlockFrankWolfe, run
from maxmargin.structures import (
    IndependentLabels,
    ListedLabels,
    PairwiseLabels,
    RelaxedLabels,
    RelaxedProgramLabels,
    TreeLabels,
    labels_data,
    learnt_tree,
)
from maxmargin.structures.labels.program import Part
from maxmargin.structures.labels.relaxed import read_point
from maxmargin.structures.user.compiled import check_cost_fits
from maxmargin.surrogates import MarginRescaling, MicroF1, SlackRescaling
from maxmargin.testing import all_outputs, optimum
from maxmargin.testing.outputs import ENUMERATORS
from maxmargin.training.task import Task

DIRECT = Direct(1.0, 1.0)

MARGIN = MarginRescaling().compiled()
INTEGRAL = ("independent", "tree", "listed", "pairwise", "program")
RELAXED = ("relaxed", "relaxed_program")
COSTS = {
    "hamming": Hamming(),
    "mean": Hamming("mean"),
    "weighted": ClassWeighted({0: 2.5, 1: 0.0}),
    "zero_one": ZeroOne(),
    "f1": ExampleF1(),
    "micro_f1": None,
}
SCALES = [(1.0, 1.0), (0.3, 2.0), (2.0, 0.1), (1.0, 0.0), (0.0, 1.0)]


def edges_for(inference, m, rng):
    pairs = list(itertools.combinations(range(m), 2))
    if inference == "independent":
        return []
    if inference == "tree":
        return [(int(rng.integers(b)), b) for b in range(1, m) if rng.random() < 0.8]
    return [pair for pair in pairs if rng.random() < 0.8]


def make(inference, m=3, seed=0, n=2, missing=0.2, edges=None, sparse=False, ties=False):
    """Return small label sets without an empty truth, and weights for them."""
    rng = np.random.default_rng(seed)
    Y = rng.integers(2, size=(n, m))
    Y[rng.random(Y.shape) < missing] = -1
    Y[np.arange(n), rng.integers(m, size=n)] = 1
    X = rng.normal(size=(n, 2)).round(1)
    edges = edges_for(inference, m, rng) if edges is None else edges
    data = labels_data(sp.csr_matrix(X) if sparse else X, Y, edges, inference=inference)
    w = rng.normal(size=int(generic.n_weights(data)))
    return data, (rng.integers(-1, 2, size=len(w)).astype(float) if ties else w)


def tables(name, data):
    if name == "micro_f1":
        return micro_f1_cost(data)
    return tabulate(COSTS[name], data, range(data.n_labels))


def fits(data, cost):
    return has(maximize, type(data), type(cost))


def listed(data, i):
    """Return all integral outputs of an example, as the cells of any kind of data."""
    kind = {"ProgramLabels": PairwiseLabels}.get(type(data).__name__, type(data))
    return ENUMERATORS[kind](data, i)


def criteria(data, cost, i, theta, rows):
    """Return h and g of outputs."""
    h = [margin_error(data, i, theta, y, 0) + shift(data, cost, i, y, 0) for y in rows]
    return np.array(h), np.array([output_cost(data, cost, i, y, 0) for y in rows])


def case(inference, name, seed, **options):
    """Return data, cost, potentials of example 1 and its outputs; None where they do not fit."""
    data, w = make(inference, m=2 + seed % 3, seed=seed, **options)
    cost = tables(name, data)
    if not fits(data, cost):
        return None
    theta, room = generic.workspace(data)
    potentials(data, 1, w, 1.0, theta)
    return data, cost, theta, room, listed(data, 1)


# -- features, by the dense joint feature vector ---------------------------------------------------


def joint_feature(X, i, node, edge, bias=1):
    x = np.append(np.asarray(X[i].todense() if sp.issparse(X) else X[i]).reshape(-1), [1.0] * bias)
    return np.concatenate([np.outer(x, node).reshape(-1), edge])


def point(data, outputs, i=1):
    """Return an output of example i as a point of the polytope."""
    if isinstance(data, RelaxedLabels | RelaxedProgramLabels):
        return Part(*read_point(data, i, outputs, 0))
    node = (outputs[: data.n_labels] == 1).astype(float)
    return Part(node, node[data.graph.edges[:, 0]] * node[data.graph.edges[:, 1]])


def fractional_outputs(data, cost, i, rng, n=6):
    """Return outputs of a relaxation, found at random weights, and means of them."""
    size = generic.output_size(data, i)
    cells = generic.truths(data).dtype
    found = []
    for _ in range(n):
        theta, room = generic.workspace(data)
        w = 3.0 * rng.normal(size=int(generic.n_weights(data)))
        w[-len(data.graph.edges) :] *= 3.0
        potentials(data, i, w, 1.0, theta)
        y = np.zeros(size, dtype=cells)
        maximize(data, cost, i, theta, room, 1.0, 1.0, y, 0)
        found.append(y)
    for share in (0.25, 0.7, 0.0, 1.0):
        left, right = (found[k] for k in rng.integers(n, size=2))
        y = np.zeros(size, dtype=cells)
        assert generic.mix(data, i, left, 0, right, 0, share, y, 0)
        found.append(y)
    return found


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("inference", INTEGRAL + RELAXED)
def test_features_scores_and_products_are_those_of_the_definition(inference, sparse, rng):
    for seed in range(4):
        data, w = make(inference, m=4, seed=seed, sparse=sparse)
        X = data.X if hasattr(data, "X") else None
        X = make("program", m=4, seed=seed, sparse=sparse, edges=[])[0].X if X is None else X
        cost = tables("hamming", data)
        rows = list(listed(data, 1))
        if inference in RELAXED and len(data.graph.edges):
            rows += fractional_outputs(data, cost, 1, rng)
        true_node = (data.labels[1] == 1).astype(float)
        edges = data.graph.edges
        truth = joint_feature(X, 1, true_node, true_node[edges[:, 0]] * true_node[edges[:, 1]])
        psi = np.array([truth - joint_feature(X, 1, *point(data, y)) for y in rows])
        added = np.zeros_like(psi)
        for y, row in zip(rows, added, strict=True):
            generic.add_difference(data, 1, y, 0, 1.0, row)
        assert added == pytest.approx(psi, abs=1e-12)
        theta, _ = generic.workspace(data)
        potentials(data, 1, w, 1.5, theta)
        errors = [margin_error(data, 1, theta, y, 0) for y in rows]
        assert errors == pytest.approx(-1.5 * psi @ w, abs=1e-12)
        products = psi @ psi.T
        spare = np.zeros(len(w))
        default, _ = generic.workspace(data)
        for k, y in enumerate(rows):
            generic.difference_potentials(data, 1, y, 0, np.zeros(0), theta)
            errors = [margin_error(data, 1, theta, z, 0) for z in rows]
            assert errors == pytest.approx(-products[k], abs=1e-11)
            spare[:] = 0.0
            generic.add_difference(data, 1, y, 0, 1.0, spare)
            potentials(data, 1, spare, 1.0, default)
            known = data.labels[1] >= 0
            assert theta.unary[0, known] == pytest.approx(default.unary[0, known], abs=1e-12)
            assert theta.pair == pytest.approx(default.pair, abs=1e-12)


# -- the weighted oracle ---------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("inference", INTEGRAL)
def test_the_best_output_is_the_best_of_all(inference, name, ties):
    for seed in range(4 if inference == "program" else 25):
        made = case(inference, name, seed, ties=ties)
        if made is None:
            return  # refused, see below
        data, cost, theta, room, rows = made
        h, g = criteria(data, cost, 1, theta, rows)
        y = np.zeros(data.n_labels, dtype=np.int32)
        for score_scale, cost_scale in SCALES:
            maximize(data, cost, 1, theta, room, score_scale, cost_scale, y, 0)
            found = int(np.flatnonzero((rows == y).all(axis=1))[0])
            values = score_scale * h + cost_scale * g
            assert values[found] == pytest.approx(values.max(), abs=1e-9)
            # Where a criterion does not count, it decides between the best.
            best = values >= values.max() - 1e-9
            if score_scale == 0.0:
                assert h[found] == pytest.approx(h[best].max(), abs=1e-7)
            if cost_scale == 0.0:
                assert g[found] == pytest.approx(g[best].max(), abs=1e-9)


@pytest.mark.parametrize("name", ["hamming", "weighted", "micro_f1"])
def test_the_bound_of_a_search_holds(name):
    n_open = 0
    for seed in range(60):
        edges = list(itertools.combinations(range(4), 2))
        data, w = make("pairwise", m=4, seed=seed, edges=edges, missing=0.1)
        w[-6:] = -3.0 * np.abs(w[-6:])
        cost = tables(name, data)
        theta, room = generic.workspace(data)
        potentials(data, 1, w, 1.0, theta)
        h, g = criteria(data, cost, 1, theta, listed(data, 1))
        y = np.zeros(4, dtype=np.int32)
        for score_scale, cost_scale in SCALES:
            bound = generic.maximize_bounded(
                data, cost, 1, theta, room, score_scale, cost_scale, y, 0
            )
            found = criteria(data, cost, 1, theta, [y])
            best = (score_scale * h + cost_scale * g).max()
            value = float(score_scale * found[0][0] + cost_scale * found[1][0])
            assert value - 1e-9 <= best <= bound + 1e-9
            n_open += bound > best + 1e-6
    assert n_open > 10


def test_attractive_edges_leave_nothing_open():
    for seed in range(40):
        data, w = make("pairwise", m=4, seed=seed, missing=0.1)
        n_edges = len(data.graph.edges)
        w[len(w) - n_edges :] = np.abs(w[len(w) - n_edges :])
        cost = tables("hamming", data)
        theta, room = generic.workspace(data)
        potentials(data, 1, w, 1.0, theta)
        h, g = criteria(data, cost, 1, theta, listed(data, 1))
        y = np.zeros(4, dtype=np.int32)
        bound = generic.maximize_bounded(data, cost, 1, theta, room, 1.0, 1.0, y, 0)
        assert bound == pytest.approx((h + g).max(), abs=1e-9)


def test_a_program_that_runs_out_of_time_says_by_how_much(rng):
    m = 40
    edges = list(itertools.combinations(range(m), 2))
    Y = rng.integers(2, size=(1, m))
    data = labels_data(np.ones((1, 1)), Y, edges, inference="program", time_limit=0.02)
    w = rng.normal(size=int(generic.n_weights(data)))
    cost = tabulate(Hamming(), data, range(m))
    theta, room = generic.workspace(data)
    potentials(data, 0, w, 1.0, theta)
    y = np.zeros(m, dtype=np.int32)
    bound = generic.maximize_bounded(data, cost, 0, theta, room, 1.0, 1.0, y, 0)
    h, g = criteria(data, cost, 0, theta, [y])
    assert set(y.tolist()) <= {0, 1}
    assert bound > h[0] + g[0] + 1e-3


# -- k best, profiles, angles ----------------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("inference", ["independent", "tree", "listed", "program"])
def test_the_k_best_are_the_k_best_of_all(inference, name, ties):
    for seed in range(2 if inference == "program" else 15):
        made = case(inference, name, seed, ties=ties)
        if made is None or "k_best" not in generic.capabilities(made[0], made[1]):
            return
        data, cost, theta, room, rows = made
        h, g = criteria(data, cost, 1, theta, rows)
        own = generic.k_best_room(data, cost, 20)
        for k, (score_scale, cost_scale) in itertools.product((1, 2, 5, 20), SCALES[:2]):
            cells = np.full(20 * data.n_labels, -7, dtype=np.int32)
            count = generic.k_best(
                data, cost, 1, theta, room, score_scale, cost_scale, k, own, cells, 0
            )
            assert count == min(k, len(rows))
            found = cells[: count * data.n_labels].reshape(count, -1)
            assert len(np.unique(found, axis=0)) == count
            assert (cells[count * data.n_labels :] == -7).all()
            found_h, found_g = criteria(data, cost, 1, theta, found)
            expected = np.sort(score_scale * h + cost_scale * g)[::-1][:count]
            values = score_scale * found_h + cost_scale * found_g
            assert values == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("inference", ["independent", "tree", "listed"])
def test_profiles_hold_the_best_of_every_cost(inference, name, ties):
    for seed in range(20):
        made = case(inference, name, seed, ties=ties)
        if made is None or "profile" not in generic.capabilities(made[0], made[1]):
            return
        data, cost, theta, room, rows = made
        all_h, all_g = criteria(data, cost, 1, theta, rows)
        h, g = np.full((2, generic.profile_levels(data, cost)), np.nan)
        own = generic.profile_room(data, cost)
        n_levels = generic.profile(data, cost, 1, theta, room, own, h, g)
        h, g = h[:n_levels], g[:n_levels]
        there = h > -np.inf
        # Whatever increases with h has its maximum among the levels.
        for price in np.unique(all_g.round(9)):
            top = all_h[np.abs(all_g - price) < 1e-6].max()
            assert h[there & (np.abs(g - price) < 1e-6)].max() == pytest.approx(top, abs=1e-9)
        y = np.zeros(data.n_labels, dtype=np.int32)
        for level in np.flatnonzero(there):
            generic.profile_output(data, cost, 1, theta, room, own, level, y, 0)
            assert (rows == y).all(axis=1).any()
            found_h, found_g = criteria(data, cost, 1, theta, [y])
            assert found_h[0] == pytest.approx(h[level], abs=1e-9)
            assert found_g[0] == pytest.approx(g[level], abs=1e-9)


def test_the_list_is_made_anew_for_a_cost_at_the_same_address():
    """A cost that is gone leaves its address to the next, which may be worth something else."""
    data, _ = make("listed", missing=0.0)
    price = np.array([[1.0, 1.0], [9.0, 9.0], [2.0, 2.0]])
    first = SwitchCost(price, np.zeros((0, 2)), np.zeros(2), np.ones(2))
    theta, room = generic.workspace(data)
    outputs = np.zeros(3, dtype=np.int32)

    def worst(cost):
        maximize(data, cost, 0, theta, room, 1.0, 1.0, outputs, 0)
        return output_cost(data, cost, 0, outputs, 0)

    potentials(data, 0, np.zeros(generic.n_weights(data)), 1.0, theta)
    assert worst(first) == 12.0
    # Shares its first array with the other; then another price lies where the first one lay.
    assert worst(first._replace(scale=np.full(2, 3.0))) == 36.0
    truth = data.labels[0].copy()
    price[:, :] = [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0]]
    assert worst(first) == 2.0 and outputs[2] != truth[2]
    # And one number may be a price of labels, of sets or of F1.
    assert worst(WholeCost(np.full(2, 2.0))) == 2.0
    assert (room.costs == np.where(np.arange(8) == truth @ [1, 2, 4], 0.0, 2.0)).all()


def test_profiles_need_labels_of_one_price():
    for inference in ("independent", "tree"):
        data, _ = make(inference)
        assert "profile" in generic.capabilities(data, tables("hamming", data))
        weighted = tabulate(ClassWeighted({0: 2.0}), data, [0, 1, 2])
        with pytest.raises(ValueError, match="some labels cost more than others"):
            generic.profile_levels(data, weighted)
        assert "profile" not in generic.capabilities(data, weighted)
    # Where all sets are listed every one of them is a level.
    data, _ = make("listed")
    weighted = tabulate(ClassWeighted({0: 2.0}), data, [0, 1, 2])
    assert generic.profile_levels(data, weighted) == 8


@pytest.mark.parametrize("name", ["hamming", "weighted", "zero_one", "f1"])
@pytest.mark.parametrize("inference", ["listed", "program"])
def test_the_best_within_an_angle(inference, name, rng):
    n_found = n_none = 0
    for seed in range(3 if inference == "program" else 30):
        made = case(inference, name, seed, missing=0.1)
        if made is None or "constrained" not in generic.capabilities(made[0], made[1]):
            return
        data, cost, theta, room, rows = made
        h, g = criteria(data, cost, 1, theta, rows)
        slopes = np.append(np.unique((g / (1 + h))[1 + h > 0]), np.inf)
        y = np.zeros(data.n_labels, dtype=np.int32)
        for tilt, is_closed in itertools.product((0.0, 0.7, np.inf), (False, True)):
            low, high = np.sort(rng.choice(np.append(slopes, 0.0), size=2))
            # Outputs on a bound are banned, as searches do with those that made it.
            slope = g / (1 + h)
            edge = (1 + h > 0) & (np.isclose(slope, low) | np.isclose(slope, high))
            banned = rows[edge]
            mine = (1 + h > 0) & (slope > low) & (slope < high) & ~edge
            is_there = generic.constrained(
                data, cost, 1, theta, room, tilt, low, high, is_closed,
                np.ascontiguousarray(banned).reshape(-1), len(banned), y, 0,
            )  # fmt: skip
            values = h + tilt * g if tilt < np.inf else g
            assert is_there == mine.any()
            if is_there:
                found = int(np.flatnonzero((rows == y).all(axis=1))[0])
                assert mine[found]
                assert values[found] == pytest.approx(values[mine].max(), abs=1e-8)
            n_found += is_there
            n_none += not is_there
    assert n_found and n_none


# -- labels that are not known ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hamming", "mean", "zero_one", "f1", "micro_f1"])
@pytest.mark.parametrize("inference", INTEGRAL)
def test_unknown_labels_are_as_if_they_were_not_there(inference, name, rng):
    m, known = 4, np.array([0, 2, 3])
    edges = [] if inference == "independent" else [(0, 1), (0, 2), (2, 3)]
    inside = [e for e, pair in enumerate(edges) if 1 not in pair]
    Y = rng.integers(2, size=(1, m))
    Y[0, 0] = 1
    X = rng.normal(size=(1, 2))
    hidden = Y.copy()
    hidden[0, 1] = -1
    whole = labels_data(X, hidden, edges, inference=inference)
    renamed = [tuple(np.searchsorted(known, edges[e]).tolist()) for e in inside]
    part = labels_data(X, Y[:, known], renamed, inference=inference)
    costs = tables(name, whole), tables(name, part)
    if not fits(whole, costs[0]):
        return
    w = rng.normal(size=int(generic.n_weights(whole)))
    W, pair = w[: 3 * m].reshape(3, m), w[3 * m :]
    small = np.concatenate([W[:, known].reshape(-1), pair[inside]])
    found = []
    for data, cost, weights in ((whole, costs[0], w), (part, costs[1], small)):
        theta, room = generic.workspace(data)
        y = np.zeros(data.n_labels, dtype=np.int32)
        potentials(data, 0, weights, 1.0, theta)
        maximize(data, cost, 0, theta, room, 1.0, 0.7, y, 0)
        h, g = criteria(data, cost, 0, theta, [y])
        found.append((y, h[0], g[0]))
    assert found[0][0][1] == -1 and found[0][0][known].tolist() == found[1][0].tolist()
    assert found[0][1:] == pytest.approx(found[1][1:], abs=1e-12)


def test_an_example_of_which_nothing_is_known():
    for inference in (*INTEGRAL, *RELAXED):
        edges = [] if inference == "independent" else [(0, 1)]
        data = labels_data(np.ones((1, 1)), [[-1, -1]], edges, inference=inference)
        for name in ("hamming", "zero_one", "micro_f1"):
            cost = tables(name, data)
            if not fits(data, cost):
                continue
            theta, room = generic.workspace(data)
            potentials(data, 0, np.ones(int(generic.n_weights(data))), 1.0, theta)
            y = np.empty(generic.output_size(data, 0), dtype=generic.truths(data).dtype)
            maximize(data, cost, 0, theta, room, 1.0, 1.0, y, 0)
            h, g = criteria(data, cost, 0, theta, [y])
            assert h[0] == 0.0 and g[0] == 0.0
            assert all(point(data, y, 0).node == 0)


# -- the relaxation --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hamming", "weighted", "micro_f1"])
@pytest.mark.parametrize("inference", RELAXED)
def test_the_relaxation_is_the_linear_programme(inference, name):
    n_fractional = 0
    for seed in range(10 if inference == "relaxed_program" else 40):
        edges = list(itertools.combinations(range(4), 2))
        data, w = make(inference, m=4, seed=seed, edges=edges, missing=0.1)
        w[-6:] *= 3.0
        cost = tables(name, data)
        theta, room = generic.workspace(data)
        potentials(data, 1, w, 1.0, theta)
        cells = listed(data, 1)
        h, g = criteria(data, cost, 1, theta, cells)
        # The same objective from its values at single labels and pairs: it is linear.
        base = cells[0]
        y = np.zeros(generic.output_size(data, 1), dtype=cells.dtype)
        for score_scale, cost_scale in SCALES[:3]:
            value = score_scale * h + cost_scale * g
            nodes = np.array([point(data, row).node for row in cells])
            unary = np.full(4, -np.inf)
            for j in np.flatnonzero(data.labels[1] >= 0):
                alone = np.flatnonzero((nodes == np.eye(4)[j]).all(axis=1))[0]
                unary[j] = value[alone] - value[0]
            assert (point(data, base).node == 0).all()
            pair = score_scale * theta.pair
            answer = LabelProgram(label_graph(4, edges), integral=False).solve(unary, pair)
            maximize(data, cost, 1, theta, room, score_scale, cost_scale, y, 0)
            found_h, found_g = criteria(data, cost, 1, theta, [y])
            found = score_scale * found_h[0] + cost_scale * found_g[0]
            assert found == pytest.approx(answer.value + value[0], abs=1e-7)
            assert found >= value.max() - 1e-7
            bound = generic.maximize_bounded(
                data, cost, 1, theta, room, score_scale, cost_scale, y, 0
            )
            assert bound == pytest.approx(found, abs=1e-9)
            node = point(data, y).node
            n_fractional += bool(((node > 0.1) & (node < 0.9)).any())
    assert n_fractional


@pytest.mark.parametrize("inference", RELAXED)
def test_means_of_outputs_are_means_in_all_they_say(inference, rng):
    edges = list(itertools.combinations(range(5), 2))
    data, w = make(inference, m=5, seed=3, edges=edges)
    theta, _ = generic.workspace(data)
    potentials(data, 1, w, 1.0, theta)
    size, cells = generic.output_size(data, 1), generic.truths(data).dtype
    for name in ("hamming", "micro_f1"):
        cost = tables(name, data)
        found = fractional_outputs(data, cost, 1, rng)[:6]
        for share in (0.0, 0.125, 1.0 / 3.0, 1.0):
            left, right = found[0], found[3]
            y = np.zeros(size + 2, dtype=cells)
            assert generic.mix(data, 1, left, 0, right, 0, share, y, 1)
            y = y[1:-1]
            weights = np.array([1.0 - share, share])
            for criterion in criteria(data, cost, 1, theta, [left, right, y]):
                assert criterion[2] == pytest.approx(weights @ criterion[:2], abs=1e-7)
            psi = np.zeros((3, len(w)))
            for row, output in zip(psi, (left, right, y), strict=True):
                generic.add_difference(data, 1, output, 0, 1.0, row)
            assert psi[2] == pytest.approx(weights @ psi[:2], abs=1e-7)
    assert "relaxed" in generic.capabilities(data, cost)


def test_a_mean_of_means_is_an_output():
    data, _ = make("relaxed", m=3, edges=[(0, 1)], missing=0.0)
    rows = listed(data, 1)
    y, z = np.zeros((2, rows.shape[1]))
    assert generic.mix(data, 1, rows[0], 0, rows[3], 0, 0.5, y, 0)
    assert generic.mix(data, 1, y, 0, rows[2], 0, 0.5, z, 0)
    expected = [
        0.25 * a + 0.25 * b + 0.5 * c
        for a, b, c in zip(*(point(data, rows[k]) for k in (0, 3, 2)), strict=True)
    ]
    for found, wanted in zip(point(data, z), expected, strict=True):
        assert found.tolist() == wanted.tolist()
    # A share of 0 or 1 is no mean.
    for share, expected in ((0.0, rows[0]), (1.0, rows[3])):
        assert generic.mix(data, 1, rows[0], 0, rows[3], 0, share, y, 0)
        assert is_same_output(data, 1, y, 0, expected, 0)


def test_outputs_from_a_file_are_checked():
    data, _ = make("relaxed", m=3, edges=[(0, 1), (1, 2)], missing=0.4, seed=3)
    for i in range(len(data.labels)):
        for row in listed(data, i):
            length = int(output_length(data, i, row, 0))
            assert are_outputs(data, np.array([i]), row[:length], np.array([length])).all()
        n_parts = data.n_labels + 2
        for cells in (
            [1.0],
            [1.0, 0.0],
            [-1.0],
            [np.nan],
            [1.0, -1.0, 0.5],
            [1.0, n_parts, 0.5],
            [1.0, 0.5, 0.5],
            [1.0, 0.0, np.nan],
            [1.0, 0.0, 7.0],
            [1.0, 3.0, 7.0],
            [2.0, 1.0, 0.0, 0.0, 0.0],
            [2.0, 0.0, 0.0, 0.0, 0.0],
        ):
            given = np.array(cells)
            told = are_outputs(data, np.array([i]), given, np.array([len(given)]))
            assert not told.any(), cells


def test_halves_and_edges_between_them():
    """All of many labels are 1/2, and edges between them are 0 or 1/2."""
    m = 12
    edges = list(itertools.combinations(range(m), 2))
    data = labels_data(np.ones((1, 1)), np.zeros((1, m)), edges, inference="relaxed")
    rng = np.random.default_rng(0)
    w = np.zeros(int(generic.n_weights(data)))
    w[2 * m :] = rng.normal(size=len(edges))
    for (a, b), weight in zip(edges, w[2 * m :], strict=True):
        w[[m + a, m + b]] -= weight / 2  # no label knows what to do
    cost = tables("hamming", data)
    theta, room = generic.workspace(data)
    potentials(data, 0, w, 1.0, theta)
    y = np.zeros(generic.output_size(data, 0))
    maximize(data, cost, 0, theta, room, 1.0, 0.1, y, 0)
    found = point(data, y, 0)
    assert (found.node == 0.5).sum() > 5 and (found.edge[-20:] == 0.5).any()
    unary, pair = w[m : 2 * m] + 0.1, w[2 * m :]
    answer = LabelProgram(label_graph(m, edges), integral=False).solve(unary, pair)
    assert unary @ found.node + pair @ found.edge == pytest.approx(answer.value)


# -- training --------------------------------------------------------------------------------------


def trained(data, cost, surrogate=MARGIN, tol=1e-6, **options):
    problem = Problem(
        data,
        cost,
        surrogate,
        len(data.labels),
        lam=0.1,
        compile=False,
        **{"search": DIRECT, **options},
    )
    result, _ = run(problem, BlockFrankWolfe(), rng=np.random.default_rng(0), tol=tol, max_iter=500)
    return problem, result


@pytest.mark.parametrize("name", ["hamming", "zero_one", "f1"])
@pytest.mark.parametrize("inference", ["independent", "tree", "listed", "pairwise", "program"])
def test_training_reaches_the_optimum(inference, name):
    # On a forest the bound of the relaxation is tight, so that each has its certificate.
    edges = [] if inference == "independent" else [(0, 1), (1, 2)]
    data, _ = make(inference, seed=5, n=3 if inference == "program" else 5, edges=edges)
    cost = tables(name, data)
    if not fits(data, cost):
        return
    problem, result = trained(data, cost)
    assert result.is_certified and result.primal - result.dual <= 1e-6 * abs(result.primal)
    best = optimum(problem, outputs=lambda i: listed(data, i))
    assert best.lower - 1e-7 <= result.primal <= best.upper * (1 + 2e-6) + 1e-9
    assert problem.objective == "integral"


def test_the_relaxed_optimum_is_above_the_integral_one():
    rng = np.random.default_rng(1)
    # Exactly two of three labels: no weights say so without edges that repel one another.
    Y = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1]])
    X = 0.1 * rng.normal(size=(4, 1))
    edges = [(0, 1), (1, 2), (0, 2)]
    values = {}
    for inference in ("listed", "relaxed", "relaxed_program"):
        data = labels_data(X, Y, edges, inference=inference)
        problem, result = trained(data, tables("hamming", data))
        assert result.is_certified
        assert problem.objective == ("integral" if inference == "listed" else "relaxed")
        values[inference] = (result.primal, result.dual)
    assert values["relaxed"][1] >= values["listed"][1] - 1e-6
    assert values["relaxed"][0] == pytest.approx(values["relaxed_program"][0], rel=1e-5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_micro_f1_has_one_optimum_however_it_is_found():
    Y = np.array([[1, 1, 0], [1, 0, -1], [0, 0, 0], [0, 1, 1]])
    X = np.random.default_rng(2).normal(size=(4, 2))
    surrogate, values = MicroF1(), []
    for inference, search in (
        ("tree", Profile()),
        ("listed", Profile()),
        ("relaxed", ConvexHull()),
    ):
        data = labels_data(X, Y, [(0, 1), (1, 2)], inference=inference)
        cost = micro_f1_cost(data)
        bound = search.bind(data, cost, surrogate)
        _, result = trained(data, cost, surrogate.compiled(), tol=1e-3, search=bound)
        assert result.is_certified
        values.append(result.primal)
    assert values == pytest.approx([values[0]] * len(values), rel=2e-3)


def test_searches_of_the_relaxation_agree():
    """Roof duality and a linear programme, by hull and by angles, at weights that know a little."""
    rng = np.random.default_rng(0)
    edges = [(0, 1), (1, 2), (0, 2)]
    X, W = rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
    Y = (X @ W > 0.5).astype(int)
    surrogate = SlackRescaling()
    problems = []
    for inference, search in (
        ("relaxed", ConvexHull(integral=False)),
        ("relaxed_program", ConvexHull(integral=False)),
        ("relaxed_program", Angular()),
    ):
        data = labels_data(X, Y, edges, inference=inference, bias=False)
        cost = tables("hamming", data)
        bound = search.bind(data, cost, surrogate)
        problems.append(
            Problem(data, cost, surrogate.compiled(), 6, 0.1, search=bound, compile=False)
        )
    for scale in (0.0, 1.0, 3.0):
        w = scale * np.concatenate([W.reshape(-1), rng.normal(size=3)])
        found = np.array([problem.losses(w) for problem in problems])
        assert found[1:, 0] == pytest.approx(np.tile(found[0, 0], (2, 1)), rel=1e-5, abs=1e-6)
        assert found[:, 1] == pytest.approx(found[:, 0], rel=1e-5, abs=1e-6)


# -- costs -----------------------------------------------------------------------------------------


def definition(name, y, truth, prices):
    """Return the cost of a label set among known labels, from sets."""
    known = [j for j in range(len(truth)) if truth[j] >= 0]
    mine, right = ({j for j in known if z[j] == 1} for z in (y, truth))
    wrong = mine ^ right
    return {
        "hamming": len(wrong),
        "mean": len(wrong) / max(len(known), 1),
        "weighted": sum(prices[j] for j in wrong),
        "zero_one": float(bool(wrong)),
        "f1": 1 - 2 * len(mine & right) / (len(mine) + len(right)) if mine | right else 0.0,
        "micro_f1": -(len(mine) + len(right)),
    }[name]


@pytest.mark.parametrize("name", COSTS)
def test_costs_are_what_they_say(name):
    for seed in range(20):
        data, _ = make("listed", seed=seed)
        cost = tables(name, data)
        for y in listed(data, 0):
            expected = definition(name, y, data.labels[0], [2.5, 0.0, 1.0])
            assert output_cost(data, cost, 0, y, 0) == pytest.approx(expected, abs=1e-12)
            hamming = definition("hamming", y, data.labels[0], [1.0] * 3)
            assert shift(data, cost, 0, y, 0) == (hamming if name == "micro_f1" else 0.0)


def test_micro_f1_at_margin_error_0_is_1_minus_f1():
    data, _ = make("independent", seed=2)
    cost, f1 = micro_f1_cost(data), tables("f1", data)
    for y in listed(data, 0):
        h, g = shift(data, cost, 0, y, 0), output_cost(data, cost, 0, y, 0)
        value = generic.psi(MicroF1().compiled(), h, g)[0]
        assert value == pytest.approx(output_cost(data, f1, 0, y, 0))


def test_an_empty_truth_under_f1_is_named():
    data = labels_data(np.ones((3, 1)), [[1, 0], [0, -1], [0, 0]])
    with pytest.raises(ValueError, match=r"sample 1 has an empty truth under F1.*2 such samples"):
        tabulate(ExampleF1(), data, ["a", "b"])
    assert micro_f1_cost(data).scale.tolist() == [1.0, 1.0, 1.0]


def test_costs_that_are_not_of_label_sets_are_refused():
    data = labels_data(np.ones((1, 1)), [[1, 0]])
    with pytest.raises(ValueError, match=r"CostMatrix is no cost of label sets.*Costs that fit: h"):
        tabulate(CostMatrix([[0, 1], [1, 0]]), data, ["a", "b"])
    with pytest.raises(ValueError, match="weights names 'c', which is no class"):
        tabulate(ClassWeighted({"c": 1.0}), data, ["a", "b"])
    with pytest.raises(ValueError, match="names has 1 labels but the examples have 2 each"):
        tabulate(Hamming(), data, ["a"])
    task = Task(data, tabulate(ZeroOne(), data, ["a", "b"]), 1, np.ones(1))
    with pytest.raises(ValueError, match=r"MicroF1\(.*\) has a cost of its own, 1 - F1"):
        task.problem(MicroF1(), 1.0)
    with pytest.raises(ValueError, match=r"ExampleF1 is no cost of classes and sequences.*matrix"):
        ExampleF1().tabulate("positions", np.arange(2), np.ones(1))
    assert ExampleF1(**ExampleF1().parameters()) == ExampleF1()


@pytest.mark.parametrize(
    ("inference", "name"),
    [("tree", "f1"), ("pairwise", "f1"), ("pairwise", "zero_one"), ("relaxed", "zero_one")],
)
def test_costs_without_an_oracle_are_refused(inference, name):
    data, _ = make(inference)
    with pytest.raises(TypeError, match=r"has no maximize .* Costs that fit: SwitchCost"):
        check_cost_fits(data, tables(name, data))


# -- making label sets -----------------------------------------------------------------------------


def test_kinds_of_label_sets():
    kinds = {
        "independent": IndependentLabels,
        "tree": TreeLabels,
        "listed": ListedLabels,
        "pairwise": PairwiseLabels,
        "relaxed": RelaxedLabels,
    }
    for inference, kind in kinds.items():
        data, _ = make(inference)
        assert type(data) is kind and not data.labels.flags.writeable


@pytest.mark.parametrize(
    ("Y", "options", "error", "message"),
    [
        ([[1, 2]], {}, ValueError, r"Y\[0, 1\] is 2; expected 1 \(on\), 0 \(off\) or -1"),
        ([[1, np.nan]], {}, ValueError, r"Y\[0, 1\] is nan"),
        ([["a", "b"]], {}, TypeError, "Y must hold the numbers 1, 0 and -1, got dtype"),
        ([1, 0], {}, ValueError, r"Y must be a matrix of 1 rows.*got shape \(2,\)"),
        ([[1], [0]], {}, ValueError, "Y must be a matrix of 1 rows"),
        ([[]], {}, ValueError, "one column per label"),
        ([[1, 0]], {"inference": "guess"}, ValueError, "inference must be one of independent, tr"),
        ([[1, 0]], {"edges": [(0, 1)]}, ValueError, "edges has 1 pairs, but inference='independ"),
        ([[1, 0]], {"edges": [(0, 2)], "inference": "tree"}, ValueError, r"edges\[0\] is \(0, 2\)"),
        (
            [[1, 0, 1]],
            {"edges": [(0, 1), (1, 2), (0, 2)], "inference": "tree"},
            ValueError,
            "closes a cycle",
        ),
        ([[0] * 17], {"inference": "listed"}, ValueError, "at most 16 labels; Y has 17"),
        ([[1]], {"time_limit": 1.0}, ValueError, "time_limit is for programmes"),
        ([[1]], {"inference": "program", "time_limit": 0.0}, ValueError, "time_limit must be pos"),
    ],
)
def test_what_is_no_label_set_is_refused(Y, options, error, message):
    with pytest.raises(error, match=message):
        labels_data(np.ones((1, 2)), Y, **options)


@settings(max_examples=25, deadline=None)
@given(
    inference=st.sampled_from(["independent", "tree", "listed", "pairwise", "relaxed"]),
    name=st.sampled_from(["hamming", "weighted", "zero_one", "f1"]),
    m=st.integers(1, 4),
    magnitude=st.sampled_from([0.0, 1e-150, 1e-6, 1.0, 1e6]),
    n_columns=st.integers(0, 2),
    bias=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_corner_cases(inference, name, m, magnitude, n_columns, bias, seed):
    """One label, no features, all scores equal, huge and tiny features."""
    rng = np.random.default_rng(seed)
    X = magnitude * rng.integers(-2, 3, size=(1, n_columns)).astype(float)
    Y = rng.integers(2, size=(1, m))
    Y[0, 0] = 1
    edges = [] if inference == "independent" else [(j, j + 1) for j in range(m - 1)]
    data = labels_data(X, Y, edges, bias=bias, inference=inference)
    chosen = ClassWeighted({0: 2.5}) if name == "weighted" else COSTS[name]
    cost = tabulate(chosen, data, range(m))
    if not fits(data, cost):
        return
    theta, room = generic.workspace(data)
    rows = listed(data, 0)
    for w in (
        np.zeros(int(generic.n_weights(data))),
        rng.normal(size=int(generic.n_weights(data))),
    ):
        potentials(data, 0, w, 1.0, theta)
        h, g = criteria(data, cost, 0, theta, rows)
        y = np.zeros(rows.shape[1], dtype=np.int32)
        for score_scale, cost_scale in (*SCALES, (0.0, 0.0)):
            maximize(data, cost, 0, theta, room, score_scale, cost_scale, y, 0)
            found_h, found_g = criteria(data, cost, 0, theta, [y])
            values = score_scale * h + cost_scale * g
            slack = 1e-9 * (1.0 + np.abs(h).max())
            assert score_scale * found_h[0] + cost_scale * found_g[0] >= values.max() - slack


# -- learnt trees ----------------------------------------------------------------------------------


def information(a, b):
    known = (a >= 0) & (b >= 0)
    a, b = a[known], b[known]
    total = 0.0
    for s, t in itertools.product((0, 1), repeat=2):
        p = np.mean((a == s) & (b == t)) if len(a) else 0.0
        if p > 0:
            total += p * np.log(p / (np.mean(a == s) * np.mean(b == t)))
    return total


def test_a_learnt_tree_has_the_most_information():
    rng = np.random.default_rng(0)
    for missing in (0.0, 0.2):
        Y = rng.integers(2, size=(30, 4))
        Y[:, 2] = np.where(rng.random(30) < 0.8, Y[:, 0], Y[:, 2])
        Y[rng.random(Y.shape) < missing] = -1
        weight = {
            pair: information(Y[:, pair[0]], Y[:, pair[1]])
            for pair in itertools.combinations(range(4), 2)
        }

        def is_tree(edges):
            group = list(range(4))
            for a, b in edges:
                group = [group[a] if g == group[b] else g for g in group]
            return len(set(group)) == 1

        trees = [edges for edges in itertools.combinations(weight, 3) if is_tree(edges)]
        best = max(sum(weight[pair] for pair in edges) for edges in trees)
        edges = learnt_tree(Y)
        assert is_tree(edges.tolist())
        assert sum(weight[tuple(pair)] for pair in edges.tolist()) == pytest.approx(best)
        if not missing:
            assert learnt_tree(sp.csr_matrix(Y)).tolist() == edges.tolist()


def test_labels_without_information_get_no_edge():
    assert learnt_tree(np.zeros((5, 3), dtype=int)).shape == (0, 2)
    assert learnt_tree([[1]]).shape == (0, 2)
    labels_data(np.ones((5, 1)), np.zeros((5, 3)), learnt_tree(np.zeros((5, 3))), inference="tree")


def test_outputs_of_label_sets_are_listed():
    data = labels_data(np.ones((1, 1)), [[1, -1, 0]])
    assert all_outputs(data, 0).tolist() == [[0, -1, 0], [1, -1, 0], [0, -1, 1], [1, -1, 1]]
    assert isinstance(tables("hamming", data), SwitchCost)
    assert isinstance(tables("zero_one", data), WholeCost)
