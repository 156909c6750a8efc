"""Rows of features, by how they are stored: dense or CSR."""

from __future__ import annotations

from maxmargin.features.csr import Csr
from maxmargin.features.dense import Dense
from maxmargin.features.rows import as_features, check_labels, frozen, row_lengths

__all__ = ["Csr", "Dense", "as_features", "check_labels", "frozen", "row_lengths"]
