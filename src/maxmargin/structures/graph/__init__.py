"""Graphs: one label per node, scored by the nodes, by edges and by hyperedges."""
