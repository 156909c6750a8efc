"""Kinds of factors: dense tables, and rules whose messages have a closed form.

A kind is one module with a `KIND` of its own, a class that users make (its fields say which nodes
it joins) and the one function that all algorithms ask for, `message`. A new kind is one file and
one line in `FACTORS`.
"""

from __future__ import annotations

from maxmargin.inference.graph.factors.base import Factor
from maxmargin.inference.graph.factors.table import Table

#: Kinds of factors by the name that files and messages use.
FACTORS: dict[str, type[Factor]] = {
    "table": Table,
}

__all__ = ["FACTORS", "Factor", "Table"]
