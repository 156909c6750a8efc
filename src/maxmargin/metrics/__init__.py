"""Scores for sequences, label sets, rankings, graphs, hierarchies and parses, in such modules.

Scorers (`scorers`) are imported at their first use, because they need all metrics of scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.metrics.graphs import mean_recall, node_accuracy
from maxmargin.metrics.hierarchies import (
    auprc,
    exact_sets,
    hierarchical_f1,
    hierarchical_precision,
    hierarchical_recall,
    node_macro_f1,
    tree_distance,
)
from maxmargin.metrics.label_sets import (
    example_accuracy,
    example_f1,
    hamming_loss,
    label_set_report,
    macro_f1,
    micro_f1,
    subset_accuracy,
)
from maxmargin.metrics.parses import las, parse_scores, uas
from maxmargin.metrics.rankings import (
    RankingReport,
    auc,
    average_precision,
    ndcg,
    precision_at_k,
    ranking_report,
)
from maxmargin.metrics.sequences import (
    ChunkScore,
    chunk_f1,
    chunk_precision,
    chunk_recall,
    chunk_scores,
    entity_f1,
    hamming_error,
    sequence_accuracy,
    sequence_error,
    token_accuracy,
)

if TYPE_CHECKING:
    from maxmargin.metrics.scorers import chunk_f1_scorer, entity_f1_scorer, token_accuracy_scorer

__all__ = [
    "ChunkScore",
    "RankingReport",
    "auc",
    "auprc",
    "average_precision",
    "chunk_f1",
    "chunk_f1_scorer",
    "chunk_precision",
    "chunk_recall",
    "chunk_scores",
    "entity_f1",
    "entity_f1_scorer",
    "exact_sets",
    "example_accuracy",
    "example_f1",
    "hamming_error",
    "hamming_loss",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "label_set_report",
    "las",
    "macro_f1",
    "mean_recall",
    "micro_f1",
    "ndcg",
    "node_accuracy",
    "node_macro_f1",
    "parse_scores",
    "precision_at_k",
    "ranking_report",
    "sequence_accuracy",
    "sequence_error",
    "subset_accuracy",
    "token_accuracy",
    "token_accuracy_scorer",
    "tree_distance",
    "uas",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from maxmargin.metrics import scorers

    return getattr(scorers, name)
