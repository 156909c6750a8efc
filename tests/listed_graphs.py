"""What is true of a small factor graph, read off the list of all its labellings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from maxmargin.inference.graph.score import labelling_score
from tests.graphs import all_labellings


class Listed(NamedTuple):
    """A graph, all its labellings and their scores."""

    graph: object
    outputs: np.ndarray
    scores: np.ndarray

    @property
    def best(self) -> float:
        return float(self.scores.max())

    def max_marginals(self) -> np.ndarray:
        """The best score with each label of each node, laid out as unary scores."""
        shape = self.graph.shape
        return np.array(
            [
                self.scores[self.outputs[:, v] == x].max()
                for v in range(self.graph.n_nodes)
                for x in range(shape.n_labels[v])
            ]
        )

    def marginals(self, temperature):
        """Marginals of nodes, of factors (one array each), and the log-partition."""
        shape = self.graph.shape
        log_partition, p = -np.inf, np.zeros(len(self.scores))
        if self.best > -np.inf:
            log_partition = logsumexp(self.scores / temperature)
            p = np.exp(self.scores / temperature - log_partition)
        node = [
            p[self.outputs[:, v] == x].sum()
            for v in range(self.graph.n_nodes)
            for x in range(shape.n_labels[v])
        ]
        factors = []
        for f in range(self.graph.n_factors):
            nodes = shape.members[shape.member_at[f] : shape.member_at[f + 1]]
            table = np.zeros(shape.n_labels[nodes])
            np.add.at(table, tuple(self.outputs[:, nodes].T), p)
            factors.append(table)
        return np.array(node), factors, log_partition

    def k_best(self, k) -> np.ndarray:
        """The k highest scores above -inf."""
        return np.sort(self.scores[self.scores > -np.inf])[::-1][:k]


def listed(graph) -> Listed:
    outputs = all_labellings(graph)
    arrays = graph.shape, graph.unary, graph.tables
    return Listed(graph, outputs, np.array([labelling_score(*arrays, x) for x in outputs]))


def check_best(case, labels, score) -> None:
    """The score is the best, and that of the labels."""
    if case.best == -np.inf:
        assert score == -np.inf
    else:
        np.testing.assert_allclose([score, case.graph.score(labels)], case.best, atol=1e-9)


def check_k_best(case, k, labels, scores, count) -> None:
    """These are the k best, all different."""
    np.testing.assert_allclose(scores[:count], case.k_best(k), atol=1e-9)
    assert len({tuple(row) for row in labels[:count].tolist()}) == count
    for row, score in zip(labels[:count], scores[:count], strict=True):
        assert abs(case.graph.score(row) - score) < 1e-9


def check_marginals(case, temperature, node, factor, log_partition) -> None:
    """`factor` is laid out as tables."""
    true_node, true_factors, true_log = case.marginals(temperature)
    np.testing.assert_allclose(node, true_node, atol=1e-9)
    np.testing.assert_allclose(log_partition, true_log, atol=1e-9)
    for at, table in zip(case.graph.shape.table_at, true_factors, strict=True):
        np.testing.assert_allclose(factor[at : at + table.size], table.ravel(), atol=1e-9)
