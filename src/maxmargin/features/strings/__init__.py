"""Strings as features: counts of words as sparse rows, and the kernel of common subsequences."""

from __future__ import annotations

from maxmargin.features.strings.gappy import GappyFeatures
from maxmargin.features.strings.mismatch import MismatchFeatures
from maxmargin.features.strings.spectrum import SpectrumFeatures
from maxmargin.features.strings.subsequence import SubsequenceKernel

__all__ = ["GappyFeatures", "MismatchFeatures", "SpectrumFeatures", "SubsequenceKernel"]
