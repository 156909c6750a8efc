"""What layers offer besides losses: best outputs, the k best, marginals and likelihoods."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from maxmargin.deep.batch import Batch
from maxmargin.deep.board import Boards
from maxmargin.deep.needed import torch
from maxmargin.deep.structures.base import LayerStructure, check_count
from maxmargin.deep.structures.own import OwnStructure
from maxmargin.deep.structures.ranking import Rankings
from maxmargin.deep.tensors import as_integers, as_numbers, named, once
from maxmargin.estimators.topk import TopK
from maxmargin.surrogates import MarginRescaling
from maxmargin.training.settings import n_threads

REDUCTIONS = ("mean", "sum", "token", "none")


class StructuredLayer(torch.nn.Module):  # type: ignore[misc]
    """A structure over potentials that a net computes; see `StructuredLoss`.

    Methods take ``potentials``, a tensor or a tuple of tensors as the structure names them,
    ``lengths`` where examples are padded, and ``edges`` where each graph has its own.
    """

    def __init__(
        self, structure: LayerStructure, cost: Any, reduction: str, n_jobs: int | None
    ) -> None:
        super().__init__()
        if not isinstance(structure, LayerStructure):
            raise TypeError(
                "structure must be one of maxmargin.deep, such as Chains(n_labels); got "
                f"{structure!r}."
            )
        if reduction not in REDUCTIONS:
            raise ValueError(
                f"reduction must be one of {', '.join(REDUCTIONS)}; got {reduction!r}."
            )
        self.structure, self.reduction = structure, reduction
        self.cost = structure.resolve_cost(cost)
        self._n_jobs = n_threads(n_jobs)
        self._free = Boards(structure, self.cost, MarginRescaling(), "auto", self._n_jobs)

    def extra_repr(self) -> str:
        """Return what `repr` shows."""
        return f"{self.structure!r}, cost={self.cost!r}, reduction={self.reduction!r}"

    def _encoded(
        self, potentials: Any, truths: Any, lengths: Any, edges: Any, relaxed: bool = True
    ) -> tuple[dict[str, Any], dict[str, np.ndarray], Any]:
        """Return the tensors, their numbers, and the batch encoded."""
        tensors = named(self.structure, potentials)
        arrays = {name: as_numbers(name, tensor) for name, tensor in tensors.items()}
        encoded = self.structure.encode(
            {name: array.shape for name, array in arrays.items()},
            self.structure.read_truths(truths),
            as_integers("lengths", lengths),
            edges,
            relaxed,
        )
        return tensors, arrays, encoded

    def decode(self, potentials: Any, lengths: Any = None, edges: Any = None) -> Any:
        """Return an output of largest score for each example.

        They have the form of truths, int64, -1 where a batch is padded; rankings are the numbers of
        samples from the first place down.
        """
        _, arrays, encoded = self._encoded(potentials, None, lengths, edges, relaxed=False)
        shapes = {name: array.shape for name, array in arrays.items()}
        if isinstance(self.structure, Rankings):
            order = self.structure.best(arrays["scores"], as_integers("lengths", lengths))
            return torch.from_numpy(order)
        if self._n_jobs == 1 and os.environ.get("MAXMARGIN_MODE") != "python":
            at_once = self.structure.best_together(arrays, encoded)
            if at_once is not None:
                return torch.from_numpy(at_once)
        cells: list[np.ndarray] = []
        if encoded.data is not None:
            batch = Batch(encoded, self._free, arrays)
            outputs, _ = batch.best(arrays)
            cells = batch.cells(outputs)
        found = self.structure.outputs(encoded, shapes, cells)
        return torch.from_numpy(found) if isinstance(found, np.ndarray) else found

    def k_best(self, potentials: Any, k: int, lengths: Any = None, edges: Any = None) -> TopK:
        """Return the k best outputs of each example, best first, and their scores.

        Both are lists with an entry per example; fewer where there are fewer outputs, none for an
        example without parts. Outputs are tensors, not padded, or what a structure of one's own
        decodes.
        """
        check_count("k", k)
        _, arrays, encoded = self._encoded(potentials, None, lengths, edges, relaxed=False)
        outputs: list[list[Any]] = [[] for _ in range(encoded.n_examples)]
        scores: list[list[float]] = [[] for _ in range(encoded.n_examples)]
        for i, own, own_edges in self._each(arrays, encoded, lengths, edges):
            for output, score in self.structure.k_best(own, int(k), own_edges):
                is_own = isinstance(self.structure, OwnStructure)
                outputs[i].append(output if is_own else torch.as_tensor(output))
                scores[i].append(float(score))
        return TopK(outputs, scores)

    def _each(self, arrays: dict[str, np.ndarray], encoded: Any, lengths: Any, edges: Any) -> Any:
        """Yield the number, the potentials and the edges of each example that has parts."""
        sizes = as_integers("lengths", lengths)
        all_edges = self.structure.beside(encoded, edges, self.cost)
        for i in encoded.kept.tolist():
            length = None if sizes is None else int(sizes[i])
            own = {
                name: array.astype(np.float64)
                for name, array in self.structure.own_potentials(arrays, i, length).items()
            }
            yield i, own, None if all_edges is None else all_edges[i]

    def _expected(
        self, potentials: Any, lengths: Any, edges: Any
    ) -> tuple[dict[str, Any], np.ndarray, dict[str, np.ndarray]]:
        """Return the tensors, log partitions, and expected parts.

        The parts of shared potentials have an axis more in front, for examples.
        """
        tensors, arrays, encoded = self._encoded(potentials, None, lengths, edges, relaxed=False)
        at_once = self.structure.expected_together(arrays, encoded)
        if at_once is not None:
            return tensors, *at_once
        n = encoded.n_examples
        totals, parts = np.zeros(n), {}
        for name, array in arrays.items():
            is_shared = self.structure.is_shared(name, array)
            parts[name] = np.zeros((n, *array.shape) if is_shared else array.shape)
        for i, own, own_edges in self._each(arrays, encoded, lengths, edges):
            totals[i], found = self.structure.expected(own, own_edges)
            for name, sums in found.items():
                if self.structure.is_shared(name, arrays[name]) or parts[name][i].ndim == 1:
                    parts[name][i] = sums
                else:
                    parts[name][(i, *(slice(size) for size in sums.shape))] = sums
        return tensors, totals, parts

    def marginals(self, potentials: Any, lengths: Any = None, edges: Any = None) -> Any:
        """Return the expected parts under p(y) ~ exp(score(y)), a tensor for each of potentials.

        They have the shapes of the potentials: how likely a label is at a position, or on. Shared
        potentials are counted through the batch: how many transitions from a to b are expected.
        """
        tensors, _, parts = self._expected(potentials, lengths, edges)
        found = []
        for name, tensor in tensors.items():
            own = parts[name].sum(axis=0) if parts[name].ndim > tensor.ndim else parts[name]
            found.append(torch.from_numpy(own).to(tensor.dtype))
        return found[0] if len(found) == 1 else tuple(found)

    def log_partition(self, potentials: Any, lengths: Any = None, edges: Any = None) -> Any:
        """Return log sum_y exp(score(y)) of each example; its gradients are the marginals."""
        tensors = named(self.structure, potentials)
        ask = _Asked(self, list(tensors), lengths, edges)
        return _LogPartition.apply(ask, *tensors.values())

    def log_likelihood(
        self, potentials: Any, truths: Any, lengths: Any = None, edges: Any = None
    ) -> Any:
        """Return log p(y_i) of each example under p(y) ~ exp(score(y)), as a CRF has it.

        Minus its mean is a loss to train with in the place of this layer's own.
        """
        tensors, _, _ = self._encoded(potentials, truths, lengths, edges)
        sizes = None if lengths is None else torch.as_tensor(lengths)
        given = self.structure.read_truths(truths)
        given = torch.as_tensor(given) if isinstance(given, np.ndarray) else given
        score = self.structure.score(tensors, given, sizes, edges)
        return score - self.log_partition(potentials, lengths, edges)

    def _scale(self, encoded: Any) -> float | None:
        """Return what the sum of the losses of a batch is multiplied by; None: they stay apart."""
        if self.reduction == "none":
            return None
        if self.reduction == "sum":
            return 1.0
        n = encoded.n_examples if self.reduction == "mean" else encoded.n_tokens
        return 1.0 / max(n, 1)

    def _reduced(self, losses: Any, encoded: Any) -> Any:
        """Return the losses of a batch as one number, unless reduction is "none"."""
        scale = self._scale(encoded)
        return losses if scale is None else losses.sum() * scale


class _Asked:
    """What a log partition is asked of."""

    def __init__(self, layer: StructuredLayer, names: list[str], lengths: Any, edges: Any) -> None:
        self.layer, self.names, self.lengths, self.edges = layer, names, lengths, edges


class _LogPartition(torch.autograd.Function):  # type: ignore[misc]
    """Log partitions, whose gradients are the expected parts."""

    @staticmethod
    def forward(ctx: Any, ask: _Asked, *tensors: Any) -> Any:
        structure, given = ask.layer.structure, dict(zip(ask.names, tensors, strict=True))
        potentials = tuple(given.get(name) for name in structure.names)
        _, totals, parts = ask.layer._expected(potentials, ask.lengths, ask.edges)
        if np.isnan(totals).any():
            raise TypeError(
                f"{structure!r} has marginals, but no method 'log_partition(data, i, theta)'."
            )
        ctx.save_for_backward(*tensors)
        ctx.parts = [parts[name] for name in ask.names]
        ctx.kinds = [(tensor.dtype, tensor.ndim) for tensor in tensors]
        return torch.from_numpy(totals).to(tensors[0].dtype)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        scales = grad.detach().to(torch.float64).numpy()
        found = []
        for parts, (dtype, ndim) in zip(ctx.parts, ctx.kinds, strict=True):
            own = np.einsum("i,i...->i...", scales, parts)
            own = own.sum(axis=0) if parts.ndim > ndim else own
            found.append(torch.from_numpy(np.ascontiguousarray(own)).to(dtype))
        return None, *once(found, ctx.saved_tensors)
