"""Structures of torch layers, one file each: which tensors score their parts."""

from __future__ import annotations

from maxmargin.deep.structures.base import LayerStructure
from maxmargin.deep.structures.chain import Chains
from maxmargin.deep.structures.classes import Classes
from maxmargin.deep.structures.graph import Graphs
from maxmargin.deep.structures.hierarchy import Hierarchies
from maxmargin.deep.structures.labels import LabelSets
from maxmargin.deep.structures.own import OwnStructure
from maxmargin.deep.structures.parse import Parses
from maxmargin.deep.structures.ranking import Rankings

__all__ = [
    "Chains",
    "Classes",
    "Graphs",
    "Hierarchies",
    "LabelSets",
    "LayerStructure",
    "OwnStructure",
    "Parses",
    "Rankings",
]
