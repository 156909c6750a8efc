"""Dual ascent over one block of planes per example."""
