"""How good predicted label sets are: functions from a matrix of 0 and 1 to a number."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from maxmargin.core import predict
from maxmargin.core.contract import switches
from maxmargin.costs import Cost
from maxmargin.inputs.checks import check_weights
from maxmargin.inputs.label_sets import SetForm, label_matrix
from maxmargin.inputs.labels import Labels
from maxmargin.inputs.request import Request

Judge: TypeAlias = Callable[[np.ndarray], float]


def cost_judge(
    cost: Cost, labels: Labels, form: SetForm, request: Request, n_examples: int
) -> Judge:
    """Return the function to 1 - the mean normalised cost; unknown labels count for nothing."""
    truth = label_matrix(request.y, n_examples, labels, form=form).cells
    weight = check_weights(request.sample_weight, n_examples) * (truth >= 0).any(axis=1)
    if not weight.any():
        raise ValueError("y has no known label in a sample of positive weight.")
    parts = switches(truth)

    def judge(cells: np.ndarray) -> float:
        found, largest = cost.costs_of(parts, labels.classes, cells)
        return predict.mean_score(found, largest, weight)

    return judge


def metric_judge(
    metric: Callable[[Any, Any], float],
    labels: Labels,
    form: SetForm,
    request: Request,
    n_examples: int,
) -> Judge:
    """Return the function to a metric, on indicator matrices whatever form y has."""
    truth = label_matrix(request.y, n_examples, labels, form=form).cells
    return lambda cells: metric(truth, cells)


def warn_of_constant(names: list[Any], where: str, fate: str) -> None:
    """Say which labels are nowhere on, or off, in the training data."""
    if names:
        warnings.warn(
            f"{len(names)} label(s) are nowhere {where} in y, so that nothing is known of when "
            f"they are; they are learnt to be {fate}: {Labels(names).some()}.",
            UserWarning,
            stacklevel=3,
        )
