"""Data sets: digits, drawn label sets and rankings, and those of a folder (``MAXMARGIN_DATA``)."""

from __future__ import annotations

from maxmargin.datasets.dataset import Dataset, data_folder
from maxmargin.datasets.digits import load_digit_strings
from maxmargin.datasets.label_sets import make_label_sets
from maxmargin.datasets.local import (
    KEEL_SETS,
    MULAN_SETS,
    load_bibtex,
    load_conll2000,
    load_keel,
    load_letter,
    load_mnist_5k,
    load_mulan,
    load_ng20,
    load_ocr,
    load_wnut17,
    load_yeast,
)
from maxmargin.datasets.local_rankings import load_lgbm_rank, load_mslr
from maxmargin.datasets.rankings import make_rankings

__all__ = [
    "KEEL_SETS",
    "MULAN_SETS",
    "Dataset",
    "data_folder",
    "load_bibtex",
    "load_conll2000",
    "load_digit_strings",
    "load_keel",
    "load_letter",
    "load_lgbm_rank",
    "load_mnist_5k",
    "load_mslr",
    "load_mulan",
    "load_ng20",
    "load_ocr",
    "load_wnut17",
    "load_yeast",
    "make_label_sets",
    "make_rankings",
]
