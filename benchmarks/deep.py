"""Losses of batches in torch layers, beside a batched recursion in torch; their share of a step.

32 sequences of 25 positions, margin rescaling, forward and backward, float32, one thread. The
recursion is what one writes without a package: max over the labels before, position by position,
for all sequences at once; autograd does the rest. torch-struct stands beside where it is installed
(pip install --no-deps torch-struct; with torch 2 its potentials must not be leaves of the graph).
Values and gradients of all are compared. The step is that of a BiLSTM of 2 x 125 units over 100
inputs with Adam. Needs torch: in the environment of `make test-deep`, .venv-deep/bin/python
benchmarks/run.py --only deep.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from harness import Check, Line

N, T, REPEATS, ROUNDS = 32, 25, 40, 7


def milliseconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the least CPU time of some rounds: others that use the machine only add to it."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(repeats):
            work()
        times.append((time.process_time() - start) / repeats)
    return 1e3 * min(times)


def lines() -> Iterator[Line]:
    import torch

    from maxmargin.deep import Chains, StructuredLoss

    torch.set_num_threads(1)
    for K in (9, 20, 45):
        torch.manual_seed(0)
        unary = torch.randn(N, T, K, requires_grad=True)
        moves = torch.randn(K, K, requires_grad=True)
        truths = torch.randint(K, (N, T))
        loss = StructuredLoss(Chains(K), "hamming", reduction="sum")

        def ours(loss=loss, unary=unary, moves=moves, truths=truths):
            return torch.autograd.grad(loss((unary, moves), truths), (unary, moves))

        def theirs(unary=unary, moves=moves, truths=truths, K=K):
            wrong = 1.0 - torch.nn.functional.one_hot(truths, K)
            augmented = unary + wrong
            best = augmented[:, 0]
            for t in range(1, T):
                best = (best[:, :, None] + moves).max(dim=1).values + augmented[:, t]
            score = unary.gather(2, truths[:, :, None]).sum()
            score = score + moves[truths[:, :-1], truths[:, 1:]].sum()
            return torch.autograd.grad(best.max(dim=1).values.sum() - score, (unary, moves))

        gap = max(float((a - b).abs().max()) for a, b in zip(ours(), theirs(), strict=True))
        mine, peer = milliseconds(ours), milliseconds(theirs)
        yield Line(
            f"chain, {K} labels: loss and gradient of a batch of {N} x {T}", mine, peer, "ms",
            [
                Check("times faster", peer / mine, ">=", 8.0),
                Check("gradients differ", gap, "<=", 1e-4),
            ],
            note="peer: batched recursion in torch",
        )  # fmt: skip
        yield likelihood(f"chain, {K} labels", loss, unary, moves, truths)
        packaged = chain_by_package(unary, moves, truths)
        if packaged is not None:
            gap = max(float((a - b).abs().max()) for a, b in zip(ours(), packaged(), strict=True))
            yield against_package(f"chain, {K} labels", mine, milliseconds(packaged, 4), gap)
    yield from trees()
    yield from shares()


def likelihood(what: str, loss: Any, unary: Any, moves: Any, truths: Any) -> Line:
    """Return the line of log-likelihood and gradient, beside a batched recursion in torch."""
    import torch

    def ours() -> Any:
        total = loss.log_likelihood((unary, moves), truths).sum()
        return torch.autograd.grad(total, (unary, moves))

    def theirs() -> Any:
        sums = unary[:, 0]
        for t in range(1, T):
            sums = torch.logsumexp(sums[:, :, None] + moves, dim=1) + unary[:, t]
        score = unary.gather(2, truths[:, :, None]).sum()
        score = score + moves[truths[:, :-1], truths[:, 1:]].sum()
        return torch.autograd.grad(score - torch.logsumexp(sums, dim=1).sum(), (unary, moves))

    gap = max(float((a - b).abs().max()) for a, b in zip(ours(), theirs(), strict=True))
    return Line(
        f"{what}: log-likelihood and gradient of a batch of {N} x {T}", milliseconds(ours),
        milliseconds(theirs), "ms", [Check("gradients differ", gap, "<=", 1e-3)],
        note="peer: batched recursion in torch",
    )  # fmt: skip


def against_package(what: str, mine: float, peer: float, gap: float) -> Line:
    return Line(
        f"{what}: loss and gradient of a batch of {N} x {T}, beside torch-struct", mine, peer, "ms",
        [Check("times faster", peer / mine, ">=", 8.0), Check("gradients differ", gap, "<=", 1e-4)],
        note="peer: torch-struct 0.5, max over augmented potentials",
    )  # fmt: skip


def chain_by_package(unary: Any, moves: Any, truths: Any) -> Callable[[], Any] | None:
    """Return loss and gradient by torch-struct; None where it is not installed."""
    import torch

    try:
        from torch_struct import LinearChainCRF
    except ImportError:
        return None
    K = unary.shape[2]

    def work() -> Any:
        augmented = unary + 1.0 - torch.nn.functional.one_hot(truths, K)
        edges = moves.t()[None, None] + augmented[:, 1:, :, None]
        first = torch.nn.functional.pad(augmented[:, :1, None, :], (0, 0, 0, 0, 0, T - 2))
        score = unary.gather(2, truths[:, :, None]).sum()
        score = score + moves[truths[:, :-1], truths[:, 1:]].sum()
        best = LinearChainCRF(edges + first).max
        return torch.autograd.grad(best.sum() - score, (unary, moves))

    return work


def trees() -> Iterator[Line]:
    """Projective trees with one root; torch-struct has the arcs from the root on the diagonal."""
    import torch

    from maxmargin.deep import Parses, StructuredLoss

    torch.manual_seed(0)
    arcs = torch.randn(N, T + 1, T + 1, requires_grad=True)
    loss = StructuredLoss(Parses(), "uas", reduction="sum")
    truths = loss.decode(torch.randn(N, T + 1, T + 1))

    def ours() -> Any:
        return torch.autograd.grad(loss(arcs, truths), arcs)[0]

    ours()  # compiles
    mine = milliseconds(ours)
    try:
        from torch_struct import DependencyCRF
    except ImportError:
        yield Line(f"projective trees: loss and gradient of a batch of {N} x {T}", mine, unit="ms")
        return
    true = torch.nn.functional.one_hot(truths, T + 1).transpose(1, 2).float()  # [head, word]

    def theirs() -> Any:
        augmented = arcs[:, :, 1:] + 1.0 - true
        square = augmented[:, 1:] + torch.diag_embed(augmented[:, 0] - torch.diagonal(
            augmented[:, 1:], dim1=1, dim2=2))  # fmt: skip
        best = DependencyCRF(square, multiroot=False).max
        score = (arcs[:, :, 1:] * true).sum()
        return torch.autograd.grad(best.sum() - score, arcs)[0]

    gap = float((ours() - theirs()).abs().max())
    yield against_package("projective trees", mine, milliseconds(theirs, 4), gap)


def shares() -> Iterator[Line]:
    import torch

    from maxmargin.deep import Chains, StructuredLoss

    K = 20
    for surrogate in ("margin", "slack", "prob"):
        torch.manual_seed(0)
        lstm = torch.nn.LSTM(100, 125, batch_first=True, bidirectional=True)
        out, moves = torch.nn.Linear(250, K), torch.nn.Parameter(torch.zeros(K, K))
        parameters = [*lstm.parameters(), *out.parameters(), moves]
        optimizer = torch.optim.Adam(parameters, 1e-3)
        X, truths = torch.randn(N, T, 100), torch.randint(K, (N, T))
        loss = StructuredLoss(Chains(K), "hamming", surrogate, reduction="token")

        def step(lstm=lstm, out=out, moves=moves, optimizer=optimizer, loss=loss, X=X, y=truths):
            optimizer.zero_grad()
            loss((out(lstm(X)[0]), moves), y).backward()
            optimizer.step()

        step()
        unary = out(lstm(X)[0]).detach().requires_grad_()

        def alone(loss=loss, unary=unary, moves=moves, truths=truths):
            return torch.autograd.grad(loss((unary, moves), truths), (unary, moves))

        part, whole = milliseconds(alone), milliseconds(step)
        checks = [Check("share", part / whole, "<=", 0.03)] if surrogate == "margin" else []
        yield Line(
            f"BiLSTM 2 x 125, {K} labels: the loss ({surrogate}) of a step", part, whole, "ms",
            checks, note="peer: the whole step",
        )  # fmt: skip
