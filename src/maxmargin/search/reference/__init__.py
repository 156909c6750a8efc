"""Searches of the literature that the convex hull search is held against."""
