"""Potentials in, answers out: the best output, the k best, marginals, the best per cost level.

This room knows no inputs, no weights and no learning. Each module has two layers: kernels over
arrays (called from compiled solver passes, workspaces passed in, nothing checked) and public
functions of the same subject that validate what they are given.
"""

from __future__ import annotations

from maxmargin.inference.answer import Answer, CostProfile, Exactness, Marginals
from maxmargin.inference.graph.answer import GraphAnswer
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.public import (
    GraphMarginals,
    LabelScores,
    graph_marginals,
    graph_max_marginals,
    graph_profile,
    k_best_graph,
    solve_graph,
)
from maxmargin.inference.labels.constraints import LabelConstraints

__all__ = [
    "Answer",
    "CostProfile",
    "Exactness",
    "FactorGraph",
    "GraphAnswer",
    "GraphMarginals",
    "LabelConstraints",
    "LabelScores",
    "Marginals",
    "graph_marginals",
    "graph_max_marginals",
    "graph_profile",
    "k_best_graph",
    "solve_graph",
]
