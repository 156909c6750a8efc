"""What a rounding offers, and marginals as all of them take them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from maxmargin.inference.graph.model import FactorGraph

__all__ = ["Rounding", "check_marginals"]

#: How far the marginals of a node may be from 0 .. 1 and their sum from 1: solvers round.
TOLERANCE = 1e-5


class Rounding:
    """From node marginals to labels; derived classes are frozen dataclasses.

    Attributes
    ----------
    is_random : bool
        Whether `draw` uses its generator. If so, each node has label x with probability mu_v(x).
    """

    is_random: ClassVar[bool] = False

    def draw(
        self, graph: FactorGraph, mu: npt.NDArray[np.float64], rng: np.random.Generator
    ) -> npt.NDArray[np.int32]:
        """Return a labelling.

        mu is laid out as graph.unary; the marginals of each node are >= 0 and sum to 1.
        """
        raise NotImplementedError

    def pair_law(self, mu_a: npt.ArrayLike, mu_b: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the probabilities that two nodes with these marginals get the labels i and j.

        They depend on no other node, and on no potential. Roundings for which that is not so raise
        a TypeError.
        """
        raise TypeError(
            f"{type(self).__name__} has no law of pairs: it depends on the whole graph."
        )


def check_marginals(graph: FactorGraph, mu: Any) -> npt.NDArray[np.float64]:
    """Return node marginals as one flat array, those of each node >= 0 and with sum 1.

    Takes a flat array laid out as graph.unary, a matrix, or one row per node. Errors up to 1e-5, as
    solvers leave them, are mended; larger ones are refused.
    """
    shape = graph.shape
    n_unary, n_nodes = int(shape.unary_at[-1]), len(shape.n_labels)
    flat = isinstance(mu, np.ndarray) and mu.ndim == 1 and mu.dtype != object
    if not flat:
        rows = [np.asarray(row, dtype=np.float64) for row in mu]
        sizes = [row.size for row in rows]
        if sizes != shape.n_labels.tolist():
            v = next((v for v, pair in enumerate(zip(sizes, shape.n_labels, strict=False))
                      if pair[0] != pair[1]), min(len(rows), n_nodes))  # fmt: skip
            raise ValueError(
                f"mu has {len(rows)} rows, which do not fit the labels of {n_nodes} nodes; the "
                f"first that does not fit is mu[{v}]."
            )
        mu = np.concatenate([np.zeros(0), *rows])
    given = np.array(mu, dtype=np.float64)
    if given.shape != (n_unary,):
        raise ValueError(
            f"mu has shape {given.shape}; expected ({n_unary},), one number per label of each node."
        )
    if n_nodes == 0:
        return given
    nodes = np.repeat(np.arange(n_nodes), shape.n_labels)
    bad = ~((given >= -TOLERANCE) & (given <= 1.0 + TOLERANCE))  # also NaN
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"mu of node {nodes[i]}, label {i - shape.unary_at[nodes[i]]}, is {given[i]}; expected "
            "a number from 0 to 1."
        )
    given = np.clip(given, 0.0, 1.0)
    sums = np.add.reduceat(given, shape.unary_at[:-1])
    bad = np.abs(sums - 1.0) > TOLERANCE * shape.n_labels
    if bad.any():
        v = int(np.argmax(bad))
        raise ValueError(f"mu of node {v} sums to {sums[v]}; expected 1.")
    return given / sums[nodes]
