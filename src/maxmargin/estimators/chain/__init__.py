"""`ChainSVM`, and what it is made of."""

from __future__ import annotations

from maxmargin.estimators.chain.svm import ChainSVM

__all__ = ["ChainSVM"]
