"""Attachment costs of parses: wrong heads, or wrong heads and relations."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.contract import found_costs, implements, largest_costs
from maxmargin.costs.base import Cost, Names
from maxmargin.costs.hamming import Hamming, position_scale


class ArcCost(NamedTuple):
    """One price for every wrong word of a sentence."""

    scale: Any  # (n_examples,): the price
    is_labelled: int  # whether a wrong relation makes a word wrong
    n_relations: int


@dataclass(frozen=True)
class UAS(Cost):
    """Number of words with a wrong head, or their share: 1 - the unlabelled attachment score.

    Parameters
    ----------
    average : {"sum", "mean"}
        "mean" divides by the words of the sentence that count.

    Examples
    --------
    >>> UAS().tabulate("arcs", ["any"], [4, 7]).scale
    array([1., 1.])
    """

    average: str = "sum"

    def __post_init__(self) -> None:
        Hamming(self.average)

    def arcs(self, names: Names, sizes: np.ndarray) -> ArcCost:
        """Return the loss as compiled code reads it; names are those of relations."""
        return ArcCost(position_scale(self.average, sizes), 0, max(len(names), 1))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal cost."""
        return asdict(self)


@dataclass(frozen=True)
class LAS(UAS):
    """Number of words with a wrong head or a wrong relation, or their share.

    For parsers that learn relations with the tree. Parameters are those of `UAS`.

    Examples
    --------
    >>> LAS("mean").tabulate("arcs", ["nsubj", "obj"], [4]).scale
    array([0.25])
    """

    def arcs(self, names: Names, sizes: np.ndarray) -> ArcCost:
        """Return the loss as compiled code reads it; names are those of relations."""
        if len(names) < 2:
            raise ValueError(
                "LAS prices relations, but the trees have none: take cost='uas', or relations "
                "that are learnt with the tree."
            )
        return super().arcs(names, sizes)._replace(is_labelled=1)


def _of_words(lengths: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the sum over the words of each sentence."""
    ends = np.cumsum(np.concatenate([[0.0], values]))[np.cumsum(np.concatenate([[0], lengths]))]
    return np.diff(ends)


@implements(largest_costs, ArcCost)
def _largest(cost, lengths, states):
    return cost.scale * _of_words(lengths, states >= 0)


@implements(found_costs, ArcCost)
def _found(cost, lengths, states, found):
    wrong = found != states
    if not cost.is_labelled:
        wrong = found // cost.n_relations != states // cost.n_relations
    return cost.scale * _of_words(lengths, wrong & (states >= 0))
