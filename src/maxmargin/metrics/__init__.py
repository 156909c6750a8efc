"""Scores for sequences (`sequences`), label sets (`label_sets`) and rankings (`rankings`)."""

from __future__ import annotations

from maxmargin.metrics.label_sets import (
    example_accuracy,
    example_f1,
    hamming_loss,
    label_set_report,
    macro_f1,
    micro_f1,
    subset_accuracy,
)
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
    chunk_f1_scorer,
    chunk_precision,
    chunk_recall,
    chunk_scores,
    entity_f1,
    entity_f1_scorer,
    hamming_error,
    sequence_accuracy,
    sequence_error,
    token_accuracy,
    token_accuracy_scorer,
)

__all__ = [
    "ChunkScore",
    "RankingReport",
    "auc",
    "average_precision",
    "chunk_f1",
    "chunk_f1_scorer",
    "chunk_precision",
    "chunk_recall",
    "chunk_scores",
    "entity_f1",
    "entity_f1_scorer",
    "example_accuracy",
    "example_f1",
    "hamming_error",
    "hamming_loss",
    "label_set_report",
    "macro_f1",
    "micro_f1",
    "ndcg",
    "precision_at_k",
    "ranking_report",
    "sequence_accuracy",
    "sequence_error",
    "subset_accuracy",
    "token_accuracy",
    "token_accuracy_scorer",
]
