"""One step of CCCP in the weights of one layer: a convex bound, and its cutting planes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.deep.layerwise.pairs import PiecewiseLinear
from maxmargin.deep.needed import torch
from maxmargin.solvers.cutting.simplex_qp import solve_simplex

__all__ = ["Block", "ConvexBound", "Solved", "mean_loss", "minimise"]


class Block(NamedTuple):
    """Some examples, as potentials of the structure.

    Attributes
    ----------
    rows : integers, which rows of X they are
    truths : tensor, as the structure takes them
    low, high : tensors of the shape of the potentials
        The least and the largest difference between the parts of an output and those of the truth.
    shape : shape of the potentials
    """

    rows: Any
    truths: Any
    low: Any
    high: Any
    shape: tuple[int, ...]


class ConvexBound:
    """A function of the weights W of a layer: convex, no less than the mean loss, equal at W_t.

    The loss max_y [cost(y) + <d(y), u - v>], d(y) = parts of y - parts of the truth within low and
    high, is G1 - G2 with

        G1 = max_y [cost(y) + <d(y) - low, u> + <high - d(y), v>],      G2 = <high, v> - <low, u>;

    both are convex, for u and v are, and no factor of theirs is negative. The function has the
    tangent of G2 at W_t, where the net is when it is made, in the place of G2.

    Parameters
    ----------
    net : PiecewiseLinear, at W_t
    layer : int
    blocks : list of Block
    X : tensor of all rows
    loss : StructuredLoss, summed
    n : int, how many examples the mean is over
    """

    def __init__(
        self, net: PiecewiseLinear, layer: int, blocks: list[Block], X: Any, loss: Any, n: int
    ) -> None:
        self._net, self._layer, self._blocks, self._loss, self._n = net, layer, blocks, loss, n
        self._inputs = [net.inputs_of(layer, X[block.rows]) for block in blocks]
        self.start = net.weights[layer]
        at = self.start.clone().requires_grad_()
        total = 0.0
        for block, inputs in zip(blocks, self._inputs, strict=True):
            part = _second(block, *self._potentials(block, inputs, at))
            part.backward()
            total += part.item()
        self._tangent = at.grad / n
        self._constant = total / n - float(self._tangent @ self.start)

    def _potentials(self, block: Block, inputs: Any, w: Any) -> tuple[Any, Any]:
        u, v = self._net.pair(self._layer, inputs, w)
        return u.reshape(block.shape), v.reshape(block.shape)

    def value_at(self, w: Any) -> tuple[float, Any]:
        """Return the mean of G1 minus the tangent of G2, and a subgradient."""
        at = w.clone().requires_grad_()
        total = 0.0
        for block, inputs in zip(self._blocks, self._inputs, strict=True):
            u, v = self._potentials(block, inputs, at)
            part = self._loss(u - v, block.truths) + _second(block, u, v)
            part.backward()
            total += part.item()
        value = total / self._n - self._constant - float(self._tangent @ w)
        return value, at.grad / self._n - self._tangent


def _second(block: Block, u: Any, v: Any) -> Any:
    return (block.high * v).sum() - (block.low * u).sum()


def mean_loss(net: PiecewiseLinear, blocks: list[Block], X: Any, loss: Any, n: int) -> float:
    """Return the mean of the losses at the weights of the net."""
    total = 0.0
    for block in blocks:
        total += loss(net.scores(X[block.rows]).reshape(block.shape), block.truths).item()
    return total / n


class Solved(NamedTuple):
    """Weights that minimise a bound.

    Attributes
    ----------
    w : vector
    value : float, the bound and its quadratics at w; at most what it is at the start
    lower : float, no weights have less
    n_evaluations : int
    """

    w: Any
    value: float
    lower: float
    n_evaluations: int


def minimise(
    bound: ConvexBound, lam: float, mu: float, tol: float, max_iter: int, rest: float = 0.0
) -> Solved:
    """Minimise rest + bound(W) + lam/2 |W|^2 + mu/2 |W - W_t|^2 by cutting planes, from W_t.

    With c = mu/(lam + mu) W_t the quadratics are (lam + mu)/2 |W - c|^2 and a constant, so the
    master is that of the one-slack solver in W - c. It ends where the best value is within a share
    ``tol`` of itself from the master's, or after ``max_iter`` evaluations. ``rest`` does not depend
    on W.
    """
    start, strength = bound.start, lam + mu
    centre = (mu / strength) * start
    constant = rest + 0.5 * lam * mu / strength * float(start @ start)
    planes = np.empty((0, start.numel()))
    gram, linear, alpha = np.zeros((0, 0)), np.zeros(0), np.zeros(0)
    w, best, lower, best_w = start, np.inf, -np.inf, start
    for k in range(max_iter):
        risk, slope = bound.value_at(w)
        offset = w - centre
        value = risk + 0.5 * strength * float(offset @ offset) + constant
        if value < best:
            best, best_w = value, w
        row = slope.numpy()
        products = planes @ row
        gram = np.block([[gram, products[:, None]], [products[None, :], np.array([[row @ row]])]])
        linear = np.append(linear, risk - float(slope @ offset))
        planes = np.vstack([planes, row])
        alpha = np.append(alpha, 1.0 if k == 0 else 0.0)
        goal = tol * max(abs(best), 1e-12)
        alpha, found, _ = solve_simplex(
            np.ascontiguousarray(gram), linear, strength, alpha, 0.1 * goal
        )
        lower = max(lower, found + constant)
        if best - lower <= goal:
            break
        w = centre - torch.from_numpy(alpha @ planes) / strength
    return Solved(best_w, best, min(lower, best), k + 1)
