"""Chains: one label per position."""
