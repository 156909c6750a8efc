"""Attachment scores."""

from __future__ import annotations

import pytest

from maxmargin.metrics import las, parse_scores, uas

TRUTH = [[(2, "nsubj:pass"), (0, "root"), (2, "punct")]]


def test_scores_count_words():
    found = [[(2, "nsubj"), (0, "root"), (1, "punct")]]
    assert uas(TRUTH, found) == pytest.approx(2 / 3)
    assert las(TRUTH, found) == pytest.approx(1 / 3)
    assert las(TRUTH, found, subtypes=False) == pytest.approx(2 / 3)
    assert parse_scores(TRUTH, found, [[True, True, False]]) == {"uas": 1.0, "las": 0.5}
    assert parse_scores([[2, 0]], [[2, 0]]) == {"uas": 1.0}


def test_pairs_may_be_lists():
    found = [[list(arc) for arc in TRUTH[0]]]
    assert las(TRUTH, found) == las(found, TRUTH) == 1.0


def test_bad_input():
    with pytest.raises(TypeError, match=r"y_pred\[0\]\[1\] has the head 'x'; expected the number"):
        las([[0, 1]], [[0, "x"]])
    with pytest.raises(ValueError, match=r"y_true\[0\]\[0\] is \(0,\); expected a head, or a pair"):
        las([[(0,)]], [[0]])
    with pytest.raises(ValueError, match="1 trees but y_pred has 2"):
        uas([[0]], [[0], [0]])
    with pytest.raises(ValueError, match=r"y_true\[0\] has 1 words but y_pred\[0\] has 2"):
        uas([[0]], [[0, 1]])
    with pytest.raises(ValueError, match="counts has 2 flags for 1 words"):
        uas([[0]], [[0]], [[True, False]])
