"""Scores for sequences (`sequences`) and for label sets (`label_sets`)."""

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
    "sequence_accuracy",
    "sequence_error",
    "subset_accuracy",
    "token_accuracy",
    "token_accuracy_scorer",
]
