"""Chain inference against enumeration, and what its public functions refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from maxmargin.inference import Exactness
from maxmargin.inference.chain import public as chain
from maxmargin.testing import enumerate as brute

quick = settings(deadline=None, max_examples=40)

INTEGERS = st.integers(-3, 3).map(float)  # ties, without rounding
ELEMENTS = {
    "integers": INTEGERS,
    "equal": st.just(0.5),
    "floats": st.floats(-10.0, 10.0),
    "huge": st.floats(-1e300, 1e300),
    "tiny": st.floats(-1e-300, 1e-300),
    "forbidden": st.one_of(INTEGERS, st.just(-np.inf)),
}


@st.composite
def potentials(draw, kinds=tuple(ELEMENTS)):
    """Potentials of up to 256 labellings, at least one of which is feasible."""
    length, n_labels = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    elements = ELEMENTS[draw(st.sampled_from(kinds))]
    shapes = [(length, n_labels), (n_labels, n_labels), n_labels, n_labels]
    # Without a fill every entry is drawn; with one most are equal, and ties hide mistakes.
    parts = [
        draw(hnp.arrays(np.float64, shape, elements=elements, fill=st.nothing()))
        for shape in shapes
    ]
    if brute.chain(*parts).scores.max() == -np.inf:
        for part in parts:  # allow label 0 throughout
            part[..., 0] = np.maximum(part[..., 0], -3.0)
    return tuple(parts)


@quick
@given(potentials())
def test_maximize_is_best_of_all(theta):
    answer = chain.maximize(*theta)
    everything = brute.chain(*theta)
    assert answer.score == everything.scores.max()
    assert answer.score == chain.score(theta[0], theta[1], answer.output, *theta[2:])
    assert answer.bound == answer.score
    assert answer.exactness is Exactness.EXACT
    assert answer.output.dtype == np.int32


EXACT_SUMS = ("integers", "equal", "forbidden")


@quick
@given(potentials(EXACT_SUMS), st.integers(1, 9))
def test_k_best_are_ordered_as_their_ties(theta, k):
    outputs, _ = brute.k_best(brute.chain(*theta), k)
    answers = chain.k_best(*theta, k=k)
    np.testing.assert_array_equal([answer.output for answer in answers], outputs)


@quick
@given(potentials(EXACT_SUMS))
def test_ties_go_to_the_lowest_label_from_the_end(theta):
    outputs, _ = brute.k_best(brute.chain(*theta), 1)
    np.testing.assert_array_equal(chain.maximize(*theta).output, outputs[0])


@quick
@given(potentials(), st.one_of(st.integers(1, 5), st.integers(1, 300)))
def test_k_best_are_the_k_best_of_all(theta, k):
    answers = chain.k_best(*theta, k=k)
    _, scores = brute.k_best(brute.chain(*theta), k)
    assert [answer.score for answer in answers] == scores.tolist()
    assert len({tuple(answer.output) for answer in answers}) == len(answers)
    for answer in answers:
        assert chain.score(theta[0], theta[1], answer.output, *theta[2:]) == answer.score


@quick
@given(potentials(("integers", "forbidden")), st.integers(1, 20), st.randoms())
def test_maximize_skips_what_is_banned(theta, n_banned, random):
    everything = brute.chain(*theta)
    # The best ones, so that the ban bites, and some that would not be the answer anyway.
    banned = [tuple(path) for path in brute.k_best(everything, n_banned)[0].tolist()]
    banned += [tuple(random.choice(everything.outputs.tolist()))]
    outputs, scores = brute.k_best(everything, 1, banned)
    if len(outputs) == 0:
        with pytest.raises(ValueError, match="allow no output that is not banned"):
            chain.maximize(*theta, banned=banned)
    else:
        answer = chain.maximize(*theta, banned=banned)
        assert answer.score == answer.bound == scores[0]
        np.testing.assert_array_equal(answer.output, outputs[0])


@quick
@given(
    potentials(("integers", "equal", "floats", "tiny", "forbidden")),
    st.sampled_from([1e-3, 0.1, 1.0, 7.0, 1e3]),
)
def test_marginals_and_log_partition(theta, temperature):
    found = chain.marginals(*theta, temperature=temperature)
    node, edge, log_partition = brute.marginals(brute.chain(*theta), temperature)
    # Scores are rounded at about 1e-15, which 1 / temperature makes larger.
    tolerance = 1e-12 + 1e-13 / temperature
    np.testing.assert_allclose(found.node, node, atol=tolerance)
    np.testing.assert_allclose(found.edge, edge, atol=tolerance)
    np.testing.assert_allclose(found.log_partition, log_partition, rtol=1e-12, atol=tolerance)


@quick
@given(
    potentials(),
    st.sampled_from([1e-300, 1e-12, 1e12, 1e300, np.finfo(float).max]),
)
def test_marginals_are_probabilities_at_any_temperature(theta, temperature):
    node, edge, log_partition = chain.marginals(*theta, temperature=temperature)
    assert not np.isnan(log_partition)
    assert (node >= 0).all()
    assert (node <= 1 + 1e-12).all()
    np.testing.assert_allclose(node.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(edge.sum(axis=2), node[:-1], atol=1e-12)
    np.testing.assert_allclose(edge.sum(axis=1), node[1:], atol=1e-12)


@quick
@given(potentials(EXACT_SUMS))
def test_cold_marginals_are_uniform_over_the_best(theta):
    everything = brute.chain(*theta)
    best = everything.scores.max()
    is_best = everything.scores == best
    temperature = 1e-12
    found = chain.marginals(*theta, temperature=temperature)
    for t in range(len(theta[0])):
        share = np.bincount(everything.outputs[is_best, t], minlength=everything.n_labels)
        np.testing.assert_allclose(found.node[t], share / is_best.sum(), atol=1e-12)
    expected = best / temperature + np.log(is_best.sum())
    np.testing.assert_allclose(found.log_partition, expected, rtol=1e-12, atol=1e-12)
    assert np.isfinite(found.log_partition)


@quick
@given(potentials(("integers", "floats", "forbidden")))
def test_hot_marginals_are_uniform_over_the_feasible(theta):
    is_feasible = np.isfinite(brute.chain(*theta).scores)
    found = chain.marginals(*theta, temperature=1e300)
    np.testing.assert_allclose(found.log_partition, np.log(is_feasible.sum()), atol=1e-12)


def test_log_partition_of_a_long_chain_does_not_overflow():
    length, n_labels = 2000, 3
    found = chain.marginals(np.full((length, n_labels), 50.0), np.zeros((n_labels, n_labels)))
    assert found.log_partition == pytest.approx(length * (50.0 + np.log(n_labels)))
    np.testing.assert_allclose(found.node, 1 / n_labels)


@quick
@given(potentials())
def test_max_marginals_are_best_of_all_through_a_label(theta):
    true = brute.max_marginals(brute.chain(*theta))
    largest = max(np.abs(part[np.isfinite(part)]).max(initial=0.0) for part in theta)
    found = chain.max_marginals(*theta)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(true))
    np.testing.assert_allclose(found, true, rtol=1e-13, atol=1e-14 * largest)


@quick
@given(potentials(), st.data())
def test_profile_is_best_of_all_at_every_level(theta, data):
    length, n_labels = theta[0].shape
    reference = data.draw(hnp.arrays(np.int64, length, elements=st.integers(-1, n_labels - 1)))
    found = chain.profile(*theta, reference=reference)
    everything = brute.chain(*theta)
    scores, _ = brute.profile(everything, reference)
    np.testing.assert_array_equal(found.score, scores)
    assert found.score.max() == chain.maximize(*theta).score
    for level, output in enumerate(found.outputs):
        if scores[level] == -np.inf:
            assert (output == -1).all()
            continue
        assert np.sum((output != reference) & (reference >= 0)) == level
        assert chain.score(theta[0], theta[1], output, *theta[2:]) == scores[level]


def test_start_and_end_are_zeros_if_not_given():
    rng = np.random.default_rng(3)
    unary, transitions, zeros = rng.normal(size=(3, 4)), rng.normal(size=(4, 4)), np.zeros(4)
    bare, full = (unary, transitions), (unary, transitions, zeros, zeros)
    assert chain.maximize(*bare).score == chain.maximize(*full).score
    assert chain.marginals(*bare).log_partition == chain.marginals(*full).log_partition
    assert chain.profile(*bare, reference=[0, 1, 2]).score.tolist() == (
        chain.profile(*full, reference=[0, 1, 2]).score.tolist()
    )


def test_potentials_of_any_layout_are_taken_and_none_is_changed():
    unary = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2))
    transitions = np.eye(2, dtype=np.int64)
    transitions.setflags(write=False)
    before = unary.copy(), transitions.copy()
    n_compiled = len(chain.best_path.signatures)
    assert chain.maximize(unary, transitions).output.tolist() == [1, 1, 1]
    chain.marginals(unary, transitions)
    chain.max_marginals(unary, transitions)
    chain.profile(unary, transitions, reference=[0, 0, 0])
    chain.k_best(unary, transitions, k=2)
    np.testing.assert_array_equal(unary, before[0])
    np.testing.assert_array_equal(transitions, before[1])
    assert len(chain.best_path.signatures) <= max(n_compiled, 1)


ORACLES = {
    "maximize": chain.maximize,
    "k_best": lambda *theta: chain.k_best(*theta, k=2),
    "marginals": chain.marginals,
    "max_marginals": chain.max_marginals,
    "profile": lambda unary, *rest: chain.profile(
        unary, *rest, reference=np.zeros(len(unary), dtype=int)
    ),
}


@pytest.fixture(params=ORACLES, ids=str)
def oracle(request):
    return ORACLES[request.param]


EYE = np.eye(2)


@pytest.mark.parametrize(
    ("theta", "error", "message"),
    [
        ((np.zeros((0, 2)), EYE), ValueError, r"unary has shape \(0, 2\); expected at least one"),
        ((np.zeros((2, 0)), np.zeros((0, 0))), ValueError, r"unary has shape \(2, 0\)"),
        ((np.zeros(2), EYE), ValueError, r"unary must have 2 dimension.* shape \(2,\)"),
        (([[0, 1], [np.nan, 1]], EYE), ValueError, r"unary\[1, 0\] is NaN"),
        ((EYE, [[0, np.inf], [0, 1]]), ValueError, r"transitions\[0, 1\] is \+inf"),
        ((EYE, np.eye(3)), ValueError, r"transitions has shape \(3, 3\); expected \(2, 2\)"),
        ((EYE, EYE, [0, 1, 2]), ValueError, r"start has shape \(3,\); expected \(2,\)"),
        ((EYE, EYE, None, [0, np.nan]), ValueError, r"end\[1\] is NaN"),
        (([["a", "b"]], EYE), TypeError, "unary must hold real numbers"),
        ((EYE * 1j, EYE), TypeError, "unary must hold real numbers, got dtype complex128"),
        (([[1, 2], [3]], EYE), ValueError, "unary is not an array of numbers"),
        ((EYE * 1e308, EYE), ValueError, "overflow at length 2"),
    ],
)
def test_bad_potentials_are_refused(oracle, theta, error, message):
    with pytest.raises(error, match=message):
        oracle(*theta)


@pytest.mark.parametrize(
    "theta",
    [
        ([[0.0, 1.0], [-np.inf, -np.inf]], EYE),
        ([[0.0, -np.inf], [-np.inf, 0.0]], [[0.0, -np.inf], [0.0, 0.0]]),
        ([[0.0, 1.0]], EYE, [0.0, -np.inf], [-np.inf, 0.0]),
    ],
    ids=["unary", "transitions", "ends"],
)
def test_potentials_that_allow_nothing_are_refused(oracle, theta):
    with pytest.raises(ValueError, match="the constraints allow no output"):
        oracle(*theta)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ([0], ValueError, r"shape \(1,\); expected \(2,\)"),
        ([0, 2], ValueError, "label 2 at position 1; expected .* to 1"),
        ([-2, 0], ValueError, "label -2 at position 0"),
        ([0.0, 1.0], TypeError, "integer labels, got dtype float64"),
        ([[0], [1, 2]], ValueError, "is not a sequence of labels"),
    ],
)
def test_bad_labellings_are_refused(path, error, message):
    with pytest.raises(error, match=r"banned\[1\].*" + message):
        chain.maximize(EYE, EYE, banned=[[0, 0], path])
    with pytest.raises(error, match="reference.*" + message):
        chain.profile(EYE, EYE, reference=path)
    with pytest.raises(error, match="path.*" + message):
        chain.score(EYE, EYE, path)


@pytest.mark.parametrize(
    ("k", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("2", TypeError)]
)
def test_bad_k_is_refused(k, error):
    with pytest.raises(error, match="k must be"):
        chain.k_best(EYE, EYE, k=k)


@pytest.mark.parametrize(
    ("temperature", "error"),
    [(0.0, ValueError), (-1, ValueError), (np.inf, ValueError), (np.nan, ValueError),
     (None, TypeError), ("warm", TypeError)],
)  # fmt: skip
def test_bad_temperature_is_refused(temperature, error):
    with pytest.raises(error, match="temperature must be"):
        chain.marginals(EYE, EYE, temperature=temperature)
