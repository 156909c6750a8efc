"""Rows of features, by how they are stored: dense, CSR, rows that many share, or by a kernel."""

from __future__ import annotations

from typing import Any

from maxmargin.features.csr import Csr
from maxmargin.features.dense import Dense
from maxmargin.features.gram import Gram, GramRows
from maxmargin.features.repeated import Repeated, RepeatedRows
from maxmargin.features.rows import as_features, check_labels, frozen, row_lengths

#: Types of features by name. A new type is one file and one line here. If several types take a
#: matrix, the last of them is used, so special types must come after general ones.
FEATURES: dict[str, Any] = {
    "dense": Dense,
    "csr": Csr,
    "repeated": Repeated,
    "gram": Gram,
}

__all__ = [
    "FEATURES",
    "Csr",
    "Dense",
    "Gram",
    "GramRows",
    "Repeated",
    "RepeatedRows",
    "as_features",
    "check_labels",
    "frozen",
    "row_lengths",
]
