"""Dual ascent over lists of all outputs."""
