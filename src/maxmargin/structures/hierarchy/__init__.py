"""Hierarchies: one place per example, or a set of nodes that holds the ancestors of its nodes."""
