"""Kinds of factors: dense tables, and rules whose messages have a closed form.

A kind is one module with a `KIND` of its own, a class that users make (its fields say which nodes
it joins) and the one function that all algorithms ask for, `message`. A new kind is one file and
one line in `FACTORS`. A user's own kind is a class derived from `CustomFactor`.
"""

from __future__ import annotations

from maxmargin.inference.graph.factors.at_least_one import AtLeastOne
from maxmargin.inference.graph.factors.at_most_one import AtMostOne
from maxmargin.inference.graph.factors.base import Factor
from maxmargin.inference.graph.factors.cardinality import Cardinality
from maxmargin.inference.graph.factors.custom import CustomFactor
from maxmargin.inference.graph.factors.exactly_one import ExactlyOne
from maxmargin.inference.graph.factors.implies import Implies
from maxmargin.inference.graph.factors.potts import Potts
from maxmargin.inference.graph.factors.table import Table

#: Kinds of factors by the name that files and messages use.
FACTORS: dict[str, type[Factor]] = {
    "table": Table,
    "exactly_one": ExactlyOne,
    "at_most_one": AtMostOne,
    "at_least_one": AtLeastOne,
    "implies": Implies,
    "cardinality": Cardinality,
    "potts": Potts,
    "custom": CustomFactor,
}

# This import comes last, because `switch` reads the registry.
from maxmargin.inference.graph.factors.switch import factor_message, factor_value  # noqa: E402

__all__ = [
    "FACTORS",
    "AtLeastOne",
    "AtMostOne",
    "Cardinality",
    "CustomFactor",
    "ExactlyOne",
    "Factor",
    "Implies",
    "Potts",
    "Table",
    "factor_message",
    "factor_value",
]
