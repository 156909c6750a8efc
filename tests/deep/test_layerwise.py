"""Layerwise training: the split of a net, the convex bound, the descent, and what is refused."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra torch")

import numpy as np  # noqa: E402
from sklearn.base import clone  # noqa: E402
from torch import nn  # noqa: E402

from maxmargin import MulticlassSVM, RankingSVM  # noqa: E402
from maxmargin.deep import Classes, LayerwiseSVM, Rankings, StructuredLoss  # noqa: E402
from maxmargin.deep.layerwise.pairs import PiecewiseLinear  # noqa: E402
from maxmargin.deep.layerwise.step import ConvexBound, mean_loss, minimise  # noqa: E402


@pytest.fixture(autouse=True)
def as_python(monkeypatch):
    monkeypatch.setenv("MAXMARGIN_MODE", "python")


def flat_net(n_outputs):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, n_outputs)
    )


def image_net(n_outputs):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, groups=2), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True),
        nn.Conv2d(4, 3, 2, stride=1, bias=False), nn.MaxPool2d(3, 2, 1), nn.ReLU(), nn.Flatten(),
        nn.Linear(3, n_outputs),
    )  # fmt: skip


def case(name, rng):
    """Return a machine, X and y."""
    is_image, task = name.startswith("image"), name.split()[1]
    X = rng.normal(size=(18, 2, 5, 4)) if is_image else rng.normal(size=(18, 4))
    make = image_net if is_image else flat_net
    if task == "classes":
        return LayerwiseSVM(make(3), Classes(3), "zero_one"), X, rng.integers(3, size=18)
    return LayerwiseSVM(make(1), Rankings(), task), X, (rng.random(18) < 0.4).astype(int)


CASES = ("flat classes", "flat ap", "flat ndcg", "image classes", "image ap")


def bound_of(name, layer, rng):
    """Return the convex bound of a case, a function w -> mean loss, and the weights of now."""
    machine, X, y = case(name, rng)
    net, X = PiecewiseLinear(machine.net), torch.as_tensor(X)
    blocks, n = machine._blocks(net, X, y, None)
    loss = StructuredLoss(machine.structure, machine.cost, reduction="sum")

    def mean_at(w):
        before, net.weights[layer] = net.weights[layer], w
        try:
            return mean_loss(net, blocks, X, loss, n)
        finally:
            net.weights[layer] = before

    return ConvexBound(net, layer, blocks, X, loss, n), mean_at, net.weights[layer]


def like(w, rng):
    return torch.as_tensor(rng.normal(size=w.shape))


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("name", CASES)
def test_the_split_is_exact_and_both_parts_are_convex(name, layer, rng):
    machine, X, _ = case(name, rng)
    net, X = PiecewiseLinear(machine.net), torch.as_tensor(X)
    inputs, w = net.inputs_of(layer, X), net.weights[layer]
    u, v = net.pair(layer, inputs, w)
    torch.testing.assert_close(u - v, net.scores(X), atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(net.scores(X).float(), machine.net(X.float()), atol=1e-5, rtol=1e-4)
    for _ in range(10):
        a, b, t = like(w, rng), like(w, rng), rng.random()
        middle = net.pair(layer, inputs, t * a + (1.0 - t) * b)
        for one, two, between in zip(
            net.pair(layer, inputs, a), net.pair(layer, inputs, b), middle, strict=True
        ):
            assert (between <= t * one + (1.0 - t) * two + 1e-9).all()


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("name", CASES)
def test_the_bound_is_convex_above_the_loss_and_equal_where_it_was_made(name, layer, rng):
    bound, mean_at, w = bound_of(name, layer, rng)
    assert bound.value_at(w)[0] == pytest.approx(mean_at(w), abs=1e-9)
    for _ in range(8):
        a, b = w + like(w, rng), like(w, rng)
        value, slope = bound.value_at(a)
        assert value >= mean_at(a) - 1e-9
        assert bound.value_at(b)[0] >= value + float(slope @ (b - a)) - 1e-9
        # Piecewise linear: between kinks the difference quotient is the slope.
        way = 1e-7 * like(w, rng)
        ends = [bound.value_at(a + sign * way)[0] for sign in (1.0, -1.0)]
        assert ends[0] - ends[1] == pytest.approx(2.0 * float(slope @ way), abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_inner_certificates_hold(name, rng):
    for layer in range(3):
        bound, _, w = bound_of(name, layer, rng)

        def value(at, bound=bound, w=w):
            quadratic = 0.005 * at @ at + 0.05 * (at - w) @ (at - w)
            return bound.value_at(at)[0] + float(quadratic)

        loose, tight = (
            minimise(bound, 0.01, 0.1, tol, most) for tol, most in ((0.3, 3), (1e-4, 400))
        )
        for solved in (loose, tight):
            assert solved.value == pytest.approx(value(solved.w), abs=1e-9)
            assert solved.lower <= tight.value + 1e-9
            assert solved.value <= value(w) + 1e-9
        assert tight.value - tight.lower <= 1e-4 * tight.value
        for _ in range(5):
            near = tight.w + 0.1 * like(w, rng)
            assert tight.lower <= value(near) + 1e-9


@pytest.mark.parametrize("mu", [0.0, 0.1])
@pytest.mark.parametrize("name", CASES)
def test_the_objective_never_rises(name, mu, rng):
    machine, X, y = case(name, rng)
    machine.set_params(lam=0.01, mu=mu, max_sweeps=3, max_iter=20).fit(X, y)
    result, weights = machine.result_, PiecewiseLinear(machine.net).weights
    assert [record.layer for record in result.history[:3]] == [2, 1, 0]
    loss = StructuredLoss(machine.structure, machine.cost, reduction="sum")
    blocks, n = machine._blocks(PiecewiseLinear(machine.net), torch.as_tensor(X), y, None)

    def objective(net):
        own = PiecewiseLinear(net)
        squares = sum(float(w @ w) for w in own.weights)
        return 0.005 * squares + mean_loss(own, blocks, torch.as_tensor(X), loss, n)

    values = [objective(machine.net), *(record.objective for record in result.history)]
    assert (np.diff(values) <= 1e-12).all()
    assert values[-1] < 0.8 * values[0]
    assert result.objective == pytest.approx(objective(machine.net_), rel=1e-4)  # of float32
    for record, before in zip(result.history, values, strict=False):
        assert record.decrease == pytest.approx(before - record.objective, abs=1e-12)
        assert record.inner_gap >= 0.0
    assert not any("gap" in name and name != "inner_gap" for name in vars(result))
    # The net that was given is as it was.
    again = PiecewiseLinear(machine.net).weights
    assert all(torch.equal(a, b) for a, b in zip(weights, again, strict=True))


def test_one_linear_layer_is_our_convex_problem(rng):
    X, y = rng.normal(size=(30, 4)), rng.integers(3, size=30)
    net = nn.Sequential(nn.Linear(4, 3, bias=False)).double()
    machine = LayerwiseSVM(net, Classes(3), lam=0.05, mu=0.0, tol=1e-5, max_iter=500).fit(X, y)
    ours = MulticlassSVM(C=1.0 / (0.05 * 30), fit_intercept=False, tol=1e-5).fit(X, y).result_
    assert ours.dual <= machine.result_.objective * (1.0 + 1e-9)
    assert (
        machine.result_.history[0].objective - machine.result_.history[0].inner_gap <= ours.primal
    )
    assert machine.result_.objective <= ours.primal + 1e-4


@pytest.mark.parametrize("cost", ["ap", "ndcg"])
def test_one_linear_layer_over_queries_is_our_ranking_machine(cost, rng):
    X, y = rng.normal(size=(24, 3)), (rng.random(24) < 0.4).astype(int)
    qid = np.repeat([0, 1, 2], 8)
    y[::8], y[1::8] = 1, 0
    net = nn.Sequential(nn.Linear(3, 1, bias=False)).double()
    machine = LayerwiseSVM(net, Rankings(), cost, lam=0.05, mu=0.0, tol=1e-5, max_iter=500)
    machine.fit(X, y, qid=qid)
    ours = (
        RankingSVM(C=1.0 / (0.05 * 3), cost=cost, tol=1e-5, steps=0, normalize_queries=None)
        .fit(X, y, qid=qid)
        .result_
    )
    assert ours.dual <= machine.result_.objective * (1.0 + 1e-9)
    assert machine.result_.objective <= ours.primal + 1e-4


def test_differences_of_parts_lie_in_their_range_and_reach_it(rng):
    machine = LayerwiseSVM(flat_net(1), Rankings())
    y = np.array([1, 0, 0, 1, 0])
    blocks, _ = machine._blocks(PiecewiseLinear(machine.net), torch.zeros(5, 4).double(), y, None)
    block, loss = blocks[0], StructuredLoss(Rankings(), "ap", reduction="sum")
    for scale in (0.0, 1.0, 100.0):
        scores = torch.as_tensor(scale * rng.normal(size=(1, 5))).requires_grad_()
        (d,) = torch.autograd.grad(loss(scores, block.truths), scores)
        assert (d >= block.low - 1e-12).all() and (d <= block.high + 1e-12).all()
    scores = torch.as_tensor(-100.0 * block.truths).double().requires_grad_()  # all pairs wrong
    (d,) = torch.autograd.grad(loss(scores, block.truths), scores)
    torch.testing.assert_close(d, block.low + block.high)


def test_a_face_as_of_scikit_learn(rng):
    X = rng.normal(size=(24, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0.0, "same", "other")
    machine = LayerwiseSVM(flat_net(2), Classes(2), lam=1e-3, mu=0.1, max_sweeps=2, max_iter=20)
    same = clone(machine).fit(X, y)
    assert same.score(X, y) == np.mean(same.predict(X) == y) > 0.6
    assert set(same.predict(X)) <= {"same", "other"}
    assert same.decision_function(X).shape == (24, 2)
    stopped = clone(machine).set_params(patience=1, max_sweeps=4, outer_tol=0.0)
    stopped.fit(X[:14], y[:14], eval_set=(X[14:], y[14:]))
    assert stopped.score(X[14:], y[14:]) == max(stopped.result_.scores)
    assert stopped.result_.status in ("patience", "stationary", "max_sweeps")


def test_the_result_speaks_of_the_net_that_is_kept(rng, monkeypatch):
    machine, X, y = case("flat classes", rng)
    machine.set_params(max_sweeps=3, outer_tol=0.0)
    scores = iter([0.5, 0.9, 0.7])
    with monkeypatch.context() as patched:
        patched.setattr(LayerwiseSVM, "score", lambda *args: next(scores))
        result = machine.fit(X, y, eval_set=(X, y)).result_
    two = clone(machine).set_params(max_sweeps=2).fit(X, y)
    assert result.scores == [0.5, 0.9, 0.7] and (result.kept_sweep, result.n_sweeps) == (1, 3)
    assert "net of sweep 2 kept" in repr(result) and "kept" not in repr(two.result_)
    for name in ("objective", "inner_gap", "decrease"):
        assert getattr(result, name) == pytest.approx(getattr(two.result_, name), rel=1e-9)
    own = [record for record in result.history if record.sweep == 1]
    assert result.inner_gap == max(record.inner_gap for record in own)
    for a, b in zip(machine.net_.parameters(), two.net_.parameters(), strict=True):
        assert torch.equal(a, b)


def test_batches_add_up_to_the_same_bound(rng):
    X, y = torch.as_tensor(rng.normal(size=(10, 4))), rng.integers(3, size=10)
    found = []
    for size in (None, 4):
        machine = LayerwiseSVM(flat_net(3), Classes(3), batch_size=size)
        net, loss = (
            PiecewiseLinear(machine.net),
            StructuredLoss(Classes(3), "zero_one", reduction="sum"),
        )
        blocks, n = machine._blocks(net, X, y, None)
        bound = ConvexBound(net, 1, blocks, X, loss, n)
        found.append(bound.value_at(0.5 * net.weights[1]))
    assert len(blocks) == 3
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-12)
    torch.testing.assert_close(found[0][1], found[1][1], atol=1e-12, rtol=1e-9)


REFUSED = {
    "a module": (nn.Sequential(nn.Linear(4, 3), nn.Sigmoid()), {}, TypeError, r"net\[1\] is Sigm"),
    "batch norm": (
        nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), {}, TypeError, r"net\[1\] is BatchNorm1d"
    ),
    "no sequence": (nn.Linear(4, 3), {}, TypeError, "must be a torch.nn.Sequential, got Linear"),
    "nothing to train": (nn.Sequential(nn.ReLU()), {}, ValueError, "no layer with weights"),
    "dilated pool": (
        nn.Sequential(nn.MaxPool2d(2, dilation=2)), {}, ValueError, "must have no dilation"
    ),
    "reflected": (
        nn.Sequential(nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect")), {}, ValueError,
        "must be padded by zeros",
    ),
    "outputs": (flat_net(2), {}, ValueError, r"one output per class, 3; it has the shape \(1, 2\)"),
    "inputs": (
        nn.Sequential(nn.Linear(5, 3)), {}, ValueError, r"does not take rows of shape \(4,\)"
    ),
    "structure": (
        flat_net(3), {"structure": "classes"}, TypeError, r"must be Classes\(n\) or Rankings"
    ),
    "lam": (flat_net(3), {"lam": 0.0}, ValueError, "lam must be a number > 0"),
    "mu": (flat_net(3), {"mu": -1.0}, ValueError, "mu must be a number >= 0"),
    "patience": (flat_net(3), {"patience": 2}, ValueError, "patience needs eval_set"),
    "cost": (flat_net(3), {"cost": "ap"}, ValueError, "AveragePrecision is no cost of classes"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name, rng):
    net, options, error, message = REFUSED[name]
    machine = LayerwiseSVM(net, **{"structure": Classes(3), **options})
    with pytest.raises(error, match=message):
        machine.fit(rng.normal(size=(6, 4)), np.arange(6) % 3)


def test_what_is_refused_of_data(rng):
    X, y = rng.normal(size=(6, 4)), np.arange(6) % 3
    machine = LayerwiseSVM(flat_net(3), Classes(3))
    for given, message in (
        ((np.full((6, 4), np.nan), y), r"X\[0, 0\] is nan"),
        ((X, y[:4]), "y must have one entry per row of X, 6"),
        ((X, ["a", "b"] * 3), "structure has 3 classes, but y has 2"),
        ((torch.zeros(6, 4, device="meta"), y), "is on the device meta"),
    ):
        with pytest.raises(ValueError, match=message):
            machine.fit(*given)
    with pytest.raises(ValueError, match="y must be 1 for relevant samples"):
        LayerwiseSVM(flat_net(1), Rankings()).fit(X, y)
    with pytest.raises(ValueError, match="qid is given, but classes have no queries"):
        machine.fit(X, y, qid=y)
