"""Numbers of stars: an estimator, and what the command line is to know of it."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from maxmargin import MulticlassSVM
from maxmargin.cli import console
from maxmargin.cli.kinds.base import NOTHING, Kind
from maxmargin.cli.options import OwnOptions
from maxmargin.persistence import register


@register
class StarSVM(MulticlassSVM):
    """Classes that are numbers of stars."""


_ROOM = OwnOptions(
    {"room": Annotated[float | None, typer.Option(help="Stars that do not matter.")]},
    "is for stars, but {model} has none",
)
_EMPTY = OwnOptions(
    {"empty": Annotated[str | None, typer.Option(help="What stands for no value.")]},
    "is for stars, which `train {kind}` does not count",
)


class Stars(Kind):
    """Rows that have a number of stars each."""

    name = "stars"
    estimator = "StarSVM"
    about = "a number of stars"
    options = {"train": (_EMPTY,), "evaluate": (_ROOM,)}
    parameters = {"empty": "missing"}
    told = {"evaluate": "Stars: how far off they are."}

    def measure(self, model, batch, guess, own=NOTHING):
        off = np.abs(np.asarray(batch.y) - guess)
        return {"n_samples": len(off), "near": float(np.mean(off <= (own.get("room") or 0.0)))}

    def tables(self, found, title, own=None):
        return [console.facts(title, {"near": found["near"]})]
