"""Outputs and costs of all examples of a data set at given weights.

`n_jobs` threads work on fixed chunks of examples. The result of an example depends on that example
alone, so the number of threads never changes a result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.compile import compiled, jitable, kernel
from maxmargin.core.contract import (
    connect,
    has,
    largest_costs,
    maximize,
    n_weights,
    output_cost,
    output_size,
    output_sizes,
    potentials,
    true_parts,
    truths,
    workspace,
)
from maxmargin.core.modes import choose_mode
from maxmargin.core.workers import Workers, cut, small_chunk


@jitable
def predict_examples(
    data: Any,
    free: Any,
    cost: Any,
    first: int,
    last: int,
    w: Any,
    theta: Any,
    room: Any,
    y: Any,
    outputs: Any,
    places: Any,
    costs: Any,
) -> None:
    """Write the best output of examples first..last-1 to outputs[places[i]:].

    The type of ``free``, a cost, chooses the oracle; its values are not used, since the scale of
    the cost is 0. If ``costs`` is not empty, costs[i] receives the cost of the output found.
    """
    for i in range(first, last):
        potentials(data, i, w, 1.0, theta)
        maximize(data, free, i, theta, room, 1.0, 0.0, y, 0)
        for cell in range(output_size(data, i)):
            outputs[places[i] + cell] = y[cell]
        if costs.shape[0] > 0:
            costs[i] = output_cost(data, cost, i, y, 0)


@kernel
def fill_potentials(data: Any, i: int, w: Any, theta: Any) -> None:
    """Fill theta with the potentials of example i, for what Python makes of them."""
    potentials(data, i, w, 1.0, theta)


def best_outputs(
    data: Any,
    w: np.ndarray,
    free: Any,
    cost: Any = None,
    n_jobs: int = 1,
    mode: str | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best output of every example at w, and what each costs.

    Parameters
    ----------
    data : as `Problem` takes it; its true outputs are read for costs only
    w : array of shape (n_weights,)
    free : cost that chooses the oracle, such as `costs.tables.free_cost(n_examples, n_labels)`
    cost : the cost to evaluate; None for none
    n_jobs : threads
    mode : as `Problem` takes it

    Returns
    -------
    outputs : the cells of all outputs, one output after the other (`output_sizes` says where)
    costs : array of shape (n_examples,), or (0,) without `cost`
    """
    sizes = np.asarray(output_sizes(data), dtype=np.int64)
    n_examples = len(sizes)
    places = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    cells = truths(data).dtype
    outputs = np.zeros(int(places[-1]), dtype=cells)
    costs = np.zeros(0 if cost is None else n_examples)
    judge = free if cost is None else cost
    mode, _ = choose_mode(mode, {"data": data, "free": free, "cost": judge}, cells)
    largest, chunks = int(sizes.max(initial=1)), cut(n_examples, small_chunk(sizes))
    is_object = not all(isinstance(part, tuple) for part in (data, free, judge))
    with Workers(1 if mode == "python" or is_object else n_jobs) as workers:
        rooms = [
            (*workspace(data), np.zeros(largest, dtype=cells))
            for _ in range(workers.n_workers(len(chunks)))
        ]
        if mode != "python":
            for _, room, _ in rooms:
                connect(room, free)
        given = data, free, judge
        run: Any = predict_examples
        if mode == "typed":
            run = compiled(predict_examples)
        elif mode == "erased":
            from maxmargin.core.erase import bind_prediction

            run, given, rooms = bind_prediction(
                predict_examples, data, free, cost, sizes, rooms, cells
            )

        def serve(piece: int, worker: int) -> None:
            run(*given, *chunks[piece], w, *rooms[worker], outputs, places, costs)

        workers.share(len(chunks), serve)
    return outputs, costs


def largest_costs_of(data: Any, cost: Any) -> np.ndarray:
    """Return the largest cost that an output of each example can have.

    Uses `largest_costs` if the cost implements it. Otherwise the oracle finds the output of largest
    cost, with the scale of the score at 0.
    """
    if has(largest_costs, type(cost)):
        parts = true_parts(data)
        return np.asarray(largest_costs(cost, parts.lengths, parts.states))
    sizes = output_sizes(data)
    theta, room = workspace(data)
    w = np.zeros(int(n_weights(data)))
    y = np.zeros(int(sizes.max()), dtype=truths(data).dtype)
    largest = np.zeros(len(sizes))
    for i in range(len(sizes)):
        potentials(data, i, w, 1.0, theta)
        maximize(data, cost, i, theta, room, 0.0, 1.0, y, 0)
        largest[i] = output_cost(data, cost, i, y, 0)
    return largest


def mean_score(costs: np.ndarray, largest: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return 1 - the mean of costs / largest; the quotient is 0 where the largest cost is 0."""
    share = np.divide(costs, largest, out=np.zeros(len(costs)), where=largest > 0)
    return 1.0 - float(np.average(share, weights=weight))
