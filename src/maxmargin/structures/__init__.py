"""Structures: which outputs there are, their joint features, and their oracles."""

from __future__ import annotations

from maxmargin.structures import chain_zero_one as _chain_zero_one  # noqa: F401  (registers)
from maxmargin.structures.chain import ChainData, ChainLayout, chain_data, chain_layout
from maxmargin.structures.multiclass import MulticlassData, multiclass_data

__all__ = [
    "ChainData",
    "ChainLayout",
    "MulticlassData",
    "chain_data",
    "chain_layout",
    "multiclass_data",
]
