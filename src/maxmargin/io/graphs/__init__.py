"""Models on graphs: UAI, WCSP, CFN, QPBO, DIMACS, npz, networkx; and graphs to learn from."""

from __future__ import annotations

from maxmargin.io.graphs.cfn import read_cfn
from maxmargin.io.graphs.dimacs import FlowNetwork, read_dimacs, read_flow_network
from maxmargin.io.graphs.evidence import read_evidence, with_evidence
from maxmargin.io.graphs.named import GRAPH_EXTENSIONS, GRAPH_FORMATS, graph_format, read_graph
from maxmargin.io.graphs.network import graph_from_networkx, graph_to_networkx
from maxmargin.io.graphs.npz import read_graph_npz, write_graph_npz
from maxmargin.io.graphs.parts import GraphFile
from maxmargin.io.graphs.quadratic import read_qpbo
from maxmargin.io.graphs.samples import read_graphs, write_graphs
from maxmargin.io.graphs.uai import read_uai, write_uai
from maxmargin.io.graphs.wcsp import read_wcsp

__all__ = [
    "GRAPH_EXTENSIONS",
    "GRAPH_FORMATS",
    "FlowNetwork",
    "GraphFile",
    "graph_format",
    "graph_from_networkx",
    "graph_to_networkx",
    "read_cfn",
    "read_dimacs",
    "read_evidence",
    "read_flow_network",
    "read_graph",
    "read_graph_npz",
    "read_graphs",
    "read_qpbo",
    "read_uai",
    "read_wcsp",
    "with_evidence",
    "write_graph_npz",
    "write_graphs",
    "write_uai",
]
