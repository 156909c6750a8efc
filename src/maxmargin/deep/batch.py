"""One batch in the hands of a layer: its losses, its outputs, and gradients in its potentials."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from maxmargin.core.contract import output_cost, output_length
from maxmargin.core.workers import cut
from maxmargin.deep.board import Board, Boards
from maxmargin.deep.passes import add_gradients, find_best, find_worst
from maxmargin.deep.structures.base import Encoded

#: Pieces per thread: examples take different times. Pieces never change a result.
PIECES = 4


class Batch:
    """A batch, encoded, with a cost.

    Parameters
    ----------
    encoded : Encoded
    boards : Boards of the layer
    arrays : potentials by name, checked
    """

    def __init__(self, encoded: Encoded, boards: Boards, arrays: dict[str, np.ndarray]) -> None:
        self.encoded, self._boards = encoded, boards
        self.shapes = {name: array.shape for name, array in arrays.items()}
        self._tables = None if encoded.data is None else boards.tables(encoded)

    def worst(self, arrays: dict[str, np.ndarray], with_gradient: bool) -> np.ndarray:
        """Return losses, slopes and bounds of all kept examples, as rows; keep their outputs.

        ``with_gradient`` keeps the gradient of the sum of the losses too, for `gradients`.
        """
        board = self._board = self._boards.of(self.encoded, self._tables)
        problem, n = board.problem, len(self.encoded.kept)
        with board.lock:
            self._fill(board, arrays)
            sheet, at_once = board.sheet, with_gradient and problem.n_jobs == 1
            sheet.outputs.fill(0)
            if with_gradient:
                sheet.gradient.fill(0.0)
            self._run(problem, find_worst, lambda desk: (sheet, desk, at_once))
            if with_gradient and not at_once:
                run = problem.bind(add_gradients)
                run(problem.view, n, sheet.found[1], sheet.outputs, sheet.places, sheet.gradient)
            # Copies: the next batch writes to the same arrays.
            found, self.outputs, self._places = (
                sheet.found.copy(), sheet.outputs.copy(), sheet.places
            )  # fmt: skip
            self._slopes = found[1]
            self._gradient = sheet.gradient.copy() if with_gradient else np.zeros(0)
        if not isfinite(found[0].sum()):
            wrong = np.flatnonzero(~np.isfinite(found[0]))[0]
            raise ValueError(
                f"the loss of example {self.encoded.kept[wrong]} is {found[0, wrong]}: the score "
                "of its true output must be finite."
            )
        return found

    def best(
        self, arrays: dict[str, np.ndarray], cost_scale: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs of largest score + cost_scale * cost, and h + that of each."""
        board = self._board = self._boards.of(self.encoded, self._tables)
        with board.lock:
            self._fill(board, arrays)
            self._places, outputs = board.sheet.places, np.zeros_like(board.sheet.outputs)
            values = np.zeros(len(self.encoded.kept))
            rest = float(cost_scale), outputs, self._places, values
            self._run(board.problem, find_best, lambda desk: (board.w, desk, *rest))
        return outputs, values

    def total(self, terms: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Return sum over terms and examples of scale * (phi(y) - phi(y_i)), as weights.

        A term is the scales of the kept examples and their outputs.
        """
        board, n = self._board, len(self.encoded.kept)
        with board.lock:
            board.pour(self.encoded, self._tables)
            gradient = np.zeros(board.problem.n_weights)
            run = board.problem.bind(add_gradients)
            for scales, outputs in terms:
                scales = np.ascontiguousarray(scales, dtype=np.float64)
                run(board.problem.view, n, scales, outputs, self._places, gradient)
        return gradient

    def gradients(
        self, scales: np.ndarray | None, factor: float, types: list[Any]
    ) -> list[np.ndarray]:
        """Return factor * the gradient of sum scales * losses, as arrays like the potentials.

        ``scales`` has a number for each kept example; None stands for ones.
        """
        total = self._gradient
        if scales is not None:
            total = self.total([(scales * self._slopes, self.outputs)])
        return self.spread(total, factor, types)

    def spread(self, gradient: np.ndarray, scale: float, types: list[Any]) -> list[np.ndarray]:
        """Return scale * gradient as arrays of the shapes and types of the potentials."""
        arrays = []
        for (name, shape), kind in zip(self.shapes.items(), types, strict=True):
            slot = self.encoded.slots[name]
            make = np.zeros if slot.rows is not None else np.empty  # what is padded stays 0
            array = make(shape, dtype=kind)
            slot.take(gradient, array)
            if scale != 1.0:
                array *= scale
            arrays.append(array)
        return arrays

    def cells(self, outputs: np.ndarray) -> list[np.ndarray]:
        """Return the cells of the outputs of all kept examples."""
        data = self._board.problem.view.data
        return [
            outputs[at : at + int(output_length(data, i, outputs, at))]
            for i, at in enumerate(self._places.tolist())
        ]

    def costs(self, outputs: np.ndarray) -> np.ndarray:
        """Return what outputs cost. (In plain Python.)"""
        data, cost = self._board.problem.view[:2]
        return np.array(
            [output_cost(data, cost, i, outputs, at) for i, at in enumerate(self._places.tolist())]
        )

    def _fill(self, board: Board, arrays: dict[str, np.ndarray]) -> None:
        board.pour(self.encoded, self._tables)
        for name, slot in self.encoded.slots.items():
            slot.put(arrays[name], board.w)

    def _run(self, problem: Any, function: Any, rest: Any) -> None:
        """Run a pass over all kept examples: in one call, or in several on several threads."""
        n = len(self.encoded.kept)
        run = problem.bind(function)
        if problem.n_jobs == 1:
            run(problem.view, 0, n, *rest(problem.desk()))
            return
        problem.over_chunks(
            lambda first, last, desk: run(problem.view, first, last, *rest(desk)),
            cut(n, -(-n // (PIECES * problem.n_jobs))),
        )
