"""Classes: one label per example."""
