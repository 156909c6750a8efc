"""`MultilabelSVM`, and what it is made of."""

from __future__ import annotations

from maxmargin.estimators.multilabel.svm import MultilabelSVM

__all__ = ["MultilabelSVM"]
