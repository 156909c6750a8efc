"""Margin rescaling of chains, from the numbers of tensors to losses in one compiled call.

The way that all structures go (`deep/batch.py`) copies potentials to weights and runs a pass over
problems of any kind. With few labels that took twice as long as Viterbi itself. Here the numbers
are read where they lie; Viterbi, scores and prices are those of the structure, in the same order,
so losses and gradients are the same to the last bit, which the tests hold.

Only what is ordinary goes this way: `ordinary_batch` returns None for all else (NaN and +inf,
losses that are not finite, labels out of range, costs that are no sum over positions). The other
way then does it, or says what is wrong with it.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from maxmargin.core.compile import kernel
from maxmargin.costs.tables import PartCost
from maxmargin.deep.board import Boards
from maxmargin.deep.structures.base import Encoded, check_truths
from maxmargin.deep.structures.chain import Chains, rows_of_edges
from maxmargin.inference.chain.best import best_path
from maxmargin.surrogates import MarginRescaling


@kernel
def chain_losses(
    unary: Any,
    edges: Any,
    truths: Any,
    kept: Any,
    offsets: Any,
    matrix: Any,
    scale: Any,
    room: Any,
    cells: Any,
    found: Any,
) -> bool:
    """Find the labellings of largest margin loss; return whether the batch was ordinary.

    Parameters
    ----------
    unary : float array of shape (B, T, K), C-contiguous
    edges : float64 array of shape (K + 2, K): transitions, start, end
    truths : int64 array of shape (B, T)
    kept, offsets : int64 arrays; sequence j is kept[j] of the batch, and has the cells
        offsets[j] .. offsets[j + 1] - 1
    matrix, scale : those of `PartCost`, for the sequences that are kept
    room : float64 workspace of shape (2, T, K)
    cells : int32 array of shape (2, n_cells); receives the true labels and those that were found
    found : float64 array of shape (2, n_kept); receives losses, and their derivatives in h

    Where it returns False, what it wrote has no meaning: a number is NaN or +inf, or a true label
    is out of range.
    """
    # NaN is below nothing, and -inf may stand for what is forbidden. Padding is looked at too: NaN
    # is refused there as well, and one loop over all numbers vectorises.
    n_labels = unary.shape[2]
    wrong = 0
    flat = unary.reshape(-1)
    for c in range(flat.shape[0]):
        wrong |= not flat[c] < np.inf
    for row in range(n_labels + 2):
        for k in range(n_labels):
            wrong |= not edges[row, k] < np.inf
    if wrong:
        return False
    augmented, delta = room[0], room[1]
    transitions, start, end = edges[:n_labels], edges[n_labels], edges[n_labels + 1]
    for j in range(kept.shape[0]):
        i, first, length = kept[j], offsets[j], offsets[j + 1] - offsets[j]
        for t in range(length):
            truth = truths[i, t]
            if truth < 0 or truth >= n_labels:
                return False
            cells[0, first + t] = truth
            for k in range(n_labels):
                augmented[t, k] = np.float64(unary[i, t, k]) + scale[j] * matrix[truth, k]
        path = cells[1, first : first + length]
        best_path(augmented[:length], transitions, start, end, delta, path)
        # As `margin_error` and `output_cost` of chains: the same sums in the same order.
        error, price = 0.0, 0.0
        before = truth_before = np.int64(n_labels)  # the row of start scores
        for t in range(length):
            label, truth = np.int64(path[t]), np.int64(cells[0, first + t])
            error += np.float64(unary[i, t, label]) - np.float64(unary[i, t, truth])
            error += edges[before, label] - edges[truth_before, truth]
            price += matrix[truth, label]
            before, truth_before = label, truth
        error += end[before] - end[truth_before]
        value = error + scale[j] * price
        # The truth has psi = 0: only rounding makes the largest psi negative.
        found[0, j] = 0.0 if value <= 0.0 else value
        found[1, j] = 0.0 if value <= 0.0 else 1.0
    return True


@kernel
def chain_gradients(
    cells: Any, kept: Any, offsets: Any, scales: Any, factor: float, unary: Any, edges: Any
) -> None:
    """Fill unary and edges with sum_j scales[j] * (phi(y) - phi(y_j)), unary times factor.

    Arrays are those of `chain_losses`; unary, of any float type, and edges are overwritten. Sums
    over sequences are float64, in their order.
    """
    n_labels = edges.shape[1]
    unary.reshape(-1)[:] = 0.0
    edges[:] = 0.0
    for j in range(kept.shape[0]):
        scale = scales[j]
        if scale == 0.0:
            continue
        i, first, length = kept[j], offsets[j], offsets[j + 1] - offsets[j]
        before = truth_before = np.int64(n_labels)
        for t in range(length):
            truth, label = np.int64(cells[0, first + t]), np.int64(cells[1, first + t])
            if truth != label:
                unary[i, t, truth] = -scale * factor
                unary[i, t, label] = scale * factor
            edges[truth_before, truth] -= scale
            edges[before, label] += scale
            before, truth_before = label, truth
        edges[n_labels + 1, truth_before] -= scale
        edges[n_labels + 1, before] += scale


class ChainBatch:
    """A batch of chains whose losses are known; to `StructuredLoss` it is what `Batch` is.

    Parameters
    ----------
    encoded : Encoded
    found : (2, n_kept), losses and slopes
    cells : (2, n_cells) int32, true labels and those found. They are copies: the tensor of truths
        may change before the gradient is asked for.
    shape : of the unary potentials
    names : of the potentials that were given
    """

    def __init__(
        self,
        encoded: Encoded,
        found: np.ndarray,
        cells: np.ndarray,
        shape: tuple[int, ...],
        names: list[str],
    ) -> None:
        self.encoded, self._found, self._cells = encoded, found, cells
        self._shape, self._names = shape, names

    def worst(self, arrays: Any, with_gradient: bool) -> np.ndarray:
        """Return losses and slopes of all kept examples, as rows."""
        return self._found

    def gradients(
        self, scales: np.ndarray | None, factor: float, types: list[Any]
    ) -> list[np.ndarray]:
        """Return the gradients of potentials; see `Batch.gradients`."""
        n_labels = self._shape[2]
        unary, edges = np.empty(self._shape, types[0]), np.empty((n_labels + 2, n_labels))
        own = self._found[1] if scales is None else scales * self._found[1]
        offsets = self.encoded.data.offsets
        chain_gradients(self._cells, self.encoded.kept, offsets, own, factor, unary, edges)
        rows = rows_of_edges(n_labels)
        arrays = [unary]
        for name, kind in zip(self._names[1:], types[1:], strict=True):
            array = edges[rows[name]].astype(kind)
            if factor != 1.0:
                array *= factor
            arrays.append(array)
        return arrays


def has_short_way(structure: Any, surrogate: Any, search: Any) -> bool:
    """Tell whether batches may go this way: not where all is to run as Python."""
    is_chain_margin = type(structure) is Chains and type(surrogate) is MarginRescaling
    return is_chain_margin and search == "auto" and os.environ.get("MAXMARGIN_MODE") != "python"


def ordinary_batch(
    structure: Any,
    boards: Boards,
    tensors: dict[str, Any],
    truths: Any,
    lengths: np.ndarray | None,
    edges: Any,
) -> tuple[ChainBatch, dict[str, np.ndarray]] | None:
    """Return a batch of chains with its losses, and its potentials; None if it is not ordinary."""
    arrays = {name: tensor.detach().numpy() for name, tensor in tensors.items()}
    given = structure.read_truths(truths)
    shapes = {name: array.shape for name, array in arrays.items()}
    encoded = structure.encode(shapes, None, lengths, edges)
    if encoded.data is None or given is None:
        return None
    cost = boards.tables(encoded)
    if type(cost) is not PartCost:
        return None
    n, longest, n_labels = shapes["unary"]
    labels = np.ascontiguousarray(check_truths(given, (n, longest)), dtype=np.int64)
    unary = np.ascontiguousarray(arrays["unary"])
    all_edges = np.zeros((n_labels + 2, n_labels))
    for name, row in rows_of_edges(n_labels).items():
        if name in arrays:
            all_edges[row] = arrays[name]
    room = np.empty((2, longest, n_labels))
    cells = np.empty((2, encoded.n_tokens), dtype=np.int32)
    found = np.empty((2, len(encoded.kept)))
    is_ordinary = chain_losses(
        unary, all_edges, labels, encoded.kept, encoded.data.offsets, cost.matrix, cost.scale,
        room, cells, found,
    )  # fmt: skip
    if not (is_ordinary and math.isfinite(found[0].sum())):
        return None
    return ChainBatch(encoded, found, cells, shapes["unary"], list(arrays)), arrays
