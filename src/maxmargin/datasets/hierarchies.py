"""Drawn examples in a hierarchy: a balanced tree, one that grows to one side, and a large one."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin.datasets.dataset import Dataset

__all__ = ["make_balanced_tree", "make_caterpillar", "make_deep_tree"]


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


def make_deep_tree(
    n_train: int = 45000,
    n_test: int = 5000,
    *,
    n_leaves: int = 5000,
    n_features: int = 34600,
    n_words: int = 80,
    seed: int = 0,
) -> Dataset:
    """Examples with very many labels and sparse rows: the shape of a tenth of an encyclopaedia.

    The leaves of a random tree of five levels are drawn by Zipf's law, and so is the background of
    words. Every node has 40 words of its own. An example draws its words from the background, from
    its leaf and from the nodes above it; rows are log(1 + counts) of length 1, in CSR form.

    Parameters
    ----------
    n_train, n_test, n_leaves, n_features, seed : int
    n_words : int
        Words that are drawn per example; about three quarters of them are distinct.

    Returns
    -------
    Dataset
        y has paths such as "3/41/0".

    Examples
    --------
    >>> data = make_deep_tree(30, 10, n_leaves=20, n_features=100, n_words=12)
    >>> data.X_train.shape, len(set(data.classes)), data.y_train[0].count("/") >= 1
    ((30, 100), 20, True)
    """
    rng = np.random.default_rng(seed)
    sizes = _checked(n_train, 0, n_test, n_features)
    if n_leaves < 2:
        raise ValueError(f"n_leaves must be at least 2, got {n_leaves}.")
    names, parent = _random_levels(n_leaves, rng)
    n_nodes, leaves = len(names), np.arange(len(names) - n_leaves, len(names))
    n = sum(sizes)
    leaf = leaves[rng.permutation(n_leaves)[_zipf(n_leaves, n, rng, 0.7)]]
    order = rng.permutation(n_features)
    topics = order[_zipf(n_features, 40 * n_nodes, rng, 0.8)].reshape(n_nodes, 40)
    # Each word comes from a place on the path, the leaf more often than what is above it, or, in
    # three of ten cases, from the background.
    up = np.minimum(rng.geometric(0.45, size=(n, n_words)) - 1, 5)
    node = np.repeat(leaf[:, None], n_words, axis=1)
    for step in range(1, 6):
        above = parent[node]
        node = np.where((up >= step) & (above >= 0), above, node)
    words = topics[node, rng.integers(40, size=(n, n_words))]
    background = order[_zipf(n_features, n * n_words, rng, 1.0)].reshape(n, n_words)
    words = np.where(rng.random((n, n_words)) < 0.3, background, words)
    ends = np.arange(n + 1) * n_words
    X = sp.csr_matrix((np.ones(n * n_words), words.ravel(), ends), shape=(n, n_features))
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    y = np.array(names)
    X_train, X_test = X[: sizes[0]], X[sizes[0] :]
    classes = y[leaves].tolist()
    return Dataset(
        "deep_tree", X_train, y[leaf[: sizes[0]]], X_test, y[leaf[sizes[0] :]], classes=classes
    )


def _zipf(size: int, n: int, rng: np.random.Generator, power: float) -> NDArray[np.int64]:
    """Draw n numbers below ``size``, number k with a probability as 1 / (k + 1) ** power."""
    ends = np.cumsum(1.0 / np.arange(1, size + 1) ** power)
    return np.minimum(np.searchsorted(ends / ends[-1], rng.random(n)), size - 1)


def _random_levels(n_leaves: int, rng: np.random.Generator) -> tuple[list[str], NDArray[np.int64]]:
    """Return names and parents of a tree whose levels grow by a factor; the leaves come last."""
    widths = [max(int(n_leaves * share), 1) for share in (0.0025, 0.015, 0.08, 0.28, 1.0)]
    names: list[str] = []
    parents: list[int] = []
    level: range = range(0)
    for width in widths:
        # Every node of the level before has a child, where there are enough of them.
        above = np.full(width, -1) if not level else rng.choice(level, size=width)
        if level:
            above[: len(level)] = np.fromiter(level, dtype=np.int64)[:width]
        first = len(names)
        for k, up in enumerate(above.tolist()):
            names.append(f"{names[up]}/{k}" if up >= 0 else str(k))
            parents.append(up)
        level = range(first, first + width)
    return names, np.array(parents)


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
