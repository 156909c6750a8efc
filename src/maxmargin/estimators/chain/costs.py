"""What labellings of sequences cost, where classes have weights and labels may be unknown."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.costs import PartCost
from maxmargin.inputs.labels import Labels, class_weights


def weighted_cost(
    cost: Any, class_weight: Any, labels: Labels, codes: np.ndarray, weight: np.ndarray
) -> Any:
    """Return cost tables in which each position counts with the weight of its true label.

    codes, weight : true labels of the positions, and the weights of their sequences
    """
    if class_weight is None:
        return cost
    if not isinstance(cost, PartCost):
        raise ValueError(
            "class_weight weighs the cost of single positions, which a cost of whole sequences "
            "such as cost='zero_one' does not have; leave one of them out."
        )
    factors = class_weights(class_weight, labels, codes, weight)
    if not (factors[codes] * weight).any():
        raise ValueError(
            "class_weight times sample_weight is zero for every position: there is nothing to "
            "learn from."
        )
    return cost._replace(matrix=cost.matrix * factors[:, None])


class Costs(NamedTuple):
    """The cost of each sequence, and the largest that any labelling could have."""

    found: np.ndarray
    largest: np.ndarray


def sequence_costs(cost: Any, codes: np.ndarray, found: np.ndarray, offsets: np.ndarray) -> Costs:
    """Return the cost of labellings; positions of unknown true label (-1) have none."""
    known = codes >= 0
    truth = np.maximum(codes, 0)
    firsts = offsets[:-1]
    if isinstance(cost, PartCost):
        wrong = np.where(known, cost.matrix[truth, found], 0.0)
        worst = np.where(known, cost.matrix.max(axis=1)[truth], 0.0)
        sums = (np.add.reduceat(each, firsts) for each in (wrong, worst))
        return Costs(*(cost.scale * each for each in sums))
    is_wrong = np.logical_or.reduceat(known & (codes != found), firsts)
    has_known = np.logical_or.reduceat(known, firsts)
    return Costs(cost.price * is_wrong, cost.price * has_known)
