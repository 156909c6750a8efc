"""Structures: which outputs there are, their joint features, and their oracles.

In every package data.py has the examples and oracles.py the oracles. Where these grow long,
parts.py has the joint features, and a second file the profile.
"""

from __future__ import annotations

from maxmargin.structures import weighted as _weighted  # noqa: F401

# These register implementations.
from maxmargin.structures.chain import laws as _chain_laws  # noqa: F401
from maxmargin.structures.chain import oracles as _chain_oracles  # noqa: F401
from maxmargin.structures.chain import parts as _chain_parts  # noqa: F401
from maxmargin.structures.chain import profile as _chain_profile  # noqa: F401
from maxmargin.structures.chain.data import ChainData, ChainLayout, chain_data, chain_layout
from maxmargin.structures.classes import laws as _classes_laws  # noqa: F401
from maxmargin.structures.classes import oracles as _classes_oracles  # noqa: F401
from maxmargin.structures.classes.data import MulticlassData, multiclass_data
from maxmargin.structures.graph import costs as _graph_costs  # noqa: F401
from maxmargin.structures.graph import forest as _forest  # noqa: F401
from maxmargin.structures.graph import forest_laws as _forest_laws  # noqa: F401
from maxmargin.structures.graph import forest_profile as _forest_profile  # noqa: F401
from maxmargin.structures.graph import junction_laws as _junction_laws  # noqa: F401
from maxmargin.structures.graph import oracles as _graph_oracles  # noqa: F401
from maxmargin.structures.graph import parts as _graph_parts  # noqa: F401
from maxmargin.structures.graph import points as _graph_points  # noqa: F401
from maxmargin.structures.graph import potentials as _graph_potentials  # noqa: F401
from maxmargin.structures.graph import square as _graph_square  # noqa: F401
from maxmargin.structures.graph import zero_one as _graph_zero_one  # noqa: F401
from maxmargin.structures.graph.build import StackedGraphs, stacked_graphs
from maxmargin.structures.graph.data import ForestGraphs, GeneralGraphs, RelaxedGraphs
from maxmargin.structures.graph.forest import forest_data
from maxmargin.structures.graph.messages import general_data
from maxmargin.structures.graph.relaxed import relaxed_data
from maxmargin.structures.hierarchy import cut as _cut  # noqa: F401
from maxmargin.structures.hierarchy import laws as _hierarchy_laws  # noqa: F401
from maxmargin.structures.hierarchy import norm as _norm  # noqa: F401
from maxmargin.structures.hierarchy import path_kbest as _path_kbest  # noqa: F401
from maxmargin.structures.hierarchy import tree as _tree_sets  # noqa: F401
from maxmargin.structures.hierarchy import tree_profile as _tree_profile  # noqa: F401
from maxmargin.structures.hierarchy.build import node_sets_data
from maxmargin.structures.hierarchy.data import CutSets, HierarchyPaths, TreeSets
from maxmargin.structures.hierarchy.edge_field import edge_field_data, node_indicators
from maxmargin.structures.hierarchy.edge_field_costs import edge_field_cost
from maxmargin.structures.hierarchy.path_field import PathFields
from maxmargin.structures.hierarchy.paths import paths_data
from maxmargin.structures.hierarchy.program import PathSetsByProgram, RelaxedPathSets
from maxmargin.structures.labels import independent_profile as _independent  # noqa: F401
from maxmargin.structures.labels import laws as _label_laws  # noqa: F401
from maxmargin.structures.labels import listed as _listed  # noqa: F401
from maxmargin.structures.labels import pairwise as _pairwise  # noqa: F401
from maxmargin.structures.labels import parts as _label_parts  # noqa: F401
from maxmargin.structures.labels import program_oracles as _programs  # noqa: F401
from maxmargin.structures.labels import relaxed as _relaxed  # noqa: F401
from maxmargin.structures.labels import tree as _tree  # noqa: F401
from maxmargin.structures.labels.build import labels_data, learnt_tree
from maxmargin.structures.labels.data import (
    IndependentLabels,
    ListedLabels,
    PairwiseLabels,
    RelaxedLabels,
    TreeLabels,
)
from maxmargin.structures.labels.program import ProgramLabels, RelaxedProgramLabels
from maxmargin.structures.parse import oracles as _parse_oracles  # noqa: F401
from maxmargin.structures.parse import parts as _parse_parts  # noqa: F401
from maxmargin.structures.parse import profile as _parse_profile  # noqa: F401
from maxmargin.structures.parse.data import ParseData, parse_data
from maxmargin.structures.ranking import oracles as _ranking_oracles  # noqa: F401
from maxmargin.structures.ranking.bags import BagRankings
from maxmargin.structures.ranking.data import RankingData, ranking_data
from maxmargin.structures.user.compiled import CompiledStructure
from maxmargin.structures.user.data import UserData
from maxmargin.structures.user.oracles import OwnCost
from maxmargin.structures.user.scored import ScoredData, ScoredStructure
from maxmargin.structures.user.structure import Structure

#: Structures by name, as the generic functions know them. A new one is a file of its own, a line
#: here and a line in `maxmargin.testing.tiny`, by which the contract tests find it.
STRUCTURES: dict[str, type] = {
    "multiclass": MulticlassData,
    "chain": ChainData,
    "graph_forest": ForestGraphs,
    "graph": GeneralGraphs,
    "graph_relaxed": RelaxedGraphs,
    "graph_paths": PathFields,
    "hierarchy": HierarchyPaths,
    "hierarchy_tree": TreeSets,
    "hierarchy_cut": CutSets,
    "hierarchy_program": PathSetsByProgram,
    "hierarchy_relaxed_program": RelaxedPathSets,
    "multilabel": IndependentLabels,
    "multilabel_tree": TreeLabels,
    "multilabel_listed": ListedLabels,
    "multilabel_pairwise": PairwiseLabels,
    "multilabel_relaxed": RelaxedLabels,
    "multilabel_program": ProgramLabels,
    "multilabel_relaxed_program": RelaxedProgramLabels,
    "ranking": RankingData,
    "parse": ParseData,
    "user": UserData,
}

__all__ = [
    "STRUCTURES",
    "BagRankings",
    "ChainData",
    "ChainLayout",
    "CompiledStructure",
    "CutSets",
    "ForestGraphs",
    "GeneralGraphs",
    "HierarchyPaths",
    "IndependentLabels",
    "ListedLabels",
    "MulticlassData",
    "OwnCost",
    "PairwiseLabels",
    "ParseData",
    "PathFields",
    "PathSetsByProgram",
    "ProgramLabels",
    "RankingData",
    "RelaxedGraphs",
    "RelaxedLabels",
    "RelaxedPathSets",
    "RelaxedProgramLabels",
    "ScoredData",
    "ScoredStructure",
    "StackedGraphs",
    "Structure",
    "TreeLabels",
    "TreeSets",
    "UserData",
    "chain_data",
    "chain_layout",
    "edge_field_cost",
    "edge_field_data",
    "forest_data",
    "general_data",
    "labels_data",
    "learnt_tree",
    "multiclass_data",
    "node_indicators",
    "node_sets_data",
    "parse_data",
    "paths_data",
    "ranking_data",
    "relaxed_data",
    "stacked_graphs",
]
