"""Class inference against enumeration, and what its public functions refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from maxmargin.inference import Exactness, classes
from maxmargin.testing import enumerate as brute

quick = settings(deadline=None, max_examples=50)

ELEMENTS = st.one_of(
    st.integers(-3, 3).map(float), st.floats(-1e300, 1e300), st.floats(-10, 10), st.just(-np.inf)
)


@st.composite
def scores(draw):
    found = draw(hnp.arrays(np.float64, st.integers(1, 6), elements=ELEMENTS, fill=st.nothing()))
    assume(found.max() > -np.inf)
    return found


@quick
@given(scores())
def test_maximize_is_the_first_best(theta):
    answer = classes.maximize(theta)
    assert answer == (int(np.argmax(theta)), theta.max(), theta.max(), Exactness.EXACT)
    assert type(answer.output) is int


@quick
@given(scores(), st.integers(1, 8))
def test_k_best_are_the_k_best_of_all(theta, k):
    answers = classes.k_best(theta, k)
    outputs, true_scores = brute.k_best(brute.classes(theta), k)
    assert [answer.output for answer in answers] == outputs[:, 0].tolist()
    assert [answer.score for answer in answers] == true_scores.tolist()


@quick
@given(scores(), st.data())
def test_maximize_skips_what_is_banned(theta, data):
    banned = data.draw(st.lists(st.integers(0, len(theta) - 1)))
    outputs, _ = brute.k_best(brute.classes(theta), 1, banned)
    if len(outputs):
        assert classes.maximize(theta, banned=banned).output == outputs[0, 0]
    else:
        with pytest.raises(ValueError, match="allow no output that is not banned"):
            classes.maximize(theta, banned=banned)


@quick
@given(scores(), st.sampled_from([1e-300, 1e-12, 1e-3, 1.0, 1e3, 1e300]))
def test_marginals(theta, temperature):
    found = classes.marginals(theta, temperature)
    assert not np.isnan(found.log_partition)
    with np.errstate(over="ignore"):
        node, _, log_partition = brute.marginals(brute.classes(theta), temperature)
    np.testing.assert_allclose(found.node, node[0], atol=1e-14)
    np.testing.assert_allclose(found.log_partition, log_partition, rtol=1e-14, atol=1e-14)
    assert found.edge.shape == (0, len(theta), len(theta))


@pytest.mark.parametrize(
    ("theta", "error", "message"),
    [
        ([], ValueError, "scores is empty"),
        ([[1.0]], ValueError, r"scores must have 1 dimension.* shape \(1, 1\)"),
        ([0.0, np.nan], ValueError, r"scores\[1\] is NaN"),
        ([np.inf], ValueError, r"scores\[0\] is \+inf"),
        ([-np.inf, -np.inf], ValueError, "the constraints allow no output"),
        (["a"], TypeError, "scores must hold real numbers"),
    ],
)
@pytest.mark.parametrize(
    "oracle",
    [
        classes.maximize,
        lambda theta: classes.k_best(theta, 1),
        classes.marginals,
    ],
    ids=["maximize", "k_best", "marginals"],
)
def test_bad_scores_are_refused(oracle, theta, error, message):
    with pytest.raises(error, match=message):
        oracle(theta)


def test_bad_classes_are_refused():
    with pytest.raises(ValueError, match=r"banned\[1\] has the label 2"):
        classes.maximize([0.0, 1.0], banned=[0, 2])
