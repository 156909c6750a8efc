"""Strategies around a solver's run: settings, paths, warm starts, checkpoints, progress."""
