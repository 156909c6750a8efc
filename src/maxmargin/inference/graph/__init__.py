"""Pairwise models on general graphs."""
