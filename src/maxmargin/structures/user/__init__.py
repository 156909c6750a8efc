"""Structures that users write themselves."""
