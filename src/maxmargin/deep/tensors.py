"""Tensors that layers are given, checked: numbers on the CPU, without NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.deep.needed import torch
from maxmargin.deep.structures.base import LayerStructure

FLOATS = (torch.float32, torch.float64)


def named(structure: LayerStructure, potentials: Any) -> dict[str, Any]:
    """Return the tensors of potentials by name; refuse too few, too many, and what is no tensor."""
    given = potentials if isinstance(potentials, tuple | list) else (potentials,)
    names = structure.names
    if len(given) > len(names):
        raise ValueError(
            f"potentials of {structure!r} are {', '.join(names)}; got {len(given)} tensors."
        )
    found = {name: each for name, each in zip(names, given, strict=False) if each is not None}
    missing = [name for name in names[: structure.n_required] if name not in found]
    if missing:
        raise ValueError(f"potentials of {structure!r} must have {missing[0]}.")
    for name, tensor in found.items():
        check_tensor(name, tensor)
        if tensor.dtype not in FLOATS:
            raise TypeError(
                f"{name} must be float32 or float64, got {tensor.dtype}; convert it: "
                f"{name}.float()."
            )
    return found


def check_tensor(name: str, tensor: Any) -> None:
    """Refuse what is no tensor, and tensors on another device than the CPU."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(tensor).__name__}.")
    if tensor.device.type != "cpu":
        raise ValueError(
            f"{name} is on the device {tensor.device}, but oracles run on the CPU: pass "
            f"{name}.cpu(). Gradients find their way back."
        )


def as_numbers(name: str, tensor: Any) -> np.ndarray:
    """Return potentials as an array; refuse NaN and +infinity. -infinity forbids."""
    array = tensor.detach().numpy()
    # A sum is not a number if one of its terms is not; most often this one pass is all.
    with np.errstate(invalid="ignore", over="ignore"):
        total = array.sum()
    if not math.isfinite(total):
        wrong = np.isnan(array) | np.isposinf(array)
        if wrong.any():
            place = ", ".join(str(int(k)) for k in np.argwhere(wrong)[0])
            raise ValueError(
                f"{name}[{place}] is {array[wrong][0]}; expected finite numbers, or -inf for what "
                "is forbidden."
            )
    return np.ascontiguousarray(array)


def as_integers(name: str, tensor: Any) -> np.ndarray | None:
    """Return truths or lengths as an array of integers; None stays None."""
    if tensor is None:
        return None
    if isinstance(tensor, np.ndarray | list | tuple):
        tensor = torch.as_tensor(tensor)
    check_tensor(name, tensor)
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        raise TypeError(f"{name} must be integers, got {tensor.dtype}.")
    return tensor.detach().numpy()


class _Once(torch.autograd.Function):  # type: ignore[misc]
    """A gradient that cannot be differentiated again."""

    @staticmethod
    def forward(ctx: Any, gradient: Any, *tensors: Any) -> Any:
        return gradient

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise RuntimeError(
            "layers of maxmargin have no second derivative: their gradients are parts of outputs, "
            "which do not change with the potentials but where another output is found."
        )


def once(gradients: list[Any], tensors: tuple[Any, ...]) -> list[Any]:
    """Return gradients that raise where they are differentiated (under create_graph=True)."""
    if not torch.is_grad_enabled():
        return gradients
    return [_Once.apply(gradient, *tensors) for gradient in gradients]
