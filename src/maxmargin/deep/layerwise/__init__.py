"""Nets of piecewise-linear layers, trained one layer at a time by convex problems."""

from __future__ import annotations

from maxmargin.deep.layerwise.svm import LayerRecord, LayerwiseResult, LayerwiseSVM

__all__ = ["LayerRecord", "LayerwiseResult", "LayerwiseSVM"]
