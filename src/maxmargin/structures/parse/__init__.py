"""Parses: every word has a head, and the arcs form a tree."""
