"""The structured loss of a batch as a torch layer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.deep.batch import Batch
from maxmargin.deep.board import Boards
from maxmargin.deep.chain_margin import has_short_way, ordinary_batch
from maxmargin.deep.layer import StructuredLayer
from maxmargin.deep.needed import torch
from maxmargin.deep.structures.base import LayerStructure
from maxmargin.deep.structures.few import few
from maxmargin.deep.tensors import as_integers, named, once
from maxmargin.training.settings import resolve_search, resolve_surrogate


class Losses(NamedTuple):
    """The losses of a batch, without gradients.

    Attributes
    ----------
    values : float64 tensor of shape (B,), psi of the output that was found
    bounds : float64 tensor of shape (B,), no output has a larger psi; equal to values where the
        search is exact
    costs : float64 tensor of shape (B,), what the output that was found costs
    """

    values: Any
    bounds: Any
    costs: Any


class StructuredLoss(StructuredLayer):
    """loss_i = max_y psi(h, g), h = score(y) - score(y_i), g = cost(y, y_i), of potentials.

    A net computes potentials; the layer finds the output of largest psi with the oracles of the
    solvers, in one compiled call for the batch, and its gradient: psi_h * (parts of y - parts of
    y_i). It has no parameters of its own. Potentials are float32 or float64, on the CPU; inside all
    is float64. There is no second derivative.

    Parameters
    ----------
    structure : Classes, Chains, LabelSets, Graphs, Rankings, Hierarchies, Parses or OwnStructure
    cost : str or Cost
        As for the estimators: "hamming", "zero_one", "ap", ... ; None where a structure of one's
        own brings its cost along.
    surrogate : str or Surrogate, default="margin"
        "margin", "slack", "prob" and the others of `maxmargin.surrogates`. For others than
        "margin" the search may only bound the loss of rankings and of graphs with cycles that have
        more than 1024 outputs: see `evaluate`.
    search : str or Search, default="auto"
    reduction : {"mean", "sum", "token", "none"}, default="mean"
        The mean over examples, the sum, the sum divided by the number of positions, or one loss per
        example.
    n_jobs : int or None, default=None
        Threads. They never change a result.

    Examples
    --------
    >>> import torch
    >>> from maxmargin.deep import Chains, StructuredLoss
    >>> loss = StructuredLoss(Chains(3), "hamming", "slack", reduction="token")
    >>> unary = torch.zeros(2, 4, 3, requires_grad=True)
    >>> truths = torch.tensor([[0, 1, 1, 2], [2, 2, 0, 0]])
    >>> value = loss(unary, truths, lengths=torch.tensor([4, 2]))
    >>> value.backward()
    >>> value.item(), unary.grad[1].abs().sum(dim=1).tolist()  # padding has no gradient
    (1.0, [0.666..., 0.666..., 0.0, 0.0])
    """

    def __init__(
        self,
        structure: LayerStructure,
        cost: Any = None,
        surrogate: Any = "margin",
        search: Any = "auto",
        reduction: str = "mean",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(structure, cost, reduction, n_jobs)
        self.surrogate, self.search = resolve_surrogate(surrogate), resolve_search(search)
        if not isinstance(self.search, str) and self.search.needs_slack:
            raise ValueError(
                f"search={self.search!r} needs the slack of each example, which no layer knows."
            )
        self._boards = Boards(structure, self.cost, self.surrogate, self.search, self._n_jobs)
        self._may_be_short = self._n_jobs == 1 and has_short_way(
            structure, self.surrogate, self.search
        )

    def extra_repr(self) -> str:
        """Return what `repr` shows."""
        return f"{super().extra_repr()}, surrogate={self.surrogate!r}"

    def forward(self, potentials: Any, truths: Any, lengths: Any = None, edges: Any = None) -> Any:
        """Return the loss.

        Parameters
        ----------
        potentials : tensor, or tuple of tensors, as the structure names them
        truths : tensor of integers
        lengths : tensor of integers of shape (B,), or None where nothing is padded
        edges : list of array-likes, or None; for graphs that have edges of their own
        """
        if self._may_be_short:
            tensors = named(self.structure, potentials)
            steps = as_integers("lengths", lengths)
            short = ordinary_batch(self.structure, self._boards, tensors, truths, steps, edges)
            if short is not None:
                return _Loss.apply(*short, self._scale(short[0].encoded), *tensors.values())
        tensors, arrays, encoded = self._searched(potentials, truths, lengths, edges)
        first = next(iter(tensors.values()))
        if encoded.data is None:
            losses = sum(tensor.sum() * 0.0 for tensor in tensors.values()) + first.new_zeros(
                encoded.n_examples
            )
            return self._reduced(losses, encoded)
        batch = Batch(encoded, self._boards, arrays)
        return _Loss.apply(batch, arrays, self._scale(encoded), *tensors.values())

    def _searched(
        self, potentials: Any, truths: Any, lengths: Any, edges: Any
    ) -> tuple[dict[str, Any], dict[str, np.ndarray], Any]:
        """Return what `_encoded` does; data list outputs where a search needs that, and can."""
        tensors, arrays, encoded = self._encoded(potentials, truths, lengths, edges)
        if getattr(self.surrogate, "direct_tilt", None) is None:
            encoded = encoded._replace(data=few(encoded.data))
        return tensors, arrays, encoded

    def evaluate(
        self, potentials: Any, truths: Any, lengths: Any = None, edges: Any = None
    ) -> Losses:
        """Return the losses of all examples with their upper bounds, without gradients.

        A bound above its value says that the search may have missed a larger loss, at most that.
        """
        named(self.structure, potentials)
        _, arrays, encoded = self._searched(potentials, truths, lengths, edges)
        found = np.zeros((3, encoded.n_examples))
        if encoded.data is not None:
            batch = Batch(encoded, self._boards, arrays)
            losses, _, bounds = batch.worst(arrays, with_gradient=False)
            found[:, encoded.kept] = losses, bounds, batch.costs(batch.outputs)
        return Losses(*map(torch.from_numpy, found))


class _Loss(torch.autograd.Function):  # type: ignore[misc]
    """One loss per example of a batch, or, given a scale, their sum times that."""

    @staticmethod
    def forward(
        ctx: Any, batch: Any, arrays: dict[str, np.ndarray], scale: float | None, *tensors: Any
    ) -> Any:
        found = batch.worst(arrays, any(ctx.needs_input_grad))
        ctx.save_for_backward(*tensors)
        ctx.batch, ctx.scale = batch, scale
        ctx.types = [array.dtype for array in arrays.values()]
        if scale is None:
            return per_example(batch, found[0], ctx.types[0])
        return tensors[0].new_full((), float(found[0].sum()) * scale)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        batch, scales, factor = ctx.batch, None, 1.0
        if ctx.scale is not None:
            factor = grad.item() * ctx.scale
        else:
            scales = grad.detach().numpy()[batch.encoded.kept].astype(np.float64)
        found = [torch.from_numpy(own) for own in batch.gradients(scales, factor, ctx.types)]
        return None, None, None, *once(found, ctx.saved_tensors)


def per_example(batch: Batch, values: np.ndarray, kind: Any) -> Any:
    """Return a tensor with one number per example, 0 for those without parts."""
    found = np.zeros(batch.encoded.n_examples, dtype=kind)
    found[batch.encoded.kept] = values
    return torch.from_numpy(found)


def as_tensors(batch: Batch, gradient: np.ndarray, scale: float, types: list[Any]) -> list[Any]:
    """Return gradients as tensors, of the types of those that they belong to."""
    return [torch.from_numpy(array) for array in batch.spread(gradient, scale, types)]
