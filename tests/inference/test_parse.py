"""Parses: relations, forbidden and forced arcs against the list of all trees; bad input."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.special import logsumexp

from maxmargin.inference import parse
from maxmargin.testing.enumerate import trees

N_RELATIONS = 3

trees = functools.cache(trees)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@functools.cache
def labelled_trees(n, projective, one_root):
    """All trees with all relations: heads and relations, as rows."""
    heads = trees(n, projective, one_root)
    codes = np.indices((N_RELATIONS,) * n).reshape(n, -1).T
    return np.repeat(heads, len(codes), axis=0), np.tile(codes, (len(heads), 1))


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("one_root", [True, False])
def test_relations(rng, projective, one_root):
    for n in [1, 2, *[3] * 98]:
        scores = rng.integers(-3, 4, size=(n + 1, n + 1, N_RELATIONS)).astype(float)
        scores[rng.random(scores.shape) < 0.15] = -np.inf
        heads, codes = labelled_trees(n, projective, one_root)
        words = np.arange(1, n + 1)
        values = scores[heads, words, codes].sum(axis=1)
        if values.max() == -np.inf:
            continue
        space = {"projective": projective, "one_root": one_root}
        answer = parse.maximize(scores, **space)
        assert answer.score == pytest.approx(values.max())
        assert parse.score(scores, *answer.output) == pytest.approx(answer.score)
        # The k best trees differ in an arc, and each has its best relations.
        best = values.reshape(-1, N_RELATIONS**n).max(axis=1)
        answers = parse.k_best(scores, k=5, **space)
        expected = np.sort(best[best > -np.inf])[::-1][:5]
        assert [answer.score for answer in answers] == pytest.approx(expected.tolist())
        for answer in answers:
            assert parse.score(scores, *answer.output) == pytest.approx(answer.score)
        found = parse.marginals(scores, temperature=0.7, **space)
        chance = np.exp(values / 0.7 - logsumexp(values / 0.7))
        expected = np.zeros_like(scores)
        at = (heads, np.broadcast_to(words, heads.shape), codes)
        np.add.at(expected, at, chance[:, None] + np.zeros_like(heads))
        np.testing.assert_allclose(found.arcs, expected, atol=1e-10)
        assert found.log_partition == pytest.approx(logsumexp(values / 0.7))
        if not projective:
            continue
        truth = rng.integers(len(heads))
        counts = rng.random(n) < 0.8
        wrong = (heads != heads[truth]) | (codes != codes[truth])
        levels = (wrong & counts).sum(axis=1)
        levelled = parse.profile(
            scores, heads[truth], codes[truth], one_root=one_root, counts=counts
        )
        for level in range(n + 1):
            best = values[levels == level].max(initial=-np.inf)
            assert levelled.score[level] == pytest.approx(best)
            if best > -np.inf:
                assert parse.score(scores, *levelled.outputs[level]) == pytest.approx(best)


@pytest.mark.parametrize("space", ["projective", "siblings", "spanning"])
@pytest.mark.parametrize("one_root", [True, False])
def test_forbidden_and_forced_arcs(rng, space, one_root):
    options = {"projective": space != "spanning", "one_root": one_root}
    n_refused = 0
    for _ in range(150):
        n = int(rng.choice([2, 3, 4], p=[0.1, 0.4, 0.5]))
        words = np.arange(1, n + 1)
        scores, siblings = rng.normal(size=(n + 1, n + 1)), None
        heads = trees(n, *options.values())
        values = scores[heads, words].sum(axis=1)
        if space == "siblings":
            siblings = rng.normal(size=(n + 1,) * 3)
            before = np.array([parse.siblings_of(tree) for tree in heads])
            values = values + siblings[heads, words, before].sum(axis=1)
        arcs = [(h, m) for m in words.tolist() for h in range(n + 1) if h != m]
        forced, *forbidden = (
            arcs[k] for k in rng.choice(len(arcs), rng.integers(1, 4), replace=False)
        )
        allowed = heads[:, forced[1] - 1] == forced[0]
        for h, m in forbidden:
            allowed &= heads[:, m - 1] != h
        options |= {"forced": [forced], "forbidden": forbidden}
        expected = np.sort(values[allowed])[::-1].tolist()
        if not expected:
            n_refused += 1
            with pytest.raises(ValueError, match="allow no output"):
                parse.maximize(scores, siblings, **options)
        else:
            answers = parse.k_best(scores, siblings, k=150, **options)
            assert [answer.score for answer in answers] == pytest.approx(expected)
            assert parse.maximize(scores, siblings, **options).score == pytest.approx(expected[0])
        del options["forced"], options["forbidden"]
    assert n_refused < 30


def test_long_sentences_agree(rng):
    """Beyond what can be listed: methods against each other."""
    scores = rng.normal(size=(31, 31))
    best = parse.maximize(scores)
    assert parse.score(scores, best.output) == pytest.approx(best.score)
    answers = parse.k_best(scores, k=50)
    assert answers[0].score == best.score
    totals = [answer.score for answer in answers]
    assert totals == sorted(totals, reverse=True)
    assert len({answer.output.tobytes() for answer in answers}) == 50
    profiled = parse.profile(scores, best.output)
    assert profiled.score[0] == pytest.approx(best.score)
    assert profiled.score[1:].max() == pytest.approx(totals[1])
    free = parse.maximize(scores, projective=False)
    assert free.score >= best.score - 1e-9
    cold = parse.marginals(scores, temperature=1e-3)
    np.testing.assert_allclose(cold.arcs[best.output, np.arange(1, 31)], 1.0, atol=1e-6)
    for projective in (True, False):
        found = parse.marginals(scores, projective=projective)
        np.testing.assert_allclose(found.arcs[:, 1:].sum(axis=0), 1.0)
        assert found.arcs[0].sum() == pytest.approx(1.0)
        step = 1e-5
        raised = scores.copy()
        raised[3, 7] += step
        more = parse.marginals(raised, projective=projective).log_partition
        assert (more - found.log_partition) / step == pytest.approx(found.arcs[3, 7], abs=1e-4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: parse.maximize(np.zeros((1, 1))), ValueError, "an empty sentence has no tree"),
        (lambda: parse.maximize(np.zeros((3, 4))), ValueError, r"scores has shape \(3, 4\)"),
        (lambda: parse.maximize(np.full((3, 3), np.nan)), ValueError, r"scores\[0, 0\] is NaN"),
        (lambda: parse.maximize(np.full((3, 3), -np.inf)), ValueError, "allow no output"),
        (
            lambda: parse.maximize(np.zeros((3, 3)), forced=[(0, 1), (0, 2)]),
            ValueError,
            "allow no output",
        ),
        (
            lambda: parse.maximize(np.zeros((3, 3)), forbidden=[(3, 1)]),
            ValueError,
            r"forbidden has the arc \(3, 1\)",
        ),
        (
            lambda: parse.maximize(np.zeros((3, 3)), np.zeros((3, 3, 3)), projective=False),
            ValueError,
            "siblings are for projective trees",
        ),
        (lambda: parse.k_best(np.zeros((3, 3)), k=0), ValueError, "k must be at least 1"),
        (lambda: parse.profile(np.zeros((3, 3)), [3, 0]), ValueError, "heads has 3"),
        (lambda: parse.profile(np.zeros((3, 3)), [1, 0]), ValueError, "word 1 its own head"),
        (
            lambda: parse.profile(np.zeros((3, 3, 2)), [2, 0]),
            ValueError,
            "relations must be given",
        ),
        (
            lambda: parse.marginals(np.eye(3), projective=False, temperature=1e-20),
            ValueError,
            "are computed down to",
        ),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
