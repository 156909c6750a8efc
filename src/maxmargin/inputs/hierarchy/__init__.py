"""Hierarchies as users have them: named nodes, and labels that are places among them."""

from __future__ import annotations

from maxmargin.inputs.hierarchy.nodes import Hierarchy

__all__ = ["Hierarchy"]
