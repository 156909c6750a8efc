"""Dependency parsers."""

from __future__ import annotations

from maxmargin.estimators.parser.svm import ParserSVM

__all__ = ["ParserSVM"]
