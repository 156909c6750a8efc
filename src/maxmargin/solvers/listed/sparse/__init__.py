"""Dual coordinate ascent without dense weights, for many labels and sparse rows."""
