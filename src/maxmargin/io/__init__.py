"""Files in and out: CoNLL columns, templates, CoNLL-U, svmlight, npz, ARFF, graphs; schemes."""

from __future__ import annotations

from maxmargin.io.any import EXTENSIONS, file_format
from maxmargin.io.arff import ArffData, read_arff
from maxmargin.io.arff_write import write_arff
from maxmargin.io.clus import ClusData, read_clus
from maxmargin.io.conll import ConllData, conll_width, read_conll, write_conll
from maxmargin.io.conllu import (
    Sentence,
    format_conllu,
    parse_conllu,
    read_conllu,
    write_conllu,
)
from maxmargin.io.edge_lists import read_edges, write_edges
from maxmargin.io.gazetteers import Gazetteer
from maxmargin.io.graphs import (
    GRAPH_EXTENSIONS,
    GRAPH_FORMATS,
    FlowNetwork,
    GraphFile,
    graph_format,
    graph_from_networkx,
    graph_to_networkx,
    read_cfn,
    read_dimacs,
    read_evidence,
    read_flow_network,
    read_graph,
    read_graph_npz,
    read_graphs,
    read_qpbo,
    read_uai,
    read_wcsp,
    with_evidence,
    write_graph_npz,
    write_graphs,
    write_uai,
)
from maxmargin.io.mulan import read_label_list
from maxmargin.io.npz import read_npz, write_npz
from maxmargin.io.replace import atomic_write
from maxmargin.io.svmlight import GradedRows, read_rankings, read_svmlight
from maxmargin.io.svmlight_write import write_svmlight
from maxmargin.io.templates import FUNCTIONS, PRESETS, FeatureTemplate
from maxmargin.tags import (
    SCHEMES,
    SchemeMatch,
    Span,
    Violation,
    check_tags,
    closest_scheme,
    convert_tags,
    describe_violations,
    detect_scheme,
    find_violations,
    scheme_constraints,
    spans_to_tags,
    tags_to_spans,
)

__all__ = [
    "EXTENSIONS",
    "FUNCTIONS",
    "GRAPH_EXTENSIONS",
    "GRAPH_FORMATS",
    "PRESETS",
    "SCHEMES",
    "ArffData",
    "ClusData",
    "ConllData",
    "FeatureTemplate",
    "FlowNetwork",
    "Gazetteer",
    "GradedRows",
    "GraphFile",
    "SchemeMatch",
    "Sentence",
    "Span",
    "Violation",
    "atomic_write",
    "check_tags",
    "closest_scheme",
    "conll_width",
    "convert_tags",
    "describe_violations",
    "detect_scheme",
    "file_format",
    "find_violations",
    "format_conllu",
    "graph_format",
    "graph_from_networkx",
    "graph_to_networkx",
    "parse_conllu",
    "read_arff",
    "read_cfn",
    "read_clus",
    "read_conll",
    "read_conllu",
    "read_dimacs",
    "read_edges",
    "read_evidence",
    "read_flow_network",
    "read_graph",
    "read_graph_npz",
    "read_graphs",
    "read_label_list",
    "read_npz",
    "read_qpbo",
    "read_rankings",
    "read_svmlight",
    "read_uai",
    "read_wcsp",
    "scheme_constraints",
    "spans_to_tags",
    "tags_to_spans",
    "with_evidence",
    "write_arff",
    "write_conll",
    "write_conllu",
    "write_edges",
    "write_graph_npz",
    "write_graphs",
    "write_npz",
    "write_svmlight",
    "write_uai",
]
