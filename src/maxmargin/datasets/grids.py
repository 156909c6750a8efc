"""Grids: problems of inference with random scores, and noisy images to learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from maxmargin.datasets.dataset import Dataset

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["GRID_POTENTIALS", "grid_edges", "make_grid", "make_noisy_grids"]

GRID_POTENTIALS = ("potts", "gauss", "linear", "quadratic")
"""Names that `make_grid` knows."""


def grid_edges(height: int, width: int, neighbours: int = 4) -> NDArray[np.int64]:
    """The edges of a grid whose nodes are numbered row by row.

    Parameters
    ----------
    height, width : int
    neighbours : {4, 8}, default 4
        8: also those at the corners.

    Returns
    -------
    int64 array of shape (n_edges, 2)
        First all horizontal edges, then all vertical ones, then the two diagonals; each from the
        node of the lower number to that of the higher one.

    Examples
    --------
    >>> grid_edges(2, 2).tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """
    if neighbours not in (4, 8):
        raise ValueError(f"neighbours must be 4 or 8, got {neighbours}.")
    if height < 0 or width < 0:
        raise ValueError(f"a grid of {height} x {width} nodes is none.")
    nodes = np.arange(height * width, dtype=np.int64).reshape(height, width)
    pairs = [(nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])]
    if neighbours == 8:
        pairs += [(nodes[:-1, :-1], nodes[1:, 1:]), (nodes[:-1, 1:], nodes[1:, :-1])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])


def make_grid(
    shape: tuple[int, int] = (20, 20),
    n_labels: int = 5,
    potential: str = "potts",
    *,
    strength: float = 1.0,
    truncation: float = 2.0,
    neighbours: int = 4,
    random_state: int | np.random.Generator | None = 0,
) -> FactorGraph:
    """A grid with standard normal scores of nodes, as a problem of inference.

    Parameters
    ----------
    shape : (int, int), default (20, 20)
        Height and width.
    n_labels : int, default 5
    potential : {"potts", "gauss", "linear", "quadratic"}, default "potts"
        The scores of labels i and j of an edge. "potts": ``strength`` if i = j, else 0. "linear"
        and "quadratic": ``-strength * min(|i - j|, truncation)``, and with ``(i - j)^2``. All edges
        share one such table. "gauss": normal numbers of standard deviation ``strength``, other ones
        at each edge; unlike anything learned, and hard.
    strength, truncation : float
    neighbours : {4, 8}, default 4
    random_state : int, Generator or None, default 0
        The same number gives the same problem.

    Returns
    -------
    FactorGraph

    Examples
    --------
    >>> make_grid((3, 4), 2)
    FactorGraph(12 nodes, 17 factors)
    """
    from maxmargin.inference import FactorGraph

    if potential not in GRID_POTENTIALS:
        raise ValueError(
            f"potential={potential!r} is unknown. There are: {', '.join(GRID_POTENTIALS)}."
        )
    if n_labels < 1:
        raise ValueError(f"n_labels must be at least 1, got {n_labels}.")
    for name, value in (("strength", strength), ("truncation", truncation)):
        if not np.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value}.")
    rng = np.random.default_rng(random_state)
    edges = grid_edges(*shape, neighbours)
    unary = rng.normal(size=(shape[0] * shape[1], n_labels))
    apart = np.abs(np.subtract.outer(np.arange(n_labels), np.arange(n_labels))).astype(float)
    if potential == "gauss":
        tables = rng.normal(scale=abs(strength), size=(len(edges), n_labels, n_labels))
    elif potential == "potts":
        tables = strength * np.eye(n_labels)
    else:
        distance = apart if potential == "linear" else apart**2
        tables = -strength * np.minimum(distance, truncation)
    return FactorGraph(unary, edges, tables if len(edges) else None)


def make_noisy_grids(
    n_samples: int = 40,
    shape: tuple[int, int] = (12, 12),
    n_labels: int = 3,
    *,
    noise: float = 1.0,
    smoothness: float = 1.5,
    void: float = 0.0,
    test_size: float = 0.25,
    random_state: int | np.random.Generator | None = 0,
) -> Dataset:
    """Images of a few regions whose pixels are seen through noise.

    The label of a pixel is the largest of `n_labels` smooth random fields at its place, so that
    neighbours mostly agree. Its features are an indicator of its label with noise.

    Parameters
    ----------
    n_samples : int, default 40
        Images in both parts together.
    shape : (int, int), default (12, 12)
    n_labels : int, default 3
    noise : float, default 1.0
        Standard deviation of what is added to each feature.
    smoothness : float, default 1.5
        Width of the filter that smooths the fields, in pixels; 0: neighbours are independent.
    void : float, default 0.0
        Share of the pixels whose label is not known, -1.
    test_size : float, default 0.25
        Share of the images that are for the test.
    random_state : int, Generator or None, default 0

    Returns
    -------
    Dataset
        X : lists of (node_features, edges), arrays of shape (height * width, n_labels) and
        (n_edges, 2), the nodes row by row; y : lists of int32 arrays. ``extra["shape"]``.

    Examples
    --------
    >>> data = make_noisy_grids(8, (3, 4))
    >>> features, edges = data.X_train[0]
    >>> features.shape, edges.shape, data.y_train[0].shape, len(data.X_test)
    ((12, 3), (17, 2), (12,), 2)
    """
    n_test = round(test_size * n_samples)
    if n_samples < 1 or not 0 <= test_size < 1 or n_test == n_samples:
        raise ValueError(f"test_size={test_size} leaves no image of {n_samples} for training.")
    if n_labels < 1 or min(shape) < 1:
        raise ValueError(f"expected a label and a pixel at least, got {n_labels} and {shape}.")
    for name, value in (("noise", noise), ("smoothness", smoothness)):
        if not (value >= 0 and np.isfinite(value)):
            raise ValueError(f"{name} must be at least 0 and finite, got {value}.")
    if not 0 <= void <= 1:
        raise ValueError(f"void must be from 0 to 1, got {void}.")
    rng = np.random.default_rng(random_state)
    edges = grid_edges(*shape)
    X, y = [], []
    for _ in range(n_samples):
        fields = rng.normal(size=(n_labels, *shape))
        if smoothness:
            fields = np.stack([gaussian_filter(field, smoothness) for field in fields])
        labels = fields.argmax(axis=0).reshape(-1).astype(np.int32)
        seen = np.eye(n_labels)[labels] + rng.normal(scale=noise, size=(len(labels), n_labels))
        labels[rng.random(len(labels)) < void] = -1
        X.append((seen, edges))
        y.append(labels)
    n = n_samples - n_test
    return Dataset(
        "noisy_grids",
        X[:n],
        y[:n],
        X[n:],
        y[n:],
        classes=list(range(n_labels)),
        description="Regions of smooth random fields, seen through noise.",
        extra={"shape": tuple(shape)},
    )
