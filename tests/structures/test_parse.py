"""Parses as a structure: templates, siblings, any trees, against the list of all trees."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.core.contract import (
    add_difference,
    clear_difference,
    difference_potentials,
    difference_potentials_of,
    difference_square,
    k_best,
    k_best_room,
    margin_error,
    n_weights,
    potentials,
    potentials_of,
    workspace,
)
from maxmargin.costs import LAS, UAS, tabulate
from maxmargin.inputs.tokens import coarse_tags, read_tokens, token_templates
from maxmargin.solvers import BlockFrankWolfe, run
from maxmargin.structures import parse_data
from maxmargin.structures.parse.data import tree_fault
from maxmargin.surrogates import SURROGATES
from maxmargin.testing import check_oracles, check_structure
from maxmargin.testing.enumerate import trees
from maxmargin.testing.outputs import all_outputs
from maxmargin.training.task import Task

SIZES = [1, 4, 3]


def sentences(rng):
    tags = ["DET", "NOUN", "VERB", "PUNCT"]
    return [
        [{"form": f"w{rng.integers(3)}", "upos": tags[rng.integers(4)]} for _ in range(n)]
        for n in SIZES
    ]


def hashed(rng, *, n_relations=1, siblings=False, projective=True, one_root=True):
    """Sentences of tokens with random trees; so few cells that many features share one."""
    tokens = read_tokens(sentences(rng))
    features = token_templates(tokens, coarse_tags(tokens.coarse), 128, 16, n_relations, siblings)
    heads = np.concatenate([rng.choice(trees(n, projective, one_root)) for n in SIZES])
    relations = rng.integers(n_relations, size=len(heads))
    counts = rng.random(len(heads)) < 0.8
    return parse_data(
        features, tokens.offsets, heads, relations, n_relations=n_relations, counts=counts,
        projective=projective, one_root=one_root, siblings=siblings,
    )  # fmt: skip


SHAPES = [
    {},
    {"siblings": True},
    {"projective": False},
    {"projective": False, "one_root": False},
    {"siblings": True, "one_root": False},
    {"n_relations": 2},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_templates_meet_the_contract(shape):
    rng = np.random.default_rng(0)
    data = hashed(rng, **shape)
    cost = tabulate(
        LAS() if data.n_relations > 1 else UAS("mean"), data, np.arange(data.n_relations)
    )
    check_structure(data, cost=cost, compile=False)
    check_oracles(data, cost)


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("cost", [UAS(), LAS()], ids=str)
def test_k_best_labelled_trees(projective, cost):
    """Trees with other relations are other outputs; hundreds of scores, ties among them."""
    rng = np.random.default_rng(4)
    data = hashed(rng, n_relations=2, projective=projective)
    tables = tabulate(cost, data, ["a", "b"])
    theta, room = workspace(data)
    own = k_best_room(data, tables, 40)
    everything = [np.array(all_outputs(data, i)) for i in range(len(SIZES))]
    for case in range(300):
        i, k = case % 3, int(rng.choice([1, 2, 7, 40]))
        n, listed = SIZES[i], everything[case % 3]
        scores = rng.normal(size=(n + 1, n + 1, 2))
        if case % 2:
            scores = scores.round()
        theta.arcs[: scores.size] = scores.reshape(-1)
        heads, labels = listed[:, :n], listed[:, n:]
        first = data.offsets[i]
        true = data.cells[2 * first : 2 * first + 2 * n]
        wrong = heads != true[:n]
        if isinstance(cost, LAS):
            wrong |= labels != true[n:]
        factor = float(rng.choice([0.0, 0.5, 3.0]))
        values = scores[heads, np.arange(1, n + 1), labels].sum(axis=1)
        values = values + factor * (wrong & (data.counts[first : first + n] != 0)).sum(axis=1)
        found = np.full(40 * 2 * n, -9, dtype=np.int32)
        count = k_best(data, tables, i, theta, room, 1.0, factor, k, own, found, 0)
        assert count == min(k, len(listed))
        rows = found.reshape(-1, 2 * n)[:count]
        assert len(np.unique(rows, axis=0)) == count
        places = [np.flatnonzero((listed == row).all(axis=1))[0] for row in rows]
        expected = np.sort(values)[::-1][:count].tolist()
        assert values[places].tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_differences_are_cleared_and_measured(shape):
    rng = np.random.default_rng(1)
    data = hashed(rng, **shape)
    spare, theta = np.zeros(n_weights(data)), workspace(data)[0]
    for i in range(len(SIZES)):
        for y in all_outputs(data, i)[:20]:
            difference = np.zeros(n_weights(data))
            add_difference(data, i, y, 0, 1.0, difference)
            square = difference_square(data, i, y, 0, spare, theta)
            assert square == pytest.approx(difference @ difference, abs=1e-12)
            difference_potentials(data, i, y, 0, spare, theta)
            assert -margin_error(data, i, theta, y, 0) == pytest.approx(square, abs=1e-12)
            assert not spare.any()
            clear_difference(data, i, y, 0, difference)
            assert not difference.any()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_known_trees_are_scored_alone(shape):
    """Their margin errors are those of all potentials; nothing is left in spare."""
    rng = np.random.default_rng(3)
    data = hashed(rng, **shape)
    w, spare = rng.normal(size=n_weights(data)), np.zeros(n_weights(data))
    (full, _), (few, _) = workspace(data), workspace(data)
    for i in range(len(SIZES)):
        listed = all_outputs(data, i)
        for count in (1, 2, 5):
            known = [listed[k] for k in rng.integers(len(listed), size=count + 1)]
            size = len(known[0])
            outputs = np.concatenate([np.zeros(3, dtype=np.int32), *known])
            spans = np.array([[3 + size * k, size] for k in range(count + 1)])
            potentials(data, i, w, 1.0, full)
            for array in few:
                array[:] = np.nan
            potentials_of(data, i, w, outputs, spans, 1, count, few)
            for at in spans[1:, 0]:
                expected = margin_error(data, i, full, outputs, at)
                assert margin_error(data, i, few, outputs, at) == pytest.approx(expected, abs=1e-9)
            at = spans[0, 0]
            difference_potentials(data, i, outputs, at, spare, full)
            for array in few:
                array[:] = np.nan
            difference_potentials_of(data, i, outputs, at, spans, 1, count, spare, few)
            for z in spans[:, 0]:
                expected = margin_error(data, i, full, outputs, z)
                assert margin_error(data, i, few, outputs, z) == pytest.approx(expected, abs=1e-9)
            assert not spare.any()


@pytest.mark.parametrize("shape", [{}, {"projective": False}, {"siblings": True}], ids=str)
@pytest.mark.parametrize("surrogate", ["slack", "prob"])
def test_surrogates_are_certified_by_every_search(shape, surrogate):
    """The hull with lists of the k best, and the profile where there is one, agree."""
    data = hashed(np.random.default_rng(2), **shape)
    task = Task(data, tabulate(UAS(), data, ["any"]), len(SIZES), np.ones(len(SIZES)))
    bounds = []
    for search in ("hull", "profile"):
        if search == "profile" and shape:
            continue
        from maxmargin.search import SEARCHES

        problem = task.problem(
            SURROGATES[surrogate](), 0.1, search=SEARCHES[search](), compile=False
        )
        result, _ = run(
            problem, BlockFrankWolfe(), rng=np.random.default_rng(0), tol=1e-4, max_iter=300
        )
        assert result.status == "converged"
        bounds.append((result.dual, result.primal))
    assert max(low for low, _ in bounds) <= min(high for _, high in bounds) + 1e-12


def test_tree_faults():
    assert tree_fault([2, 0, 2]) == ""
    assert "no word" in tree_fault([2, 4, 0])
    assert "below itself" in tree_fault([2, 1, 0])
    assert "2 words hang on the root" in tree_fault([0, 0])
    assert tree_fault([0, 0], one_root=False) == ""
    assert "cross" in tree_fault([3, 0, 2, 1])
    for n in range(1, 5):  # against the list of all trees
        listed = {tree.tobytes() for tree in trees(n)}
        every = np.indices((n + 1,) * n).reshape(n, -1).T.astype(np.int32)
        for heads in every:
            assert (tree_fault(heads) == "") == (np.ascontiguousarray(heads).tobytes() in listed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": [2, 1]}, "sentence 0 is no output: word 1 is below itself"),
        ({"heads": [0, 0]}, "2 words hang on the root"),
        ({"heads": [0]}, "There must be 2 heads"),
        ({"offsets": [0, 0, 2]}, "at least one word"),
        ({"features": np.zeros((4, 1))}, "features has 4 rows; expected 9"),
        ({"relations": [0, 5]}, "relations must be 2 numbers"),
        ({"siblings": True}, "siblings are for templates"),
    ],
)
def test_data_that_cannot_be(change, message):
    given = {"features": np.zeros((9, 1)), "offsets": [0, 2], "heads": [0, 1], **change}
    with pytest.raises(ValueError, match=message):
        parse_data(**given)
