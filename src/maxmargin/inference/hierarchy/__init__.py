"""Hierarchies: nodes in a tree, a forest or a directed acyclic graph, each with a score."""
