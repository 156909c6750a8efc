"""Files in and out: CoNLL columns with feature templates, svmlight, npz, ARFF; tag schemes."""

from __future__ import annotations

from maxmargin.io.any import EXTENSIONS, file_format
from maxmargin.io.arff import ArffData, read_arff
from maxmargin.io.arff_write import write_arff
from maxmargin.io.conll import ConllData, conll_width, read_conll, write_conll
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
    "PRESETS",
    "SCHEMES",
    "ArffData",
    "ConllData",
    "FeatureTemplate",
    "GradedRows",
    "SchemeMatch",
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
    "read_arff",
    "read_conll",
    "read_label_list",
    "read_npz",
    "read_rankings",
    "read_svmlight",
    "scheme_constraints",
    "spans_to_tags",
    "tags_to_spans",
    "write_arff",
    "write_conll",
    "write_npz",
    "write_svmlight",
]
