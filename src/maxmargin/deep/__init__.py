"""Structured losses as torch layers: the same oracles, whatever net the potentials come from.

Needs the extra ``torch``: ``pip install 'maxmargin[torch]'``.
"""

from __future__ import annotations

from maxmargin.deep.direct import DirectLoss
from maxmargin.deep.layerwise import LayerRecord, LayerwiseResult, LayerwiseSVM
from maxmargin.deep.loss import Losses, StructuredLoss
from maxmargin.deep.structures import (
    Chains,
    Classes,
    Graphs,
    Hierarchies,
    LabelSets,
    LayerStructure,
    OwnStructure,
    Parses,
    Rankings,
)

__all__ = [
    "Chains",
    "Classes",
    "DirectLoss",
    "Graphs",
    "Hierarchies",
    "LabelSets",
    "LayerRecord",
    "LayerStructure",
    "LayerwiseResult",
    "LayerwiseSVM",
    "Losses",
    "OwnStructure",
    "Parses",
    "Rankings",
    "StructuredLoss",
]
