"""The run-time switch between kinds of factors, made from their registry."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.compile import jitable
from maxmargin.core.switch import Switch
from maxmargin.inference.graph.factors import FACTORS  # defined by now: imported last

#: The functions that the module of a kind has.
SWITCH = Switch(
    module=__name__,
    file=__file__,
    arguments={
        "message": ("shape", "tables", "factor", "slot", "incoming", "out"),
        "value": ("shape", "tables", "factor", "labels"),
    },
    kind="shape.kinds[factor]",
    what="factor",
)
KINDS = SWITCH.kinds(FACTORS.values())
switch_message = SWITCH.between(KINDS, "message")
switch_value = SWITCH.between(KINDS, "value")


# Numbers of factors and slots are int32 where they are read from a shape, int64 where they are
# counted. The kernels are large, so they are compiled for one of the two types.
@jitable
def factor_message(
    shape: Any, tables: Any, factor: int, slot: int, incoming: Any, out: Any
) -> None:
    """Fill out with the message of a factor to the node of a slot, see base.py."""
    switch_message(shape, tables, np.int64(factor), np.int64(slot), incoming, out)


@jitable
def factor_value(shape: Any, tables: Any, factor: int, labels: Any) -> float:
    """Return the value of a factor at a labelling of all nodes."""
    return switch_value(shape, tables, np.int64(factor), labels)
