"""Structures: which outputs there are, their joint features, and their oracles."""

from __future__ import annotations

from maxmargin.structures import (  # noqa: F401  (these register implementations)
    chain_oracles as _chain_oracles,
)
from maxmargin.structures import chain_zero_one as _chain_zero_one  # noqa: F401
from maxmargin.structures import given as _given  # noqa: F401
from maxmargin.structures import labels_independent as _labels_independent  # noqa: F401
from maxmargin.structures import labels_listed as _labels_listed  # noqa: F401
from maxmargin.structures import labels_pairwise as _labels_pairwise  # noqa: F401
from maxmargin.structures import labels_relaxed as _labels_relaxed  # noqa: F401
from maxmargin.structures import labels_tree as _labels_tree  # noqa: F401
from maxmargin.structures import multiclass_oracles as _multiclass_oracles  # noqa: F401
from maxmargin.structures import user_oracles as _user_oracles  # noqa: F401
from maxmargin.structures.chain import ChainData, ChainLayout, chain_data, chain_layout
from maxmargin.structures.compiled import CompiledStructure
from maxmargin.structures.labels import (
    IndependentLabels,
    ListedLabels,
    PairwiseLabels,
    RelaxedLabels,
    TreeLabels,
)
from maxmargin.structures.labels_build import labels_data, learnt_tree
from maxmargin.structures.labels_program import ProgramLabels, RelaxedProgramLabels
from maxmargin.structures.multiclass import MulticlassData, multiclass_data
from maxmargin.structures.ranking import RankingData, ranking_data
from maxmargin.structures.user import OwnCost, Structure, UserData

#: Structures by name, as the generic functions know them. A new one is a file of its own, a line
#: here and a line in `maxmargin.testing.tiny`, by which the contract tests find it.
STRUCTURES: dict[str, type] = {
    "multiclass": MulticlassData,
    "chain": ChainData,
    "multilabel": IndependentLabels,
    "multilabel_tree": TreeLabels,
    "multilabel_listed": ListedLabels,
    "multilabel_pairwise": PairwiseLabels,
    "multilabel_relaxed": RelaxedLabels,
    "multilabel_program": ProgramLabels,
    "multilabel_relaxed_program": RelaxedProgramLabels,
    "ranking": RankingData,
    "user": UserData,
}

__all__ = [
    "STRUCTURES",
    "ChainData",
    "ChainLayout",
    "CompiledStructure",
    "IndependentLabels",
    "ListedLabels",
    "MulticlassData",
    "OwnCost",
    "PairwiseLabels",
    "ProgramLabels",
    "RankingData",
    "RelaxedLabels",
    "RelaxedProgramLabels",
    "Structure",
    "TreeLabels",
    "UserData",
    "chain_data",
    "chain_layout",
    "labels_data",
    "learnt_tree",
    "multiclass_data",
    "ranking_data",
]
