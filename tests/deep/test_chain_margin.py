"""The short way of margin rescaling over chains, beside the way that all structures go."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from maxmargin.costs import CostMatrix, Hamming  # noqa: E402
from maxmargin.deep import Chains, StructuredLoss  # noqa: E402
from maxmargin.deep import loss as loss_module  # noqa: E402
from maxmargin.deep.chain_margin import chain_gradients, chain_losses  # noqa: E402

K, WEIGHTS = 5, torch.tensor([0.3, -1.7, 0.0, 2.1, 1.0, 1.0])


@pytest.fixture
def goes_short(monkeypatch):
    """Return a list that receives whether each batch went the short way."""
    found = []
    ordinary = loss_module.ordinary_batch

    def ask(*given):
        batch = ordinary(*given)
        found.append(batch is not None)
        return batch

    monkeypatch.setattr(loss_module, "ordinary_batch", ask)
    return found


def potentials(rng, dtypes=(torch.float64,) * 4, given=(True,) * 4, scale=1.0):
    shapes = (6, 7, K), (K, K), (K,), (K,)
    return [
        torch.tensor(scale * rng.normal(size=shape)).to(dtype).requires_grad_() if own else None
        for shape, dtype, own in zip(shapes, dtypes, given, strict=True)
    ]


def truths_and_lengths(rng):
    lengths = torch.tensor([7, 0, 1, 4, 7, 2])
    truths = torch.tensor(rng.integers(K, size=(6, 7)))
    truths[~(torch.arange(7) < lengths[:, None])] = -100  # what is padded is not read
    return truths, lengths


def found_by(loss, given, truths, lengths):
    value = loss(tuple(given), truths, lengths)
    scalar = value if value.ndim == 0 else value @ WEIGHTS.to(value.dtype)
    tensors = [one for one in given if one is not None]
    return [value.detach(), *torch.autograd.grad(3.7 * scalar, tensors)]


def assert_same_bits(given, truths, lengths, goes_short, **more):
    short, long = (StructuredLoss(Chains(K), **more, n_jobs=n_jobs) for n_jobs in (1, 2))
    pairs = zip(*(found_by(loss, given, truths, lengths) for loss in (short, long)), strict=True)
    for ours, theirs in pairs:
        assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)
    assert goes_short == [True]
    goes_short.clear()


@pytest.mark.parametrize("reduction", ["sum", "mean", "token", "none"])
def test_both_ways_have_the_same_bits(reduction, goes_short, rng):
    types = torch.float32, torch.float64
    matrix = np.round(rng.random((K, K)), 2)
    np.fill_diagonal(matrix, 0.0)
    costs = Hamming(), Hamming("mean"), CostMatrix(matrix)
    for cost, pair in itertools.product(costs, itertools.product(types, repeat=2)):
        for given in ((True,) * 4, (True, True, False, False), (True, False, False, True)):
            for scale in (0.1, 3.0):  # with 3, some truths have no output ahead of them
                tensors = potentials(rng, (*pair, *pair), given, scale)
                assert_same_bits(
                    tensors, *truths_and_lengths(rng), goes_short, cost=cost, reduction=reduction
                )


def test_ties_forbidden_cells_and_other_forms_of_tensors(goes_short, rng):
    truths, lengths = truths_and_lengths(rng)
    given = potentials(rng, scale=0.0)  # every labelling has the same score
    assert_same_bits(given, truths, lengths, goes_short, cost="hamming")
    moves = rng.normal(size=(K, K))
    moves[1, 2] = -np.inf
    used = torch.tensor(rng.integers(2, size=(6, 7)) * 3)  # no step from 1 to 2
    given = [*potentials(rng)[:1], torch.tensor(moves, requires_grad=True), None, None]
    assert_same_bits(given, used, lengths, goes_short, cost="hamming")
    turned = torch.tensor(rng.normal(size=(K, 7, 6)), requires_grad=True)
    given = [turned.permute(2, 1, 0), *potentials(rng)[1:]]
    assert_same_bits(given, used.to(torch.uint8), lengths, goes_short, cost="hamming")


def test_what_is_not_ordinary_goes_the_other_way(goes_short, rng):
    truths, lengths = truths_and_lengths(rng)
    given = [one.detach() for one in potentials(rng)]
    loss = StructuredLoss(Chains(K), "hamming", reduction="none")

    def refused(message, given=given, truths=truths):
        with pytest.raises(ValueError, match=message):
            loss(tuple(given), truths, lengths)
        assert goes_short == [False]
        goes_short.clear()

    for bad in (torch.nan, torch.inf):
        padded = given[0].clone()
        padded[1, 3, 2] = bad
        refused(rf"unary\[1, 3, 2\] is {bad}", [padded, *given[1:]])
        moves = given[1].clone()
        moves[4, 0] = bad
        refused(rf"transitions\[4, 0\] is {bad}", [given[0], moves, *given[2:]])
    for bad in (-1, K, 2**40):
        wrong = truths.clone()
        wrong[3, 1] = bad
        refused(rf"truths\[3, 1\] is {bad}; expected 0 to 4", truths=wrong)
    start = given[2].clone()
    start[truths[0, 0]] = -torch.inf
    refused("example 0 is inf: the score of its true output must be", [*given[:2], start, given[3]])
    whole = StructuredLoss(Chains(K), "zero_one", reduction="none")
    assert whole(tuple(given), truths, lengths).shape == (6,)
    assert goes_short == [False]


def test_gradients_belong_to_their_batch(rng):
    # Truths are overwritten before the gradient is asked for, and gradients after they were given.
    truths, lengths = truths_and_lengths(rng)
    tensors = potentials(rng)
    loss = StructuredLoss(Chains(K), "hamming", reduction="sum")
    expected = found_by(loss, tensors, truths, lengths)[1:]
    value = 3.7 * loss(tuple(tensors), truths, lengths)
    truths[:] = 0
    for _ in range(2):
        found = torch.autograd.grad(value, tensors, retain_graph=True)
        for ours, theirs in zip(found, expected, strict=True):
            assert torch.equal(ours, theirs)
            ours.zero_()
    torch.autograd.grad(value, tensors)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(value, tensors)


def test_there_is_no_second_derivative(rng):
    tensors = potentials(rng)
    value = StructuredLoss(Chains(K), "hamming")(tuple(tensors), *truths_and_lengths(rng))
    (grad, *_) = torch.autograd.grad(value, tensors, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        (value + (grad**2).sum()).backward()


def test_kernels_do_as_their_python(rng):
    kept, offsets = np.array([0, 2]), np.array([0, 4, 7])
    unary, edges = rng.normal(size=(3, 4, K)).astype(np.float32), rng.normal(size=(K + 2, K))
    truths, scale = rng.integers(K, size=(3, 4)), np.array([1.0, 0.5])
    matrix = 1.0 - np.eye(K)
    results = []
    for losses, gradients in (
        (chain_losses, chain_gradients),
        (chain_losses.py_func, chain_gradients.py_func),
    ):
        room, cells, found = np.empty((2, 4, K)), np.zeros((2, 7), np.int32), np.zeros((2, 2))
        args = kept, offsets, matrix, scale, room, cells, found
        assert losses(unary, edges, truths, *args)
        own, shared = np.full_like(unary, np.nan), np.full_like(edges, np.nan)
        gradients(cells, kept, offsets, np.array([0.5, 2.0]), 3.0, own, shared)
        results.append((cells, found, own, shared))
        assert not losses(unary, edges, truths + K, *args)
        assert not losses(unary * np.nan, edges, truths, *args)
        assert not losses(unary, edges + np.inf, truths, *args)
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)
