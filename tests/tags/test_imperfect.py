"""Tags as people made them: a scheme that a few of them break."""

import numpy as np
import pytest

from maxmargin.io import (
    closest_scheme,
    convert_tags,
    describe_violations,
    detect_scheme,
    find_violations,
    read_conll,
    spans_to_tags,
    tags_to_spans,
    write_conll,
)
from maxmargin.metrics import chunk_f1, entity_f1


def drawn_corpus(n_sequences=200, scheme="iob1", n_broken=2, seed=0):
    """Drawn sequences of segments in a scheme, and IOB1 broken by B after O at some places."""
    rng = np.random.default_rng(seed)
    sequences = []
    for _ in range(n_sequences):
        n = int(rng.integers(5, 15))
        spans, at = [], 0
        while at < n:
            stop = min(n, at + int(rng.integers(1, 4)))
            if rng.random() < 0.5:
                spans.append((at, stop, str(rng.choice(["PER", "LOC"]))))
            at = stop
        sequences.append(spans_to_tags(spans, n, scheme))
    places = [
        (i, t)
        for i, tags in enumerate(sequences)
        for t in range(1, len(tags))
        if tags[t - 1] == "O" and tags[t].startswith("I-")
    ]
    broken = [places[k] for k in sorted(rng.choice(len(places), n_broken, replace=False))]
    for i, t in broken:
        sequences[i][t] = "B" + sequences[i][t][1:]
    return sequences, broken


def test_every_fault_is_found_where_it_is():
    sequences, broken = drawn_corpus(n_broken=2)
    found = find_violations(sequences, "iob1")
    assert [(v.sequence, v.position) for v in found] == broken
    assert all("may not follow 'O' in iob1" in v.reason for v in found)


def test_an_almost_clean_file_has_its_scheme_with_a_warning():
    sequences, broken = drawn_corpus()
    n_tags = sum(map(len, sequences))
    with pytest.warns(UserWarning, match=rf"2 of {n_tags} tags break iob1") as caught:
        assert detect_scheme(sequences) == "iob1"
    assert f"sequence {broken[0][0]}, position {broken[0][1]}" in str(caught[0].message)
    with pytest.raises(ValueError, match="fit no scheme"):
        detect_scheme(sequences, strict=True)


@pytest.mark.parametrize(
    ("scheme", "stray"),
    [("iob2", "E-PER"), ("iob2", "B_PER"), ("bioes", "I-LOC"), ("io", "B-PER")],
)
def test_one_stray_tag_does_not_change_the_scheme(scheme, stray):
    sequences, _ = drawn_corpus(scheme=scheme, n_broken=0)
    sequences[17][2] = stray
    match = closest_scheme(sequences)
    assert match.scheme == ("iob1" if scheme == "io" else scheme)
    assert {v.sequence for v in match.violations} <= {17} and len(match.violations) <= 2


def test_what_is_not_chunks_stays_so():
    for sequences in ([["DT", "NN"]], [[1, 2]], [["O", "B-X", "NN", "VB"]], [["H", "E", "S"]]):
        assert closest_scheme(sequences) is None
    with pytest.raises(ValueError, match="sequence 0, position 1: 'NN' is not a tag"):
        detect_scheme([["O", "NN"]])
    with pytest.raises(TypeError, match="sequence 0, position 0: a tag must be a string"):
        detect_scheme([[3]])


def test_many_faults_are_no_scheme_but_the_closest_is_known():
    sequences = [["B-X", "O"], ["I-X", "O"]]
    with pytest.raises(ValueError, match="fit no scheme"):
        detect_scheme(sequences)
    assert closest_scheme(sequences).scheme == "iob2"


def test_bad_ends_count_once_and_non_tags_as_outside():
    found = find_violations([["O", "B-X"], ["NP", "I-X"], []], "bioes")
    assert [(v.sequence, v.position) for v in found] == [(0, 1), (1, 0), (1, 1)]
    assert "may not end a sequence" in found[0].reason
    assert "'NP' is not a tag" in found[1].reason


def test_a_description_names_a_few_places_of_a_few_kinds():
    many = [["O", "I-X"]] * 9 + [["O", f"{kind}"] for kind in ("I-A", "I-B", "I-C", "E-D")]
    said = describe_violations(
        find_violations(many, "iob2"), 26, "iob2", lambda v: f"#{v.sequence}"
    )
    assert said.startswith("13 of 26 tags break iob2: 'I-X' may not follow 'O' in iob2 (#0, #1, ")
    assert "and 4 more" in said and "2 more of 2 other kinds" in said


def test_conversion_is_lenient_and_says_so():
    sequences, broken = drawn_corpus()
    i, t = broken[0]
    with pytest.warns(
        UserWarning, match=rf"1 of {len(sequences[i])} tags breaks iob1.*position {t}"
    ):
        converted = convert_tags(sequences[i], "iob1", "bioes")
    assert tags_to_spans(converted, "bioes", strict=True) == tags_to_spans(sequences[i])
    with pytest.raises(ValueError, match=f"position {t}: 'B-.*may not follow 'O'"):
        convert_tags(sequences[i], "iob1", "bioes", strict=True)
    with pytest.raises(ValueError, match="position 1: 'NP' is not a tag"):
        convert_tags(["O", "NP"], "iob2", "bioes")


def test_broken_predictions_are_scored_as_conlleval_does():
    """Letters of another scheme, and stray I: conlleval.py counts these segments."""
    truth = [["B-X", "I-X", "O", "B-Y"], ["O", "B-X"]]
    guess = [["I-X", "E-X", "O", "S-Y"], ["I-X", "I-X"]]
    assert chunk_f1(truth, guess) == pytest.approx(2 * 2 / (3 + 3))
    assert entity_f1(truth, guess) == 0.0
    assert tags_to_spans(["B-X", "E-X", "O", "B-X"], "iob2", strict=True) == [(3, 4, "X")]


def test_lines_of_a_file(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("\n-DOCSTART- O\n\na O\nb B-X\n\n\nc I-X\nd O\n")
    data = read_conll(path)
    assert data.first_lines == [4, 8]
    write_conll(tmp_path / "b.conll", data.sentences, data.tags)
    assert read_conll(tmp_path / "b.conll").first_lines == [1, 4]
