"""Data sets: digits, label sets, rankings, graphs, trees; those of a folder (MAXMARGIN_DATA)."""

from __future__ import annotations

from maxmargin.datasets.dataset import Dataset, data_folder
from maxmargin.datasets.digits import load_digit_strings
from maxmargin.datasets.grids import (
    GRID_POTENTIALS,
    grid_edges,
    make_grid,
    make_noisy_grids,
)
from maxmargin.datasets.hierarchies import make_balanced_tree, make_caterpillar, make_deep_tree
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
from maxmargin.datasets.local_graphs import (
    MRF_INSTANCES,
    MrfInstance,
    load_camvid,
    load_mrf_instance,
    load_snakes,
)
from maxmargin.datasets.local_hierarchies import (
    load_cellcycle,
    load_enzymes,
    load_imclef07,
    load_newsgroups,
)
from maxmargin.datasets.local_parses import TREEBANKS, load_treebank
from maxmargin.datasets.local_rankings import load_lgbm_rank, load_mslr
from maxmargin.datasets.rankings import make_rankings
from maxmargin.datasets.snakes import make_snakes, snake_graph
from maxmargin.datasets.superpixels import (
    SuperpixelGraph,
    superpixel_graph,
    superpixel_labels,
)

__all__ = [
    "GRID_POTENTIALS",
    "KEEL_SETS",
    "MRF_INSTANCES",
    "MULAN_SETS",
    "TREEBANKS",
    "Dataset",
    "MrfInstance",
    "SuperpixelGraph",
    "data_folder",
    "grid_edges",
    "load_bibtex",
    "load_camvid",
    "load_cellcycle",
    "load_conll2000",
    "load_digit_strings",
    "load_enzymes",
    "load_imclef07",
    "load_keel",
    "load_letter",
    "load_lgbm_rank",
    "load_mnist_5k",
    "load_mrf_instance",
    "load_mslr",
    "load_mulan",
    "load_newsgroups",
    "load_ng20",
    "load_ocr",
    "load_snakes",
    "load_treebank",
    "load_wnut17",
    "load_yeast",
    "make_balanced_tree",
    "make_caterpillar",
    "make_deep_tree",
    "make_grid",
    "make_label_sets",
    "make_noisy_grids",
    "make_rankings",
    "make_snakes",
    "snake_graph",
    "superpixel_graph",
    "superpixel_labels",
]
