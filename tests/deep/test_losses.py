"""Losses and gradients of layers against lists of all outputs, and against finite differences."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra torch")

import numpy as np  # noqa: E402

from maxmargin.core.contract import psi as psi_of  # noqa: E402
from maxmargin.deep import DirectLoss, Rankings, StructuredLoss  # noqa: E402
from maxmargin.surrogates import SURROGATES, MicroF1, ProbLoss  # noqa: E402
from tests.deep.listing import BATCHES  # noqa: E402

#: Micro-F1 has criteria of its own in the place of the cost; see test_micro_f1.
PSIS = {name: kind() for name, kind in SURROGATES.items() if name != "micro_f1"}
PSIS["plain_prob"] = ProbLoss(convex=False)


@pytest.fixture
def as_python(monkeypatch):
    monkeypatch.setenv("MAXMARGIN_MODE", "python")


def tried(listed, surrogate):
    """Return psi, its slope and the difference of parts of all outputs of each example."""
    compiled, found = surrogate.compiled(), []
    for outputs, own in zip(listed.outputs, listed.true_parts, strict=True):
        truth = listed.score(own)
        found.append([
            (
                *psi_of(compiled, listed.score(parts) - truth, g)[:2],
                [parts[k] - own[k] for k in range(len(listed.potentials))],
            )
            for parts, g in outputs
        ])  # fmt: skip
    return found


def is_gradient(grads, value, outputs, atol):
    """Tell whether gradients are those of an output that has this psi; of 0 they are 0."""
    if value <= atol and all(np.abs(grad).max(initial=0.0) <= atol for grad in grads):
        return True
    return any(
        abs(psi - value) <= atol
        and all(
            np.allclose(grad, slope * part, atol=atol)
            for grad, part in zip(grads, difference, strict=True)
        )
        for psi, slope, difference in outputs
    )


def tried_micro_f1(listed, inside):
    """Do as `tried` for Micro-F1: psi = (wrong elements + h) / (elements of y and of y_i).

    ``inside(parts, i)`` counts the elements of an output of example i.
    """
    found = []
    for i, (outputs, own) in enumerate(zip(listed.outputs, listed.true_parts, strict=True)):
        truth, found_here = inside(own, i), []
        for parts, _ in outputs:
            elements = inside(parts, i)
            n = elements.sum() + truth.sum()
            h = listed.score(parts) - listed.score(own)
            psi = (np.abs(elements - truth).sum() + h) / n if n else 0.0
            difference = [parts[k] - own[k] for k in range(len(listed.potentials))]
            found_here.append((psi, 1.0 / n if n else 0.0, difference))
        found.append(found_here)
    return found


def check(listed, surrogate, dtype=torch.float64, atol=1e-9, outputs=None):
    """Compare losses and gradients with all outputs; return whether no bound is above its loss."""
    loss = StructuredLoss(listed.structure, listed.cost, surrogate, reduction="none")
    given = tuple(p.detach().to(dtype).requires_grad_() for p in listed.potentials)
    values = loss(given, listed.truths, **listed.more)
    evaluated = loss.evaluate(given, listed.truths, **listed.more)
    found, bounds = evaluated.values.numpy(), evaluated.bounds.numpy()
    outputs = tried(listed, surrogate) if outputs is None else outputs
    losses = np.array([max(0.0, *(each[0] for each in own)) for own in outputs])
    assert values.dtype == dtype
    np.testing.assert_allclose(values.detach().numpy(), found, atol=atol)
    # Where a search may have missed the largest loss, its bound says so.
    assert (found <= losses + atol).all() and (losses <= bounds + atol).all()
    values.sum().backward()
    # One example after the other: incoming gradients differ.
    weights = torch.linspace(-1.0, 2.0, len(values), dtype=dtype)
    alone, weighted = [[np.zeros(p.shape) for p in given] for _ in range(2)]
    for i, weight in enumerate(weights.tolist()):
        one = torch.autograd.grad(loss(given, listed.truths, **listed.more)[i], given)
        one = [grad.numpy() for grad in one]
        assert is_gradient(one, found[i], outputs[i], atol)
        for total, scaled, grad in zip(alone, weighted, one, strict=True):
            total += grad
            scaled += weight * grad
    for p, total in zip(given, alone, strict=True):
        assert p.grad.dtype == dtype
        np.testing.assert_allclose(p.grad.numpy(), total, atol=10 * atol)
    values = loss(given, listed.truths, **listed.more)
    for grad, total in zip(torch.autograd.grad(values @ weights, given), weighted, strict=True):
        np.testing.assert_allclose(grad.numpy(), total, atol=10 * atol)
    return bool((bounds <= found + atol).all())


#: What has no search that fits: Normalized margins need a profile.
UNPROFILED = ("own", "hierarchy_dag")
UNSEARCHED = {(name, "normalized") for name in (*UNPROFILED, "parses_crossing")}
#: Where searches for other surrogates than margin rescaling only bound the loss.
BOUNDED = UNPROFILED


@pytest.mark.parametrize("surrogate", PSIS)
@pytest.mark.parametrize("batch", BATCHES)
def test_losses_and_gradients_are_those_of_all_outputs(batch, surrogate, as_python, rng):
    if (batch, surrogate) in UNSEARCHED:
        with pytest.raises(ValueError, match=r"surrogate='normalized' .* that fit: margin"):
            check(BATCHES[batch](rng), PSIS[surrogate])
        return
    is_exact = [check(BATCHES[batch](rng), PSIS[surrogate]) for _ in range(2)]
    assert all(is_exact) or (surrogate != "margin" and batch in BOUNDED)


@pytest.mark.parametrize("batch", ["labels", "labels_tree", "labels_all_pairs", "chains"])
def test_micro_f1(batch, as_python, rng):
    is_chain = batch == "chains"  # with label 0 for positions that are outside
    for _ in range(3):
        listed = BATCHES[batch](rng)
        outputs = tried_micro_f1(
            listed, lambda parts, i: parts[0][i][:, 1:] if is_chain else parts[0][i]
        )
        assert check(listed, MicroF1(outside=0), outputs=outputs)


@pytest.mark.parametrize("surrogate", ["slack", "log", "prob"])
@pytest.mark.parametrize("batch", ["rankings", "graphs"])
def test_outputs_that_are_not_listed_are_bounded(batch, surrogate, as_python, rng, monkeypatch):
    # As if there were too many outputs for a list. Few batches are enough to meet an open bound.
    monkeypatch.setattr("maxmargin.deep.structures.few.MOST_LISTED", 0)
    assert not all(check(BATCHES[batch](rng), PSIS[surrogate]) for _ in range(8))
    with pytest.raises(ValueError, match=r"surrogate='normalized' .* that fit: margin"):
        check(BATCHES[batch](rng), PSIS["normalized"])


def test_batches_with_and_without_lists_do_not_depend_on_each_other(as_python, rng):
    # Queries of 14 samples are not listed; those of 6 are, whatever came before.
    layer = StructuredLoss(Rankings(), "ap", "slack", reduction="none")
    large = 2.0 * torch.tensor(rng.normal(size=(60, 14))), torch.arange(14).repeat(60, 1) % 2
    small = 2.0 * torch.tensor(rng.normal(size=(9, 6))), torch.arange(6).repeat(9, 1) % 2
    first = layer.evaluate(*small)
    assert torch.equal(first.values, first.bounds)
    found = layer.evaluate(*large)
    assert (found.bounds >= found.values).all() and (found.bounds > found.values).any()
    assert torch.equal(layer.evaluate(*small).values, first.values)


#: One of each structure; the other batches differ from these by a cost, or by what is shared.
COMPILED = ["classes", "chains", "labels_tree", "labels_all_pairs", "trees", "graphs", "rankings",
            "own", "parses", "hierarchy_labels", "hierarchy_closed"]  # fmt: skip


@pytest.mark.parametrize("batch", COMPILED)
def test_compiled_layers_do_the_same(batch, rng):
    for surrogate in ("margin",) if batch == "own" else ("margin", "slack"):
        for _ in range(3):
            assert check(BATCHES[batch](rng), PSIS[surrogate])


def test_float32_goes_in_and_comes_out(rng):
    check(BATCHES["chains"](rng), PSIS["margin"], torch.float32, 1e-5)


@pytest.mark.parametrize("batch", BATCHES)
def test_gradcheck(batch, as_python, rng):
    # Where psi is smooth: around random potentials one output is the largest.
    listed = BATCHES[batch](rng)
    for name, surrogate in PSIS.items():
        if (batch, name) in UNSEARCHED:
            continue
        loss = StructuredLoss(listed.structure, listed.cost, surrogate, reduction="none")
        assert torch.autograd.gradcheck(
            lambda *p, loss=loss: loss(p, listed.truths, **listed.more),
            listed.potentials,
            eps=1e-7,
            atol=1e-6,
        )


def test_relaxed_losses_bound_the_integral_ones(as_python, rng):
    from maxmargin.deep import Graphs, LabelSets

    for make, name in (
        (lambda: Graphs(3, inference="relaxed"), "graphs"),
        (lambda: LabelSets(4, "all", "relaxed"), "labels_all_pairs"),
    ):
        listed = BATCHES[name](rng)
        exact = StructuredLoss(listed.structure, listed.cost, reduction="none")
        relaxed = StructuredLoss(make(), listed.cost, reduction="none")
        values = [
            each(listed.potentials, listed.truths, **listed.more) for each in (exact, relaxed)
        ]
        assert (values[1] >= values[0] - 1e-6).all()
        values[1].sum().backward()
        assert all(p.grad.isfinite().all() for p in listed.potentials)
        assert torch.equal(
            exact.decode(listed.potentials, **listed.more),
            relaxed.decode(listed.potentials, **listed.more),
        )


@pytest.mark.parametrize("batch", BATCHES)
def test_direct_losses_and_gradients(batch, as_python, rng):
    listed, epsilon = BATCHES[batch](rng), 0.7
    layer = DirectLoss(listed.structure, listed.cost, epsilon, reduction="none")
    values = layer(listed.potentials, listed.truths, **listed.more)
    values.sum().backward()
    grads = [np.zeros(p.shape) for p in listed.potentials]
    for i, outputs in enumerate(listed.outputs):
        worse = max(outputs, key=lambda o: listed.score(o[0]) + epsilon * o[1])
        best = max(outputs, key=lambda o: listed.score(o[0]))
        gain = listed.score(worse[0]) + epsilon * worse[1] - listed.score(best[0])
        assert values[i].item() == pytest.approx(gain / epsilon, abs=1e-9)
        for k in best[0]:
            grads[k] += (worse[0][k] - best[0][k]) / epsilon
    for p, grad in zip(listed.potentials, grads, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), grad, atol=1e-9)
