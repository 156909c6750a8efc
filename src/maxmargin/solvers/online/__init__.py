"""Solvers that learn from one example at a time."""
