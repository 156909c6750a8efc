"""Outputs, margins and marginals of hierarchies against the list of all outputs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import softmax

from maxmargin.core.contract import margin_error as error_of
from maxmargin.core.contract import n_weights, potentials, workspace
from maxmargin.estimators.hierarchy.fields import FieldScores
from maxmargin.estimators.hierarchy.scores import NodeScores
from maxmargin.inputs.hierarchy import Hierarchy
from maxmargin.inputs.hierarchy.space import HierarchySpace
from maxmargin.structures.hierarchy.edge_field import edge_field_data


def random_space(rng, kind, dag):
    """Return the whole space of a small random hierarchy; None where it has one label only."""
    m = int(rng.integers(2, 6 if kind == "path" else 7))  # stops double the nodes of paths
    edges = []
    for v in range(1, m):
        most = min(v, 2) if dag else 1
        edges += [(v, int(p)) for p in rng.choice(v, size=rng.integers(0, most + 1), replace=False)]
    hierarchy = Hierarchy.from_edges(edges, nodes=range(m))
    n_labels = len(hierarchy) if kind == "path" else len(hierarchy.leaves)
    return HierarchySpace.whole(hierarchy, kind) if n_labels > 1 else None


def all_outputs(space):
    """Return all outputs as rows of flags, from the definition of the space."""
    shape, m = space.shape, len(space)
    parents = [shape.parents[shape.parent_at[v] : shape.parent_at[v + 1]] for v in range(m)]
    children = [shape.children[shape.child_at[v] : shape.child_at[v + 1]] for v in range(m)]
    found = []
    for bits in itertools.product([False, True], repeat=m):
        y = np.array(bits)
        if any(y[v] and not y[parents[v]].all() for v in range(m)):
            continue
        ends = [v for v in range(m) if y[v] and not y[children[v]].any()]
        if space.kind != "closed" and (not ends or any(len(children[v]) for v in ends)):
            continue
        if space.has_one and len(ends) != 1:
            continue
        found.append(y)
    return np.array(found)


CASES = [(kind, dag) for kind in ("leaf", "path", "paths", "closed") for dag in (False, True)]


@pytest.mark.parametrize(("kind", "dag"), CASES)
def test_against_enumeration(rng, kind, dag):
    n_looked = 0
    for _ in range(25 if kind == "paths" and dag else 150):
        space = random_space(rng, kind, dag)
        if space is None:
            continue
        n_looked += 1
        outputs = all_outputs(space)
        scores = rng.normal(size=(3, len(space)))
        if rng.random() < 0.3:
            scores = np.round(scores)  # ties
        totals = scores @ outputs.T
        nodes = NodeScores(scores, space)
        best = nodes.best()
        known = {tuple(row) for row in outputs.tolist()}
        assert all(tuple(row) in known for row in best.tolist())
        np.testing.assert_allclose((best * scores).sum(axis=1), totals.max(axis=1))
        expected = np.empty(scores.shape)
        for v in range(len(space)):
            with_ = totals[:, outputs[:, v]].max(axis=1, initial=-np.inf)
            without = totals[:, ~outputs[:, v]].max(axis=1, initial=-np.inf)
            expected[:, v] = with_ - without
        np.testing.assert_allclose(nodes.differences(), expected, atol=1e-9)
        if not nodes.is_forest and not space.has_one:
            with pytest.raises(ValueError, match="no node has two parents"):
                nodes.marginals(1.0)
        for temperature in (0.3, 1.0, 5.0) if nodes.is_forest or space.has_one else ():
            p = softmax(totals / temperature, axis=1) @ outputs
            np.testing.assert_allclose(nodes.marginals(temperature), p, atol=1e-9)
        flags, values = nodes.k_best(4)
        for i in range(3):
            ranked = np.sort(totals[i])[::-1][:4]
            np.testing.assert_allclose(values[i], ranked, atol=1e-9)
            np.testing.assert_allclose(flags[i] @ scores[i], ranked, atol=1e-9)
            assert len({tuple(row) for row in flags[i].tolist()}) == len(ranked)
    assert n_looked > 8


@pytest.mark.parametrize(("kind", "dag"), CASES)
def test_what_is_known_against_enumeration(rng, kind, dag):
    n_looked = n_refused = 0
    for _ in range(40 if kind == "paths" and dag else 250):
        space = random_space(rng, kind, dag)
        if space is None:
            continue
        outputs = all_outputs(space)
        m = len(space)
        above = space.ancestry().toarray() > 0
        known = np.full((1, m), -1, dtype=np.int8)
        for v in rng.choice(m, size=min(m, 2), replace=False):
            if rng.random() < 0.5:
                known[0, above[v]] = 1
            else:
                known[0, v] = 0
        scores = rng.normal(size=(1, m))
        fits = ((known == -1) | (outputs == known)).all(axis=1)
        nodes = NodeScores(scores, space, known)
        if not fits.any():
            n_refused += 1
            with pytest.raises(ValueError, match="no output of sample 0"):
                nodes.best()
            continue
        n_looked += 1
        best = nodes.best()
        assert ((known == -1) | (best == known)).all()
        value = (scores @ outputs[fits].T).max()
        assert (best * scores).sum() == pytest.approx(value)
    assert n_looked > 8
    assert n_refused > 0 or kind == "closed"


def test_marginals_where_all_children_have_next_to_no_mass():
    tree = Hierarchy.from_edges([("b", "a"), ("c", "a"), ("d", "b"), ("e", "b")])
    space = HierarchySpace.whole(tree, "paths")
    scores = np.array([[-800.0, -900.0, -801.0, -700.0]])
    outputs = all_outputs(space)
    p = softmax(scores @ outputs.T, axis=1) @ outputs
    np.testing.assert_allclose(NodeScores(scores, space).marginals(1.0), p, atol=1e-9)


@pytest.mark.parametrize("model", ["edges", "paths"])
@pytest.mark.parametrize("dag", [False, True])
def test_edge_fields_against_enumeration(rng, model, dag):
    """The k best sets, margins and marginals of random hierarchies, with ties in some."""
    n_looked = 0
    for trial in range(60):
        space = random_space(rng, "closed", dag)
        if space is None or len(space) > 5:
            continue
        n_looked += 1
        X, outputs = rng.normal(size=(1, 2)), all_outputs(space)
        data = edge_field_data(space.shape, X, None, paths=model == "paths")
        w = rng.normal(size=int(n_weights(data)))
        if trial % 3 == 0:
            w, X = np.rint(w), np.ones((1, 2))
        field = FieldScores(X, space, w, model, True, 1)
        theta, _ = workspace(field.data)
        potentials(field.data, 0, w, 1.0, theta)
        cells = np.hstack([outputs, np.ones((len(outputs), 1))]).astype(np.int32)
        values = np.array([error_of(field.data, 0, theta, y, 0) for y in cells])  # less the truth's
        known = {tuple(y): value for y, value in zip(outputs.tolist(), values, strict=True)}
        flags, scores = field.k_best(5)
        ranked = np.sort(values)[::-1][:5]
        np.testing.assert_allclose(scores[0] - scores[0][0], ranked - ranked[0], atol=1e-8)
        found = [known[tuple(y)] for y in flags[0].tolist()]
        np.testing.assert_allclose(found, ranked, atol=1e-8)
        assert len({tuple(y) for y in flags[0].tolist()}) == len(ranked)
        assert known[tuple(field.best()[0].tolist())] == pytest.approx(ranked[0], abs=1e-8)
        p = softmax(values / 0.7) @ outputs
        np.testing.assert_allclose(field.marginals(0.7)[0], p, atol=1e-8)
        for v, margin in enumerate(field.differences()[0]):
            with_, without = values[outputs[:, v]].max(), values[~outputs[:, v]].max()
            assert margin == pytest.approx(with_ - without, abs=1e-8)
    assert n_looked > 20
