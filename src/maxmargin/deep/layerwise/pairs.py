"""Piecewise-linear nets, and their activations as differences of functions convex in one layer.

An activation is p - q, and both are convex in the weights of the layer that is trained: p = W a and
q = 0 there, and above it

    ReLU       max(p, q),                           q
    max pool   max_i (p_i + sum_{j != i} q_j),      sum_j q_j
    linear V   V+ p + V- q + b,                     V+ q + V- p

with V+ = max(V, 0) and V- = max(-V, 0). Each of these rises in p and in q, so both stay convex, and
autograd finds their subgradients. They grow as the product of the sums |V| of the layers above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from maxmargin.deep.needed import torch

__all__ = ["PiecewiseLinear"]

functional = torch.nn.functional


@dataclass(frozen=True)
class _Affine:
    """A linear layer or a convolution; its weights and biases are one vector."""

    shape: tuple[int, ...]
    n_biases: int
    apply: Callable[[Any, Any, Any], Any]  # (x, weight, bias or None)

    def cut(self, w: Any) -> tuple[Any, Any]:
        """Return weight and bias, None if there is none."""
        n = w.numel() - self.n_biases
        return w[:n].view(self.shape), w[n:] if self.n_biases else None

    def forward(self, x: Any, w: Any) -> Any:
        weight, bias = self.cut(w)
        return self.apply(x, weight, bias)

    def pair(self, p: Any, q: Any, w: Any) -> tuple[Any, Any]:
        weight, bias = self.cut(w)
        above, below = weight.clamp(min=0.0), (-weight).clamp(min=0.0)
        return (
            self.apply(p, above, bias) + self.apply(q, below, None),
            self.apply(q, above, None) + self.apply(p, below, None),
        )


class _ReLU:
    def forward(self, x: Any, w: Any) -> Any:
        return x.relu()

    def pair(self, p: Any, q: Any, w: Any) -> tuple[Any, Any]:
        return q + (p - q).relu(), q


@dataclass(frozen=True)
class _MaxPool:
    size: Any
    stride: Any
    padding: Any
    ceil: bool

    def forward(self, x: Any, w: Any) -> Any:
        return functional.max_pool2d(x, self.size, self.stride, self.padding, ceil_mode=self.ceil)

    def pair(self, p: Any, q: Any, w: Any) -> tuple[Any, Any]:
        total = functional.avg_pool2d(
            q, self.size, self.stride, self.padding, ceil_mode=self.ceil, divisor_override=1
        )
        return self.forward(p - q, w) + total, total


@dataclass(frozen=True)
class _Flatten:
    first: int
    last: int

    def forward(self, x: Any, w: Any) -> Any:
        return x.flatten(self.first, self.last)

    def pair(self, p: Any, q: Any, w: Any) -> tuple[Any, Any]:
        return self.forward(p, w), self.forward(q, w)


class PiecewiseLinear:
    """A net of linear layers, convolutions, ReLU and max pool; in float64, apart from its modules.

    Parameters
    ----------
    net : torch.nn.Sequential of Linear, Conv2d, ReLU, MaxPool2d and Flatten

    Attributes
    ----------
    weights : list of vectors, the weights and then the biases of each layer that has any

    Examples
    --------
    >>> from torch import nn
    >>> PiecewiseLinear(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))).n_layers
    2
    >>> PiecewiseLinear(nn.Sequential(nn.Linear(2, 3), nn.Tanh()))
    Traceback (most recent call last):
    TypeError: net[1] is Tanh(), but layers ... Conv2d, Flatten, Linear, MaxPool2d, ReLU.
    """

    def __init__(self, net: Any) -> None:
        if not isinstance(net, torch.nn.Sequential):
            raise TypeError(f"net must be a torch.nn.Sequential, got {type(net).__name__}.")
        self._modules = list(net)
        self._layers: list[Any] = []
        self._place: list[int] = []  # of the layers with weights among all
        self.weights: list[Any] = []
        for k, module in enumerate(self._modules):
            make = _READERS.get(type(module))
            if make is None:
                raise TypeError(
                    f"net[{k}] is {module!r}, but layers are trained one by one only in nets of "
                    f"{', '.join(sorted(kind.__name__ for kind in _READERS))}."
                )
            layer = make(f"net[{k}]", module)
            self._layers.append(layer)
            if isinstance(layer, _Affine):
                self._place.append(k)
                self.weights.append(_vector(module))
        if not self._place:
            raise ValueError("net has no layer with weights: nothing can be trained.")

    @property
    def n_layers(self) -> int:
        """How many layers have weights."""
        return len(self._place)

    def inputs_of(self, layer: int, X: Any) -> Any:
        """Return what reaches a layer with weights."""
        with torch.no_grad():
            return self._forward(X, 0, self._place[layer])

    def scores(self, X: Any) -> Any:
        """Return the outputs of the net."""
        with torch.no_grad():
            return self._forward(X, 0, len(self._layers))

    def pair(self, layer: int, inputs: Any, w: Any) -> tuple[Any, Any]:
        """Return u and v, the outputs as u - v, given the inputs of a layer and its weights w."""
        first = self._place[layer]
        p = self._layers[first].forward(inputs, w)
        q = torch.zeros_like(p)
        for k in range(first + 1, len(self._layers)):
            p, q = self._layers[k].pair(p, q, self._weights_at(k))
        return p, q

    def write(self, net: Any) -> None:
        """Copy the weights to the modules of a net."""
        with torch.no_grad():
            for k, w in zip(self._place, self.weights, strict=True):
                weight, bias = self._layers[k].cut(w)
                net[k].weight.copy_(weight)
                if bias is not None:
                    net[k].bias.copy_(bias)

    def _forward(self, x: Any, first: int, last: int) -> Any:
        for k in range(first, last):
            x = self._layers[k].forward(x, self._weights_at(k))
        return x

    def _weights_at(self, k: int) -> Any:
        return self.weights[self._place.index(k)] if k in self._place else None


def _vector(module: Any) -> Any:
    parts = [module.weight.detach().reshape(-1)]
    if module.bias is not None:
        parts.append(module.bias.detach().reshape(-1))
    return torch.cat(parts).to(device="cpu", dtype=torch.float64)


def _n_biases(module: Any) -> int:
    return 0 if module.bias is None else int(module.bias.numel())


def _linear(name: str, module: Any) -> _Affine:
    return _Affine(tuple(module.weight.shape), _n_biases(module), functional.linear)


def _convolution(name: str, module: Any) -> _Affine:
    if module.padding_mode != "zeros":
        raise ValueError(f"{name} must be padded by zeros, got {module!r}.")

    def apply(x: Any, weight: Any, bias: Any) -> Any:
        return functional.conv2d(
            x, weight, bias, module.stride, module.padding, module.dilation, module.groups
        )

    return _Affine(tuple(module.weight.shape), _n_biases(module), apply)


def _max_pool(name: str, module: Any) -> _MaxPool:
    if module.dilation not in (1, (1, 1)) or module.return_indices:
        raise ValueError(f"{name} must have no dilation and return no indices, got {module!r}.")
    return _MaxPool(module.kernel_size, module.stride, module.padding, module.ceil_mode)


_READERS: dict[Any, Callable[[str, Any], Any]] = {
    torch.nn.Linear: _linear,
    torch.nn.Conv2d: _convolution,
    torch.nn.ReLU: lambda name, module: _ReLU(),
    torch.nn.MaxPool2d: _max_pool,
    torch.nn.Flatten: lambda name, module: _Flatten(module.start_dim, module.end_dim),
}
