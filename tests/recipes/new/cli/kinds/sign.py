"""Signs: -1 or 1 per row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import console
from maxmargin.cli.console import percent
from maxmargin.cli.formats import Batch
from maxmargin.cli.kinds.base import NOTHING, Kind
from maxmargin.cli.options import LEARNING, OwnOptions

if TYPE_CHECKING:
    from maxmargin.cli.models import Model

BIAS = OwnOptions(
    {
        "bias": Annotated[
            bool | None,
            typer.Option(help="Whether signs have a bias.", rich_help_panel=LEARNING),
        ],
    },
    refusal="is not for {estimator}, which has no such parameter",
)


class Sign(Kind):
    """Rows that have a sign."""

    name = "sign"
    estimator = "SignSVM"
    about = "a sign"
    options = {"train": (BIAS,)}
    parameters = {"bias": "bias"}
    told = {"evaluate": "Signs: how many are right."}

    def measure(
        self, model: Model, batch: Batch, guess: Any, own: Mapping[str, Any] = NOTHING
    ) -> dict[str, Any]:
        """Return the share of right signs."""
        right = [int(truth) == int(mine) for truth, mine in zip(batch.y, guess, strict=True)]
        return {"n_samples": len(right), "right": sum(right) / len(right)}

    def tables(
        self, found: dict[str, Any], title: str, own: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return one table."""
        rows = {"samples": found["n_samples"], "right": percent(found["right"])}
        return [console.facts(title, rows)]

    def sample(self, storage: str, dtype: str) -> tuple[Any, Any]:
        """Return a few samples by which training and prediction can be compiled ahead."""
        X, labels = super().sample(storage, dtype)
        return X, 2 * (labels % 2) - 1
