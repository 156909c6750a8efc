"""Direct loss minimisation: the gradient of the cost of the prediction itself, in the limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.deep.batch import Batch
from maxmargin.deep.layer import StructuredLayer
from maxmargin.deep.loss import as_tensors, per_example
from maxmargin.deep.needed import torch
from maxmargin.deep.structures.base import LayerStructure
from maxmargin.deep.tensors import once
from maxmargin.inputs.checks import check_number


class DirectLoss(StructuredLayer):
    """loss_i = (max_y [score(y) + epsilon * cost(y, y_i)] - max_y score(y)) / epsilon.

    Its gradient, (parts of the first maximiser - parts of the second) / epsilon, tends to that of
    the expected cost of the prediction as epsilon tends to 0 (Hazan, Keshet and McAllester 2010).
    The loss lies between the cost of the prediction and the largest cost. It is not convex in the
    potentials and does not see the score of the truth: start from weights that `StructuredLoss`
    has trained. A small epsilon has a gradient of 0 for most examples, and a noisy one for others.

    Parameters
    ----------
    structure, cost, reduction, n_jobs : as for `StructuredLoss`
    epsilon : float > 0, default=1.0

    Examples
    --------
    >>> import torch
    >>> from maxmargin.deep import Classes, DirectLoss
    >>> scores = torch.tensor([[1.0, 0.8, 0.0]], requires_grad=True)
    >>> value = DirectLoss(Classes(3), "zero_one", epsilon=0.5)(scores, torch.tensor([0]))
    >>> value.backward()
    >>> value.item(), scores.grad
    (0.6..., tensor([[-2.,  2.,  0.]]))
    """

    def __init__(
        self,
        structure: LayerStructure,
        cost: Any = None,
        epsilon: float = 1.0,
        reduction: str = "mean",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(structure, cost, reduction, n_jobs)
        self.epsilon = check_number("epsilon", epsilon)

    def extra_repr(self) -> str:
        """Return what `repr` shows."""
        return f"{super().extra_repr()}, epsilon={self.epsilon!r}"

    def forward(self, potentials: Any, truths: Any, lengths: Any = None, edges: Any = None) -> Any:
        """Return the loss; arguments are those of `StructuredLoss`."""
        tensors, arrays, encoded = self._encoded(potentials, truths, lengths, edges)
        if encoded.data is None:
            first = next(iter(tensors.values()))
            return self._reduced(first.sum() * 0.0 + first.new_zeros(encoded.n_examples), encoded)
        batch = Batch(encoded, self._free, arrays)
        losses = _Direct.apply(batch, arrays, self.epsilon, *tensors.values())
        return self._reduced(losses, encoded)


class _Direct(torch.autograd.Function):  # type: ignore[misc]
    """One direct loss per example of a batch."""

    @staticmethod
    def forward(
        ctx: Any, batch: Batch, arrays: dict[str, np.ndarray], epsilon: float, *tensors: Any
    ) -> Any:
        worse, high = batch.best(arrays, epsilon)
        best, low = batch.best(arrays)
        ctx.save_for_backward(*tensors)
        ctx.batch, ctx.outputs, ctx.epsilon = batch, (worse, best), epsilon
        ctx.types = [array.dtype for array in arrays.values()]
        return per_example(batch, (high - low) / epsilon, ctx.types[0])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        batch, (worse, best) = ctx.batch, ctx.outputs
        scales = grad.detach().numpy()[batch.encoded.kept].astype(np.float64) / ctx.epsilon
        total = batch.total([(scales, worse), (-scales, best)])
        found = as_tensors(batch, total, 1.0, ctx.types)
        return None, None, None, *once(found, ctx.saved_tensors)
