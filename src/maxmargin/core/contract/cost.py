"""What a cost offers for a structure: its value, and what searches know of its values.

Costs, as compiled code reads them, have one family per kind of parts (`TrueParts`). A structure
implements a function for a family where the same code serves all its costs, and for a type of cost
where it has an algorithm that only this cost allows.

A type joins a family only if it implements what structures ask each cost of it for, such as
`found_costs` or, of classes, `class_price`.
"""

from __future__ import annotations

import math
from typing import Any

from maxmargin.core.contract.surrogate import psi
from maxmargin.core.dispatch import generic_on_two, generic_on_two_with_default


class CostOfPositions:
    """Family of the tables that price positions, each with one label: of classes and sequences."""


class CostOfSwitches:
    """Family of the tables that price switches, on or off: of label sets."""


class CostOfPlaces:
    """Family of the rules that price the places of samples in a ranking."""


@generic_on_two
def output_cost(data, cost, i, outputs, at):
    """Return g = cost(y, y_i). Only the cost of Micro-F1 is ever negative.

    Chosen by the types of data and cost.
    """


@generic_on_two_with_default
def shift(data, cost, i, outputs, at):
    """Return what is added to the margin error of y to give the h of the surrogate.

    0, the default, for all costs except that of Micro-F1: there h = Hamming + margin error and
    g = -(|y| + |y_i|). Chosen by the types of data and cost.
    """
    return 0.0


@generic_on_two_with_default
def cost_step(data, cost):
    """Return one step per example: all costs of its outputs are whole multiples of its step.

    (Python only.) None if there is no such step, or none is known. With a step, searches know
    which costs an output below the hull can have.
    """
    return None


def steepest_slope(surrogate: Any, largest: float) -> float:
    """Return the largest dpsi/dh of any output, if no cost is above ``largest``. (Python only.)"""
    slope = psi(surrogate, 1e3, largest)[1] if math.isfinite(largest) else math.inf
    return max(float(slope), 0.0)
