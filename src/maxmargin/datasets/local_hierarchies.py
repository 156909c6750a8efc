"""Hierarchies of the local data folder: X-ray images, genes, newsgroups and enzymes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.datasets.dataset import Dataset, data_folder, describe, find_file
from maxmargin.datasets.local import load_ng20
from maxmargin.io.clus import ClusData, read_clus
from maxmargin.io.files import numbered_lines

__all__ = ["load_cellcycle", "load_enzymes", "load_imclef07", "load_newsgroups"]

DataHome = str | os.PathLike[str] | None


def load_imclef07(labels: str = "a", *, scale: bool = False, data_home: DataHome = None) -> Dataset:
    """X-ray images of ImCLEF 2007, one path of three levels each: 10000 and 1006, 80 features.

    Parameters
    ----------
    labels : {"a", "d"}
        Which part of the code: the anatomy (96 nodes, 63 leaves), or the direction (46 of 78 nodes
        occur, 26 of them leaves).
    scale : bool, default False
        True: each feature less its mean, over its standard deviation, both of the training part.
    data_home : path or None
        See :func:`data_folder`.

    Returns
    -------
    Dataset
        X : arrays; y : lists of str, paths such as "2/1/3"; ``classes`` : the nodes, all paths;
        ``extra["edges"]`` : pairs (child, parent).
    """
    if labels not in ("a", "d"):
        raise ValueError(f"labels={labels!r} is not known. There are: 'a', 'd'.")
    name, stem = f"imclef07{labels}", f"ImCLEF07{labels.upper()}"
    folder = data_folder(f"hmc_{name}", data_home)
    files = {"train": f"{stem}_Train.arff", "test": f"{stem}_Test.arff"}
    parts = {part: read_clus(find_file(folder, file)) for part, file in files.items()}
    ends = {part: [max(row, key=len) for row in data.y] for part, data in parts.items()}
    return _dataset(name, parts, ends, scale, describe(folder))


def load_cellcycle(
    labels: str = "fun", *, scale: bool = False, data_home: DataHome = None
) -> Dataset:
    """Functions of yeast genes, several nodes each; 77 features, some of them missing.

    Parameters
    ----------
    labels : {"fun", "go"}
        The hierarchy: FunCat, a tree of 499 nodes (1628, 848 and 1281 genes), or the Gene Ontology,
        a DAG of 4126 nodes (1625, 848 and 1278).
    scale, data_home
        As in :func:`load_imclef07`. Missing values are NaN, scaled or not.

    Returns
    -------
    Dataset
        X : arrays; y : lists of tuples of str, the most specific nodes of each gene; with X_dev and
        y_dev; ``classes`` : the nodes; ``extra["edges"]`` : pairs (child, parent).
    """
    if labels not in ("fun", "go"):
        raise ValueError(f"labels={labels!r} is not known. There are: 'fun', 'go'.")
    name = f"cellcycle_{labels}"
    folder = data_folder(f"hmc_{name}", data_home)
    stem = f"cellcycle_{labels.upper()}"
    files = {part: f"{stem}.{part}.arff" for part in ("train", "valid", "test")}
    found = {part: read_clus(find_file(folder, file)) for part, file in files.items()}
    parts = {"train": found["train"], "dev": found["valid"], "test": found["test"]}
    labels_of = {part: data.y for part, data in parts.items()}
    return _dataset(name, parts, labels_of, scale, describe(folder))


def load_newsgroups(*, several: bool = False, data_home: DataHome = None) -> Dataset:
    """Twenty newsgroups as a hierarchy, which their names tell: 1006 binary words.

    Parameters
    ----------
    several : bool, default False
        False: texts of several groups (some 3 in 100) are left out. True: all texts.
    data_home : path or None
        See :func:`data_folder`.

    Returns
    -------
    Dataset
        X : csr matrices; y : lists of str, names such as "rec.sport.hockey", whose levels are
        parted by "."; with `several` lists of tuples of such names.
    """
    data = load_ng20(data_home=data_home)
    names, parts = data.classes, {}
    for part in ("train", "test"):
        X, groups = getattr(data, f"X_{part}"), getattr(data, f"y_{part}")
        if several:
            parts[f"X_{part}"] = X
            parts[f"y_{part}"] = [tuple(names[k] for k in row) for row in groups]
        else:
            one = [i for i, row in enumerate(groups) if len(row) == 1]
            parts[f"X_{part}"] = X[one]
            parts[f"y_{part}"] = [names[groups[i][0]] for i in one]
    return Dataset("ng20", **parts, classes=names, description=data.description, extra=data.extra)


def load_enzymes(*, levels: int = 3, several: bool = False, data_home: DataHome = None) -> Dataset:
    """Enzymes with their EC numbers: 7757 proteins, and 392 newer ones for the test.

    Parameters
    ----------
    levels : int, default 3
        How many of the four levels of EC numbers are kept.
    several : bool, default False
        False: proteins with several numbers (some 7 in 100) are left out. True: all proteins.
    data_home : path or None
        See :func:`data_folder`.

    Returns
    -------
    Dataset
        X : lists of str, the letters of the amino acids; y : lists of str, numbers such as "3.5.2",
        whose levels are parted by "."; with `several` lists of tuples of these.
        ``extra["price"]`` : (X, y) of 149 more proteins, where annotations had been wrong.
    """
    if levels not in (1, 2, 3, 4):
        raise ValueError(f"levels must be 1, 2, 3 or 4, got {levels!r}.")
    folder = data_folder("enzyme_ec", data_home)
    parts = {
        part: _proteins(find_file(folder, f"{file}.tsv"), levels, several)
        for part, file in (("train", "split10"), ("test", "new"), ("price", "price"))
    }
    numbers = [row if several else (row,) for row in parts["train"][1]]
    return Dataset(
        "enzyme_ec",
        *parts["train"],
        *parts["test"],
        classes=sorted({number for row in numbers for number in row}),
        description=describe(folder),
        extra={"price": parts["price"]},
    )


def _proteins(path: Any, levels: int, several: bool) -> tuple[list[str], list[Any]]:
    X, y = [], []
    for number, line in numbered_lines(path):
        if number == 1:
            continue
        fields = line.split("\t")
        if len(fields) != 3:
            raise ValueError(f"{path}, line {number}: expected 3 columns, got {len(fields)}.")
        codes = [".".join(code.split(".")[:levels]) for code in fields[1].split(";")]
        codes = list(dict.fromkeys(codes))
        if len(codes) == 1 or several:
            X.append(fields[2])
            y.append(tuple(codes) if several else codes[0])
    return X, y


def _dataset(
    name: str, parts: dict[str, ClusData], labels: dict[str, Any], scale: bool, description: str
) -> Dataset:
    first = parts["train"]
    for part, data in parts.items():
        if (data.nodes, data.feature_names) != (first.nodes, first.feature_names):
            raise ValueError(f"the part {part!r} of {name!r} has other nodes or features.")
    X = {part: data.X for part, data in parts.items()}
    if scale:
        X = _scaled(X)
    return Dataset(
        name,
        **{f"X_{part}": rows for part, rows in X.items()},
        **{f"y_{part}": rows for part, rows in labels.items()},
        classes=first.nodes,
        description=description,
        extra={"edges": first.edges, "features": first.feature_names},
    )


def _scaled(X: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Rows less the mean of the training part, over its deviation; NaN stays NaN."""
    mean, deviation = np.nanmean(X["train"], axis=0), np.nanstd(X["train"], axis=0)
    deviation[deviation == 0] = 1.0
    return {part: (rows - mean) / deviation for part, rows in X.items()}
