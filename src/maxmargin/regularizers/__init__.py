"""Regularisers: the norm of the weights that is kept small."""

from __future__ import annotations

from maxmargin.regularizers.contract import Regularizer
from maxmargin.regularizers.diagonal import Diagonal
from maxmargin.regularizers.euclidean import Euclidean

#: Regularisers by name. A new one is a file of its own and a line here.
REGULARIZERS: dict[str, type] = {"euclidean": Euclidean, "diagonal": Diagonal}

__all__ = ["REGULARIZERS", "Diagonal", "Euclidean", "Regularizer"]
