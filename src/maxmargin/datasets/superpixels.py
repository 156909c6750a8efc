"""Images as graphs: superpixels are nodes, those that touch are joined."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["SuperpixelGraph", "superpixel_graph", "superpixel_labels"]

_BINS = 8
#: From linear red, green and blue to X, Y, Z, each a share of what white has (D65).
_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


class SuperpixelGraph(NamedTuple):
    """An image as a graph. The first three are an element of X of `GraphSVM`.

    Attributes
    ----------
    node_features : float64 array of shape (n, 41)
        Means (3) and standard deviations (3) of Lab, the centre (2: down, right, from 0 to 1), the
        size as a share of the mean size (1), a histogram of the directions of gradients (8), and
        histograms of L, a and b (24).
    edges : int64 array of shape (m, 2)
        Superpixels that have pixels side by side; the lower number first, each pair once.
    edge_features : float64 array of shape (m, 4)
        1; exp(-d^2 / 200), d the distance of the mean Lab; the length of the common border as a
        share of the mean one; how much lower the second centre is than the first, from -1 to 1.
    segments : int64 array of shape (height, width)
        The superpixel of each pixel, from 0.
    """

    node_features: NDArray[np.float64]
    edges: NDArray[np.int64]
    edge_features: NDArray[np.float64]
    segments: NDArray[np.int64]


def superpixel_graph(
    image: ArrayLike,
    n_segments: int = 200,
    *,
    compactness: float = 10.0,
    segments: ArrayLike | None = None,
) -> SuperpixelGraph:
    """The superpixels of a colour image, with features of each and of those that touch.

    Parameters
    ----------
    image : array of shape (height, width, 3)
        Red, green and blue: whole numbers from 0 to 255, or numbers from 0 to 1.
    n_segments : int, default 200
        About how many superpixels to cut (SLIC of scikit-image, which is an extra:
        ``pip install 'maxmargin[images]'``).
    compactness : float, default 10.0
        How much place counts against colour.
    segments : int array of shape (height, width), or None
        The superpixels, if they are known; then nothing is cut, and scikit-image is not needed.

    Returns
    -------
    SuperpixelGraph

    Examples
    --------
    >>> image = np.zeros((4, 6, 3))
    >>> image[:, 3:] = 1.0
    >>> graph = superpixel_graph(image, segments=np.tile([0, 0, 1, 1, 2, 2], (4, 1)))
    >>> graph.node_features.shape, graph.edges.tolist()
    ((3, 41), [[0, 1], [1, 2]])
    """
    pixels = _check_image(image)
    if segments is None:
        segments = _cut(pixels, n_segments, compactness)
    places = _check_segments(segments, pixels.shape[:2])
    lab = _lab(pixels)
    edges, borders = _touching(places)
    nodes = _node_features(lab, places)
    means, down = nodes[:, :3], nodes[:, 6]
    distance = ((means[edges[:, 0]] - means[edges[:, 1]]) ** 2).sum(axis=1)
    edge_features = np.stack(
        [
            np.ones(len(edges)),
            np.exp(-distance / 200.0),
            borders / max(1.0, borders.mean()) if len(edges) else borders,
            down[edges[:, 1]] - down[edges[:, 0]],
        ],
        axis=1,
    )
    return SuperpixelGraph(nodes, edges, edge_features, places)


def superpixel_labels(
    segments: ArrayLike, labels: ArrayLike, void: int | None = None
) -> NDArray[np.int32]:
    """The label that most pixels of each superpixel have.

    Parameters
    ----------
    segments : int array of shape (height, width)
        Superpixels from 0, as in :class:`SuperpixelGraph`.
    labels : int array of shape (height, width)
        Labels from 0; below 0, or `void`, where a pixel has none.
    void : int or None, default None

    Returns
    -------
    int32 array of shape (n,)
        -1 where most pixels have no label. Of labels that tie the lowest.

    Examples
    --------
    >>> superpixel_labels([[0, 0, 1], [0, 0, 1]], [[3, 3, 9], [3, 2, 9]], void=9)
    array([ 3, -1], dtype=int32)
    """
    given = np.asarray(labels)
    if given.dtype.kind not in "iu":
        raise TypeError(f"labels must hold integers, got dtype {given.dtype}.")
    places = _check_segments(segments, given.shape)
    codes = given.astype(np.int64)
    codes = np.where((codes < 0) | (codes == (-1 if void is None else void)), -1, codes) + 1
    counts = np.zeros((places.max(initial=-1) + 1, codes.max(initial=0) + 1), dtype=np.int64)
    np.add.at(counts, (places, codes), 1)
    return (counts.argmax(axis=1) - 1).astype(np.int32)


def _check_image(image: ArrayLike) -> NDArray[np.float64]:
    given = np.asarray(image)
    if given.ndim != 3 or given.shape[2] != 3 or given.size == 0:
        raise ValueError(f"image has shape {given.shape}; expected (height, width, 3).")
    if given.dtype.kind not in "uif":
        raise TypeError(f"image must hold numbers, got dtype {given.dtype}.")
    pixels = given / 255.0 if given.dtype.kind in "ui" else given.astype(np.float64)
    if not (np.isfinite(pixels).all() and 0.0 <= pixels.min() <= pixels.max() <= 1.0):
        expected = "0 to 255" if given.dtype.kind in "ui" else "0 to 1"
        raise ValueError(
            f"image holds {given.min()} to {given.max()}; expected numbers from {expected}, as its "
            f"type is {given.dtype}."
        )
    return pixels


def _check_segments(segments: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return superpixels with numbers from 0 and none missing."""
    given = np.asarray(segments)
    if given.shape != shape:
        raise ValueError(f"segments has shape {given.shape}; expected {shape}, one per pixel.")
    if given.dtype.kind not in "iu":
        raise TypeError(f"segments must hold integers, got dtype {given.dtype}.")
    names, places = np.unique(given, return_inverse=True)
    if len(names) and not np.array_equal(names, np.arange(len(names))):
        raise ValueError(
            f"segments holds {len(names)} numbers from {names[0]} to {names[-1]}; expected 0 to "
            f"{len(names) - 1}."
        )
    return places.reshape(shape).astype(np.int64)


def _cut(pixels: NDArray[np.float64], n_segments: int, compactness: float) -> NDArray[np.int64]:
    """Return the superpixels of an image by SLIC, numbered from 0 row by row."""
    try:
        from skimage.segmentation import slic
    except ImportError:
        raise ImportError(
            "cutting an image into superpixels needs scikit-image, which is not installed: pip "
            "install 'maxmargin[images]' installs it. Superpixels of your own go by segments=."
        ) from None
    if n_segments < 1:
        raise ValueError(f"n_segments must be at least 1, got {n_segments}.")
    found: Any = slic(pixels, n_segments=n_segments, compactness=compactness, start_label=0)
    return np.unique(found, return_inverse=True)[1].reshape(found.shape).astype(np.int64)


def _lab(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return L, a and b of colours from 0 to 1 (sRGB, D65)."""
    linear = np.where(pixels > 0.04045, ((pixels + 0.055) / 1.055) ** 2.4, pixels / 12.92)
    xyz = linear @ (_TO_XYZ / _TO_XYZ.sum(axis=1, keepdims=True)).T
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=-1)


def _touching(places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of superpixels with pixels side by side, and how many."""
    beside = [(places[:, :-1], places[:, 1:]), (places[:-1], places[1:])]
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in beside])
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    edges, counts = np.unique(pairs, axis=0, return_counts=True)
    return edges.reshape(-1, 2), counts.astype(np.float64)


def _node_features(lab: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the features of each superpixel."""
    height, width = places.shape
    flat, n = places.reshape(-1), int(places.max()) + 1
    sizes = np.bincount(flat, minlength=n).astype(np.float64)

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.bincount(flat, values.reshape(-1), minlength=n) / sizes
        return found

    def histogram(values: NDArray[Any], weights: NDArray[Any] | None = None) -> NDArray[np.float64]:
        """Return the shares of eight bins of values from 0 to 1."""
        bins = np.clip((values.reshape(-1) * _BINS).astype(np.int64), 0, _BINS - 1)
        amounts = None if weights is None else weights.reshape(-1)
        counts = np.bincount(flat * _BINS + bins, amounts, minlength=n * _BINS).reshape(n, _BINS)
        shares: NDArray[np.float64] = counts / sizes[:, None]
        return shares

    channels = [lab[:, :, k] for k in range(3)]
    means = [mean(channel) for channel in channels]
    deviations = [mean((c - m[places]) ** 2) ** 0.5 for c, m in zip(channels, means, strict=True)]
    down, right = np.mgrid[:height, :width].astype(np.float64)
    slope = [np.gradient(channels[0], axis=k) if lab.shape[k] > 1 else 0 * down for k in (0, 1)]
    angle = np.arctan2(slope[0], slope[1]) / (2 * np.pi) + 0.5
    return np.column_stack(
        [
            *means,
            *deviations,
            mean(down) / max(1, height - 1),
            mean(right) / max(1, width - 1),
            sizes / sizes.mean(),
            histogram(angle, np.hypot(*slope) / 100.0),
            histogram(channels[0] / 100.0),
            histogram((channels[1] + 128.0) / 256.0),
            histogram((channels[2] + 128.0) / 256.0),
        ]
    )
