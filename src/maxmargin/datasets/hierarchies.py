"""Drawn examples in a hierarchy: a balanced tree, and one that grows to one side only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin.datasets.dataset import Dataset

__all__ = ["make_balanced_tree", "make_caterpillar"]


def make_balanced_tree(
    n_train: int = 1500,
    n_test: int = 5000,
    *,
    n_dev: int = 2000,
    n_features: int = 150,
    depth: int = 3,
    seed: int = 0,
) -> Dataset:
    """Examples of a binary tree whose levels are all full: each belongs to the leaf of best score.

    Every node has weights, and every example features, that are drawn from a standard normal
    distribution. The score of a leaf is the sum of the scores of the nodes on its path. This is the
    balanced set of chapter 6 of Choi's thesis; its root, which all paths share, is left out.

    Parameters
    ----------
    n_train, n_test, n_dev, n_features : int
    depth : int
        Levels below the root; there are 2 ** depth leaves.
    seed : int

    Returns
    -------
    Dataset
        X : arrays; y : arrays of str, paths such as "0/1/1"; with X_dev, y_dev.

    Examples
    --------
    >>> data = make_balanced_tree(20, 10, n_dev=5)
    >>> data.X_train.shape, len(data.classes), data.classes[0]
    ((20, 150), 8, '0/0/0')
    """
    rng = np.random.default_rng(seed)
    sizes = _checked(n_train, n_dev, n_test, n_features)
    n_nodes = 2 ** (depth + 1) - 2  # node v (from 2) has the children 2 v and 2 v + 1
    W = rng.standard_normal((n_nodes, n_features))
    X = rng.standard_normal((sum(sizes), n_features))
    scores = X @ W.T
    leaves = np.arange(2**depth, 2 ** (depth + 1))
    totals = np.zeros((len(X), len(leaves)))
    for up in range(depth):
        totals += scores[:, (leaves >> up) - 2]
    paths = np.array(["/".join(format(leaf, "b")[1:]) for leaf in leaves])
    return _cut("balanced_tree", X, paths[totals.argmax(axis=1)], sizes, paths.tolist())


def make_caterpillar(
    n_train: int = 1500,
    n_test: int = 5000,
    *,
    n_dev: int = 2000,
    n_features: int = 150,
    depth: int = 10,
    seed: int = 0,
) -> Dataset:
    """Examples of a binary tree that grows to one side: half of what is left ends at each level.

    Features are drawn from a normal distribution and scaled to length 1. A random hyperplane
    divides the space; one side is a leaf, the other is divided by the next hyperplane, and so on.
    This is the unbalanced set of chapter 6 of Choi's thesis.

    Parameters
    ----------
    n_train, n_test, n_dev, n_features, seed : int
    depth : int
        Number of hyperplanes; there are depth + 1 leaves (and 2 depth + 1 nodes with the root,
        which is left out).

    Returns
    -------
    Dataset
        As `make_balanced_tree` returns it; paths are "0", "1/0", "1/1/0" and so on.

    Examples
    --------
    >>> data = make_caterpillar(20, 10, n_dev=5, depth=3)
    >>> data.classes
    ['0', '1/0', '1/1/0', '1/1/1']
    """
    rng = np.random.default_rng(seed)
    sizes = _checked(n_train, n_dev, n_test, n_features)
    planes = rng.standard_normal((depth, n_features))
    X = rng.standard_normal((sum(sizes), n_features))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    is_left = X @ planes.T < 0.0
    ends = np.where(is_left.any(axis=1), is_left.argmax(axis=1), depth)
    paths = ["/".join(["1"] * level + ["0"]) for level in range(depth)]
    paths.append("/".join(["1"] * depth))
    return _cut("caterpillar", X, np.array(paths)[ends], sizes, paths)


def _checked(n_train: int, n_dev: int, n_test: int, n_features: int) -> tuple[int, int, int]:
    for name, value in (("n_train", n_train), ("n_features", n_features)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}.")
    return n_train, n_dev, n_test


def _cut(
    name: str,
    X: NDArray[np.float64],
    y: NDArray[np.str_],
    sizes: tuple[int, int, int],
    classes: list[str],
) -> Dataset:
    at = np.cumsum(sizes)[:2]
    X_train, X_dev, X_test = np.split(X, at)
    y_train, y_dev, y_test = np.split(y, at)
    return Dataset(name, X_train, y_train, X_test, y_test, X_dev, y_dev, classes=classes)
