"""Rows of features, by how they are stored: dense or CSR."""

from __future__ import annotations

from typing import Any

from maxmargin.features.csr import Csr
from maxmargin.features.dense import Dense
from maxmargin.features.rows import as_features, check_labels, frozen, row_lengths

#: Types of features by name. A new one is a file of its own and a line here; of those that take a
#: matrix the last is used, so that special ones come after general ones.
FEATURES: dict[str, Any] = {
    "dense": Dense,
    "csr": Csr,
}

__all__ = ["FEATURES", "Csr", "Dense", "as_features", "check_labels", "frozen", "row_lengths"]
