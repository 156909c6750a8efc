"""Treebanks of the local data folder: sentences of Universal Dependencies with their trees."""

from __future__ import annotations

from maxmargin.datasets.dataset import Dataset, data_folder, describe, find_file
from maxmargin.datasets.local import DataHome
from maxmargin.io.conllu import read_conllu

__all__ = ["TREEBANKS", "load_treebank"]

TREEBANKS = {"ewt": "ud_english_ewt", "atis": "ud_english_atis"}
"""Names that `load_treebank` knows."""


def load_treebank(name: str = "ewt", *, data_home: DataHome = None) -> Dataset:
    """English treebanks of Universal Dependencies, with gold tags.

    "ewt": web texts, 12544 sentences for training, 2001 for development, 2077 for test; 288 of the
    first have arcs that cross. "atis": short questions about flights.

    Parameters
    ----------
    name : {"ewt", "atis"}
    data_home : path or None
        See :func:`data_folder`.

    Returns
    -------
    Dataset
        X : lists of `maxmargin.io.Sentence`; y : lists of trees, each a list of (head, relation).
    """
    if name not in TREEBANKS:
        raise ValueError(f"name={name!r} is not known. There are: {', '.join(TREEBANKS)}.")
    folder = data_folder(TREEBANKS[name], data_home)
    parts = [
        read_conllu(find_file(folder, f"en_{name}-ud-{part}.conllu"))
        for part in ("train", "test", "dev")
    ]
    trees = [[sentence.arcs for sentence in part] for part in parts]
    classes = sorted({relation for tree in trees[0] for _, relation in tree})
    return Dataset(
        TREEBANKS[name], parts[0], trees[0], parts[1], trees[1], parts[2], trees[2],
        classes=classes, description=describe(folder),
    )  # fmt: skip
