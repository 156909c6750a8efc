"""Dual ascent by expectations, and by batches: laws of outputs in the place of planes."""
