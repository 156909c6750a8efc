from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.io import (
    SCHEMES,
    check_tags,
    convert_tags,
    detect_scheme,
    scheme_constraints,
    spans_to_tags,
    tags_to_spans,
)

ALL = list(SCHEMES)


@st.composite
def segmented(draw, n_max=12, types=("NP", "VP", "creative-work", "")):
    """Spans that do not overlap, and the number of positions."""
    spans, position = [], 0
    while position < n_max and draw(st.booleans()):
        start = position + draw(st.integers(0, 2))
        stop = start + draw(st.integers(1, 3))
        spans.append((start, stop, draw(st.sampled_from(types))))
        position = stop
    return spans, position + draw(st.integers(0, 2))


def joined(spans):
    """What IO can still tell: touching spans of one type are one."""
    out = []
    for start, stop, kind in spans:
        if out and out[-1][1] == start and out[-1][2] == kind:
            start = out.pop()[0]
        out.append((start, stop, kind))
    return out


@pytest.mark.parametrize("scheme", ALL)
@pytest.mark.parametrize("strict", [False, True])
@settings(deadline=None, max_examples=50)
@given(case=segmented())
def test_spans_come_back(scheme, strict, case):
    spans, n = case
    tags = spans_to_tags(spans, n, scheme)
    assert len(tags) == n
    check_tags(tags, scheme)
    expected = joined(spans) if scheme == "io" else spans
    assert tags_to_spans(tags, scheme, strict=strict) == expected


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("source", [s for s in ALL if s != "io"])
@settings(deadline=None, max_examples=20)
@given(case=segmented())
def test_conversion_keeps_the_spans(source, target, case):
    spans, n = case
    converted = convert_tags(spans_to_tags(spans, n, source), source, target)
    assert converted == spans_to_tags(spans, n, target)
    if target != "io":
        assert convert_tags(converted, target, source) == spans_to_tags(spans, n, source)


@settings(deadline=None, max_examples=50)
@given(case=segmented())
def test_detected_scheme_spells_the_same_spans(case):
    spans, n = case
    for scheme in ("iob1", "iob2", "bioes"):
        tags = spans_to_tags(spans, n, scheme)
        found = detect_scheme([tags])
        assert tags_to_spans(tags, found, strict=True) == spans


LABELS = ["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in "XY")]


@pytest.mark.parametrize("scheme", ALL)
def test_constraints_allow_exactly_what_some_spans_write(scheme):
    """Brute force: the sequences of length <= 4 that pass are those that segmentations produce."""
    labels = [tag for tag in LABELS if tag[0] in SCHEMES[scheme]]
    start, transitions, end = scheme_constraints(labels, scheme)
    for n in (1, 2, 3, 4):
        written = {tuple(spans_to_tags(s, n, scheme)) for s in all_segmentations(n)}
        for path in product(range(len(labels)), repeat=n):
            is_allowed = start[path[0]] and end[path[-1]]
            is_allowed &= all(transitions[a, b] for a, b in pairwise(path))
            assert is_allowed == (tuple(labels[k] for k in path) in written)


def all_segmentations(n, at=0):
    if at >= n:
        yield []
        return
    yield from all_segmentations(n, at + 1)
    for stop in range(at + 1, n + 1):
        for rest in all_segmentations(n, stop):
            for kind in "XY":
                yield [(at, stop, kind), *rest]


@pytest.mark.parametrize(
    ("tags", "lenient", "strict"),
    [
        # what conlleval finds in broken sequences, and what is well formed in IOB2
        ("O I-X I-X", [(1, 3, "X")], []),
        ("B-X I-Y I-Y", [(0, 1, "X"), (1, 3, "Y")], [(0, 1, "X")]),
        ("I-X B-X I-X", [(0, 1, "X"), (1, 3, "X")], [(1, 3, "X")]),
        ("B-X O I-X", [(0, 1, "X"), (2, 3, "X")], [(0, 1, "X")]),
    ],
)
def test_broken_iob2(tags, lenient, strict):
    assert tags_to_spans(tags.split(), "iob2") == lenient
    assert tags_to_spans(tags.split(), "iob2", strict=True) == strict


@pytest.mark.parametrize(
    ("tags", "lenient", "strict"),
    [
        ("B-X I-X O", [(0, 2, "X")], []),
        ("E-X E-X", [(0, 1, "X"), (1, 2, "X")], []),
        ("B-X E-X I-X", [(0, 2, "X"), (2, 3, "X")], [(0, 2, "X")]),
        ("S-X I-X E-X", [(0, 1, "X"), (1, 3, "X")], [(0, 1, "X")]),
        ("B-X E-Y S-Y", [(0, 1, "X"), (1, 2, "Y"), (2, 3, "Y")], [(2, 3, "Y")]),
    ],
)
def test_broken_bioes(tags, lenient, strict):
    assert tags_to_spans(tags.split(), "bioes") == lenient
    assert tags_to_spans(tags.split(), "bioes", strict=True) == strict


def test_strict_iob1_wants_b_only_between_neighbours():
    assert tags_to_spans(["O", "B-X", "B-X"], "iob1", strict=True) == [(2, 3, "X")]


def test_detection_of_each():
    assert detect_scheme([["O", "O"]]) == "iob2"
    assert detect_scheme([["I-X", "O"]]) == "io"
    assert detect_scheme([["I-X", "B-X"]]) == "iob1"
    assert detect_scheme([["B-X", "I-X"]]) == "iob2"
    assert detect_scheme([["S-X"], ["B-Y", "E-Y"]]) == "bioes"
    with pytest.raises(ValueError, match=r"fit no scheme: sequence 1, position 0: 'I-X' .* iob2"):
        detect_scheme([["B-X"], ["I-X"]])
    with pytest.raises(ValueError, match="sequence 1, position 0: 'E-X' may not follow the start"):
        detect_scheme([["S-X"], ["E-X"]])


def test_names_of_schemes():
    assert convert_tags(["I-X"], "IOB1", "BIO") == ["B-X"]
    with pytest.raises(ValueError, match=r"scheme='bilou' is unknown. There are: io, iob1"):
        check_tags(["O"], "bilou")
    with pytest.raises(TypeError, match="scheme must be a string"):
        check_tags(["O"], None)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: check_tags(["O", "NP"], "iob2"), ValueError, "position 1: 'NP' is not a tag"),
        (lambda: check_tags(["B-"], "iob2"), ValueError, "position 0: 'B-' is not a tag"),
        (lambda: check_tags(["O-X"], "iob2"), ValueError, "'O-X' is not a tag"),
        (lambda: check_tags([3], "iob2"), TypeError, "position 0: a tag must be a string"),
        (lambda: check_tags(["E-X"], "iob2"), ValueError, "whose letters are BIO"),
        (lambda: check_tags(["I-X"], "iob2"), ValueError, "may not follow the start in iob2"),
        (lambda: check_tags(["O", "B-X"], "bioes"), ValueError, "1: 'B-X' may not end a sequence"),
        (
            lambda: convert_tags(["I-X"], "iob2", "io", strict=True),
            ValueError,
            "may not follow the start",
        ),
        (lambda: scheme_constraints(["O", "S-X"], "iob2"), ValueError, "labels, position 1: 'S-X'"),
        (lambda: spans_to_tags([(0, 3, "X")], 2, "iob2"), ValueError, "within 2 positions"),
        (lambda: spans_to_tags([(1, 1, "X")], 2, "iob2"), ValueError, "within 2 positions"),
        (lambda: spans_to_tags([(0, 2, "X"), (1, 2, "Y")], 2, "io"), ValueError, "overlaps"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_numpy_strings_are_tags():
    assert tags_to_spans(np.array(["B-X", "I-X"])) == [(0, 2, "X")]
    start, transitions, end = scheme_constraints(np.array([], dtype=str), "iob2")
    assert start.shape == end.shape == (0,) and transitions.shape == (0, 0)
