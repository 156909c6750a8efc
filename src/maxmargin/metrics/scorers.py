"""Metrics of sequences as scorers, what scikit-learn's ``scoring=`` takes."""

from __future__ import annotations

from sklearn.metrics import make_scorer

from maxmargin.metrics.sequences import chunk_f1, entity_f1, token_accuracy

__all__ = ["chunk_f1_scorer", "entity_f1_scorer", "token_accuracy_scorer"]

chunk_f1_scorer = make_scorer(chunk_f1)
"""`chunk_f1` of ``estimator.predict(X)`` for ``scoring=``; ``make_scorer(chunk_f1, scheme=...)``
for another scheme."""

entity_f1_scorer = make_scorer(entity_f1)
"""`entity_f1` of ``estimator.predict(X)`` for ``scoring=``."""

token_accuracy_scorer = make_scorer(token_accuracy)
"""`token_accuracy` of ``estimator.predict(X)`` for ``scoring=``."""
