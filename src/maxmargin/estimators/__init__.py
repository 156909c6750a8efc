"""Estimators with scikit-learn faces: validate, encode, build the problem, run, keep the result."""

from __future__ import annotations

from maxmargin.estimators.base import BaseSVM, Training

__all__ = ["BaseSVM", "Training"]
