"""Loaders for the data sets of the local data folder, which are not part of the package."""

from __future__ import annotations

import os
import string
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.model_selection import train_test_split

from maxmargin.datasets.dataset import Dataset, data_folder, describe, find_file
from maxmargin.io.arff import read_arff
from maxmargin.io.conll import read_conll
from maxmargin.io.files import open_binary
from maxmargin.io.npz import cut
from maxmargin.io.svmlight import read_svmlight

__all__ = [
    "KEEL_SETS",
    "MULAN_SETS",
    "load_bibtex",
    "load_conll2000",
    "load_keel",
    "load_letter",
    "load_mnist_5k",
    "load_mulan",
    "load_ng20",
    "load_ocr",
    "load_wnut17",
    "load_yeast",
]

DataHome = str | os.PathLike[str] | None

KEEL_SETS = (
    "letter",
    "movement_libras",
    "optdigits",
    "penbased",
    "satimage",
    "texture",
    "vowel",
)
"""Names that `load_keel` knows."""

MULAN_SETS = ("bibtex", "delicious", "emotions", "scene", "yeast")
"""Names that `load_mulan` knows."""


def load_ocr(
    split: str = "small", *, dtype: DTypeLike = np.float64, data_home: DataHome = None
) -> Dataset:
    """Handwritten words of Kassel and Taskar: 16 x 8 binary pixels a letter, 26 letters.

    The file is sorted by word, and so are both parts: shuffle before learning in order. Its 55
    distinct words occur in training and test of either split: transitions can learn them by heart.

    Parameters
    ----------
    split : {"small", "large"}, default "small"
        "small": train on fold 0 (626 words), test on the other 6251. "large": the other way round.
    dtype : float64 or float32, default float64
    data_home : path or None
        See :func:`data_folder`.

    Returns
    -------
    Dataset
        X : lists of arrays of shape (length, 128), all of them consecutive views into one array;
        y : lists of int32 arrays, 0 for "a" to 25 for "z".
    """
    if split not in ("small", "large"):
        raise ValueError(f"split={split!r} is unknown. There are: 'small', 'large'.")
    folder = data_folder("ocr", data_home)
    with np.load(find_file(folder, "letters.npz"), allow_pickle=False) as file:
        pixels, labels, offsets, folds = (file[k] for k in ("pixels", "labels", "offsets", "folds"))
    is_train = (folds == 0) == (split == "small")
    n_train = int(np.count_nonzero(is_train))
    words = np.concatenate([np.flatnonzero(is_train), np.flatnonzero(~is_train)])
    rows = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in words])
    ends = np.concatenate([[0], np.cumsum(np.diff(offsets)[words])])
    X = cut(pixels[rows].astype(dtype), ends)
    y = cut(labels[rows].astype(np.int32), ends)
    return Dataset(
        "ocr",
        X[:n_train],
        y[:n_train],
        X[n_train:],
        y[n_train:],
        classes=list(string.ascii_lowercase),
        description=describe(folder),
    )


def load_conll2000(*, data_home: DataHome = None) -> Dataset:
    """Chunking of the CoNLL-2000 shared task: 8936 and 2012 sentences.

    Returns
    -------
    Dataset
        X : lists of sentences, each a list of (word, part of speech); y : lists of lists of IOB2
        tags; ``extra["columns"]`` : the names of the columns, for feature templates.
    """
    return _load_columns("conll2000", {"train": "train.txt", "test": "test.txt"}, None, data_home)


def load_wnut17(*, data_home: DataHome = None) -> Dataset:
    """Emerging entities of WNUT-17: 3394 tweets, 1009 and 1287 sentences from other places.

    Returns
    -------
    Dataset
        X : lists of sentences, each a list of (word,); y : lists of lists of IOB2 tags; with
        X_dev, y_dev; ``extra["columns"]`` : the names of the columns.
    """
    files = {
        "train": "wnut17train.conll",
        "test": "emerging.test.annotated",
        "dev": "emerging.dev.conll",
    }
    return _load_columns("wnut17", files, "\t", data_home)


def _load_columns(
    name: str, files: dict[str, str], separator: str | None, data_home: DataHome
) -> Dataset:
    folder = data_folder(name, data_home)
    parts: dict[str, Any] = {}
    columns: tuple[str, ...] = ()
    tags = set()
    for part, file in files.items():
        data = read_conll(find_file(folder, file), separator=separator)
        parts[f"X_{part}"], parts[f"y_{part}"] = data.sentences, data.tags
        columns = data.columns
        tags |= {tag for sequence in data.tags or [] for tag in sequence}
    return Dataset(
        name,
        **parts,
        classes=sorted(tags),
        description=describe(folder),
        extra={"columns": columns},
    )


def _read_csv(folder: Any, name: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """A table without header whose last column is the class."""
    with open_binary(find_file(folder, f"{name}.csv")) as file:
        lines = file.read().decode("utf-8").splitlines()
    n = lines[0].count(",")
    X = np.loadtxt(lines, delimiter=",", usecols=range(n), dtype=np.float64)
    y = np.array([line.rpartition(",")[2].strip() for line in lines])
    return X, y.astype(np.int64) if all(label.isdigit() for label in y) else y


def _split(
    name: str, folder: Any, X: NDArray[Any], y: NDArray[Any], test_size: float, seed: int
) -> Dataset:
    if not 0 <= test_size < 1:
        raise ValueError(f"test_size must be in [0, 1), got {test_size}.")
    if test_size:
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=test_size, random_state=seed, stratify=y
        )
    else:
        X_train, X_test, y_train, y_test = X, X[:0], y, y[:0]
    classes = np.unique(y).tolist()
    return Dataset(
        name, X_train, y_train, X_test, y_test, classes=classes, description=describe(folder)
    )


def load_keel(
    name: str,
    *,
    scale: bool = False,
    test_size: float = 0.2,
    seed: int = 0,
    data_home: DataHome = None,
) -> Dataset:
    """A multi-class set of the KEEL collection, by name.

    Parameters
    ----------
    name : str
        One of `KEEL_SETS`.
    scale : bool, default False
        False: the values of the file. True: each feature less its mean and divided by its standard
        deviation, both of the training part; a constant feature becomes 0.
    test_size : float, default 0.2
        Share of the rows for the test, drawn class by class. 0: all rows are for training.
    seed : int, default 0
        Of the split.
    data_home : path or None
        See :func:`data_folder`.

    Returns
    -------
    Dataset
        X : float64 arrays of shape (n, n_features); y : arrays of str or int.
    """
    if name not in KEEL_SETS:
        raise ValueError(f"name={name!r} is unknown. There are: {', '.join(KEEL_SETS)}.")
    folder = data_folder("keel_multiclass", data_home)
    data = _split(name, folder, *_read_csv(folder, name), test_size, seed)
    if scale:
        standardise(data)
    return data


def standardise(data: Dataset) -> None:
    mean, deviation = data.X_train.mean(axis=0), data.X_train.std(axis=0)
    deviation[deviation == 0] = 1.0
    data.X_train = (data.X_train - mean) / deviation
    data.X_test = (data.X_test - mean) / deviation


def load_letter(
    *, scale: bool = False, test_size: float = 0.2, seed: int = 0, data_home: DataHome = None
) -> Dataset:
    """Letter recognition: 20000 rows, 16 whole numbers from 0 to 15, 26 classes "A" to "Z".

    Parameters are those of :func:`load_keel`: raw values unless ``scale=True`` standardises them.
    """
    return load_keel("letter", scale=scale, test_size=test_size, seed=seed, data_home=data_home)


def load_mnist_5k(
    *, scale: bool = False, test_size: float = 0.2, seed: int = 0, data_home: DataHome = None
) -> Dataset:
    """Five hundred images of each digit out of MNIST, 784 pixels.

    Parameters
    ----------
    scale : bool, default False
        False: pixels from 0 to 255. True: divided by 255.
    test_size, seed, data_home
        As in :func:`load_keel`.
    """
    folder = data_folder("mnist_5k", data_home)
    X, y = _read_csv(folder, "mnist_5k")
    return _split("mnist_5k", folder, X / 255.0 if scale else X, y, test_size, seed)


def load_ng20(*, data_home: DataHome = None) -> Dataset:
    """Twenty newsgroups: 12900 and 6400 texts, 1006 binary words; some texts are in several groups.

    Returns
    -------
    Dataset
        X : csr matrices; y : lists of tuples of int, the groups of each text; ``classes`` : the
        names of the groups, whose dots give the hierarchy; ``extra["features"]`` : the words.
    """
    folder = data_folder("ng20", data_home)
    names = {
        key: find_file(folder, f"{key}.txt").read_text(encoding="utf-8").split("\n")
        for key in ("labels", "features")
    }
    words = [word for word in names["features"] if word]
    parts: list[Any] = []
    for part in ("train", "test"):
        parts += read_svmlight(
            find_file(folder, f"{part}.svm"),
            n_features=len(words),
            multilabel=True,
            zero_based=False,
        )
    X_train, y_train, X_test, y_test = parts
    return Dataset(
        "ng20",
        X_train,
        y_train,
        X_test,
        y_test,
        classes=[label for label in names["labels"] if label],
        description=describe(folder),
        extra={"features": words},
    )


def load_mulan(name: str, *, scale: bool = False, data_home: DataHome = None) -> Dataset:
    """A set of the Mulan collection whose samples have label sets, by name, in its own split.

    =========  =====  ====  ========  ======
    name       train  test  features  labels
    =========  =====  ====  ========  ======
    bibtex      4880  2515      1836     159
    delicious  12920  3185       500     983
    emotions     391   202        72       6
    scene       1211  1196       294       6
    yeast       1500   917       103      14
    =========  =====  ====  ========  ======

    Parameters
    ----------
    name : str
        One of `MULAN_SETS`.
    scale : bool, default False
        False: the values of the files. True: each feature less its mean and divided by its standard
        deviation, both of the training part. Refused for bibtex and delicious, whose features are
        sparse and binary.
    data_home : path or None
        See :func:`data_folder`.

    Returns
    -------
    Dataset
        X : float64 arrays, or csr matrices for bibtex and delicious; y : indicator matrices of
        int64, of the same kind, whose columns are in the order of ``classes``, the names of the
        labels; ``extra["features"]`` : the names of the features.
    """
    if name not in MULAN_SETS:
        raise ValueError(f"name={name!r} is unknown. There are: {', '.join(MULAN_SETS)}.")
    folder = data_folder(f"ml_{name}", data_home)
    labels = find_file(folder, f"{name}.xml")
    train, test = (
        read_arff(find_file(folder, f"{name}-{part}.arff"), labels) for part in ("train", "test")
    )
    if train[2:] != test[2:]:
        raise ValueError(f"the training and test files in {folder} have different attributes.")
    data = Dataset(
        name,
        train.X,
        train.Y,
        test.X,
        test.Y,
        classes=train.label_names,
        description=describe(folder),
        extra={"features": train.feature_names},
    )
    if scale:
        if not isinstance(data.X_train, np.ndarray):
            raise ValueError(f"scale=True would fill the sparse features of {name!r}.")
        standardise(data)
    return data


def load_yeast(*, scale: bool = False, data_home: DataHome = None) -> Dataset:
    """Functions of yeast genes: 1500 and 917 genes, 103 features, 14 labels; see `load_mulan`."""
    return load_mulan("yeast", scale=scale, data_home=data_home)


def load_bibtex(*, data_home: DataHome = None) -> Dataset:
    """Tags of references: 4880 and 2515 entries, 1836 words, 159 labels; see `load_mulan`."""
    return load_mulan("bibtex", data_home=data_home)
