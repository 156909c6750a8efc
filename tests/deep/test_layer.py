"""Best outputs, k best, marginals and likelihoods of layers; bad input; threads; training."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra torch")

import numpy as np  # noqa: E402

from maxmargin import ChainSVM  # noqa: E402
from maxmargin.deep import (  # noqa: E402
    Chains,
    Classes,
    DirectLoss,
    Graphs,
    Hierarchies,
    LabelSets,
    OwnStructure,
    Parses,
    Rankings,
    StructuredLoss,
    board,
)
from maxmargin.testing.tiny import Agreement  # noqa: E402
from tests.deep.listing import BATCHES  # noqa: E402
from tests.deep.switches import ListedSwitches, SummedSwitches  # noqa: E402
from tests.grades import Grades  # noqa: E402


@pytest.fixture
def as_python(monkeypatch):
    monkeypatch.setenv("MAXMARGIN_MODE", "python")


def layer_of(listed):
    return StructuredLoss(listed.structure, listed.cost, reduction="none")


@pytest.mark.parametrize("batch", [name for name in BATCHES if name not in ("rankings", "own")])
def test_decode_and_k_best_are_those_of_all_outputs(batch, as_python, rng):
    listed = BATCHES[batch](rng)
    layer, scores = (
        layer_of(listed),
        [sorted((listed.score(parts) for parts, _ in own), reverse=True) for own in listed.outputs],
    )
    best = layer.decode(listed.potentials, **listed.more)
    assert best.shape == listed.truths.shape
    # The score of what is decoded, asked of the layer that scores truths.
    truths = torch.where(best < 0, 0, best)
    given = listed.structure.score(
        dict(zip(listed.structure.names, listed.potentials, strict=False)),
        truths, listed.more.get("lengths"), listed.more.get("edges"),
    )  # fmt: skip
    np.testing.assert_allclose(given.detach().numpy(), [own[0] for own in scores], atol=1e-9)
    k = 6
    found = layer.k_best(listed.potentials, k, **listed.more)
    lengths = listed.more.get("lengths")
    for i, own in enumerate(scores):
        n = 0 if lengths is not None and lengths[i] == 0 else min(k, len(own))
        np.testing.assert_allclose(found.scores[i], own[:n], atol=1e-9)
        assert len({str(output) for output in found.outputs[i]}) == n
        if n:
            first = best[i] if lengths is None else best[i, : lengths[i]]
            assert torch.equal(found.outputs[i][0].long(), first)


UNSUMMED = ("rankings", "own", "labels_all_pairs", "hierarchy_dag")
SUMMED = [name for name in BATCHES if name not in UNSUMMED]


@pytest.mark.parametrize("batch", SUMMED)
def test_marginals_and_likelihoods_are_sums_over_all_outputs(batch, as_python, rng):
    listed = BATCHES[batch](rng)
    layer = layer_of(listed)
    likelihood = layer.log_likelihood(listed.potentials, listed.truths, **listed.more)
    sums = [np.zeros(p.shape) for p in listed.potentials]
    grads = [np.zeros(p.shape) for p in listed.potentials]
    for i, (outputs, own) in enumerate(zip(listed.outputs, listed.true_parts, strict=True)):
        scores = np.array([listed.score(parts) for parts, _ in outputs])
        total = np.logaddexp.reduce(scores)
        assert likelihood[i].item() == pytest.approx(listed.score(own) - total, abs=1e-9)
        for mass, (parts, _) in zip(np.exp(scores - total), outputs, strict=True):
            for k in parts:
                sums[k] += mass * parts[k]
                grads[k] += mass * parts[k]
        for k in own:
            grads[k] -= own[k]
    (-likelihood).sum().backward()
    for p, grad in zip(listed.potentials, grads, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), grad, atol=1e-9)
    found = layer.marginals(listed.potentials, **listed.more)
    for own, expected in zip(found if isinstance(found, tuple) else (found,), sums, strict=True):
        np.testing.assert_allclose(own.numpy(), expected, atol=1e-9)


def test_chains_at_once_and_one_after_the_other(rng, monkeypatch):
    layer, found = StructuredLoss(Chains(4), "hamming"), []
    unary = torch.tensor(rng.normal(size=(5, 6, 4)), dtype=torch.float32)
    moves = torch.tensor(rng.normal(size=(4, 4)))
    moves[1, 2] = -torch.inf
    start = torch.tensor(rng.normal(size=4))
    truths, lengths = torch.zeros(5, 6, dtype=torch.long), torch.tensor([6, 0, 3, 1, 5])
    for _ in range(2):
        given = [each.clone().requires_grad_() for each in (unary, moves, start)]
        likelihood = layer.log_likelihood(tuple(given), truths, lengths)
        (likelihood * torch.linspace(-1.0, 2.0, 5)).sum().backward()
        found.append([likelihood.detach(), *(each.grad for each in given)])
        found[-1] += layer.marginals(tuple(given), lengths)
        monkeypatch.setattr(Chains, "expected_together", lambda *args: None)
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("n_relations", [None, 1, 3])
@pytest.mark.parametrize("projective", [True, False])
def test_parses_at_once_and_one_after_the_other(rng, monkeypatch, projective, n_relations):
    layer = StructuredLoss(Parses(n_relations, projective, one_root=False), "uas")
    wide = () if n_relations is None else (n_relations,)
    # Whole numbers, of which trees tie; the first sentence is left out, one has forbidden arcs.
    arcs = torch.tensor(rng.integers(-2, 3, size=(10, 6, 6, *wide)), dtype=torch.float32)
    arcs[3, 2:, 1] = -torch.inf
    lengths = torch.tensor([0, 5, 3, 5, 1, 2, 5, 4, 4, 3])
    truths = torch.zeros((10, 5, 2) if wide else (10, 5), dtype=torch.long)
    found = []
    for _ in range(2):
        given = arcs.clone().requires_grad_()
        likelihood = layer.log_likelihood(given, truths, lengths)
        (likelihood * torch.linspace(-1.0, 2.0, 10)).sum().backward()
        found.append([likelihood.detach(), given.grad, layer.marginals(given, lengths)])
        found[-1].append(layer.decode(given, lengths))
        monkeypatch.setattr(Parses, "expected_together", lambda *args: None)
        monkeypatch.setattr(Parses, "best_together", lambda *args: None)
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_a_batch_of_parses_with_a_sentence_that_has_no_tree():
    layer, arcs = StructuredLoss(Parses(), "uas"), torch.zeros(3, 3, 3)
    arcs[2] = -torch.inf
    with pytest.raises(ValueError, match="the constraints allow no output"):
        layer.marginals(arcs)
    assert layer.decode(arcs)[:2].shape == (2, 2)


def test_marginals_that_are_not_known_are_refused(as_python):
    scores = torch.zeros(1, 3)
    with pytest.raises(TypeError, match="Rankings has no marginals"):
        StructuredLoss(Rankings(), "ap").marginals(scores)
    with pytest.raises(TypeError, match="Rankings has no k best"):
        StructuredLoss(Rankings(), "ap").k_best(scores, 2)
    with pytest.raises(ValueError, match="marginals need a forest"):
        StructuredLoss(LabelSets(3, "all"), "hamming").marginals((scores, torch.zeros(3)))


def test_a_structure_of_ones_own(as_python, rng):
    listed = BATCHES["own"](rng)
    layer = layer_of(listed)
    for i, y in enumerate(layer.decode(listed.potentials)):
        on, bonus = (p[i].detach() for p in listed.potentials)
        score = (on * torch.tensor(y)).sum() + (bonus.sum() if sum(y) == 2 else 0.0)
        assert score.item() == pytest.approx(max(listed.score(o) for o, _ in listed.outputs[i]))
    with pytest.raises(ValueError, match="potentials must be 2 tensors, one for each array"):
        layer(listed.potentials[0], listed.truths)
    with pytest.raises(TypeError, match="Agreement has no method 'data'"):
        OwnStructure(Agreement(3, 2))
    with pytest.raises(TypeError, match="GradesData does not implement 'parts'"):
        StructuredLoss(OwnStructure(Grades(range(3))))(torch.zeros(2, 3), [0, 1])


def test_oracles_of_a_structure_of_ones_own(as_python, rng):
    listed = BATCHES["own"](rng)
    layer = StructuredLoss(OwnStructure(SummedSwitches()), reduction="none")
    found = layer.k_best(listed.potentials, 6)
    likelihood = layer.log_likelihood(listed.potentials, listed.truths)
    (-likelihood).sum().backward()
    means = layer.marginals(listed.potentials)
    for i, (outputs, own) in enumerate(zip(listed.outputs, listed.true_parts, strict=True)):
        scores = np.array([listed.score(parts) for parts, _ in outputs])
        np.testing.assert_allclose(found.scores[i], np.sort(scores)[::-1][:6])
        assert found.outputs[i][0] == layer.decode(listed.potentials)[i]
        assert len({str(y) for y in found.outputs[i]}) == 6
        total = np.logaddexp.reduce(scores)
        assert likelihood[i].item() == pytest.approx(listed.score(own) - total)
        for k, p in enumerate(listed.potentials):
            expected = sum(
                mass * parts[k][i]
                for mass, (parts, _) in zip(np.exp(scores - total), outputs, strict=True)
            )
            np.testing.assert_allclose(means[k][i].numpy(), expected, atol=1e-12)
            np.testing.assert_allclose(p.grad[i].numpy(), expected - own[k][i], atol=1e-12)


def test_oracles_that_a_structure_of_ones_own_lacks_are_refused(as_python, rng):
    listed = BATCHES["own"](rng)
    layer = layer_of(listed)
    with pytest.raises(TypeError, match="SwitchData does not implement 'k_best' with Wrong"):
        layer.k_best(listed.potentials, 2)
    for ask in (layer.marginals, layer.log_partition):
        with pytest.raises(TypeError, match="SwitchData does not implement 'law_sizes'"):
            ask(listed.potentials)
    layer = StructuredLoss(OwnStructure(ListedSwitches()))
    assert layer.marginals(listed.potentials)[0].shape == (2, 3)
    with pytest.raises(
        TypeError, match=r"OwnStructure\(ListedSwitches\(\)\) has marginals, but no"
    ):
        layer.log_likelihood(listed.potentials, listed.truths)


def test_threads_do_not_change_results(rng):
    unary = torch.tensor(rng.normal(size=(40, 12, 4)), requires_grad=True)
    table = torch.tensor(rng.normal(size=(4, 4)), requires_grad=True)
    truths = torch.tensor(rng.integers(4, size=(40, 12)))
    lengths = torch.tensor(rng.integers(13, size=40))
    found = []
    for n_jobs in (1, 3):
        loss = StructuredLoss(Chains(4), "hamming", reduction="token", n_jobs=n_jobs)
        value = loss((unary, table), truths, lengths)
        found.append((value, *torch.autograd.grad(value, (unary, table))))
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def test_batches_share_boards_and_keep_their_own_gradients(rng):
    # The second batch is poured over the first before either is taken back. (On one thread, chains
    # with margin rescaling need no board.)
    loss = StructuredLoss(Chains(3), "hamming", reduction="none", n_jobs=2)
    batches, alone = [], []
    for length in (5, 4, 5):
        unary = torch.tensor(rng.normal(size=(3, length, 3)), requires_grad=True)
        truths = torch.tensor(rng.integers(3, size=(3, length)))
        batches.append((unary, truths))
        fresh = StructuredLoss(Chains(3), "hamming", reduction="none")
        weights = torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)
        alone.append(torch.autograd.grad(fresh(unary, truths) @ weights, unary)[0])
    values = [loss(*batch) @ weights for batch in batches]
    assert len(loss._boards._kept) == 1
    for value, (unary, _), expected in zip(values, batches, alone, strict=True):
        assert torch.equal(torch.autograd.grad(value, unary)[0], expected)


@pytest.mark.parametrize("search", ["auto", "profile"])
@pytest.mark.parametrize("surrogate", ["slack", "prob"])
def test_searches_that_remember_start_afresh_on_a_board(surrogate, search, monkeypatch, rng):
    def batch(longest):
        lengths = torch.tensor([longest, *rng.integers(1, longest + 1, size=7).tolist()])
        unary = torch.tensor(rng.normal(size=(8, longest, 3)), requires_grad=True)
        return unary, torch.tensor(rng.integers(3, size=(8, longest))), lengths

    loss = StructuredLoss(Chains(3), "hamming", surrogate, search, "none")
    weights = torch.linspace(-1.0, 2.0, 8, dtype=torch.float64)
    # Longer ones do not fit; gradients are taken when other batches have been poured over theirs.
    batches = [batch(longest) for longest in (7, 6, 3, 7, 9, 5, 8)]
    values = [loss(*one) for one in batches]
    for value, one in zip(values, batches, strict=True):
        fresh = StructuredLoss(Chains(3), "hamming", surrogate, search, "none")
        expected = fresh(*one)
        assert torch.equal(value, expected)
        grad, other = (torch.autograd.grad(of @ weights, one[0])[0] for of in (value, expected))
        assert torch.equal(grad, other)
    assert len(loss._boards._kept) < len(batches)
    # What takes much scratch is not kept.
    monkeypatch.setattr(board, "MOST_BYTES", 1)
    again = StructuredLoss(Chains(3), "hamming", surrogate, search, "none")
    assert torch.equal(again(*batches[0]), values[0]) and again._boards._kept == []


def test_reductions(as_python, rng):
    listed = BATCHES["chains"](rng)
    values = {}
    for reduction in ("none", "sum", "mean", "token"):
        loss = StructuredLoss(listed.structure, listed.cost, reduction=reduction)
        values[reduction] = loss(listed.potentials, listed.truths, **listed.more).detach()
    total = values["none"].sum()
    assert values["none"][1] == 0.0  # an empty sequence
    assert torch.isclose(values["sum"], total) and torch.isclose(values["mean"], total / 4)
    assert torch.isclose(values["token"], total / 6)


def test_batches_without_any_part(as_python):
    for loss in (StructuredLoss(Chains(3), "hamming"), DirectLoss(Chains(3), "hamming")):
        unary = torch.zeros(2, 4, 3, requires_grad=True)
        value = loss(unary, torch.zeros(2, 4, dtype=torch.long), lengths=torch.tensor([0, 0]))
        value.backward()
        assert value.item() == 0.0 and not unary.grad.any()
        assert (loss.decode(unary, lengths=torch.tensor([0, 0])) == -1).all()
    empty = StructuredLoss(Classes(3), "zero_one")(torch.zeros(0, 3), torch.zeros(0, dtype=int))
    assert empty.item() == 0.0


def test_forbidden_cells_are_never_found(as_python, rng):
    listed = BATCHES["chains"](rng)
    unary, moves = listed.potentials[0].detach().clone(), listed.potentials[1].detach().clone()
    truths = torch.zeros_like(listed.truths)
    moves[0, 1] = moves[2, 2] = -torch.inf
    unary[0, 1, 2] = -torch.inf
    unary.requires_grad_(), moves.requires_grad_()
    loss = StructuredLoss(listed.structure, listed.cost)
    value = loss((unary, moves), truths, listed.more["lengths"])
    value.backward()
    assert value.isfinite() and unary.grad.isfinite().all()
    assert moves.grad[0, 1] == moves.grad[2, 2] == unary.grad[0, 1, 2] == 0.0
    with pytest.raises(ValueError, match=r"example 0 is inf: the score of its true output must be"):
        loss((unary, moves), torch.where(torch.arange(3) == 1, 2, truths), listed.more["lengths"])


def test_no_double_backward(as_python):
    scores = torch.zeros(2, 3, requires_grad=True)
    truths = torch.tensor([0, 1])
    loss = StructuredLoss(Classes(3), "zero_one", "prob")
    direct = DirectLoss(Classes(3), "zero_one")
    for value in (loss(scores, truths), direct(scores, truths), loss.log_partition(scores).sum()):
        (grad,) = torch.autograd.grad(value, scores, create_graph=True)
        with pytest.raises(RuntimeError, match="no second derivative"):
            (value + (grad**2).sum()).backward()


U, Y = torch.zeros(2, 4, 3), torch.zeros(2, 4, dtype=torch.long)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((U.to("meta"), Y), ValueError, r"unary is on the device meta.*unary.cpu\(\)"),
        ((U, Y.to("meta")), ValueError, "truths is on the device meta"),
        ((U.half(), Y), TypeError, r"unary must be float32 or float64, got torch.float16"),
        ((U.long(), Y), TypeError, "unary must be float32 or float64, got torch.int64"),
        ((U.numpy(), Y), TypeError, "unary must be a tensor, got ndarray"),
        ((U, Y.float()), TypeError, "truths must be integers, got torch.float32"),
        ((U * torch.nan, Y), ValueError, r"unary\[0, 0, 0\] is nan; expected finite numbers"),
        ((U + torch.inf, Y), ValueError, r"unary\[0, 0, 0\] is inf"),
        (
            (U, Y, torch.tensor([4, 5])),
            ValueError,
            r"lengths\[1\] is 5, but the batch is padded to 4",
        ),
        ((U, Y, torch.tensor([4, -1])), ValueError, r"lengths\[1\] is -1"),
        ((U, Y, torch.tensor([4])), ValueError, "lengths must be 2 integers"),
        ((U, Y[:, :3]), ValueError, r"truths must have the shape \(2, 4\), got \(2, 3\)"),
        ((U, Y + 3), ValueError, r"truths\[0, 0\] is 3; expected 0 to 2"),
        ((U[:, :, :2], Y), ValueError, r"unary must have the shape \(B, T, 3\), got \(2, 4, 2\)"),
        (((U, torch.zeros(3, 2)), Y), ValueError, r"transitions must have the shape \(3, 3\)"),
        (
            ((U, None, None, None, U), Y),
            ValueError,
            "potentials of .* are unary, transitions, start",
        ),
        (((None, U), Y), ValueError, "must have unary"),
    ],
)
def test_bad_input(given, error, message):
    with pytest.raises(error, match=message):
        StructuredLoss(Chains(3), "hamming")(*given)


def test_bad_parameters():
    with pytest.raises(ValueError, match=r"AveragePrecision is no cost of classes and sequences"):
        StructuredLoss(Chains(3), "ap")
    with pytest.raises(ValueError, match="reduction must be one of mean, sum"):
        StructuredLoss(Chains(3), "hamming", reduction="total")
    with pytest.raises(TypeError, match=r"structure must be one of maxmargin\.deep"):
        StructuredLoss("chain", "hamming")
    with pytest.raises(ValueError, match="surrogate='hinge' is not known"):
        StructuredLoss(Chains(3), "hamming", "hinge")
    with pytest.raises(ValueError, match="needs the slack of each example"):
        StructuredLoss(Chains(3), "hamming", "slack", "sarawagi")
    with pytest.raises(ValueError, match="n_labels must be an integer >= 1"):
        Chains(0)
    with pytest.raises(ValueError, match="epsilon must be"):
        DirectLoss(Chains(3), "hamming", epsilon=0.0)
    with pytest.raises(ValueError, match="inference='independent' knows none"):
        LabelSets(3, [(0, 1)], "independent")
    # What one way of inference has no oracle for is refused before any batch.
    for inference, cost, fitting in (
        ("tree", "f1", "independent, listed"),
        ("pairwise", "zero_one", "independent, tree, listed, program"),
    ):
        message = rf"inference='{inference}' has no oracle .* that have: {fitting}\. Costs that are"
        with pytest.raises(ValueError, match=message):
            StructuredLoss(LabelSets(3, [(0, 1)], inference), cost)
    with pytest.raises(ValueError, match="parents must come before"):
        Hierarchies([1, None])
    loss = StructuredLoss(Graphs(2), "hamming")
    with pytest.raises(ValueError, match="edges must be given once"):
        loss(torch.zeros(1, 2, 2), torch.zeros(1, 2, dtype=torch.long))
    with pytest.raises(ValueError, match="tables must be given"):
        loss(torch.zeros(1, 2, 2), torch.zeros(1, 2, dtype=torch.long), edges=[[(0, 1)]])
    with pytest.raises(ValueError, match="graph 0 has 2 nodes, but a factor of it names node 5"):
        loss(
            (torch.zeros(1, 2, 2), torch.eye(2)),
            torch.zeros(1, 2, dtype=torch.long),
            edges=[[(0, 5)]],
        )


def test_a_linear_layer_reaches_the_objective_of_the_solver(rng):
    X = [rng.normal(size=(length, 4)) for length in (3, 5, 4, 2, 6, 4)]
    w = rng.normal(size=(4, 3))
    y = [np.argmax(x @ w + 0.7 * rng.normal(size=(len(x), 3)), axis=1) for x in X]
    svm = ChainSVM(C=1.0, tol=1e-6, max_iter=2000, fit_intercept=False, random_state=0).fit(X, y)
    lam, n = 1.0 / len(X), len(X)
    lengths = torch.tensor([len(x) for x in X])
    padded = torch.zeros(n, 6, 4, dtype=torch.float64)
    truths = torch.zeros(n, 6, dtype=torch.long)
    for i, (x, labels) in enumerate(zip(X, y, strict=True)):
        padded[i, : len(x)] = torch.from_numpy(x)
        truths[i, : len(x)] = torch.from_numpy(labels)
    shapes = [(4, 3), (3, 3), (3,), (3,)]
    weights = [torch.zeros(s, dtype=torch.float64, requires_grad=True) for s in shapes]
    loss = StructuredLoss(Chains(3), "hamming")

    def objective(given):
        norm = sum((p**2).sum() for p in given)
        return lam / 2 * norm + loss((padded @ given[0], *given[1:]), truths, lengths)

    best = np.inf
    mean = [p.detach().clone() for p in weights]
    for step in range(1, 1500):
        value = objective(weights)
        best = min(best, value.item())
        for p, m, grad in zip(weights, mean, torch.autograd.grad(value, weights), strict=True):
            p.data -= grad / (lam * step)
            m += (p.detach() - m) * 2.0 / (step + 1.0)  # later ones count more
        if step % 100 == 0:
            best = min(best, objective(mean).item())
    result = svm.result_
    # P* lies between dual and primal; descent ends above it, by an error like 1 / steps.
    assert result.dual <= best + 1e-9
    assert best <= result.primal * (1.0 + 2e-2)
    # The same objective: that of the solver's weights.
    transitions = [svm.transitions_, svm.start_, svm.end_]
    given = [torch.tensor(np.asarray(a)) for a in (np.asarray(svm.coef_).T, *transitions)]
    assert objective(given).item() == pytest.approx(result.primal, rel=1e-6)
