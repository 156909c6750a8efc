"""Cutting planes: a master programme over planes below the risk."""
